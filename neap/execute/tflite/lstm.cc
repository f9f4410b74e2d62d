// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/tflite/lstm.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "neap/execute/families.h"
#include "neap/execute/loops/conv.h"
#include "neap/execute/tflite/common.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

constexpr std::int64_t kTanh = 4;  // of the fused activations

bool HasElements(const Node& node, std::size_t input, std::int64_t elements) {
  return !node.Has(input) || node.In(input).elements == elements;
}

// Whether all existing inputs have the sizes that the plan gives.
bool Fits(const Node& node, const LstmPlan& plan) {
  bool ok = node.Out().elements == plan.batches * plan.steps * plan.outputs;
  for (std::size_t gate = 0; gate < kGates; ++gate) {
    ok = ok && HasElements(node, kInputWeights + gate, plan.cells * plan.width) &&
         HasElements(node, kStateWeights + gate, plan.cells * plan.outputs) &&
         HasElements(node, kBiases + gate, plan.cells) &&
         HasElements(node, kNorms + gate, plan.cells);
    // The others have to be there; of the input gate, both or none.
    ok = ok && plan.has[kInputWeights + gate] == plan.has[kStateWeights + gate];
    if (gate != kInputGate) ok = ok && plan.has[kInputWeights + gate] && plan.has[kBiases + gate];
  }
  for (std::size_t i = kPeepholes; i < kBiases; ++i) ok = ok && HasElements(node, i, plan.cells);
  ok = ok && (plan.coupled || plan.has[kBiases]);
  ok = ok && HasElements(node, kProjection, plan.outputs * plan.cells) &&
       HasElements(node, kProjectionBias, plan.outputs) &&
       (plan.projects || plan.outputs == plan.cells);
  return ok && node.In(kState).elements == plan.batches * plan.outputs &&
         node.In(kCell).elements == plan.batches * plan.cells;
}

float Logistic(float x) { return 1.0F / (1.0F + std::exp(-x)); }

// To mean 0 and variance 1.
void Normalize(std::vector<float>& values) {
  const auto count = static_cast<float>(values.size());
  float sum = 0;
  for (const float value : values) sum += value;
  const float mean = sum / count;
  float squares = 0;
  for (const float value : values) squares += (value - mean) * (value - mean);
  const float inverse = 1.0F / std::sqrt(squares / count + 1e-8F);
  for (float& value : values) value = (value - mean) * inverse;
}

// One run of a float32 LSTM.
class FloatLstm {
 public:
  FloatLstm(const LstmPlan& plan, const Arguments& arguments)
      : plan_(plan),
        arguments_(arguments),
        states_(Copy(kState, plan.batches * plan.outputs)),
        cells_(Copy(kCell, plan.batches * plan.cells)) {
    for (auto& gate : gates_) gate.resize(static_cast<std::size_t>(plan.cells));
  }

