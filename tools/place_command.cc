// SPDX-License-Identifier: Apache-2.0
//
// neap place: offsets for buffers with lifetimes, as MiniMalloc's CSV has them.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/io/file.h"
#include "neap/io/gzip.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "neap/solve/arena/csv.h"
#include "tools/common.h"

namespace neap::tools {
namespace {

constexpr std::int64_t kMaxExpandedBytes = std::int64_t{1} << 30;

constexpr const char* kPlaceFooter =
    "Examples:\n"
    "  neap place buffers.csv                                the lowest arena and its bound\n"
    "  neap place buffers.csv --capacity 1MiB -o placed.csv  offsets, if it fits\n"
    "  neap place buffers.csv.gz --time-limit 10 --json\n"
    "\n"
    "The first line of FILE names the columns: id,lower,upper,size and optionally alignment,\n"
    "gaps, hint and offset (a fixed offset). A buffer is live in the steps [lower, upper).\n"
    "\n"
    "Exit: 0 done, 1 bad input or failure, 2 usage, 3 no placement fits into --capacity, or none\n"
    "was found (the message states which; nothing is written), 4 no proof within the limits (only\n"
    "with --require-optimal), 130 interrupted: the best found is written.\n";

struct PlaceOptions {
  std::string input;
  std::string output;
  std::string capacity;
  bool force = false;
  bool require_optimal = false;
  std::int64_t max_states = 0;  // 0: not given
  double time_limit_seconds = 0;
  std::uint64_t seed = 3;
  OutputOptions out;
};

struct Answer {
  std::int64_t buffers = 0;
  std::optional<std::int64_t> capacity_bytes;
  arena::Outcome outcome;
  double seconds = 0;
  bool interrupted = false;

