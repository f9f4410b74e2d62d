// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/check/offsets_check.h"
#include "neap/check/runtime_check.h"
#include "neap/compile/compile.h"
#include "neap/deliver/price.h"
#include "neap/ops/macs.h"
#include "tools/cascading.h"
#include "tools/interface.h"

namespace neap::tools {
namespace {

const formats::SourceModel& Interfaced(const MadePlan& made) {
  return made.delivery.Interfaced(made.source);
}

// The arena in file order is that of TFLM's own planner, which does not run for such a file.
void NoteCarriedPlan(const MadePlan& made, report::PlanReport* report) {
  const formats::SourceModel& model = Interfaced(made);
  if (made.request.compile.runtime != plan::Runtime::kTflm || !model.carried_plan) return;
  const formats::CarriedPlan& carried = *model.carried_plan;
  if (!carried.problem.empty()) return;
  const check::OffsetsVerdict verdict = check::CheckOffsets(model.graph, carried.offsets);
  if (verdict.placed == 0) return;
  report->notes.push_back(fmt::format(
      "the file contains a memory plan of {}: the arena in file order is computed without it",
      FormatBytes(verdict.arena_bytes)));
}

// The same file on every other target.
void DescribeOtherTargets(const MadePlan& made, report::PlanReport* report) {
  const compile::Compiled& compiled = made.delivery.compiled;
  if (compiled.totals.empty() || !report->placed || compiled.delivered_arena_bytes < 0) return;
  for (const target::Target& target : target::Targets()) {
    const bool known = std::any_of(compiled.totals.begin(), compiled.totals.end(),
                                   [&](const auto& total) { return total.target == &target; });
    // A total of a plan that is wrong there would mislead.
    if (!known && ops::HoldsOnTarget(compiled.plan.kernels, target)) {
      report->other_totals.push_back(compile::TotalOnTarget(*report->graph, compiled, target));
    }
  }
}

// Once each: several subgraphs may have the same note.
void AddNotes(const std::vector<std::string>& notes, report::PlanReport* report) {
  for (const std::string& note : notes) {
    const auto& known = report->notes;
    if (std::find(known.begin(), known.end(), note) == known.end()) report->notes.push_back(note);
  }
}

void DescribeKinds(const MadePlan& made, report::PlanReport* report) {
  for (const deliver::Tried& tried : made.delivery.tried) {
    report::TriedPlan one;
    one.kind = deliver::LabelOf(tried);
    one.bytes = tried.measure.bytes;
    one.total_arena_bytes = tried.measure.total_arena_bytes;
    one.fits = tried.measure.fits;
    one.taken = tried.kind == made.delivery.kind && tried.extras == made.delivery.extras;
    one.known = tried.measure.known;
    if (deliver::HasTiles(tried.kind) || deliver::IsStreamed(tried.kind) ||
        deliver::HasRepetitions(tried.kind)) {
      one.macs = tried.price.macs;
      one.whole_macs = tried.price.model_macs;
    }
    one.price = tried.price;
    report->tried.push_back(std::move(one));
  }
}

void DescribeBudgets(const MadePlan& made, report::PlanReport* report) {
  const deliver::Budgets& budgets = made.request.budgets;
  report->budgets = budgets;
  if (const target::Board* const board = made.request.board) {
    report->board = board;
    report->reserve_bytes = board->ram_bytes - budgets.total_bytes.value_or(0);
    report->notes.push_back(fmt::format(
        "{}: {} of RAM, of which {} are reserved for stack and "
        "other data (--reserve)",
        board->title, FormatBytes(board->ram_bytes), FormatBytes(report->reserve_bytes)));
  }
  if (!budgets.memory_bytes) return;
  const compile::TflmTotal* const total = report::TotalOf(made.delivery.compiled);
  const bool of_total = total != nullptr && total->total_arena_bytes >= 0;
  const cascade::DeviceMemory* const memory = cascade::MemoryFor(made.request.tiling.device, false);
  report->notes.push_back(fmt::format(
      "device '{}' has {} for activations in memory '{}'; compared with the {}",
      report::Printable(made.request.tiling.device.name), FormatBytes(*budgets.memory_bytes),
      report::Printable(memory->name), of_total ? "total arena" : "arena"));
}

void DescribeTiles(const MadePlan& made, report::PlanReport* report) {
  if (!made.delivery.tiles || made.request.tiling.use == deliver::Use::kNever) return;
  const bool cut = deliver::HasTiles(made.delivery.kind);
  if (!cut && made.request.tiling.use != deliver::Use::kAlways) return;
  const cascade::SearchOutcome& outcome = *made.delivery.tiles;
  const cascade::Proposal& chosen = cut ? outcome.front[outcome.chosen] : outcome.uncut;
  report::CascadeReport cascade;
  cascade.device = made.request.tiling.device.name;
  cascade.tiles = chosen.tiles;
  cascade.macs = chosen.macs;
  cascade.uncut_macs = outcome.macs;
  cascade.cycles = chosen.cycles;
  cascade.uncut_cycles = outcome.uncut.cycles;
  cascade.uncut_arena_bytes = outcome.uncut.arena_bytes;
  cascade.uncut_total_arena_bytes = outcome.uncut.total_arena_bytes;
  cascade.shared_bodies = chosen.bodies == cascade::TileBodies::kShared;
  if (cascade.shared_bodies) {
    report->notes.emplace_back("equal tiles call a body by IF: the application has to register IF");
  }
  cascade.regions = RegionsText(chosen);
  report->cascade = std::move(cascade);
}

void DescribeRewriting(const MadePlan& made, report::PlanReport* report) {
  if (!made.delivery.rewriting) return;
  const deliver::Rewritten& rewritten = *made.delivery.rewriting;
  report::RewriteReport rewriting;
  rewriting.source = &Interfaced(made).graph;
  rewriting.peak_lower_bound_bytes = rewritten.lower_bound_bytes;
  rewriting.growth_bytes = rewritten.growth_bytes;
  rewriting.evaluations = rewritten.evaluations;
  for (const StepTime& step : made.delivery.steps) {
    if (step.name == "rewrite") rewriting.seconds = step.seconds;
  }
  report->rewriting = rewriting;
}

void DescribeRepetitions(const MadePlan& made, report::PlanReport* report) {
  if (!made.delivery.repetitions) return;
  const compile::Repetitions& found = *made.delivery.repetitions;
  report::RepetitionReport repetition;
  repetition.max_cost_permille = made.request.max_cost_permille;
  repetition.base_cost = found.base_cost;
  repetition.peak_lower_bound_bytes = found.lower_bound_bytes;
  const graph::Graph& planned = made.delivery.Planned(made.source).graph;
  const graph::Subgraph& main = planned.subgraphs[graph::SubgraphId(0)];
  repetition.cost = found.base_cost;
  repetition.base_macs = deliver::MacsOf(Interfaced(made).graph);
  repetition.macs = deliver::MacsOf(planned);
  if (deliver::HasRepetitions(made.delivery.kind)) {
    repetition.cost = 0;
    for (const graph::Op& op : main.ops) {
      if (!op.folded) repetition.cost += ops::CostOf(main, op);
    }
    std::vector<graph::OpId> once = made.delivery.compiled.plan.repeated_order;
    const auto runs = static_cast<std::int64_t>(once.size());
    std::sort(once.begin(), once.end());
    once.erase(std::unique(once.begin(), once.end()), once.end());
    repetition.repetitions = runs - static_cast<std::int64_t>(once.size());
  }
  for (const compile::Repetition& point : found.points) {
    if (point.cost == repetition.cost) repetition.least_cost = point.least_cost;
  }
  report->repetition = repetition;
}

// Moves in the written model.
void NoteMoves(const MadePlan& made, report::PlanReport* report) {
  std::ptrdiff_t moves = 0;
  for (const plan::EntryPlan& entry : made.delivery.compiled.plan.entries) {
    moves += std::count_if(entry.steps.begin(), entry.steps.end(),
                           [](const plan::Step& step) { return step.moved.valid(); });
  }
  if (moves == 0) return;
  if (made.delivery.compiled.edited) {
    report->notes.push_back(fmt::format(
        "{} in the written model: the application has to register RESHAPE",
        moves == 1 ? "1 move is a RESHAPE" : fmt::format("{} moves are RESHAPEs", moves)));
  } else {
    report->notes.emplace_back(
        "the moves are only in plan.json (--plan): the written model contains the order, not the "
        "addresses");
  }
}

// TFLM runs only the operator types that the firmware registers.
void NoteAddedTypes(const MadePlan& made, report::PlanReport* report) {
  if (!made.delivery.edited || made.request.compile.runtime != plan::Runtime::kTflm) return;
  std::string added;
  for (const std::string& type :
       deliver::NewTypes(Interfaced(made).graph, made.delivery.edited->graph)) {
    added += (added.empty() ? "" : ", ") + type;
  }
  if (added.empty()) return;
  report->notes.push_back(
      fmt::format("the planned model adds operator types: {}; the firmware must register them",
                  report::Printable(added)));
}

// Limits of the numbers of a runtime.
void NoteRuntime(const MadePlan& made, report::PlanReport* report) {
  const plan::Runtime runtime = made.request.compile.runtime;
  if (const auto refusal = check::FindRefusal(Interfaced(made).graph, runtime)) {
    const graph::Subgraph& subgraph = Interfaced(made).graph.subgraphs[refusal->subgraph];
    report->refused = {graph::Describe(refusal->op, subgraph.ops[refusal->op]), refusal->why};
  }
  const bool tflite = made.source.format == formats::Format::kTflite;
  const bool onnx = made.source.format == formats::Format::kOnnx;
  std::string_view only;
  if (runtime == plan::Runtime::kTflm && !tflite) only = "TensorFlow Lite Micro runs .tflite";
  if (runtime == plan::Runtime::kLitert && !tflite) only = "LiteRT runs .tflite";
  if (runtime == plan::Runtime::kOnnxRuntime && !onnx) only = "ONNX Runtime runs .onnx";
  if (!only.empty()) {
    report->notes.push_back(
        fmt::format("{} only: the numbers are those of such a file of the same graph", only));
  }
  if (runtime == plan::Runtime::kLitert && made.delivery.compiled.delivered_arena_bytes < 0) {
    report->notes.emplace_back(
        "LiteRT's own allocation is unknown: control flow calls subgraphs, and each has an arena "
        "of "
        "its own");
  }
}

void NoteWhatIsMissing(const MadePlan& made, report::PlanReport* report) {
  if (!made.delivery.compiled.unknown_kernels.empty()) {
    std::string note = fmt::format("the scratch of operator {} is not modelled",
                                   made.delivery.compiled.unknown_kernels.front().op);
    if (made.request.compile.place && made.request.compile.memory_plan) {
      note += ": the written model has no memory plan, and TFLM places the tensors itself";
    }
    report->notes.push_back(note + "; --scratch FILE supplies the size");
  }
  if (report->carries_plan && made.source.graph.subgraphs.size() > 1) {
    report->notes.emplace_back(
        "the memory plan covers several subgraphs: old releases of TFLM read only the offsets of "
        "the first (docs/reference/memory-model.md)");
  }
}

}  // namespace

report::PlanReport DescribePlan(const MadePlan& made, bool writes_model) {
  const deliver::Request& request = made.request;
  const compile::Compiled& compiled = made.delivery.compiled;
  report::PlanReport report;
  report.model = made.source.path;
  report.graph = &made.delivery.Planned(made.source).graph;
  report.compiled = &compiled;
  // What runs from flash. Of .onnx not even all constants are loaded.
  const formats::SourceModel& planned = made.delivery.Planned(made.source);
  if (planned.bytes && planned.format == formats::Format::kTflite) {
    report.flash = report::FlashOf(planned.graph, static_cast<std::int64_t>(planned.bytes->size()),
                                   &report.compiled->plan);
  }
  report.placed = request.compile.place;
  report.interface = InterfaceChanges(made.source.graph, made.delivery.caller_ops);
  report.carries_plan = made.source.format == formats::Format::kTflite && !compiled.offsets.empty();
  report.steps = made.delivery.steps;
  report.notes = Interfaced(made).notes;
  NoteCarriedPlan(made, &report);
  AddNotes(made.delivery.notes, &report);
  AddNotes(compiled.notes, &report);
  if (compiled.interrupted) {
    report.notes.emplace_back("interrupted: another plan may need less memory");
  }
  if (request.compile.runtime == plan::Runtime::kNeap && !request.rewriting.sums_in_place &&
      request.rewriting.any) {
    report.notes.emplace_back(
        "rewrites with accumulators of Neap's executor are left out, because no file can contain "
        "them: a plan without -o may need less memory");
  }
  DescribeOtherTargets(made, &report);
  DescribeKinds(made, &report);
  report.advice = made.advice;
  DescribeRewriting(made, &report);
  DescribeTiles(made, &report);
  DescribeRepetitions(made, &report);
  NoteAddedTypes(made, &report);
  NoteRuntime(made, &report);
  if (compiled.kept_file_order) {
    report.notes.emplace_back(
        "the file order is kept: for the order of minimum peak, the runtime's own planner would "
        "allocate more");
  }
  if (writes_model) NoteMoves(made, &report);
  DescribeBudgets(made, &report);
  if (request.compile.runtime == plan::Runtime::kTflm) NoteWhatIsMissing(made, &report);
  return report;
}

}  // namespace neap::tools
