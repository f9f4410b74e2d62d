// SPDX-License-Identifier: Apache-2.0
//
// Walks of the kernels of neap_rt (runtime/), loop by loop. They share nothing with the distances
// of neap/ops/neap_rt_overlap.cc but the geometry of windows and resizing. Private to neap/check.
#pragma once

#include <cstddef>

#include "neap/check/kernel_tape.h"
#include "neap/graph/graph.h"

namespace neap::check {

// Notes reads of input `input` and writes of output 0, both of 8 bits. False: neap_rt has no kernel
// with known loops for the operator, or the input is read in another way. May stop early, if the
// tape is not intact. O(reads of the kernel), runs counted once.
bool WalkNeapRt(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input,
                Tape* tape);

}  // namespace neap::check
