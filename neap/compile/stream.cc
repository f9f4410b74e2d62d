// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "neap/stream/stream.h"

namespace neap::compile {
namespace {

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

stream::Options PlanningOf(const Options& options) {
  stream::Options planning;
  planning.search.input = options.stream_input;
  planning.search.column_block = options.stream_columns;
  planning.search.limits = options.limits;
  planning.budget_bytes = options.budget_bytes;
  planning.most_macs_permille = options.most_macs_permille;
  return planning;
}

std::vector<graph::OpId> OrderFor(const graph::Subgraph& subgraph, const plan::EntryPlan& entry) {
  std::vector<graph::OpId> order = OrderOf(entry);
  std::vector<graph::OpId> of_file = OrderOfFile(subgraph);
  return order.size() == of_file.size() ? order : of_file;
}

}  // namespace

Status StreamEntries(const graph::Graph& graph, const Options& options, Compiled* compiled) {
  const stream::Options planning = PlanningOf(options);
  const bool resident = options.stream_input == plan::StreamInput::kResident;
  for (plan::EntryPlan& entry : compiled->plan.entries) {
    const graph::Subgraph& subgraph = graph.subgraphs[entry.subgraph];
    const std::vector<graph::OpId> order = OrderFor(subgraph, entry);
    auto planned = stream::PlanStream(graph, entry.subgraph, order, planning);
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
    const stream::Candidate& chosen = planned->front[planned->chosen];
    if (resident && chosen.arena_bytes >= entry.arena_bytes) {
      compiled->notes.emplace_back("no part is streamed: streaming saves no memory here");
      continue;
    }
    entry = stream::EntryOf(graph, entry.subgraph, chosen);
  }
  if (plan::LargestEntry(compiled->plan).stream) compiled->peak_at = {};
  return {};
}

Result<StreamFront> FindStreamFront(const graph::Graph& graph, const Options& options) {
  Options plain = options;
  plain.stream = false;
  plain.budget_bytes = 0;
  NEAP_TRY(const Compiled compiled, Compile(graph, plain));
  if (compiled.plan.entries.size() != 1) {
    return Fail(BadInput("cannot be streamed: it has several entry subgraphs"));
  }
  const plan::EntryPlan& entry = compiled.plan.entries[0];
  const auto order = OrderFor(graph.subgraphs[entry.subgraph], entry);
  constexpr std::int64_t kWhateverItTakes = 1'000'000;
  StreamFront front;
  front.cut_short = compiled.interrupted;
  stream::Options planning = PlanningOf(options);
  planning.most_macs_permille = kWhateverItTakes;
  constexpr stream::Objective kObjectives[] = {stream::Objective::kMacs,
                                               stream::Objective::kCycles};
  NEAP_TRY(const auto found,
           stream::PlanStreams(graph, entry.subgraph, order, planning, kObjectives));
  for (const stream::Planned& planned : found) {
    front.cut_short = front.cut_short || planned.cut_short;
    for (const stream::Candidate& candidate : planned.front) {
      StreamPoint point{compiled.plan, candidate.arena_bytes, candidate.stream.macs,
                        candidate.stream.cycles};
      point.plan.entries[0] = stream::EntryOf(graph, entry.subgraph, candidate);
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

}  // namespace neap::compile
