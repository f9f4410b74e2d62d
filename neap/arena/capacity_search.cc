// SPDX-License-Identifier: Apache-2.0
#include "neap/arena/capacity_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "neap/arena/orientation_search.h"
#include "neap/arena/sections.h"

namespace neap::arena {
namespace {

constexpr std::int64_t kNodesPerRestart = 500;
constexpr std::int32_t kMostExponent = 1300;  // in 1/1000
constexpr std::int32_t kFullRaises = 16;

// Luby, Sinclair, Zuckerman 1993: 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...; index >= 1.
std::int64_t Luby(std::int64_t index) {
  while (true) {
    const int bits = 64 - std::countl_zero(static_cast<std::uint64_t>(index));
    if (index == (std::int64_t{1} << bits) - 1) return std::int64_t{1} << (bits - 1);
    index -= (std::int64_t{1} << (bits - 1)) - 1;
  }
}

// Of a restart, in those of least length; index >= 1. Whether a run places everything shows early,
// so most are short. A fifth to a third of all nodes goes to long ones, so that a proof of n nodes
// comes within 6 n.
std::int64_t LengthOf(std::int64_t index) {
  return index > 4 && std::has_single_bit(static_cast<std::uint64_t>(index)) ? index / 4 : 1;
}

class SectionsSearch final : public CapacitySearch {
 public:
  explicit SectionsSearch(Sections sections) : sections_(std::move(sections)), search_(sections_) {}

  Verdict Attempt(std::int64_t capacity_bytes, std::int64_t nodes, std::int64_t& restarts,
                  Random& random, Budget& budget) override {
    if (capacity_bytes <= left_out_) return Verdict::kUndecided;
    // At least enough for a descent without a failure, and some.
    const auto items = static_cast<std::int64_t>(sections_.items.size());
    const std::int64_t nodes_per_restart = std::max(kNodesPerRestart, items + items / 4);
    search_.ForgetFailures();
    while (nodes > 0 && !budget.Ended()) {
      // A long one that has no room left waits for the next attempt: cut short it proves nothing.
      const std::int64_t length = nodes_per_restart * LengthOf(restarts + 1);
      if (length <= nodes) ++restarts;
      const std::int64_t share = length <= nodes ? length : std::min(nodes, nodes_per_restart);
      nodes -= share;
      Rules rules = DrawRules(random);
      if (share > nodes_per_restart) {
        // For a proof: all propagation, and sections that failed often first.
        rules.raises = kFullRaises;
        rules.learn = true;
        rules.lowest_level = false;
      } else if (random.Chance(1, 4)) {
        search_.ForgetFailures();
      }
      const Verdict verdict = search_.Run(capacity_bytes, rules, random, share, budget);
      if (verdict == Verdict::kImpossible && sections_.tightened) {
        left_out_ = capacity_bytes;
        return Verdict::kUndecided;
      }
      if (verdict != Verdict::kUndecided) return verdict;
    }
    return Verdict::kUndecided;
  }
  std::int64_t OffsetOf(std::size_t item) const override {
    return search_.OffsetOf(item) * sections_.unit;
  }
  std::int64_t step_bytes() const override {
    return sections_.exact_units && !sections_.tightened ? sections_.unit : 1;
  }

 private:
  static Rules DrawRules(Random& random) {
    constexpr std::array<std::int32_t, 6> kNoises = {30, 60, 120, 240, 480, 900};
    constexpr std::array<std::int32_t, 6> kRaises = {0, 0, 1, 1, 4, kFullRaises};
    Rules rules;
    rules.length_exponent = static_cast<std::int32_t>(random.Between(0, kMostExponent));
    rules.size_exponent = static_cast<std::int32_t>(random.Between(0, kMostExponent));
    rules.noise = kNoises[static_cast<std::size_t>(random.Below(kNoises.size()))];
    rules.noise_per_node = random.Chance(1, 6);
    rules.raises = kRaises[static_cast<std::size_t>(random.Below(kRaises.size()))];
    rules.flush = random.Chance(15, 16);
    rules.learn = random.Chance(3, 4);
    rules.lowest_level = random.Chance(1, 24);
    return rules;
  }

  Sections sections_;
  DecisionSearch search_;
  std::int64_t left_out_ = -1;  // no placement within this capacity is among those looked at
};

class AnyRulesSearch final : public CapacitySearch {
 public:
  AnyRulesSearch(const Problem& problem, const PairTable& table,
                 std::span<const BufferIndex> buffers)
      : search_(problem, table, buffers) {}

  Verdict Attempt(std::int64_t capacity_bytes, std::int64_t nodes, std::int64_t& restarts,
                  Random& random, Budget& budget) override {
    while (nodes > 0 && !budget.Ended()) {
      const std::int64_t share = std::min(nodes, kNodesPerRestart * Luby(++restarts));
      nodes -= share;
      const Verdict verdict = search_.Run(capacity_bytes, random, share, budget);
      if (verdict != Verdict::kUndecided) return verdict;
    }
    return Verdict::kUndecided;
  }
  std::int64_t OffsetOf(std::size_t item) const override { return search_.OffsetOf(item); }
  std::int64_t step_bytes() const override { return 1; }

 private:
  OrientationSearch search_;
};

// Among tightened rules first, where the search is strong; the other one knows all placements.
class TwoSearches final : public CapacitySearch {
 public:
  TwoSearches(std::unique_ptr<CapacitySearch> tightened, std::unique_ptr<CapacitySearch> complete)
      : tightened_(std::move(tightened)), complete_(std::move(complete)) {}

  Verdict Attempt(std::int64_t capacity_bytes, std::int64_t nodes, std::int64_t& restarts,
                  Random& random, Budget& budget) override {
    std::int64_t tightened_restarts = restarts;
    last_ = tightened_.get();
    const Verdict verdict =
        tightened_->Attempt(capacity_bytes, nodes / 2 + 1, tightened_restarts, random, budget);
    if (verdict == Verdict::kPlaced || budget.Ended()) return verdict;
    last_ = complete_.get();
    return complete_->Attempt(capacity_bytes, nodes / 2 + 1, restarts, random, budget);
  }
  std::int64_t OffsetOf(std::size_t item) const override { return last_->OffsetOf(item); }
  std::int64_t step_bytes() const override { return 1; }

 private:
  std::unique_ptr<CapacitySearch> tightened_;
  std::unique_ptr<CapacitySearch> complete_;
  const CapacitySearch* last_ = nullptr;
};

}  // namespace

std::unique_ptr<CapacitySearch> MakeCapacitySearch(const Problem& problem, const PairTable& table,
                                                   std::span<const BufferIndex> buffers) {
  if (auto sections = Sections::Build(problem, table, buffers)) {
    return std::make_unique<SectionsSearch>(std::move(*sections));
  }
  std::unique_ptr<CapacitySearch> complete;
  if (buffers.size() <= OrientationSearch::kMostBuffers) {
    complete = std::make_unique<AnyRulesSearch>(problem, table, buffers);
  }
  auto sections = Sections::Build(problem, table, buffers, Sections::Irregular::kTighten);
  if (!sections) return complete;
  auto tightened = std::make_unique<SectionsSearch>(std::move(*sections));
  if (complete == nullptr) return tightened;
  return std::make_unique<TwoSearches>(std::move(tightened), std::move(complete));
}

}  // namespace neap::arena
