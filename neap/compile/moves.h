// SPDX-License-Identifier: Apache-2.0
//
// Defragmentation: copies of live tensors to other offsets, where no placement without them is low
// enough. Source: "Execution order in constrained memory" (the document's defragmentation steps).
// Private to neap/compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neap/base/limits.h"
#include "neap/compile/compile.h"
#include "neap/compile/timeline.h"
#include "neap/plan/plan.h"

namespace neap::compile {

struct MovedPlacement {
  std::vector<plan::Step> steps;  // with the moves in their slots
  std::vector<plan::TensorPlacement> tensors;
  std::vector<plan::ScratchPlacement> scratch;
  std::int64_t arena_bytes = 0;
  std::int64_t moved_bytes = 0;
};

// A placement of at most `target_bytes` with moves; nullopt: none was found, or the timeline has
// bodies or overlaps, whose tensors do not move. `disjoint`: source and destination of a move share
// no byte (a runtime that copies with memcpy). Deterministic; limits.max_states is that of each
// placement tried.
std::optional<MovedPlacement> PlaceWithMoves(const Timeline& timeline, const AllSizes& sizes,
                                             const plan::Profile& profile,
                                             std::int64_t target_bytes, MoveStrategy strategy,
                                             bool disjoint, const Limits& limits);

// A placement that another search found. `offsets`: of each tensor of the timeline, then of each of
// its scratch, the first offset and one for every move. `moves` run before their slot, in this
// order; slots rise.
struct SlotMove {
  std::int32_t slot = 0;
  std::size_t tensor = 0;  // an index into Timeline::tensors
};
MovedPlacement PlacementOfMoves(const Timeline& timeline, const AllSizes& sizes,
                                const plan::Profile& profile, const std::vector<SlotMove>& moves,
                                const std::vector<std::vector<std::int64_t>>& offsets);

}  // namespace neap::compile
