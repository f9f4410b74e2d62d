// SPDX-License-Identifier: Apache-2.0
//
// The registry of named strategies. Sources, deviations and proofs: docs/algorithms/strategies.md.
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
#include "neap/solve/schedule/closure.h"
#include "neap/solve/schedule/compiler_orders.h"
#include "neap/solve/schedule/exhaustive.h"
#include "neap/solve/schedule/flat_problem.h"
#include "neap/solve/schedule/hierarchy.h"
#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/portfolio.h"
#include "neap/solve/schedule/schedule.h"
#include "neap/solve/schedule/serenity.h"
#include "neap/solve/schedule/stopper.h"

namespace neap::schedule {
namespace {

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

// An order without a search, with the bound of the largest single operator.
Outcome Unsearched(const Problem& problem, std::vector<OpIndex> order) {
  Outcome outcome = SingleOpOutcome(problem);
  outcome.order = std::move(order);
  return outcome;
}

Outcome RunBestFirst(const Problem& problem, const Limits& limits, const StrategyOptions& options) {
  BestFirstOptions rules;
  rules.forced = options.forced;
  // More than all bytes makes no difference; less keeps sums with a peak in range.
  rules.peak_slack = std::clamp<std::int64_t>(options.slack_bytes, 0, kMaxBytes - 1);
  rules.live_slack = rules.peak_slack;
  return BestFirst(problem, limits, options.file_order, rules);
}

Outcome RunSerenity(const Problem& problem, const Limits& limits, const StrategyOptions& options) {
  const std::int64_t step_states = std::max<std::int64_t>(options.step_states, 1);
  return Serenity(problem, limits, options.file_order,
                  {true, step_states, std::max<std::int64_t>(options.soft_budget_bytes, 0)});
}

// One stage of the portfolio of `exact`, from the file order.
Outcome RunClosure(const Problem& problem, const Limits& limits, const StrategyOptions& options) {
  const FlatProblem flat(problem);
  const std::int64_t peak = PeakOfOrder(problem, options.file_order);
  std::vector<RankedOrder> closed = ClosedOrders(flat, {options.file_order, peak}, limits);
  return Unsearched(problem, std::move(closed.front().order));
}

Outcome RunAnnealing(const Problem& problem, const Limits& limits, const StrategyOptions& options) {
  Outcome outcome = SingleOpOutcome(problem);
  const RankedOrder start{options.file_order, PeakOfOrder(problem, options.file_order)};
  outcome.order =
      AnnealOrder(problem, start, outcome.lower_bound_bytes, options.seed, limits).order;
  outcome.interrupted = limits.Interrupted();
  return outcome;
}

constexpr std::array<Strategy, 17> kStrategies = {{
    {Method::kExact, "exact",
     "minimum peak with proof, or the best found with a proven bound (the default)",
     [](const Problem& problem, const Limits& limits, const StrategyOptions&) {
       return Solve(problem, limits);
     }},
    {Method::kSerenityDp, "serenity-dp",
     "dynamic program over zero-indegree sets (SERENITY 2020, Algorithm 1)",
     [](const Problem& problem, const Limits& limits, const StrategyOptions& options) {
       return Serenity(problem, limits, options.file_order, {false, 0, 0});
     }},
    {Method::kSerenityDc, "serenity-dc",
     "the same on each part between single operators (SERENITY, section 3.2)",
     [](const Problem& problem, const Limits& limits, const StrategyOptions& options) {
       return Serenity(problem, limits, options.file_order, {true, 0, 0});
     }},
    {Method::kSerenity, "serenity", "the same with adaptive soft budgets (SERENITY, Algorithm 2)",
     RunSerenity},
    {Method::kBestFirst, "best-first",
     "states by peak, with forced transitions (options forced, slack)", RunBestFirst},
    {Method::kExhaustive, "exhaustive", "every topological order; only for small graphs",
     [](const Problem& problem, const Limits& limits, const StrategyOptions& options) {
       return Exhaustive(problem, limits, options.file_order);
     }},
    {Method::kFile, "file", "the file order",
     [](const Problem& problem, const Limits&, const StrategyOptions& options) {
       return Unsearched(problem, options.file_order);
     }},
    {Method::kKahn, "kahn", "first ready operator of the file order (Kahn 1962): breadth-first",
     [](const Problem& problem, const Limits&, const StrategyOptions& options) {
       return Unsearched(problem, KahnOrder(problem, options.file_order));
     }},
    {Method::kDepthFirst, "dfs",
     "depth-first from the last operator backwards, inputs in their order",
     [](const Problem& problem, const Limits&, const StrategyOptions& options) {
       return Unsearched(problem, DepthFirstOrder(problem, options.file_order));
     }},
    {Method::kGreedy, "greedy", "the ready operator that leaves the fewest bytes live",
     [](const Problem& problem, const Limits& limits, const StrategyOptions& options) {
       return Unsearched(problem, GreedyOrder(problem, options.file_order, limits));
     }},
    {Method::kBeam, "beam",
     "beam search, 64 states per number of operators, for ever smaller peaks",
     [](const Problem& problem, const Limits& limits, const StrategyOptions& options) {
       return RunBeam(problem, limits, options.file_order);
     }},
    {Method::kRandom, "random", "a random ready operator at every step (option seed)",
     [](const Problem& problem, const Limits&, const StrategyOptions& options) {
       return Unsearched(problem, RandomOrder(problem, options.file_order, options.seed));
     }},
    {Method::kXlaList, "xla-list",
     "the ready operator that lowers live bytes most (XLA's list scheduler)",
     [](const Problem& problem, const Limits& limits, const StrategyOptions& options) {
       return Unsearched(problem, XlaListOrder(FlatProblem(problem), options.file_order, limits));
     }},
    {Method::kLpmf, "lpmf",
     "fewest live bytes under the peak so far, else smallest operator (PyTorch's Inductor)",
     [](const Problem& problem, const Limits& limits, const StrategyOptions& options) {
       return Unsearched(problem,
                         LeastPeakFirstOrder(FlatProblem(problem), options.file_order, limits));
     }},
    {Method::kHmcos, "hmcos",
     "cells as single operators, dissolved where the peak is (after HMCOS 2022)",
     [](const Problem& problem, const Limits& limits, const StrategyOptions& options) {
       return Hierarchical(problem, limits, options.file_order);
     }},
    {Method::kClosure, "closure",
     "simple orders with every forced operator moved forward, the best of them", RunClosure},
    {Method::kAnnealing, "annealing",
     "simulated annealing by moves of single operators from the file order (option seed)",
     RunAnnealing},
}};

// The position in the table is the method.
static_assert([] {
  for (std::size_t i = 0; i < kStrategies.size(); ++i) {
    if (static_cast<std::size_t>(kStrategies[i].method) != i) return false;
  }
  return true;
}());

}  // namespace

std::span<const Strategy> Strategies() { return kStrategies; }

const Strategy* StrategyNamed(std::string_view name) {
  const auto* const found =
      std::find_if(kStrategies.begin(), kStrategies.end(),
                   [&](const Strategy& strategy) { return strategy.name == name; });
  return found == kStrategies.end() ? nullptr : found;
}

std::span<const ForcedRule> ForcedRules() { return kForcedRules; }

Outcome Run(Method method, const Problem& problem, const Limits& given,
            const StrategyOptions& options) {
  if (method == Method::kExact) return Solve(problem, given);
  // Their states cost more or less than those of the exact search: work limits them.
  constexpr std::int64_t kDefaultWork = 20'000'000'000;
  Limits limits = given;
  std::optional<WorkScope> work;
  if (limits.max_states == kStatesForAFewSeconds) {
    limits.max_states = 0;
    work.emplace(kDefaultWork);
  }
  StrategyOptions complete = options;
  complete.file_order = FileOrder(problem, options.file_order);
  Outcome outcome = kStrategies[static_cast<std::size_t>(method)].run(problem, limits, complete);
  // A beam or a greedy walk that was stopped has no order.
  if (outcome.order.size() != complete.file_order.size()) outcome.order = complete.file_order;
  outcome.peak_bytes = PeakOfOrder(problem, outcome.order);
  return outcome;
}

}  // namespace neap::schedule
