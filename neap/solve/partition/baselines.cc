// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/baselines.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include "neap/base/index.h"
#include "neap/solve/partition/cut.h"
#include "neap/solve/partition/grouped.h"
#include "neap/solve/partition/load.h"

namespace neap::partition {
namespace {

// Costs and parameters of one operator; parameters that several share belong to the first that uses
// them.
std::vector<std::int64_t> ParametersOf(const Problem& problem) {
  std::vector<std::int64_t> bytes = problem.parameter_bytes;
  for (const SharedParameters& shared : problem.shared) {
    if (!shared.users.empty()) bytes[At(shared.users.front())] += shared.bytes;
  }
  return bytes;
}

// First positions of stages along an order as a stage for every operator.
std::vector<Stage> StagesAlong(std::span<const OpIndex> order,
                               const std::vector<std::size_t>& starts) {
  std::vector<Stage> stage_of(order.size(), 0);
  for (std::size_t s = 0; s < starts.size(); ++s) {
    const std::size_t end = s + 1 < starts.size() ? starts[s + 1] : order.size();
    for (std::size_t i = starts[s]; i < end; ++i) {
      stage_of[At(order[i])] = static_cast<Stage>(s);
    }
  }
  return stage_of;
}

// The place of the first operator that nothing follows; 0 of no operators.
std::size_t FirstEnd(const Problem& problem, std::span<const OpIndex> order) {
  const Relations relations(problem);
  std::size_t place = 0;
  while (place + 1 < order.size() && !relations.after[At(order[place])].empty()) ++place;
  return place;
}

std::vector<std::size_t> ParameterStarts(const Problem& problem, std::span<const OpIndex> order) {
  const std::vector<std::int64_t> bytes = ParametersOf(problem);
  const std::int64_t total = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  const std::int64_t average = total / problem.num_stages + 1;
  // All that nothing follows is in the last stage.
  const std::size_t first_end = FirstEnd(problem, order);
  const std::size_t stages = std::min(At(problem.num_stages), first_end + 1);
  std::vector<std::size_t> starts = {0};
  std::size_t at = 0;
  while (starts.size() < stages) {
    const std::size_t later = stages - starts.size();
    std::int64_t taken = 0;
    const std::size_t first = at;
    while (at + later <= first_end && (at == first || taken + bytes[At(order[at])] <= average)) {
      taken += bytes[At(order[at++])];
    }
    starts.push_back(at);
  }
  return starts;
}

class Profiler {
 public:
  Profiler(const Problem& problem, std::span<const OpIndex> order)
      : order_(order),
        stages_(std::min(At(problem.num_stages), std::max<std::size_t>(order.size(), 1))),
        lists_(problem),
        load_(problem, lists_) {}

  std::vector<std::size_t> Run(std::vector<std::size_t> starts, std::int64_t threshold) {
    std::int64_t low = Latency(starts, 0);
    std::int64_t high = low;
    for (std::size_t s = 0; s < starts.size(); ++s) {
      low = std::min(low, Latency(starts, s));
      high = std::max(high, Latency(starts, s));
    }
    std::vector<std::size_t> best = starts;
    std::int64_t best_cost = high;
    while (high - low > threshold) {
      const std::int64_t target = low + (high - low) / 2;
      starts = Within(target);
      std::int64_t cost = 0;
      for (std::size_t s = 0; s < starts.size(); ++s) cost = std::max(cost, Latency(starts, s));
      if (cost < best_cost) {
        best = starts;
        best_cost = cost;
      }
      const std::int64_t last = Latency(starts, starts.size() - 1);
      if (last < target) {
        high = target;
      } else {
        high = std::min(high, last);
        low = target;
      }
    }
    return best;
  }

 private:
  std::int64_t Latency(const std::vector<std::size_t>& starts, std::size_t s) {
    const std::size_t end = s + 1 < starts.size() ? starts[s + 1] : order_.size();
    for (std::size_t i = starts[s]; i < end; ++i) load_.Add(order_[i]);
    const std::int64_t cost = load_.cost();
    for (std::size_t i = end; i > starts[s]; --i) load_.Remove(order_[i - 1]);
    return cost;
  }

