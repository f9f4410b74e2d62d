// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/portfolio.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "neap/base/check.h"
#include "neap/base/random.h"
#include "neap/base/work.h"
#include "neap/solve/schedule/annealing.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/flat_cut.h"
#include "neap/solve/schedule/flat_problem.h"
#include "neap/solve/schedule/order_state.h"
#include "neap/solve/schedule/stopper.h"
#include "neap/solve/schedule/uncrossing.h"
#include "neap/solve/schedule/windows.h"

namespace neap::schedule {
namespace {

constexpr int kMostSlices = 24;
// On large problems without a limit of time: slices in a row that lower nothing.
constexpr int kMostFruitless = 4;
constexpr OpIndex kLarge = 2'000;
// Of work, in about nanoseconds.
constexpr std::int64_t kSliceOfAll = 50'000'000;
constexpr std::int64_t kSliceOfOp = 4'000;

// Of the run that lowers the other hills.
constexpr std::int64_t kSettleWork = 1'500'000'000;

// Of the steps, those of more than nine tenths of the peak.
bool HasManyHighSteps(const OrderState& state) {
  const std::int64_t high = state.Peak() / 10 * 9;
  std::int32_t steps = 0;
  for (std::int32_t step = 0; step < state.size(); ++step) {
    if (state.Hill(step) > high) ++steps;
  }
  return steps > state.size() / 20;
}

// The work that is left, or the time where that is limited; 0: neither is limited.
std::int64_t Available(const Limits& limits) {
  std::int64_t left = WorkLeft();
  if (limits.deadline) {
    const std::chrono::nanoseconds time = *limits.deadline - LimitNow();
    left = std::min<std::int64_t>(left, time.count());
  }
  return left == std::numeric_limits<std::int64_t>::max() ? 0 : std::max<std::int64_t>(left, 0);
}

class Portfolio {
 public:
  Portfolio(const FlatProblem& flat, RankedOrder start, std::int64_t floor_bytes,
            std::uint64_t seed, const Limits& limits)
      : flat_(flat),
        limits_(limits),
        floor_(floor_bytes),
        random_(seed),
        state_(flat, std::move(start.order)),
        maker_(flat),
        cut_(flat, state_.order()) {}

  // `others`: other starts.
  Improved Run(std::vector<RankedOrder> others) {
    std::int64_t slice = kSliceOfAll + kSliceOfOp * flat_.num_ops();
    DescendFrom(std::move(others), slice);
    int fruitless = 0;
    for (int i = 0; i < kMostSlices && !Done() && fruitless < MostFruitless(); ++i) {
      const std::int64_t before = state_.Peak();
      Descend(slice);
      Prove(slice);
      if (Done()) break;
      const WorkScope work(WantsAnnealing() ? std::max(slice, Available(limits_) / 4 * 3) : slice);
      Anneal(&state_, floor_, WorkLeft(), &random_, limits_);
      slice *= 2;
      fruitless = state_.Peak() < before ? 0 : fruitless + 1;
    }
    return {{state_.order(), state_.Peak()}, std::move(bound_)};
  }

 private:
  int MostFruitless() const {
    return flat_.num_ops() >= kLarge && !limits_.deadline ? kMostFruitless : kMostSlices;
  }

  bool Done() const { return state_.Peak() <= floor_ || IsOver(limits_); }

  // The lowest start need not lead to the lowest order.
  void DescendFrom(std::vector<RankedOrder> others, std::int64_t slice) {
    Descend(slice);
    Prove(slice);
    for (RankedOrder& other : others) {
      if (Done()) return;
      std::vector<OpIndex> best = state_.order();
      const std::int64_t peak = state_.Peak();
      state_.Replace(0, other.order);
      Descend(slice);
      if (state_.Peak() >= peak) state_.Replace(0, best);
      Prove(slice);
    }
  }

