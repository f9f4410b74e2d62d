// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/edges.h"

#include <tuple>

namespace neap::stream {

bool Edges::Beats(const Edge& a, const Edge& b) const {
  if (a.bytes > b.bytes || CostOf(a) > CostOf(b)) return false;
  return a.bytes < b.bytes || CostOf(a) < CostOf(b) || OtherCostOf(a) <= OtherCostOf(b);
}

bool Edges::Keep(Edge edge) {
  auto& list = by_first_[static_cast<std::size_t>(edge.choice.first)];
  const int last = edge.choice.last;
  for (const Edge& other : list) {
    if (other.choice.last == last && Beats(other, edge)) return false;
  }
  std::erase_if(list,
                [&](const Edge& other) { return other.choice.last == last && Beats(edge, other); });
  list.push_back(std::move(edge));
  return true;
}

std::pair<std::int64_t, std::int64_t> Edges::ShortestWithin(std::int64_t most, Ties ties) {
  const std::size_t count = by_first_.size() + 1;
  costs_.assign(count, kInfinite);
  peaks_.assign(count, 0);
  others_.assign(count, 0);
  from_.assign(count, nullptr);
  costs_[0] = 0;
  for (std::size_t at = 0; at + 1 < count; ++at) {
    if (costs_[at] >= kInfinite) continue;
    for (const Edge& edge : by_first_[at]) {
      if (edge.bytes > most) continue;
      const auto to = static_cast<std::size_t>(edge.choice.last);
      const std::int64_t cost = costs_[at] + CostOf(edge);
      const std::int64_t peak = std::max(peaks_[at], edge.bytes);
      const std::int64_t other = others_[at] + (ties == Ties::kOtherCost ? OtherCostOf(edge) : 1);
      if (std::tie(cost, peak, other) >= std::tie(costs_[to], peaks_[to], others_[to])) continue;
      costs_[to] = cost;
      peaks_[to] = peak;
      others_[to] = other;
      from_[to] = &edge;
    }
  }
  return {costs_.back(), peaks_.back()};
}

std::vector<const Edge*> Edges::Path() const {
  std::vector<const Edge*> path;
  for (std::size_t at = by_first_.size(); at > 0;) {
    path.push_back(from_[at]);
    at = static_cast<std::size_t>(path.back()->choice.first);
  }
  return path;
}

Around Edges::FindAround() const {
  const std::size_t count = by_first_.size() + 1;
  Around around;
  around.before.assign(count, kInfinite);
  around.behind.assign(count, kInfinite);
  around.before[0] = 0;
  around.behind.back() = 0;
  for (std::size_t at = 0; at + 1 < count; ++at) {
    for (const Edge& edge : by_first_[at]) {
      auto& to = around.before[static_cast<std::size_t>(edge.choice.last)];
      to = std::min(to, std::max(around.before[at], edge.bytes));
    }
  }
  for (std::size_t at = count - 1; at-- > 0;) {
    for (const Edge& edge : by_first_[at]) {
      const std::int64_t rest = around.behind[static_cast<std::size_t>(edge.choice.last)];
      around.behind[at] = std::min(around.behind[at], std::max(rest, edge.bytes));
    }
  }
  return around;
}

}  // namespace neap::stream
