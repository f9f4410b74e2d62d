// SPDX-License-Identifier: Apache-2.0
//
// Walks an operator's kernel, read by read and write by write, in the order of its loops, to verify
// that it still reads the right bytes when its output overlaps its input. Shares with the planner's
// distances (neap/ops/overlap.h) only the geometry of windows. Private to neap/check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "neap/graph/graph.h"
#include "neap/ops/overlap.h"

namespace neap::check {

// The smallest number of bytes (>= 0) that output 0 of `op`, run by a kernel of `library`, has to
// start below its input `input` for it to compute the same as with the two apart; at every larger
// one it does so, too. None where that is more than `max_bytes`, and for a kernel that is not
// known. O(reads of the kernel), runs of neighbouring bytes counted once.
std::optional<std::int64_t> LeastDistance(const graph::Subgraph& subgraph, const graph::Op& op,
                                          std::size_t input, ops::KernelLibrary library,
                                          std::int64_t max_bytes);

// Whether `distance_bytes` are enough.
bool ReadsSurvive(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input,
                  ops::KernelLibrary library, std::int64_t distance_bytes);

// True if `op` copies its input `input` unchanged to `offset_bytes` in its output and touches the
// copy no more, in one piece.
bool HoldsInput(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input,
                ops::KernelLibrary library, std::int64_t offset_bytes);

// True if `op` has read its input `input` for the last time before the first byte of any output is
// written: an IF, which passes a copy of it to a body. False for the condition and for captures of
// bodies.
bool HandsOver(const graph::Op& op, std::size_t input, ops::KernelLibrary library);

// The lowest byte of its input `input` that `op` reads: of a SLICE with constant begins and without
// state; else 0.
std::int64_t LowestRead(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input);

// Whether an output is such a piece of an input, wherever it begins.
bool MayBePiece(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t output,
                ops::KernelLibrary library);

// True if output `output` of `op` is, element by element, the piece of input `input` that begins
// `offset_bytes` above its start. O(elements of the output).
bool HoldsOutput(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input,
                 std::size_t output, ops::KernelLibrary library, std::int64_t offset_bytes);

}  // namespace neap::check
