// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/recurrence.h"

#include <algorithm>
#include <string>
#include <variant>

#include "neap/ops/op_table.h"
#include "neap/ops/window.h"

namespace neap::ops {
namespace {

using graph::Op;
using graph::Subgraph;
using graph::TensorId;

// Inputs of LSTM, GRU and RNN.
constexpr std::size_t kWeights = 1;
constexpr std::size_t kRecurrentWeights = 2;
constexpr std::size_t kLengths = 4;
constexpr std::size_t kInitialHidden = 5;
constexpr std::size_t kInitialCell = 6;
// Outputs.
constexpr std::size_t kAll = 0;
constexpr std::size_t kLastHidden = 1;

bool IsRead(const Subgraph& subgraph, TensorId tensor) {
  const auto among = [&](const std::vector<TensorId>& list) {
    return std::find(list.begin(), list.end(), tensor) != list.end();
  };
  return among(subgraph.outputs) ||
         std::any_of(subgraph.ops.begin(), subgraph.ops.end(),
                     [&](const Op& op) { return among(op.inputs) || among(op.captures); });
}

bool IsForward(const Op& op) {
  const auto at = op.attributes.find("direction");
  const auto* const text =
      at == op.attributes.end() ? nullptr : std::get_if<std::string>(&at->second);
  return at == op.attributes.end() || (text != nullptr && *text == "forward");
}

bool IsGiven(const Op& op, std::size_t input) {
  return input < op.inputs.size() && op.inputs[input].valid();
}

// The output that is read, alone.
std::optional<std::size_t> OnlyOutput(const Subgraph& subgraph, const Op& op) {
  std::optional<std::size_t> only;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i].valid() || !IsRead(subgraph, op.outputs[i])) continue;
    if (only) return std::nullopt;
    only = i;
  }
  return only && (*only == kAll || *only == kLastHidden) ? only : std::nullopt;
}

bool IsKnown(const graph::Tensor& tensor, std::size_t rank) {
  return tensor.shape && tensor.shape->size() == rank && graph::TensorBytes(tensor) &&
         std::all_of(tensor.shape->begin(), tensor.shape->end(), [](auto d) { return d > 0; });
}

constexpr std::size_t kRankOfSteps = 3;

// Of .tflite. Weights of integers beside data of floats are multiplied in integers.
std::optional<Recurrence> SequenceOf(const Subgraph& subgraph, const Op& op) {
  if (op.folded || op.outputs.size() != 1 || !op.outputs[0].valid() || !IsGiven(op, 0) ||
      !OwnsVariables(subgraph, op)) {
    return std::nullopt;
  }
  const graph::Tensor& in = subgraph.tensors[op.inputs[0]];
  const graph::Tensor& out = subgraph.tensors[op.outputs[0]];
  if (in.constant || out.constant || !IsKnown(in, kRankOfSteps) || !IsKnown(out, kRankOfSteps)) {
    return std::nullopt;
  }
  Recurrence recurrence;
  recurrence.variables = {kHiddenVariable, kCellVariable};
  recurrence.axis = IntegerAttribute(op, "time_major", 0) != 0 ? 0 : 1;
  recurrence.steps = (*in.shape)[recurrence.axis];
  const bool by_rows = recurrence.axis == 0 || (*in.shape)[0] == 1;
  const bool floats = in.type == graph::ElementType::kFloat32;
  if (!by_rows || recurrence.steps < 2 || out.type != in.type ||
      (!floats && in.type != graph::ElementType::kInt8) || (*out.shape)[0] != (*in.shape)[0] ||
      (*out.shape)[1] != (*in.shape)[1]) {
    return std::nullopt;
  }
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].valid() || i == kHiddenVariable || i == kCellVariable) continue;
    const graph::Tensor& tensor = subgraph.tensors[op.inputs[i]];
    if (!tensor.constant || (floats && tensor.type != in.type)) return std::nullopt;
  }
  return recurrence;
}

}  // namespace

bool OwnsVariables(const Subgraph& subgraph, const Op& op) {
  if (!Is(op, OpKind::kUnidirectionalSequenceLstm) || !op.bodies.empty() || !op.captures.empty()) {
    return false;
  }
  const auto count = [&](TensorId tensor) {
    const auto in = [&](const std::vector<TensorId>& list) {
      return std::count(list.begin(), list.end(), tensor);
    };
    auto uses = in(subgraph.inputs) + in(subgraph.outputs);
    for (const Op& other : subgraph.ops) {
      uses += in(other.inputs) + in(other.outputs) + in(other.captures);
    }
    return uses;
  };
  for (std::size_t i = 0; i < std::max(op.inputs.size(), kCellVariable + 1); ++i) {
    const bool state = i == kHiddenVariable || i == kCellVariable;
    if (!IsGiven(op, i)) {
      if (state) return false;
      continue;
    }
    const graph::Tensor& tensor = subgraph.tensors[op.inputs[i]];
    if (tensor.variable != state || (state && tensor.constant)) return false;
    if (state && (count(op.inputs[i]) != 1 || !graph::TensorBytes(tensor))) return false;
  }
  return true;
}

