// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/ranking.h"

#include <tuple>

#include "neap/base/bytes.h"

namespace neap::cascade {

bool Ranking::NeedsTotal() const {
  return options_.budget_total_bytes > 0 && !options_.total_may_be_unknown;
}

bool Ranking::CountsTotal() const {
  return NeedsTotal() || (uncut_.total_arena_bytes >= 0 &&
                          (options_.budget_bytes == 0 || options_.budget_total_bytes > 0));
}

std::int64_t Ranking::ScoreOf(const Proposal& proposal) const {
  if (!CountsTotal()) return proposal.arena_bytes;
  // An unknown number is no improvement.
  return proposal.total_arena_bytes >= 0 ? proposal.total_arena_bytes : kMaxBytes;
}

std::pair<std::int64_t, std::int64_t> Ranking::BytesOf(const Proposal& proposal) const {
  const std::int64_t score = ScoreOf(proposal);
  return {score, score == kMaxBytes ? proposal.arena_bytes : 0};
}

bool Ranking::Fits(std::int64_t arena_bytes, std::int64_t total_bytes) const {
  const auto within = [](std::int64_t bytes, std::int64_t budget) {
    return budget == 0 || bytes <= budget;
  };
  return within(arena_bytes, options_.budget_bytes) &&
         within(total_bytes, options_.budget_total_bytes);
}

bool Ranking::Fits(const Proposal& proposal) const {
  if (HasBudget() && !proposal.unknown_scratch.empty()) return false;
  const std::int64_t total = proposal.total_arena_bytes;
  // An unknown number fits no budget, unless it is unknown for all.
  const bool of_arena = uncut_.total_arena_bytes < 0 && !NeedsTotal();
  const std::int64_t unknown = of_arena ? proposal.arena_bytes : kMaxBytes;
  return Fits(proposal.arena_bytes, total < 0 ? unknown : total);
}

bool Ranking::IsIdle(const Proposal& proposal) const {
  return !proposal.regions.empty() && BytesOf(proposal) >= BytesOf(uncut_);
}

bool Ranking::IsBetter(const Proposal& a, const Proposal& b) const {
  const bool cheap = HasBudget() && Fits(a) && Fits(b);
  if (Fits(a) != Fits(b)) return Fits(a);
  if (IsKnown(a) != IsKnown(b)) return IsKnown(a);
  if (IsIdle(a) != IsIdle(b)) return IsIdle(b);
  const auto key = [&](const Proposal& p) {
    return std::tuple(cheap ? p.cycles : 0, BytesOf(p), p.cycles, p.tiles);
  };
  return key(a) < key(b);
}

std::size_t Ranking::Best(const std::vector<Proposal>& proposals) const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < proposals.size(); ++i) {
    if (IsBetter(proposals[i], proposals[best])) best = i;
  }
  return best;
}

}  // namespace neap::cascade