  void Run() {
    ForEachPlace(plan_, [this](std::int64_t place, std::int64_t batch) { Step(place, batch); });
    if (!TakesStates(arguments_)) return;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      Output<float>(arguments_, kHiddenAfter)[i].value = states_[i];
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      Output<float>(arguments_, kCellAfter)[i].value = cells_[i];
    }
  }

 private:
  const Cell<float>* In(std::size_t input) const { return Input<float>(arguments_, input); }
  std::vector<float> Copy(std::size_t input, std::int64_t count) const {
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(float{In(input)[i].value});
    return values;
  }

  void FillGate(std::size_t gate, std::int64_t place, const float* state, const float* cell) {
    const bool norms = plan_.has[kNorms + gate];
    const bool peeps = gate != kCellGate && plan_.has[Peephole(gate)];
    std::vector<float>& values = gates_[gate];
    for (std::int64_t c = 0; c < plan_.cells; ++c) {
      float sum = norms ? 0.0F : In(kBiases + gate)[c].value;
      sum = Dot<float>(In(kInputWeights + gate) + c * plan_.width, In(0) + place * plan_.width,
                       plan_.width, 0.0F, 0.0F, sum);
      const Cell<float>* const weights = In(kStateWeights + gate) + c * plan_.outputs;
      for (std::int64_t i = 0; i < plan_.outputs; ++i) sum += weights[i].value * state[i];
      if (peeps) sum += In(Peephole(gate))[c].value * cell[c];
      values[static_cast<std::size_t>(c)] = sum;
    }
    if (norms) {
      Normalize(values);
      for (std::int64_t c = 0; c < plan_.cells; ++c) {
        float& value = values[static_cast<std::size_t>(c)];
        value = value * In(kNorms + gate)[c].value + In(kBiases + gate)[c].value;
      }
    }
    for (float& value : values) value = gate == kCellGate ? std::tanh(value) : Logistic(value);
  }
  static std::size_t Peephole(std::size_t gate) {
    return gate == kOutputGate ? kPeepholes + 2 : kPeepholes + gate;
  }

  void Step(std::int64_t place, std::int64_t batch) {
    float* const state = states_.data() + batch * plan_.outputs;
    float* const cell = cells_.data() + batch * plan_.cells;
    if (!plan_.coupled) FillGate(kInputGate, place, state, cell);
    FillGate(kForgetGate, place, state, cell);
    FillGate(kCellGate, place, state, cell);
    const auto clip = static_cast<float>(plan_.cell_clip);
    for (std::size_t c = 0; c < gates_[0].size(); ++c) {
      const float keep = gates_[kForgetGate][c];
      const float take = plan_.coupled ? 1.0F - keep : gates_[kInputGate][c];
      cell[c] = keep * cell[c] + gates_[kCellGate][c] * take;
      if (clip > 0) cell[c] = std::clamp(cell[c], -clip, clip);
    }
    FillGate(kOutputGate, place, state, cell);
    std::vector<float>& hidden = gates_[kOutputGate];
    for (std::size_t c = 0; c < hidden.size(); ++c) hidden[c] *= std::tanh(cell[c]);
    if (plan_.projects) {
      Project(hidden, state);
    } else {
      std::copy(hidden.begin(), hidden.end(), state);
    }
    Cell<float>* const to = Output<float>(arguments_) + place * plan_.outputs;
    for (std::int64_t i = 0; i < plan_.outputs; ++i) to[i].value = state[i];
  }

  void Project(const std::vector<float>& hidden, float* state) const {
    const auto clip = static_cast<float>(plan_.projection_clip);
    for (std::int64_t i = 0; i < plan_.outputs; ++i) {
      float sum = plan_.has[kProjectionBias] ? In(kProjectionBias)[i].value : 0.0F;
      const Cell<float>* const weights = In(kProjection) + i * plan_.cells;
      for (std::size_t c = 0; c < hidden.size(); ++c) sum += weights[c].value * hidden[c];
      state[i] = clip > 0 ? std::clamp(sum, -clip, clip) : sum;
    }
  }

  const LstmPlan& plan_;
  const Arguments& arguments_;
  std::vector<float> states_;
  std::vector<float> cells_;
  std::array<std::vector<float>, kGates> gates_;
};

Result<RunKernel> PrepareLstm(const Node& node) {
  NEAP_TRY(const LstmPlan plan, PlanLstm(node));
  if (node.In(0).type == kInt8) return QuantizedLstm(node, plan);
  bool floats = node.Out().type == kFloat32;
  for (const Operand& input : node.inputs) {
    floats = floats && (!input.present || input.type == kFloat32);
  }
  if (!floats) return UnsupportedType(node);
  return RunKernel([plan](const Arguments& arguments) -> Status {
    FloatLstm(plan, arguments).Run();
    return {};
  });
}

constexpr KernelEntry kLstmKernels[] = {
    {"UNIDIRECTIONAL_SEQUENCE_LSTM", PrepareLstm},
    {"SVDF", PrepareSvdf},
};

}  // namespace

Result<LstmPlan> PlanLstm(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, kLstmInputs));
  LstmPlan plan;
  for (std::size_t i = 0; i < kLstmInputs; ++i) plan.has[i] = node.Has(i);
  NEAP_CHECK_OK(Require(node.In(0).Rank() == 3 && plan.has[kState] && plan.has[kCell] &&
                            plan.has[kInputWeights + kForgetGate] &&
                            node.In(kInputWeights + kForgetGate).Rank() == 2,
                        "does not have the inputs of its type"));
  const graph::Shape& in = node.In(0).shape;
  plan.time_major = IntOr(*node.op, "time_major", 0) != 0;
  plan.steps = in[plan.time_major ? 0 : 1];
  plan.batches = in[plan.time_major ? 1 : 0];
  plan.width = in[2];
  plan.cells = node.In(kInputWeights + kForgetGate).shape[0];
  plan.coupled = !plan.has[kInputWeights];
  plan.projects = plan.has[kProjection];
  plan.cell_clip = RealOr(*node.op, "cell_clip", 0);
  plan.projection_clip = RealOr(*node.op, "proj_clip", 0);
  plan.outputs = plan.batches > 0 ? node.In(kState).elements / plan.batches : 0;
  NEAP_CHECK_OK(Require(IntOr(*node.op, "fused_activation_function", kNone) == kTanh &&
                            IntOr(*node.op, "diagonal_recurrent_tensors", 0) == 0,
                        "has no kernel for its activation or its weights"));
  NEAP_CHECK_OK(Require(plan.width > 0 && plan.cells > 0 && plan.outputs > 0 && Fits(node, plan),
                        "its inputs and its output do not fit together"));
  return plan;
}

std::span<const KernelEntry> RecurrentKernels() { return kLstmKernels; }

}  // namespace neap::execute::tflite
