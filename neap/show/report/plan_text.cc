// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>

#include "neap/base/bytes.h"
#include "neap/compile/headline.h"
#include "neap/plan/profile.h"
#include "neap/show/report/flash_text.h"
#include "neap/show/report/plan_details.h"
#include "neap/show/report/plan_table.h"
#include "neap/show/report/proof_text.h"
#include "neap/show/report/report.h"
#include "neap/show/report/tried_text.h"

namespace neap::report {
namespace {

constexpr std::size_t kMaxColumns = 100;

// "37.5 % below the file order's 73,728 B"
std::string Comparison(std::int64_t now, std::int64_t before) {
  if (now == before) return "equal to the file order's";
  const bool less = now < before;
  if (before <= 0) return fmt::format("the file order's is {} B", FormatCount(before));
  return fmt::format("{} {} the file order's {} B",
                     Percent(less ? before - now : now - before, before), less ? "below" : "above",
                     FormatCount(before));
}

using deliver::Verdict;

// "total arena on Cortex-M4, CMSIS-NN "; "" where a plan has one number.
std::string ComparedText(const PlanReport& report, const Verdict& verdict) {
  if (verdict.of_slow) return "slow memory ";
  if (verdict.of_weights) return "weights ";
  if (verdict.of_total) {
    return "total arena on " + std::string(report.compiled->plan.target->title) + " ";
  }
  return report.compiled->plan.runtime == plan::Runtime::kTflm ? "activations " : "";
}

// The numbers do not apply to a runtime that does not execute the model.
std::string RefusalText(const PlanReport& report, const Style& style) {
  if (!report.refused) return "";
  const bool tflm = report.compiled->plan.runtime == plan::Runtime::kTflm;
  return fmt::format("{} operator {}: {}.\n",
                     Paint(style, Ink::kBad,
                           fmt::format("{} does not execute this model:",
                                       tflm ? "TensorFlow Lite Micro" : "LiteRT")),
                     Printable(report.refused->op, 4096), Printable(report.refused->why, 4096));
}

// The written model for which the stock runtime allocates the headline.
std::string DeliveryText(const PlanReport& report, const Headline& headline) {
  if (!headline.by_stock_runtime || report.refused || report.model_file.empty()) return "";
  return fmt::format("{} allocates this arena for {}, which contains {}.\n",
                     StockRuntimeName(report.compiled->plan.runtime),
                     Printable(report.model_file, 4096),
                     report.carries_plan ? "this memory plan" : "the order alone");
}

std::string BudgetText(const PlanReport& report, const Style& style) {
  const Verdict over = VerdictOf(report);
  if (over.fit != Verdict::Fit::kExceeds) return "";
  return fmt::format("{}: {}required {} B, available {} B.\n",
                     Paint(style, Ink::kBad,
                           fmt::format("Over budget by {}",
                                       FormatBytes(over.required_bytes - over.available_bytes))),
                     ComparedText(report, over), FormatCount(over.required_bytes),
                     FormatCount(over.available_bytes));
}

// The number of bytes to reserve.
std::string AnswerText(const PlanReport& report, const Headline& headline, const Style& style) {
  const compile::Compiled& compiled = *report.compiled;
  const bool known = compiled.unknown_kernels.empty();
  const std::string_view what = !report.placed ? "Peak" : known ? "Arena" : "Arena of the plan";
  std::string out =
      Paint(style, Ink::kBold, fmt::format("{} {}", what, FormatBytes(headline.bytes)));
  if (headline.by_stock_runtime && !report.refused) {
    out += fmt::format(" in {}", StockRuntimeName(compiled.plan.runtime));
  }
  const std::size_t memories = compiled.plan.memories.size();
  // The sum over several memories does not compare with one arena.
  if (memories > 1) return out + fmt::format(" in {} memories.\n", memories);
  return out + ", " + Comparison(headline.bytes, headline.file_order_bytes) + ".\n";
}

// "Optimal arena (...)." or the gap.
std::string ProofSentence(const PlanReport& report, const Headline& headline, const Style& style) {
  std::string text = ProofText(report, headline);
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  const bool optimal = text.starts_with("Optimal");
  return (optimal ? Paint(style, Ink::kGood, text) : text) + ".\n";
}

// The operator that determines the number, with the terms of the sum.
std::string LimitText(const PlanReport& report, const std::optional<FullestSlot>& sharing) {
  if (plan::LargestEntry(report.compiled->plan).stream) return StreamLimitText(report);
  if (!sharing) {
    const std::string peak = PeakSentence(*report.graph, report.compiled->peak_at);
    return peak.empty() ? "" : peak + "\n";
  }
  const std::int64_t shared = sharing->live_bytes - sharing->in_use_bytes;
  return fmt::format("Arena fullest at operator {}{} = {} B.\n",
                     LiveTerms(*report.graph, sharing->cause),
                     shared == 0 ? "" : fmt::format(" - {} shared", FormatCount(shared)),
                     FormatCount(sharing->in_use_bytes));
}

// Above the table: with other kernels the outputs are silently wrong.
std::string KernelsText(const PlanReport& report) {
  const plan::Plan& planned = report.compiled->plan;
  if (planned.kernels == ops::KernelLibrary::kNone) return "";
  if (planned.kernels == ops::KernelLibrary::kCopies) return "";
  return fmt::format("Valid only with {} kernels: with others, outputs are silently wrong.\n",
                     ops::NameOf(planned.kernels));
}

std::string NextText(const PlanReport& report) {
  std::string out;
  for (const std::string& next : report.next) out += "Next: " + next + ".\n";
  return out;
}

// Of the plan that was taken; the rest is that of the plans that were tried, checks and files.
std::string SecondsText(const PlanReport& report) {
  const double order = compile::OrderSeconds(*report.compiled);
  const double place = compile::PlaceSeconds(*report.compiled);
  const double rest = std::max(report.total_seconds - report.read_seconds - order - place, 0.0);
  // An interrupted search may have found no other plan.
  const bool others = report.tried.size() > 1 || report.compiled->interrupted;
  return fmt::format("  {:.3f} s: read {:.3f}, order {:.3f}, place {:.3f}, {} {:.3f}\n",
                     report.total_seconds, report.read_seconds, order, place,
                     others ? "other plans and checks" : "checks", rest);
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
    if (!Overwrites(overlap.kind)) continue;
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

Verdict VerdictOf(const PlanReport& report) {
  return deliver::VerdictOf(*report.compiled, report.placed, report.budgets);
}

bool Fits(const PlanReport& report) {
  const Verdict::Fit fit = VerdictOf(report).fit;
  return fit == Verdict::Fit::kNoBudget || fit == Verdict::Fit::kFits;
}

bool IsBudgetKnown(const PlanReport& report) {
  return VerdictOf(report).fit != Verdict::Fit::kUnknown;
}

std::string OverBudgetText(const PlanReport& report) {
  const Verdict over = VerdictOf(report);
  if (over.fit == Verdict::Fit::kUnknown) {
    return fmt::format("it is unknown whether the {} fits: {}",
                       over.of_total ? "total arena" : "arena", Printable(over.unknown, 400));
  }
  if (over.fit != Verdict::Fit::kExceeds) return "";
  const Headline headline = HeadlineOf(*report.compiled, report.placed);
  const TriedPlan* const taken = TakenOf(report);
  const bool names_kind = taken != nullptr && report.tried.size() > 1;
  std::string out = fmt::format(
      "over budget: {}required {}{}, available {}, excess {}", ComparedText(report, over),
      FormatBytes(over.required_bytes), names_kind ? " (" + KindText(*taken) + ")" : "",
      FormatBytes(over.available_bytes), FormatBytes(over.required_bytes - over.available_bytes));
  if (!over.of_slow && !over.of_weights && headline.lower_bound_bytes > over.available_bytes) {
    const bool tiled = report.cascade && report.cascade->tiles > 0;
    out += fmt::format("; no order and no placement of {} needs less than {} B",
                       tiled                                           ? "these tiles"
                       : !report.compiled->plan.repeated_order.empty() ? "these repeated operators"
                       : report.rewriting                              ? "the rewritten graph"
                                                                       : "this graph",
                       FormatCount(headline.lower_bound_bytes));
  }
  return out;
}

std::string PlanText(const PlanReport& report, const Style& style) {
  const compile::Compiled& compiled = *report.compiled;
  const Headline headline = HeadlineOf(compiled, report.placed);
  const std::optional<FullestSlot> sharing = SharingOf(report);
  const auto wrapped = [&](std::string_view text) {
    return Wrapped(text, std::min(static_cast<std::size_t>(style.columns), kMaxColumns));
  };
  std::string out =
      wrapped(BudgetText(report, style) + AnswerText(report, headline, style) +
              ProofSentence(report, headline, style) + RefusalText(report, style) +
              KernelsText(report) + InterfaceText(report.interface) + LimitText(report, sharing) +
              DeliveryText(report, headline) + NextText(report)) +
      "\n" + TableText(report, sharing);
  const Counts counts = CountOf(*report.graph);
  std::string details =
      fmt::format("  runtime {}, order {}: {}, {}, {}\n",
                  plan::ProfileOf(compiled.plan.runtime).name, compiled.plan.order_strategy,
                  CountText(counts.operators, "operator"), CountText(counts.tensors, "tensor"),
                  CountText(plan::LargestEntry(compiled.plan).states, "state"));
  details += SecondsText(report);
  details += FlashText(report) + DecompressionText(report);
  details += TriedText(report) + RewritesText(report) + RepetitionText(report) +
             EntriesText(report) + OverlapsText(report) + StreamText(report) + MovesText(report) +
             MemoriesText(report) + CascadeText(report);
  out += wrapped(details);
  for (const std::string& file : report.written) out += "  wrote " + Printable(file, 4096) + "\n";
  return out + wrapped(NotesText(report.notes, "  "));
}

}  // namespace neap::report
