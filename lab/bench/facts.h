// SPDX-License-Identifier: Apache-2.0
//
// The measurements of the SERENITY suite. Private to lab/bench.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lab/bench/bench.h"
#include "lab/bench/cells.h"
#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/graph/graph.h"

namespace neap::bench {

// A graph in one order of minimum peak, or in that of its construction.
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

// `max_states` 0: a few seconds' worth.
Result<Measured> Measure(const graph::Graph& graph, compile::OrderStrategy order,
                         const RunOptions& options, std::int64_t max_states);

struct Ordered {
  std::int64_t peak_bytes = 0;
  std::int64_t bound_bytes = 0;
  std::int64_t states = 0;
  double seconds = 0;
  bool proven = false;
};
// The order search alone, on one thread.
Result<Ordered> SearchOrder(const graph::Graph& graph, compile::OrderStrategy order,
                            const RunOptions& options, std::int64_t max_states,
                            plan::Runtime runtime = plan::Runtime::kIdeal);

enum class Rewriting : std::uint8_t {
  kExact,     // bitwise rules; partial sums of integers have 4 bytes an element
  kNarrow,    // any rule; partial sums of integers have the size of the output: 1 byte an element
  kSerenity,  // the paper's rewriter: its rules wherever they fit, with the sizes of kNarrow
};

// A graph after rewriting (kExact, kNarrow: by the rewrites that lower its peak most). Partial sums
// are added in place.
struct RewrittenCell {
  graph::Graph graph;
  Measured measured;  // of Neap's executor, which alone adds in place; no arena of TFLite's
  // No choice of rewritings has a smaller peak; kSerenity: no order of this graph has.
  std::int64_t lower_bound_bytes = 0;
  std::int64_t applications = 0;
  bool bitwise = true;  // every rule that was applied computes the same bytes
};
// nullopt: no rule applies.
Result<std::optional<RewrittenCell>> Rewrite(const graph::Graph& graph, Rewriting how,
                                             const RunOptions& options);
// The same graph without rewriting under the profile of Neap's executor, whose element-wise
// operators work in place: the part of the reduction that is not due to rewriting.
Result<Measured> MeasureInExecutor(const graph::Graph& graph, const RunOptions& options);

// The error of a rewritten graph: both graphs run on the same seeded inputs.
struct Difference {
  std::int64_t outputs = 0;    // elements
  std::int64_t different = 0;  // of these
  std::int64_t largest = 0;    // in steps of 8 bits
};
// `graph` and `rewritten` have the same int8 outputs and their weights.
Result<Difference> Compare(const graph::Graph& graph, const graph::Graph& rewritten,
                           std::uint64_t seed);

}  // namespace neap::bench
