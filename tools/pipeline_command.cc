// SPDX-License-Identifier: Apache-2.0
//
// neap pipeline: stages for a pipeline of accelerators.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "lab/zoo/zoo.h"
#include "neap/base/bytes.h"
#include "neap/io/file.h"
#include "tools/common.h"
#include "tools/pipeline_report.h"
#include "tools/weights_file.h"

namespace neap::tools {
namespace {

constexpr const char* kPipelineFooter =
    "Examples:\n"
    "  neap pipeline model.tflite --stages 4                the fastest pipeline, with its proof\n"
    "  neap pipeline model.tflite --stages 4 --method compiler\n"
    "  neap pipeline model.onnx --stages 3 -o parts         a model for every stage\n"
    "  neap pipeline resnet-152 --layers --stages 6 --json  a network of the zoo, by its layers\n"
    "\n"
    "Times are modelled, with a device model fitted to public measurements; nothing here has run\n"
    "on such a device (docs/algorithms/pipelines.md). The method `compiler` is the rule that\n"
    "edgetpu_compiler documents, not the compiler itself.\n"
    "\n"
    "Exit: 0 done, 1 bad input or failure, 2 usage, 3 no assignment is within the limits (with\n"
    "--json a report of status infeasible), or none was found and nothing is proven, 4 no proof\n"
    "within the limits of the search (only with --require-optimal), 130 interrupted: the best "
    "found\n"
    "is reported.\n";

struct PipelineOptions {
  ModelOptions model;
  OutputOptions output;
  std::int64_t stages = 0;
  std::string device = "edgetpu-usb";
  std::string method = "exact";
  std::string weights;  // "": the network that comes with the program
  std::string objective = "time";
  bool children_together = false;
  std::string parameter_limit;
  std::string activation_limit;
  bool layers = false;
  std::string folder;  // -o; "": none
  partition::SimulationOptions simulation;
  bool no_simulation = false;
  std::int64_t max_states = 0;  // 0: not given
  double time_limit_seconds = 0;
  bool require_optimal = false;
  bool force = false;
};

Result<std::int64_t> LimitOf(const char* option, const std::string& text) {
  if (text.empty()) return -1;
  return ParseSize(option, text);
}

Result<stages::AssignOptions> ParseOptions(const PipelineOptions& options) {
  if (options.folder == "-") return Fail(UsageError("-o is a folder, not standard output"));
  stages::AssignOptions assign;
  const stages::Accelerator* const device = stages::AcceleratorNamed(options.device);
  if (device == nullptr) {
    Diagnostic error = UsageError("--device '" + options.device + "' is not a device");
    error.hint = "known:";
    for (const stages::Accelerator& known : stages::Accelerators())
      error.hint += " " + std::string(known.name);
    return Fail(std::move(error));
  }
  const auto method = stages::MethodNamed(options.method);
  if (!method) {
    Diagnostic error = UsageError("--method '" + options.method + "' is not a method");
    error.hint = "known:";
    for (const auto& known : stages::Methods()) error.hint += " " + std::string(known.name);
    return Fail(std::move(error));
  }
  NEAP_CHECK_OK(CheckTimeLimit(options.time_limit_seconds));
  assign.method = *method;
  if (!options.weights.empty() && assign.method != stages::Method::kLearned) {
    return Fail(UsageError("--weights requires --method learned"));
  }
  NEAP_TRY(assign.network, LoadWeights(options.weights, learn::Task::kStages));
  assign.lower.accelerator = *device;
  assign.lower.stages = static_cast<partition::Stage>(options.stages);
  if (options.objective == "parameters") assign.lower.objective = stages::Objective::kParameters;
  assign.lower.children_together = options.children_together;
  assign.lower.shared_link = options.simulation.shared_link;
  assign.simulation = options.simulation;
  NEAP_TRY(assign.lower.parameter_limit_bytes,
           LimitOf("--parameter-limit", options.parameter_limit));
  NEAP_TRY(assign.activation_limit_bytes, LimitOf("--activation-limit", options.activation_limit));
  if (assign.activation_limit_bytes >= 0 && assign.method != stages::Method::kExact) {
    return Fail(UsageError("--activation-limit requires --method exact"));
  }
  assign.limits.max_seconds = options.time_limit_seconds;
  assign.limits.max_states = options.max_states;
  if (options.max_states == 0 && options.time_limit_seconds <= 0) {
    assign.limits.max_states = kStatesForAFewSeconds;
  }
  return assign;
}

bool IsNetwork(const std::string& name) {
  std::error_code error;
  const auto recipes = zoo::Recipes();
  return !std::filesystem::exists(name, error) &&
         std::any_of(recipes.begin(), recipes.end(),
                     [&](const zoo::Recipe& recipe) { return recipe.name == name; });
}

// A network of the zoo; with its weights, and as a file, where its stages are to be written.
Result<formats::SourceModel> FromZoo(const PipelineOptions& options) {
  if (options.layers && !options.folder.empty()) {
    return Fail(
        UsageError("--layers cannot be combined with -o: layers are not operators of a file"));
  }
  if (!options.model.dims.empty())
    return Fail(UsageError("--dim is not applicable to networks of the zoo"));
  const bool whole = !options.folder.empty();
  NEAP_TRY(zoo::Network network, zoo::BuildNetwork(options.model.input, {.weights = whole}));
  if (whole) {
    NEAP_TRY(std::vector<std::byte> bytes, formats::ExportOnnx(network.graph, options.model.input));
    return formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(std::move(bytes)),
                              options.model.input + ".onnx", {.dims = {}, .weights = true});
  }
  formats::SourceModel source;
  source.path = options.model.input;
  source.graph = std::move(options.layers ? network.layers : network.graph);
  if (source.graph.subgraphs.empty()) {
    return Fail(UsageError("'" + options.model.input + "' has no layer graph"));
  }
  return source;
}

Result<formats::SourceModel> LoadModel(const PipelineOptions& options) {
  if (IsNetwork(options.model.input)) return FromZoo(options);
  if (options.layers) {
    Diagnostic error = UsageError("--layers requires a network of the zoo");
    error.hint = "see 'neap zoo --list'";
    return Fail(std::move(error));
  }
  formats::LoadOptions load;
  NEAP_TRY(load.dims, ParseDims(options.model.dims));
  load.weights = !options.folder.empty();
  return formats::Load(options.model.input, load);
}

// Where the stages go: FOLDER/NAME.stage1.tflite.
class StageWriter {
 public:
  StageWriter(const PipelineOptions& options, const formats::SourceModel& source)
      : options_(options), source_(source) {}

