// SPDX-License-Identifier: Apache-2.0
//
// The exact search: schedule::Solve. docs/algorithms/order.md has method and proofs.
//   split at hourglasses -> per part: greedy and beam orders (upper bound), min cuts (lower
//   bound) -> decision searches with growing limits, forward and backward, until the bounds meet;
//   where they do not meet soon -> the portfolio's orders (portfolio.h), then searches again.
// Only the parts whose upper bound exceeds the best lower bound of all are searched.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "neap/base/work.h"
#include "neap/solve/schedule/part_search.h"
#include "neap/solve/schedule/parts.h"
#include "neap/solve/schedule/portfolio.h"
#include "neap/solve/schedule/question.h"
#include "neap/solve/schedule/schedule.h"
#include "neap/solve/schedule/stopper.h"

namespace neap::schedule {
namespace {

OpIndex LargestOf(const std::vector<Part>& parts) {
  OpIndex largest = 0;
  for (const Part& part : parts) largest = std::max(largest, part.problem.num_ops);
  return largest;
}

class ExactSearch {
 public:
  // `below_bytes`: decides only whether there is an order below that; 0: the minimum peak.
  // `portfolio_work`: of the portfolio where there is no limit of time, in about nanoseconds; 0: no
  // portfolio.
  ExactSearch(const Problem& problem, std::vector<Part> parts, const Limits& limits,
              std::int64_t below_bytes, std::int64_t portfolio_work)
      : takes_over_(!problem.take_over.empty()),
        below_(below_bytes),
        portfolio_work_(portfolio_work),
        stopper_(limits),
        parts_(std::move(parts)) {
    if (WantsPortfolio()) reserve_.emplace(3, 4);
    const auto share = limits.max_memory_bytes / 2;
    for (const Part& part : parts_) {
      searches_.emplace_back(part, share, below_, &stopper_);
    }
  }

  Outcome Run() {
    Publish();
    FindBounds();
    if (LargestOf(parts_) >= kLookFirst) Look();
    if (WantsPortfolio() && IsOpen()) {
      const std::int64_t most = stopper_.limits().max_states;
      if (most == 0 || most > kStatesBeforePortfolio) states_of_search_ = kStatesBeforePortfolio;
      stopper_.PauseAt(ShareOfTime(1, 3), std::numeric_limits<std::int64_t>::max());
    }
    const bool waits = Search();
    states_of_search_ = std::numeric_limits<std::int64_t>::max();
    reserve_.reset();
    if (WantsPortfolio() && IsOpen()) {
      ImproveHighest(portfolio_work_, ShareOfTime(1, 2));
      // What is left is the search's, which begins with better orders.
      if ((stopper_.Resume() || waits) && IsOpen()) Search();
      if (stopper_.limits().HasTimeLimit() && IsOpen()) {
        ImproveHighest(portfolio_work_, stopper_.end());
      }
      if (!stopper_.limits().HasTimeLimit() && IsOpen()) LowerOtherHills();
    }
    return Result();
  }

 private:
  bool IsOpen() {
    stopper_.Look();
    return upper_ > lower_ && !stopper_.interrupted();
  }

  // Highest first: its proof saves the others.
  void FindBounds() {
    for (const std::size_t s : ByHeight()) {
      if (stopper_.stopped() || Refuted()) break;
      stopper_.SetSize(parts_[s].problem.num_ops);
      searches_[s].FindBounds(Floor(), &stopper_);
      Publish();
    }
  }

  // True: a next round would end behind states_of_search_.
  bool Search() {
    const std::vector<std::size_t> by_height = ByHeight();
    // After the portfolio, where no order has become better, the rounds go on.
    if (upper_ < searched_for_) states_of_round_ = PartSearch::kFirstStates;
    searched_for_ = upper_;
    for (bool open = true; open && !Refuted(); states_of_round_ *= PartSearch::kRoundFactor) {
      if (stopper_.stopped()) break;
      if (stopper_.states() + states_of_round_ > states_of_search_) return true;
      open = false;
      for (const std::size_t s : by_height) {
        if (stopper_.stopped() || Refuted() || searches_[s].Closed(Floor())) continue;
        stopper_.SetSize(parts_[s].problem.num_ops);
        if (searches_[s].Search(Floor(), states_of_round_, &stopper_)) open = true;
        Publish();
      }
      searched_for_ = upper_;
      if (stopper_.stopped()) break;
      if (open) Look();
    }
    return false;
  }

  // What windows find at once; only the first time.
  void Look() {
    if (!WantsPortfolio() || looked_ || !IsOpen()) return;
    looked_ = true;
    ImproveHighest(std::min(portfolio_work_ / 8, kFirstWork * LargestOf(parts_)),
                   ShareOfTime(1, 8));
  }

  bool WantsPortfolio() const { return portfolio_work_ > 0; }

  Limits::Clock::time_point ShareOfTime(int part, int parts) const {
    if (!stopper_.limits().HasTimeLimit()) return stopper_.end();
    const auto now = LimitNow();
    return now + std::max(stopper_.end() - now, Limits::Clock::duration(0)) / parts * part;
  }

