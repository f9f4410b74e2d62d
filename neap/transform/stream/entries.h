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

// Plans every entry of `layers` as a stream and keeps the stream where it needs less memory or
// where the input is not in the arena. `layers`: a plan of `graph`, compiled under the profile
// neap. Limits and budget of the options are the streams'. An entry that cannot be streamed stays
// as it is, with a line in `notes`; where the input is requested to come from elsewhere that is an
// error. The result has passed check::CheckPlan() (compile::Options::check) and has a step
// "stream".
Result<compile::Compiled> StreamEntries(const graph::Graph& graph, compile::Compiled layers,
                                        const compile::Options& options, const Settings& settings);

// compile::Compile() with a part of the limits, then StreamEntries() with the rest.
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
