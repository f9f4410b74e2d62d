// SPDX-License-Identifier: Apache-2.0
//
// The LSTM of int8 inputs, weights and outputs with cells and gates of 16 bits. TensorFlow Lite
// Micro takes its 16-bit functions and products from its other kernels, LiteRT has some of its own.
#include <algorithm>
#include <cmath>
#include <vector>

#include "neap/execute/fixed_functions.h"
#include "neap/execute/fixed_point.h"
#include "neap/execute/loops/conv.h"
#include "neap/execute/tflite/lstm.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

constexpr std::int32_t kGateBits = 3;  // integer bits of a gate before its function

struct GateFactors {
  FixedFactor input;
  FixedFactor state;
};

struct QuantizedPlan {
  LstmPlan lstm;
  bool tflm = false;
  std::int32_t input_zero = 0;
  std::int32_t state_zero = 0;
  std::int32_t cell_power = 0;  // the cell's scale is 2^cell_power
  std::int32_t cell_clip = 0;   // 0: none
  std::array<GateFactors, kGates> gates;
  FixedFactor keep;    // forget gate times cell, tflm
  FixedFactor take;    // input gate times cell gate, tflm
  FixedFactor hidden;  // output gate times function of the cell
  std::int32_t hidden_zero = 0;
};

Result<float> ScaleOf(const Operand& operand) {
  NEAP_TRY(const Quant quant, QuantOf(operand));
  NEAP_CHECK_OK(Require(quant.zero == 0, "expected weights and a cell with zero point 0"));
  return quant.scale;
}

Result<QuantizedPlan> PlanQuantized(const Node& node, const LstmPlan& lstm) {
  QuantizedPlan plan;
  plan.lstm = lstm;
  plan.tflm = node.kernels == Kernels::kTflm;
  NEAP_TRY(const Quant input, QuantOf(node.In(0)));
  NEAP_TRY(const Quant state, QuantOf(node.In(kState)));
  NEAP_TRY(const float cell_scale, ScaleOf(node.In(kCell)));
  plan.input_zero = input.zero;
  plan.state_zero = state.zero;
  const double power = std::log2(static_cast<double>(cell_scale));
  plan.cell_power = static_cast<std::int32_t>(std::lround(power));
  NEAP_CHECK_OK(Require(
      std::fabs(power - plan.cell_power) < 1e-3 && plan.cell_power >= -15 && plan.cell_power <= -9,
      "the scale of its cell is not a power of two, or out of range"));
  if (lstm.cell_clip > 0) {
    const double clip = plan.tflm
                            ? lstm.cell_clip / static_cast<double>(cell_scale)
                            : static_cast<double>(static_cast<float>(lstm.cell_clip) / cell_scale);
    plan.cell_clip = static_cast<std::int32_t>(std::min(clip, 32767.0));
  }
  for (std::size_t gate = lstm.coupled ? kForgetGate : kInputGate; gate < kGates; ++gate) {
    NEAP_TRY(const float of_input, ScaleOf(node.In(kInputWeights + gate)));
    NEAP_TRY(const float of_state, ScaleOf(node.In(kStateWeights + gate)));
    const auto factor = [](float product) {
      return MakeFixedFactor(static_cast<double>(product) * 0x1p12);
    };
    plan.gates[gate] = {factor(of_input * input.scale), factor(of_state * state.scale)};
  }
  plan.keep = MakeFixedFactor(0x1p-15);
  plan.take = MakeFixedFactor(0x1p-30 / static_cast<double>(cell_scale));
  if (plan.tflm) {
    plan.hidden = MakeFixedFactor(0x1p-30 / static_cast<double>(state.scale));
    plan.hidden_zero = state.zero;
    return plan;
  }
  // Without a projection the values in between are those of the state; LiteRT takes the file's
  // word.
  NEAP_CHECK_OK(Require(node.between.size() == 5 && node.between[4] != nullptr &&
                            node.between[4]->scales.size() == 1 && node.between[4]->scales[0] > 0 &&
                            node.between[4]->zero_points.size() <= 1,
                        "has no quantisation of its hidden values"));
  const graph::Quantization& hidden = *node.between[4];
  plan.hidden = MakeFixedFactor(static_cast<double>(
      static_cast<float>(0x1p-15 / static_cast<double>(hidden.scales[0]) * 0x1p-15)));
  plan.hidden_zero =
      hidden.zero_points.empty() ? 0 : static_cast<std::int32_t>(hidden.zero_points[0]);
  return plan;
}

// One run.
class IntegerLstm {
 public:
  IntegerLstm(const QuantizedPlan& plan, const Arguments& arguments)
      : plan_(plan),
        arguments_(arguments),
        states_(Copy<std::int8_t>(kState, plan.lstm.batches * plan.lstm.outputs)),
        cells_(Copy<std::int16_t>(kCell, plan.lstm.batches * plan.lstm.cells)) {
    for (auto& gate : gates_) gate.resize(static_cast<std::size_t>(plan.lstm.cells));
  }

