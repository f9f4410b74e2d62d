// SPDX-License-Identifier: Apache-2.0
#include "lab/census/census.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <utility>

#include "lab/census/sets.h"
#include "neap/base/check.h"
#include "neap/solve/schedule/check.h"

namespace neap::census {
namespace {

using schedule::OpIndex;
using schedule::Problem;

struct PeaksOfSet {
  std::int64_t live_bytes = 0;
  std::map<std::int64_t, Natural> by_peak;
};

struct CountOfSet {
  std::int64_t live_bytes = 0;
  Natural orders;
};

// Layer by layer, a set in each; nullopt: more than `most` sets.
using Layers = std::vector<std::map<OpSet, CountOfSet>>;
std::optional<Layers> CountPrefixes(const Problem& problem, const Sets& sets, std::int64_t most) {
  Layers layers(1);
  layers[0][sets.Empty()] = {sets.LiveAtStart(), Natural(1)};
  std::int64_t states = 1;
  for (OpIndex done = 0; done < problem.num_ops; ++done) {
    std::map<OpSet, CountOfSet> next;
    for (const auto& [set, count] : layers.back()) {
      for (OpIndex op = 0; op < problem.num_ops; ++op) {
        if (!sets.IsReady(set, op)) continue;
        OpSet after = set;
        Sets::Add(&after, op);
        CountOfSet& to = next[std::move(after)];
        to.live_bytes = sets.CostOf(set, count.live_bytes, op).live_after_bytes;
        to.orders += count.orders;
      }
      if (states + static_cast<std::int64_t>(next.size()) > most) return std::nullopt;
    }
    states += static_cast<std::int64_t>(next.size());
    layers.push_back(std::move(next));
  }
  return layers;
}

// Draws the last operator first.
std::vector<OpIndex> DrawOrder(const Problem& problem, const Layers& layers, Random* random) {
  std::vector<OpIndex> order;
  OpSet set = layers.back().begin()->first;
  for (std::size_t layer = layers.size() - 1; layer > 0; --layer) {
    Natural draw = layers[layer].at(set).orders.Draw(random);
    for (OpIndex op = 0; op < problem.num_ops; ++op) {
      if (!Sets::Has(set, op)) continue;
      OpSet before = set;
      Sets::Remove(&before, op);
      // Sets that are no set of executed operators are not there.
      const auto found = layers[layer - 1].find(before);
      if (found == layers[layer - 1].end()) continue;
      if (draw < found->second.orders) {
        order.push_back(op);
        set = std::move(before);
        break;
      }
      draw -= found->second.orders;
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

class NeighbourSwaps {
 public:
  explicit NeighbourSwaps(const Problem& problem)
      : ops_(static_cast<std::size_t>(problem.num_ops)) {
    fixed_.assign(ops_ * ops_, 0);
    for (const auto& [before, after] : problem.precedences) {
      fixed_[static_cast<std::size_t>(before) * ops_ + static_cast<std::size_t>(after)] = 1;
    }
  }
  void Run(std::vector<OpIndex>* order, Random* random) const {
    if (ops_ < 2) return;
    const std::uint64_t n = ops_;
    const std::uint64_t steps =
        n * n * n * static_cast<std::uint64_t>(std::bit_width(n)) * 2 / 5 + 1;
    for (std::uint64_t step = 0; step < steps; ++step) {
      const std::uint64_t draw = random->Below(2 * (n - 1));
      const auto at = static_cast<std::size_t>(draw / 2);
      if (draw % 2 == 0) continue;
      auto& list = *order;
      const bool may = fixed_[static_cast<std::size_t>(list[at]) * ops_ +
                              static_cast<std::size_t>(list[at + 1])] == 0;
      if (may) std::swap(list[at], list[at + 1]);
    }
  }

 private:
  std::size_t ops_;
  std::vector<char> fixed_;  // direct predecessors: of neighbours no other is between
};

}  // namespace

Natural Census::AtMost(std::int64_t bytes) const {
  Natural sum;
  for (const PeakCount& entry : by_peak) {
    if (entry.peak_bytes <= bytes) sum += entry.orders;
  }
  return sum;
}

std::int64_t Census::MedianPeak() const {
  Natural sum;
  for (const PeakCount& entry : by_peak) {
    sum += entry.orders;
    Natural twice = sum;
    twice += sum;
    if (twice >= orders) return entry.peak_bytes;
  }
  return 0;
}

std::optional<Census> CountOrders(const Problem& problem, const CensusLimits& limits) {
  const Sets sets(problem);
  std::map<OpSet, PeaksOfSet> layer;
  layer[sets.Empty()] = {sets.LiveAtStart(), {{0, Natural(1)}}};
  Census census;
  census.states = 1;
  std::int64_t entries = 1;
  for (OpIndex done = 0; done < problem.num_ops; ++done) {
    std::map<OpSet, PeaksOfSet> next;
    for (const auto& [set, peaks] : layer) {
      for (OpIndex op = 0; op < problem.num_ops; ++op) {
        if (!sets.IsReady(set, op)) continue;
        const Sets::StepCost cost = sets.CostOf(set, peaks.live_bytes, op);
        OpSet after = set;
        Sets::Add(&after, op);
        PeaksOfSet& to = next[std::move(after)];
        to.live_bytes = cost.live_after_bytes;
        for (const auto& [peak, orders] : peaks.by_peak) {
          auto [at, fresh] = to.by_peak.try_emplace(std::max(peak, cost.hill_bytes));
          at->second += orders;
          if (fresh && ++entries > limits.max_entries) return std::nullopt;
        }
      }
      if (census.states + static_cast<std::int64_t>(next.size()) > limits.max_states) {
        return std::nullopt;
      }
    }
    census.states += static_cast<std::int64_t>(next.size());
    layer = std::move(next);
  }
  for (const auto& [peak, orders] : layer.begin()->second.by_peak) {
    census.by_peak.push_back({peak, orders});
    census.orders += orders;
  }
  return census;
}

std::string_view NameOf(Sampler sampler) {
  return sampler == Sampler::kExact ? "exactly uniform" : "neighbour swaps";
}

Sample SampleOrders(const Problem& problem, const std::vector<OpIndex>& start, std::int64_t orders,
                    std::uint64_t seed, const CensusLimits& limits) {
  const Sets sets(problem);
  Random random(seed);
  Sample sample;
  const auto layers = CountPrefixes(problem, sets, limits.max_states);
  const NeighbourSwaps walk(problem);
  sample.sampler = layers ? Sampler::kExact : Sampler::kWalk;
  for (std::int64_t i = 0; i < orders; ++i) {
    std::vector<OpIndex> order;
    if (layers) {
      order = DrawOrder(problem, *layers, &random);
    } else {
      order = start;
      walk.Run(&order, &random);
    }
    const auto replay = schedule::ReplayOrder(problem, order);
    NEAP_CHECK(replay.has_value(), "a sampled order is not valid");
    sample.peaks.push_back(replay->peak_bytes);
  }
  std::sort(sample.peaks.begin(), sample.peaks.end());
  return sample;
}

}  // namespace neap::census
