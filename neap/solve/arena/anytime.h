// SPDX-License-Identifier: Apache-2.0
//
// Private to this module: from "does it fit?" to "how low can it be?" for one part of a problem.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/arena/budget.h"
#include "neap/solve/arena/capacity_search.h"

namespace neap::arena {

// Tries the lower bound first, then bisects between the bounds. Limited by node counts: the same on
// every machine.
class AnytimeSearch {
 public:
  // `bytes` are the sizes of the part's buffers, `upper_bytes` the height of a placement of them
  // that is known.
  AnytimeSearch(std::unique_ptr<CapacitySearch> search, std::vector<std::int64_t> bytes,
                std::int64_t upper_bytes, std::uint64_t seed);

  // One round: `nodes` for the lower bound, then a quarter of it for each step of a bisection; with
  // a goal only that capacity is tried. True when a lower placement was found, offsets() and
  // upper_bytes(); `lower_bytes` is raised when a capacity was refuted. Ends at once when the
  // bounds meet or the budget ends.
  bool Round(std::int64_t nodes, std::optional<std::int64_t> goal_bytes, std::int64_t& lower_bytes,
             Budget& budget);

  std::int64_t upper_bytes() const { return upper_bytes_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }  // bytes, one per buffer

 private:
  Verdict Attempt(std::int64_t capacity_bytes, std::int64_t nodes, std::int64_t& restarts,
                  std::int64_t& lower_bytes, Budget& budget);
  void Keep();

  std::unique_ptr<CapacitySearch> search_;
  std::vector<std::int64_t> bytes_;
  Random random_;
  std::int64_t upper_bytes_;
  std::vector<std::int64_t> offsets_;
  std::int64_t restarts_at_bound_ = 0;  // Luby's sequence goes on from round to round
  std::int64_t bound_tried_ = -1;       // the capacity that restarts_at_bound_ belongs to
};

}  // namespace neap::arena
