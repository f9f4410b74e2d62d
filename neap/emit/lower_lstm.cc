// SPDX-License-Identifier: Apache-2.0
//
// UNIDIRECTIONAL_SEQUENCE_LSTM, whose state is in variables: parameters of int8 with a cell of 16
// bits, the operands of all types.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "neap/emit/floats.h"
#include "neap/emit/lowering.h"
#include "neap/emit/quantization.h"
#include "neap/emit/sequence.h"
#include "neap/execute/fixed_functions.h"
#include "neap/execute/fixed_point.h"
#include "neap/ops/recurrence.h"
#include "neap/ops/window.h"

namespace neap::emit {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Shape;
using graph::Tensor;

// Other inputs: one for each gate but that of the cell, a projection, one for each gate.
constexpr std::size_t kPeepholes = 9;
constexpr std::size_t kProjection = 16;
constexpr std::size_t kNorms = 20;
constexpr std::size_t kInputs = 24;
constexpr std::int64_t kTanh = 4;  // of the fused activations

// Of the tensors of an LSTM.
struct Types {
  ElementType data = ElementType::kInt8;
  ElementType bias = ElementType::kInt32;
  ElementType cell = ElementType::kInt16;
  std::int64_t state_bytes = 1;
  std::int64_t cell_bytes = 2;
};
constexpr Types kFloats = {ElementType::kFloat32, ElementType::kFloat32, ElementType::kFloat32, 4,
                           4};

// Rows are the steps, else the batches, each with a row of the state.
Result<Sequence> SequenceOf(const Lowering& lowering, const Op& op) {
  const Shape& in = *InputOf(lowering, op, 0).shape;
  const Shape& out = *OutputOf(lowering, op).shape;
  constexpr std::size_t kDimensions = 3;
  NEAP_CHECK_OK(Require(in.size() == kDimensions && out.size() == kDimensions && in[0] == out[0] &&
                            in[1] == out[1] && in[0] > 0 && in[1] > 0 && in[2] > 0 && out[2] > 0,
                        "has shapes that do not fit together"));
  const bool time_major = ops::IntegerAttribute(op, "time_major", 0) != 0;
  const std::int64_t steps = in[time_major ? 0 : 1];
  const std::int64_t batches = in[time_major ? 1 : 0];
  Sequence sequence;
  sequence.width = in[2];
  sequence.cells = out[2];
  if (batches == 1 || (time_major && steps > 1)) {
    sequence.rows = steps;
    sequence.batches = batches;
  } else {
    sequence.rows = sequence.state_rows = batches;
    sequence.steps = steps;
  }
  return sequence;
}

Status CheckInputs(const Lowering& lowering, const Op& op, const Sequence& sequence,
                   const Types& types) {
  const auto fits = [&](std::size_t input, ElementType type, const Shape& shape) {
    if (!HasInput(op, input)) return false;
    const Tensor& tensor = InputOf(lowering, op, input);
    return tensor.type == type && tensor.shape == shape;
  };
  bool all = true;
  bool others = false;
  const std::int64_t cells = sequence.cells;
  for (std::size_t gate = 0; gate < kLstmGates; ++gate) {
    others = others || HasInput(op, kNorms + gate);
    const bool coupled = gate == 0 && types.data == ElementType::kFloat32 &&
                         !HasInput(op, kLstmInputWeights) && !HasInput(op, kLstmStateWeights);
    if (coupled) continue;
    all = all && fits(kLstmInputWeights + gate, types.data, {cells, sequence.width}) &&
          fits(kLstmStateWeights + gate, types.data, {cells, cells}) &&
          fits(kLstmBiases + gate, types.bias, {cells});
  }
  for (std::size_t i = kPeepholes; i < kLstmBiases; ++i) others = others || HasInput(op, i);
  NEAP_CHECK_OK(Require(!others && !HasInput(op, kProjection) && op.inputs.size() <= kInputs,
                        "has peepholes, a projection or layer normalisation"));
  const Shape states = {sequence.state_rows * sequence.batches, cells};
  NEAP_CHECK_OK(Require(all && InputOf(lowering, op, 0).type == types.data &&
                            OutputOf(lowering, op).type == types.data &&
                            fits(ops::kHiddenVariable, types.data, states) &&
                            fits(ops::kCellVariable, types.cell, states),
                        "is neither of int8 with weights and a bias for each of four gates and a "
                        "cell of 16 bits, nor "
                        "of float32"));
  return Require(ops::IntegerAttribute(op, "fused_activation_function", 0) == kTanh &&
                     ops::IntegerAttribute(op, "diagonal_recurrent_tensors", 0) == 0,
                 "has an activation or weights without a kernel");
}

// Of weights and the cell, whose zero point is 0.
Result<float> ScaleOf(const Tensor& tensor) {
  const bool known = tensor.quantization && tensor.quantization->scales.size() == 1;
  NEAP_CHECK_OK(Require(known, "has a tensor without a single scale"));
  const auto& zeros = tensor.quantization->zero_points;
  const float scale = tensor.quantization->scales[0];
  NEAP_CHECK_OK(
      Require((zeros.empty() || zeros[0] == 0) && scale > 0 && std::isfinite(scale),
              "has weights or a cell with a zero point, or with a scale that is out of range"));
  return scale;
}

// bias[c] less `zero` times the sum of row c.
Result<std::vector<std::int64_t>> BiasWithZero(const Tensor& weights, std::int32_t zero,
                                               std::vector<std::int64_t> bias) {
  NEAP_CHECK_OK(Require(weights.constant && weights.data && !weights.compressed,
                        "has weights that are not constants"));
  const auto bytes = weights.data->bytes;
  NEAP_CHECK_OK(Require(!bias.empty() && bytes.size() % bias.size() == 0,
                        "has weights of another size than their shape"));
  const std::size_t width = bytes.size() / bias.size();
  for (std::size_t c = 0; c < bias.size(); ++c) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += SignedByte(bytes[c * width + i]);
    // Sums wrap around.
    bias[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(bias[c] - zero * sum));
  }
  return bias;
}

