// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/entry_memory.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/compile/lower.h"
#include "neap/compile/measured.h"
#include "neap/compile/runtime_graph.h"
#include "neap/compile/timeline.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

// The slots of a step and of all that it calls: [at, end).
std::int32_t EndOfCall(const Graph& graph, const std::vector<plan::Step>& steps, std::size_t at) {
  const plan::Step& step = steps[at];
  if (!step.op.valid() || graph.subgraphs[step.subgraph].ops[step.op].bodies.empty()) {
    return static_cast<std::int32_t>(at) + 1;
  }
  // The next step of the same subgraph that is none of a nested call: subgraphs do not contain
  // themselves.
  std::size_t end = at + 1;
  while (end < steps.size() && steps[end].subgraph != step.subgraph) ++end;
  return static_cast<std::int32_t>(end);
}

// Which tensor a step of a subgraph means: of several calls the one that lives in that slot.
class Finder {
 public:
  Finder(const Graph& graph, const std::vector<MemoryTensor>& tensors) {
    by_id_.resize(graph.subgraphs.size());
    for (const SubgraphId id : graph.subgraphs.Ids()) {
      by_id_[id].resize(graph.subgraphs[id].tensors.size());
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      by_id_[tensors[i].subgraph][tensors[i].tensor].push_back(i);
    }
    for (auto& lists : by_id_) {
      for (auto& list : lists) {
        std::sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
          return tensors[a].first < tensors[b].first;
        });
      }
    }
  }
  // nullptr: it takes no part.
  MemoryTensor* Find(SubgraphId subgraph, TensorId tensor, std::int32_t slot,
                     std::vector<MemoryTensor>* tensors) const {
    const auto& list = by_id_[subgraph][tensor];
    const auto after =
        std::upper_bound(list.begin(), list.end(), slot,
                         [&](std::int32_t at, std::size_t i) { return at < (*tensors)[i].first; });
    return after == list.begin() ? nullptr : &(*tensors)[*(after - 1)];
  }

 private:
  IdVector<SubgraphId, IdVector<TensorId, std::vector<std::size_t>>> by_id_;
};

void AddAccesses(const Graph& graph, EntryMemory* memory) {
  const Finder finder(graph, memory->tensors);
  for (std::size_t at = 0; at < memory->steps.size(); ++at) {
    const plan::Step& step = memory->steps[at];
    if (!step.op.valid()) continue;
    const Op& op = graph.subgraphs[step.subgraph].ops[step.op];
    const auto slot = static_cast<std::int32_t>(at);
    const std::int32_t last = EndOfCall(graph, memory->steps, at) - 1;
    for (const auto* list : {&op.inputs, &op.captures, &op.outputs}) {
      for (const TensorId id : *list) {
        if (!id.valid()) continue;
        MemoryTensor* tensor = finder.Find(step.subgraph, id, slot, &memory->tensors);
        if (tensor == nullptr) continue;
        tensor->accesses.push_back(slot);
        if (last > slot) tensor->accesses.push_back(last);
        if (list == &op.outputs && tensor->writer < 0) tensor->writer = slot;
      }
    }
  }
  for (MemoryTensor& tensor : memory->tensors) {
    auto& accesses = tensor.accesses;
    std::sort(accesses.begin(), accesses.end());
    accesses.erase(std::unique(accesses.begin(), accesses.end()), accesses.end());
  }
}

}  // namespace

Result<EntryMemory> MemoryOf(const Graph& given, SubgraphId entry, const SubgraphOrder& order,
                             plan::Runtime runtime, const target::Target& target) {
  const plan::Profile profile = plan::ProfileOf(runtime, target);
  NEAP_TRY(const Measured measured, Measure(given, profile));
  const Graph& graph = measured.merged();
  const AllSizes& sizes = measured.sizes;
  NEAP_TRY(Timeline timeline, BuildTimeline(graph, entry, order, profile));
  EntryMemory memory;
  memory.subgraph = entry;
  memory.live_bytes = LiveBytes(timeline, sizes, profile);
  memory.steps = std::move(timeline.steps);
  memory.scratch_bytes.assign(memory.steps.size(), 0);
  for (const LiveScratch& scratch : timeline.scratch) {
    for (std::int32_t slot = scratch.first; slot < scratch.last; ++slot) {
      memory.scratch_bytes[static_cast<std::size_t>(slot)] +=
          AlignUp(scratch.bytes, profile.alignment);
    }
  }
  std::vector<char> is_output(graph.subgraphs[entry].tensors.size(), 0);
  for (const TensorId id : graph.subgraphs[entry].outputs) is_output[id.index()] = 1;
  for (const LiveTensor& live : timeline.tensors) {
    if (live.unread) continue;
    MemoryTensor tensor;
    tensor.subgraph = live.subgraph;
    tensor.tensor = live.tensor;
    tensor.bytes = sizes[live.subgraph].exact[live.tensor];
    tensor.counted = sizes[live.subgraph].counted[live.tensor];
    tensor.first = live.first;
    tensor.last = live.last;
    tensor.output = live.subgraph == entry && is_output[live.tensor.index()] != 0;
    memory.tensors.push_back(std::move(tensor));
  }
  AddAccesses(graph, &memory);
  return memory;
}