  // Better orders for the highest part, until another one is highest or it gets no lower; with
  // so much work, or, where there is a limit of time, until `end`.
  void ImproveHighest(std::int64_t nanoseconds, Limits::Clock::time_point end) {
    Limits limits = stopper_.limits();
    std::optional<WorkScope> work;
    if (limits.HasTimeLimit()) {
      limits.deadline = end;
    } else {
      work.emplace(nanoseconds);
    }
    std::vector<char> improved(searches_.size(), 0);
    while (!IsOver(limits) && upper_ > lower_) {
      const std::size_t s = ByHeight().front();
      if (improved[s] != 0) return;
      improved[s] = 1;
      PartSearch& search = searches_[s];
      search.Adopt(ImproveOrder(search.problem(), {search.order(), search.upper_bytes()}, lower_,
                                portfolio_runs_++, limits));
      Publish();
    }
  }

  // The peak of a large part stays above its bound: what can still be lowered is its arena.
  void LowerOtherHills() {
    const Limits& limits = stopper_.limits();
    for (PartSearch& search : searches_) {
      if (search.problem().num_ops < kLookFirst || IsOver(limits)) continue;
      search.AdoptOther(schedule::LowerOtherHills(
          search.problem(), {search.order(), search.upper_bytes()}, portfolio_runs_++, limits));
    }
    Publish();
  }

  std::vector<std::size_t> ByHeight() const {
    std::vector<std::size_t> by_height(searches_.size());
    std::iota(by_height.begin(), by_height.end(), std::size_t{0});
    std::stable_sort(by_height.begin(), by_height.end(), [&](std::size_t a, std::size_t b) {
      return searches_[a].upper_bytes() > searches_[b].upper_bytes();
    });
    return by_height;
  }

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

  // Without a limit of time or states the search goes on for ever: the portfolio does not wait for
  // a round that would end behind these. One that is cut off begins from scratch.
  static constexpr std::int64_t kStatesBeforePortfolio = 4'000'000;
  static constexpr std::int64_t kFirstWork = 200'000;  // per operator
  // Operators from which the portfolio has a look before the search: below, a round of that often
  // ends everything.
  static constexpr OpIndex kLookFirst = 2'000;

  bool takes_over_;
  std::int64_t below_;
  std::int64_t portfolio_work_;
  std::optional<WorkScope> reserve_;  // work that the search leaves to the portfolio
  Stopper stopper_;
  std::vector<Part> parts_;
  std::vector<PartSearch> searches_;
  std::int64_t upper_ = 0;
  std::int64_t lower_ = 0;
  std::uint64_t portfolio_runs_ = 0;
  bool looked_ = false;
  std::int64_t states_of_round_ = PartSearch::kFirstStates;
  std::int64_t states_of_search_ = std::numeric_limits<std::int64_t>::max();  // until the portfolio
  std::int64_t searched_for_ = std::numeric_limits<std::int64_t>::max();      // upper_ then
};

// Work of the portfolio where there is no limit of time: little on small problems, which the search
// finishes. A question is answered by the search or not at all: who asks has many more of them.
std::int64_t PortfolioWork(const Limits& limits, OpIndex num_ops, std::int64_t below_bytes) {
  constexpr std::int64_t kHalfAt = 500;  // operators
  if (below_bytes > 0) return 0;
  const std::int64_t square =
      std::min<std::int64_t>(num_ops, 100'000) * std::min<std::int64_t>(num_ops, 100'000);
  // Random networks of that size have many steps near the peak and few operators: annealing goes on
  // to improve their orders.
  const std::int64_t times = num_ops > 700 && num_ops < 2'000 ? 2 : 1;
  const std::int64_t most =
      times * (kPortfolioWork / 1'000) * (square * 1'000 / (square + kHalfAt * kHalfAt));
  if (limits.max_states <= 0) return most;
  return limits.max_states < most / StateCost(num_ops) ? limits.max_states * StateCost(num_ops)
                                                       : most;
}

}  // namespace

std::int64_t StatesForAFewSeconds(OpIndex num_ops) {
  constexpr std::int64_t kWork = 2'000'000'000;  // in about nanoseconds
  constexpr std::int64_t kMax = 4'000'000;
  constexpr std::int64_t kMin = 1'000;
  constexpr std::int64_t kLarge = 700;
  constexpr std::int64_t kMinOfLarge = 8'000;
  constexpr int kSteepness = 16;
  const std::int64_t ops = std::max<std::int64_t>(num_ops, 1);
  const std::int64_t states = std::clamp(kWork / StateCost(ops), kMin, kMax);
  // Searches of large problems end early or hardly ever, and their states cost far more than
  // others: time is better spent on the portfolio.
  std::int64_t fewer = states;
  for (int i = 0; i < kSteepness && ops > kLarge; ++i) fewer = fewer * kLarge / ops;
  return ops > kLarge ? std::max(fewer, kMinOfLarge) : states;
}

Outcome Solve(const Problem& problem, const Limits& limits) {
  return SolveBelow(problem, limits, 0);
}

Outcome SolveBelow(const Problem& problem, const Limits& limits, std::int64_t below_bytes) {
  if (problem.num_ops == 0) return {};
  std::vector<Part> parts = SplitAtHourglasses(problem);
  const OpIndex largest = LargestOf(parts);
  Limits effective = limits;
  if (limits.max_states == kStatesForAFewSeconds) {
    effective.max_states = StatesForAFewSeconds(largest);
  }
  return ExactSearch(problem, std::move(parts), effective, below_bytes,
                     PortfolioWork(limits, largest, below_bytes))
      .Run();
}

}  // namespace neap::schedule
