// SPDX-License-Identifier: Apache-2.0
//
// A cache of placements. The search for a plan prices many graphs and compiles the best one again
// at the end, often with the same effort; the result must not exceed the price. Private to
// neap/compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "neap/compile/compile.h"
#include "neap/solve/arena/arena.h"

namespace neap::compile {

class PlacementMemo {
 public:
  // arena::Solve(), or its cached result for an equal problem with equal options; never higher than
  // the result for an equal problem with other options, nor with a lower bound below one proven for
  // it. Caches only efforts that are limited by states alone, up to a total size of problems.
  arena::Outcome Solve(const arena::Problem& problem, const arena::SolveOptions& options);

  std::int64_t hits() const { return hits_; }

 private:
  using Key = std::vector<std::int64_t>;  // all of a problem
  // States, seed, whether there is a goal, the goal.
  using Effort = std::tuple<std::int64_t, std::uint64_t, bool, std::int64_t>;
  struct Known {
    arena::Outcome best;
    std::map<Effort, std::int64_t> states;  // that each effort took
  };
  static Key KeyOf(const arena::Problem& problem);

  std::map<Key, Known> known_;
  std::size_t words_ = 0;  // of all keys and placements
  std::int64_t hits_ = 0;
};

}  // namespace neap::compile
