// SPDX-License-Identifier: Apache-2.0
//
// How other tools place buffers, written from descriptions of their algorithms: for comparison
// only. TFLM and LiteRT, which Neap models exactly, are in neap/arena. All take problems without
// pair rules and fixed offsets; alignment 1.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/arena/problem.h"

namespace neap::tables {

// By bytes * lifetime, largest first, each in the smallest gap that is large enough.
arena::Placement PlaceByAreaBestFit(const arena::Problem& problem);

// ONNX Runtime's memory pattern: in the order of the run, freeing before allocating, each buffer in
// the smallest free gap that is large enough, else on top.
arena::Placement PlaceLikeMemoryPattern(const arena::Problem& problem);

// ExecuTorch's greedy planner: by size, largest first, into shared objects that never grow: at 0
// where no lifetime overlaps, else behind the overlapping ones if that fits, else a new object.
arena::Placement PlaceLikeExecutorch(const arena::Problem& problem);

// TVM's greedy planner by conflicts: by the number of buffers that are live together with it, most
// first, ties by size, each at the lowest place where it fits.
arena::Placement PlaceByConflicts(const arena::Problem& problem);

// TVM's hill climbing: `attempts` swaps in the order of placement between a neighbour of a topmost
// buffer and a neighbour of that one; a worse order is accepted with a probability that falls.
arena::Placement PlaceLikeTvmHillClimb(const arena::Problem& problem, int attempts, Random& random);

// Vela's hill climbing: first by urgency (maximum live bytes during its life), lifetime, start and
// size; then swaps that put a buffer below the topmost one, or one of its neighbours, later; kept
// unless worse. Ends at the load bound.
arena::Placement PlaceLikeVelaHillClimb(const arena::Problem& problem, int attempts,
                                        Random& random);

}  // namespace neap::tables
