// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/rematerialise/rematerialise.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "neap/base/check.h"
#include "neap/base/work.h"
#include "neap/solve/rematerialise/bound.h"
#include "neap/solve/rematerialise/chain.h"
#include "neap/solve/rematerialise/check.h"
#include "neap/solve/rematerialise/exact.h"
#include "neap/solve/rematerialise/moves.h"
#include "neap/solve/rematerialise/trace.h"

namespace neap::rematerialise {
namespace {

// Bounds that are tried where the search for points ends without a proof.
constexpr int kBoundQuestions = 6;

class Solver {
 public:
  Solver(const Problem& problem, std::int64_t max_cost, const Effort& effort)
      : problem_(problem), max_cost_(max_cost), effort_(effort), base_cost_(BaseCost(problem)) {}

  Outcome Run(std::span<const OpIndex> start) {
    Offer({start.begin(), start.end()}, true);
    floor_ = LowerBound(problem_);
    bound_ = floor_;
    std::vector<std::vector<OpIndex>> chain = ChainSequences(Access(problem_), start);
    std::erase_if(chain, [&](const std::vector<OpIndex>& sequence) {
      return !ReplaySequence(problem_, sequence);  // a precedence is against it
    });
    for (const std::vector<OpIndex>& sequence : chain) Offer(sequence, false);
    // The points found do not depend on max_cost, which only ends the exact search early: a
    // larger one keeps every point of a smaller one.
    outcome_.moves =
        SearchByMoves(problem_, start, chain, floor_, effort_.max_moves, effort_.limits,
                      [&](const std::vector<OpIndex>& sequence) { Offer(sequence, false); });
    if (effort_.max_states > 0 && ExactSearch::Accepts(problem_)) SearchExactly();
    Collect();
    outcome_.interrupted = effort_.limits.Interrupted();
    return std::move(outcome_);
  }

 private:
  void Offer(std::vector<OpIndex> sequence, bool least_cost) {
    std::string why;
    auto replay = ReplaySequence(problem_, sequence, &why);
    NEAP_CHECK(replay, "a search returns an invalid sequence: " + why);
    const auto known = found_.find(replay->cost);
    if (known != found_.end() && (known->second.peak_bytes < replay->peak_bytes ||
                                  (known->second.peak_bytes == replay->peak_bytes &&
                                   (known->second.least_cost || !least_cost)))) {
      return;
    }
    found_[replay->cost] = {std::move(sequence), replay->peak_bytes, replay->cost, least_cost};
  }

  // From the peak of the start downwards: each answer is the cheapest one within its bound, and the
  // next question is about a smaller peak.
  void SearchExactly() {
    const ExactSearch search(problem_);
    const std::int64_t max_extra = max_cost_ - base_cost_;
    std::int64_t peak = found_.begin()->second.peak_bytes;  // at the base cost
    std::int64_t states = 0;
    while (peak > floor_) {
      // A part of the states is for the bound.
      const Answer answer =
          search.Find(peak - 1, max_extra, effort_.max_states / 4 * 3, effort_.limits, &states);
      if (answer.kind == Answer::Kind::kNone) bound_ = peak;
      if (answer.kind == Answer::Kind::kLimit) RaiseBound(search, peak, max_extra, &states);
      if (answer.kind != Answer::Kind::kFound) break;
      const auto replay = ReplaySequence(problem_, answer.sequence);
      NEAP_CHECK(replay && replay->peak_bytes < peak, "the exact search misses its bound");
      peak = replay->peak_bytes;
      Offer(answer.sequence, true);
    }
    outcome_.states = states;
  }

  void RaiseBound(const ExactSearch& search, std::int64_t peak, std::int64_t max_extra,
                  std::int64_t* states) {
    std::int64_t high = peak;
    for (const auto& [cost, point] : found_) {
      if (cost <= max_cost_) high = std::min(high, point.peak_bytes);
    }
    const std::int64_t share = effort_.max_states / 4 / kBoundQuestions;
    for (int question = 0; question < kBoundQuestions && bound_ < high; ++question) {
      // First whether the best point is optimal.
      const std::int64_t target = question == 0 ? high - 1 : bound_ + (high - 1 - bound_) / 2;
      const Answer answer = search.Find(target, max_extra, *states + share, effort_.limits, states);
      if (answer.kind == Answer::Kind::kNone) {
        bound_ = target + 1;
      } else {
        high = target;
      }
    }
  }

  void Collect() {
    for (auto& [cost, point] : found_) {
      if (cost > max_cost_) break;
      const bool lower =
          outcome_.points.empty() || point.peak_bytes < outcome_.points.back().peak_bytes;
      if (lower) outcome_.points.push_back(std::move(point));
    }
    outcome_.lower_bound_bytes = bound_;
  }

  const Problem& problem_;
  std::int64_t max_cost_;
  const Effort& effort_;
  std::int64_t base_cost_;
  std::int64_t floor_ = 0;
  std::int64_t bound_ = 0;
  std::map<std::int64_t, Point> found_;  // by cost: the lowest of each
  Outcome outcome_;
};

}  // namespace

Outcome Solve(const Problem& problem, std::span<const OpIndex> start, std::int64_t max_cost,
              const Effort& effort) {
  return Solver(problem, std::max(max_cost, BaseCost(problem)), effort).Run(start);
}

}  // namespace neap::rematerialise
