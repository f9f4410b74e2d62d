// SPDX-License-Identifier: Apache-2.0
//
// neap run: executes a model, with or without a plan.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/deliver/edits.h"
#include "neap/execute/compare.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inline_calls.h"
#include "neap/execute/inputs.h"
#include "neap/execute/npz.h"
#include "neap/execute/run.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/show/report/report.h"
#include "neap/transform/rewrite/interface.h"
#include "tools/common.h"
#include "tools/plan_file.h"
#include "tools/run_trace.h"

namespace neap::tools {
namespace {

constexpr const char* kRunFooter =
    "Examples:\n"
    "  neap run model.tflite --inputs in.npz --outputs out.npz\n"
    "  neap plan model.tflite --plan plan.json\n"
    "  neap run model.tflite --plan plan.json --random-inputs 1 --compare\n"
    "\n"
    "With a plan, every tensor is at its planned address in an arena of exactly the planned "
    "size.\n"
    "MODEL is the planned model, not the model written with the plan.\n"
    "If the plan leaves conversions to the caller (--integer-io), inputs and outputs are those\n"
    "without them; random inputs and --compare use the model with them.\n"
    "--compare also runs MODEL without the plan and compares every output byte. Rewrites that\n"
    "are not exact (--rewrite reassociate, --accumulator-bytes 1) pass only within --tolerance.\n"
    "Exit: 0 done, 1 a violation of the plan (a line on stderr each) or outputs that differ, 2 "
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
  std::optional<double> tolerance;
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
  formats::SourceModel source;  // the planned graph
  // The model as the file has it, where the plan is about another one.
  std::optional<graph::Graph> given;
  // The caller's conversions and their random inputs, where the plan leaves conversions to the
  // caller.
  std::optional<rewrite::CallerGraphs> caller;
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

// Kernels know no control flow: bodies that are called for certain take the place of their calls.
Result<std::vector<execute::Value>> RunUnplanned(const Job& job, const graph::Graph& graph,
                                                 const std::vector<execute::Value>& inputs) {
  execute::EvaluateOptions evaluate;
  evaluate.kernels = job.kernels;
  evaluate.max_memory_bytes = job.max_memory_bytes;
  if (execute::HasKnownCalls(graph, job.subgraph)) {
    return execute::Evaluate(execute::InlineCalls(graph, job.subgraph), job.subgraph, inputs,
                             evaluate);
  }
  return execute::Evaluate(graph, job.subgraph, inputs, evaluate);
}

bool IsOfCaller(const Job& job) { return job.caller && job.subgraph == graph::SubgraphId(0); }

Result<std::vector<execute::Value>> LoadInputs(const RunOptions& options, Job* loaded) {
  Job& job = *loaded;
  if (options.inputs.empty() && IsOfCaller(job)) {
    const graph::Subgraph& part = job.given->subgraphs[job.subgraph];
    NEAP_TRY(job.caller_inputs, execute::RandomInputs(part, options.seed, job.max_memory_bytes));
    return RunUnplanned(job, job.caller->before, job.caller_inputs);
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

// As above, of the plan too.
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

// Applies the plan's edits to the loaded model.
Status ApplyPlan(const formats::LoadOptions& load_options, Job* job) {
  const plan::Plan& plan = *job->plan;
  NEAP_TRY(job->source, deliver::AsSeenBy(std::move(job->source), plan.runtime, load_options));
  if (!plan::HasEdits(plan)) return {};
  job->given = job->source.graph;
  if (!plan.caller_ops.empty()) {
    NEAP_TRY(job->caller, rewrite::GraphsOfCaller(*job->given, plan.caller_ops));
  }
  NEAP_TRY(deliver::Replayed replayed,
           deliver::ReplayEdits(std::move(job->source), plan, load_options));
  job->source = replayed.edited ? *std::move(replayed.edited) : std::move(replayed.interfaced);
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
  if (job.plan) NEAP_CHECK_OK(ApplyPlan(load_options, &job));
  job.subgraph = graph::SubgraphId(options.subgraph);
  if (!job.source.graph.subgraphs.Has(job.subgraph)) {
    return Fail(UsageError(fmt::format("there is no subgraph {}", options.subgraph)));
  }
  NEAP_CHECK_OK(WriteOutCalls(options, &job));
  NEAP_CHECK_OK(ChooseKernels(options, &job));
  auto inputs = LoadInputs(options, &job);
  if (!inputs) return Fail(WithAllSymbols(std::move(inputs).error(), job.source.graph));
  job.inputs = std::move(*inputs);
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

// The outputs of the given model from the inputs of this run. Where those are integers that the
// caller has converted, it runs from there.
Result<std::vector<execute::Value>> RunGiven(const Job& job) {
  if (!job.given) return RunUnplanned(job, job.source.graph, job.inputs);
  if (!IsOfCaller(job)) return RunUnplanned(job, *job.given, job.inputs);
  if (!job.caller_inputs.empty()) return RunUnplanned(job, *job.given, job.caller_inputs);
  std::vector<graph::OpId> at_inputs;
  for (const graph::OpId op : job.plan->caller_ops) {
    const graph::Subgraph& main = job.given->subgraphs[job.subgraph];
    if (rewrite::IsAtInput(main.ops[op])) at_inputs.push_back(op);
  }
  NEAP_TRY(const graph::Graph behind_inputs, rewrite::MoveToCaller(*job.given, at_inputs));
  return RunUnplanned(job, behind_inputs, job.inputs);
}

// Of a tensor with one scale, else 0.
std::int64_t ZeroPointOf(const graph::Tensor& tensor) {
  if (!tensor.quantization || tensor.quantization->zero_points.size() != 1) return 0;
  return tensor.quantization->zero_points.front();
}

// The outputs of a run of the plan, after the conversions that it leaves to the caller, against
// those of the given model.
Result<report::RunReport::Comparison> CompareWithGiven(const Job& job, const RunOptions& options,
                                                       const std::vector<execute::Value>& outputs) {
  NEAP_TRY(const auto expected, RunGiven(job));
  std::vector<execute::Value> converted;
  if (IsOfCaller(job)) {
    NEAP_TRY(converted, RunUnplanned(job, job.caller->behind, outputs));
  }
  const std::vector<execute::Value>& found = IsOfCaller(job) ? converted : outputs;
  NEAP_CHECK(expected.size() == found.size(), "a plan has other outputs than its model");
  const graph::Graph& graph = job.given ? *job.given : job.source.graph;
  const graph::Subgraph& part = graph.subgraphs[job.subgraph];
  const std::vector<std::string> names = execute::NamesOf(part, part.outputs);
  report::RunReport::Comparison comparison;
  comparison.tolerance = options.tolerance;
  for (const plan::Rewrite& rewrite : job.plan->rewrites) {
    if (rewrite.exactness != plan::Exactness::kBitwise) comparison.rewrites_exact = false;
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::int64_t zero_point = ZeroPointOf(part.tensors[part.outputs[i]]);
    const execute::Difference difference = execute::Compare(expected[i], found[i], zero_point);
    NEAP_CHECK(difference.same_shape, "a plan has an output of another type or shape");
    comparison.outputs.push_back({names[i], expected[i].type, difference.elements,
                                  difference.differing, difference.max_difference,
                                  difference.magnitude, difference.Relative()});
  }
  return comparison;
}

Status CheckOutputs(const RunOptions& options) {
  const std::vector<NamedFile> written = {{"--outputs", options.outputs},
                                          {"--save-inputs", options.save_inputs},
                                          {"--trace", options.trace}};
  int on_stdout = options.output.json ? 1 : 0;
  for (const NamedFile& file : written) on_stdout += file.path == "-" ? 1 : 0;
  if (on_stdout > 1) {
    return Fail(UsageError(
        "only one of --outputs -, --save-inputs -, --trace - and --json can use standard output"));
  }
  NEAP_CHECK_OK(CheckDistinct(
      {{"the model", options.model}, {"--plan", options.plan}, {"--inputs", options.inputs}},
      written));
  for (const NamedFile& file : written) NEAP_CHECK_OK(CheckOutput(file.path, options.force));
  return {};
}

Result<int> Run(const RunOptions& options) {
  NEAP_CHECK_OK(CheckOutputs(options));
  if (options.tolerance && !(std::isfinite(*options.tolerance) && *options.tolerance >= 0)) {
    return Fail(UsageError("--tolerance is not a number of at least 0"));
  }
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
    NEAP_TRY(report.comparison, CompareWithGiven(job, options, result.outputs));
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
  if (result.slow_bytes > 0) {
    report.slow = {result.slow_bytes, result.slow_read_bytes, result.slow_written_bytes};
  }
  report.violations = std::move(result.violations);
  for (const std::string& violation : report.violations) {
    fmt::print(stderr, "neap run: {}: {}\n", report::Printable(options.plan, 4096),
               report::Printable(violation, 4096));
  }
  if (options.output.json) {
    NEAP_CHECK_OK(Print(stdout, report::RunJson(report)));
  } else if (!options.output.quiet) {
    const bool taken = options.outputs == "-" || options.save_inputs == "-" || options.trace == "-";
    std::FILE* const stream = taken ? stderr : stdout;
    NEAP_CHECK_OK(Print(stream, report::RunText(report, StyleFor(stream, options.output))));
  }
  const bool passes = !report.comparison || report.comparison->Passes();
  if (!passes && report.violations.empty()) {
    const bool may_differ = !report.comparison->rewrites_exact && !options.tolerance;
    fmt::print(stderr, "neap run: the outputs differ from those of the given model{}\n",
               may_differ ? "; --tolerance R accepts differences of inexact rewrites" : "");
  }
  return report.violations.empty() && passes ? kDone : kFailed;
}

}  // namespace

int RunCommand(std::vector<std::string> args) {
  RunOptions options;
  CLI::App app("Execute a model, alone or according to a plan.", "neap run");
  app.footer(kRunFooter);
  app.add_option("MODEL", options.model, "the model")->required();
  app.add_option("--plan", options.plan, "plan.json: order and addresses")->option_text("FILE");
  auto* inputs =
      app.add_option("--inputs", options.inputs, "inputs, as arrays with the names of the inputs")
          ->option_text("FILE.npz");
  AddSeedOption(&app, "--random-inputs", &options.seed,
                "random inputs from this seed; default: seed 0")
      ->option_text("SEED")
      ->excludes(inputs);
  app.add_option("--save-inputs", options.save_inputs, "write the inputs of this run")
      ->option_text("FILE.npz");
  app.add_option("--outputs", options.outputs, "write the outputs")->option_text("FILE.npz");
  app.add_option("--trace", options.trace, "with --plan: write a line of JSON for each step")
      ->option_text("FILE")
      ->needs("--plan");
  auto* compare = app.add_flag("--compare", options.compare,
                               "with --plan: also run the given model without the plan, and "
                               "compare every output byte")
                      ->needs("--plan");
  app.add_option(
         "--tolerance", options.tolerance,
         "with --compare, for plans with inexact rewrites: largest accepted difference of an "
         "output, relative to its largest magnitude")
      ->option_text("R")
      ->needs(compare);
  app.add_option("--kernels", options.kernels,
                 "runtime whose arithmetic is used where stock kernels differ")
      ->option_text("tflm|litert|onnx")
      ->check(CLI::IsMember({"tflm", "litert", "onnx"}));
  app.add_option("--subgraph", options.subgraph, "the entry subgraph; default: 0")
      ->option_text("N")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--max-memory", options.max_memory, "maximum memory of tensors; default: 4GiB")
      ->option_text("SIZE");
  app.add_option("--dim", options.dims, "value of a symbolic dimension; default: as in the plan")
      ->option_text("NAME=N")
      ->allow_extra_args(false);
  app.add_flag("--force", options.force, "overwrite existing outputs");
  AddOutputOptions(&app, &options.output);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  Result<int> code = Run(options);
  if (code) return *code;
  // Errors of kernels and runs are about the model.
  Diagnostic diagnostic = std::move(code).error();
  if (diagnostic.file.empty() && diagnostic.code != ErrorCode::kUsage) {
    diagnostic.file = options.model;
  }
  return Report("run", diagnostic);
}

}  // namespace neap::tools
