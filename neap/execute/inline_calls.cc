// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/inline_calls.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "neap/ops/op_table.h"

namespace neap::execute {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

// Which of its bodies a call runs; nullopt: not known, or it cannot be written out.
std::optional<std::size_t> ChosenBody(const Graph& graph, const Subgraph& subgraph, const Op& op) {
  if (!Is(op, OpKind::kIf) || op.bodies.size() != 2 || op.inputs.empty() || !op.inputs[0].valid() ||
      op.folded) {
    return std::nullopt;
  }
  const graph::Tensor& condition = subgraph.tensors[op.inputs[0]];
  if (!condition.constant || !condition.data || condition.data->bytes.size() != 1) {
    return std::nullopt;
  }
  const std::size_t chosen = condition.data->bytes[0] != std::byte{0} ? 0 : 1;
  const Subgraph& body = graph.subgraphs[op.bodies[chosen]];
  // Of both, whose slots are in the plan.
  const bool plain = std::all_of(op.bodies.begin(), op.bodies.end(), [&](SubgraphId id) {
    const auto& ops = graph.subgraphs[id].ops;
    return std::none_of(ops.begin(), ops.end(),
                        [](const Op& inner) { return !inner.bodies.empty() || inner.folded; });
  });
  const bool fixed = std::none_of(body.tensors.begin(), body.tensors.end(),
                                  [](const graph::Tensor& tensor) { return tensor.variable; });
  const auto all_valid = [](const std::vector<TensorId>& list) {
    return std::all_of(list.begin(), list.end(), [](TensorId id) { return id.valid(); });
  };
  const bool fits = op.inputs.size() == body.inputs.size() + 1 &&
                    op.outputs.size() == body.outputs.size() && all_valid(op.inputs) &&
                    all_valid(op.outputs);
  return plain && fixed && fits ? std::optional(chosen) : std::nullopt;
}

// One call, written out.
struct Call {
  std::size_t chosen = 0;
  SubgraphId body;
  IdVector<TensorId, TensorId> tensors;  // of the body, as they are called here
  IdVector<OpId, OpId> ops;              // likewise
  std::vector<OpId> copies_in;
  std::vector<OpId> copies_out;
};

class Inliner {
 public:
  Inliner(const Graph& graph, SubgraphId subgraph)
      : graph_(graph), from_(graph.subgraphs[subgraph]), flat_(from_), ops_(from_.ops.size()) {
    flat_.ops = {};
    flat_.control_edges.clear();
    IdVector<OpId, OpId> last(from_.ops.size());
    for (const OpId id : from_.ops.Ids()) {
      const std::size_t before = flat_.ops.size();
      const auto chosen = ChosenBody(graph, from_, from_.ops[id]);
      if (chosen) {
        WriteOut(id, *chosen);
      } else {
        flat_.ops.push_back(from_.ops[id]);
      }
      ops_[id] = OpId(before);
      last[id] = OpId(flat_.ops.size() - 1);
    }
    for (const graph::ControlEdge& edge : from_.control_edges) {
      flat_.control_edges.push_back({last[edge.before], ops_[edge.after]});
    }
  }

  const Subgraph& flat() const { return flat_; }
  const Call* CallOf(OpId id) const {
    const auto at = calls_.find(id);
    return at == calls_.end() ? nullptr : &at->second;
  }
  OpId OpOf(OpId id) const { return ops_[id]; }

 private:
  OpId Copy(TensorId from, TensorId to) {
    Op op;
    ops::SetKind(&op, OpKind::kReshape);
    op.inputs = {from};
    op.outputs = {to};
    const auto& shape = flat_.tensors[to].shape;
    op.attributes["new_shape"] = shape ? *shape : graph::Shape();
    return flat_.ops.push_back(std::move(op));
  }

  void WriteOut(OpId id, std::size_t chosen) {
    const Op& op = from_.ops[id];
    Call& call = calls_[id];
    call.chosen = chosen;
    call.body = op.bodies[chosen];
    const Subgraph& body = graph_.subgraphs[call.body];
    for (const TensorId tensor : body.tensors.Ids()) {
      if (!body.tensors[tensor].constant) {
        call.tensors.push_back(flat_.tensors.push_back(body.tensors[tensor]));
        continue;
      }
      const auto [at, added] = constants_.emplace(std::pair(call.body, tensor), TensorId());
      if (added) at->second = flat_.tensors.push_back(body.tensors[tensor]);
      call.tensors.push_back(at->second);
    }
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      call.copies_in.push_back(Copy(op.inputs[i + 1], call.tensors[body.inputs[i]]));
    }
    for (const Op& inner : body.ops) {
      Op clone = inner;
      for (auto* list : {&clone.inputs, &clone.outputs}) {
        for (TensorId& tensor : *list) {
          if (tensor.valid()) tensor = call.tensors[tensor];
        }
      }
      call.ops.push_back(flat_.ops.push_back(std::move(clone)));
    }
    for (std::size_t i = 0; i < body.outputs.size(); ++i) {
      call.copies_out.push_back(Copy(call.tensors[body.outputs[i]], op.outputs[i]));
    }
  }

