// SPDX-License-Identifier: Apache-2.0
//
// neap units: operators on several units at once.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/base/index.h"
#include "neap/compile/entry_memory.h"
#include "neap/deliver/deliver.h"
#include "neap/formats/formats.h"
#include "neap/io/file.h"
#include "neap/ops/macs.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "tools/common.h"
#include "tools/units_report.h"

namespace neap::tools {
namespace {

constexpr const char* kUnitsFooter =
    "Examples:\n"
    "  neap units model.tflite --units 2                       minimum makespan, with its proof\n"
    "  neap units model.tflite --units 2 --budget 256KiB       minimum makespan within a peak\n"
    "  neap units graph.json --units 4 --makespan 120 --json   minimum peak within a makespan\n"
    "  neap units graph.json --units 4 --front --html page.html\n"
    "\n"
    "An operator runs for its cost: \"cost\" in graph JSON, else its MACs or, if those are more,\n"
    "the elements that it writes. Of equal schedules, the one whose other value is lower is taken\n"
    "(docs/algorithms/units.md).\n"
    "\n"
    "Exit: 0 done, 1 bad input or failure, 2 usage, 3 no schedule is within the limit, none was\n"
    "found, or its addresses exceed the budget, 4 no proof within the limits of the search (only\n"
    "with --require-optimal), 130 interrupted: the best found is reported.\n";

struct UnitsOptions {
  ModelOptions model;
  OutputOptions output;
  std::int64_t units = 0;
  std::int64_t makespan = 0;  // 0: not given
  std::string budget;
  bool front = false;
  std::string html;
  std::int64_t max_states = units::kDefaultStates;
  double time_limit_seconds = 0;
  bool require_optimal = false;
  bool force = false;
};

class UnitsRun {
 public:
  explicit UnitsRun(const UnitsOptions& options) : options_(options) {}

  Result<int> Run() {
    NEAP_CHECK_OK(CheckTimeLimit(options_.time_limit_seconds));
    NEAP_CHECK_OK(CheckOutput(options_.html, options_.force));
    NEAP_CHECK_OK(CheckDistinct({{"INPUT", options_.model.input}}, {{"--html", options_.html}}));
    NEAP_CHECK_OK(SetGoal());
    NEAP_CHECK_OK(Load());
    report_.outcome = Solve(report_.options);
    if (!report_.outcome.best) return None();
    if (options_.front) MakeFront();
    NEAP_CHECK_OK(Place());
    report_.seconds = watch_.Seconds();
    if (!options_.html.empty()) {
      NEAP_CHECK_OK(io::WriteFile(options_.html, UnitsPage(report_), options_.force));
    }
    if (options_.output.json) {
      NEAP_CHECK_OK(Print(stdout, UnitsJson(report_)));
    } else if (!options_.output.quiet) {
      NEAP_CHECK_OK(Print(stdout, UnitsText(report_, StyleFor(stdout, options_.output))));
    }
    if (stop_->load()) return kInterrupted;
    const std::int64_t budget = report_.options.peak_limit;
    if (budget >= 0 && report_.arena_bytes > budget) {
      NEAP_CHECK_OK(Print(
          stderr,
          fmt::format(
              "neap units: {}: over budget: a peak of {} is within {}, but the addresses "
              "that were found need {}\n  hint: a smaller --budget may give a schedule whose "
              "addresses fit\n",
              report::Printable(source_.path, 4096), FormatBytes(report_.outcome.best->peak_bytes),
              FormatBytes(budget), FormatBytes(report_.arena_bytes))));
      return kOverBudget;
    }
    return options_.require_optimal && !report_.outcome.optimal ? kUnproven : kDone;
  }

 private:
  Status SetGoal() {
    units::Options& goal = report_.options;
    goal.objective = units::Objective::kMakespan;
    if (options_.makespan > 0) {
      goal.objective = units::Objective::kPeak;
      goal.makespan_limit = options_.makespan;
    }
    if (!options_.budget.empty()) {
      NEAP_TRY(goal.peak_limit, ParseSize("--budget", options_.budget));
    }
    goal.limits.max_states = options_.max_states;
    goal.limits.deadline = DeadlineAfter(options_.time_limit_seconds);
    stop_ = StopOnInterrupt();
    goal.limits.stop = stop_;
    return {};
  }

