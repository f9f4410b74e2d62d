// SPDX-License-Identifier: Apache-2.0
#include "lab/bench/networks.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "lab/bench/suites.h"
#include "lab/zoo/tflite.h"
#include "lab/zoo/zoo.h"
#include "neap/base/check.h"

#include "neap/ops/op_table.h"

namespace neap::bench {
namespace {

using graph::ElementType;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

constexpr std::string_view kInt8 = ".int8";

// The seeds differ so that the two RandWire networks are two draws, fixed before measuring.
std::uint64_t SeedOf(std::string_view network) { return network == "randwire-ws-cifar100" ? 1 : 0; }

bool HasBias(const graph::Op& op) {
  return Is(op, OpKind::kConv2d, OpKind::kDepthwiseConv2d, OpKind::kFullyConnected,
            OpKind::kTransposeConv);
}

double NumberOf(const Value& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value.value)) {
    return static_cast<double>(*count);
  }
  if (const auto* real = std::get_if<double>(&value.value)) return *real;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

graph::Graph Quantized(graph::Graph graph) {
  for (graph::Subgraph& subgraph : graph.subgraphs) {
    IdVector<TensorId, char> bias(subgraph.tensors.size(), 0);
    for (const graph::Op& op : subgraph.ops) {
      if (!HasBias(op) || op.inputs.size() < 3) continue;
      const TensorId last = op.inputs.back();
      if (last.valid() && subgraph.tensors[last].constant) bias[last] = 1;
    }
    for (const TensorId id : subgraph.tensors.Ids()) {
      graph::Tensor& tensor = subgraph.tensors[id];
      if (tensor.type != ElementType::kFloat32) continue;
      tensor.type = bias[id] != 0 ? ElementType::kInt32 : ElementType::kInt8;
      tensor.data.reset();
      tensor.quantization = graph::Quantization{{1.0F}, {0}, 0};
    }
  }
  return graph;
}

Result<graph::Graph> TfliteNetwork(std::string_view name) {
  zoo::ZooOptions options;
  options.weights = false;
  options.seed = SeedOf(name);
  NEAP_TRY(const graph::Graph network, zoo::Build(name, options));
  return zoo::ConvertToTflite(network);
}

Result<graph::Graph> NetworkNamed(std::string_view name) {
  if (!name.ends_with(kInt8)) return zoo::Build(name, {.weights = false});
  NEAP_TRY(graph::Graph network, TfliteNetwork(name.substr(0, name.size() - kInt8.size())));
  graph::Graph quantized = Quantized(std::move(network));
  NEAP_CHECK_OK(graph::Verify(quantized));
  return quantized;
}

Status ForEachNetwork(
    const Networks& networks, const RunOptions& options,
    const std::function<Status(const std::string& name, const graph::Graph& graph)>& add) {
  std::vector<std::string> names(networks.quick.begin(), networks.quick.end());
  if (!options.quick) names.insert(names.end(), networks.more.begin(), networks.more.end());
  for (const std::string& name : names) {
    ReportProgress(options, name);
    NEAP_TRY(const graph::Graph graph, NetworkNamed(name));
    NEAP_CHECK_OK(add(name, graph));
  }
  return {};
}

std::size_t ColumnOf(const Table& table, std::string_view key) {
  const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                  [&](const Column& column) { return column.key == key; });
  NEAP_CHECK(found != table.columns.end(), "a table has no column '" + std::string(key) + "'");
  return static_cast<std::size_t>(found - table.columns.begin());
}

picture::Bars BarsOf(const Table& table, const OverBase& wanted) {
  picture::Bars bars;
  bars.label = wanted.label;
  bars.unit = "x";
  for (const std::string& key : wanted.columns) {
    bars.series.push_back(table.columns[ColumnOf(table, key)].title);
  }
  for (const auto& row : table.rows) {
    if (!wanted.only_column.empty() &&
        std::get<std::string>(row[ColumnOf(table, wanted.only_column)].value) != wanted.only_text) {
      continue;
    }
    bars.groups.push_back(std::get<std::string>(row.front().value));
    std::vector<double>& group = bars.values.emplace_back();
    const double base = NumberOf(row[ColumnOf(table, wanted.base)]);
    for (const std::string& key : wanted.columns) {
      const double height = NumberOf(row[ColumnOf(table, key)]) / base;
      group.push_back(base > 0 ? height : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return bars;
}

Report ReportOf(ReportText text, Table table) {
  Report report;
  report.suite = std::move(text.suite);
  report.title = std::move(text.title);
  report.intro = std::move(text.intro);
  Section section;
  section.id = "zoo";
  section.title = "Networks of the zoo";
  section.plots.push_back(
      {table.id + "-plot", std::move(text.plot_title), BarsOf(table, text.plot)});
  section.tables.push_back(std::move(table));
  report.sections.push_back(std::move(section));
  return report;
}

Result<Report> RunNetworks(const Networks& networks, const RunOptions& options,
                           AddNetworkFunction add, ReportText text, Table table) {
  std::vector<Quality> qualities;
  const auto add_rows = [&](const std::string& name, const graph::Graph& graph) {
    return add(name, graph, options, &table, &qualities);
  };
  NEAP_CHECK_OK(ForEachNetwork(networks, options, add_rows));
  Report report = ReportOf(std::move(text), std::move(table));
  report.qualities = std::move(qualities);
  return report;
}

}  // namespace neap::bench