class LstmTables {
 public:
  LstmTables(Lowering* lowering, const Subject& subject, const Sequence& sequence)
      : lowering_(*lowering), op_(subject.op), id_(subject.id), sequence_(sequence) {}

  Result<Params> Make() {
    NEAP_TRY(input_, QuantOf(InputOf(lowering_, op_, 0)));
    NEAP_TRY(state_, QuantOf(InputOf(lowering_, op_, ops::kHiddenVariable)));
    NEAP_TRY(const float cell, ScaleOf(InputOf(lowering_, op_, ops::kCellVariable)));
    const double power = std::log2(static_cast<double>(cell));
    const auto exponent = static_cast<std::int32_t>(std::lround(power));
    NEAP_CHECK_OK(Require(std::fabs(power - exponent) < 1e-3 && exponent >= -15 && exponent <= -9,
                          "has a cell whose scale is not a power of two from 2^-15 to 2^-9"));
    std::string gates;
    for (std::size_t gate = 0; gate < kLstmGates; ++gate) {
      NEAP_TRY(const std::string one, GateOf(gate));
      gates += (gate == 0 ? "" : ",\n     ") + one;
    }
    const auto take = execute::MakeFixedFactor(0x1p-30 / static_cast<double>(cell));
    const auto hidden = execute::MakeFixedFactor(0x1p-30 / static_cast<double>(state_.scale));
    // The function's argument has 3 integer bits; those of the cell are 15 + exponent.
    const std::int32_t shift = 12 + exponent;
    const auto& logistic = execute::LogisticTable();
    const std::string table =
        lowering_.Add("logistic", "uint16_t", {logistic.begin(), logistic.end()});
    return Params{
        "neap_lstm",
        InitialiserOf({"{" + gates + "}", table, Number(sequence_.width), Number(sequence_.cells),
                       Number(sequence_.steps), Number(sequence_.batches), Number(take.fraction),
                       Number(take.shift), Number(hidden.fraction), Number(hidden.shift),
                       Number(state_.zero), Number(ClipOf(cell)),
                       Number(shift > 0 ? 3 << shift : 3), Number(shift < 0 ? -shift : 0)})};
  }

 private:
  std::int64_t ClipOf(float cell) const {
    const auto found = op_.attributes.find("cell_clip");
    const double* const given =
        found == op_.attributes.end() ? nullptr : std::get_if<double>(&found->second);
    if (given == nullptr || !(*given > 0)) return 0;
    return static_cast<std::int64_t>(std::min(*given / static_cast<double>(cell), 32767.0));
  }

