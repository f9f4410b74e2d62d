// SPDX-License-Identifier: Apache-2.0
//
// The ordering problem, independent of neural networks: find a topological order of `num_ops`
// operators that minimises the maximum of the live bytes over all steps.
//
// A buffer is a hyperedge: a size and the set of *all* operators that touch it, writers and readers
// alike. Aliases, views and in-place chains (one piece of memory, several writers) are simply
// larger hyperedges. For a downset D (the executed operators):
//
//   live(D) = sum over buffers b of bytes(b) * ( [b is touched by D, or live at start]
//                                              - [all users of b are in D, and not live at end] )
//   hill(D, v) = live(D) + bytes of the buffers that v touches first + scratch(v)
//                        - bytes of outputs that take over inputs freed at v (InPlace,
//                        TakeOver)
//
// The peak of an order is the largest hill. Before an operator runs all its outputs are allocated;
// after it has run all buffers without a further user are freed. live() is submodular over the
// lattice of downsets; every pruning rule of the exact search depends on this
// (docs/algorithms/order.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace neap::schedule {

using OpIndex = std::int32_t;
using BufferIndex = std::int32_t;

struct Buffer {
  std::int64_t bytes = 0;
  std::vector<OpIndex> users;  // strictly increasing; every operator that writes or reads it
  bool live_at_start = false;  // a graph input: live before the first step
  bool live_at_end = false;    // a graph output: never freed
};

// When `op` is the last user of `input`, its `output` may overwrite it: the bytes of `output`
// (which equal those of `input`) are not added to the hill of `op`. `op` is the first user of
// `output`, `input` is not live at end, and every op is in at most one InPlace.
struct InPlace {
  OpIndex op = 0;
  BufferIndex input = 0;
  BufferIndex output = 0;
};

// Part of the output of `op` may reuse the memory of part of its input: the bytes of `outputs`
// count in the hill of `op` only as far as they exceed the bytes of those `inputs` whose last user
// is `op`. A tensor of which a part may be taken over is several buffers with the same users. Every
// other user of an output is stated to run after `op`; outputs are not live at start, inputs not
// live at end; no buffer is in both lists. An op is in at most one TakeOver or InPlace.
struct TakeOver {
  OpIndex op = 0;
  std::vector<BufferIndex> inputs;   // strictly increasing
  std::vector<BufferIndex> outputs;  // strictly increasing
};

struct Problem {
  OpIndex num_ops = 0;
  // (before, after), any number of times; with no cycle. A buffer does not imply precedence between
  // its users: the caller adds writer -> reader pairs here.
  std::vector<std::pair<OpIndex, OpIndex>> precedences;
  std::vector<Buffer> buffers;
  std::vector<std::int64_t> scratch_bytes;  // one per op; empty: none
  std::vector<InPlace> in_place;
  std::vector<TakeOver> take_over;
};

// The error of a malformed problem (out of range, unsorted, cyclic, negative or too large sizes),
// in one line; nullopt when it is well-formed. O(size).
std::optional<std::string> Validate(const Problem& problem);

}  // namespace neap::schedule
