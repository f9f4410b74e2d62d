// SPDX-License-Identifier: Apache-2.0
//
// neap zoo: networks from their published definitions, as .onnx files with seeded weights.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/compile/compile.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/zoo/zoo.h"
#include "tools/common.h"

namespace neap::tools {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  neap zoo --list\n"
    "  neap zoo randwire-ws --seed 1 --nodes 32 -o randwire.onnx\n";

struct ZooCommandOptions {
  std::string name;
  std::string out;
  bool list = false;
  bool force = false;
  bool quiet = false;
  zoo::ZooOptions zoo;
};

// One network, built without its weights, in the order in which it would be written.
struct Row {
  std::string_view name;
  std::string_view summary;
  std::string operators;
  std::string parameters;
  std::string multiply_accumulates;
  std::string peak;
};

Result<Row> RowOf(const zoo::Recipe& recipe) {
  NEAP_TRY(const zoo::Network network, zoo::BuildNetwork(recipe.name, {.weights = false}));
  NEAP_TRY(const auto inspections, compile::Inspect(network.graph, plan::Runtime::kIdeal));
  Row row;
  row.name = recipe.name;
  row.summary = recipe.summary;
  row.operators = FormatCount(report::CountOf(network.graph).operators);
  row.parameters = FormatCount(network.facts.published_parameters);
  row.multiply_accumulates = FormatCount(network.facts.multiply_accumulates);
  row.peak = FormatCount(inspections.front().peak_bytes);
  return row;
}

Status PrintList() {
  std::vector<Row> rows = {{"network", "source", "operators", "parameters", "MACs", "peak bytes"}};
  for (const zoo::Recipe& recipe : zoo::Recipes()) {
    NEAP_TRY(Row row, RowOf(recipe));
    rows.push_back(std::move(row));
  }
  const auto widest = [&](auto field) {
    std::size_t width = 0;
    for (const Row& row : rows) width = std::max(width, (row.*field).size());
    return width;
  };
  const std::size_t name = widest(&Row::name);
  const std::size_t operators = widest(&Row::operators);
  const std::size_t parameters = widest(&Row::parameters);
  const std::size_t macs = widest(&Row::multiply_accumulates);
  const std::size_t peak = widest(&Row::peak);
  std::string out;
  for (const Row& row : rows) {
    out += fmt::format("{:<{}}  {:>{}}  {:>{}}  {:>{}}  {:>{}}  {}\n", row.name, name,
                       row.operators, operators, row.parameters, parameters,
                       row.multiply_accumulates, macs, row.peak, peak, row.summary);
  }
  return Print(stdout, out);
}

Status MakeNetwork(const ZooCommandOptions& options) {
  if (options.list) return PrintList();
  const auto recipes = zoo::Recipes();
  const auto is_it = [&](const zoo::Recipe& recipe) { return recipe.name == options.name; };
  Diagnostic diagnostic = UsageError("");
  if (options.name.empty()) {
    diagnostic.message = "a NAME or --list is needed";
  } else if (std::none_of(recipes.begin(), recipes.end(), is_it)) {
    diagnostic.message = "there is no network '" + options.name + "'";
  } else if (options.out.empty()) {
    diagnostic.message = "-o FILE.onnx is needed";
  }
  if (!diagnostic.message.empty()) {
    diagnostic.hint = "see 'neap zoo --list' and 'neap zoo --help'";
    return Fail(std::move(diagnostic));
  }
  NEAP_CHECK_OK(CheckOutput(options.out, options.force));
  NEAP_TRY(const graph::Graph graph, zoo::Build(options.name, options.zoo));
  NEAP_TRY(const std::vector<std::byte> bytes, formats::ExportOnnx(graph, options.name));
  NEAP_CHECK_OK(io::WriteFile(options.out, std::span(bytes), options.force));
  if (options.quiet || options.out == "-") return {};
  return Print(stdout,
               fmt::format("wrote {}: {} operators, {}\n", report::Printable(options.out, 4096),
                           FormatCount(report::CountOf(graph).operators),
                           FormatBytes(static_cast<std::int64_t>(bytes.size()))));
}

}  // namespace

int ZooCommand(std::vector<std::string> args) {
  ZooCommandOptions options;
  CLI::App app("Write a network from its published definition, with seeded random weights.",
               "neap zoo");
  app.footer(kFooter);
  app.add_option("NAME", options.name, "which network; see --list");
  app.add_flag("--list", options.list,
               "all networks: operators, parameters, multiply-accumulates, peak of live "
               "bytes in the order of the file, source");
  app.add_option("-o,--output", options.out, "the model to write; - is stdout")
      ->option_text("FILE.onnx");
  app.add_option("--seed", options.zoo.seed, "wiring of random networks, and weights; default: 0")
      ->option_text("N");
  app.add_option("--width", options.zoo.width, "channels of the first cell; default: as published")
      ->option_text("C")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--nodes", options.zoo.nodes, "nodes of a random cell; default: as published")
      ->option_text("N")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--force", options.force, "overwrite an output that exists");
  app.add_flag("--quiet", options.quiet, "no text, only errors");
  if (const auto code = Parse(&app, std::move(args))) return *code;
  const Status status = MakeNetwork(options);
  return status ? kDone : Report("zoo", status.error());
}

}  // namespace neap::tools