std::int64_t VariableBytesOf(const Subgraph& subgraph, const Op& op) {
  if (op.folded || !OwnsVariables(subgraph, op)) return 0;
  std::int64_t bytes = 0;
  for (const std::size_t i : {kHiddenVariable, kCellVariable}) {
    bytes += graph::TensorBytes(subgraph.tensors[op.inputs[i]]).value_or(0);
  }
  return bytes;
}

std::optional<Recurrence> RecurrenceOf(const Subgraph& subgraph, const Op& op) {
  if (Is(op, OpKind::kUnidirectionalSequenceLstm)) return SequenceOf(subgraph, op);
  const bool lstm = Is(op, OpKind::kOnnxLSTM);
  if (!lstm && !Is(op, OpKind::kOnnxGRU, OpKind::kOnnxRNN)) return std::nullopt;
  const bool plain = IsForward(op) && IntegerAttribute(op, "layout", 0) == 0 && !op.folded &&
                     IsGiven(op, 0) && IsGiven(op, kWeights) && IsGiven(op, kRecurrentWeights) &&
                     !IsGiven(op, kLengths);
  if (!plain) return std::nullopt;
  const auto output = OnlyOutput(subgraph, op);
  if (!output) return std::nullopt;
  const graph::Tensor& in = subgraph.tensors[op.inputs[0]];
  const graph::Tensor& out = subgraph.tensors[op.outputs[*output]];
  const graph::Tensor& weights = subgraph.tensors[op.inputs[kRecurrentWeights]];
  if (in.constant || out.constant || !IsKnown(in, kRankOfSteps) ||
      !IsKnown(weights, kRankOfSteps)) {
    return std::nullopt;
  }
  Recurrence recurrence;
  recurrence.output = *output;
  recurrence.last_only = *output == kLastHidden;
  recurrence.steps = (*in.shape)[0];
  const std::int64_t batch = (*in.shape)[1];
  const std::int64_t hidden = (*weights.shape)[2];
  const graph::Shape state = {1, batch, hidden};
  graph::Shape expected = state;
  if (!recurrence.last_only) expected.insert(expected.begin(), recurrence.steps);
  const auto floats = graph::ElementType::kFloat32;
  if (recurrence.steps < 2 || out.shape != expected || in.type != floats || out.type != floats) {
    return std::nullopt;
  }
  const auto bytes = graph::TensorBytes(out);
  if (!bytes) return std::nullopt;
  recurrence.state_bytes =
      (recurrence.last_only ? *bytes : *bytes / recurrence.steps) * (lstm ? 2 : 1);
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].valid()) continue;
    const graph::Tensor& tensor = subgraph.tensors[op.inputs[i]];
    const bool initial = i == kInitialHidden || (i == kInitialCell && lstm);
    if (initial && (tensor.shape != state || tensor.type != floats)) return std::nullopt;
    if (tensor.constant) continue;
    if (!initial || op.inputs[i] == op.inputs[0]) return std::nullopt;
    recurrence.initial.push_back(i);
  }
  return recurrence;
}

std::optional<Need> NeedOfSteps(const Subgraph& subgraph, const Op& op, std::size_t input,
                                const Box& output_box, std::size_t output) {
  const auto recurrence = RecurrenceOf(subgraph, op);
  if (!recurrence) return NeedOf(subgraph, op, input, output_box, output);
  const auto& initial = recurrence->initial;
  const bool is_initial = std::find(initial.begin(), initial.end(), input) != initial.end();
  if (output != recurrence->output || output_box.empty() || (input != 0 && !is_initial)) {
    return std::nullopt;
  }
  const graph::Shape& shape = *subgraph.tensors[op.inputs[input]].shape;
  Need need{WholeBox(shape), std::vector<Need::Padding>(shape.size())};
  const bool none = IsEmpty(output_box);
  const std::size_t axis = recurrence->axis;
  if (input == 0 && !recurrence->last_only) need.box[axis] = output_box[axis];
  const bool later = is_initial && !recurrence->last_only && output_box[0].begin > 0;
  if (none || later) need.box[0] = {};
  return need;
}

}  // namespace neap::ops
