// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/onnx/control_flow.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "neap/ops/op_table.h"

namespace neap::formats::onnx {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;
using MaybeShape = std::optional<Shape>;
using ops::Is;
using ops::OpKind;

// Trials until the shapes of a loop's state no longer change; then they are given up.
constexpr int kMaxTrials = 8;

// Fills the unknown dimensions of `to` with known ones of `shape`.
void Complete(Tensor* to, ElementType type, const MaybeShape& shape) {
  if (to->type == ElementType::kUnknown) to->type = type;
  if (!shape) return;
  if (!to->shape) {
    to->shape = shape;
    return;
  }
  if (to->shape->size() != shape->size()) return;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if ((*to->shape)[i] < 0) (*to->shape)[i] = (*shape)[i];
  }
}

// The shape that is true for both.
MaybeShape Common(const MaybeShape& a, const MaybeShape& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Shape out = *a;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] != (*b)[i]) out[i] = -1;
  }
  return out;
}

// A constant scalar that is followed by value.
std::optional<std::int64_t> Scalar(const Tensor& tensor) {
  if (!tensor.data || tensor.data->bytes.empty() || tensor.data->bytes.size() > 8) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < tensor.data->bytes.size(); ++i) {
    value |= std::to_integer<std::uint64_t>(tensor.data->bytes[i]) << (8 * i);
  }
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> IntAttribute(const Op& op, const char* name) {
  const auto found = op.attributes.find(name);
  if (found == op.attributes.end()) return std::nullopt;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::int64_t AxisOf(const Op& op, const char* name, std::size_t at, std::size_t rank) {
  const auto found = op.attributes.find(name);
  const auto* axes = found == op.attributes.end()
                         ? nullptr
                         : std::get_if<std::vector<std::int64_t>>(&found->second);
  std::int64_t axis = axes != nullptr && at < axes->size() ? (*axes)[at] : 0;
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  return axis >= 0 && axis < static_cast<std::int64_t>(rank) ? axis : -1;
}

class BodyInference {
 public:
  BodyInference(Graph* graph, const Captures& captures, const ops::OnnxInference& options,
                std::vector<std::string>* notes)
      : graph_(*graph), captures_(captures), options_(options), notes_(notes) {}

  // Recursion is as deep as bodies are nested, which the reader has limited.
  void Infer(SubgraphId id) {
    ops::OnnxInference options = options_;
    options.control_flow = [this, id](OpId op) { InferBodies(id, op); };
    ops::InferOnnxShapes(&graph_.subgraphs[id], options, notes_);
    // Hidden from the operators that follow the rules: see InferGraph().
    for (const Capture& capture : captures_[id]) {
      graph_.subgraphs[id].tensors[capture.local].constant = true;
    }
  }

 private:
  Tensor* TensorAt(SubgraphId subgraph, const std::vector<TensorId>& list, std::size_t at) {
    if (at >= list.size() || !list[at].valid()) return nullptr;
    return &graph_.subgraphs[subgraph].tensors[list[at]];
  }

  void InferBodies(SubgraphId outer, OpId id) {
    Subgraph& scope = graph_.subgraphs[outer];
    const Op& op = scope.ops[id];
    for (const SubgraphId body : op.bodies) {
      for (const Capture& capture : captures_[body]) {
        const Tensor& from = scope.tensors[capture.outer];
        Tensor& to = graph_.subgraphs[body].tensors[capture.local];
        std::string name = std::move(to.name);
        to = from;
        to.name = std::move(name);
      }
    }
    const bool standard = op.domain.empty() || op.domain == "ai.onnx";
    if (standard && Is(op, OpKind::kOnnxIf)) {
      InferIf(outer, op);
    } else if (standard && Is(op, OpKind::kOnnxLoop) && op.bodies.size() == 1) {
      InferLoop(outer, op);
    } else if (standard && Is(op, OpKind::kOnnxScan) && op.bodies.size() == 1 &&
               options_.opset >= 9) {
      InferScan(outer, op);
    } else {
      for (const SubgraphId body : op.bodies) Infer(body);
    }
  }

  void InferIf(SubgraphId outer, const Op& op) {
    for (const SubgraphId body : op.bodies) Infer(body);
    std::vector<SubgraphId> taken = op.bodies;
    const Tensor* condition = TensorAt(outer, op.inputs, 0);
    if (const auto value = condition != nullptr ? Scalar(*condition) : std::nullopt) {
      const auto branch = IntAttribute(op, *value != 0 ? "then_branch" : "else_branch");
      if (branch) taken = {SubgraphId(static_cast<std::int32_t>(*branch))};
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      Tensor* const out = TensorAt(outer, op.outputs, i);
      if (out == nullptr || taken.empty()) continue;
      const Tensor* const first = TensorAt(taken[0], graph_.subgraphs[taken[0]].outputs, i);
      if (first == nullptr) continue;
      MaybeShape shape = first->shape;
      for (const SubgraphId body : taken) {
        const Tensor* const other = TensorAt(body, graph_.subgraphs[body].outputs, i);
        shape = other == nullptr ? std::nullopt : Common(shape, other->shape);
      }
      Complete(out, first->type, shape);
    }
  }

  // The shape of a state is its initial shape, as far as the body does not change it. `first`
  // states begin at body input `at` and end at body output `out_at`.
  struct States {
    std::size_t count = 0;
    std::size_t op_input = 0;
    std::size_t body_input = 0;
    std::size_t body_output = 0;
  };

  static void SetInputs(Subgraph* body, const States& states, const std::vector<ElementType>& types,
                        const std::vector<MaybeShape>& shapes) {
    for (std::size_t i = 0; i < states.count; ++i) {
      const std::size_t at = states.body_input + i;
      if (at < body->inputs.size()) Complete(&body->tensors[body->inputs[at]], types[i], shapes[i]);
    }
  }

  // Keeps of `shape` what the body's output confirms; whether anything was given up.
  static bool Confirm(const MaybeShape& output, MaybeShape* shape) {
    if (!*shape) return false;
    if (!output || output->size() != (*shape)->size()) {
      shape->reset();
      return true;
    }
    bool changed = false;
    for (std::size_t i = 0; i < output->size(); ++i) {
      if ((**shape)[i] < 0 || (**shape)[i] == (*output)[i]) continue;
      (**shape)[i] = -1;
      changed = true;
    }
    return changed;
  }

  void InferWithStates(SubgraphId outer, const Op& op, const States& states) {
    const SubgraphId id = op.bodies[0];
    std::vector<ElementType> types(states.count, ElementType::kUnknown);
    std::vector<MaybeShape> shapes(states.count);
    for (std::size_t i = 0; i < states.count; ++i) {
      if (const Tensor* input = TensorAt(outer, op.inputs, states.op_input + i)) {
        types[i] = input->type;
        shapes[i] = input->shape;
      }
    }
    bool changed = true;
    for (int trial = 0; changed; ++trial) {
      if (trial == kMaxTrials) shapes.assign(states.count, std::nullopt);
      Subgraph body = graph_.subgraphs[id];
      SetInputs(&body, states, types, shapes);
      std::vector<std::string> unused;
      ops::InferOnnxShapes(&body, options_, &unused);
      changed = false;
      for (std::size_t i = 0; i < states.count; ++i) {
        const std::size_t at = states.body_output + i;
        const MaybeShape output =
            at < body.outputs.size() ? body.tensors[body.outputs[at]].shape : std::nullopt;
        changed = Confirm(output, &shapes[i]) || changed;
      }
    }
    SetInputs(&graph_.subgraphs[id], states, types, shapes);
    Infer(id);
  }

  // inputs: trip count, condition, states; body: iteration, condition, states -> condition, states,
  // slices of the outputs that grow with every trip.
  void InferLoop(SubgraphId outer, const Op& op) {
    Subgraph& body = graph_.subgraphs[op.bodies[0]];
    const std::size_t states = op.inputs.size() > 2 ? op.inputs.size() - 2 : 0;
    if (!body.inputs.empty()) {
      Complete(&body.tensors[body.inputs[0]], ElementType::kInt64, Shape{});
    }
    if (body.inputs.size() > 1) {
      Complete(&body.tensors[body.inputs[1]], ElementType::kBool, Shape{});
    }
    InferWithStates(outer, op, {states, 2, 2, 1});
    const auto trips = LoopTrips(outer, op, body);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      Tensor* const out = TensorAt(outer, op.outputs, i);
      const Tensor* const inner = TensorAt(op.bodies[0], body.outputs, i + 1);
      if (out == nullptr || inner == nullptr) continue;
      if (i < states) {
        // No trip at all leaves the state as it came in.
        const Tensor* const in = TensorAt(outer, op.inputs, i + 2);
        Complete(out, inner->type, Common(inner->shape, in != nullptr ? in->shape : std::nullopt));
      } else if (inner->shape) {
        Shape shape = *inner->shape;
        shape.insert(shape.begin(), trips.value_or(-1));
        Complete(out, inner->type, shape);
      }
    }
  }

  // Known where the count is and no condition can end the loop before.
  std::optional<std::int64_t> LoopTrips(SubgraphId outer, const Op& op, const Subgraph& body) {
    const Tensor* const count = TensorAt(outer, op.inputs, 0);
    const auto trips = count != nullptr ? Scalar(*count) : std::nullopt;
    const Tensor* const condition = TensorAt(outer, op.inputs, 1);
    if (!trips || *trips < 0 || body.outputs.empty() || body.inputs.size() < 2) return std::nullopt;
    if (condition != nullptr && Scalar(*condition).value_or(0) == 0) return std::nullopt;
    TensorId next = body.outputs[0];
    const auto producer = graph::Producers(body);
    // A chain of Identity is no longer than the body.
    for (std::size_t i = 0; i < body.ops.size() && producer[next].valid(); ++i) {
      const Op& made_by = body.ops[producer[next]];
      if (!Is(made_by, OpKind::kOnnxIdentity) || made_by.inputs.size() != 1) break;
      if (!made_by.inputs[0].valid()) break;
      next = made_by.inputs[0];
    }
    if (next == body.inputs[1] || Scalar(body.tensors[next]).value_or(0) != 0) return trips;
    return std::nullopt;
  }

  // inputs: states, sequences; body: states, slices -> states, slices.
  void InferScan(SubgraphId outer, const Op& op) {
    const SubgraphId id = op.bodies[0];
    Subgraph& body = graph_.subgraphs[id];
    const auto asked = IntAttribute(op, "num_scan_inputs").value_or(-1);
    if (asked < 0 || asked > static_cast<std::int64_t>(op.inputs.size())) return Infer(id);
    const auto sequences = static_cast<std::size_t>(asked);
    const std::size_t states = op.inputs.size() - sequences;
    std::int64_t steps = -1;
    for (std::size_t i = 0; i < sequences; ++i) {
      const Tensor* const in = TensorAt(outer, op.inputs, states + i);
      Tensor* const slice = TensorAt(id, body.inputs, states + i);
      if (in == nullptr || slice == nullptr || !in->shape) continue;
      const std::int64_t axis = AxisOf(op, "scan_input_axes", i, in->shape->size());
      if (axis < 0) continue;
      Shape shape = *in->shape;
      steps = std::max(steps, shape[static_cast<std::size_t>(axis)]);
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
      Complete(slice, in->type, shape);
    }
    InferWithStates(outer, op, {states, 0, 0, 0});
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      Tensor* const out = TensorAt(outer, op.outputs, i);
      const Tensor* const inner = TensorAt(id, body.outputs, i);
      if (out == nullptr || inner == nullptr) continue;
      MaybeShape shape = inner->shape;
      if (i >= states && shape) {
        const std::int64_t axis = AxisOf(op, "scan_output_axes", i - states, shape->size() + 1);
        if (axis < 0) continue;
        shape->insert(shape->begin() + static_cast<std::ptrdiff_t>(axis), steps);
      }
      Complete(out, inner->type, shape);
    }
  }

  Graph& graph_;
  const Captures& captures_;
  const ops::OnnxInference& options_;
  std::vector<std::string>* notes_;
};

}  // namespace

void InferGraph(Graph* graph, const Captures& captures, ops::OnnxInference options,
                std::vector<std::string>* notes) {
  // The bodies' own hook is set at every call.
  options.control_flow = {};
  BodyInference(graph, captures, options, notes).Infer(SubgraphId(0));
}

}  // namespace neap::formats::onnx