  Result<std::vector<std::string>> Write(const stages::Assigned& assigned) const {
    // Everything is made before the first file is touched.
    std::vector<std::vector<std::byte>> models;
    std::vector<std::string> paths;
    const std::filesystem::path name =
        source_.path == "-" ? "model" : std::filesystem::path(source_.path).stem();
    const char* const extension = source_.format == formats::Format::kOnnx ? ".onnx" : ".tflite";
    for (std::size_t i = 0; i < assigned.stages.size(); ++i) {
      const stages::StagePart& part = assigned.stages[i].part;
      NEAP_TRY(std::vector<std::byte> bytes,
               formats::WritePart(source_, {part.ops, part.inputs, part.outputs}));
      models.push_back(std::move(bytes));
      const std::string file = name.string() + ".stage" + std::to_string(i + 1) + extension;
      paths.push_back((std::filesystem::path(options_.folder) / file).string());
    }
    std::error_code error;
    std::filesystem::create_directory(options_.folder, error);
    if (!std::filesystem::is_directory(options_.folder)) {
      Diagnostic diagnostic = IoError("is not a folder and cannot be created");
      diagnostic.file = options_.folder;
      return Fail(std::move(diagnostic));
    }
    for (const std::string& path : paths) NEAP_CHECK_OK(CheckOutput(path, options_.force));
    for (std::size_t i = 0; i < models.size(); ++i) {
      NEAP_CHECK_OK(io::WriteFile(paths[i], std::span<const std::byte>(models[i]), options_.force));
    }
    return paths;
  }