  Result<std::string> GateOf(std::size_t gate) {
    const Tensor& of_input = InputOf(lowering_, op_, kLstmInputWeights + gate);
    const Tensor& of_state = InputOf(lowering_, op_, kLstmStateWeights + gate);
    NEAP_TRY(const float input_scale, ScaleOf(of_input));
    NEAP_TRY(const float state_scale, ScaleOf(of_state));
    const auto bias = Int32sOf(InputOf(lowering_, op_, kLstmBiases + gate));
    NEAP_CHECK_OK(Require(bias && bias->size() == static_cast<std::size_t>(sequence_.cells),
                          "has a bias that is not a constant"));
    NEAP_TRY(auto input_bias, BiasWithZero(of_input, input_.zero, *bias));
    NEAP_TRY(auto state_bias,
             BiasWithZero(of_state, state_.zero, std::vector<std::int64_t>(bias->size(), 0)));
    // As products of float32, whose results TensorFlow Lite Micro widens.
    const auto input =
        execute::MakeFixedFactor(static_cast<double>(input_scale * input_.scale) * 0x1p12);
    const auto state =
        execute::MakeFixedFactor(static_cast<double>(state_scale * state_.scale) * 0x1p12);
    const std::string name =
        "op" + Number(id_.value()) + "_gate" + Number(static_cast<std::int64_t>(gate));
    NEAP_TRY(const std::string input_weights,
             lowering_.Bytes(op_.inputs[kLstmInputWeights + gate]));
    NEAP_TRY(const std::string state_weights,
             lowering_.Bytes(op_.inputs[kLstmStateWeights + gate]));
    const std::string first = lowering_.Add(name + "_bias", "int32_t", std::move(input_bias));
    const std::string second = lowering_.Add(name + "_state", "int32_t", std::move(state_bias));
    return InitialiserOf({input_weights, state_weights, first, second, Number(input.fraction),
                          Number(input.shift), Number(state.fraction), Number(state.shift)});
  }

  Lowering& lowering_;
  const Op& op_;
  graph::OpId id_;
  const Sequence& sequence_;
  Quant input_;
  Quant state_;
};

Result<std::vector<Call>> LowerLstm(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  NEAP_CHECK_OK(Require(ops::OwnsVariables(lowering.subgraph(), op),
                        "has a state that is not in variables of its own"));
  for (const std::size_t input : {ops::kHiddenVariable, ops::kCellVariable}) {
    NEAP_CHECK_OK(Require(lowering.PlaceOf(op.inputs[input]) != nullptr,
                          "keeps its state in variables, for which a plan for the runtime neap has "
                          "addresses, and this one has none"));
  }
  NEAP_TRY(const Sequence sequence, SequenceOf(lowering, op));
  const bool floats = IsOfFloats(lowering, op);
  const Types types = floats ? kFloats : Types{};
  NEAP_CHECK_OK(CheckInputs(lowering, op, sequence, types));
  Call call;
  call.driver = "neap_drive_pixels";
  call.kernel = floats ? "neap_lstm_f32" : "neap_lstm_s8";
  NEAP_TRY(const View to, lowering.ImageOf(op.outputs[0]));
  NEAP_TRY(const View from, lowering.ImageOf(op.inputs[0]));
  for (const View* view : {&to, &from}) {
    NEAP_CHECK_OK(Require(view->height == sequence.rows && view->width == 1,
                          "has rows that are neither steps nor batches"));
  }
  const std::int64_t states = sequence.batches * sequence.cells;
  NEAP_TRY(const View hidden,
           lowering.FormOf(op.inputs[ops::kHiddenVariable],
                           {sequence.state_rows, 1, types.state_bytes * states}));
  NEAP_TRY(const View cell, lowering.FormOf(op.inputs[ops::kCellVariable],
                                            {sequence.state_rows, 1, types.cell_bytes * states}));
  call.views = {to, from, hidden, cell};
  call.taps = std::ssize(call.views) - 1;
  NEAP_TRY(call.params, floats ? FloatLstmParams(lowering, op, sequence)
                               : LstmTables(&lowering, subject, sequence).Make());
  return std::vector<Call>{std::move(call)};
}

constexpr LowerRow kRecurrentRows[] = {
    {ops::OpKind::kUnidirectionalSequenceLstm, LowerLstm},
};

}  // namespace

std::span<const LowerRow> RecurrentRows() { return kRecurrentRows; }

}  // namespace neap::emit
