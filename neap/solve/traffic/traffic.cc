// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/traffic/traffic.h"

#include <string>

#include "neap/base/check.h"
#include "neap/solve/traffic/blocks.h"
#include "neap/solve/traffic/check.h"
#include "neap/solve/traffic/optimum.h"
#include "neap/solve/traffic/policy.h"

namespace neap::traffic {
namespace {

void CheckDecisions(const Problem& problem, std::int64_t on_chip_bytes,
                    const Decisions& decisions) {
  std::string why;
  const auto replayed = Replay(problem, on_chip_bytes, decisions.residencies, &why);
  NEAP_CHECK(replayed && *replayed == decisions.counts, "the traffic fails its replay: " + why);
}

// The replay of blocks keeps every block in a map: it is for traces that fit.
constexpr std::int64_t kMaxReplayedAccesses = 2'000'000;

}  // namespace

std::vector<Row> Measure(const Problem& problem, std::int64_t on_chip_bytes,
                         const MeasureOptions& options) {
  std::vector<Row> rows;
  const Optimum best = LeastTraffic(problem, on_chip_bytes, {options.max_states, options.stop});
  CheckDecisions(problem, on_chip_bytes, best.decisions);
  const auto add_tensors = [&](std::string_view policy, const Decisions& decisions) {
    const bool optimal = decisions.counts.total() == best.lower_bound_bytes;
    rows.push_back(
        {on_chip_bytes, "tensor", policy, decisions.counts, best.lower_bound_bytes, optimal});
  };
  add_tensors("optimum", best.decisions);
  for (const Policy policy : {Policy::kFurthestNextUse, Policy::kLeastRecentlyUsed}) {
    const Decisions decisions = Apply(policy, problem, on_chip_bytes);
    CheckDecisions(problem, on_chip_bytes, decisions);
    add_tensors(NameOf(policy), decisions);
  }
  const std::int64_t accesses = BlockAccesses(problem, options.block_bytes);
  if (accesses > kMaxBlockAccesses) return rows;
  const BlockMemory memory{options.block_bytes, on_chip_bytes / options.block_bytes};
  std::int64_t fewest_read_bytes = 0;
  for (const BlockPolicy policy : {BlockPolicy::kBelady, BlockPolicy::kLeastRecentlyUsed}) {
    const bool replay = accesses <= kMaxReplayedAccesses;
    const BlockCounts applied = ApplyToBlocks(policy, problem, memory, replay);
    if (replay) {
      std::string why;
      const auto replayed = ReplayBlocks(problem, memory, applied.evictions, &why);
      NEAP_CHECK(replayed && *replayed == applied.counts, "the blocks fail their replay: " + why);
    }
    if (policy == BlockPolicy::kBelady) fewest_read_bytes = applied.counts.read_bytes;
    const bool optimal = applied.counts.read_bytes == fewest_read_bytes;
    rows.push_back(
        {on_chip_bytes, "block", NameOf(policy), applied.counts, fewest_read_bytes, optimal});
  }
  return rows;
}

}  // namespace neap::traffic
