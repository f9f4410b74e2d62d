// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/decider.h"

#include <algorithm>

namespace neap::schedule {

Decider::Decider(const Instance& instance, Expander* expander, std::int64_t max_table_bytes,
                 std::int64_t commit_from)
    : instance_(instance),
      expander_(*expander),
      cuts_(instance),
      table_(instance.words(), max_table_bytes),
      state_(expander_.Start()),
      waypoint_(instance.words(), 0),
      commit_from_(commit_from) {}

bool Decider::Complete() const {
  return CountBits(state_.executed.data(), instance_.words()) == instance_.num_ops();
}

// Source: the commit theorem (exact-ordering, R1 with the repair of R3). Let A be on the stack with
// live(A) >= live(state), and let W be the largest of the cheapest downsets between A and the
// state. Then A can be completed within the budget iff W can, and the way from A restricted to W
// stays within the budget. So W takes the place of A and of everything above it.
void Decider::Commit() {
  while (depth_ > 0 && stack_[depth_ - 1].state.live >= state_.live) {
    std::size_t at = depth_ - 1;
    while (at > 0 && stack_[at - 1].state.live >= state_.live) --at;
    const Frame& ancestor = stack_[at];
    if (path_.size() > ancestor.path_end + 1) {
      const std::int64_t least =
          cuts_.LargestMinimiser(ancestor.state.executed.data(), ancestor.state.live,
                                 state_.executed.data(), waypoint_.data());
      if (waypoint_ != state_.executed) {
        const auto outside = [&](OpIndex op) { return !TestBit(waypoint_.data(), op); };
        path_.erase(std::remove_if(path_.begin() + static_cast<std::ptrdiff_t>(ancestor.path_end),
                                   path_.end(), outside),
                    path_.end());
        state_.executed = waypoint_;
        state_.live = least;
        expander_.FindReady(&state_);
        expander_.Close(&state_, budget_, &path_);
      }
    }
    depth_ = at;
  }
}

void Decider::Push() {
  if (depth_ == stack_.size()) stack_.emplace_back();
  Frame& frame = stack_[depth_++];
  frame.state = state_;
  frame.path_end = path_.size();
  frame.next = 0;
  expander_.FindMoves(frame.state, budget_, &frame.moves);
}

std::int64_t Decider::Progress() const {
  std::int64_t share = std::int64_t{1} << 30;
  std::int64_t done = 0;
  for (std::size_t at = 0; at < depth_ && share > 0; ++at) {
    const Frame& frame = stack_[at];
    const auto branches = static_cast<std::int64_t>(frame.moves.list.size());
    if (branches == 0 || frame.next == 0) break;
    done += share / branches * static_cast<std::int64_t>(frame.next - 1);
    share /= branches;
  }
  return done;
}

// The empty state, closed. kUnknown: it is on the stack, and the search may begin.
Verdict Decider::Begin(std::vector<OpIndex>* order) {
  depth_ = 0;
  since_begin_ = 0;
  path_.clear();
  state_ = expander_.Start();
  // The first operator already runs above the budget.
  if (state_.live > budget_ && instance_.num_ops() > 0) return Verdict::kInfeasible;
  expander_.Close(&state_, budget_, &path_);
  if (Complete()) {
    *order = path_;
    return Verdict::kFeasible;
  }
  if (table_.IsRefuted(state_.executed.data(), budget_)) return Verdict::kInfeasible;
  Push();
  return Verdict::kUnknown;
}

Verdict Decider::Decide(std::int64_t budget, std::int64_t max_states, Stopper* stopper,
                        std::vector<OpIndex>* order) {
  if (budget != budget_ || depth_ == 0) {
    budget_ = budget;
    const Verdict verdict = Begin(order);
    if (verdict != Verdict::kUnknown) return verdict;
  }
  std::int64_t states = 0;
  while (depth_ > 0) {
    Frame& top = stack_[depth_ - 1];
    if (top.next == top.moves.list.size()) {
      table_.Refute(top.state.executed.data(), budget);
      --depth_;
      continue;
    }
    ++since_begin_;
    if (++states > max_states || stopper->Count()) return Verdict::kUnknown;
    const Move& move = top.moves.list[top.next++];
    path_.resize(top.path_end);
    state_ = top.state;
    expander_.Apply(top.moves, move, &state_, &path_);
    expander_.Close(&state_, budget_, &path_);
    if (Complete()) break;
    if (table_.IsRefuted(state_.executed.data(), budget)) continue;
    if (since_begin_ > commit_from_) Commit();
    if (Complete()) break;
    // After a commitment the frame that made the move is gone; a refuted waypoint refutes it too.
    if (table_.IsRefuted(state_.executed.data(), budget)) continue;
    Push();
  }
  if (!Complete()) return Verdict::kInfeasible;
  depth_ = 0;
  *order = path_;
  return Verdict::kFeasible;
}

}  // namespace neap::schedule
