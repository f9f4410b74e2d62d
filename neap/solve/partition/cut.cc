// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/cut.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "neap/base/index.h"
#include "neap/solve/partition/grouped.h"
#include "neap/solve/partition/load.h"

namespace neap::partition {
namespace {

// The dynamic program over an order of a problem without groups.
class Cutter {
 public:
  Cutter(const Problem& problem, std::span<const OpIndex> order)
      : order_(order),
        stages_(static_cast<std::size_t>(problem.num_stages)),
        lists_(problem),
        load_(problem, lists_) {}

  // First position of every stage, then the number of operators; empty: it cannot be done.
  std::vector<std::size_t> Run() {
    std::vector<std::size_t> greedy = Greedy();
    bound_ = greedy.empty() ? kNever : upper_;
    std::vector<std::size_t> better = Exact();
    if (better.empty()) better = std::move(greedy);
    return better;
  }
  std::int64_t cost() const { return upper_; }

  // The same where all stages share the link, from `starts` with the lowest bottleneck: alternately
  // tests for any better cut, and for one in the lower half of the open range.
  std::vector<std::size_t> RunShared(std::vector<std::size_t> starts) {
    std::int64_t low = upper_;
    upper_ = std::max(upper_, LinkOf(starts));
    min_link_ = true;
    for (bool halve = false; low < upper_; halve = !halve) {
      const std::int64_t upper = upper_;
      bound_ = halve ? upper - (upper - low) / 2 : upper;
      std::vector<std::size_t> better = Exact();
      if (better.empty()) {
        low = bound_;
        continue;
      }
      upper_ = LinkOf(better);
      for (std::size_t i = 0; i + 1 < better.size(); ++i) {
        upper_ = std::max(upper_, CostOf(better[i], better[i + 1]));
      }
      starts = std::move(better);
    }
    return starts;
  }

 private:
  // The longest part from `first` that costs at most `most`; its end. A longer part may be cheaper.
  std::size_t LongestPart(std::size_t first, std::int64_t most) {
    std::size_t end = first;
    std::size_t last = first;
    for (; last < order_.size(); ++last) {
      load_.Add(order_[last]);
      if (!load_.allowed() || load_.floor() > most) {
        ++last;
        break;
      }
      if (load_.cost() <= most && !load_.forbidden()) end = last + 1;
    }
    for (std::size_t i = last; i > first; --i) load_.Remove(order_[i - 1]);
    return end;
  }

  bool Parts(std::int64_t most, std::vector<std::size_t>* starts) {
    starts->assign(1, 0);
    while (starts->back() < order_.size() && starts->size() <= stages_) {
      const std::size_t end = LongestPart(starts->back(), most);
      if (end == starts->back()) return false;
      starts->push_back(end);
    }
    return starts->back() == order_.size();
  }

  // Bisection of the cost with longest parts: good, not always the best.
  std::vector<std::size_t> Greedy() {
    std::vector<std::size_t> best;
    std::vector<std::size_t> starts;
    if (!Parts(kNever - 1, &starts)) return best;
    std::int64_t high = 0;
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      high = std::max(high, CostOf(starts[i], starts[i + 1]));
    }
    best = starts;
    std::int64_t low = 0;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (Parts(middle, &starts)) {
        high = middle;
        best = starts;
      } else {
        low = middle + 1;
      }
    }
    upper_ = high;
    return best;
  }

