// SPDX-License-Identifier: Apache-2.0
//
// Streamed entries in place of those that run layer by layer (neap/stream).
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"

namespace neap::compile {

// Plans every entry of `compiled->plan`, which is of the profile neap, once more as a stream, and
// keeps that where it needs less memory or where the input is not in the arena. What cannot be
// streamed stays, with a line in `compiled->notes`; where the input is asked to come from elsewhere
// that is an error.
Status StreamEntries(const graph::Graph& graph, const Options& options, Compiled* compiled);

// A streamed plan that no other beats in bytes, multiply-accumulates and modelled cycles.
struct StreamPoint {
  plan::Plan plan;  // of one entry
  std::int64_t arena_bytes = 0;
  std::int64_t macs = 0;
  std::int64_t cycles = 0;
};
struct StreamFront {
  std::vector<StreamPoint> points;  // by arena, falling; not empty
  bool cut_short = false;           // a limit ended the search before all was tried
};
// All of them that the search knows, however much work they are, with where the input is and the
// blocks' columns as in `options`. Fails where the graph has several entries or cannot be streamed.
Result<StreamFront> FindStreamFront(const graph::Graph& graph, const Options& options);

}  // namespace neap::compile
