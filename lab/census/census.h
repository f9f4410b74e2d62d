// SPDX-License-Identifier: Apache-2.0
//
// All topological orders of a problem, by their peaks: counted exactly where the sets of executed
// operators are few enough, sampled uniformly otherwise. Deterministic: the same for the same seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lab/census/natural.h"
#include "neap/solve/schedule/problem.h"

namespace neap::census {

struct PeakCount {
  std::int64_t peak_bytes = 0;
  Natural orders;  // with exactly this peak
};

struct Census {
  std::vector<PeakCount> by_peak;  // ascending, none of zero
  Natural orders;                  // of all
  std::int64_t states = 0;         // sets of executed operators

  // Orders whose peak is at most `bytes`.
  Natural AtMost(std::int64_t bytes) const;
  // The lowest peak that at least half of all orders do not exceed.
  std::int64_t MedianPeak() const;
};

struct CensusLimits {
  std::int64_t max_states = 1'000'000;    // sets of executed operators
  std::int64_t max_entries = 20'000'000;  // pairs of a set and a peak, over all sets
};

// Dynamic programming over sets of executed operators: for each, how many orders of it have which
// peak. nullopt: beyond a limit. `problem` passes schedule::Validate().
std::optional<Census> CountOrders(const schedule::Problem& problem, const CensusLimits& limits);

enum class Sampler : std::uint8_t {
  kExact,  // uniform: drawn by the numbers of orders of all sets
  // The walk that swaps neighbours (Karzanov and Khachiyan 1991), one run of n^3 bits(n) 2/5 + 1
  // steps for each order; after (4 / pi^2) n^3 ln n it is near uniform (Wilson 2004).
  kWalk,
};
std::string_view NameOf(Sampler sampler);  // "exactly uniform", "neighbour swaps"

struct Sample {
  Sampler sampler = Sampler::kExact;
  std::vector<std::int64_t> peaks;  // ascending
  std::int64_t MedianPeak() const { return peaks[(peaks.size() - 1) / 2]; }
};

// `orders` >= 1; `start` is a valid order. Exact where limits.max_states allows it.
Sample SampleOrders(const schedule::Problem& problem, const std::vector<schedule::OpIndex>& start,
                    std::int64_t orders, std::uint64_t seed, const CensusLimits& limits);

}  // namespace neap::census