  bool fits() const { return !capacity_bytes || outcome.placement.height_bytes <= *capacity_bytes; }
  bool proven_not_to_fit() const {
    return capacity_bytes && outcome.lower_bound_bytes > *capacity_bytes;
  }
};

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<arena::CsvProblem> LoadCsv(const std::string& path) {
  NEAP_TRY(const auto bytes, io::ReadFile(path));
  const auto parse = [](std::span<const std::byte> content) -> Result<arena::CsvProblem> {
    if (!io::IsGzip(content)) return arena::ParseCsv(TextOf(content));
    NEAP_TRY(const auto expanded, io::ExpandGzip(content, kMaxExpandedBytes));
    return arena::ParseCsv(TextOf(expanded));
  };
  auto csv = parse(*bytes);
  if (csv) return csv;
  Diagnostic diagnostic = std::move(csv).error();
  diagnostic.file = path == "-" ? "standard input" : path;
  return Fail(std::move(diagnostic));
}

Status WriteCsv(const PlaceOptions& options, const arena::CsvProblem& csv,
                const arena::Placement& placement) {
  const std::string text = arena::FormatCsv(csv, placement.offsets);
  if (!options.output.ends_with(".gz")) return io::WriteFile(options.output, text, options.force);
  NEAP_TRY(const auto packed, io::CompressGzip(std::as_bytes(std::span(text))));
  return io::WriteFile(options.output, packed, options.force);
}

std::string JsonOf(const Answer& answer) {
  nlohmann::ordered_json out;
  out["schema_version"] = 1;
  out["buffers"] = answer.buffers;
  out["capacity_bytes"] = nullptr;
  out["fits"] = nullptr;
  if (answer.capacity_bytes) {
    out["capacity_bytes"] = *answer.capacity_bytes;
    if (answer.fits()) out["fits"] = true;
    if (answer.proven_not_to_fit()) out["fits"] = false;
  }
  out["arena_bytes"] = answer.outcome.placement.height_bytes;
  out["lower_bound_bytes"] = answer.outcome.lower_bound_bytes;
  out["status"] = answer.outcome.optimal() ? "optimal" : "bounded";
  out["states"] = answer.outcome.states;
  out["offsets"] = answer.outcome.placement.offsets;
  out["seconds"] = std::round(answer.seconds * 1e6) / 1e6;
  return out.dump(1) + "\n";
}

std::string TextOf(const Answer& answer, const std::string& name) {
  const std::int64_t height = answer.outcome.placement.height_bytes;
  const std::int64_t bound = answer.outcome.lower_bound_bytes;
  std::string text = fmt::format("{}: {} buffers in an arena of {}\n", name,
                                 FormatCount(answer.buffers), FormatBytes(height));
  if (answer.outcome.optimal()) {
    text += "optimal placement: no placement is lower\n";
  } else {
    text += fmt::format("no placement is lower than {} ({} less)\n", FormatBytes(bound),
                        report::Percent(height - bound, height));
  }
  if (answer.capacity_bytes && answer.fits()) {
    text += fmt::format("fits into {}\n", FormatBytes(*answer.capacity_bytes));
  }
  return text;
}

std::string WhyNot(const Answer& answer) {
  const std::string capacity = FormatBytes(*answer.capacity_bytes);
  if (answer.proven_not_to_fit()) {
    return fmt::format("does not fit into {}: proven, no placement is lower than {}", capacity,
                       FormatBytes(answer.outcome.lower_bound_bytes));
  }
  return fmt::format(
      "found no placement within {} and no proof that there is none: best {}, bound {} "
      "(a larger --max-states or --time-limit may find one)",
      capacity, FormatBytes(answer.outcome.placement.height_bytes),
      FormatBytes(answer.outcome.lower_bound_bytes));
}

Result<arena::SolveOptions> SolveOptionsOf(const PlaceOptions& options,
                                           std::optional<std::int64_t> capacity) {
  NEAP_CHECK_OK(CheckTimeLimit(options.time_limit_seconds));
  arena::SolveOptions solve;
  solve.seed = options.seed;
  solve.goal_bytes = capacity;
  solve.limits.max_seconds = options.time_limit_seconds;
  solve.limits.max_states = options.max_states;
  if (options.max_states == 0 && options.time_limit_seconds <= 0) {
    solve.limits.max_states = kStatesForAFewSeconds;
  }
  return solve;
}

Result<int> Finish(const PlaceOptions& options, const arena::CsvProblem& csv,
                   const Answer& answer) {
  const bool csv_on_stdout = options.output == "-";
  if (answer.fits() && !options.output.empty()) {
    NEAP_CHECK_OK(WriteCsv(options, csv, answer.outcome.placement));
  }
  if (options.out.json) {
    NEAP_CHECK_OK(Print(stdout, JsonOf(answer)));
  } else if (!options.out.quiet) {
    NEAP_CHECK_OK(
        Print(csv_on_stdout ? stderr : stdout, TextOf(answer, report::Printable(options.input))));
  }
  if (!answer.fits()) {
    fmt::print(stderr, "neap place: {}\n", WhyNot(answer));
    return kOverBudget;
  }
  if (answer.interrupted) return kInterrupted;
  return options.require_optimal && !answer.outcome.optimal() ? kUnproven : kDone;
}

Result<int> Place(const PlaceOptions& options) {
  if (options.out.json && options.output == "-") {
    return Fail(UsageError("only one of -o - and --json can use standard output"));
  }
  std::optional<std::int64_t> capacity;
  if (!options.capacity.empty()) {
    NEAP_TRY(capacity, ParseSize("--capacity", options.capacity));
  }
  NEAP_TRY(arena::SolveOptions solve, SolveOptionsOf(options, capacity));
  NEAP_CHECK_OK(CheckOutput(options.output, options.force));
  NEAP_TRY(const arena::CsvProblem csv, LoadCsv(options.input));
  Answer answer{static_cast<std::int64_t>(csv.problem.buffers.size()), capacity, {}, 0, false};
  {
    ProgressLine progress(!options.out.quiet && ::isatty(::fileno(stderr)) != 0);
    solve.limits.stop = StopOnInterrupt();
    solve.limits.observer = [&](const Progress& seen) { progress.Show(seen); };
    const Stopwatch watch;
    answer.outcome = arena::Solve(csv.problem, solve);
    answer.seconds = watch.Seconds();
    answer.interrupted = solve.limits.stop->load();
  }
  const auto violation = arena::FindViolation(csv.problem, answer.outcome.placement);
  NEAP_CHECK(!violation, violation.value_or(""));
  return Finish(options, csv, answer);
}

}  // namespace

int PlaceCommand(std::vector<std::string> args) {
  PlaceOptions options;
  CLI::App app("Place buffers with known lifetimes in an arena of minimum height.", "neap place");
  app.footer(kPlaceFooter);
  app.add_option("FILE", options.input, "CSV, also .gz; - is stdin")->required();
  app.add_option("-o,--output", options.output,
                 "write the table with a column `offset`; .gz is compressed, - is stdout")
      ->option_text("OUT");
  app.add_option(
         "--capacity", options.capacity,
         "stop when a placement fits into this size, or when none is proven to: 1MiB, 262144")
      ->option_text("SIZE");
  app.add_option(
         "--max-states", options.max_states,
         "maximum number of states, the same on every machine; default: enough for some seconds")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  app.add_option("--time-limit", options.time_limit_seconds,
                 "time limit of the search; results may then differ between runs; default: none")
      ->option_text("SECONDS");
  AddSeedOption(&app, "--seed", &options.seed, "random seed; default: 3");
  app.add_flag("--require-optimal", options.require_optimal,
               "exit with 4 unless the result is proven optimal");
  app.add_flag("--force", options.force, "overwrite OUT");
  AddOutputOptions(&app, &options.out);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  const Result<int> code = Place(options);
  return code ? *code : Report("place", code.error());
}

}  // namespace neap::tools
