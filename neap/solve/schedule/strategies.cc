// SPDX-License-Identifier: Apache-2.0
//
// The registry of named strategies. Sources, deviations and what each proves:
// docs/algorithms/strategies.md.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/work.h"
#include "neap/solve/schedule/baselines.h"
#include "neap/solve/schedule/beam.h"
#include "neap/solve/schedule/best_first.h"
#include "neap/solve/schedule/exhaustive.h"
#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/schedule.h"
#include "neap/solve/schedule/serenity.h"
#include "neap/solve/schedule/stopper.h"

namespace neap::schedule {
namespace {

constexpr std::array<Strategy, 12> kStrategies = {{
    {"exact", "minimum peak with proof, or the best found with a proven bound (the default)"},
    {"serenity-dp", "dynamic program over zero-indegree sets (SERENITY 2020, Algorithm 1)"},
    {"serenity-dc", "the same on each part between single operators (SERENITY, section 3.2)"},
    {"serenity", "the same with adaptive soft budgets (SERENITY, Algorithm 2)"},
    {"best-first", "states by peak, with forced transitions (options forced, slack)"},
    {"exhaustive", "every topological order; only for small graphs"},
    {"file", "the file order"},
    {"kahn", "first ready operator of the file order (Kahn 1962): breadth-first"},
    {"dfs", "depth-first from the last operator backwards, inputs in their order"},
    {"greedy", "the ready operator that leaves the fewest bytes live"},
    {"beam", "beam search, 64 states per number of operators, for ever smaller peaks"},
    {"random", "a random ready operator at every step (option seed)"},
}};

constexpr std::array<ForcedRule, 5> kForcedRules = {{
    {Forced::kNone, "none"},
    {Forced::kSingle, "single"},
    {Forced::kSets, "sets"},
    {Forced::kProven, "proven"},
    {Forced::kRelaxed, "relaxed"},
}};

// Beams for ever smaller peaks, until one finds no order.
Outcome RunBeam(const Problem& problem, const Limits& limits,
                const std::vector<OpIndex>& file_order) {
  if (!TakeInstance(problem, limits)) return FallbackOutcome(problem, limits, file_order);
  constexpr std::size_t kWidth = 64;
  Outcome outcome = SingleOpOutcome(problem);
  Stopper stopper(limits);
  stopper.SetSize(problem.num_ops);
  stopper.SetBounds(PeakOfOrder(problem, file_order), outcome.lower_bound_bytes);
  const Instance instance(problem, 1, false);
  Expander expander(instance);
  std::int64_t budget = std::int64_t{1} << 62;
  while (true) {
    std::vector<OpIndex> order = BeamSearch(instance, &expander, budget, kWidth, &stopper);
    if (order.empty()) break;
    budget = instance.PeakOf(order) - 1;
    stopper.SetBounds(budget + 1, outcome.lower_bound_bytes);
    outcome.order = std::move(order);
  }
  outcome.states = stopper.states();
  outcome.interrupted = stopper.interrupted();
  return outcome;
}

// The strategies that search nothing.
std::vector<OpIndex> SimpleOrder(std::string_view strategy, const Problem& problem,
                                 const Limits& limits, const std::vector<OpIndex>& file_order,
                                 std::uint64_t seed) {
  if (strategy == "kahn") return KahnOrder(problem, file_order);
  if (strategy == "dfs") return DepthFirstOrder(problem, file_order);
  if (strategy == "random") return RandomOrder(problem, file_order, seed);
  if (strategy == "greedy") return GreedyOrder(problem, file_order, limits);
  return file_order;
}

}  // namespace

std::span<const Strategy> Strategies() { return kStrategies; }

std::span<const ForcedRule> ForcedRules() { return kForcedRules; }

std::optional<Outcome> Run(std::string_view strategy, const Problem& problem, const Limits& given,
                           const StrategyOptions& options) {
  if (strategy == "exact") return Solve(problem, given);
  if (std::none_of(kStrategies.begin(), kStrategies.end(),
                   [&](const Strategy& known) { return known.name == strategy; })) {
    return std::nullopt;
  }
  // Their states cost more or less than those of the exact search: work is what limits them.
  constexpr std::int64_t kDefaultWork = 20'000'000'000;
  Limits limits = given;
  std::optional<WorkScope> work;
  if (limits.max_states == kStatesForAFewSeconds) {
    limits.max_states = 0;
    work.emplace(kDefaultWork);
  }
  const std::vector<OpIndex> file_order = FileOrder(problem, options.file_order);
  if (strategy == "exhaustive") return Exhaustive(problem, limits, file_order);
  if (strategy == "best-first") {
    BestFirstOptions rules;
    rules.forced = options.forced;
    // More than all bytes makes no difference; less keeps sums with a peak in range.
    rules.peak_slack = std::clamp<std::int64_t>(options.slack_bytes, 0, kMaxBytes - 1);
    rules.live_slack = rules.peak_slack;
    return BestFirst(problem, limits, file_order, rules);
  }
  if (strategy == "serenity-dp") return Serenity(problem, limits, file_order, {false, 0, 0});
  if (strategy == "serenity-dc") return Serenity(problem, limits, file_order, {true, 0, 0});
  if (strategy == "serenity") {
    const std::int64_t step_states = std::max<std::int64_t>(options.step_states, 1);
    return Serenity(problem, limits, file_order,
                    {true, step_states, std::max<std::int64_t>(options.soft_budget_bytes, 0)});
  }
  Outcome outcome;
  if (strategy == "beam") {
    outcome = RunBeam(problem, limits, file_order);
  } else {
    outcome = SingleOpOutcome(problem);
    outcome.order = SimpleOrder(strategy, problem, limits, file_order, options.seed);
  }
  // A beam or a greedy walk that was stopped has no order.
  if (outcome.order.size() != file_order.size()) outcome.order = file_order;
  outcome.peak_bytes = PeakOfOrder(problem, outcome.order);
  return outcome;
}

}  // namespace neap::schedule
