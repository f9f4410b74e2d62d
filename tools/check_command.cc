// SPDX-License-Identifier: Apache-2.0
//
// neap check: a plan and its model, judged by code that the planner does not use.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "neap/check/check.h"
#include "neap/deliver/edits.h"
#include "neap/formats/formats.h"
#include "neap/show/report/report.h"
#include "tools/common.h"
#include "tools/plan_file.h"
#include "tools/scratch_file.h"

namespace neap::tools {
namespace {

constexpr const char* kCheckFooter =
    "Examples:\n"
    "  neap plan model.tflite --plan plan.json\n"
    "  neap check model.tflite plan.json && echo 'the plan is valid'\n"
    "  neap check model.tflite plan.json --replay      search again for the lower bound\n"
    "\n"
    "MODEL is the planned model, not the model written with the plan.\n"
    "Exit: 0 the plan is valid, 1 it is not (one line on stderr per violation), 2 usage.\n";

struct CheckOptions {
  std::string model;
  std::string plan;
  std::vector<std::string> dims;
  std::string scratch;
  bool replay = false;
  std::int64_t max_states = 5'000'000;
  OutputOptions output;
};

Result<int> Check(const CheckOptions& options) {
  if (options.model == "-" && options.plan == "-") {
    return Fail(UsageError("only one of MODEL and PLAN can be standard input"));
  }
  formats::LoadOptions load_options;
  NEAP_TRY(load_options.dims, ParseDims(options.dims));
  NEAP_TRY(const plan::Plan plan, LoadPlan(options.plan));
  if (options.dims.empty()) {
    auto dims = ParseDims(plan.dims);
    if (!dims) {
      Diagnostic diagnostic = BadInput("its dims are malformed: " + dims.error().message);
      diagnostic.file = options.plan;
      return Fail(std::move(diagnostic));
    }
    load_options.dims = std::move(*dims);
  }
  load_options.weights = !plan.rewritten_sha256.empty();  // constants may have to be cut
  NEAP_TRY(formats::SourceModel source, formats::Load(options.model, load_options));
  if (plan.model_sha256 == source.sha256) {
    NEAP_TRY(deliver::Replayed replayed,
             deliver::ReplayEdits(std::move(source), plan, load_options));
    source = replayed.edited ? *std::move(replayed.edited) : std::move(replayed.interfaced);
  }
  if (!options.scratch.empty()) NEAP_CHECK_OK(ApplyScratchFile(options.scratch, &source.graph));
  report::CheckReport report{source.path, source.sha256, options.plan, &plan, {}, {}};
  if (plan.model_sha256 != source.sha256) {
    report.violations.push_back(HashMismatch(plan, source));
  } else {
    report.violations = check::CheckPlan(source.graph, plan);
  }
  if (options.replay && report.violations.empty()) {
    report.replayed = check::ReplayBounds(source.graph, plan, options.max_states);
    report.violations = report.replayed->refuted;
  }
  for (const std::string& violation : report.violations) {
    fmt::print(stderr, "neap check: {}: {}\n", report::Printable(options.plan, 4096),
               report::Printable(violation, 4096));
  }
  // --dim replaces the values of the plan, all of them.
  const Diagnostic unbound = WithAllSymbols(MissingSize(""), source.graph);
  if (!report.violations.empty() && !unbound.hint.empty()) {
    fmt::print(stderr, "neap check: {}\n", report::Printable(unbound.hint, 4096));
  }
  if (options.output.json) {
    NEAP_CHECK_OK(Print(stdout, report::CheckJson(report)));
  } else if (report.violations.empty() && !options.output.quiet) {
    NEAP_CHECK_OK(Print(stdout, report::CheckText(report, StyleFor(stdout, options.output))));
  }
  return report.violations.empty() ? kDone : kFailed;
}

}  // namespace

int CheckCommand(std::vector<std::string> args) {
  CheckOptions options;
  CLI::App app("Verify every number and address of a plan, independently of the planner.",
               "neap check");
  app.footer(kCheckFooter);
  app.add_option("MODEL", options.model, "the planned model")->required();
  app.add_option("PLAN", options.plan, "plan.json")->required();
  app.add_option("--dim", options.dims, "value of a symbolic dimension; default: as in the plan")
      ->option_text("NAME=N")
      ->allow_extra_args(false);
  app.add_option("--scratch", options.scratch, "the file given to neap plan --scratch")
      ->option_text("FILE");
  app.add_flag("--replay", options.replay, "verify bounds from a search by an independent search");
  app.add_option("--max-states", options.max_states,
                 "with --replay: maximum number of states; default: 5000000")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  AddOutputOptions(&app, &options.output);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  const Result<int> code = Check(options);
  return code ? *code : Report("check", code.error());
}

}  // namespace neap::tools
