// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/plan/profile.h"
#include "neap/report/report.h"

namespace neap::report {
namespace {

// The runtime whose own planner places, for profiles that have one.
std::string_view StockRuntimeName(plan::Runtime runtime) {
  switch (runtime) {
    case plan::Runtime::kTflm:
      return "TensorFlow Lite Micro";
    case plan::Runtime::kLitert:
      return "LiteRT";
    case plan::Runtime::kOnnxRuntime:
      return "ONNX Runtime";
    case plan::Runtime::kIdeal:
    case plan::Runtime::kIdealInPlace:
      break;
  }
  return "the stock runtime";
}

// ", was 351,232 B: 14.3 % less"
std::string Comparison(std::int64_t now, std::int64_t before) {
  if (now == before) return ", the same as in file order";
  std::string out = fmt::format(", was {} B", FormatCount(before));
  if (before <= 0) return out;
  const bool less = now < before;
  return out + fmt::format(": {} {}", Percent(less ? before - now : now - before, before),
                           less ? "less" : "more");
}

std::string ProofText(const PlanReport& report, const Headline& headline, const Style& style) {
  if (headline.bytes <= headline.lower_bound_bytes) {
    return Paint(style, Ink::kGood, "proven optimal");
  }
  const std::string gap = Gap(headline.bytes, headline.lower_bound_bytes);
  const std::string bound = FormatCount(headline.lower_bound_bytes);
  const plan::EntryPlan& entry = plan::LargestEntry(report.compiled->plan);
  if (headline.by_stock_runtime && entry.arena_bytes <= entry.arena_lower_bound_bytes) {
    // The search left nothing to find; what is above the optimum is the runtime's placement.
    return fmt::format("gap {} left by its own planner (proven optimum {} B)", gap, bound);
  }
  return fmt::format("{}gap {} (lower bound {} B)",
                     report.compiled->interrupted ? "interrupted before a proof, " : "", gap,
                     bound);
}

std::string FirstLine(const PlanReport& report, const Style& style) {
  const compile::Compiled& compiled = *report.compiled;
  const Headline headline = HeadlineOf(compiled, report.placed);
  std::string out;
  if (!Fits(report)) {
    out = Paint(style, Ink::kBad,
                fmt::format("Over budget by {}",
                            FormatBytes(headline.bytes - *report.budget_bytes))) +
          fmt::format(" (required {} B, available {} B). ", FormatCount(headline.bytes),
                      FormatCount(*report.budget_bytes));
  }
  out += Paint(style, Ink::kBold,
               fmt::format("{} {}", report.placed ? "Arena" : "Peak", FormatBytes(headline.bytes)));
  if (headline.by_stock_runtime) {
    out += fmt::format(" as {} {} allocate", StockRuntimeName(compiled.plan.runtime),
                       report.model_file.empty() ? "would" : "will");
  }
  out += Comparison(headline.bytes, headline.file_order_bytes);
  out += "; " + ProofText(report, headline, style) + ".";
  const std::string peak = PeakSentence(*report.graph, compiled.peak_at);
  return out + (peak.empty() ? "" : " " + peak) + "\n";
}

struct Row {
  std::string label;
  std::array<std::optional<std::int64_t>, 3> bytes;  // plan, lower bound, file order
};

std::string TableText(const std::vector<Row>& rows) {
  constexpr std::array<std::string_view, 3> kHeads = {"plan", "lower bound", "file order"};
  std::size_t label_columns = 5;
  std::array<std::size_t, 3> columns{};
  for (std::size_t at = 0; at < 3; ++at) columns.at(at) = kHeads.at(at).size();
  for (const Row& row : rows) {
    label_columns = std::max(label_columns, row.label.size());
    for (std::size_t at = 0; at < 3; ++at) {
      if (const auto bytes = row.bytes.at(at)) {
        columns.at(at) = std::max(columns.at(at), FormatCount(*bytes).size());
      }
    }
  }
  std::string out = fmt::format("  {:<{}}", "bytes", label_columns);
  for (std::size_t at = 0; at < 3; ++at) {
    out += fmt::format("  {:>{}}", kHeads.at(at), columns.at(at));
  }
  out += "\n";
  for (const Row& row : rows) {
    std::string line = fmt::format("  {:<{}}", row.label, label_columns);
    for (std::size_t at = 0; at < 3; ++at) {
      const auto bytes = row.bytes.at(at);
      line += fmt::format("  {:>{}}", bytes ? FormatCount(*bytes) : "", columns.at(at));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::vector<Row> RowsOf(const PlanReport& report) {
  const compile::Compiled& compiled = *report.compiled;
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  std::vector<Row> rows = {
      {"peak", {entry.peak_bytes, entry.peak_lower_bound_bytes, compiled.file_order.peak_bytes}}};
  const bool stock = compiled.delivered_arena_bytes >= 0;
  if (report.placed) {
    rows.push_back({"arena", {entry.arena_bytes, entry.arena_lower_bound_bytes, std::nullopt}});
    if (!stock) rows.back().bytes[2] = compiled.file_order.arena_bytes;
    if (entry.arena_given_order_lower_bound_bytes > entry.arena_lower_bound_bytes) {
      rows.push_back({"arena, this order",
                      {std::nullopt, entry.arena_given_order_lower_bound_bytes, std::nullopt}});
    }
  }
  if (stock && report.placed) {
    rows.push_back(
        {fmt::format("arena by {}", plan::ProfileOf(compiled.plan.runtime).name),
         {compiled.delivered_arena_bytes, std::nullopt, compiled.file_order.arena_bytes}});
  }
  return rows;
}

std::string StatusText(plan::BoundStatus status, std::int64_t bytes, std::int64_t bound) {
  return status == plan::BoundStatus::kOptimal ? "optimal" : "gap " + Gap(bytes, bound);
}

// One line for each entry, where there are several; the first line and the table are the largest's.
std::string EntriesText(const PlanReport& report) {
  const plan::Plan& planned = report.compiled->plan;
  if (planned.entries.size() < 2) return "";
  std::string out = fmt::format("  {} entry subgraphs run on their own; the largest is above\n",
                                planned.entries.size());
  for (const plan::EntryPlan& entry : planned.entries) {
    out +=
        fmt::format("    #{}{}: peak {} ({})", entry.subgraph.value(),
                    entry.signature.empty() ? "" : " '" + Printable(entry.signature) + "'",
                    FormatCount(entry.peak_bytes),
                    StatusText(entry.order_status, entry.peak_bytes, entry.peak_lower_bound_bytes));
    if (report.placed) {
      out += fmt::format(
          ", arena {} ({})", FormatCount(entry.arena_bytes),
          StatusText(entry.arena_status, entry.arena_bytes, entry.arena_lower_bound_bytes));
    }
    out += "\n";
  }
  return out;
}

// Said at the top: under other kernels the outputs would be wrong without a word.
std::string KernelsText(const PlanReport& report) {
  const plan::Plan& planned = report.compiled->plan;
  if (planned.kernels == ops::KernelLibrary::kNone) return "";
  return fmt::format("Outputs lie over inputs: right under {} kernels alone.\n",
                     ops::NameOf(planned.kernels));
}

// What an overlap does to a caller who wants to use the inputs again has to be said.
std::string OverlapsText(const PlanReport& report) {
  const plan::EntryPlan& entry = plan::LargestEntry(report.compiled->plan);
  if (entry.overlaps.empty()) return "";
  const auto written_over = std::count_if(
      entry.overlaps.begin(), entry.overlaps.end(),
      [](const auto& overlap) { return overlap.kind != plan::OverlapKind::kHoldsInput; });
  std::string out;
  if (written_over > 0) {
    out += fmt::format(
        "  {} written over an input\n",
        written_over == 1 ? "1 output is" : fmt::format("{} outputs are", written_over));
  }
  for (const graph::TensorId id : ClobberedInputs(*report.graph, entry)) {
    const graph::Tensor& tensor = report.graph->subgraphs[entry.subgraph].tensors[id];
    out += fmt::format("  overwrites model input '{}'\n", Printable(tensor.name));
  }
  return out;
}

std::string MovesText(const PlanReport& report) {
  const std::vector<Move> moves = MovesOf(plan::LargestEntry(report.compiled->plan));
  if (moves.empty()) return "";
  std::int64_t bytes = 0;
  for (const Move& move : moves) bytes += move.bytes;
  return fmt::format("  {} of live tensors, {} copied\n",
                     moves.size() == 1 ? "1 move" : fmt::format("{} moves", moves.size()),
                     FormatBytes(bytes));
}

}  // namespace

std::vector<Move> MovesOf(const plan::EntryPlan& entry) {
  std::vector<Move> moves;
  for (std::size_t slot = 0; slot < entry.steps.size(); ++slot) {
    const graph::TensorId tensor = entry.steps[slot].moved;
    if (!tensor.valid()) continue;
    Move move;
    move.slot = static_cast<std::int32_t>(slot);
    move.tensor = tensor;
    for (const plan::TensorPlacement& placement : entry.tensors) {
      if (placement.tensor != tensor || placement.subgraph != entry.subgraph) continue;
      move.bytes = placement.bytes;
      if (placement.last == move.slot + 1 && placement.first != move.slot)
        move.from = placement.offset;
      if (placement.first == move.slot) move.to = placement.offset;
    }
    moves.push_back(move);
  }
  return moves;
}

std::vector<graph::TensorId> ClobberedInputs(const graph::Graph& graph,
                                             const plan::EntryPlan& entry) {
  const std::vector<graph::TensorId>& inputs = graph.subgraphs[entry.subgraph].inputs;
  std::set<graph::TensorId> found;
  for (const plan::Overlap& overlap : entry.overlaps) {
    if (overlap.subgraph != entry.subgraph) continue;
    if (overlap.kind == plan::OverlapKind::kHoldsInput) continue;
    if (std::find(inputs.begin(), inputs.end(), overlap.input) != inputs.end()) {
      found.insert(overlap.input);
    }
  }
  return {found.begin(), found.end()};
}

Headline HeadlineOf(const compile::Compiled& compiled, bool placed) {
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  if (!placed) {
    return {entry.peak_bytes, entry.peak_lower_bound_bytes, compiled.file_order.peak_bytes, false};
  }
  const bool stock = compiled.delivered_arena_bytes >= 0;
  return {stock ? compiled.delivered_arena_bytes : entry.arena_bytes, entry.arena_lower_bound_bytes,
          compiled.file_order.arena_bytes, stock};
}

bool IsProven(const compile::Compiled& compiled, bool placed) {
  const std::vector<plan::EntryPlan>& entries = compiled.plan.entries;
  return std::all_of(entries.begin(), entries.end(), [&](const plan::EntryPlan& entry) {
    return entry.order_status == plan::BoundStatus::kOptimal &&
           (!placed || entry.arena_status == plan::BoundStatus::kOptimal);
  });
}

std::string OverBudgetText(const PlanReport& report) {
  const Headline headline = HeadlineOf(*report.compiled, report.placed);
  const std::int64_t budget = report.budget_bytes.value_or(0);
  std::string out =
      fmt::format("over budget: required {}, available {}, excess {}", FormatBytes(headline.bytes),
                  FormatBytes(budget), FormatBytes(headline.bytes - budget));
  if (headline.lower_bound_bytes > budget) {
    out += fmt::format("; no order and no placement of this graph fits: each needs at least {} B",
                       FormatCount(headline.lower_bound_bytes));
  }
  return out;
}

std::string PlanText(const PlanReport& report, const Style& style) {
  const compile::Compiled& compiled = *report.compiled;
  std::string out =
      FirstLine(report, style) + KernelsText(report) + "\n" + TableText(RowsOf(report));
  const Counts counts = CountOf(*report.graph);
  out += fmt::format("  runtime {}, order {}: {} operators, {} tensors, {} states\n",
                     plan::ProfileOf(compiled.plan.runtime).name, compiled.plan.order_strategy,
                     FormatCount(counts.operators), FormatCount(counts.tensors),
                     FormatCount(plan::LargestEntry(compiled.plan).states));
  out += fmt::format("  {:.3f} s: read {:.3f}, order {:.3f}, place {:.3f}\n", report.total_seconds,
                     report.read_seconds, compiled.seconds.order_seconds,
                     compiled.seconds.place_seconds);
  out += EntriesText(report);
  out += OverlapsText(report);
  out += MovesText(report);
  for (const std::string& file : report.written) out += "  wrote " + Printable(file, 4096) + "\n";
  return out + NotesText(report.notes, "  ");
}

}  // namespace neap::report
