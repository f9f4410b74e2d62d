// SPDX-License-Identifier: Apache-2.0
#include "neap/stages/lower.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/ops/macs.h"
#include "neap/ops/op_table.h"
#include "neap/ops/state.h"

namespace neap::stages {
namespace {

using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;
using ops::OpKind;
using partition::OpIndex;

constexpr std::int64_t kFemtosecondsPerPicosecond = 1000;

constexpr std::int64_t kBiasBytes = 4;  // an element of a quantised model: int32

// The input at which an operator reads its bias; nullopt: it has none.
std::optional<std::size_t> BiasInputOf(const graph::Op& op) {
  switch (ops::KindOfName(op)) {
    case OpKind::kConv2d:
    case OpKind::kDepthwiseConv2d:
    case OpKind::kFullyConnected:
    case OpKind::kOnnxConv:
    case OpKind::kOnnxConvTranspose:
    case OpKind::kOnnxGemm:
      return 2;
    case OpKind::kTransposeConv:
      return 3;
    default:
      return std::nullopt;
  }
}

bool ReadsAsBias(const graph::Op& op, TensorId tensor) {
  const auto bias = BiasInputOf(op);
  return bias && op.inputs.size() > *bias && op.inputs[*bias] == tensor;
}

template <typename T>
void SortUnique(std::vector<T>* list) {
  std::sort(list->begin(), list->end());
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

class Lowering {
 public:
  Lowering(const graph::Graph& graph, const LowerOptions& options)
      : graph_(graph), main_(graph.subgraphs[SubgraphId(0)]), options_(options) {}

  Result<Lowered> Run() {
    NEAP_CHECK_OK(AddOperators());
    NEAP_CHECK_OK(AddParameters());
    NEAP_CHECK_OK(AddTensors());
    AddRules();
    partition::Problem& problem = lowered_.problem;
    problem.num_stages = options_.stages;
    partition::Machine& machine = problem.machine;
    machine.parameter_limit_bytes = options_.parameter_limit_bytes;
    if (options_.objective == Objective::kParameters) {
      machine.stream_cost_per_byte = 1;
      std::fill(problem.compute_cost.begin(), problem.compute_cost.end(), 0);
    } else {
      machine.fixed_cost = options_.accelerator.fixed_picoseconds;
      machine.cache_bytes = options_.accelerator.cache_bytes;
      machine.stream_cost_per_byte = options_.accelerator.stream_picoseconds_per_byte;
      machine.link_cost_per_byte = options_.accelerator.link_picoseconds_per_byte;
      machine.shared_link = options_.shared_link;
    }
    if (const auto wrong = partition::Validate(problem)) return Fail(BadInput(*wrong));
    return std::move(lowered_);
  }

 private:
  static constexpr OpIndex kNoOp = -1;

  Diagnostic At(Diagnostic diagnostic, OpId op, TensorId tensor) const {
    diagnostic.op = graph::Describe(op, main_.ops[op]);
    diagnostic.tensor = graph::Describe(tensor, main_.tensors[tensor]);
    return diagnostic;
  }

  // Multiply-accumulates of an operator and of its bodies, each run once.
  std::int64_t MacsOf(const Subgraph& subgraph, const graph::Op& op) const {
    std::int64_t macs = ops::MultiplyAccumulates(subgraph, op);
    std::vector<SubgraphId> waiting = op.bodies;
    std::size_t left = graph_.subgraphs.size();  // bodies do not nest deeper
    while (!waiting.empty() && left-- > 0) {
      const Subgraph& body = graph_.subgraphs[waiting.back()];
      waiting.pop_back();
      for (const graph::Op& inner : body.ops) {
        macs = std::min(CheckedAdd(macs, ops::MultiplyAccumulates(body, inner)).value_or(kMaxBytes),
                        kMaxBytes);
        waiting.insert(waiting.end(), inner.bodies.begin(), inner.bodies.end());
      }
    }
    return macs;
  }

  Status AddOperators() {
    index_of_ = IdVector<OpId, OpIndex>(main_.ops.size(), kNoOp);
    for (const OpId id : main_.ops.Ids()) {
      if (main_.ops[id].folded) continue;
      if (lowered_.ops.size() >= static_cast<std::size_t>(partition::kMaxOps)) {
        return Fail(BadInput("more than " + std::to_string(partition::kMaxOps) +
                             " operators cannot be assigned to stages"));
      }
      index_of_[id] = static_cast<OpIndex>(lowered_.ops.size());
      lowered_.ops.push_back(id);
      const auto femtoseconds =
          CheckedMultiply(MacsOf(main_, main_.ops[id]), options_.accelerator.femtoseconds_per_mac);
      lowered_.problem.compute_cost.push_back(femtoseconds.value_or(kMaxBytes) /
                                              kFemtosecondsPerPicosecond);
    }
    lowered_.problem.num_ops = static_cast<OpIndex>(lowered_.ops.size());
    lowered_.problem.parameter_bytes.assign(lowered_.ops.size(), 0);
    return {};
  }

  // The tensors that an operator reads: inputs and captures, each once.
  std::vector<TensorId> ReadsOf(const graph::Op& op) const {
    std::vector<TensorId> reads;
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId tensor : *list) {
        if (tensor.valid()) reads.push_back(tensor);
      }
    }
    SortUnique(&reads);
    return reads;
  }

