// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/portfolio.h"

#include <utility>

#include "neap/base/check.h"
#include "neap/base/work.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/flat_problem.h"

namespace neap::schedule {

RankedOrder ImproveOrder(const Problem& problem, RankedOrder start, std::int64_t floor_bytes,
                         std::uint64_t /*seed*/, const Limits& limits) {
  const std::int64_t before = start.peak_bytes;
  const FlatProblem flat(problem);
  RankedOrder best = std::move(start);
  if (best.peak_bytes > floor_bytes) best = BestClosedOrder(flat, std::move(best), limits);
  const auto replay = ReplayOrder(problem, best.order);
  NEAP_CHECK(replay && replay->peak_bytes == best.peak_bytes && best.peak_bytes <= before,
             "the portfolio returned a wrong order");
  return best;
}

}  // namespace neap::schedule
