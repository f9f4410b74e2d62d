// SPDX-License-Identifier: Apache-2.0
//
// Which soft budget tau the dynamic program is to be run with next. Private to neap/schedule.
#pragma once

#include <algorithm>
#include <cstdint>

namespace neap::schedule {

// Source: SERENITY (MLSys 2020), Algorithm 2: start with the hard budget, the peak of Kahn's order;
//   halve after a time-out; after "no solution" go to the middle.
// Deviations: as printed the middle is taken between the last two budgets in every case.
// After
//   a time-out at 100, 50 ("no solution") is followed by 75, 62.5, 68.75, ...: where both "no
//   solution" at 75 and a time-out from 90 on are true it never ends. Here the middle is taken
//   between the largest budget without a solution and the smallest one that timed out, halving
//   stops at the least budget that could do, and when the two meet, the time-out is doubled and the
//   least unsettled budget is tried again. All in whole bytes.
// Invariant: infeasible() < budget() < the smallest budget that timed out; no order has a peak of
//   infeasible() or less.
// Cost: O(1) a round; at most 64 rounds before the time-out is doubled.
class BudgetSearch {
 public:
  // `kahn_peak`: of an order that exists. `least`: no order has a smaller peak; at most
  // `kahn_peak`.
  BudgetSearch(std::int64_t kahn_peak, std::int64_t least, std::int64_t step_states)
      : infeasible_(least - 1),
        hard_(kahn_peak),
        timed_out_(kahn_peak + 1),
        budget_(kahn_peak),
        step_states_(step_states) {}

  std::int64_t budget() const { return budget_; }
  std::int64_t step_states() const { return step_states_; }
  std::int64_t infeasible() const { return infeasible_; }

  void NoSolution() {
    infeasible_ = budget_;
    halving_ = false;
    Next();
  }
  void Timeout() {
    timed_out_ = budget_;
    Next();
  }

 private:
  void Next() {
    if (timed_out_ - infeasible_ <= 1) {
      step_states_ *= 2;
      timed_out_ = hard_ + 1;
      budget_ = infeasible_ + 1;
      return;
    }
    budget_ = halving_ ? std::max(timed_out_ / 2, infeasible_ + 1)
                       : infeasible_ + (timed_out_ - infeasible_) / 2;
  }

  std::int64_t infeasible_;
  std::int64_t hard_;
  std::int64_t timed_out_;
  std::int64_t budget_;
  std::int64_t step_states_;
  bool halving_ = true;
};

}  // namespace neap::schedule
