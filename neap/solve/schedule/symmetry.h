// SPDX-License-Identifier: Apache-2.0
//
// Interchangeable parts of a problem need be tried in one order only. Private to neap/schedule.
#pragma once

#include <utility>
#include <vector>

#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/problem.h"

namespace neap::schedule {

// (before, after): some best order obeys all of them, and so does some order within any budget that
// has one. Rule (exact-ordering R8; proof: docs/algorithms/order.md, "Symmetry"): operators r1, r2,
// ..., rk such that for each i an exchange of r1 and ri, which leaves the other r unchanged, maps
// the problem to itself, run in this order in some best order. Candidates come from refined
// colours; each exchange is verified, edge by edge, on the problem with the precedences found
// before. `stages` as of Instance, or empty. O((ops + users) log ops) per round of colours, and the
// number of exchanged members for each of at most kMaxExchanges.
std::vector<std::pair<OpIndex, OpIndex>> BreakSymmetries(const Problem& problem,
                                                         const Instance::Stages& stages);

inline constexpr int kMaxExchanges = 1'000;

}  // namespace neap::schedule