  const Graph& graph_;
  const Subgraph& from_;
  Subgraph flat_;
  IdVector<OpId, OpId> ops_;  // the first operator that each was replaced by
  std::map<OpId, Call> calls_;
  std::map<std::pair<SubgraphId, TensorId>, TensorId> constants_;
};

// The steps and places of a plan, for the graph without calls.
class PlanInliner {
 public:
  PlanInliner(const Graph& graph, const plan::EntryPlan& entry)
      : graph_(graph),
        main_(graph.subgraphs[entry.subgraph]),
        entry_(entry),
        inliner_(graph, entry.subgraph) {}

  Result<plan::EntryPlan> Run() {
    flat_ = entry_;
    flat_.steps.clear();
    flat_.tensors.clear();
    flat_.overlaps.clear();
    flat_.scratch.clear();
    NEAP_CHECK_OK(InlineSteps());
    for (const plan::TensorPlacement& placement : entry_.tensors) {
      NEAP_CHECK_OK(Place(placement));
    }
    for (plan::ScratchPlacement scratch : entry_.scratch) {
      if (!IsSlot(scratch.slot)) return Fail(BadInput("scratch is in a slot that does not exist"));
      scratch.slot = start_[static_cast<std::size_t>(scratch.slot)];
      flat_.scratch.push_back(scratch);
    }
    for (const plan::Overlap& overlap : entry_.overlaps) Add(overlap);
    return std::move(flat_);
  }

 private:
  // A call in the plan.
  struct Span {
    const Call* call = nullptr;
    std::size_t begin = 0;  // slots of the plan: its own, the chosen body's, the end of all bodies
    std::size_t body = 0;
    std::size_t body_end = 0;
    std::size_t end = 0;
    std::int32_t copies_in = 0;  // slots of the flat plan
    std::int32_t copies_out = 0;
  };

  std::int32_t Now() const { return static_cast<std::int32_t>(flat_.steps.size()); }
  bool IsSlot(std::int32_t slot) const {
    return slot >= 0 && static_cast<std::size_t>(slot) < entry_.steps.size();
  }

  Status InlineSteps() {
    start_.assign(entry_.steps.size() + 1, 0);
    for (std::size_t slot = 0; slot < entry_.steps.size();) {
      const plan::Step& step = entry_.steps[slot];
      start_[slot] = Now();
      const bool empty = entry_.steps.size() == 1 && !step.op.valid();
      if (step.subgraph != entry_.subgraph ||
          (!step.moved.valid() && !empty && !main_.ops.Has(step.op))) {
        return Fail(BadInput("slot " + std::to_string(slot) + " runs no operator of the entry"));
      }
      const Call* call = step.moved.valid() || empty ? nullptr : inliner_.CallOf(step.op);
      if (call != nullptr) {
        NEAP_TRY(slot, InlineCall(*call, slot));
        continue;
      }
      flat_.steps.push_back(step);
      if (step.op.valid()) flat_.steps.back().op = inliner_.OpOf(step.op);
      ++slot;
    }
    start_.back() = Now();
    return {};
  }

  // The slot behind the call that is at `slot`.
  Result<std::size_t> InlineCall(const Call& call, std::size_t slot) {
    const Op& op = main_.ops[entry_.steps[slot].op];
    Span run;
    run.call = &call;
    run.begin = slot;
    run.copies_in = Now();
    for (const OpId copy : call.copies_in) flat_.steps.push_back({entry_.subgraph, copy});
    std::size_t at = slot + 1;
    for (std::size_t b = 0; b < op.bodies.size(); ++b) {
      // An empty body has a slot in which nothing runs.
      const std::size_t count = std::max<std::size_t>(graph_.subgraphs[op.bodies[b]].ops.size(), 1);
      if (count > entry_.steps.size() - at) {
        return Fail(BadInput("the plan ends in a call"));
      }
      begins_[op.bodies[b]].push_back(at);
      if (b == call.chosen) run.body = at;
      for (const std::size_t end = at + count; at < end; ++at) {
        start_[at] = Now();
        const plan::Step& step = entry_.steps[at];
        if (b != call.chosen || !step.op.valid()) continue;
        if (step.subgraph != call.body || !call.ops.Has(step.op)) {
          return Fail(BadInput("slot " + std::to_string(at) + " runs no operator of the body"));
        }
        flat_.steps.push_back({entry_.subgraph, call.ops[step.op]});
      }
      if (b == call.chosen) run.body_end = at;
    }
    run.end = at;
    run.copies_out = Now();
    for (const OpId copy : call.copies_out) flat_.steps.push_back({entry_.subgraph, copy});
    runs_.push_back(run);
    return at;
  }

