// SPDX-License-Identifier: Apache-2.0
//
// One operator of an order that moves past others. Private to neap/schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/solve/schedule/order_state.h"

namespace neap::schedule {

// The hills of the steps that an operator passes, and its own, for every place up to some distance,
// without moving it: the difference is a step function of the distance, with a few steps for every
// buffer of the operator. Only for operators that share no memory, and whose buffers have no user
// that does.
class Passage {
 public:
  // `state` outlives this.
  explicit Passage(OrderState* state) : state_(*state) {}

  // The operator at step `from`, towards later steps or earlier ones, by up to `most` steps.
  // O(buffers of the operator + users of those buffers of which it is the first or the last user).
  void Begin(std::int32_t from, bool later, std::int32_t most);

  // From the step next to `from` on: the hill of that step and by how much it changes when the
  // operator passes it, and the hill of the operator directly behind it.
  struct Place {
    std::int64_t hill = 0;
    std::int64_t change = 0;
    std::int64_t own = 0;
  };
  // Calls visit(distance, place) for the distances 1 to `most` of Begin(), all of which are in the
  // order, until it returns false.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    const std::int32_t most = most_;
    Place place;
    std::int64_t own = scratch_;
    std::size_t next = 0;
    std::int32_t until = 0;
    const std::int64_t* hills = state_.tree_.data() + state_.leaves_;
    for (std::int32_t distance = 1; distance <= most; ++distance) {
      if (distance >= until) {
        for (; next < events_.size() && events_[next].distance <= distance; ++next) {
          place.change += events_[next].hill;
          own += events_[next].own;
        }
        until = next < events_.size() ? events_[next].distance : most + 1;
      }
      const std::int32_t step = later_ ? from_ + distance : from_ - distance;
      place.hill = hills[At(step)];
      place.own = state_.LiveAfter(later_ ? step : step - 1) + own;
      if (!visit(distance, place)) return;
    }
  }

  // Moves the operator by `distance`, at most that of Begin(), with no precedence in between.
  // O(distance + log steps).
  void Move(std::int32_t distance);

 private:
  // Changes from a distance on.
  struct Event {
    std::int32_t distance = 0;
    std::int64_t hill = 0;  // of the steps passed
    std::int64_t live = 0;  // after the steps passed
    std::int64_t own = 0;   // of the operator's hill
  };
  // A buffer of the operator, and its first and last other user: operators and steps, in the terms
  // of OrderState.
  struct Use {
    BufferIndex buffer = 0;
    OpIndex first_op = 0;
    OpIndex last_op = 0;
    std::int32_t first = 0;
    std::int32_t last = 0;
  };
  Use UseOf(BufferIndex buffer) const;
  void Add(std::int32_t distance, std::int64_t hill, std::int64_t live, std::int64_t own);
  void AddEvents(const Use& use);
  void MoveUses(std::int32_t to);

  OrderState& state_;
  std::int32_t from_ = 0;
  bool later_ = false;
  std::int32_t most_ = 0;
  OpIndex op_ = 0;
  std::int64_t scratch_ = 0;
  std::vector<Event> events_;  // by distance, as far as most_
  std::vector<Use> uses_;
};

}  // namespace neap::schedule
