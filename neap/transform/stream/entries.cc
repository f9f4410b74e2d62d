// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/entries.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "neap/base/check.h"
#include "neap/base/work.h"
#include "neap/check/check.h"
#include "neap/compile/attention_order.h"
#include "neap/ops/neap_rt.h"
#include "neap/transform/stream/instructions.h"
#include "neap/transform/stream/spill.h"
#include "neap/transform/stream/stream.h"

namespace neap::stream {
namespace {

constexpr std::int64_t kOtherPlacements = 10'000;  // of each order but the first

std::vector<graph::OpId> OrderOfFile(const graph::Subgraph& subgraph) {
  std::vector<graph::OpId> order;
  for (const graph::OpId op : subgraph.ops.Ids()) {
    if (!subgraph.ops[op].folded) order.push_back(op);
  }
  return order;
}

// The order of the plan, where it is one of this subgraph's operators alone.
std::vector<graph::OpId> OrderOf(const plan::EntryPlan& entry) {
  std::vector<graph::OpId> order;
  for (const plan::Step& step : entry.steps) {
    if (step.op.valid() && step.subgraph == entry.subgraph) order.push_back(step.op);
  }
  return order;
}

Options PlanningOf(const compile::Options& options, const Settings& settings) {
  Options planning;
  planning.search.input = settings.input;
  planning.search.column_block = settings.column_block;
  planning.search.limits = options.limits;
  planning.search.emits = options.kernels == ops::kNeapRt;
  planning.search.processor = settings.processor;
  planning.search.prefetch = settings.prefetch;
  planning.search.slow_weights = settings.slow_weights;
  planning.budget_bytes = options.budget_bytes;
  planning.max_macs_permille = settings.max_macs_permille;
  if (settings.max_cycles_permille != 0) planning.search.objective = Objective::kCycles;
  return planning;
}

std::vector<graph::OpId> OrderFor(const graph::Subgraph& subgraph, const plan::EntryPlan& entry) {
  std::vector<graph::OpId> order = OrderOf(entry);
  std::vector<graph::OpId> of_file = OrderOfFile(subgraph);
  return order.size() == of_file.size() ? order : of_file;
}

// Runs what has become ready last, so that tensors are read soon after they are written.
std::vector<graph::OpId> DepthFirst(const graph::Subgraph& subgraph) {
  const std::vector<graph::OpId> of_file = OrderOfFile(subgraph);
  IdVector<graph::TensorId, std::vector<graph::OpId>> readers(subgraph.tensors.size());
  IdVector<graph::TensorId, bool> is_written(subgraph.tensors.size(), false);
  IdVector<graph::OpId, int> missing(subgraph.ops.size(), 0);
  for (const graph::OpId id : of_file) {
    for (const graph::TensorId tensor : subgraph.ops[id].outputs) {
      if (tensor.valid()) is_written[tensor] = true;
    }
  }
  std::vector<graph::OpId> ready;
  for (auto id = of_file.rbegin(); id != of_file.rend(); ++id) {
    for (const graph::TensorId tensor : subgraph.ops[*id].inputs) {
      if (!tensor.valid() || !is_written[tensor]) continue;
      readers[tensor].push_back(*id);
      ++missing[*id];
    }
    if (missing[*id] == 0) ready.push_back(*id);
  }
  std::vector<graph::OpId> order;
  while (!ready.empty()) {
    order.push_back(ready.back());
    ready.pop_back();
    for (const graph::TensorId tensor : subgraph.ops[order.back()].outputs) {
      if (!tensor.valid()) continue;
      for (const graph::OpId reader : readers[tensor]) {
        if (--missing[reader] == 0) ready.push_back(reader);
      }
    }
  }
  return order;
}

// The least traffic of the order of the plan and, where the order is free, of that of the file and
// of one that is depth-first: an order of small peak may move more.
Result<Planned> PlanOrders(const graph::Graph& graph, const plan::EntryPlan& entry,
                           const std::vector<graph::OpId>& order, const SearchOptions& options,
                           std::int64_t fast_bytes, bool is_free) {
  const graph::Subgraph& subgraph = graph.subgraphs[entry.subgraph];
  std::vector<std::vector<graph::OpId>> orders{order};
  for (const auto& other : {OrderOfFile(subgraph), DepthFirst(subgraph)}) {
    if (!is_free || other.size() != order.size()) continue;
    if (std::find(orders.begin(), orders.end(), other) == orders.end()) orders.push_back(other);
  }
  Planned planned;
  for (const std::vector<graph::OpId>& next : orders) {
    const bool is_first = planned.front.empty();
    SearchOptions each = options;
    if (!is_first) {
      const plan::SlowMemory& slow = *planned.front[0].stream.slow;
      const bool is_optimal = planned.front[0].arena_bytes <= fast_bytes &&
                              slow.TrafficBytes() == slow.traffic_lower_bound_bytes;
      if (is_optimal || IsOver(options.limits)) break;
      each.max_placements = std::min(each.max_placements, kOtherPlacements);
    }
    bool cut_short = false;
    NEAP_TRY(Candidate found,
             PlanSpilled(graph, entry.subgraph, next, each, fast_bytes, &cut_short));
    const auto rank = [&](const Candidate& one) {
      return std::tuple(std::max(one.arena_bytes, fast_bytes), one.stream.slow->TrafficBytes(),
                        one.stream.cycles);
    };
    if (is_first) {
      planned.cut_short = cut_short;
      planned.front.push_back(std::move(found));
    } else if (rank(found) < rank(planned.front[0])) {
      planned.front[0] = std::move(found);
    }
  }
  return planned;
}

Result<Planned> PlanEntry(const graph::Graph& graph, const plan::EntryPlan& entry,
                          const Options& planning, std::int64_t fast_bytes, bool is_free) {
  const graph::Subgraph& subgraph = graph.subgraphs[entry.subgraph];
  const std::vector<graph::OpId> order = OrderFor(subgraph, entry);
  if (fast_bytes == 0) {
    auto planned = PlanStream(graph, entry.subgraph, order, planning);
    const auto other = compile::SecondMatricesFirst(subgraph, order);
    if (other == order || IsOver(planning.search.limits)) return planned;
    auto also = PlanStream(graph, entry.subgraph, other, planning);
    const auto is_better = [&](const Planned& a, const Planned& b) {
      const std::int64_t bytes = a.front[a.chosen].arena_bytes;
      const std::int64_t others = b.front[b.chosen].arena_bytes;
      return bytes < others && (planning.budget_bytes == 0 || others > planning.budget_bytes);
    };
    return also && (!planned || is_better(*also, *planned)) ? std::move(also) : std::move(planned);
  }
  return PlanOrders(graph, entry, order, planning.search, fast_bytes, is_free);
}

Status ReplaceEntries(const graph::Graph& graph, const compile::Options& options,
                      const Settings& settings, compile::Compiled* compiled) {
  Options planning = PlanningOf(options, settings);
  const bool resident = settings.input == plan::StreamInput::kResident;
  for (plan::EntryPlan& entry : compiled->plan.entries) {
    if (settings.max_cycles_permille != 0) {
      const std::int64_t layerwise = InstructionsOfEntry(settings.processor, graph, entry);
      planning.max_instructions =
          std::max<std::int64_t>(layerwise / 1000 * settings.max_cycles_permille, 1);
    }
    auto planned = PlanEntry(graph, entry, planning, settings.fast_bytes,
                             options.order == compile::kExactOrder);
    if (!planned) {
      if (!resident) return Fail(std::move(planned).error());
      compiled->notes.push_back("no part is streamed: " + planned.error().ToString());
      continue;
    }
    if (planned->cut_short) {
      compiled->interrupted = compiled->interrupted || options.limits.Interrupted();
      compiled->notes.emplace_back(
          "a limit ended the search for streamed plans: another one may need less memory");
    }
    const Candidate& chosen = planned->front[planned->chosen];
    if (resident && chosen.arena_bytes >= entry.arena_bytes) {
      compiled->notes.emplace_back("no part is streamed: streaming saves no memory here");
      continue;
    }
    entry = EntryOf(graph, entry.subgraph, chosen);
  }
  if (plan::LargestEntry(compiled->plan).stream) compiled->peak_at = {};
  return {};
}

// Layer by layer: the plan that streams have to beat. Most of the limits are left for them.
Result<compile::Compiled> CompileFirst(const graph::Graph& graph, const compile::Options& options) {
  compile::Options layers = options;
  layers.limits = WithShareOfTime(options.limits, 1, 3);
  layers.check = false;
  const WorkScope work(1, 2);
  return compile::Compile(graph, layers);
}

}  // namespace

Result<compile::Compiled> StreamEntries(const graph::Graph& graph, compile::Compiled layers,
                                        const compile::Options& options, const Settings& settings) {
  const auto start = std::chrono::steady_clock::now();
  NEAP_CHECK_OK(ReplaceEntries(graph, options, settings, &layers));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  AddSeconds("stream", taken.count(), &layers.steps);
  if (options.check) {
    const std::vector<std::string> violations = check::CheckPlan(graph, layers.plan);
    NEAP_CHECK(violations.empty(), "the plan fails its check: " + violations.front());
  }
  return layers;
}

Result<compile::Compiled> CompileStreamed(const graph::Graph& graph,
                                          const compile::Options& options,
                                          const Settings& settings) {
  NEAP_TRY(compile::Compiled layers, CompileFirst(graph, options));
  if (layers.rejected) return layers;
  return StreamEntries(graph, std::move(layers), options, settings);
}

Result<StreamFront> FindStreamFront(const graph::Graph& graph, const compile::Options& options,
                                    const Settings& settings) {
  compile::Options layers = options;
  layers.budget_bytes = 0;
  NEAP_TRY(const compile::Compiled compiled, compile::Compile(graph, layers));
  if (compiled.plan.entries.size() != 1) {
    return Fail(BadInput("cannot be streamed: it has several entry subgraphs"));
  }
  const plan::EntryPlan& entry = compiled.plan.entries[0];
  const auto order = OrderFor(graph.subgraphs[entry.subgraph], entry);
  constexpr std::int64_t kWhateverItTakes = 1'000'000;
  StreamFront front;
  front.cut_short = compiled.interrupted;
  Options planning = PlanningOf(options, settings);
  planning.max_macs_permille = kWhateverItTakes;
  constexpr Objective kObjectives[] = {Objective::kMacs, Objective::kCycles};
  NEAP_TRY(auto found, PlanStreams(graph, entry.subgraph, order, planning, kObjectives));
  const auto attention = compile::SecondMatricesFirst(graph.subgraphs[entry.subgraph], order);
  if (attention != order && !IsOver(planning.search.limits)) {
    auto also = PlanStreams(graph, entry.subgraph, attention, planning, kObjectives);
    if (also) std::move(also->begin(), also->end(), std::back_inserter(found));
  }
  for (const Planned& planned : found) {
    front.cut_short = front.cut_short || planned.cut_short;
    for (const Candidate& candidate : planned.front) {
      StreamPoint point{compiled.plan, candidate.arena_bytes, candidate.stream.macs,
                        candidate.stream.cycles};
      point.plan.entries[0] = EntryOf(graph, entry.subgraph, candidate);
      front.points.push_back(std::move(point));
    }
  }
  std::vector<StreamPoint>& points = front.points;
  std::stable_sort(points.begin(), points.end(), [](const StreamPoint& a, const StreamPoint& b) {
    if (a.arena_bytes != b.arena_bytes) return a.arena_bytes < b.arena_bytes;
    return a.macs != b.macs ? a.macs < b.macs : a.cycles < b.cycles;
  });
  std::vector<StreamPoint> kept;  // none after it in this order beats one
  for (StreamPoint& point : points) {
    const bool beaten = std::any_of(kept.begin(), kept.end(), [&](const StreamPoint& other) {
      return other.macs <= point.macs && other.cycles <= point.cycles;
    });
    if (!beaten) kept.push_back(std::move(point));
  }
  std::reverse(kept.begin(), kept.end());
  front.points = std::move(kept);
  return front;
}

}  // namespace neap::stream
