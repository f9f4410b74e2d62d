// SPDX-License-Identifier: Apache-2.0
//
// neap run: executes a model, on its own or as a plan says.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inline_calls.h"
#include "neap/execute/inputs.h"
#include "neap/execute/npz.h"
#include "neap/execute/run.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/report/report.h"
#include "neap/rewrite/interface.h"
#include "tools/cascading.h"
#include "tools/common.h"
#include "tools/interface.h"
#include "tools/plan_file.h"
#include "tools/rewriting.h"
#include "tools/run_trace.h"

namespace neap::tools {
namespace {

constexpr const char* kRunFooter =
    "Examples:\n"
    "  neap run model.tflite --inputs in.npz --outputs out.npz\n"
    "  neap plan model.tflite --plan plan.json\n"
    "  neap run model.tflite --plan plan.json --random-inputs 1 --compare\n"
    "\n"
    "With a plan, every tensor lies at its planned address in an arena of exactly the planned "
    "size.\n"
    "MODEL is the model that was planned, not the one that was written with the plan.\n"
    "Where the plan leaves conversions to the caller (--integer-io), inputs and outputs are those\n"
    "without them; random inputs and --compare are those of the model with them.\n"
    "Exit: 0 done, 1 a violation of the plan (a line on stderr each) or unequal outputs, 2 "
    "usage.\n";

struct RunOptions {
  std::string model;
  std::string plan;
  std::string inputs;
  std::uint64_t seed = 0;
  std::string save_inputs;
  std::string outputs;
  std::string trace;
  std::string kernels;
  std::string max_memory;
  std::vector<std::string> dims;
  std::int32_t subgraph = 0;
  bool compare = false;
  bool force = false;
  OutputOptions output;
};

constexpr std::pair<std::string_view, execute::Kernels> kKernels[] = {
    {"tflm", execute::Kernels::kTflm},
    {"litert", execute::Kernels::kLitert},
    {"onnx", execute::Kernels::kOnnx},
};

// Everything that a run needs, loaded and checked.
struct Job {
  formats::SourceModel source;                // what the plan is about
  std::optional<formats::SourceModel> given;  // the model as it is, where the plan rewrites it
  // The model with what its caller runs, and its random inputs, where the plan leaves that to it.
  std::optional<formats::SourceModel> with_caller;
  rewrite::CallerGraphs caller;
  std::vector<execute::Value> caller_inputs;  // empty: the inputs were given
  std::optional<plan::Plan> plan;
  graph::SubgraphId subgraph;
  std::vector<execute::Value> inputs;
  execute::Kernels kernels = execute::Kernels::kLitert;
  std::string kernels_name;
  std::int64_t max_memory_bytes = std::int64_t{4} << 30;

