// SPDX-License-Identifier: Apache-2.0
//
// neap check-budget: models beside a board's memory and a baseline, for hooks and CI.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "neap/deliver/boards.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/target/board.h"
#include "tools/check_budget_report.h"
#include "tools/common.h"
#include "tools/delivering.h"
#include "tools/words.h"

namespace neap::tools {
namespace {

constexpr const char* kCheckBudgetFooter =
    "Examples:\n"
    "  neap check-budget model.tflite --board nano-33-ble\n"
    "  neap check-budget model.tflite --board nano-33-ble --json > base.json\n"
    "  neap check-budget model.tflite --board nano-33-ble --baseline base.json --max-growth 1KiB\n"
    "  neap check-budget models/*.tflite --board pico --sarif neap.sarif --force\n"
    "\n"
    "The report of --json is the baseline of later runs, which finds models by their paths.\n"
    "Exit: 0 every model passes, 1 bad input or failure, 2 usage, 3 a model does not fit, its\n"
    "arena is unknown, or it grew by more than --max-growth.\n";

struct CheckBudgetOptions {
  std::vector<std::string> inputs;
  deliver::Words words;
  OutputOptions output;
  std::string baseline;
  std::string sarif;
  std::string max_growth;
  bool force = false;
};

Result<CheckedModel> Check(const std::string& path, const CheckBudgetOptions& options,
                           const target::Board& board) {
  const formats::LoadOptions load;
  NEAP_TRY(const formats::SourceModel source, formats::Load(path, load));
  const bool shows = !options.output.quiet && ::isatty(::fileno(stderr)) != 0;
  NEAP_TRY(std::vector<deliver::BoardAnswer> answers,
           deliver::AnswersFor(source, {&board}, options.words, load,
                               [&](const formats::SourceModel& model, deliver::Request* request) {
                                 return DeliverWithProgress(model, shows, request);
                               }));
  return CheckedModel{path, source.sha256, std::move(answers.front()), {}};
}

Result<int> CheckBudget(const CheckBudgetOptions& options) {
  BudgetCheck check;
  check.reserve_bytes = options.words.reserve_bytes;
  if (!options.max_growth.empty()) {
    NEAP_TRY(check.max_growth_bytes, ParseSize("--max-growth", options.max_growth));
  }
  NEAP_CHECK_OK(CheckOutput(options.sarif, options.force));
  const target::Board& board = *target::BoardNamed(options.words.board);
  Baseline baseline;
  if (!options.baseline.empty()) {
    NEAP_TRY(baseline, ReadBaseline(options.baseline));
    if (baseline.board != board.name) {
      Diagnostic diagnostic;
      diagnostic.code = ErrorCode::kBadInput;
      diagnostic.file = options.baseline;
      diagnostic.message = "this baseline is of board '" + baseline.board + "', not of '" +
                           std::string(board.name) + "'";
      return Fail(std::move(diagnostic));
    }
  }
  bool passes = true;
  for (const std::string& path : options.inputs) {
    NEAP_TRY(CheckedModel model, Check(path, options, board));
    const auto base = baseline.models.find(path);
    if (base != baseline.models.end()) model.base = base->second;
    passes = passes && FindingsOf(check, model).empty();
    check.models.push_back(std::move(model));
  }
  if (!options.sarif.empty()) {
    NEAP_CHECK_OK(io::WriteFile(options.sarif, CheckSarif(check), options.force));
  }
  if (options.output.json) {
    NEAP_CHECK_OK(Print(stdout, CheckJson(check)));
  } else if (!options.output.quiet) {
    NEAP_CHECK_OK(Print(stdout, CheckText(check)));
  }
  return passes ? kDone : kOverBudget;
}

}  // namespace

int CheckBudgetCommand(std::vector<std::string> args) {
  CheckBudgetOptions options;
  CLI::App app("Compare models with a board's memory and with a baseline.", "neap check-budget");
  app.footer(kCheckBudgetFooter);
  app.add_option("MODELS", options.inputs, "models: .tflite, .onnx or graph JSON")->required();
  app.add_option("--baseline", options.baseline, "a report of --json of an earlier run")
      ->option_text("FILE");
  app.add_option("--max-growth", options.max_growth,
                 "maximum growth of the arena and of the model file over the baseline")
      ->option_text("SIZE");
  app.add_option("--sarif", options.sarif, "write findings as SARIF 2.1.0")->option_text("FILE");
  app.add_flag("--force", options.force, "overwrite the SARIF file");
  AddWords(&app, &options.words,
           {"board", "reserve", "overlap", "cascade", "cascade-bodies", "max-states", "time-limit",
            "max-memory"});
  AddOutputOptions(&app, &options.output);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  if (options.words.board.empty()) {
    return Report("check-budget", UsageError("--board is required: neap boards prints all"));
  }
  const Result<int> code = CheckBudget(options);
  return code ? *code : Report("check-budget", code.error());
}

}  // namespace neap::tools
