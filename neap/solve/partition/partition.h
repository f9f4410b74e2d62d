// SPDX-License-Identifier: Apache-2.0
//
// The best assignment with a proof, or, where a limit ends the search, the best found with a proven
// lower bound. Nothing here knows neural networks. Deterministic: the same problem and limits
// (without max_seconds and stop) give the same outcome.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/partition/certificate.h"
#include "neap/solve/partition/problem.h"

namespace neap::partition {

struct Outcome {
  Assignment best;
  std::int64_t lower_bound = 0;  // no assignment has a cheaper bottleneck
  Certificate certificate;       // of lower_bound
  std::int64_t states = 0;       // stages that were considered: pairs of downsets
  std::int64_t downsets = 0;     // kept at the same time, at most
  OpIndex operators = 0;         // that were left after merging what belongs together
  bool interrupted = false;      // Limits::stop or max_seconds ended it
  bool optimal() const { return best.bottleneck == lower_bound; }
};

// nullopt: no assignment is within the limit of parameters and avoids the forbidden stages, or a
// limit ended the search before one was found. In the first case `infeasible`, where given,
// receives the certificate: its bound, kInfeasible, exceeds the cost of any assignment. `problem`
// has passed Validate(). Limits::max_states counts states; kStatesForAFewSeconds means 40 million.
// Method: docs/algorithms/pipelines.md.
inline constexpr std::int64_t kInfeasible = kMaxCost + 1;
std::optional<Outcome> Solve(const Problem& problem, const Limits& limits,
                             std::optional<Certificate>* infeasible = nullptr);

}  // namespace neap::partition