SubgraphOrder FileOrderOfGraph(const Graph& graph) {
  SubgraphOrder order;
  for (const Subgraph& subgraph : graph.subgraphs) order.push_back(FileOrderOf(subgraph));
  return order;
}

SubgraphOrder OrderOf(const Graph& graph, const plan::Plan& plan) {
  SubgraphOrder order(graph.subgraphs.size());
  IdVector<SubgraphId, std::vector<char>> seen(graph.subgraphs.size());
  for (const SubgraphId id : graph.subgraphs.Ids()) {
    seen[id].assign(graph.subgraphs[id].ops.size(), 0);
  }
  for (const plan::EntryPlan& entry : plan.entries) {
    for (const plan::Step& step : entry.steps) {
      if (!step.op.valid() || seen[step.subgraph][step.op.index()] != 0) continue;
      seen[step.subgraph][step.op.index()] = 1;
      order[step.subgraph].push_back(step.op);
    }
  }
  for (const SubgraphId id : graph.subgraphs.Ids()) {
    if (order[id].empty()) order[id] = FileOrderOf(graph.subgraphs[id]);
  }
  return order;
}

Result<traffic::Problem> TrafficOf(const EntryMemory& memory, Ends ends) {
  traffic::Problem problem;
  problem.num_steps = static_cast<traffic::Step>(memory.steps.size());
  problem.scratch_bytes = memory.scratch_bytes;
  const bool runs = std::any_of(memory.steps.begin(), memory.steps.end(),
                                [](const plan::Step& step) { return step.op.valid(); });
  if (!runs) return problem;  // live from the start, or an output that is an input
  for (const MemoryTensor& from : memory.tensors) {
    traffic::Tensor tensor;
    tensor.bytes = from.counted;
    tensor.accesses = from.accesses;
    const bool from_start = from.writer < 0;
    if (from_start && from.first > 0) {
      // An input of a subgraph that is called: it appears with the call.
      if (tensor.accesses.empty() || tensor.accesses.front() > from.first) {
        tensor.accesses.insert(tensor.accesses.begin(), from.first);
      }
    } else if (from_start) {
      tensor.begin = ends == Ends::kOnChip ? traffic::Begin::kOnChip : traffic::Begin::kOffChip;
    }
    if (from.output) {
      tensor.end = ends == Ends::kOnChip ? traffic::End::kAnywhere : traffic::End::kOffChip;
    } else if (from.last > 0 && !tensor.accesses.empty() &&
               tensor.accesses.back() < from.last - 1) {
      tensor.accesses.push_back(from.last - 1);  // an output of a call, until the call ends
    }
    problem.tensors.push_back(std::move(tensor));
  }
  if (auto wrong = traffic::Validate(problem)) return Fail(BadInput(std::move(*wrong)));
  return problem;
}

Result<OrderProblem> OrderProblemOf(const Graph& given, SubgraphId entry, plan::Runtime runtime) {
  const plan::Profile& profile = plan::ProfileOf(runtime);
  const RuntimeGraph runtime_graph(given, profile);
  const Subgraph& subgraph = runtime_graph.merged().subgraphs[entry];
  IdVector<OpId, std::int64_t> scratch(subgraph.ops.size(), 0);
  for (const OpId id : subgraph.ops.Ids()) {
    if (!subgraph.ops[id].bodies.empty()) {
      Diagnostic diagnostic = BadInput("it calls subgraphs, whose orders are not included");
      diagnostic.op = graph::Describe(id, subgraph.ops[id]);
      return Fail(std::move(diagnostic));
    }
    scratch[id] = AlignUp(subgraph.ops[id].scratch_bytes, profile.alignment);
  }
  NEAP_TRY(const TensorSizes sizes, SizesOf(subgraph, profile));
  Lowered lowered = LowerOrder(subgraph, sizes, scratch, profile);
  if (auto wrong = schedule::Validate(lowered.problem)) return Fail(BadInput(std::move(*wrong)));
  OrderProblem out;
  IdVector<OpId, std::int32_t> index_of(subgraph.ops.size(), -1);
  for (std::size_t i = 0; i < lowered.ops.size(); ++i) {
    index_of[lowered.ops[i]] = static_cast<std::int32_t>(i);
  }
  for (const OpId op : FileOrderOf(subgraph)) out.in_file.push_back(index_of[op]);
  out.problem = std::move(lowered.problem);
  out.ops = std::move(lowered.ops);
  return out;
}

}  // namespace neap::compile