  void Run() {
    ForEachPlace(plan_.lstm,
                 [this](std::int64_t place, std::int64_t batch) { Step(place, batch); });
    if (!TakesStates(arguments_)) return;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      Output<std::int8_t>(arguments_, kHiddenAfter)[i].value = states_[i];
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      Output<std::int16_t>(arguments_, kCellAfter)[i].value = cells_[i];
    }
  }

 private:
  template <typename T>
  std::vector<T> Copy(std::size_t input, std::int64_t count) const {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(T{Input<T>(arguments_, input)[i].value});
    }
    return values;
  }

  std::int16_t GateFunction(std::size_t gate, std::int16_t x) const {
    if (plan_.tflm) return gate == kCellGate ? TableTanh(x, {}) : TableLogistic(x, {});
    return gate == kCellGate ? FixedTanh(x, kGateBits) : FixedLogistic(x, kGateBits);
  }

  void FillGate(std::size_t gate, std::int64_t place, const std::int8_t* state) {
    const LstmPlan& lstm = plan_.lstm;
    const auto* const row = Input<std::int8_t>(arguments_, 0) + place * lstm.width;
    const auto* const input_weights = Input<std::int8_t>(arguments_, kInputWeights + gate);
    const auto* const state_weights = Input<std::int8_t>(arguments_, kStateWeights + gate);
    const auto* const old = CellsOf<std::int8_t>(
        std::as_bytes(std::span(state, static_cast<std::size_t>(lstm.outputs))));
    for (std::int64_t c = 0; c < lstm.cells; ++c) {
      const std::int32_t from_input =
          Dot<std::int32_t>(row, input_weights + c * lstm.width, lstm.width, plan_.input_zero, 0,
                            Input<std::int32_t>(arguments_, kBiases + gate)[c].value);
      const std::int32_t from_state = Dot<std::int32_t>(old, state_weights + c * lstm.outputs,
                                                        lstm.outputs, plan_.state_zero, 0, 0);
      const std::int32_t first = Saturate16(Scale(from_input, plan_.gates[gate].input));
      std::int32_t second = Scale(from_state, plan_.gates[gate].state);
      if (plan_.tflm) second = Saturate16(second);
      gates_[gate][static_cast<std::size_t>(c)] =
          GateFunction(gate, Saturate16(WrapAdd(first, second)));
    }
  }

  // Products of numbers without integer bits, and of the cell.
  std::int16_t Kept(std::int16_t gate, std::int16_t cell) const {
    const std::int32_t product = std::int32_t{gate} * cell;
    return plan_.tflm ? Saturate16(Scale(product, plan_.keep))
                      : static_cast<std::int16_t>(RoundingShift(product, 15));
  }
  std::int16_t Taken(std::int16_t gate, std::int16_t value) const {
    const std::int32_t product = std::int32_t{gate} * value;
    return plan_.tflm ? Saturate16(Scale(product, plan_.take))
                      : static_cast<std::int16_t>(RoundingShift(product, 30 + plan_.cell_power));
  }
  std::int16_t CellFunction(std::int16_t cell) const {
    const std::int32_t integer_bits = 15 + plan_.cell_power;
    if (!plan_.tflm) return FixedTanh(cell, integer_bits);
    const std::int32_t shift = integer_bits - kGateBits;
    return shift >= 0 ? TableTanh(cell, {3 << shift, 0}) : TableTanh(cell, {3, -shift});
  }

  void Step(std::int64_t place, std::int64_t batch) {
    const LstmPlan& lstm = plan_.lstm;
    std::int8_t* const state = states_.data() + batch * lstm.outputs;
    std::int16_t* const cell = cells_.data() + batch * lstm.cells;
    for (std::size_t gate = lstm.coupled ? kForgetGate : kInputGate; gate < kGates; ++gate) {
      FillGate(gate, place, state);
    }
    for (std::size_t c = 0; c < gates_[0].size(); ++c) {
      const std::int16_t keep = gates_[kForgetGate][c];
      const std::int16_t take =
          lstm.coupled ? static_cast<std::int16_t>(32767 - keep) : gates_[kInputGate][c];
      cell[c] = Saturate16(Kept(keep, cell[c]) + Taken(take, gates_[kCellGate][c]));
      if (plan_.cell_clip > 0) {
        cell[c] = static_cast<std::int16_t>(
            std::clamp<std::int32_t>(cell[c], -plan_.cell_clip, plan_.cell_clip));
      }
    }
    Cell<std::int8_t>* const to = Output<std::int8_t>(arguments_) + place * lstm.outputs;
    for (std::size_t c = 0; c < gates_[0].size(); ++c) {
      const std::int32_t product =
          std::int32_t{gates_[kOutputGate][c]} * std::int32_t{CellFunction(cell[c])};
      const std::int32_t hidden = WrapAdd(Scale(product, plan_.hidden), plan_.hidden_zero);
      state[c] = static_cast<std::int8_t>(std::clamp(hidden, -128, 127));
      to[c].value = state[c];
    }
  }

  const QuantizedPlan& plan_;
  const Arguments& arguments_;
  std::vector<std::int8_t> states_;
  std::vector<std::int16_t> cells_;
  std::array<std::vector<std::int16_t>, kGates> gates_;
};

}  // namespace

Result<RunKernel> QuantizedLstm(const Node& node, const LstmPlan& plan) {
  bool ok = node.Out().type == kInt8 && node.In(kState).type == kInt8 &&
            node.In(kCell).type == kInt16 && !plan.projects;
  for (std::size_t gate = 0; gate < kGates; ++gate) {
    const auto is = [&](std::size_t input, graph::ElementType type) {
      return !node.Has(input) || node.In(input).type == type;
    };
    ok = ok && is(kInputWeights + gate, kInt8) && is(kStateWeights + gate, kInt8) &&
         is(kBiases + gate, kInt32) && !plan.has[kNorms + gate];
  }
  for (std::size_t i = kPeepholes; i < kBiases; ++i) ok = ok && !plan.has[i];
  // TensorFlow Lite Micro has none without an input gate.
  if (!ok || (plan.coupled && node.kernels == Kernels::kTflm)) return UnsupportedType(node);
  NEAP_TRY(QuantizedPlan quantized, PlanQuantized(node, plan));
  return RunKernel([quantized](const Arguments& arguments) -> Status {
    IntegerLstm(quantized, arguments).Run();
    return {};
  });
}

}  // namespace neap::execute::tflite