  Status Load() {
    formats::LoadOptions load;
    NEAP_TRY(load.dims, ParseDims(options_.model.dims));
    NEAP_TRY(source_, formats::Load(options_.model.input, load));
    NEAP_TRY(const plan::Runtime runtime, deliver::RuntimeOf(options_.model.words, source_.format));
    const graph::SubgraphId entry(0);
    auto lowered = compile::OrderProblemOf(source_.graph, entry, runtime);
    if (!lowered) return Fail(Named(std::move(lowered).error()));
    report_.model = source_.path;
    report_.model_sha256 = source_.sha256;
    report_.runtime = plan::ProfileOf(runtime).name;
    report_.subgraph = &source_.graph.subgraphs[entry];
    if (!lowered->problem.in_place.empty() || !lowered->problem.take_over.empty()) {
      report_.notes.emplace_back(
          "an output that overwrites its input counts as a tensor of its own");
    }
    lowered->problem.in_place.clear();
    lowered->problem.take_over.clear();
    report_.ops = std::move(lowered->ops);
    units::Problem& problem = report_.problem;
    problem.graph = std::move(lowered->problem);
    problem.units = static_cast<std::int32_t>(options_.units);
    for (const graph::OpId op : report_.ops) {
      problem.durations.push_back(
          std::max<std::int64_t>(1, ops::CostOf(*report_.subgraph, report_.subgraph->ops[op])));
    }
    if (auto wrong = units::Validate(problem)) return Fail(Named(BadInput(std::move(*wrong))));
    return {};
  }

  units::Outcome Solve(const units::Options& options) {
    if (!solver_) solver_.emplace(report_.problem);
    units::Outcome outcome = solver_->Solve(options);
    if (outcome.best) {
      const auto violation = units::FindViolation(report_.problem, *outcome.best);
      NEAP_CHECK(!violation, *violation);
    }
    return outcome;
  }

  Result<int> None() {
    report_.seconds = watch_.Seconds();
    if (options_.output.json) NEAP_CHECK_OK(Print(stdout, UnitsJson(report_)));
    const units::Outcome& outcome = report_.outcome;
    const std::string limit = report_.options.makespan_limit >= 0
                                  ? fmt::format("a makespan of {}", report_.options.makespan_limit)
                                  : FormatBytes(report_.options.peak_limit);
    const std::string message =
        outcome.infeasible ? "proven: no schedule is within " + limit
                           : "no schedule within " + limit + " was found; nothing is proven";
    const std::string hint =
        report_.options.makespan_limit >= 0
            ? fmt::format("every schedule has a makespan of at least {}",
                          outcome.makespan_lower_bound)
            : "every schedule has a peak of at least " + FormatBytes(outcome.peak_lower_bound);
    NEAP_CHECK_OK(Print(stderr, fmt::format("neap units: {}: {}\n  hint: {}\n",
                                            report::Printable(source_.path, 4096), message, hint)));
    if (stop_->load()) return kInterrupted;
    return kOverBudget;
  }

  // Addresses for the schedule: lifetimes in moments, as the arena search counts steps.
  Status Place() {
    const units::Schedule& best = *report_.outcome.best;
    const units::Problem& problem = report_.problem;
    report_.live = units::LiveBytes(problem, best.start);
    const auto end = [&](units::OpIndex op) {
      return best.start[At(op)] + problem.durations[At(op)];
    };
    for (const schedule::Buffer& buffer : problem.graph.buffers) {
      PlacedBuffer placed;
      placed.bytes = buffer.bytes;
      placed.users = buffer.users;
      placed.first = best.makespan;
      for (const units::OpIndex user : buffer.users) {
        placed.first = std::min(placed.first, best.start[At(user)]);
        placed.last = std::max(placed.last, end(user));
      }
      if (buffer.live_at_start) placed.first = 0;
      if (buffer.live_at_end) placed.last = best.makespan;
      report_.buffers.push_back(std::move(placed));
    }
    for (std::size_t op = 0; op < problem.graph.scratch_bytes.size(); ++op) {
      if (problem.graph.scratch_bytes[op] == 0) continue;
      const auto index = static_cast<units::OpIndex>(op);
      PlacedBuffer placed;
      placed.bytes = problem.graph.scratch_bytes[op];
      placed.first = best.start[op];
      placed.last = end(index);
      placed.users = {index};
      placed.scratch = true;
      report_.buffers.push_back(std::move(placed));
    }
    arena::Problem places;
    const auto moment = [&](std::int64_t time) {
      const auto at = std::lower_bound(
          report_.live.begin(), report_.live.end(), time,
          [](const units::Moment& seen, std::int64_t value) { return seen.time < value; });
      return static_cast<arena::Step>(at - report_.live.begin());
    };
    for (const PlacedBuffer& buffer : report_.buffers) {
      arena::Buffer out;
      out.bytes = buffer.bytes;
      out.first = moment(buffer.first);
      out.last = std::max(out.first, moment(buffer.last));
      places.buffers.push_back(out);
    }
    if (auto wrong = arena::Validate(places)) return Fail(Named(BadInput(std::move(*wrong))));
    arena::SolveOptions effort;
    constexpr std::int64_t kPlacementStates = 200'000;
    effort.limits.max_states = kPlacementStates;
    effort.limits.stop = stop_;
    const arena::Outcome outcome = arena::Solve(places, effort);
    const auto violation = arena::FindViolation(places, outcome.placement);
    NEAP_CHECK(!violation, *violation);
    for (std::size_t b = 0; b < report_.buffers.size(); ++b) {
      report_.buffers[b].offset = outcome.placement.offsets[b];
    }
    report_.arena_bytes = outcome.placement.height_bytes;
    report_.arena_lower_bound_bytes = outcome.lower_bound_bytes;
    return {};
  }