  std::int64_t CostOf(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) load_.Add(order_[i]);
    const std::int64_t cost = load_.cost();
    for (std::size_t i = end; i > first; --i) load_.Remove(order_[i - 1]);
    return cost;
  }

  std::int64_t LinkOf(const std::vector<std::size_t>& starts) {
    std::int64_t sum = 0;
    for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
      for (std::size_t i = starts[s]; i < starts[s + 1]; ++i) load_.Add(order_[i]);
      sum += load_.link_cost();
      for (std::size_t i = starts[s + 1]; i > starts[s]; --i) load_.Remove(order_[i - 1]);
    }
    return sum;
  }

  // Only cuts cheaper than bound_: the cheapest or, for a shared link, the one with the lowest link
  // cost.
  std::vector<std::size_t> Exact() {
    const std::size_t size = order_.size();
    // best[position * (stages + 1) + s]: the first s stages contain the operators before
    // `position`.
    const std::size_t width = stages_ + 1;
    std::vector<std::int64_t> best((size + 1) * width, kNever);
    std::vector<std::size_t> from((size + 1) * width, 0);
    best[0] = 0;
    for (std::size_t first = 0; first < size; ++first) {
      const std::int64_t* const here = &best[first * width];
      if (*std::min_element(here, here + stages_) >= bound_) continue;
      std::size_t end = first;
      while (end < size) {
        load_.Add(order_[end++]);
        if (!load_.allowed() || load_.floor() >= bound_) break;
        const std::int64_t cost = load_.cost();
        if (cost >= bound_ || load_.forbidden()) continue;
        for (std::size_t s = 0; s < stages_; ++s) {
          if (here[s] >= bound_) continue;
          const std::int64_t whole =
              min_link_ ? here[s] + load_.link_cost() : std::max(here[s], cost);
          std::int64_t& known = best[end * width + s + 1];
          if (whole >= bound_ || whole >= known) continue;
          known = whole;
          from[end * width + s + 1] = first;
        }
      }
      for (std::size_t i = end; i > first; --i) load_.Remove(order_[i - 1]);
    }
    return Traced(best, from);
  }

  std::vector<std::size_t> Traced(const std::vector<std::int64_t>& best,
                                  const std::vector<std::size_t>& from) {
    const std::size_t size = order_.size();
    const std::size_t width = stages_ + 1;
    const auto end = best.begin() + static_cast<std::ptrdiff_t>(size * width);
    const auto least = std::min_element(end, end + static_cast<std::ptrdiff_t>(width));
    std::vector<std::size_t> starts;
    if (size == 0 || *least >= bound_) return starts;
    upper_ = *least;
    std::size_t position = size;
    for (auto s = static_cast<std::size_t>(least - end); s > 0; --s) {
      starts.push_back(position);
      position = from[position * width + s];
    }
    starts.push_back(0);
    std::reverse(starts.begin(), starts.end());
    return starts;
  }

  std::span<const OpIndex> order_;
  std::size_t stages_;
  ByOperator lists_;
  StageLoad load_;
  std::int64_t bound_ = kNever;
  std::int64_t upper_ = 0;
  bool min_link_ = false;
};

std::optional<Assignment> CutWithoutGroups(const Problem& problem, std::span<const OpIndex> order) {
  Assignment assignment;
  assignment.stage_of.assign(order.size(), 0);
  if (order.empty()) return assignment;
  Cutter cutter(problem, order);
  std::vector<std::size_t> starts = cutter.Run();
  if (starts.empty()) return std::nullopt;
  if (problem.machine.shared_link) starts = cutter.RunShared(std::move(starts));
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    for (std::size_t i = starts[s]; i < starts[s + 1]; ++i) {
      assignment.stage_of[At(order[i])] = static_cast<Stage>(s);
    }
  }
  assignment.bottleneck = cutter.cost();
  return assignment;
}

}  // namespace

std::optional<Assignment> CutOrder(const Problem& problem, std::span<const OpIndex> order) {
  if (problem.together.empty()) return CutWithoutGroups(problem, order);
  const Grouped grouped(problem);
  const auto cut = CutWithoutGroups(grouped.problem(), grouped.OrderOf(order));
  if (!cut) return std::nullopt;
  return grouped.Expand(cut->stage_of);
}

Assignment RepairStages(const Problem& problem, std::span<const Stage> predicted) {
  std::vector<Stage> clamped(predicted.begin(), predicted.end());
  for (Stage& stage : clamped) stage = std::clamp(stage, Stage{0}, problem.num_stages - 1);
  const Grouped grouped(problem);
  std::vector<Stage> stages = grouped.StagesOf(clamped);
  // Groups are numbered in a topological order.
  const Relations relations(grouped.problem());
  for (std::size_t group = 0; group < stages.size(); ++group) {
    for (const OpIndex before : relations.before[group]) {
      stages[group] = std::max(stages[group], stages[At(before)]);
    }
  }
  return grouped.Expand(stages);
}

}  // namespace neap::partition