  std::vector<std::size_t> Within(std::int64_t target) {
    std::vector<std::size_t> starts = {0};
    while (starts.size() < stages_) {
      const std::size_t first = starts.back();
      const std::size_t most = order_.size() - (stages_ - starts.size());
      std::size_t longest = first + 1;
      for (std::size_t i = first; i < most; ++i) {
        load_.Add(order_[i]);
        if (load_.cost() <= target) longest = i + 1;
      }
      for (std::size_t i = most; i > first; --i) load_.Remove(order_[i - 1]);
      starts.push_back(longest);
    }
    return starts;
  }

  std::span<const OpIndex> order_;
  std::size_t stages_;
  ByOperator lists_;
  StageLoad load_;
};

// Parameters by depth, and where ranges of depths begin.
class LevelRanges {
 public:
  LevelRanges(const Problem& problem, const std::vector<OpIndex>& levels)
      : stages_(At(problem.num_stages)) {
    const std::vector<std::int64_t> parameters = ParametersOf(problem);
    for (std::size_t op = 0; op < levels.size(); ++op) {
      if (bytes_.size() <= At(levels[op])) bytes_.resize(At(levels[op]) + 1, 0);
      bytes_[At(levels[op])] += parameters[op];
    }
  }

  std::vector<std::size_t> Balanced() const {
    std::int64_t low = 0;
    std::int64_t high = std::accumulate(bytes_.begin(), bytes_.end(), std::int64_t{0});
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (Within(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return *Within(high);
  }

  // Gives depths at an end of a stage beyond the cache to the neighbour there.
  void Refine(std::int64_t cache, std::vector<std::size_t>* starts) const {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t s = 0; s < starts->size() && !moved; ++s) {
        const std::size_t first = (*starts)[s];
        const std::size_t end = End(*starts, s);
        if (Sum(first, end) <= cache || end - first < 2) continue;
        if (s > 0 && Sum((*starts)[s - 1], first + 1) <= cache) {
          ++(*starts)[s];
          moved = true;
        } else if (s + 1 < starts->size() && Sum(end - 1, End(*starts, s + 1)) <= cache) {
          --(*starts)[s + 1];
          moved = true;
        }
      }
    }
  }

 private:
  std::size_t End(const std::vector<std::size_t>& starts, std::size_t s) const {
    return s + 1 < starts.size() ? starts[s + 1] : bytes_.size();
  }
  std::int64_t Sum(std::size_t first, std::size_t end) const {
    return std::accumulate(bytes_.begin() + static_cast<std::ptrdiff_t>(first),
                           bytes_.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{0});
  }
  std::optional<std::vector<std::size_t>> Within(std::int64_t most) const {
    std::vector<std::size_t> starts = {0};
    std::int64_t sum = 0;
    for (std::size_t level = 0; level < bytes_.size(); ++level) {
      if (bytes_[level] > most) return std::nullopt;
      if (sum + bytes_[level] > most) {
        starts.push_back(level);
        sum = 0;
      }
      sum += bytes_[level];
    }
    if (starts.size() > stages_) return std::nullopt;
    return starts;
  }

  std::size_t stages_;
  std::vector<std::int64_t> bytes_;
};

}  // namespace

Assignment CutByParameterCount(const Problem& problem, std::span<const OpIndex> order) {
  const Grouped grouped(problem);
  const std::vector<OpIndex> groups = grouped.OrderOf(order);
  return grouped.Expand(StagesAlong(groups, ParameterStarts(grouped.problem(), groups)));
}

Assignment CutByProfiling(const Problem& problem, std::span<const OpIndex> order,
                          std::int64_t threshold) {
  const Grouped grouped(problem);
  const std::vector<OpIndex> groups = grouped.OrderOf(order);
  const std::vector<std::size_t> starts =
      Profiler(grouped.problem(), groups)
          .Run(ParameterStarts(grouped.problem(), groups), std::max<std::int64_t>(threshold, 1));
  return grouped.Expand(StagesAlong(groups, starts));
}

Assignment CutByLevels(const Problem& problem) {
  const Grouped grouped(problem);
  const std::vector<OpIndex> levels = Levels(grouped.problem());
  const LevelRanges ranges(grouped.problem(), levels);
  std::vector<std::size_t> starts = ranges.Balanced();
  ranges.Refine(problem.machine.cache_bytes, &starts);
  std::vector<Stage> stages;
  for (const OpIndex level : levels) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), At(level));
    stages.push_back(static_cast<Stage>(after - starts.begin()) - 1);
  }
  return grouped.Expand(stages);
}

}  // namespace neap::partition
