// SPDX-License-Identifier: Apache-2.0
//
// Other partitioners, from their documentation and published sources (docs/algorithms/pipelines.md
// names them). Problems have passed Validate(). The limit of parameters is ignored: these rules
// have none.
#pragma once

#include <cstdint>
#include <span>

#include "neap/solve/partition/problem.h"

namespace neap::partition {

// The parameter count rule of libcoral, which documents what edgetpu_compiler --num_segments does:
// along `order`, every stage but the last takes operators as long as its parameters stay within
// the average of all stages (at least one operator, and one is left for every later stage); the
// last takes the rest, and with it every operator that nothing follows. libcoral sorts operators
// depth first; the compiler itself was seen to cut along the order of the file
// (docs/results/edgetpu-segments.md).
Assignment CutByParameterCount(const Problem& problem, std::span<const OpIndex> order);

// libcoral's profiling partitioner with this problem's costs in place of measured latencies: it
// starts from the cut by parameter count, bisects a target between the fastest and the slowest
// stage, gives every stage but the last the longest part of the remaining operators that stays
// within the target, and ends when the target is known to `threshold`.
Assignment CutByProfiling(const Problem& problem, std::span<const OpIndex> order,
                          std::int64_t threshold);

// After Villarrubia et al. 2025 (balanced segmentation): stages are ranges of depth (longest
// distance from an input); the largest parameter memory is as small as such ranges allow, found by
// bisection; then, as long as a stage has more than the cache, a depth moves to a neighbour that
// stays within it.
Assignment CutByLevels(const Problem& problem);

}  // namespace neap::partition
