// SPDX-License-Identifier: Apache-2.0
//
// Operators on several identical units, independent of neural networks: a start for every operator,
// such that no more than `units` operators run at once. An operator runs without a break. A buffer
// is live from the start of the first of its users to the end of the last one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/solve/schedule/problem.h"

namespace neap::units {

using schedule::BufferIndex;
using schedule::OpIndex;

inline constexpr std::int32_t kMaxUnits = 1024;
inline constexpr std::int64_t kMaxTotalDuration = std::int64_t{1} << 60;

struct Problem {
  schedule::Problem graph;              // without InPlace and TakeOver
  std::vector<std::int64_t> durations;  // one per operator, at least 1
  std::int32_t units = 1;
};

struct Schedule {
  std::vector<std::int64_t> start;  // of every operator
  std::vector<std::int32_t> unit;   // where it runs
  std::int64_t makespan = 0;        // the last end
  std::int64_t peak_bytes = 0;      // the most live bytes at one time
};

// The error of a malformed problem, in one line; nullopt when it is well-formed.
std::optional<std::string> Validate(const Problem& problem);

}  // namespace neap::units
