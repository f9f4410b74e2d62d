// SPDX-License-Identifier: Apache-2.0
//
// The cells that SERENITY evaluates, as the zoo builds them. Private to neap/bench.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::bench {

// The numbers of figure 15 of the paper, in thousands of bytes.
struct PaperPeaks {
  std::int64_t tflite_kb = 0;
  std::int64_t scheduled_kb = 0;
  std::int64_t rewritten_kb = 0;
};

struct Cell {
  std::string id;    // "swiftnet-a"
  std::string name;  // "SwiftNet A"
  PaperPeaks paper;
  bool int8 = false;
  graph::Graph graph;        // operators of TensorFlow Lite, without weights
  graph::Graph float_graph;  // the same in float32
};

// The rewritten graph: the cell in float32, or in 8 bits with the types that rules require.
graph::Graph RewritableOf(const Cell& cell);

// In the order of the figure.
Result<std::vector<Cell>> SerenityCells();
// The cell of DARTS, cut out of the network in three ways, in float32.
struct Variant {
  std::string name;
  graph::Graph graph;
};
// As it is; without the convolutions of its inputs and with that of the next cell; the same where
// no other cell reads its output.
Result<std::vector<Variant>> DartsVariants();
// The whole of SwiftNet, in 8 bits.
Result<Cell> SwiftnetNetwork();
// The three cells of SwiftNet, quantised with seeded weights: they can be executed. In the order of
// the figure.
Result<std::vector<Cell>> RunnableSwiftnetCells();

// Every activation takes one byte an element.
graph::Graph InBytes(graph::Graph graph);

// The operators whose first output is named `prefix`...; tensors of other operators that they read
// are the inputs, tensors with other consumers or returned by the network are the outputs.
graph::Graph PartOf(const graph::Graph& graph, std::string_view prefix);
// The same with the operators that `wanted` accepts by the name of their first output.
graph::Graph PartOfNames(const graph::Graph& graph,
                         const std::function<bool(const std::string& name)>& wanted);

}  // namespace neap::bench
