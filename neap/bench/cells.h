// SPDX-License-Identifier: Apache-2.0
//
// The cells that SERENITY evaluates, as the zoo builds them. Private to neap/bench.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::bench {

// What the paper prints in figure 15, in thousands of bytes.
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

// In the order of the figure.
Result<std::vector<Cell>> SerenityCells();
// The whole of SwiftNet, in 8 bits.
Result<Cell> SwiftnetNetwork();

// A network of the zoo in TensorFlow Lite's operators, float32, without weights.
Result<graph::Graph> TfliteNetwork(std::string_view name);
// Every activation takes one byte an element.
graph::Graph InBytes(graph::Graph graph);

// The operators whose first output is named `prefix`...; what they read from others are the inputs,
// what others read or the network returns are the outputs.
graph::Graph PartOf(const graph::Graph& graph, std::string_view prefix);

}  // namespace neap::bench