  Status Place(const plan::TensorPlacement& placement) {
    const auto slots = static_cast<std::int32_t>(entry_.steps.size());
    if (placement.first < 0 || placement.last < placement.first || placement.last > slots) {
      return Fail(BadInput("a tensor is live in slots that do not exist"));
    }
    if (placement.subgraph == entry_.subgraph && main_.tensors.Has(placement.tensor)) {
      PlaceOfMain(placement);
      return {};
    }
    const auto begins = begins_.find(placement.subgraph);
    if (begins == begins_.end() ||
        !graph_.subgraphs[placement.subgraph].tensors.Has(placement.tensor)) {
      return Fail(BadInput("the plan places a tensor that its entry does not have"));
    }
    // A body's tensor has the hull of all calls.
    const auto first = placement.first - static_cast<std::int32_t>(begins->second.front());
    const auto last = placement.last - static_cast<std::int32_t>(begins->second.back());
    for (const Span& run : runs_) {
      if (run.call->body == placement.subgraph) PlaceInCall(placement, run, first, last);
    }
    return {};
  }

  void PlaceOfMain(plan::TensorPlacement placement) {
    const auto first = static_cast<std::size_t>(placement.first);
    const auto last = static_cast<std::size_t>(placement.last);
    placement.first = start_[first];
    placement.last = start_[last];
    for (const Span& run : runs_) {
      const Op& op = main_.ops[entry_.steps[run.begin].op];
      // Dead before the body: no operator reads it while the arguments are copied.
      if (last == run.begin + 1) placement.last = run.copies_in;
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        if (op.outputs[i] == placement.tensor && first == run.begin) {
          placement.first = run.copies_out + static_cast<std::int32_t>(i);
        }
      }
      for (std::size_t i = op.inputs.size(); i-- > 1;) {
        if (op.inputs[i] != placement.tensor || last != run.end) continue;
        placement.last = run.copies_in + static_cast<std::int32_t>(i);
        break;
      }
    }
    flat_.tensors.push_back(placement);
  }

  void PlaceInCall(plan::TensorPlacement placement, const Span& run, std::int32_t first,
                   std::int32_t last) {
    const Subgraph& body = graph_.subgraphs[run.call->body];
    const auto length = static_cast<std::int32_t>(run.body_end - run.body);
    const auto at = [&](std::int32_t slot) {
      return start_[run.body + static_cast<std::size_t>(std::clamp(slot, 0, length))];
    };
    const TensorId tensor = placement.tensor;
    placement.subgraph = entry_.subgraph;
    placement.tensor = run.call->tensors[tensor];
    placement.first = at(first);
    // Tensors that are live to the end of the body end before the next step.
    placement.last = last >= length ? run.copies_out : at(last);
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      if (body.inputs[i] == tensor) placement.first = run.copies_in + static_cast<std::int32_t>(i);
    }
    for (std::size_t i = 0; i < body.outputs.size(); ++i) {
      if (body.outputs[i] == tensor) {
        placement.last = run.copies_out + static_cast<std::int32_t>(i) + 1;
      }
    }
    flat_.tensors.push_back(placement);
  }

  void Add(plan::Overlap overlap) {
    if (!IsSlot(overlap.slot)) return;
    // In the flat plan the two do not live together.
    if (overlap.kind == plan::OverlapKind::kCopiedIn) return;
    const auto slot = static_cast<std::size_t>(overlap.slot);
    if (overlap.subgraph == entry_.subgraph) {
      overlap.slot = start_[slot];
      flat_.overlaps.push_back(overlap);
      return;
    }
    for (const Span& run : runs_) {
      const bool inside = slot >= run.body && slot < run.body_end;
      const auto& tensors = run.call->tensors;
      if (!inside || run.call->body != overlap.subgraph || !tensors.Has(overlap.input) ||
          !tensors.Has(overlap.output)) {
        continue;
      }
      overlap.slot = start_[slot];
      overlap.subgraph = entry_.subgraph;
      overlap.input = tensors[overlap.input];
      overlap.output = tensors[overlap.output];
      flat_.overlaps.push_back(overlap);
      return;
    }
  }

  const Graph& graph_;
  const Subgraph& main_;
  const plan::EntryPlan& entry_;
  const Inliner inliner_;
  plan::EntryPlan flat_;
  std::vector<std::int32_t> start_;  // of each slot of the plan, and of its end, in the flat one
  std::vector<Span> runs_;
  std::map<SubgraphId, std::vector<std::size_t>> begins_;  // of the calls of each body
};

}  // namespace

bool HasKnownCalls(const Graph& graph, SubgraphId subgraph) {
  const Subgraph& main = graph.subgraphs[subgraph];
  return std::any_of(main.ops.begin(), main.ops.end(),
                     [&](const Op& op) { return ChosenBody(graph, main, op).has_value(); });
}

Graph InlineCalls(const Graph& graph, SubgraphId subgraph) {
  Graph result = graph;
  result.subgraphs[subgraph] = Inliner(graph, subgraph).flat();
  return result;
}

Result<plan::EntryPlan> InlineCalls(const Graph& graph, const plan::EntryPlan& entry) {
  if (!graph.subgraphs.Has(entry.subgraph)) {
    return Fail(BadInput("the plan refers to a subgraph that the model does not have"));
  }
  return PlanInliner(graph, entry).Run();
}

}  // namespace neap::execute
