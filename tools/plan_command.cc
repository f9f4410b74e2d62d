// SPDX-License-Identifier: Apache-2.0
//
// neap plan: read, plan, check, and only then write.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/base/work.h"
#include "neap/compile/compile.h"
#include "neap/compile/headline.h"
#include "neap/deliver/advice.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/written_model.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/plan/plan_json.h"
#include "neap/show/report/report.h"
#include "tools/common.h"
#include "tools/delivering.h"
#include "tools/plan_next.h"
#include "tools/plan_options.h"
#include "tools/plan_report.h"
#include "tools/scratch_file.h"

namespace neap::tools {
namespace {

bool ShowsProgress(const PlanOptions& options) {
  return !options.output.quiet && ::isatty(::fileno(stderr)) != 0;
}

// A model is written in the format in which it was read. A name of another format would mislead.
Status CheckNameOfOutput(const PlanOptions& options, formats::Format format) {
  if (options.model_out.empty()) return {};
  if (format == formats::Format::kGraphJson) {
    Diagnostic diagnostic = UsageError("-o: the input is graph JSON, which is not a model file");
    diagnostic.hint = "--plan FILE writes the plan";
    return Fail(std::move(diagnostic));
  }
  const bool onnx = format == formats::Format::kOnnx;
  const std::string_view own = onnx ? ".onnx" : ".tflite";
  const std::string_view other = onnx ? ".tflite" : ".onnx";
  if (!options.model_out.ends_with(other)) return {};
  Diagnostic diagnostic = UsageError(
      fmt::format("-o {}: neap writes the format of the input, {}", options.model_out, own));
  diagnostic.hint = fmt::format("use a name that ends in {}", own);
  return Fail(std::move(diagnostic));
}

Status ReadModel(const PlanOptions& options, MadePlan* made) {
  NEAP_TRY(made->load.dims, ParseDims(options.model.dims));
  NEAP_TRY(made->source, formats::Load(options.model.input, made->load));
  if (options.scratch.empty()) return {};
  return ApplyScratchFile(options.scratch, &made->source.graph);
}

// Over budget, and unless a quick answer was requested: features that need the user's consent.
std::vector<deliver::Feature> AdviceFor(const PlanOptions& options, const MadePlan& made) {
  const deliver::Verdict verdict =
      deliver::VerdictOf(made.delivery.compiled, made.request.compile.place, made.request.budgets);
  const bool exceeds = verdict.fit == deliver::Verdict::Fit::kExceeds;
  if (!exceeds || verdict.of_weights || options.model.words.effort == "quick" ||
      !options.scratch.empty())
    return {};
  deliver::AdviceRequest request;
  request.words = options.model.words;
  request.load = made.load;
  request.stop = StopOnInterrupt();
  return deliver::Advise(made.source, request);
}

Status Draw(const PlanOptions& options, const MadePlan& made, report::PlanReport* report) {
  if (!options.pictures.Any()) return {};
  return DrawDelivery(options.pictures, made.source, made.delivery, report->budgets.arena_bytes,
                      options.force, &report->written);
}

// Everything is computed and checked before the first file is written. The plan contains the hash
// of the written model, so the model comes first.
Status Write(const PlanOptions& options, MadePlan* made, report::PlanReport* report) {
  compile::Compiled& compiled = made->delivery.compiled;
  const bool fits = report::Fits(*report);
  if (!options.model_out.empty() && fits) {
    NEAP_TRY(const auto model,
             deliver::WrittenModel(made->delivery.Planned(made->source), compiled,
                                   options.model_out, made->load, &report->notes));
    compiled.plan.written_sha256 = io::Sha256(*model);
    NEAP_CHECK_OK(io::WriteFile(options.model_out, std::span(*model), options.force));
    report->written.push_back(options.model_out);
    report->model_file = options.model_out;
  }
  if (!options.plan_out.empty()) {
    NEAP_CHECK_OK(io::WriteFile(options.plan_out, plan::ToJson(compiled.plan), options.force));
    report->written.push_back(options.plan_out);
  }
  if (!options.c_out.empty() && fits) {
    NEAP_CHECK_OK(
        io::WriteFile(options.c_out, report::CHeader(*report, options.c_out), options.force));
    report->written.push_back(options.c_out);
  }
  return Draw(options, *made, report);
}

std::string NextStep(const report::PlanReport& report) {
  if (report::IsBudgetKnown(report)) return report.next.empty() ? "" : "; " + report.next.front();
  if (!report.compiled->unknown_kernels.empty()) return "; --scratch FILE supplies its size";
  return "; --budget-activations compares the activations alone";
}

Status PrintReport(const PlanOptions& options, const report::PlanReport& report) {
  if (!report::Fits(report)) {
    fmt::print(stderr, "neap plan: {}{}{}\n", report::OverBudgetText(report), NextStep(report),
               options.model_out.empty() ? "" : "; no model is written");
  }
  if (options.output.json) return Print(stdout, report::PlanJson(report));
  if (options.output.quiet) return {};
  std::FILE* stream = options.StdoutIsTaken() ? stderr : stdout;
  return Print(stream, report::PlanText(report, StyleFor(stream, options.output)));
}

int ExitCodeOf(const PlanOptions& options, const report::PlanReport& report) {
  if (!report::Fits(report)) return kOverBudget;
  if (report.compiled->interrupted) return kInterrupted;
  const plan::Plan& plan = report.compiled->plan;
  if (!options.require_optimal || compile::IsProven(plan, report.placed)) return kDone;
  const plan::EntryPlan& entry = plan::LargestEntry(plan);
  fmt::print(
      stderr,
      "neap plan: not proven optimal: {} {}, lower bound {} (--time-limit or --max-states "
      "allows a longer search)\n",
      report.placed ? "arena" : "peak",
      FormatBytes(report.placed ? entry.arena_bytes : entry.peak_bytes),
      FormatBytes(report.placed ? entry.arena_lower_bound_bytes : entry.peak_lower_bound_bytes));
  return kUnproven;
}

Result<int> Run(const PlanOptions& options) {
  const Stopwatch watch;
  MadePlan made;
  NEAP_CHECK_OK(ReadModel(options, &made));
  const double read_seconds = watch.Seconds();
  NEAP_CHECK_OK(CheckNameOfOutput(options, made.source.format));
  NEAP_TRY(made.request, deliver::RequestOf(options.model.words, made.source, made.load));
  NEAP_TRY(made.delivery, DeliverWithProgress(made.source, ShowsProgress(options), &made.request));
  made.advice = AdviceFor(options, made);
  report::PlanReport report = DescribePlan(made, !options.model_out.empty());
  if (options.model.words.Has("budget-total")) {
    report.notes.emplace_back(
        "--budget-total is an older name of --budget; the next minor version removes it");
  }
  report.next = NextSteps(options, made, report);
  NEAP_CHECK_OK(Write(options, &made, &report));
  report.read_seconds = read_seconds;
  report.total_seconds = watch.Seconds();
  NEAP_CHECK_OK(PrintReport(options, report));
  return ExitCodeOf(options, report);
}

}  // namespace

int PlanCommand(std::vector<std::string> args, bool short_form) {
  PlanOptions options;
  if (const auto code = ParsePlanOptions(std::move(args), short_form, &options)) return *code;
  if (const Status status = CheckPlanOptions(options); !status) {
    return tools::Report("plan", status.error());
  }
  std::optional<WorkScope> work;
  if (const std::int64_t limit = deliver::DefaultWorkOf(options.model.words)) work.emplace(limit);
  const Result<int> code = Run(options);
  return code ? *code : tools::Report("plan", code.error());
}

}  // namespace neap::tools
