// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/compile/headline.h"
#include "neap/plan/profile.h"
#include "neap/report/proof_text.h"
#include "neap/report/report.h"
#include "neap/report/tried_text.h"

namespace neap::report {
namespace {

// The runtime whose own planner places, for profiles that have one.
std::string_view StockRuntimeName(plan::Runtime runtime) {
  if (runtime == plan::Runtime::kTflm) return "TFLM";
  return runtime == plan::Runtime::kLitert ? "LiteRT" : "the stock runtime";
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

// A lower bound and the plans that it holds for; `over` is empty for every order and placement.
struct Bound {
  std::int64_t bytes = 0;
  std::string_view over;
};

// The largest bound that holds for this plan. `any` holds for every plan.
Bound StrongestBound(const plan::EntryPlan& entry, std::int64_t any) {
  if (!HoldsForOnce(entry) || entry.stream->lower_bound_bytes <= any) return {any, ""};
  return {entry.stream->lower_bound_bytes, kOverOnce};
}

std::string ProofText(const PlanReport& report, const Headline& headline, const Style& style) {
  if (const std::string unknown = PrintableScratch(report.compiled->unknown_kernels);
      !unknown.empty()) {
    return report.placed ? "TFLM's own allocation is unknown: " + unknown
                         : "without scratch: " + unknown;
  }
  if (headline.bytes <= headline.lower_bound_bytes) {
    return Paint(style, Ink::kGood, OptimalText(report));
  }
  const plan::EntryPlan& entry = plan::LargestEntry(report.compiled->plan);
  const Bound strongest = StrongestBound(entry, headline.lower_bound_bytes);
  const std::string gap = Gap(headline.bytes, strongest.bytes);
  const std::string bound = FormatCount(strongest.bytes);
  if (headline.bytes <= strongest.bytes) {
    return fmt::format("optimal over {} (lower bound {} B)", strongest.over, bound);
  }
  if (headline.by_stock_runtime && entry.arena_bytes <= entry.arena_lower_bound_bytes) {
    // The plan's own arena equals the bound; what is above it is the runtime's placement.
    return fmt::format("gap {} left by its own planner (no order and no placement is below {} B)",
                       gap, bound);
  }
  const std::string over = strongest.over.empty() ? "" : fmt::format(" over {}", strongest.over);
  return fmt::format("{}gap {} (lower bound {} B{})",
                     report.compiled->interrupted ? "interrupted before a proof, " : "", gap, bound,
                     over);
}

// The budget that is too small: of the activations, else of the whole arena.
struct Excess {
  std::int64_t required = 0;
  std::int64_t available = 0;
  bool total = false;
};

std::optional<Excess> ExcessOf(const PlanReport& report) {
  const std::int64_t arena = HeadlineOf(*report.compiled, report.placed).bytes;
  const bool known = report.compiled->unknown_kernels.empty();
  if (report.budget_bytes && known && arena > *report.budget_bytes) {
    return Excess{arena, *report.budget_bytes, false};
  }
  const compile::TflmTotal* total = TotalOf(*report.compiled);
  if (report.budget_total_bytes && total != nullptr && total->missing.empty() &&
      total->total_arena_bytes > *report.budget_total_bytes) {
    return Excess{total->total_arena_bytes, *report.budget_total_bytes, true};
  }
  return std::nullopt;
}

// Where the number of the first line will hold: in the file that was written for the runtime. Two
// lines where one would be too long.
std::string DeliveryText(const PlanReport& report, const Headline& headline, const Style& style) {
  if (!headline.by_stock_runtime || report.refused) return "";
  const std::string file =
      report.model_file.empty() ? "a model written with -o" : Printable(report.model_file, 4096);
  const bool tflm = report.compiled->plan.runtime == plan::Runtime::kTflm;
  const std::string who =
      fmt::format("That is what {} {} for {},", tflm ? "TensorFlow Lite Micro" : "LiteRT",
                  report.model_file.empty() ? "would allocate" : "will allocate", file);
  const std::string why = fmt::format("which carries {}.",
                                      report.carries_plan ? "this memory plan" : "the order alone");
  const bool fits = ColumnsOf(who) + 1 + ColumnsOf(why) <= static_cast<std::size_t>(style.columns);
  return who + (fits ? " " : "\n") + why + "\n";
}

// Whether both, with "; " between them, fit into one line. Colours take no columns.
bool FitsOneLine(const Style& style, std::string_view head, std::string_view tail) {
  std::size_t columns = 2;
  for (const std::string_view text : {head, tail}) {
    bool escape = false;
    for (const char c : text) {
      escape = escape || c == '\x1b';
      if (!escape) ++columns;
      if (c == 'm') escape = false;
    }
  }
  return columns <= static_cast<std::size_t>(style.columns);
}

// No number holds in a runtime that does not execute the model.
std::string RefusalText(const PlanReport& report, const Style& style) {
  if (!report.refused) return "";
  const bool tflm = report.compiled->plan.runtime == plan::Runtime::kTflm;
  return fmt::format("{} operator {}: {}.\n",
                     Paint(style, Ink::kBad,
                           fmt::format("{} does not execute this model:",
                                       tflm ? "TensorFlow Lite Micro" : "LiteRT")),
                     Printable(report.refused->op, 4096), Printable(report.refused->why, 4096));
}

std::string FirstLine(const PlanReport& report, const Style& style) {
  const compile::Compiled& compiled = *report.compiled;
  const Headline headline = HeadlineOf(compiled, report.placed);
  std::string out;
  if (const auto over = ExcessOf(report)) {
    out = Paint(style, Ink::kBad,
                fmt::format("Over budget by {}", FormatBytes(over->required - over->available))) +
          fmt::format(" (required {} B{}, available {} B). ", FormatCount(over->required),
                      over->total ? " in all" : "", FormatCount(over->available));
  }
  out += Paint(
      style, Ink::kBold,
      fmt::format(
          "{} {}",
          report.placed ? compiled.unknown_kernels.empty() ? "Arena" : "Arena of the plan" : "Peak",
          FormatBytes(headline.bytes)));
  if (headline.by_stock_runtime && !report.refused) {
    out += fmt::format(" in {}", StockRuntimeName(compiled.plan.runtime));
  }
  const std::size_t memories = compiled.plan.memories.size();
  if (memories > 1) {
    // More bytes in all than in one memory: what counts is another thing.
    out += fmt::format(" in {} memories", memories);
  } else {
    out += Comparison(headline.bytes, headline.file_order_bytes);
  }
  const std::string proof = ProofText(report, headline, style) + ".";
  out += FitsOneLine(style, out, proof) ? "; " + proof : ";\n" + proof;
  const std::string peak = PeakSentence(*report.graph, compiled.peak_at);
  return out + "\n" + RefusalText(report, style) + InterfaceText(report.interface) +
         DeliveryText(report, headline, style) + (peak.empty() ? "" : peak + "\n");
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
  const auto strongest = [&](std::int64_t any) { return StrongestBound(entry, any).bytes; };
  std::vector<Row> rows = {{"peak",
                            {entry.peak_bytes, strongest(entry.peak_lower_bound_bytes),
                             compiled.file_order.peak_bytes}}};
  const bool stock = compiled.delivered_arena_bytes >= 0;
  if (report.placed) {
    rows.push_back(
        {"arena", {entry.arena_bytes, strongest(entry.arena_lower_bound_bytes), std::nullopt}});
    if (!stock) rows.back().bytes[2] = compiled.file_order.arena_bytes;
    if (strongest(entry.arena_lower_bound_bytes) > entry.arena_lower_bound_bytes) {
      rows.push_back(
          {"arena, any plan", {std::nullopt, entry.arena_lower_bound_bytes, std::nullopt}});
    }
    if (entry.arena_given_order_lower_bound_bytes > entry.arena_lower_bound_bytes) {
      rows.push_back({"arena, this order",
                      {std::nullopt, entry.arena_given_order_lower_bound_bytes, std::nullopt}});
    }
  }
  if (stock && report.placed) {
    rows.push_back(
        {fmt::format("arena by {}", plan::ProfileOf(compiled.plan.runtime).name),
         {compiled.delivered_arena_bytes, std::nullopt, compiled.file_order.arena_bytes}});
    const compile::TflmTotal* total = TotalOf(compiled);
    if (total != nullptr && total->missing.empty()) {
      rows.push_back(
          {"all of it, Cortex-M", {total->total_arena_bytes, std::nullopt, std::nullopt}});
    }
  }
  return rows;
}

// `what`: "order" or "arena".
std::string StatusText(std::string_view what, plan::BoundStatus status, std::int64_t bytes,
                       std::int64_t bound) {
  return status == plan::BoundStatus::kOptimal ? fmt::format("optimal {}", what)
                                               : "gap " + Gap(bytes, bound);
}

// One line for each entry, where there are several; the first line and the table are the largest's.
std::string EntriesText(const PlanReport& report) {
  const plan::Plan& planned = report.compiled->plan;
  if (planned.entries.size() < 2) return "";
  std::string out = fmt::format("  {} entry subgraphs run on their own; the largest is above\n",
                                planned.entries.size());
  for (const plan::EntryPlan& entry : planned.entries) {
    out += fmt::format(
        "    #{}{}: peak {} ({})", entry.subgraph.value(),
        entry.signature.empty() ? "" : " '" + Printable(entry.signature) + "'",
        FormatCount(entry.peak_bytes),
        StatusText("order", entry.order_status, entry.peak_bytes, entry.peak_lower_bound_bytes));
    if (report.placed) {
      out += fmt::format(", arena {} ({})", FormatCount(entry.arena_bytes),
                         StatusText("arena", entry.arena_status, entry.arena_bytes,
                                    entry.arena_lower_bound_bytes));
    }
    out += "\n";
  }
  return out;
}

// Said at the top: under other kernels the outputs would be wrong without a word.
std::string KernelsText(const PlanReport& report) {
  const plan::Plan& planned = report.compiled->plan;
  if (planned.kernels == ops::KernelLibrary::kNone) return "";
  if (planned.kernels == ops::KernelLibrary::kCopies) return "";
  return fmt::format("Outputs lie over inputs: right under {} kernels alone.\n",
                     ops::NameOf(planned.kernels));
}

// The input's value is lost.
bool IsWrittenOver(plan::OverlapKind kind) {
  return kind == plan::OverlapKind::kInPlace || kind == plan::OverlapKind::kStartsBelow;
}

// What an overlap does to a caller who wants to use the inputs again has to be said.
std::string OverlapsText(const PlanReport& report) {
  const plan::EntryPlan& entry = plan::LargestEntry(report.compiled->plan);
  if (entry.overlaps.empty()) return "";
  const auto written_over =
      std::count_if(entry.overlaps.begin(), entry.overlaps.end(),
                    [](const plan::Overlap& overlap) { return IsWrittenOver(overlap.kind); });
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

std::string MemoriesText(const PlanReport& report) {
  const compile::Compiled& compiled = *report.compiled;
  if (compiled.plan.memories.empty()) return "";
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  std::string out;
  for (std::size_t i = 0; i < compiled.plan.memories.size(); ++i) {
    const plan::Memory& memory = compiled.plan.memories[i];
    out += fmt::format("  memory {}: {} of {} B\n", Printable(memory.name),
                       FormatCount(entry.memory_bytes[i]), FormatCount(memory.capacity_bytes));
  }
  const std::int64_t bound = compiled.access_cycles_lower_bound;
  return out + fmt::format("  reading and writing takes {} cycles ({})\n",
                           FormatCount(compiled.access_cycles),
                           compiled.access_cycles <= bound
                               ? "least possible for this order"
                               : "at least " + FormatCount(bound) + " for this order");
}

// What is computed block by block, and what it costs.
std::string StreamText(const PlanReport& report) {
  const plan::EntryPlan& entry = plan::LargestEntry(report.compiled->plan);
  if (!entry.stream) return "";
  const plan::Stream& stream = *entry.stream;
  const auto streamed =
      std::count_if(stream.segments.begin(), stream.segments.end(),
                    [](const plan::StreamSegment& segment) { return !segment.whole; });
  const auto ratio = [](std::int64_t part, std::int64_t whole) {
    return whole <= 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  std::string_view input = ", counted";
  if (stream.input == plan::StreamInput::kExternal) input = ", not counted";
  if (stream.input == plan::StreamInput::kRows) input = ", rows that are kept are counted";
  std::string out = fmt::format(
      "  {} of {} segments streamed; input {}{}\n"
      "  {:.4f} x the multiply-accumulates of layer by layer, {:.3f} x the modelled cycles\n",
      streamed, stream.segments.size(), plan::NameOf(stream.input), input,
      ratio(stream.macs, stream.layerwise_macs), ratio(stream.cycles, stream.layerwise_cycles));
  if (!HoldsForOnce(entry)) {
    // This plan computes pixels again and may need less.
    out += fmt::format("  lower bound {} B over {}, which this plan is not one of\n",
                       FormatCount(stream.lower_bound_bytes), kOverOnce);
  }
  return out;
}

std::string CascadeText(const PlanReport& report) {
  if (!report.cascade || report.cascade->tiles == 0) return "";
  const CascadeReport& cascade = *report.cascade;
  const double ratio = cascade.uncut_macs == 0 ? 1.0
                                               : static_cast<double>(cascade.macs) /
                                                     static_cast<double>(cascade.uncut_macs);
  std::string out = fmt::format(
      "  cascade: {} tiles{}, {:.3f} times the multiplications, {} cycles on {} by a model (whole: "
      "{}); whole, the arena is {} B\n",
      cascade.tiles, cascade.shared_bodies ? " with shared bodies" : "", ratio,
      FormatCount(cascade.cycles), Printable(cascade.device), FormatCount(cascade.uncut_cycles),
      FormatCount(cascade.uncut_arena_bytes));
  for (const std::string& region : cascade.regions) out += "    " + region + "\n";
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
    if (!IsWrittenOver(overlap.kind)) continue;
    if (std::find(inputs.begin(), inputs.end(), overlap.input) != inputs.end()) {
      found.insert(overlap.input);
    }
  }
  return {found.begin(), found.end()};
}

bool HoldsForOnce(const plan::EntryPlan& entry) {
  return entry.stream && entry.stream->macs <= entry.stream->layerwise_macs &&
         entry.stream->lower_bound_bytes <= entry.arena_bytes;
}

Headline HeadlineOf(const compile::Compiled& compiled, bool placed) {
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  const std::int64_t bytes = compile::HeadlineBytes(compiled, placed);
  if (!placed) return {bytes, entry.peak_lower_bound_bytes, compiled.file_order.peak_bytes, false};
  return {bytes, entry.arena_lower_bound_bytes, compiled.file_order.arena_bytes,
          compiled.delivered_arena_bytes >= 0};
}

const compile::TflmTotal* TotalOf(const compile::Compiled& compiled) {
  return compiled.totals.empty() ? nullptr : &compiled.totals.front();
}

bool Fits(const PlanReport& report) { return !ExcessOf(report) && UnknownText(report).empty(); }

bool IsBudgetKnown(const PlanReport& report) {
  return ExcessOf(report).has_value() || UnknownText(report).empty();
}

bool IsProven(const compile::Compiled& compiled, bool placed) {
  const std::vector<plan::EntryPlan>& entries = compiled.plan.entries;
  return std::all_of(entries.begin(), entries.end(), [&](const plan::EntryPlan& entry) {
    return entry.order_status == plan::BoundStatus::kOptimal &&
           (!placed || entry.arena_status == plan::BoundStatus::kOptimal);
  });
}

std::string OverBudgetText(const PlanReport& report) {
  if (!ExcessOf(report)) return UnknownText(report);
  const Headline headline = HeadlineOf(*report.compiled, report.placed);
  const Excess over = ExcessOf(report).value_or(Excess());
  std::string out =
      fmt::format("over budget: required {}{}, available {}, excess {}", FormatBytes(over.required),
                  over.total ? " for the whole arena of TFLM" : "", FormatBytes(over.available),
                  FormatBytes(over.required - over.available));
  if (!over.total && headline.lower_bound_bytes > over.available) {
    out += fmt::format("; no order and no placement of this graph fits: each needs at least {} B",
                       FormatCount(headline.lower_bound_bytes));
  }
  return out;
}

namespace {

// "  rewritten, 85 -> 84 operators (no-op 1): the same bytes out; no choice of these rules has a
// smaller peak".
std::string RewritesText(const PlanReport& report) {
  if (report.rewriting == nullptr) return "";
  const RewriteReport& rewriting = *report.rewriting;
  const plan::Plan& plan = report.compiled->plan;
  std::vector<std::pair<std::string, int>> rules;
  bool bitwise = true;
  for (const plan::Rewrite& rewrite : plan.rewrites) {
    bitwise = bitwise && rewrite.exactness == plan::Exactness::kBitwise;
    const auto known = std::find_if(rules.begin(), rules.end(),
                                    [&](const auto& rule) { return rule.first == rewrite.rule; });
    if (known == rules.end()) {
      rules.emplace_back(rewrite.rule, 1);
    } else {
      ++known->second;
    }
  }
  std::string list;
  for (const auto& [rule, count] : rules) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", rule, count);
  }
  std::string out = fmt::format("  rewritten, {} -> {} operators ({}): {}",
                                FormatCount(CountOf(*rewriting.source).operators),
                                FormatCount(CountOf(*report.graph).operators), list,
                                bitwise ? "the same bytes out" : "sums in another order");
  if (plan.accumulator_bytes == 1) out += ", 8-bit partial sums are rounded";
  const std::int64_t bound = rewriting.peak_lower_bound_bytes;
  const std::int64_t peak = plan::LargestEntry(plan).peak_bytes;
  out += bound >= peak
             ? "; no choice of these rules has a smaller peak"
             : fmt::format("; no choice of these rules has a peak below {} B", FormatCount(bound));
  if (rewriting.growth_bytes > 0) {
    out += fmt::format("; the file grows by {} B", FormatCount(rewriting.growth_bytes));
  }
  return out + "\n";
}

}  // namespace

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
  out += TriedText(report);
  out += RewritesText(report);
  out += EntriesText(report);
  out += OverlapsText(report);
  out += StreamText(report);
  out += MovesText(report);
  out += MemoriesText(report);
  out += CascadeText(report);
  for (const std::string& file : report.written) out += "  wrote " + Printable(file, 4096) + "\n";
  return out + NotesText(report.notes, "  ");
}

}  // namespace neap::report
