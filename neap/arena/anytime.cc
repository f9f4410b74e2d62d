// SPDX-License-Identifier: Apache-2.0
#include "neap/arena/anytime.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "neap/base/bytes.h"

namespace neap::arena {
namespace {

constexpr std::int64_t kNodesPerRestart = 500;
constexpr std::int32_t kMostExponent = 1300;  // in 1/1000

// Luby, Sinclair, Zuckerman 1993: 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...; index >= 1.
std::int64_t Luby(std::int64_t index) {
  while (true) {
    const int bits = 64 - std::countl_zero(static_cast<std::uint64_t>(index));
    if (index == (std::int64_t{1} << bits) - 1) return std::int64_t{1} << (bits - 1);
    index -= (std::int64_t{1} << (bits - 1)) - 1;
  }
}

}  // namespace

AnytimeSearch::AnytimeSearch(const Sections& sections, std::int64_t upper_bytes, std::uint64_t seed)
    : sections_(sections), search_(sections), random_(seed), upper_bytes_(upper_bytes) {}

bool AnytimeSearch::Round(std::int64_t nodes, std::int64_t& lower_bytes, Budget& budget) {
  const std::int64_t before = upper_bytes_;
  // Where every height of this part is a multiple of the unit, other capacities say nothing new.
  const std::int64_t step = sections_.exact_units ? sections_.unit : 1;
  std::int64_t unlikely = lower_bytes / step * step;  // below this the bisection does not look
  bool at_bound = true;
  while (lower_bytes < upper_bytes_ && unlikely < upper_bytes_ && !budget.Ended()) {
    std::int64_t capacity = unlikely;
    std::int64_t restarts = 0;
    if (!at_bound) {
      capacity += (upper_bytes_ - step - unlikely) / 2 / step * step;
    } else if (bound_tried_ != capacity) {
      bound_tried_ = capacity;
      restarts_at_bound_ = 0;
    }
    const Verdict verdict = at_bound ? Attempt(capacity, nodes, restarts_at_bound_, budget)
                                     : Attempt(capacity, nodes / 4 + 1, restarts, budget);
    if (verdict == Verdict::kPlaced) {
      Keep();
    } else {
      unlikely = capacity + step;
      if (verdict == Verdict::kImpossible) lower_bytes = std::max(lower_bytes, unlikely);
    }
    at_bound = false;
  }
  return upper_bytes_ < before;
}

Verdict AnytimeSearch::Attempt(std::int64_t capacity_bytes, std::int64_t nodes,
                               std::int64_t& restarts, Budget& budget) {
  // At least enough for a descent without a failure, and some.
  const auto items = static_cast<std::int64_t>(sections_.items.size());
  const std::int64_t nodes_per_restart = std::max(kNodesPerRestart, items + items / 4);
  most_placed_ = -1;
  search_.ForgetFailures();
  while (nodes > 0 && !budget.Ended()) {
    const std::int64_t share = std::min(nodes, nodes_per_restart * Luby(++restarts));
    nodes -= share;
    const Rules rules = DrawRules();
    if (random_.Chance(1, 8)) search_.ForgetFailures();
    const Verdict verdict = search_.Run(capacity_bytes, rules, random_, share, budget);
    if (verdict != Verdict::kUndecided) return verdict;
    if (search_.most_placed() > most_placed_) {
      most_placed_ = search_.most_placed();
      best_rules_ = rules;
    }
  }
  return Verdict::kUndecided;
}

Rules AnytimeSearch::DrawRules() {
  constexpr std::array<std::int32_t, 6> kNoises = {30, 60, 120, 240, 480, 900};
  Rules rules;
  if (most_placed_ >= 0 && random_.Chance(1, 2)) {
    const auto near = [&](std::int32_t exponent) {
      const auto moved = static_cast<std::int32_t>(exponent + random_.Between(-150, 150));
      return std::clamp(moved, 0, kMostExponent);
    };
    rules.length_exponent = near(best_rules_.length_exponent);
    rules.size_exponent = near(best_rules_.size_exponent);
  } else {
    rules.length_exponent = static_cast<std::int32_t>(random_.Between(0, kMostExponent));
    rules.size_exponent = static_cast<std::int32_t>(random_.Between(0, kMostExponent));
  }
  rules.noise = kNoises[static_cast<std::size_t>(random_.Below(kNoises.size()))];
  rules.noise_per_node = random_.Chance(1, 3);
  rules.not_lowest = random_.Chance(2, 3);
  rules.learn = random_.Chance(1, 2);
  rules.lowest_level = random_.Chance(3, 20);
  return rules;
}

void AnytimeSearch::Keep() {
  offsets_.resize(sections_.items.size());
  upper_bytes_ = 0;
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    offsets_[i] = search_.OffsetOf(i) * sections_.unit;
    upper_bytes_ = std::max(upper_bytes_, offsets_[i] + sections_.items[i].bytes);
  }
}

}  // namespace neap::arena
