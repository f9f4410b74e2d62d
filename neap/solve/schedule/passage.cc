// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/passage.h"

#include <algorithm>

#include "neap/base/work.h"

namespace neap::schedule {

Passage::Use Passage::UseOf(BufferIndex buffer) const {
  constexpr std::int64_t kWorkOfUser = 3;
  Use use{buffer, state_.first_[At(buffer)], state_.last_[At(buffer)], 0, 0};
  const bool is_first = use.first_op == op_;
  const bool is_last = use.last_op == op_;
  use.first = is_first ? state_.size() : state_.First(buffer);
  use.last = is_last ? -1 : state_.Last(buffer);
  if (!is_first && !is_last) return use;
  if (is_first) use.first_op = OrderState::kNone;
  if (is_last) use.last_op = OrderState::kNone;
  const auto& users = state_.flat_.BufferAt(buffer).users;
  ChargeWork(static_cast<std::int64_t>(users.size()) * kWorkOfUser);
  for (const OpIndex user : users) {
    if (user == op_) continue;
    const std::int32_t place = state_.Place(user);
    if (is_first && place < use.first) {
      use.first = place;
      use.first_op = user;
    }
    if (is_last && place > use.last) {
      use.last = place;
      use.last_op = user;
    }
  }
  return use;
}

void Passage::Add(std::int32_t distance, std::int64_t hill, std::int64_t live, std::int64_t own) {
  if (distance > most_) return;
  const Event event{std::max(distance, 1), hill, live, own};
  auto at = events_.end();
  while (at != events_.begin() && (at - 1)->distance > event.distance) --at;
  events_.insert(at, event);
}

// With the operator gone from `from`, a buffer that others use from `first` to `last` is live at a
// step p between, while it runs, where p >= first or p <= last: the one where the operator is
// behind p, the other where it is before. After p it is live where p >= first, or p < last.
void Passage::AddEvents(const Use& use) {
  const std::int64_t bytes = state_.Bytes(use.buffer);
  if (bytes == 0) return;
  const std::int32_t to_first = later_ ? use.first - from_ : from_ - use.first;
  const std::int32_t to_last = later_ ? use.last - from_ : from_ - use.last;
  if (later_) {
    Add(1, -bytes, -bytes, 0);
    Add(to_first, bytes, bytes, 0);
    Add(to_last, 0, bytes, bytes);
    Add(to_last + 1, bytes, 0, 0);
  } else {
    Add(1, -bytes, -bytes, 0);
    Add(to_last, bytes, 0, 0);
    Add(to_last + 1, 0, bytes, 0);
    Add(to_first, 0, 0, bytes);
    Add(to_first + 1, bytes, bytes, 0);
  }
}

void Passage::Begin(std::int32_t from, bool later, std::int32_t most) {
  from_ = from;
  later_ = later;
  most_ = most;
  op_ = state_.OpAt(from);
  scratch_ = state_.flat_.Scratch(op_);
  events_.clear();
  uses_.clear();
  for (const BufferIndex buffer : state_.flat_.BuffersOf(op_)) {
    uses_.push_back(UseOf(buffer));
    AddEvents(uses_.back());
  }
}

void Passage::Move(std::int32_t distance) {
  const std::int32_t to = later_ ? from_ + distance : from_ - distance;
  std::int64_t* hills = state_.tree_.data() + state_.leaves_;
  std::int64_t* live_after = state_.live_after_.data() + 1;
  const std::int64_t live_behind = live_after[to];
  std::int64_t own = live_after[later_ ? to : to - 1] + scratch_;
  const std::int32_t shift = later_ ? -1 : 1;
  std::int64_t hill = 0;
  std::int64_t live = 0;
  std::size_t next = 0;
  for (std::int32_t at = 1; at <= distance; ++at) {
    for (; next < events_.size() && events_[next].distance <= at; ++next) {
      hill += events_[next].hill;
      live += events_[next].live;
      own += events_[next].own;
    }
    const std::int32_t step = from_ - shift * at;
    const OpIndex passed = state_.order_[At(step)];
    state_.order_[At(step + shift)] = passed;
    state_.place_[At(passed)] = step + shift;
    hills[step + shift] = hills[step] + hill;
    live_after[step + shift] = live_after[step] + live;
  }
  state_.order_[At(to)] = op_;
  state_.place_[At(op_)] = to;
  hills[to] = own;
  if (later_) {
    live_after[to] = live_behind;
  } else {
    live_after[to] = own - scratch_;
    for (const Use& use : uses_) {
      if (use.last < to) live_after[to] -= state_.Bytes(use.buffer);
    }
  }
  MoveUses(to);
  const std::int32_t low = std::min(from_, to);
  const std::int32_t high = std::max(from_, to);
  state_.UpdateTree(state_.leaves_ + At(low), state_.leaves_ + At(high));
}

// Others at `to` or nearer have been passed.
void Passage::MoveUses(std::int32_t to) {
  for (const Use& use : uses_) {
    const bool is_first = later_ ? use.first > to : use.first >= to;
    const bool is_last = later_ ? use.last <= to : use.last < to;
    state_.first_[At(use.buffer)] = is_first ? op_ : use.first_op;
    state_.last_[At(use.buffer)] = is_last ? op_ : use.last_op;
  }
}

}  // namespace neap::schedule