  const graph::Subgraph& part() const { return source.graph.subgraphs[subgraph]; }
};

Status ChooseKernels(const RunOptions& options, Job* job) {
  job->kernels_name = options.kernels;
  if (job->kernels_name.empty()) {
    const bool tflm = job->plan && job->plan->runtime == plan::Runtime::kTflm;
    job->kernels_name = job->source.format == formats::Format::kOnnx ? "onnx"
                        : tflm                                       ? "tflm"
                                                                     : "litert";
  }
  for (const auto& [name, kernels] : kKernels) {
    if (name == job->kernels_name) job->kernels = kernels;
  }
  return {};
}

Result<std::vector<execute::Value>> RunUnplanned(const Job& job, const graph::Graph& graph,
                                                 const std::vector<execute::Value>& inputs) {
  execute::EvaluateOptions evaluate;
  evaluate.kernels = job.kernels;
  evaluate.max_memory_bytes = job.max_memory_bytes;
  return execute::Evaluate(graph, job.subgraph, inputs, evaluate);
}

bool IsOfCaller(const Job& job) { return job.with_caller && job.subgraph == graph::SubgraphId(0); }

Result<std::vector<execute::Value>> LoadInputs(const RunOptions& options, Job* loaded) {
  Job& job = *loaded;
  if (options.inputs.empty() && IsOfCaller(job)) {
    const graph::Subgraph& part = job.with_caller->graph.subgraphs[job.subgraph];
    NEAP_TRY(job.caller_inputs, execute::RandomInputs(part, options.seed, job.max_memory_bytes));
    return RunUnplanned(job, job.caller.before, job.caller_inputs);
  }
  if (options.inputs.empty()) {
    return execute::RandomInputs(job.part(), options.seed, job.max_memory_bytes);
  }
  NEAP_TRY(const auto file, io::ReadFile(options.inputs));
  auto arrays = execute::ReadNpz(*file, job.max_memory_bytes);
  auto inputs = arrays ? execute::MatchInputs(job.part(), std::move(*arrays))
                       : Result<std::vector<execute::Value>>(Fail(std::move(arrays).error()));
  const Status fits = inputs ? execute::CheckInputs(job.part(), *inputs) : Status();
  if (inputs && fits) return inputs;
  Diagnostic error = inputs ? fits.error() : std::move(inputs).error();
  error.file = options.inputs;
  return Fail(std::move(error));
}

// Kernels know no control flow: bodies that are called for certain take the place of their calls.
Status WriteOutCalls(const RunOptions& options, Job* job) {
  if (!execute::HasKnownCalls(job->source.graph, job->subgraph)) return {};
  if (job->plan) {
    for (plan::EntryPlan& entry : job->plan->entries) {
      if (entry.subgraph != job->subgraph || entry.stream) continue;
      auto inlined = execute::InlineCalls(job->source.graph, entry);
      if (!inlined) {
        inlined.error().file = options.plan;
        return Fail(std::move(inlined).error());
      }
      entry = std::move(*inlined);
    }
  }
  job->source.graph = execute::InlineCalls(job->source.graph, job->subgraph);
  return {};
}

Result<Job> Load(const RunOptions& options) {
  Job job;
  formats::LoadOptions load_options;
  load_options.weights = true;
  NEAP_TRY(load_options.dims, ParseDims(options.dims));
  if (!options.max_memory.empty()) {
    NEAP_TRY(job.max_memory_bytes, ParseSize("--max-memory", options.max_memory));
  }
  if (!options.plan.empty()) {
    NEAP_TRY(job.plan, LoadPlan(options.plan));
    if (options.dims.empty()) {
      NEAP_TRY(load_options.dims, ParseDims(job.plan->dims));
    }
  }
  NEAP_TRY(job.source, formats::Load(options.model, load_options));
  if (job.plan && job.plan->model_sha256 != job.source.sha256) {
    Diagnostic error = BadInput(HashMismatch(*job.plan, job.source));
    error.file = options.plan;
    return Fail(std::move(error));
  }
  if (job.plan && !job.plan->caller_ops.empty()) {
    job.with_caller = job.source;
    NEAP_TRY(job.source,
             InterfacedModel(std::move(job.source), job.plan->caller_ops, load_options));
    NEAP_TRY(job.caller, rewrite::GraphsOfCaller(job.with_caller->graph, job.plan->caller_ops));
  }
  if (job.plan && !job.plan->tiled_regions.empty()) {
    NEAP_TRY(job.source, CascadedModel(std::move(job.source), *job.plan, load_options));
  }
  if (job.plan && !job.plan->rewrites.empty()) {
    job.given = job.source;
    NEAP_TRY(job.source, RewrittenModel(*job.given, *job.plan, load_options));
    job.source.sha256 = job.given->sha256;
  }
  job.subgraph = graph::SubgraphId(options.subgraph);
  if (!job.source.graph.subgraphs.Has(job.subgraph)) {
    return Fail(UsageError(fmt::format("there is no subgraph {}", options.subgraph)));
  }
  NEAP_CHECK_OK(WriteOutCalls(options, &job));
  NEAP_CHECK_OK(ChooseKernels(options, &job));
  NEAP_TRY(job.inputs, LoadInputs(options, &job));
  return job;
}

Result<execute::RunResult> RunPlanned(const Job& job, const RunOptions& options) {
  for (const plan::EntryPlan& entry : job.plan->entries) {
    if (entry.subgraph != job.subgraph) continue;
    execute::RunOptions run;
    run.kernels = job.kernels;
    run.max_memory_bytes = job.max_memory_bytes;
    std::string trace;
    if (!options.trace.empty()) {
      run.observer = [&](const execute::StepEvent& event) {
        trace += TraceLine(job.part(), event);
      };
    }
    NEAP_TRY(auto result, execute::Run(job.source.graph, entry, job.inputs, run));
    if (!options.trace.empty()) {
      NEAP_CHECK_OK(io::WriteFile(options.trace, trace, options.force));
    }
    return result;
  }
  return Fail(BadInput(fmt::format("the plan has no entry of subgraph {}", options.subgraph)));
}

// What the outputs of the plan are compared with: those of the model as it is, unless the plan says
// that its rewrites change them.
const graph::Graph& GraphToCompareWith(const Job& job) {
  if (!job.given) return job.source.graph;
  const auto& rewrites = job.plan->rewrites;
  const bool bitwise = std::all_of(rewrites.begin(), rewrites.end(), [](const auto& rewrite) {
    return rewrite.exactness == plan::Exactness::kBitwise;
  });
  return bitwise ? job.given->graph : job.source.graph;
}

Status WriteArrays(const std::string& path, std::vector<std::string> names,
                   const std::vector<execute::Value>& values, bool force) {
  if (path.empty()) return {};
  std::vector<execute::NamedValue> named;
  for (std::size_t i = 0; i < values.size(); ++i) {
    named.push_back({std::move(names[i]), values[i]});
  }
  NEAP_TRY(const auto file, execute::WriteNpz(named));
  return io::WriteFile(path, file, force);
}

bool SameBytes(const std::vector<execute::Value>& a, const std::vector<execute::Value>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) same = a[i].bytes == b[i].bytes;
  return same;
}

// Whether outputs of the plan are those of the model apart; with what the caller computes before
// and behind where inputs are known from there on.
Result<bool> IsEqual(const Job& job, const std::vector<execute::Value>& outputs) {
  const graph::Graph& graph = GraphToCompareWith(job);
  const bool rewritten = job.given && &graph == &job.source.graph;
  if (!job.caller_inputs.empty() && !rewritten) {
    NEAP_TRY(const auto apart, RunUnplanned(job, job.with_caller->graph, job.caller_inputs));
    NEAP_TRY(const auto behind, RunUnplanned(job, job.caller.behind, outputs));
    return SameBytes(behind, apart);
  }
  NEAP_TRY(const auto apart, RunUnplanned(job, graph, job.inputs));
  return SameBytes(outputs, apart);
}

Status CheckOutputs(const RunOptions& options) {
  const std::vector<NamedFile> written = {{"--outputs", options.outputs},
                                          {"--save-inputs", options.save_inputs},
                                          {"--trace", options.trace}};
  int on_stdout = options.output.json ? 1 : 0;
  for (const NamedFile& file : written) on_stdout += file.path == "-" ? 1 : 0;
  if (on_stdout > 1) {
    return Fail(UsageError(
        "only one of --outputs -, --save-inputs -, --trace - and --json can have standard output"));
  }
  NEAP_CHECK_OK(CheckDistinct(
      {{"the model", options.model}, {"--plan", options.plan}, {"--inputs", options.inputs}},
      written));
  for (const NamedFile& file : written) NEAP_CHECK_OK(CheckOutput(file.path, options.force));
  return {};
}

Result<int> Run(const RunOptions& options) {
  NEAP_CHECK_OK(CheckOutputs(options));
  NEAP_TRY(const Job job, Load(options));
  const std::vector<std::string> input_names = execute::NamesOf(job.part(), job.part().inputs);
  NEAP_CHECK_OK(WriteArrays(options.save_inputs, input_names, job.inputs, options.force));
  report::RunReport report;
  report.model = job.source.path;
  report.model_sha256 = job.source.sha256;
  report.plan_file = options.plan;
  report.kernels = job.kernels_name;
  const Stopwatch watch;
  execute::RunResult result;
  if (job.plan) {
    NEAP_TRY(result, RunPlanned(job, options));
  } else {
    NEAP_TRY(result.outputs, RunUnplanned(job, job.source.graph, job.inputs));
  }
  report.seconds = watch.Seconds();
  if (options.compare) {
    NEAP_TRY(report.equal, IsEqual(job, result.outputs));
  }
  const std::vector<std::string> names = execute::NamesOf(job.part(), job.part().outputs);
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    const execute::Value& value = result.outputs[i];
    report.outputs.push_back({names[i], value.type, value.shape, io::Sha256(value.bytes)});
  }
  NEAP_CHECK_OK(WriteArrays(options.outputs, names, result.outputs, options.force));
  report.arena_bytes = result.arena_bytes;
  report.high_water_bytes = result.high_water_bytes;
  const bool streamed =
      job.plan && std::any_of(job.plan->entries.begin(), job.plan->entries.end(),
                              [&](const plan::EntryPlan& entry) {
                                return entry.subgraph == job.subgraph && entry.stream.has_value();
                              });
  if (streamed) {
    report.macs = result.macs;
    report.kernel_bytes = result.kernel_bytes;
  }
  report.violations = std::move(result.violations);
  for (const std::string& violation : report.violations) {
    fmt::print(stderr, "neap run: {}\n", report::Printable(violation, 4096));
  }
  if (options.output.json) {
    NEAP_CHECK_OK(Print(stdout, report::RunJson(report)));
  } else if (!options.output.quiet) {
    const bool taken = options.outputs == "-" || options.save_inputs == "-" || options.trace == "-";
    std::FILE* const stream = taken ? stderr : stdout;
    NEAP_CHECK_OK(Print(stream, report::RunText(report, StyleFor(stream, options.output))));
  }
  const bool right = report.violations.empty() && report.equal.value_or(true);
  if (!right && report.violations.empty()) {
    fmt::print(stderr, "neap run: the outputs differ from those of an unplanned run\n");
  }
  return right ? kDone : kFailed;
}

}  // namespace

