// SPDX-License-Identifier: Apache-2.0
//
// Plans of a model whose entries are streamed, beside those that run layer by layer.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/transform/stream/options.h"

namespace neap::stream {

// Compiles `graph` under the profile neap with a part of the limits, then plans every entry once
// more as a stream, and keeps that where it needs less memory or where the input is not in the
// arena; the budget of the options is the streams'. Whatever cannot be streamed stays as it is,
// with a line in `notes`; where the input is requested to come from elsewhere that is an error.
// Fails and is checked as compile::Compile(), with a step "stream".
Result<compile::Compiled> CompileStreamed(const graph::Graph& graph,
                                          const compile::Options& options,
                                          const Settings& settings);

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
// All of them that the search knows, however much work they are (Settings::max_macs_permille does
// not count). Fails where the graph has several entries or cannot be streamed.
Result<StreamFront> FindStreamFront(const graph::Graph& graph, const compile::Options& options,
                                    const Settings& settings);

}  // namespace neap::stream
