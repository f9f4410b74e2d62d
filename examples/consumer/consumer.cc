// SPDX-License-Identifier: Apache-2.0
//
// Plans a graph of your own, of any kind, with the two solvers: an order first, addresses second.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "neap/arena/arena.h"
#include "neap/schedule/schedule.h"

int main() {
  // Two branches from operator 0, joined by operator 5. Each makes much (op 1, 3) of which little
  // is left (op 2, 4): run depth first, only one large buffer is live at a time.
  neap::schedule::Problem problem;
  problem.num_ops = 6;
  problem.precedences = {{0, 1}, {0, 3}, {1, 2}, {3, 4}, {2, 5}, {4, 5}};
  problem.buffers = {{10, {0, 1, 3}}, {100, {1, 2}}, {5, {2, 5}}, {90, {3, 4}}, {5, {4, 5}}};
  const auto order = neap::schedule::Solve(problem, neap::Limits{});

  neap::arena::Problem placement;
  std::vector<neap::arena::Step> step_of(6);
  for (neap::arena::Step step = 0; step < 6; ++step) step_of[order.order[step]] = step;
  for (const auto& buffer : problem.buffers) {
    neap::arena::Buffer placed{.bytes = buffer.bytes, .first = 6, .last = 0};
    for (const auto user : buffer.users) {
      placed.first = std::min(placed.first, step_of[user]);
      placed.last = std::max(placed.last, step_of[user] + 1);
    }
    placement.buffers.push_back(placed);
  }
  const auto arena = neap::arena::Solve(placement, neap::Limits{});
  std::printf("peak %lld (%s), arena %lld (%s)\n", static_cast<long long>(order.peak_bytes),
              order.optimal() ? "optimal" : "bounded",
              static_cast<long long>(arena.placement.height_bytes),
              arena.optimal() ? "optimal" : "bounded");
  return order.optimal() && arena.optimal() && order.peak_bytes == 115 ? 0 : 1;
}
