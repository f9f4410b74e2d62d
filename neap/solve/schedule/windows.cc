// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/windows.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/base/work.h"
#include "neap/solve/schedule/question.h"

namespace neap::schedule {

WindowMaker::WindowMaker(const FlatProblem& flat)
    : flat_(flat), op_in_(At(flat.num_ops()), -1), buffer_in_(flat.problem().buffers.size(), -1) {}

BufferIndex WindowMaker::Add(BufferIndex buffer, bool at_start, bool at_end) {
  BufferIndex& index = buffer_in_[At(buffer)];
  if (index >= 0) return index;
  index = static_cast<BufferIndex>(problem_.buffers.size());
  added_.push_back(buffer);
  problem_.buffers.push_back({flat_.BufferAt(buffer).bytes, {}, at_start, at_end});
  return index;
}

// A buffer that others use later is not freed in the window, nor does one begin that others have
// used before.
void WindowMaker::AddShares(const Window& window) {
  for (const OpIndex op : window.ops) {
    if (!flat_.Shares(op)) continue;
    const auto dies = [&](BufferIndex buffer) {
      return !problem_.buffers[At(buffer_in_[At(buffer)])].live_at_end;
    };
    if (const InPlace* pair = flat_.InPlaceOf(op)) {
      const BufferIndex output = buffer_in_[At(pair->output)];
      if (!dies(pair->input) || problem_.buffers[At(output)].live_at_start) continue;
      problem_.in_place.push_back({op_in_[At(op)], buffer_in_[At(pair->input)], output});
      continue;
    }
    const TakeOver& part = *flat_.TakeOverOf(op);
    TakeOver inner;
    inner.op = op_in_[At(op)];
    for (const BufferIndex input : part.inputs) {
      if (dies(input)) inner.inputs.push_back(buffer_in_[At(input)]);
    }
    for (const BufferIndex output : part.outputs) {
      inner.outputs.push_back(buffer_in_[At(output)]);
    }
    std::sort(inner.inputs.begin(), inner.inputs.end());
    std::sort(inner.outputs.begin(), inner.outputs.end());
    if (!inner.inputs.empty()) problem_.take_over.push_back(std::move(inner));
  }
}

Window WindowMaker::Make(const OrderState& state, std::int32_t begin, std::int32_t end) {
  constexpr std::int64_t kWorkOfOp = 300;
  ChargeWork((end - begin) * kWorkOfOp);
  Window window;
  problem_ = {};
  problem_.num_ops = end - begin;
  std::int64_t across = state.LiveAfter(begin - 1);
  for (std::int32_t step = begin; step < end; ++step) {
    const OpIndex op = state.OpAt(step);
    window.ops.push_back(op);
    op_in_[At(op)] = step - begin;
    if (!flat_.problem().scratch_bytes.empty()) problem_.scratch_bytes.push_back(flat_.Scratch(op));
    for (const OpIndex before : flat_.Predecessors(op)) {
      if (state.Place(before) < begin) continue;
      problem_.precedences.emplace_back(op_in_[At(before)], step - begin);
    }
    for (const BufferIndex buffer : flat_.BuffersOf(op)) {
      const bool is_new = buffer_in_[At(buffer)] < 0;
      const bool at_start = state.First(buffer) < begin;
      const BufferIndex index = Add(buffer, at_start, state.Last(buffer) >= end);
      problem_.buffers[At(index)].users.push_back(step - begin);
      if (is_new && at_start) across -= state.Bytes(buffer);
    }
  }
  AddShares(window);
  if (across > 0) problem_.buffers.push_back({across, {}, true, true});
  for (const OpIndex op : window.ops) op_in_[At(op)] = -1;
  for (const BufferIndex buffer : added_) buffer_in_[At(buffer)] = -1;
  added_.clear();
  window.problem = std::move(problem_);
  return window;
}

namespace {

class WindowSearch {
 public:
  WindowSearch(OrderState* state, WindowMaker* maker, std::int64_t floor_bytes,
               const Limits& limits)
      : state_(*state),
        maker_(*maker),
        floor_(floor_bytes),
        limits_(limits),
        level_(static_cast<std::size_t>(state->size()), 0) {}

  bool Run() {
    const std::int64_t before = state_.Peak();
    while (state_.Peak() > floor_ && !IsOver(limits_)) {
      const std::int32_t step = state_.PeakStep();
      unsigned char& level = level_[At(state_.OpAt(step))];
      if (level == kLevels) break;
      if (!Lower(step, kSizes[level / kParts], level % kParts)) ++level;
    }
    return state_.Peak() < before;
  }

 private:
  static constexpr std::int32_t kSizes[] = {48, 96, 192, 384, 768};
  static constexpr int kParts = 3;  // the step in the middle, early, late
  static constexpr unsigned char kLevels = static_cast<unsigned char>(std::size(kSizes) * kParts);
  static constexpr std::int64_t kStates = 1'000;

  // The end of a step near `step` after which the fewest bytes are live.
  std::int32_t Snapped(std::int32_t step, std::int32_t reach, std::int32_t low,
                       std::int32_t high) const {
    std::int32_t best = std::clamp(step, low, high);
    const std::int32_t last = std::min(step + reach, high);
    for (std::int32_t at = std::max(step - reach, low); at <= last; ++at) {
      if (state_.LiveAfter(at - 1) < state_.LiveAfter(best - 1)) best = at;
    }
    return best;
  }

  bool Lower(std::int32_t peak_step, std::int32_t size, int part) {
    const std::int32_t before = part == 0 ? size / 2 : part == 1 ? size / 4 : size - size / 4;
    const std::int32_t begin = Snapped(peak_step - before, size / 8, 0, peak_step);
    const std::int32_t end =
        Snapped(peak_step - before + size, size / 8, peak_step + 1, state_.size());
    const Window window = maker_.Make(state_, begin, end);
    const std::int64_t peak = state_.Peak();
    const std::int64_t deep = std::max(peak - (peak - floor_) / 4, floor_) + 1;
    return (deep < peak && LowerTo(window, begin, deep)) || LowerTo(window, begin, peak);
  }

  bool LowerTo(const Window& window, std::int32_t begin, std::int64_t below) {
    Limits limits;
    limits.max_states = kStates;
    limits.deadline = limits_.deadline;
    limits.stop = limits_.stop;
    const std::int64_t before = WorkDone();
    const Outcome found = SolveBelow(window.problem, limits, below);
    // States of a hundred operators cost about twice as much as counted.
    ChargeWork(WorkDone() - before);
    if (found.peak_bytes >= state_.Peak()) return false;
    std::vector<OpIndex> ops;
    ops.reserve(found.order.size());
    for (const OpIndex op : found.order) ops.push_back(window.ops[At(op)]);
    state_.Replace(begin, ops);
    return true;
  }

  OrderState& state_;
  WindowMaker& maker_;
  std::int64_t floor_;
  const Limits& limits_;
  std::vector<unsigned char> level_;  // per operator: windows around it that have failed
};

}  // namespace

bool LowerByWindows(OrderState* state, WindowMaker* maker, std::int64_t floor_bytes,
                    const Limits& limits) {
  return WindowSearch(state, maker, floor_bytes, limits).Run();
}

}  // namespace neap::schedule
