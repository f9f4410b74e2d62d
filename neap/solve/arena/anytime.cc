// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/anytime.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace neap::arena {

AnytimeSearch::AnytimeSearch(std::unique_ptr<CapacitySearch> search,
                             std::vector<std::int64_t> bytes, std::int64_t upper_bytes,
                             std::uint64_t seed)
    : search_(std::move(search)),
      bytes_(std::move(bytes)),
      random_(seed),
      upper_bytes_(upper_bytes) {}

bool AnytimeSearch::Round(std::int64_t nodes, std::optional<std::int64_t> goal_bytes,
                          std::int64_t& lower_bytes, Budget& budget) {
  const std::int64_t before = upper_bytes_;
  const std::int64_t step = search_->step_bytes();
  // Below this the bisection does not look.
  std::int64_t unlikely = goal_bytes.value_or(lower_bytes) / step * step;
  if (bound_tried_ != unlikely) {
    bound_tried_ = unlikely;
    restarts_at_bound_ = 0;
  }
  Attempt(unlikely, nodes, restarts_at_bound_, lower_bytes, budget);
  if (goal_bytes) return upper_bytes_ < before;
  unlikely += step;
  while (lower_bytes < upper_bytes_ && unlikely < upper_bytes_ && !budget.Ended()) {
    const std::int64_t half = (upper_bytes_ - step - unlikely) / 2 / step * step;
    const std::int64_t capacity = unlikely + half;
    std::int64_t restarts = 0;
    if (Attempt(capacity, nodes / 4 + 1, restarts, lower_bytes, budget) != Verdict::kPlaced) {
      unlikely = capacity + step;
    }
  }
  return upper_bytes_ < before;
}

Verdict AnytimeSearch::Attempt(std::int64_t capacity_bytes, std::int64_t nodes,
                               std::int64_t& restarts, std::int64_t& lower_bytes, Budget& budget) {
  const Verdict verdict = search_->Attempt(capacity_bytes, nodes, restarts, random_, budget);
  if (verdict == Verdict::kPlaced) Keep();
  if (search_->completed_bytes() < upper_bytes_) {
    upper_bytes_ = search_->completed_bytes();
    offsets_ = search_->completed_offsets();
  }
  if (verdict == Verdict::kImpossible) {
    lower_bytes = std::max(lower_bytes, capacity_bytes + search_->step_bytes());
  }
  return verdict;
}

void AnytimeSearch::Keep() {
  offsets_.resize(bytes_.size());
  upper_bytes_ = 0;
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    offsets_[i] = search_->OffsetOf(i);
    upper_bytes_ = std::max(upper_bytes_, offsets_[i] + bytes_[i]);
  }
}

}  // namespace neap::arena
