// SPDX-License-Identifier: Apache-2.0
//
// Which of two proposals is better. Private to neap/cascade.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "neap/transform/cascade/plan.h"

namespace neap::cascade {

class Ranking {
 public:
  // Both live as long as this; `uncut`, the graph as it is, may change.
  Ranking(const SearchOptions& options, const Proposal* uncut)
      : options_(options), uncut_(*uncut) {}

  bool HasBudget() const { return options_.budget_bytes > 0 || options_.budget_total_bytes > 0; }
  // The minimised number is the total arena: an arena budget alone is about the arena.
  bool CountsTotal() const;
  // The minimised number; of an unknown total the largest one.
  std::int64_t ScoreOf(const Proposal& proposal) const;

  bool Fits(std::int64_t arena_bytes, std::int64_t total_bytes) const;
  bool Fits(const Proposal& proposal) const;

  // Every number of its memory is known.
  static bool IsKnown(const Proposal& proposal) { return proposal.unknown_scratch.empty(); }

  // Without a budget the fewest bytes, then the fewest cycles; with one the fewest cycles that fit.
  // Of proposals that do not fit, the same one for every budget.
  bool IsBetter(const Proposal& a, const Proposal& b) const;
  // The first best one; `proposals` is not empty.
  std::size_t Best(const std::vector<Proposal>& proposals) const;

 private:
  bool NeedsTotal() const;
  // Tiles that need no less than the graph as it is.
  bool IsIdle(const Proposal& proposal) const;
  // Of plans with unknown totals, the smaller arena.
  std::pair<std::int64_t, std::int64_t> BytesOf(const Proposal& proposal) const;

  const SearchOptions& options_;
  const Proposal& uncut_;
};

}  // namespace neap::cascade
