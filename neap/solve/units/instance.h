// SPDX-License-Identifier: Apache-2.0
//
// A problem with what all parts of the solver need. Private to neap/solve/units.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/units/units.h"

namespace neap::units {

struct Instance {
  const Problem* problem = nullptr;
  std::vector<std::vector<OpIndex>> before;  // direct predecessors, without repetition
  std::vector<std::vector<OpIndex>> after;
  std::vector<OpIndex> topological;
  std::vector<std::int64_t> head;  // the longest path up to the operator, without it
  std::vector<std::int64_t> tail;  // the longest path from its end on
  std::vector<std::vector<std::size_t>> buffers_of;

  std::size_t size() const { return problem->durations.size(); }
};
Instance MakeInstance(const Problem& problem);

// No schedule is faster: critical path, work of a unit, byte-time within `peak_limit` (-1: none).
std::int64_t MakespanBound(const Instance& instance, std::int64_t peak_limit);
// No schedule within the makespan has fewer bytes: those live in every one at some time at or
// after `from`, by earliest starts and latest starts of the operators.
std::int64_t CompulsoryPeak(const Instance& instance, const std::vector<std::int64_t>& earliest,
                            const std::vector<std::int64_t>& latest, std::int64_t from);

// True if (objective, other value) of `a` is smaller.
bool IsBetter(Objective objective, std::int64_t peak_a, std::int64_t makespan_a,
              std::int64_t peak_b, std::int64_t makespan_b);
bool IsWithin(const Options& options, std::int64_t peak, std::int64_t makespan);

// Units, makespan and peak of starts that keep all rules.
Schedule Complete(const Instance& instance, std::vector<std::int64_t> start);

// List schedules and their improvement. `sequence`: an order of small peak. Sets outcome->best.
void ImproveByLists(const Instance& instance, const std::vector<OpIndex>& sequence,
                    const Options& options, Outcome* outcome);
// The exact search, of at most kMaxExactOps operators. Sets all of `outcome`.
void SearchExact(const Instance& instance, const Options& options, Outcome* outcome);

}  // namespace neap::units
