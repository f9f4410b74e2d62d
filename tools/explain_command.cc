// SPDX-License-Identifier: Apache-2.0
//
// neap explain: why a model needs its memory, the saving of each feature, and its command.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/work.h"
#include "neap/deliver/explain.h"
#include "neap/formats/formats.h"
#include "neap/show/report/explain_report.h"
#include "tools/common.h"
#include "tools/emitting.h"

namespace neap::tools {
namespace {

constexpr const char* kExplainFooter =
    "Examples:\n"
    "  neap explain model.tflite\n"
    "  neap explain model.tflite --runtime litert --time-limit 120\n"
    "  neap explain model.onnx --dim batch=1 --json | jq -r '.next[].command'\n"
    "\n"
    "Every number comes from a plan. Without --time-limit the searches end after a fixed amount\n"
    "of counted work, about 20 seconds of one core, and equal input gives equal output.\n";

struct ExplainOptions {
  ModelOptions model;
  OutputOptions output;
  double time_limit_seconds = 0;
};

// One line on standard error from the second second on, rewritten in place: the feature, its number
// and the best plan of its search.
class ExplainProgress {
 public:
  explicit ExplainProgress(bool enabled) : enabled_(enabled) {}
  ~ExplainProgress() { Erase(); }
  ExplainProgress(const ExplainProgress&) = delete;
  ExplainProgress& operator=(const ExplainProgress&) = delete;

  void Begin(std::string_view label, int number, int of) {
    label_ = label;
    number_ = number;
    of_ = of;
    Show(0);
  }

  void Show(std::int64_t best_bytes) {
    constexpr double kFirstSeconds = 1.0;
    constexpr double kEverySeconds = 0.2;
    const double now = watch_.Seconds();
    if (!enabled_ || now < kFirstSeconds || now - last_seconds_ < kEverySeconds) return;
    last_seconds_ = now;
    shown_ = true;
    const std::string best =
        best_bytes > 0 ? fmt::format(", best {} B", FormatCount(best_bytes)) : "";
    fmt::print(stderr, "\r\x1b[Kexplain: {} of {}, {}{}, {:.0f} s", number_, of_, label_, best,
               now);
    std::fflush(stderr);
  }

  void Erase() {
    if (!shown_) return;
    shown_ = false;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  }

 private:
  bool enabled_;
  bool shown_ = false;
  std::string_view label_;
  int number_ = 0;
  int of_ = 0;
  Stopwatch watch_;
  double last_seconds_ = 0;
};

Result<deliver::Explanation> MakeExplanation(const ExplainOptions& options,
                                             const formats::LoadOptions& load,
                                             const formats::SourceModel& source) {
  ExplainProgress progress(!options.output.quiet && ::isatty(::fileno(stderr)) != 0);
  deliver::ExplainRequest request;
  request.runtime = options.model.words.runtime;
  request.time_limit_seconds = options.time_limit_seconds;
  request.load = load;
  request.stop = StopOnInterrupt();
  request.feature_observer = [&](std::string_view label, int number, int of) {
    progress.Begin(label, number, of);
  };
  request.search_observer = [&](const Progress& seen) { progress.Show(seen.upper_bound_bytes); };
  request.tiles_observer = [&](const cascade::SearchProgress& seen) {
    progress.Show(seen.best_bytes);
  };
  auto explanation = deliver::Explain(source, request);
  if (explanation) return explanation;
  Diagnostic diagnostic = WithAllSymbols(std::move(explanation).error(), source.graph);
  if (diagnostic.file.empty()) diagnostic.file = source.path;
  return Fail(std::move(diagnostic));
}

// Work of the plan of emitted C, beside that of the features: about 5 seconds of one core.
constexpr std::int64_t kCodeWork = 5'000'000'000;

// What is left of the time limit is for the code.
std::optional<report::CodeNeed> CodeOf(const ExplainOptions& options,
                                       const formats::LoadOptions& load, const Stopwatch& watch) {
  double seconds = 0;
  if (options.time_limit_seconds > 0) {
    seconds = options.time_limit_seconds - watch.Seconds();
    if (seconds <= 0) return std::nullopt;
  }
  const WorkScope work(kCodeWork);
  const bool shows_progress = !options.output.quiet && ::isatty(::fileno(stderr)) != 0;
  return NeedOfCode(options.model.input, load, seconds, shows_progress);
}

Result<int> Explain(const ExplainOptions& options) {
  const Stopwatch watch;
  NEAP_CHECK_OK(CheckTimeLimit(options.time_limit_seconds));
  formats::LoadOptions load;
  NEAP_TRY(load.dims, ParseDims(options.model.dims));
  NEAP_TRY(const formats::SourceModel source, formats::Load(options.model.input, load));
  NEAP_TRY(const deliver::Explanation explanation, MakeExplanation(options, load, source));
  report::ExplainReport report;
  report.source = &source;
  report.explanation = &explanation;
  for (const auto& [name, value] : load.dims) {
    report.dims.push_back(fmt::format("{}={}", name, value));
  }
  report.notes = source.notes;
  if (!explanation.interrupted) report.code = CodeOf(options, load, watch);
  report.seconds = watch.Seconds();
  if (options.output.json) {
    NEAP_CHECK_OK(Print(stdout, report::ExplainJson(report)));
  } else if (!options.output.quiet) {
    NEAP_CHECK_OK(Print(stdout, report::ExplainText(report, StyleFor(stdout, options.output))));
  }
  return explanation.interrupted ? kInterrupted : kDone;
}

}  // namespace

int ExplainCommand(std::vector<std::string> args) {
  ExplainOptions options;
  CLI::App app(
      "Explain why a model needs its memory, what each feature saves, and which command does it.",
      "neap explain");
  app.footer(kExplainFooter);
  AddModelOptions(&app, &options.model);
  app.add_option("--time-limit", options.time_limit_seconds,
                 "seconds of all searches together; results may then differ between runs; 0, the "
                 "default: counted work")
      ->option_text("SECONDS");
  AddOutputOptions(&app, &options.output);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  const Result<int> code = Explain(options);
  return code ? *code : Report("explain", code.error());
}

}  // namespace neap::tools
