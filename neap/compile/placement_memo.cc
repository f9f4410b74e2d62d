// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/placement_memo.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "neap/base/work.h"

namespace neap::compile {

std::shared_ptr<PlacementMemo> MakePlacementMemo() { return std::make_shared<PlacementMemo>(); }

PlacementMemo::Key PlacementMemo::KeyOf(const arena::Problem& problem) {
  Key key = {static_cast<std::int64_t>(problem.buffers.size())};
  for (const arena::Buffer& buffer : problem.buffers) {
    key.insert(key.end(), {buffer.bytes, buffer.first, buffer.last, buffer.alignment,
                           buffer.fixed_offset.value_or(-1)});
  }
  for (const arena::PairRule& rule : problem.pairs) {
    key.insert(key.end(), {rule.a, rule.b, rule.low, rule.high});
  }
  return key;
}

arena::Outcome PlacementMemo::Solve(const arena::Problem& problem,
                                    const arena::SolveOptions& options) {
  constexpr std::size_t kMaxWords = 8'000'000;
  const Limits& limits = options.limits;
  const bool bounded_by_states =
      limits.max_states > 0 && limits.max_seconds == 0 && limits.stop == nullptr;
  if (!bounded_by_states) return arena::Solve(problem, options);
  const Effort effort = {limits.max_states, options.seed, options.goal_bytes.has_value(),
                         options.goal_bytes.value_or(0)};
  Key key = KeyOf(problem);
  auto known = known_.find(key);
  if (known != known_.end()) {
    const auto asked = known->second.states.find(effort);
    if (asked != known->second.states.end() || known->second.best.optimal()) {
      ++hits_;
      arena::Outcome outcome = known->second.best;
      outcome.states = asked != known->second.states.end() ? asked->second : 0;
      return outcome;
    }
  }
  arena::Outcome outcome = arena::Solve(problem, options);
  // An interrupted result is not the result of that effort.
  if (IsOver(limits)) return outcome;
  if (known == known_.end()) {
    const std::size_t words = key.size() + outcome.placement.offsets.size();
    if (words_ + words > kMaxWords) return outcome;
    words_ += words;
    known = known_.emplace(std::move(key), Known{outcome, {}}).first;
  }
  known->second.states.emplace(effort, outcome.states);
  arena::Outcome& best = known->second.best;
  const std::int64_t bound = std::max(best.lower_bound_bytes, outcome.lower_bound_bytes);
  if (outcome.placement.height_bytes < best.placement.height_bytes) {
    best.placement = std::move(outcome.placement);
  }
  best.lower_bound_bytes = std::min(bound, best.placement.height_bytes);
  best.states = outcome.states;
  return best;
}

}  // namespace neap::compile
