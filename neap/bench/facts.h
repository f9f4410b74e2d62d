// SPDX-License-Identifier: Apache-2.0
//
// What the SERENITY suite measures about a graph. Private to neap/bench.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "neap/base/result.h"
#include "neap/bench/bench.h"
#include "neap/bench/cells.h"
#include "neap/compile/compile.h"
#include "neap/graph/graph.h"

namespace neap::bench {

// A graph in one order of least peak, or in that of its construction.
struct Measured {
  compile::Compiled compiled;  // profile ideal, placed
  std::int64_t operators = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t bound_bytes = 0;
  std::int64_t arena_bytes = 0;         // Neap's addresses
  std::int64_t tflite_arena_bytes = 0;  // LiteRT's planner, given the order
  double seconds = 0;                   // of the order search
  bool optimal() const { return peak_bytes == bound_bytes; }
};

// `order`: "file" or a strategy; `max_states` 0: a few seconds' worth.
Result<Measured> Measure(const graph::Graph& graph, const std::string& order,
                         const RunOptions& options, std::int64_t max_states);

struct Ordered {
  std::int64_t peak_bytes = 0;
  std::int64_t bound_bytes = 0;
  std::int64_t states = 0;
  double seconds = 0;
  bool proven = false;
};
// The order search alone, on one thread.
Result<Ordered> SearchOrder(const graph::Graph& graph, const std::string& order,
                            const RunOptions& options, std::int64_t max_states,
                            plan::Runtime runtime = plan::Runtime::kIdeal);

// A cell after the rewritings that lower its peak most, with SERENITY's accounting: partial sums
// are added in place and have the size of the output.
struct RewrittenCell {
  graph::Graph graph;
  Measured measured;  // of Neap's executor, which alone adds in place; no arena of TFLite's
  std::int64_t lower_bound_bytes = 0;  // no choice of rewritings has a smaller peak
  std::int64_t applications = 0;
};
// nullopt: nothing applies. The choice is made in float32, whose sizes are four times those of
// 8 bits.
Result<std::optional<RewrittenCell>> Rewrite(const Cell& cell, const RunOptions& options);

}  // namespace neap::bench