  // Until neither windows nor cuts nor closing lower the highest step.
  void Descend(std::int64_t slice) {
    const WorkScope work(2 * slice);
    for (bool again = true; again && !Done();) {
      again = false;
      LowerByWindows(&state_, &maker_, floor_, limits_);
      const std::int64_t before = state_.Peak();
      if (!Done()) Uncross(&state_, &maker_, &cut_, floor_, limits_);
      if (!Done()) {
        const RankedOrder closed = Close(flat_, {state_.order(), state_.Peak()}, limits_);
        state_.Replace(0, closed.order);
      }
      again = state_.Peak() < before;
    }
  }

  // Bounds are looked for again only where the peak has fallen.
  void Prove(std::int64_t slice) {
    if (Done() || state_.Peak() >= proved_for_) return;
    proved_for_ = state_.Peak();
    const WorkScope work(8 * slice);
    Bound better;
    better.bytes = floor_;
    RaiseBounds(state_, &cut_, limits_, &better);
    if (better.bytes <= floor_) return;
    floor_ = better.bytes;
    bound_ = std::move(better);
  }

  // Many steps near the peak: single moves find more than windows, and one long run more than many
  // short ones.
  bool WantsAnnealing() const { return HasManyHighSteps(state_); }

  const FlatProblem& flat_;
  const Limits& limits_;
  std::int64_t floor_;
  Random random_;
  OrderState state_;
  WindowMaker maker_;
  FlatCut cut_;
  Bound bound_;
  std::int64_t proved_for_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace

Improved ImproveOrder(const Problem& problem, RankedOrder start, std::int64_t floor_bytes,
                      std::uint64_t seed, const Limits& limits) {
  const std::int64_t before = start.peak_bytes;
  const FlatProblem flat(problem);
  Improved improved;
  improved.best = std::move(start);
  if (improved.best.peak_bytes > floor_bytes && flat.num_ops() > 0) {
    std::vector<RankedOrder> starts = ClosedOrders(flat, std::move(improved.best), limits);
    RankedOrder lowest = std::move(starts.front());
    starts.erase(starts.begin());
    improved = Portfolio(flat, std::move(lowest), floor_bytes, seed, limits).Run(std::move(starts));
  }
  const RankedOrder& best = improved.best;
  const auto replay = ReplayOrder(problem, best.order);
  NEAP_CHECK(replay && replay->peak_bytes == best.peak_bytes && best.peak_bytes <= before,
             "the portfolio returned a wrong order");
  return improved;
}

RankedOrder LowerOtherHills(const Problem& problem, RankedOrder start, std::uint64_t seed,
                            const Limits& limits) {
  if (problem.num_ops == 0 || start.peak_bytes == 0) return start;
  const FlatProblem flat(problem);
  OrderState state(flat, std::move(start.order));
  if (!HasManyHighSteps(state)) {
    Random random(seed);
    LowerOtherHills(&state, kSettleWork, &random, limits);
  }
  const auto replay = ReplayOrder(problem, state.order());
  NEAP_CHECK(replay && replay->peak_bytes <= start.peak_bytes, "the peak has risen");
  return {state.order(), replay->peak_bytes};
}

RankedOrder AnnealOrder(const Problem& problem, RankedOrder start, std::int64_t floor_bytes,
                        std::uint64_t seed, const Limits& given) {
  if (problem.num_ops == 0 || start.peak_bytes <= floor_bytes) return start;
  Limits limits = given;
  std::optional<WorkScope> work;
  if (given.HasTimeLimit()) {
    limits.deadline = given.EndOfSearch(LimitNow());
  } else {
    std::int64_t nanoseconds = kPortfolioWork;
    const std::int64_t cost = StateCost(problem.num_ops);
    if (given.max_states > 0 && given.max_states < kPortfolioWork / cost) {
      nanoseconds = given.max_states * cost;
    }
    work.emplace(nanoseconds);
  }
  const FlatProblem flat(problem);
  OrderState state(flat, std::move(start.order));
  Random random(seed);
  Anneal(&state, floor_bytes, Available(limits), &random, limits);
  return {state.order(), state.Peak()};
}

}  // namespace neap::schedule
