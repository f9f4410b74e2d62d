// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/climb.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace neap::arena {
namespace {

constexpr int kStarts = 20;
constexpr std::uint64_t kMaxChanges = 24;  // of priorities at a time
// Of priorities, in their unit: a factor of 1.5, and next to another item.
constexpr std::int64_t kFarChange = 614'400;
constexpr std::int64_t kNearChange = 50;

}  // namespace

void Climb::Begin(std::int64_t capacity_bytes) {
  capacity_bytes_ = capacity_bytes;
  starts_ = 0;
  fruitless_ = 0;
  area_ = -1;
}

Verdict Climb::Run(std::int64_t capacity_bytes, std::int64_t max_nodes, Random& random,
                   Budget& budget) {
  if (capacity_bytes != capacity_bytes_ || IsFruitless()) Begin(capacity_bytes);
  const bool starts = starts_ < kStarts;
  Rules rules = rules_;
  if (starts) {
    ++starts_;
    rules = DrawRules(random);
    search_.DrawPriorities(rules, random);
  } else {
    search_.priorities() = priorities_;
    ChangeSome(random);
  }
  // Most runs stay where they stop first. Where nearly everything is placed, the rest is worth
  // more.
  const auto items = static_cast<std::int64_t>(search_.priorities().size());
  const bool nearly = area_ > search_.total_area() / 10 * 9;
  rules.max_stall = items / 2 * (nearly ? 3 : 1);
  search_.ForgetFailures();
  const Verdict verdict =
      search_.Run(capacity_bytes, rules, random, std::min(max_nodes, 2 * items), budget);
  if (!starts) fruitless_ = search_.most_area() > area_ ? 0 : fruitless_ + 1;
  if (search_.most_area() >= area_) {
    area_ = search_.most_area();
    rules_ = rules;
    priorities_ = search_.priorities();
  }
  return verdict;
}

// The more is placed, the longer a gain is waited for.
bool Climb::IsFruitless() const {
  const std::int64_t all = search_.total_area();
  if (area_ > all / 20 * 19) return fruitless_ >= 300;
  return fruitless_ >= (area_ > all / 4 * 3 ? 100 : 20);
}

// Climbs come far from rules near "the larger area first", with sections that failed often first.
Rules Climb::DrawRules(Random& random) {
  constexpr std::array<std::int32_t, 4> kNoises = {30, 60, 120, 240};
  constexpr std::array<std::int32_t, 6> kRaises = {0, 0, 1, 1, 4, 16};
  Rules rules;
  rules.length_exponent = static_cast<std::int32_t>(random.Between(100, 1200));
  rules.size_exponent = rules.length_exponent + static_cast<std::int32_t>(random.Between(-50, 150));
  rules.noise = kNoises[static_cast<std::size_t>(random.Below(kNoises.size()))];
  rules.raises = kRaises[static_cast<std::size_t>(random.Below(kRaises.size()))];
  rules.given_priorities = true;
  return rules;
}

void Climb::ChangeSome(Random& random) {
  std::vector<std::int64_t>& changed = search_.priorities();
  const std::uint64_t items = changed.size();
  const std::uint64_t changes = 1 + random.Below(kMaxChanges);
  for (std::uint64_t i = 0; i < changes; ++i) {
    std::int64_t& priority = changed[static_cast<std::size_t>(random.Below(items))];
    if (random.Chance(1, 2)) {
      priority = priorities_[static_cast<std::size_t>(random.Below(items))] +
                 random.Between(-kNearChange, kNearChange);
    } else {
      priority += random.Between(-kFarChange, kFarChange);
    }
  }
}

}  // namespace neap::arena
