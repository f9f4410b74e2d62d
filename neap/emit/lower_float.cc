// SPDX-License-Identifier: Apache-2.0
//
// Operators of float32: UNIDIRECTIONAL_SEQUENCE_LSTM, and those that follow it in a classifier.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "neap/emit/floats.h"
#include "neap/emit/lowering.h"
#include "neap/emit/sequence.h"
#include "neap/ops/recurrence.h"
#include "neap/ops/window.h"

namespace neap::emit {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Shape;
using graph::Tensor;

// Of the bits of a float, as a word of C.
std::string WordOf(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return Number(bits) + "U";
}

float RealOf(const Op& op, const char* name, double otherwise) {
  const auto found = op.attributes.find(name);
  const double* const given =
      found == op.attributes.end() ? nullptr : std::get_if<double>(&found->second);
  return static_cast<float>(given == nullptr ? otherwise : *given);
}

// The table of a constant of floats.
Result<std::string> Words(Lowering& lowering, graph::TensorId id, std::int64_t elements) {
  constexpr std::int64_t kBytes = 4;
  constexpr unsigned kByteBits = 8;
  const Tensor& tensor = lowering.Tensor(id);
  const bool known = tensor.constant && tensor.data && !tensor.compressed &&
                     tensor.type == ElementType::kFloat32 &&
                     std::ssize(tensor.data->bytes) == kBytes * elements;
  NEAP_CHECK_OK(Require(known, "has weights that are not constants of float32 of its size"));
  NEAP_CHECK_OK(Require(lowering.slow_weights() == nullptr, "has floats in slow memory"));
  std::vector<std::int64_t> words(static_cast<std::size_t>(elements), 0);
  for (std::size_t at = 0; at < tensor.data->bytes.size(); ++at) {
    const auto byte = std::to_integer<std::int64_t>(tensor.data->bytes[at]);
    words[at / kBytes] |= byte << at % kBytes * kByteBits;
  }
  return lowering.Add("t" + std::to_string(id.value()), "uint32_t", std::move(words), true);
}

struct Limits {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
Result<Limits> LimitsOf(const Op& op) {
  enum Activation : std::int8_t { kNone = 0, kRelu = 1, kReluN1To1 = 2, kRelu6 = 3 };
  Limits limits;
  switch (ops::IntegerAttribute(op, "fused_activation_function", kNone)) {
    case kNone:
      return limits;
    case kRelu:
      return Limits{0, limits.high};
    case kReluN1To1:
      return Limits{-1, 1};
    case kRelu6:
      return Limits{0, 6};
    default:
      return Fail(BadInput("has a fused activation without a kernel"));
  }
}

}  // namespace

bool IsOfFloats(const Lowering& lowering, const Op& op) {
  return InputOf(lowering, op, 0).type == ElementType::kFloat32 &&
         OutputOf(lowering, op).type == ElementType::kFloat32;
}

Result<std::vector<Call>> LowerFloatProduct(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  NEAP_CHECK_OK(Require(HasInput(op, 1) && InputOf(lowering, op, 1).shape->size() == 2,
                        "expected weights of two dimensions"));
  NEAP_CHECK_OK(
      Require(ops::IntegerAttribute(op, "weights_format", 0) == 0, "has shuffled weights"));
  const Shape& filter = *InputOf(lowering, op, 1).shape;
  const std::int64_t outputs = filter[0];
  const std::int64_t depth = filter[1];
  const std::int64_t elements = *graph::TensorBytes(InputOf(lowering, op, 0)) / kFloatBytes;
  const std::int64_t rows = depth > 0 ? elements / depth : 0;
  NEAP_CHECK_OK(
      Require(rows > 0 && outputs > 0 && rows * depth == elements &&
                  *graph::TensorBytes(OutputOf(lowering, op)) / kFloatBytes / rows == outputs &&
                  *graph::TensorBytes(OutputOf(lowering, op)) % (kFloatBytes * rows) == 0,
              "has shapes that do not fit together"));
  NEAP_TRY(const Limits limits, LimitsOf(op));
  NEAP_TRY(const std::string weights, Words(lowering, op.inputs[1], outputs * depth));
  std::string bias = "NULL";
  if (HasInput(op, 2)) {
    NEAP_TRY(bias, Words(lowering, op.inputs[2], outputs));
  }
  Call call;
  call.driver = "neap_drive_pixels";
  call.kernel = "neap_fully_connected_f32";
  NEAP_TRY(const View to, lowering.FormOf(op.outputs[0], {rows, 1, kFloatBytes * outputs}));
  NEAP_TRY(const View from, lowering.FormOf(op.inputs[0], {rows, 1, kFloatBytes * depth}));
  call.views = {to, from};
  call.taps = 1;
  call.params =
      Params{"neap_float_product", InitialiserOf({weights, bias, Number(depth), Number(outputs),
                                                  WordOf(limits.low), WordOf(limits.high)})};
  return std::vector<Call>{std::move(call)};
}

Result<std::vector<Call>> LowerFloatSoftmax(Lowering& lowering, const Subject& subject) {
  const Op& op = subject.op;
  const Tensor& in = InputOf(lowering, op, 0);
  NEAP_CHECK_OK(Require(in.shape && !in.shape->empty() && in.shape == OutputOf(lowering, op).shape,
                        "has shapes that do not fit together"));
  const std::int64_t length = in.shape->back();
  const std::int64_t elements = *graph::TensorBytes(in) / kFloatBytes;
  NEAP_CHECK_OK(Require(length > 0 && elements > 0, "is empty"));
  Call call;
  call.driver = "neap_drive_pixels";
  call.kernel = "neap_softmax_f32";
  const Lowering::Form form = {1, 1, kFloatBytes * elements};
  NEAP_TRY(const View to, lowering.FormOf(op.outputs[0], form));
  NEAP_TRY(const View from, lowering.FormOf(op.inputs[0], form));
  call.views = {to, from};
  call.taps = 1;
  call.params = Params{
      "neap_float_softmax",
      InitialiserOf({Number(elements / length), Number(length), WordOf(RealOf(op, "beta", 1))})};
  return std::vector<Call>{std::move(call)};
}

Result<Params> FloatLstmParams(Lowering& lowering, const Op& op, const Sequence& sequence) {
  const std::int64_t cells = sequence.cells;
  std::string gates;
  for (std::size_t gate = 0; gate < kLstmGates; ++gate) {
    std::array<std::string, 3> tables = {"NULL", "NULL", "NULL"};
    const std::array<std::pair<std::size_t, std::int64_t>, 3> inputs = {
        {{kLstmInputWeights + gate, cells * sequence.width},
         {kLstmStateWeights + gate, cells * cells},
         {kLstmBiases + gate, cells}}};
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const auto& [input, elements] = inputs[i];
      if (!HasInput(op, input)) continue;
      NEAP_TRY(tables[i], Words(lowering, op.inputs[input], elements));
    }
    gates += (gate == 0 ? "" : ",\n     ") + InitialiserOf({tables[0], tables[1], tables[2]});
  }
  const float clip = RealOf(op, "cell_clip", 0);
  return Params{"neap_float_lstm",
                InitialiserOf({"{" + gates + "}", Number(sequence.width), Number(cells),
                               Number(sequence.steps), Number(sequence.batches),
                               WordOf(clip > 0 ? clip : 0)})};
}

}  // namespace neap::emit
