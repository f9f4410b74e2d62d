// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/order_state.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace neap::schedule {

OrderState::OrderState(const FlatProblem& flat, std::vector<OpIndex> order)
    : flat_(flat), order_(std::move(order)), place_(order_.size(), 0) {
  const std::int32_t steps = size();
  const std::size_t buffers = flat.problem().buffers.size();
  bytes_.reserve(buffers);
  first_.reserve(buffers);
  last_.reserve(buffers);
  std::int64_t live = 0;
  for (const Buffer& buffer : flat.problem().buffers) {
    bytes_.push_back(buffer.bytes);
    first_.push_back(buffer.live_at_start ? kOutside : kNone);
    last_.push_back(buffer.live_at_end ? kOutside : kNone);
    if (buffer.live_at_start && (buffer.live_at_end || !buffer.users.empty())) live += buffer.bytes;
  }
  live_after_.assign(order_.size() + 1, live);
  while (leaves_ < order_.size()) leaves_ *= 2;
  tree_.assign(2 * leaves_, std::numeric_limits<std::int64_t>::min());
  Measure(0, steps);
}

void OrderState::Replace(std::int32_t begin, std::span<const OpIndex> ops) {
  const std::int32_t end = begin + static_cast<std::int32_t>(ops.size());
  for (const OpIndex op : ops) {
    for (const BufferIndex buffer : flat_.BuffersOf(op)) {
      if (First(buffer) >= begin) first_[At(buffer)] = kNone;
      if (Last(buffer) < end) last_[At(buffer)] = kNone;
    }
  }
  std::copy(ops.begin(), ops.end(), order_.begin() + begin);
  Measure(begin, end);
}

std::int64_t OrderState::Shared(OpIndex op, std::int32_t step) const {
  if (const InPlace* pair = flat_.InPlaceOf(op)) {
    const bool over = Last(pair->input) == step && First(pair->output) == step;
    return over ? bytes_[At(pair->output)] : 0;
  }
  const TakeOver* part = flat_.TakeOverOf(op);
  if (part == nullptr) return 0;
  std::int64_t freed = 0;
  std::int64_t written = 0;
  for (const BufferIndex input : part->inputs) {
    if (Last(input) == step) freed += bytes_[At(input)];
  }
  for (const BufferIndex output : part->outputs) written += bytes_[At(output)];
  return std::min(freed, written);
}

// Everything of steps [begin, end), where the buffers that begin or end there have been reset.
void OrderState::Measure(std::int32_t begin, std::int32_t end) {
  for (std::int32_t step = begin; step < end; ++step) {
    const OpIndex op = order_[At(step)];
    place_[At(op)] = step;
    for (const BufferIndex buffer : flat_.BuffersOf(op)) {
      if (First(buffer) > step) first_[At(buffer)] = op;
      if (Last(buffer) < step) last_[At(buffer)] = op;
    }
  }
  std::int64_t live = live_after_[At(begin)];
  for (std::int32_t step = begin; step < end; ++step) {
    const OpIndex op = order_[At(step)];
    std::int64_t freed = 0;
    for (const BufferIndex buffer : flat_.BuffersOf(op)) {
      if (first_[At(buffer)] == op) live += bytes_[At(buffer)];
      if (last_[At(buffer)] == op) freed += bytes_[At(buffer)];
    }
    std::int64_t hill = live + flat_.Scratch(op);
    if (flat_.Shares(op)) hill -= Shared(op, step);
    tree_[leaves_ + At(step)] = hill;
    live -= freed;
    live_after_[At(step + 1)] = live;
  }
  if (begin < end) UpdateTree(leaves_ + At(begin), leaves_ + At(end - 1));
}

void OrderState::UpdateTree(std::size_t begin, std::size_t end) {
  while (begin > 1) {
    begin /= 2;
    end /= 2;
    for (std::size_t node = begin; node <= end; ++node) {
      tree_[node] = std::max(tree_[2 * node], tree_[2 * node + 1]);
    }
  }
}

std::int32_t OrderState::PeakStep() const {
  std::size_t node = 1;
  while (node < leaves_) node = tree_[2 * node] == tree_[1] ? 2 * node : 2 * node + 1;
  return static_cast<std::int32_t>(node - leaves_);
}

std::int32_t OrderState::RandomStepAbove(std::int64_t bytes, Random* random) const {
  std::uint64_t bits = random->Next();
  std::size_t node = 1;
  while (node < leaves_) {
    const bool left = tree_[2 * node] > bytes;
    const bool right = tree_[2 * node + 1] > bytes;
    node = 2 * node + ((left && right) ? bits & 1U : right ? 1U : 0U);
    bits >>= 1U;
  }
  return static_cast<std::int32_t>(node - leaves_);
}

}  // namespace neap::schedule