int RunCommand(std::vector<std::string> args) {
  RunOptions options;
  CLI::App app("Execute a model, on its own or as a plan says.", "neap run");
  app.footer(kRunFooter);
  app.add_option("MODEL", options.model, "the model")->required();
  app.add_option("--plan", options.plan, "plan.json: its order, its addresses")
      ->option_text("FILE");
  auto* inputs = app.add_option("--inputs", options.inputs, "arrays by the names of the inputs")
                     ->option_text("FILE.npz");
  AddSeedOption(&app, "--random-inputs", &options.seed, "seeded inputs; the default, with seed 0")
      ->option_text("SEED")
      ->excludes(inputs);
  app.add_option("--save-inputs", options.save_inputs, "write the inputs of this run")
      ->option_text("FILE.npz");
  app.add_option("--outputs", options.outputs, "write the outputs")->option_text("FILE.npz");
  app.add_option("--trace", options.trace, "write a line of JSON for each step of the plan")
      ->option_text("FILE")
      ->needs("--plan");
  app.add_flag("--compare", options.compare, "run without the plan as well and compare every byte")
      ->needs("--plan");
  app.add_option("--kernels", options.kernels,
                 "whose arithmetic where stock kernels differ: tflm, litert, onnx")
      ->check(CLI::IsMember({"tflm", "litert", "onnx"}));
  app.add_option("--subgraph", options.subgraph, "the entry subgraph; default: 0")
      ->option_text("N")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--max-memory", options.max_memory, "most memory of tensors; default: 4GiB")
      ->option_text("SIZE");
  app.add_option("--dim", options.dims, "value of a symbolic dimension; default: the plan's")
      ->option_text("NAME=N")
      ->allow_extra_args(false);
  app.add_flag("--force", options.force, "overwrite outputs that exist");
  AddOutputOptions(&app, &options.output);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  Result<int> code = Run(options);
  if (code) return *code;
  // What kernels and runs tell is about the model.
  Diagnostic diagnostic = std::move(code).error();
  if (diagnostic.file.empty() && diagnostic.code != ErrorCode::kUsage) {
    diagnostic.file = options.model;
  }
  return Report("run", diagnostic);
}

}  // namespace neap::tools