  // Constants of the bodies of an operator, each where it is.
  Result<std::int64_t> BodyParameters(const graph::Op& op) const {
    std::vector<SubgraphId> bodies = op.bodies;
    std::vector<bool> seen(graph_.subgraphs.size(), false);
    std::int64_t bytes = 0;
    while (!bodies.empty()) {
      const SubgraphId id = bodies.back();
      bodies.pop_back();
      if (seen[id.index()]) continue;
      seen[id.index()] = true;
      for (const Tensor& tensor : graph_.subgraphs[id].tensors) {
        if (!tensor.constant) continue;
        NEAP_TRY(const std::int64_t more, BytesOn(options_.accelerator, tensor));
        bytes = std::min(CheckedAdd(bytes, more).value_or(kMaxBytes), kMaxBytes);
      }
      for (const graph::Op& inner : graph_.subgraphs[id].ops) {
        bodies.insert(bodies.end(), inner.bodies.begin(), inner.bodies.end());
      }
    }
    return bytes;
  }

  // A bias of floats counts as that of a quantised model, in which all other elements are a byte.
  Result<std::int64_t> ParameterBytes(TensorId id, const graph::Op& reader) const {
    const Tensor& tensor = main_.tensors[id];
    NEAP_TRY(const std::int64_t bytes, BytesOn(options_.accelerator, tensor));
    if (!options_.accelerator.int8 || !IsFloat(tensor.type) || !ReadsAsBias(reader, id))
      return bytes;
    return CheckedMultiply(bytes, kBiasBytes).value_or(kMaxBytes);
  }

  Status AddParameters() {
    std::map<TensorId, std::vector<OpIndex>> users;
    for (std::size_t i = 0; i < lowered_.ops.size(); ++i) {
      const graph::Op& op = main_.ops[lowered_.ops[i]];
      for (const TensorId tensor : ReadsOf(op)) {
        if (main_.tensors[tensor].constant) users[tensor].push_back(static_cast<OpIndex>(i));
      }
      NEAP_TRY(lowered_.problem.parameter_bytes[i], BodyParameters(op));
    }
    for (const auto& [tensor, readers] : users) {
      auto bytes = ParameterBytes(
          tensor, main_.ops[lowered_.ops[static_cast<std::size_t>(readers.front())]]);
      const auto first = static_cast<std::size_t>(readers.front());
      if (!bytes) return Fail(At(std::move(bytes).error(), lowered_.ops[first], tensor));
      std::int64_t& own = lowered_.problem.parameter_bytes[first];
      if (readers.size() == 1) {
        own = std::min(CheckedAdd(own, *bytes).value_or(kMaxBytes), kMaxBytes);
      } else {
        lowered_.problem.shared.push_back({*bytes, readers});
      }
    }
    return {};
  }