 private:
  const PipelineOptions& options_;
  const formats::SourceModel& source_;
};

Result<int> Run(const PipelineOptions& options) {
  const Stopwatch watch;
  NEAP_TRY(stages::AssignOptions assign, ParseOptions(options));
  NEAP_TRY(const formats::SourceModel source, LoadModel(options));
  PipelineReport report;
  report.read_seconds = watch.Seconds();
  report.model = source.path;
  report.model_sha256 = source.sha256;
  report.notes = source.notes;
  report.graph = &source.graph;
  report.options = &assign;
  if (source.graph.subgraphs.size() > 1 && source.graph.signatures.size() > 1) {
    report.notes.emplace_back("only the first subgraph is planned, not the other signatures");
  }
  assign.limits.stop = StopOnInterrupt();
  std::optional<stages::Infeasible> infeasible;
  assign.infeasible = &infeasible;
  auto assigned = stages::Assign(source.graph, assign);
  if (!assigned) {
    report.total_seconds = watch.Seconds();
    if (infeasible && options.output.json) {
      NEAP_CHECK_OK(Print(stdout, InfeasibleJson(report, *infeasible)));
    }
    Diagnostic error = WithAllSymbols(std::move(assigned).error(), source.graph);
    if (error.file.empty()) error.file = source.path;
    return Fail(std::move(error));
  }
  report.assigned = &*assigned;
  report.simulated = options.simulation;
  if (!options.no_simulation) {
    report.simulation = partition::Simulate(assigned->time_problem, assigned->assignment.stage_of,
                                            options.simulation);
  }
  if (!options.folder.empty()) {
    NEAP_TRY(report.files, StageWriter(options, source).Write(*assigned));
  }
  report.total_seconds = watch.Seconds();
  if (options.output.json) {
    NEAP_CHECK_OK(Print(stdout, PipelineJson(report)));
  } else if (!options.output.quiet) {
    NEAP_CHECK_OK(Print(stdout, PipelineText(report, StyleFor(stdout, options.output))));
  }
  if (assigned->interrupted && assign.limits.stop->load()) return kInterrupted;
  return options.require_optimal && !assigned->optimal() ? kUnproven : kDone;
}

void AddOptions(CLI::App* app, PipelineOptions* options) {
  app->add_option("INPUT", options->model.input,
                  "model: .tflite, .onnx or graph JSON, or a network of the zoo by its name")
      ->required();
  app->add_option("--stages", options->stages, "number of accelerators; some may stay unused")
      ->option_text("K")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{partition::kMaxStages}));
  std::string devices = "default: edgetpu-usb";
  for (const stages::Accelerator& device : stages::Accelerators()) {
    devices += fmt::format("\n{}: {}", device.name, device.summary);
  }
  app->add_option("--device", options->device, devices)->option_text("NAME");
  std::string methods = "default: exact";
  for (const auto& method : stages::Methods()) {
    methods += fmt::format("\n{}: {}", method.name, method.summary);
  }
  app->add_option("--method", options->method, methods)->option_text("NAME");
  app->add_option("--weights", options->weights,
                  "with --method learned: weights written by neap-train; default: built in")
      ->option_text("FILE");
  app->add_option("--objective", options->objective,
                  "minimise the time of the slowest stage (time) or the largest parameter memory "
                  "(parameters); default: time")
      ->option_text("time|parameters")
      ->check(CLI::IsMember({"time", "parameters"}));
  app->add_flag("--children-together", options->children_together,
                "all consumers of an operator in one stage, a rule of the Edge TPU");
  app->add_option("--parameter-limit", options->parameter_limit,
                  "maximum parameters of a stage, such as 8MiB or 7900000")
      ->option_text("SIZE");
  app->add_option("--activation-limit", options->activation_limit,
                  "maximum activations of a stage, in its best order")
      ->option_text("SIZE");
  app->add_flag("--layers", options->layers,
                "assign the layers of a network of the zoo, up to the classifier");
  app->add_option("--dim", options->model.dims, "value of a symbolic dimension; may be repeated")
      ->option_text("NAME=N")
      ->allow_extra_args(false);
  app->add_option("-o,--output", options->folder,
                  "folder for the model of every stage, NAME.stage1.tflite; created if missing")
      ->option_text("FOLDER");
}

void AddSearchOptions(CLI::App* app, PipelineOptions* options) {
  app->add_option("--items", options->simulation.items,
                  "items that the simulation runs; default: 1000")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, partition::kMaxItems));
  app->add_option("--queue", options->simulation.queue_items,
                  "maximum number of items waiting between two stages; default: 2")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, partition::kMaxItems));
  app->add_flag("--shared-link", options->simulation.shared_link,
                "all accelerators share one link; the simulated time is minimised");
  app->add_flag("--no-simulation", options->no_simulation, "do not simulate");
  app->add_option(
         "--max-states", options->max_states,
         "maximum number of states, the same on every machine; default: enough for some seconds")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  app->add_option("--time-limit", options->time_limit_seconds,
                  "time limit of the search; results may then differ between runs; default: none")
      ->option_text("SECONDS");
  app->add_flag("--require-optimal", options->require_optimal,
                "exit with 4 unless the result is proven optimal");
  app->add_flag("--force", options->force, "overwrite existing files in FOLDER");
  AddOutputOptions(app, &options->output);
}

}  // namespace

int PipelineCommand(std::vector<std::string> args) {
  PipelineOptions options;
  CLI::App app(
      "Assign the operators of a model to stages of a pipeline of accelerators, such that the\n"
      "slowest stage is as fast as possible.",
      "neap pipeline");
  app.footer(kPipelineFooter);
  AddOptions(&app, &options);
  AddSearchOptions(&app, &options);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  const Result<int> code = Run(options);
  return code ? *code : Report("pipeline", code.error());
}

}  // namespace neap::tools
