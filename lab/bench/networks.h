// SPDX-License-Identifier: Apache-2.0
//
// Parts shared by suites over networks of the zoo: the networks, in 8 bits as well, and reports of
// one table with one plot. Private to lab/bench.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/bench/bench.h"
#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::bench {

// "NAME": a network of the zoo as it is built (operators of ONNX, float32); "NAME.int8": in
// TensorFlow Lite's operators and 8 bits. Neither has weights.
Result<graph::Graph> NetworkNamed(std::string_view name);

// A network of the zoo in TensorFlow Lite's operators, float32, without weights.
Result<graph::Graph> TfliteNetwork(std::string_view name);

// The types of a float graph without weights after quantisation: activations and weights of one
// byte an element, biases of four, each with a scale (all the same: only sizes count).
graph::Graph Quantized(graph::Graph graph);

struct Networks {
  std::span<const char* const> quick;  // of the short form
  std::span<const char* const> more;   // after them without --quick
};
// Calls `add` for each network, in order, until one fails.
Status ForEachNetwork(
    const Networks& networks, const RunOptions& options,
    const std::function<Status(const std::string& name, const graph::Graph& graph)>& add);

// The index of the column with this key, which exists.
std::size_t ColumnOf(const Table& table, std::string_view key);

// How a chart of a table is made: a group for each row, a bar for each of `columns` (by key), its
// height the cell over the one in `base`. Cells without numbers give no bar.
struct OverBase {
  std::string label;
  std::vector<std::string> columns;
  std::string base;
  // Rows that have another text than `only_text` in `only_column` are left out.
  std::string only_column = {};
  std::string only_text = {};
};
picture::Bars BarsOf(const Table& table, const OverBase& wanted);

// A report over networks, without the rows of its table.
struct ReportText {
  std::string suite;
  std::string title;
  std::vector<std::string> intro;
  std::string plot_title;
  OverBase plot;
};
// A report of one section "zoo" with this table and this chart of it.
Report ReportOf(ReportText text, Table table);

// Adds the rows of one network, and its qualities.
using AddNetworkFunction = Status (*)(const std::string& name, const graph::Graph& graph,
                                      const RunOptions& options, Table* table,
                                      std::vector<Quality>* qualities);
// The report on all networks: `table` has the columns, `add` makes the rows.
Result<Report> RunNetworks(const Networks& networks, const RunOptions& options,
                           AddNetworkFunction add, ReportText text, Table table);

}  // namespace neap::bench
