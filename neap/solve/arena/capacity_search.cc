// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/capacity_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "neap/solve/arena/clause_search.h"
#include "neap/solve/arena/sections.h"

namespace neap::arena {
namespace {

constexpr std::int64_t kNodesPerRestart = 500;
constexpr std::int32_t kMaxExponent = 1300;  // in 1/1000
constexpr std::int32_t kFullRaises = 16;

// Of a restart, in those of least length; index >= 1. Whether a run places everything shows early,
// so most are short. A fifth to a third of all nodes goes to long ones, so that a proof of n nodes
// comes within 6 n.
std::int64_t LengthOf(std::int64_t index) {
  return index > 4 && std::has_single_bit(static_cast<std::uint64_t>(index)) ? index / 4 : 1;
}

// Restarts of a DecisionSearch, each with rules of its own.
class Restarts {
 public:
  explicit Restarts(Sections sections) : sections_(std::move(sections)), search_(sections_) {}

  const Sections& sections() const { return sections_; }
  void Begin() { search_.ForgetFailures(); }

  // The next one, with at most `nodes`, which is reduced by its allowance. `restarts` is the place
  // in the sequence of their lengths.
  Verdict Next(std::int64_t capacity_bytes, std::int64_t& nodes, std::int64_t& restarts,
               Random& random, Budget& budget) {
    // At least enough for a descent without a failure, and some.
    const auto items = static_cast<std::int64_t>(sections_.items.size());
    const std::int64_t nodes_per_restart = std::max(kNodesPerRestart, items + items / 4);
    // A long one without enough nodes left waits for the next attempt: cut short it proves nothing.
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
    return search_.Run(capacity_bytes, rules, random, share, budget);
  }

  std::int64_t OffsetOf(std::size_t item) const { return search_.OffsetOf(item) * sections_.unit; }

 private:
  static Rules DrawRules(Random& random) {
    constexpr std::array<std::int32_t, 6> kNoises = {30, 60, 120, 240, 480, 900};
    constexpr std::array<std::int32_t, 6> kRaises = {0, 0, 1, 1, 4, kFullRaises};
    Rules rules;
    rules.length_exponent = static_cast<std::int32_t>(random.Between(0, kMaxExponent));
    rules.size_exponent = static_cast<std::int32_t>(random.Between(0, kMaxExponent));
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
};

// The learning searches of one part. Learned clauses of a capacity are lost when a higher one is
// tried, so the bound, to which the caller returns, has a search of its own.
class Learners {
 public:
  Learners(const Problem& problem, const PairTable& table, std::span<const BufferIndex> buffers)
      : searches_{ClauseSearch(problem, table, buffers), ClauseSearch(problem, table, buffers)} {}

  Verdict Run(std::int64_t capacity_bytes, std::int64_t nodes, Random& random, Budget& budget) {
    const bool first = searches_[0].capacity_bytes() == capacity_bytes ||
                       searches_[0].capacity_bytes() < 0 || searches_[0].refuted();
    last_ = first ? 0 : 1;
    return searches_[last_].Run(capacity_bytes, random, nodes, budget);
  }
  std::int64_t OffsetOf(std::size_t item) const { return searches_[last_].OffsetOf(item); }

 private:
  std::array<ClauseSearch, 2> searches_;
  std::size_t last_ = 0;
};

// Both, one after the other: where many placements fit, restarts find one in no time, and learning
// finds those that are hard to find, and proves that there is none.
class Alternating final : public CapacitySearch {
 public:
  // At least one of the two.
  Alternating(std::unique_ptr<Restarts> restarts, std::unique_ptr<Learners> learners)
      : restarts_(std::move(restarts)), learners_(std::move(learners)) {}

  Verdict Attempt(std::int64_t capacity_bytes, std::int64_t nodes, std::int64_t& restarts,
                  Random& random, Budget& budget) override {
    if (restarts_) restarts_->Begin();
    Verdict verdict = Verdict::kUndecided;
    while (verdict == Verdict::kUndecided && nodes > 0 && !budget.Ended()) {
      const bool may_restart = restarts_ && capacity_bytes > left_out_;
      if (!may_restart && !learners_) break;
      learned_last_ = learners_ && (!may_restart || IsTimeToLearn());
      if (learned_last_) {
        const std::int64_t share =
            std::min(nodes, std::max(kNodesPerRestart, restarted_nodes_ / 4));
        nodes -= share;
        learned_nodes_ += share;
        verdict = learners_->Run(capacity_bytes, share, random, budget);
        continue;
      }
      const std::int64_t before = nodes;
      verdict = restarts_->Next(capacity_bytes, nodes, restarts, random, budget);
      restarted_nodes_ += before - nodes;
      if (verdict == Verdict::kImpossible && restarts_->sections().tightened) {
        left_out_ = capacity_bytes;
        verdict = Verdict::kUndecided;
      }
    }
    return verdict;
  }
  std::int64_t OffsetOf(std::size_t item) const override {
    return learned_last_ ? learners_->OffsetOf(item) : restarts_->OffsetOf(item);
  }
  std::int64_t step_bytes() const override {
    const bool exact = restarts_ && restarts_->sections().exact_units;
    return exact && !restarts_->sections().tightened ? restarts_->sections().unit : 1;
  }

 private:
  // As much as for restarts, once those had their chance: the larger the part, the more clauses are
  // needed before they help.
  bool IsTimeToLearn() const {
    const Sections& sections = restarts_->sections();
    const auto items = static_cast<std::int64_t>(sections.items.size());
    return restarted_nodes_ >= (sections.tightened ? 1 : items * items * items / 64) &&
           learned_nodes_ < restarted_nodes_;
  }

  std::unique_ptr<Restarts> restarts_;
  std::unique_ptr<Learners> learners_;
  std::int64_t restarted_nodes_ = 0;
  std::int64_t learned_nodes_ = 0;
  std::int64_t left_out_ = -1;  // no placement within it is among those that restarts look at
  bool learned_last_ = false;
};

}  // namespace

std::unique_ptr<CapacitySearch> MakeCapacitySearch(const Problem& problem, const PairTable& table,
                                                   std::span<const BufferIndex> buffers) {
  auto sections = Sections::Build(problem, table, buffers);
  if (!sections) sections = Sections::Build(problem, table, buffers, Sections::Irregular::kTighten);
  std::unique_ptr<Restarts> restarts;
  if (sections) restarts = std::make_unique<Restarts>(std::move(*sections));
  std::unique_ptr<Learners> learners;
  if (buffers.size() <= ClauseSearch::kMaxBuffers) {
    learners = std::make_unique<Learners>(problem, table, buffers);
  }
  if (!restarts && !learners) return nullptr;
  return std::make_unique<Alternating>(std::move(restarts), std::move(learners));
}

}  // namespace neap::arena