  Status AddTensors() {
    const auto producers = graph::Producers(main_);
    IdVector<TensorId, partition::Tensor> tensors(main_.tensors.size());
    IdVector<TensorId, bool> touched(main_.tensors.size(), false);
    for (std::size_t i = 0; i < lowered_.ops.size(); ++i) {
      for (const TensorId tensor : ReadsOf(main_.ops[lowered_.ops[i]])) {
        touched[tensor] = true;
        tensors[tensor].consumers.push_back(static_cast<OpIndex>(i));
      }
    }
    for (const TensorId output : main_.outputs) {
      if (!output.valid()) continue;
      touched[output] = true;
      tensors[output].output = true;
    }
    for (const TensorId id : main_.tensors.Ids()) {
      const Tensor& tensor = main_.tensors[id];
      if (!touched[id] || tensor.constant) continue;
      if (tensor.variable) {
        if (tensors[id].consumers.size() > 1) {
          lowered_.problem.together.push_back(tensors[id].consumers);
        }
        continue;
      }
      const OpId producer = producers[id];
      if (producer.valid()) tensors[id].producer = index_of_[producer];
      auto bytes = BytesOn(options_.accelerator, tensor);
      if (!bytes) {
        const auto& readers = tensors[id].consumers;
        const OpId by = producer.valid() || readers.empty()
                            ? producer
                            : lowered_.ops[static_cast<std::size_t>(readers.front())];
        if (!by.valid()) return Fail(std::move(bytes).error());
        return Fail(At(std::move(bytes).error(), by, id));
      }
      tensors[id].bytes = *bytes;
      lowered_.problem.tensors.push_back(std::move(tensors[id]));
      lowered_.tensors.push_back(id);
    }
    return {};
  }

  void AddRules() {
    partition::Problem& problem = lowered_.problem;
    for (const graph::ControlEdge& edge : main_.control_edges) {
      const OpIndex before = index_of_[edge.before];
      const OpIndex after = index_of_[edge.after];
      if (before != kNoOp && after != kNoOp) problem.precedences.emplace_back(before, after);
    }
    AddStates();
    if (!options_.children_together) return;
    std::vector<std::vector<OpIndex>> children(lowered_.ops.size());
    for (const partition::Tensor& tensor : problem.tensors) {
      if (tensor.producer == partition::kOutside) continue;
      auto& list = children[static_cast<std::size_t>(tensor.producer)];
      list.insert(list.end(), tensor.consumers.begin(), tensor.consumers.end());
    }
    for (auto& list : children) {
      SortUnique(&list);
      if (list.size() > 1) problem.together.push_back(std::move(list));
    }
  }

  // Operators that share a state share a stage.
  void AddStates() {
    const ops::StateTrace trace(graph_);
    std::map<std::int32_t, std::vector<OpIndex>> users;
    std::vector<OpIndex> all;
    bool any = false;
    for (std::size_t i = 0; i < lowered_.ops.size(); ++i) {
      const auto& uses = trace.UsesOf(SubgraphId(0), lowered_.ops[i]);
      any = any || !uses;
      if (!uses || !uses->empty()) all.push_back(static_cast<OpIndex>(i));
      if (!uses) continue;
      for (const ops::StateUse& use : *uses) users[use.state].push_back(static_cast<OpIndex>(i));
    }
    auto& together = lowered_.problem.together;
    if (any && all.size() > 1) together.push_back(std::move(all));
    if (any) return;
    for (auto& [state, list] : users) {
      if (list.size() > 1) together.push_back(std::move(list));
    }
  }

  const graph::Graph& graph_;
  const Subgraph& main_;
  const LowerOptions& options_;
  Lowered lowered_;
  IdVector<OpId, OpIndex> index_of_;
};

}  // namespace

bool IsFloat(graph::ElementType type) {
  return type == graph::ElementType::kFloat16 || type == graph::ElementType::kFloat32 ||
         type == graph::ElementType::kFloat64 || type == graph::ElementType::kBfloat16;
}

Result<std::int64_t> BytesOn(const Accelerator& accelerator, const Tensor& tensor) {
  NEAP_TRY(const std::int64_t bytes, graph::TensorBytes(tensor));
  return accelerator.int8 && IsFloat(tensor.type) ? ops::ElementCount(tensor) : bytes;
}

Result<Lowered> Lower(const graph::Graph& graph, const LowerOptions& options) {
  if (graph.subgraphs.empty()) return Fail(BadInput("the model has no operators"));
  return Lowering(graph, options).Run();
}

}  // namespace neap::stages
