// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: from "does it fit?" to "how low can it be?" for one part of a problem.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/arena/budget.h"
#include "neap/arena/decision_search.h"
#include "neap/arena/sections.h"
#include "neap/base/random.h"

namespace neap::arena {

// Runs of the decision search with random rules, restarted after Luby's sequence (their running
// times are heavy-tailed, so many short runs beat a long one), first at the lower bound, then by
// bisection between the bounds. All by node counts: the same on every machine.
class AnytimeSearch {
 public:
  // `upper_bytes` is the height of a placement that is known.
  AnytimeSearch(const Sections& sections, std::int64_t upper_bytes, std::uint64_t seed);

  // One round: `nodes` for the lower bound, then a quarter of it for each step of a bisection. True
  // when a lower placement was found, offsets() and upper_bytes(); `lower_bytes` is raised when a
  // capacity was refuted. Ends at once when the bounds meet or the budget ends.
  bool Round(std::int64_t nodes, std::int64_t& lower_bytes, Budget& budget);

  std::int64_t upper_bytes() const { return upper_bytes_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }  // bytes, one per item

 private:
  Verdict Attempt(std::int64_t capacity_bytes, std::int64_t nodes, std::int64_t& restarts,
                  Budget& budget);
  Rules DrawRules();
  void Keep();

  const Sections& sections_;
  DecisionSearch search_;
  Random random_;
  std::int64_t upper_bytes_;
  std::vector<std::int64_t> offsets_;
  std::int64_t restarts_at_bound_ = 0;  // Luby's sequence goes on from round to round
  std::int64_t bound_tried_ = -1;       // the capacity that restarts_at_bound_ belongs to
  Rules best_rules_;                    // those of the run that placed most items
  std::int32_t most_placed_ = -1;
};

}  // namespace neap::arena
