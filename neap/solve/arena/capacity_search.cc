// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/capacity_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/solve/arena/clause_search.h"
#include "neap/solve/arena/climb.h"
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

// Most placements are found by the first restarts. After those, of so many runs one is a restart,
// the others climb.
constexpr std::int64_t kRestartsBeforeClimb = 40;
constexpr std::int64_t kRestartEvery = 4;
constexpr std::int64_t kManyItems = 128;
constexpr std::int64_t kCompletionWork = 100;  // of an item, in about nanoseconds

// What a run that failed had placed, and everything else at the lowest offset that is free, larger
// areas first.
class Completion {
 public:
  explicit Completion(const Sections& sections) : sections_(sections) {}

  std::int64_t height_bytes() const { return height_bytes_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }  // bytes

  // Keeps the lowest.
  void Try(const DecisionSearch& run, Budget& budget) {
    if (run.most_offsets().empty() || !sections_.gaps.empty()) return;
    std::vector<std::int64_t> offsets = run.most_offsets();
    budget.Work(static_cast<std::int64_t>(offsets.size()) * kCompletionWork);
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (offsets[i] >= 0) continue;
      if (sections_.items[i].fixed >= 0) return;
      left.push_back(i);
    }
    std::stable_sort(left.begin(), left.end(),
                     [&](std::size_t a, std::size_t b) { return run.AreaOf(a) > run.AreaOf(b); });
    for (const std::size_t i : left) offsets[i] = LowestFree(i, offsets);
    std::int64_t height = 0;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      height = std::max(height, offsets[i] * sections_.unit + sections_.items[i].bytes);
    }
    if (height >= height_bytes_) return;
    height_bytes_ = height;
    offsets_ = std::move(offsets);
    for (std::int64_t& offset : offsets_) offset *= sections_.unit;
  }

 private:
  std::int64_t LowestFree(std::size_t i, const std::vector<std::int64_t>& offsets) const {
    const Sections::Item& item = sections_.items[i];
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (const std::int32_t other : sections_.neighbours.Of(static_cast<std::int32_t>(i))) {
      const auto o = static_cast<std::size_t>(other);
      if (offsets[o] >= 0) taken.emplace_back(offsets[o], offsets[o] + sections_.items[o].units);
    }
    std::sort(taken.begin(), taken.end());
    std::int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (begin >= offset + item.units) break;
      offset = std::max(offset, AlignUp(end, item.alignment));
    }
    return offset;
  }

  const Sections& sections_;
  std::int64_t height_bytes_ = INT64_MAX;
  std::vector<std::int64_t> offsets_;
};

// Restarts of a DecisionSearch, each with rules of its own, later climbs in between.
class Restarts {
 public:
  explicit Restarts(Sections sections)
      : sections_(std::move(sections)),
        search_(sections_),
        climb_(sections_),
        completion_(sections_) {}
  Restarts(const Restarts&) = delete;  // its searches refer to sections_
  Restarts& operator=(const Restarts&) = delete;

  const Sections& sections() const { return sections_; }
  void Begin() { search_.ForgetFailures(); }

  // The next one, with at most `nodes`, which is reduced by its allowance. `restarts` is the place
  // in the sequence of their lengths.
  Verdict Next(std::int64_t capacity_bytes, std::int64_t& nodes, std::int64_t& restarts,
               Random& random, Budget& budget) {
    // At least enough for a descent without a failure, and some.
    const auto items = static_cast<std::int64_t>(sections_.items.size());
    const std::int64_t nodes_per_restart = std::max(kNodesPerRestart, items + items / 4);
    climbed_last_ = ++turns_ > kRestartsBeforeClimb && turns_ % kRestartEvery != 0;
    if (climbed_last_) {
      const std::int64_t before = budget.states();
      const Verdict verdict = climb_.Run(capacity_bytes, nodes, random, budget);
      nodes -= std::max<std::int64_t>(budget.states() - before, 1);
      completion_.Try(climb_.search(), budget);
      return verdict;
    }
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
    const Verdict verdict = search_.Run(capacity_bytes, rules, random, share, budget);
    completion_.Try(search_, budget);
    return verdict;
  }

  std::int64_t OffsetOf(std::size_t item) const {
    return (climbed_last_ ? climb_.search() : search_).OffsetOf(item) * sections_.unit;
  }
  const Completion& completion() const { return completion_; }

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
  Climb climb_;
  Completion completion_;
  std::int64_t turns_ = 0;
  bool climbed_last_ = false;
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
  std::int64_t completed_bytes() const override {
    return restarts_ ? restarts_->completion().height_bytes() : INT64_MAX;
  }
  const std::vector<std::int64_t>& completed_offsets() const override {
    return restarts_->completion().offsets();
  }
  std::int64_t step_bytes() const override {
    const bool exact = restarts_ && restarts_->sections().exact_units;
    return exact && !restarts_->sections().tightened ? restarts_->sections().unit : 1;
  }

 private:
  // As much as for restarts and climbs, once those had their chance: the larger the part, the more
  // clauses are needed before they help. Of large parts, climbs are the better half.
  bool IsTimeToLearn() const {
    const Sections& sections = restarts_->sections();
    const auto items = static_cast<std::int64_t>(sections.items.size());
    const std::int64_t part = items > kManyItems ? 3 : 1;
    return restarted_nodes_ >= (sections.tightened ? 1 : items * items * items / 64) &&
           learned_nodes_ < restarted_nodes_ / part;
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
