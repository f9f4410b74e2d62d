// SPDX-License-Identifier: Apache-2.0
//
// neap run: executes a model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/execute/npz.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "tools/common.h"

namespace neap::tools {
namespace {

struct RunOptions {
  std::string model;
  std::string inputs;
  std::string outputs;
  std::string save_inputs;
  std::uint64_t seed = 0;
  std::vector<std::string> dims;
};

Result<int> Run(const RunOptions& options) {
  formats::LoadOptions load_options;
  NEAP_TRY(load_options.dims, ParseDims(options.dims));
  NEAP_TRY(const formats::SourceModel source, formats::Load(options.model, load_options));
  const graph::Subgraph& main = source.graph.subgraphs[graph::SubgraphId(0)];
  std::vector<execute::Value> inputs;
  if (options.inputs.empty()) {
    NEAP_TRY(inputs, execute::RandomInputs(main, options.seed, 1 << 30));
  } else {
    NEAP_TRY(const auto file, io::ReadFile(options.inputs));
    NEAP_TRY(auto arrays, execute::ReadNpz(*file, 1 << 30));
    NEAP_TRY(inputs, execute::MatchInputs(main, std::move(arrays)));
  }
  execute::EvaluateOptions evaluate;
  const Stopwatch watch;
  NEAP_TRY(auto outputs, execute::Evaluate(source.graph, graph::SubgraphId(0), inputs, evaluate));
  fmt::print(stderr, "{:.3f} s\n", watch.Seconds());
  const auto names = execute::NamesOf(main, main.outputs);
  std::vector<execute::NamedValue> named;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    named.push_back({names[i], std::move(outputs[i])});
  }
  if (!options.outputs.empty()) {
    NEAP_TRY(const auto file, execute::WriteNpz(named));
    NEAP_CHECK_OK(io::WriteFile(options.outputs, file, true));
  }
  return kDone;
}

}  // namespace

int RunCommand(std::vector<std::string> args) {
  RunOptions options;
  CLI::App app("Execute a model.", "neap run");
  app.add_option("MODEL", options.model, "the model")->required();
  app.add_option("--inputs", options.inputs, "the inputs");
  app.add_option("--outputs", options.outputs, "the outputs");
  app.add_option("--random-inputs", options.seed, "seed");
  app.add_option("--dim", options.dims, "value of a symbolic dimension")
      ->option_text("NAME=N")
      ->allow_extra_args(false);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  const Result<int> code = Run(options);
  return code ? *code : Report("run", code.error());
}

}  // namespace neap::tools
