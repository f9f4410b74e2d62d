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

// Inputs of LSTM and GRU.
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

}  // namespace

std::optional<Recurrence> RecurrenceOf(const Subgraph& subgraph, const Op& op) {
  const bool lstm = Is(op, OpKind::kOnnxLSTM);
  if (!lstm && !Is(op, OpKind::kOnnxGRU)) return std::nullopt;
  const bool plain = IsForward(op) && IntegerAttribute(op, "layout", 0) == 0 && !op.folded &&
                     IsGiven(op, 0) && IsGiven(op, kWeights) && IsGiven(op, kRecurrentWeights) &&
                     !IsGiven(op, kLengths);
  if (!plain) return std::nullopt;
  const auto output = OnlyOutput(subgraph, op);
  if (!output) return std::nullopt;
  const graph::Tensor& in = subgraph.tensors[op.inputs[0]];
  const graph::Tensor& out = subgraph.tensors[op.outputs[*output]];
  const graph::Tensor& weights = subgraph.tensors[op.inputs[kRecurrentWeights]];
  constexpr std::size_t kRank = 3;
  const auto known = [](const graph::Tensor& tensor, std::size_t rank) {
    return tensor.shape && tensor.shape->size() == rank && graph::TensorBytes(tensor) &&
           std::all_of(tensor.shape->begin(), tensor.shape->end(), [](auto d) { return d > 0; });
  };
  if (in.constant || out.constant || !known(in, kRank) || !known(weights, kRank)) {
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
  if (input == 0 && !recurrence->last_only) need.box[0] = output_box[0];
  const bool later = is_initial && !recurrence->last_only && output_box[0].begin > 0;
  if (none || later) need.box[0] = {};
  return need;
}

}  // namespace neap::ops
