// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/serenity.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "neap/base/index.h"
#include "neap/solve/schedule/baselines.h"
#include "neap/solve/schedule/parts.h"
#include "neap/solve/schedule/serenity_budget.h"
#include "neap/solve/schedule/serenity_dp.h"

namespace neap::schedule {
namespace {

class Scheduler {
 public:
  Scheduler(const Problem& problem, const Limits& limits, const std::vector<OpIndex>& file_order,
            const SerenityOptions& options)
      : problem_(problem), file_order_(file_order), options_(options), stopper_(limits) {}

  Outcome Run() {
    outcome_ = FallbackOutcome(problem_, stopper_.limits(), file_order_);
    stopper_.SetBounds(outcome_.peak_bytes, outcome_.lower_bound_bytes);
    std::vector<OpIndex> order;
    bool solved = true;
    for (const Part& part : Parts()) {
      stopper_.SetSize(part.problem.num_ops);
      const auto [local, part_solved] = Schedule(part.problem, FileOrderOf(part));
      solved = solved && part_solved;
      for (const OpIndex op : local) order.push_back(part.ops[At(op)]);
      stopper_.SetBounds(outcome_.peak_bytes, outcome_.lower_bound_bytes);
    }
    const std::int64_t peak = PeakOfOrder(problem_, order);
    if (solved) {
      SetProven(std::move(order), peak, &outcome_);
    } else if (peak < outcome_.peak_bytes) {
      outcome_.order = std::move(order);
      outcome_.peak_bytes = peak;
    }
    outcome_.states = stopper_.states();
    outcome_.interrupted = stopper_.interrupted();
    return std::move(outcome_);
  }

 private:
  std::vector<Part> Parts() const {
    if (options_.divide) return SplitAtHourglasses(problem_);
    Part whole;
    whole.ops.resize(At(problem_.num_ops));
    std::iota(whole.ops.begin(), whole.ops.end(), 0);
    whole.problem = problem_;
    return {std::move(whole)};
  }

  std::vector<OpIndex> FileOrderOf(const Part& part) {
    if (position_.empty()) {
      position_.resize(file_order_.size());
      for (std::size_t at = 0; at < file_order_.size(); ++at) {
        position_[At(file_order_[at])] = static_cast<OpIndex>(at);
      }
    }
    std::vector<OpIndex> local(part.ops.size());
    std::iota(local.begin(), local.end(), 0);
    std::sort(local.begin(), local.end(), [&](OpIndex a, OpIndex b) {
      return position_[At(part.ops[At(a)])] < position_[At(part.ops[At(b)])];
    });
    return local;
  }

  // An order of a part; true: of minimum peak, proven.
  std::pair<std::vector<OpIndex>, bool> Schedule(const Problem& part,
                                                 const std::vector<OpIndex>& file_order) {
    const Limits& limits = stopper_.limits();
    if (!stopper_.stopped() && TakeInstance(part, limits)) {
      const Instance instance(part, 1, false);
      DpResult result = RunOn(part, instance, file_order);
      if (result.end == DpEnd::kSolution) {
        RaiseBound(result.peak, &outcome_);
        return {std::move(result.order), true};
      }
    }
    return {FallbackOutcome(part, limits, file_order).order, false};
  }

  DpResult RunOn(const Problem& part, const Instance& instance,
                 const std::vector<OpIndex>& file_order) {
    if (options_.soft_budget_bytes > 0) {
      DpResult result = Dp(instance, {options_.soft_budget_bytes, 0});
      if (result.end == DpEnd::kNoSolution) RaiseBound(options_.soft_budget_bytes + 1, &outcome_);
      return result;
    }
    if (options_.step_states > 0) return Budgeted(part, instance, file_order);
    return Dp(instance, DpBudget{});
  }

  DpResult Dp(const Instance& instance, const DpBudget& budget) {
    DpResult result =
        RunSerenityDp(instance, budget, stopper_.limits().max_memory_bytes / 2, &stopper_);
    outcome_.transitions += result.transitions;
    return result;
  }

  // Algorithm 2.
  DpResult Budgeted(const Problem& part, const Instance& instance,
                    const std::vector<OpIndex>& file_order) {
    const std::int64_t hard_budget = PeakOfOrder(part, KahnOrder(part, file_order));
    BudgetSearch search(hard_budget, SingleOpOutcome(part).lower_bound_bytes, options_.step_states);
    while (true) {
      DpResult result = Dp(instance, {search.budget(), search.step_states()});
      if (result.end == DpEnd::kNoSolution) {
        search.NoSolution();
        RaiseBound(search.infeasible() + 1, &outcome_);
      } else if (result.end == DpEnd::kTimeout) {
        search.Timeout();
      } else {
        return result;
      }
    }
  }

  const Problem& problem_;
  const std::vector<OpIndex>& file_order_;
  SerenityOptions options_;
  Stopper stopper_;
  Outcome outcome_;
  std::vector<OpIndex> position_;
};

}  // namespace

Outcome Serenity(const Problem& problem, const Limits& limits,
                 const std::vector<OpIndex>& file_order, const SerenityOptions& options) {
  if (problem.num_ops == 0) return {};
  return Scheduler(problem, limits, file_order, options).Run();
}

}  // namespace neap::schedule
