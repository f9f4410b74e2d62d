// SPDX-License-Identifier: Apache-2.0
//
// One run of SERENITY's dynamic program. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/stopper.h"

namespace neap::schedule {

enum class DpEnd : std::uint8_t {
  kSolution,    // `order` has the minimum peak of all orders
  kNoSolution,  // proven: every order has a peak above the budget
  kTimeout,     // a search step met more states than it may
  kStopped,     // the stopper, or the memory limit
};

struct DpResult {
  DpEnd end = DpEnd::kStopped;
  std::vector<OpIndex> order;
  std::int64_t peak = 0;
  std::int64_t transitions = 0;  // schedules s_i.append(u_i) that were looked at
};

struct DpBudget {
  std::int64_t budget = std::numeric_limits<std::int64_t>::max();  // tau: largest peak that is kept
  std::int64_t step_states = 0;  // T: maximum states that a search step may memoise; 0: no limit
};

// Source: "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge
//   Devices" (SERENITY, MLSys 2020), Algorithm 1; the budget of section 3.2.
// Deviations: sizes and lifetimes are those of problem.h (several outputs, aliases, scratch,
// in-place
//   pairs), not one tensor per node; a memoised schedule is kept as its last operator and a
//   reference to the schedule before it; the time-out counts states, not seconds.
// Invariant: after search step i the table M_i has one entry for every set of i operators that some
//   order within the budget runs first, with the minimum peak with which it can be reached. Its key
//   is the zero-indegree set z alone: the operators that have not run are z and all its
//   descendants, so z determines the executed set and with it the live bytes.
// Cost: O(states x ready operators x (buffers of an operator x words)); at most num_ops x 2^num_ops
//   transitions. Memory: two steps of tables and eight bytes for every state, at most
//   max_memory_bytes, else kStopped.
DpResult RunSerenityDp(const Instance& instance, const DpBudget& budget,
                       std::int64_t max_memory_bytes, Stopper* stopper);

}  // namespace neap::schedule