  // The minimum makespan, then the minimum within a smaller peak, until none is left. Schedules
  // that are not proven may be beaten by later ones.
  void MakeFront() {
    constexpr std::size_t kMaxPoints = 64;
    units::Options options = report_.options;
    options.objective = units::Objective::kMakespan;
    units::Outcome outcome = report_.outcome;
    for (std::size_t points = 0; outcome.best && points < kMaxPoints; ++points) {
      const std::int64_t makespan = outcome.best->makespan;
      while (!report_.front.empty() && report_.front.back().makespan >= makespan) {
        report_.front.pop_back();
      }
      report_.front.push_back({makespan, outcome.best->peak_bytes, outcome.makespan_lower_bound,
                               outcome.optimal, outcome.tie_optimal});
      if (report_.front.size() == 1) {
        report_.outcome.best = outcome.best;
        report_.outcome.optimal |= makespan == report_.outcome.makespan_lower_bound;
      }
      options.peak_limit = outcome.best->peak_bytes - 1;
      if (options.peak_limit < 0 || stop_->load()) return;
      outcome = Solve(options);
    }
    report_.front_complete = outcome.infeasible;
  }

  Diagnostic Named(Diagnostic diagnostic) const {
    diagnostic = WithAllSymbols(std::move(diagnostic), source_.graph);
    if (diagnostic.file.empty()) diagnostic.file = source_.path;
    return diagnostic;
  }

  const UnitsOptions& options_;
  const Stopwatch watch_;
  const std::atomic<bool>* stop_ = nullptr;
  formats::SourceModel source_;
  UnitsReport report_;
  std::optional<units::Solver> solver_;  // of report_.problem
};

}  // namespace

int UnitsCommand(std::vector<std::string> args) {
  UnitsOptions options;
  CLI::App app(
      "Schedule the operators of a model on identical units that run at once: the minimum "
      "makespan\n"
      "within a peak, or the minimum peak within a makespan.",
      "neap units");
  app.footer(kUnitsFooter);
  AddModelOptions(&app, &options.model);
  app.add_option("--units", options.units, "number of units")
      ->option_text("N")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{units::kMaxUnits}));
  CLI::Option* const makespan =
      app.add_option("--makespan", options.makespan, "minimum peak of schedules that end by M")
          ->option_text("M")
          ->check(CLI::Range(std::int64_t{1}, units::kMaxTotalDuration));
  CLI::Option* const budget =
      app.add_option("--budget", options.budget,
                     "minimum makespan of schedules with a peak of at most SIZE, such as 256KiB; "
                     "default: any peak")
          ->option_text("SIZE")
          ->excludes(makespan);
  app.add_flag("--front", options.front,
               "list makespans and peaks of which no schedule beats both, too")
      ->excludes(makespan)
      ->excludes(budget);
  app.add_option("--html", options.html, "write a page with units and live bytes over time")
      ->option_text("FILE");
  app.add_option("--max-states", options.max_states,
                 "maximum number of states of the exact search, for up to 64 operators; default: "
                 "200000")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  app.add_option("--time-limit", options.time_limit_seconds,
                 "time limit; results may then differ between runs; default: none")
      ->option_text("SECONDS");
  app.add_flag("--require-optimal", options.require_optimal,
               "exit with 4 unless the makespan, or the peak with --makespan, is proven optimal");
  app.add_flag("--force", options.force, "overwrite an existing FILE");
  AddOutputOptions(&app, &options.output);
  if (const auto code = Parse(&app, std::move(args))) return *code;
  const Result<int> code = UnitsRun(options).Run();
  return code ? *code : Report("units", code.error());
}

}  // namespace neap::tools
