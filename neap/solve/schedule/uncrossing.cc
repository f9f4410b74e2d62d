// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/uncrossing.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "neap/base/work.h"
#include "neap/solve/schedule/closure.h"

namespace neap::schedule {
namespace {

constexpr std::int32_t kRanges[] = {1'000, 8'000, 64'000, 512'000'000};

class Uncrossing {
 public:
  Uncrossing(OrderState* state, WindowMaker* maker, FlatCut* cut, std::int64_t floor_bytes,
             const Limits& limits)
      : state_(*state), maker_(*maker), cut_(*cut), floor_(floor_bytes), limits_(limits) {}

  bool Run() {
    bool any = false;
    while (state_.Peak() > floor_ && !IsOver(limits_) && Step()) any = true;
    return any;
  }

 private:
  bool Step() {
    const std::int32_t peak_step = state_.PeakStep();
    std::int32_t reached = 0;
    for (const std::int32_t range : kRanges) {
      begin_ = std::max(peak_step - range / 2, 0);
      end_ = std::min<std::int32_t>(begin_ + range, state_.size());
      begin_ = std::max(end_ - range, 0);
      if (end_ - begin_ == reached || IsOver(limits_)) return false;
      reached = end_ - begin_;
      const OpIndex op = state_.OpAt(peak_step);
      if (cut_.LeastHillBetween(op, state_, begin_, end_) >= state_.Peak()) continue;
      for (const auto extreme : {FlatCut::Extreme::kSmallest, FlatCut::Extreme::kLargest}) {
        cut_.FindBefore(extreme);
        if (Try(op)) return true;
      }
    }
    return false;
  }

  bool Try(OpIndex op) {
    const auto& order = state_.order();
    const std::vector<OpIndex> old(order.begin() + begin_, order.begin() + end_);
    std::vector<OpIndex> ops;
    for (const OpIndex other : old) {
      if (cut_.RunsBefore(other)) ops.push_back(other);
    }
    ops.push_back(op);
    for (const OpIndex other : old) {
      if (!cut_.RunsBefore(other) && other != op) ops.push_back(other);
    }
    const std::int64_t peak = state_.Peak();
    const std::int64_t before = Measure(peak);
    state_.Replace(begin_, ops);
    CloseRange();
    if (state_.Peak() <= peak && Measure(peak) < before) return true;
    state_.Replace(begin_, old);
    return false;
  }

  void CloseRange() {
    const Window window = maker_.Make(state_, begin_, end_);
    const FlatProblem flat(window.problem);
    RankedOrder start;
    start.order.resize(window.ops.size());
    std::iota(start.order.begin(), start.order.end(), 0);
    for (std::int32_t step = begin_; step < end_; ++step) {
      start.peak_bytes = std::max(start.peak_bytes, state_.Hill(step));
    }
    const RankedOrder closed = Close(flat, std::move(start), limits_);
    std::vector<OpIndex> ops;
    ops.reserve(closed.order.size());
    for (const OpIndex at : closed.order) ops.push_back(window.ops[At(at)]);
    state_.Replace(begin_, ops);
  }

  // Of the part of the hills of the range above 93 % of `peak`, in 2^-8 of the rest.
  std::int64_t Measure(std::int64_t peak) const {
    const std::int64_t base = peak / 100 * 93;
    int shift = 0;
    while (((peak - base) >> shift) >= 256) ++shift;
    std::int64_t sum = 0;
    for (std::int32_t step = begin_; step < end_; ++step) {
      const std::int64_t hill = state_.Hill(step);
      if (hill <= base) continue;
      const std::int64_t height = std::min<std::int64_t>((hill - base) >> shift, 512);
      sum += height * height * height * height;
    }
    return sum;
  }

  OrderState& state_;
  WindowMaker& maker_;
  FlatCut& cut_;
  std::int64_t floor_;
  const Limits& limits_;
  std::int32_t begin_ = 0;
  std::int32_t end_ = 0;
};

}  // namespace

bool Uncross(OrderState* state, WindowMaker* maker, FlatCut* cut, std::int64_t floor_bytes,
             const Limits& limits) {
  return Uncrossing(state, maker, cut, floor_bytes, limits).Run();
}

}  // namespace neap::schedule
