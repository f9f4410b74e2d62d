// SPDX-License-Identifier: Apache-2.0
//
// Schedules on identical units: the minimum peak within a makespan, or the minimum makespan within
// a peak; of equal ones, the one whose other value is smallest. Deterministic: the same problem and
// the same limits (without max_seconds and stop) give the same outcome. Method and proofs:
// docs/algorithms/units.md.
#pragma once

#include <cstdint>
#include <optional>

#include "neap/base/limits.h"
#include "neap/solve/schedule/schedule.h"
#include "neap/solve/units/problem.h"

namespace neap::units {

enum class Objective : std::uint8_t { kPeak, kMakespan };

struct Options {
  Objective objective = Objective::kPeak;
  std::int64_t makespan_limit = -1;  // -1: none
  std::int64_t peak_limit = -1;      // -1: none
  Limits limits;                     // max_states: schedules in part that the search keeps
};

struct Outcome {
  std::optional<Schedule> best;  // nullopt: none was found within the limits
  // Proven: no schedule within the limits has a smaller one.
  std::int64_t peak_lower_bound = 0;
  std::int64_t makespan_lower_bound = 0;
  bool infeasible = false;   // proven: no schedule is within the limits
  bool optimal = false;      // proven: none has a smaller objective
  bool tie_optimal = false;  // proven: of those with that objective, none has a smaller other value
  bool interrupted = false;
  std::int64_t states = 0;
};

// The exact search takes problems of at most that many operators.
inline constexpr OpIndex kMaxExactOps = 64;
inline constexpr std::int64_t kDefaultStates = 200'000;

// Solves one problem with several options. The order for one unit, of which each search begins, is
// searched once.
class Solver {
 public:
  // `problem` must pass Validate(), and outlives the solver.
  explicit Solver(const Problem& problem) : problem_(problem) {}
  Outcome Solve(const Options& options);

 private:
  const Problem& problem_;
  std::optional<schedule::Outcome> sequence_;  // of the first call
};

// `problem` must pass Validate().
inline Outcome Solve(const Problem& problem, const Options& options) {
  return Solver(problem).Solve(options);
}

}  // namespace neap::units
