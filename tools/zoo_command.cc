// SPDX-License-Identifier: Apache-2.0
//
// neap zoo: networks from their published definitions, as files with seeded weights.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lab/zoo/tflite.h"
#include "lab/zoo/zoo.h"
#include "neap/base/bytes.h"
#include "neap/base/nearest.h"
#include "neap/compile/compile.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "tools/common.h"
#include "tools/zoo_model.h"

namespace neap::tools {
namespace {

constexpr const char* kZooFooter =
    "Examples:\n"
    "  neap zoo --list\n"
    "  neap zoo randwire-ws --seed 1 --nodes 32 -o randwire.onnx\n"
    "  neap zoo mobilenet-v2 --width-multiplier 0.35 --resolution 96 --int8 -o small.tflite\n"
    "  neap zoo ds-cnn --format tflite -o - > ds-cnn.tflite\n";

struct ZooCommandOptions {
  std::string name;
  std::string out;
  std::string format;  // "": by the extension of `out`
  std::string width_multiplier;
  bool int8 = false;
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
  std::string formats;
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
  row.formats = zoo::ConvertToTflite(network.graph) ? "onnx tflite int8" : "onnx";
  return row;
}

Status PrintList() {
  std::vector<Row> rows = {
      {"network", "", "operators", "parameters", "MACs", "peak bytes", "formats"}};
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
                       row.multiply_accumulates, macs, row.peak, peak, row.formats);
    if (!row.summary.empty()) out += Hanging("    ", std::string(row.summary));
  }
  return Print(stdout, out);
}

// "0.35" as 350.
Result<std::int64_t> ThousandthsOf(const std::string& text) {
  constexpr std::size_t kMaxDigits = 3;
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits = text.substr(0, point);
  std::string fraction = point < text.size() ? text.substr(point + 1) : "";
  const bool whole = !digits.empty() && digits.size() <= kMaxDigits &&
                     fraction.size() <= kMaxDigits &&
                     (digits + fraction).find_first_not_of("0123456789") == std::string::npos;
  if (!whole || (point < text.size() && fraction.empty())) {
    return Fail(UsageError("--width-multiplier is '" + text +
                           "', expected a number with at most three decimals"));
  }
  fraction.resize(kMaxDigits, '0');
  return std::stoll(digits + fraction);
}

// ONNX unless the option or the name of the file selects another format.
Result<formats::Format> FormatOf(const ZooCommandOptions& options) {
  const auto dot = options.out.find_last_of("./");
  const std::string extension = dot == std::string::npos ? "" : options.out.substr(dot);
  const bool tflite = options.format.empty() ? extension == ".tflite" || extension == ".lite"
                                             : options.format == "tflite";
  if (tflite) return formats::Format::kTflite;
  if (!options.int8) return formats::Format::kOnnx;
  Diagnostic error = UsageError("--int8 requires .tflite");
  error.hint = "write to FILE.tflite or use --format tflite";
  return Fail(std::move(error));
}

Status CheckUsage(const ZooCommandOptions& options) {
  const auto recipes = zoo::Recipes();
  const auto is_it = [&](const zoo::Recipe& recipe) { return recipe.name == options.name; };
  Diagnostic diagnostic = UsageError("");
  if (options.name.empty()) {
    diagnostic.message = "expected a NAME or --list";
  } else if (std::none_of(recipes.begin(), recipes.end(), is_it)) {
    diagnostic.message = "there is no network '" + options.name + "'";
    std::vector<std::string_view> names;
    for (const zoo::Recipe& recipe : recipes) names.push_back(recipe.name);
    diagnostic.hint = DidYouMean(options.name, names) + " ";
  } else if (options.out.empty()) {
    diagnostic.message = "expected -o FILE";
  }
  if (diagnostic.message.empty()) return {};
  if (diagnostic.hint == " ") diagnostic.hint.clear();
  diagnostic.hint += "see 'neap zoo --list' and 'neap zoo --help'";
  return Fail(std::move(diagnostic));
}

Status MakeNetwork(ZooCommandOptions options) {
  if (options.list) return PrintList();
  NEAP_CHECK_OK(CheckUsage(options));
  NEAP_TRY(const formats::Format format, FormatOf(options));
  if (!options.width_multiplier.empty()) {
    NEAP_TRY(options.zoo.width_thousandths, ThousandthsOf(options.width_multiplier));
    if (options.zoo.width_thousandths == 0) {
      return Fail(UsageError("--width-multiplier is 0, expected a positive number"));
    }
  }
  NEAP_CHECK_OK(CheckOutput(options.out, options.force));
  NEAP_TRY(const ZooModel model, MakeZooModel(options.name, options.zoo, format, options.int8));
  NEAP_CHECK_OK(io::WriteFile(options.out, std::span(model.bytes), options.force));
  if (options.quiet || options.out == "-") return {};
  return Print(stdout,
               fmt::format("wrote {}: {} operators, {}\n", report::Printable(options.out, 4096),
                           FormatCount(report::CountOf(model.graph).operators),
                           FormatBytes(static_cast<std::int64_t>(model.bytes.size()))));
}

}  // namespace

int ZooCommand(std::vector<std::string> args) {
  ZooCommandOptions options;
  CLI::App app("Write a network from its published definition, with seeded random weights.",
               "neap zoo");
  app.footer(kZooFooter);
  app.add_option("NAME", options.name, "name of a network; see --list");
  app.add_flag("--list", options.list,
               "list all networks: operators, parameters, MACs, peak in the file order of "
               "the .onnx file, formats; below each its source");
  app.add_option("-o,--output", options.out, "write the model; - is stdout")->option_text("FILE");
  app.add_option("--format", options.format, "default: by the extension of FILE, otherwise onnx")
      ->option_text("onnx|tflite")
      ->check(CLI::IsMember({"onnx", "tflite"}));
  app.add_flag("--int8", options.int8,
               "with tflite: 8-bit weights and activations, inputs and outputs included");
  AddSeedOption(&app, "--seed", &options.zoo.seed, "seed of random wiring and weights; default: 0");
  app.add_option("--width", options.zoo.width, "channels of the first cell; default: as published")
      ->option_text("C")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--nodes", options.zoo.nodes, "nodes of a random cell; default: as published")
      ->option_text("N")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--width-multiplier", options.width_multiplier,
                 "mobilenet-v1 and -v2: channels relative to the published ones")
      ->option_text("X");
  app.add_option("--resolution", options.zoo.resolution,
                 "mobilenet-v1 and -v2: height and width of the input; default: 224")
      ->option_text("N")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--force", options.force, "overwrite an existing output");
  app.add_flag("--quiet", options.quiet, "print only errors");
  if (const auto code = Parse(&app, std::move(args))) return *code;
  const Status status = MakeNetwork(options);
  return status ? kDone : Report("zoo", status.error());
}

}  // namespace neap::tools
