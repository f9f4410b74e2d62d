// SPDX-License-Identifier: Apache-2.0
//
// The exact search: schedule::Solve. docs/algorithms/order.md has method and proofs.
//   split at hourglasses -> per part: greedy and beam orders (upper bound), min cuts (lower
//   bound) -> decision searches with growing limits, forward and backward, until the bounds meet.
// Only the parts whose upper bound exceeds the best lower bound of all are searched.
#include <algorithm>
#include <cstddef>
#include <numeric>

#include "neap/solve/schedule/part_search.h"
#include "neap/solve/schedule/parts.h"
#include "neap/solve/schedule/question.h"
#include "neap/solve/schedule/schedule.h"
#include "neap/solve/schedule/stopper.h"

namespace neap::schedule {
namespace {

class ExactSearch {
 public:
  // `below_bytes`: decides only whether there is an order below that; 0: the minimum peak.
  ExactSearch(const Problem& problem, const Limits& limits, std::int64_t below_bytes)
      : takes_over_(!problem.take_over.empty()),
        below_(below_bytes),
        stopper_(limits),
        parts_(SplitAtHourglasses(problem)) {
    const auto share = limits.max_memory_bytes / 2;
    for (const Part& part : parts_) {
      searches_.emplace_back(part, share, below_, &stopper_);
    }
  }

  Outcome Run() {
    Publish();
    // Highest first: its proof saves the others.
    std::vector<std::size_t> by_height(searches_.size());
    std::iota(by_height.begin(), by_height.end(), std::size_t{0});
    std::stable_sort(by_height.begin(), by_height.end(), [&](std::size_t a, std::size_t b) {
      return searches_[a].upper_bytes() > searches_[b].upper_bytes();
    });
    for (const std::size_t s : by_height) {
      if (stopper_.stopped() || Refuted()) break;
      stopper_.SetSize(parts_[s].problem.num_ops);
      searches_[s].Bound(Floor(), &stopper_);
      Publish();
    }
    std::int64_t states = PartSearch::kFirstStates;
    for (bool open = true; open && !stopper_.stopped() && !Refuted();
         states *= PartSearch::kRoundFactor) {
      open = false;
      for (const std::size_t s : by_height) {
        if (stopper_.stopped() || Refuted() || searches_[s].Closed(Floor())) continue;
        stopper_.SetSize(parts_[s].problem.num_ops);
        if (searches_[s].Search(Floor(), states, &stopper_)) open = true;
        Publish();
      }
    }
    return Result();
  }

 private:
  // Nothing below is of interest in any part.
  std::int64_t Floor() const { return std::max(lower_, below_ - 1); }
  // The question is answered: no.
  bool Refuted() const { return below_ > 0 && lower_ >= below_; }

  void Publish() {
    upper_ = 0;
    for (const PartSearch& search : searches_) {
      upper_ = std::max(upper_, search.upper_bytes());
      lower_ = std::max(lower_, search.lower_bytes());
    }
    stopper_.SetBounds(upper_, lower_);
  }

  Outcome Result() const {
    Outcome outcome;
    const PartSearch* best = nullptr;
    for (const PartSearch& search : searches_) {
      search.AppendOrder(&outcome.order);
      if (search.lower_bytes() > outcome.lower_bound_bytes || outcome.bound_op < 0) {
        outcome.lower_bound_bytes = search.lower_bytes();
        outcome.proof = search.proof();
        outcome.bound_op = search.bound_op();
        outcome.reversed = search.reversed();
        best = &search;
      }
    }
    if (outcome.proof == Proof::kMinCut && !takes_over_) outcome.witness = best->Witness();
    outcome.peak_bytes = upper_;
    outcome.states = stopper_.states();
    outcome.interrupted = stopper_.interrupted();
    return outcome;
  }

  bool takes_over_;
  std::int64_t below_;
  Stopper stopper_;
  std::vector<Part> parts_;
  std::vector<PartSearch> searches_;
  std::int64_t upper_ = 0;
  std::int64_t lower_ = 0;
};

}  // namespace

std::int64_t StatesForAFewSeconds(OpIndex num_ops) {
  constexpr std::int64_t kWork = 2'000'000'000;  // in about nanoseconds
  constexpr std::int64_t kMax = 4'000'000;
  constexpr std::int64_t kMin = 1'000;
  const std::int64_t ops = std::max<std::int64_t>(num_ops, 1);
  return std::clamp(kWork / StateCost(ops), kMin, kMax);
}

Outcome Solve(const Problem& problem, const Limits& limits) {
  return SolveBelow(problem, limits, 0);
}

Outcome SolveBelow(const Problem& problem, const Limits& limits, std::int64_t below_bytes) {
  if (problem.num_ops == 0) return {};
  Limits effective = limits;
  if (limits.max_states == kStatesForAFewSeconds) {
    effective.max_states = StatesForAFewSeconds(problem.num_ops);
  }
  return ExactSearch(problem, effective, below_bytes).Run();
}

}  // namespace neap::schedule
