// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/proof_text.h"

#include <fmt/format.h>

#include "neap/base/bytes.h"

namespace neap::report {
namespace {

// No choice of the allowed rewrites, with any order and placement, is lower. If outputs overlap
// inputs, a bound of the peak is not a bound of the arena.
bool IsOptimalOverRules(const PlanReport& report) {
  if (!report.rewriting) return false;
  // Tiles and streams are choices beside the rewrites.
  const plan::Plan& plan = report.compiled->plan;
  if (plan::LargestEntry(plan).stream || !plan.tiled_regions.empty()) return false;
  if (!plan.repeated_order.empty()) return false;
  if (plan.kernels != ops::KernelLibrary::kNone) return false;
  return report.rewriting->peak_lower_bound_bytes >=
         HeadlineOf(*report.compiled, report.placed).bytes;
}

}  // namespace

std::string OptimalText(const PlanReport& report) {
  const char* const what = report.placed ? "arena" : "order";
  const char* const range = report.placed ? "order and placement" : "order";
  if (IsOptimalOverRules(report)) {
    return fmt::format("optimal {} over these rules (every rewrite{} {})", what,
                       report.placed ? "," : " and", range);
  }
  if (plan::LargestEntry(report.compiled->plan).stream) {
    return fmt::format("optimal {} of these streamed segments (every {})", what, range);
  }
  if (report.cascade && report.cascade->tiles > 0) {
    return fmt::format("optimal {} of these tiles (every {})", what, range);
  }
  if (!report.compiled->plan.repeated_order.empty()) {
    return fmt::format("optimal {} of these repeated operators (every {})", what, range);
  }
  return fmt::format("optimal {} (every {}{})", what, range,
                     !report.rewriting ? "" : " of the rewritten graph");
}

Bound StrongestBound(const plan::EntryPlan& entry, std::int64_t any) {
  if (!HoldsForOnce(entry) || entry.stream->lower_bound_bytes <= any) return {any, ""};
  return {entry.stream->lower_bound_bytes, kOverOnce};
}

namespace {

std::string TrafficText(const plan::SlowMemory& slow) {
  const std::int64_t bytes = slow.TrafficBytes();
  const std::string bound = FormatCount(slow.traffic_lower_bound_bytes);
  if (bytes <= slow.traffic_lower_bound_bytes) {
    return fmt::format("slow traffic {} B, optimal (every plan {}with inputs and outputs there)",
                       bound, slow.moments.empty() ? "" : "that computes every pixel once, ");
  }
  return fmt::format("slow traffic {} B, gap {} (lower bound {} B)", FormatCount(bytes),
                     Gap(bytes, slow.traffic_lower_bound_bytes), bound);
}

}  // namespace

std::string ProofText(const PlanReport& report, const Headline& headline) {
  if (const std::string unknown = PrintableScratch(report.compiled->unknown_kernels);
      !unknown.empty()) {
    return (report.placed ? "TFLM's own allocation is unknown: " : "scratch is not counted: ") +
           unknown;
  }
  const plan::EntryPlan& entry = plan::LargestEntry(report.compiled->plan);
  // The arena is a limit here, and the plan has the least traffic that was found.
  if (entry.stream && entry.stream->slow) return TrafficText(*entry.stream->slow);
  if (headline.bytes <= headline.lower_bound_bytes) return OptimalText(report);
  const Bound strongest = StrongestBound(entry, headline.lower_bound_bytes);
  const std::string gap = Gap(headline.bytes, strongest.bytes);
  const std::string bound = FormatCount(strongest.bytes);
  if (headline.bytes <= strongest.bytes) {
    return fmt::format("optimal over {} (lower bound {} B)", strongest.over, bound);
  }
  if (headline.by_stock_runtime && entry.arena_bytes <= entry.arena_lower_bound_bytes) {
    // The arena of the plan equals the bound; only the runtime's own placement is above it.
    return fmt::format(
        "gap {} caused by {}'s own planner (no order and no placement is below {} B)", gap,
        StockRuntimeName(report.compiled->plan.runtime), bound);
  }
  return fmt::format("{}gap {} (lower bound {} B{}{})",
                     report.compiled->interrupted ? "interrupted before a proof: " : "", gap, bound,
                     strongest.over.empty() ? "" : " over ", strongest.over);
}

std::string_view StockRuntimeName(plan::Runtime runtime) {
  if (runtime == plan::Runtime::kTflm) return "TFLM";
  return runtime == plan::Runtime::kLitert ? "LiteRT" : "the stock runtime";
}

bool Overwrites(plan::OverlapKind kind) {
  return kind == plan::OverlapKind::kInPlace || kind == plan::OverlapKind::kStartsBelow;
}

std::string PrintableScratch(const std::vector<compile::UnknownKernel>& unknown) {
  return Printable(compile::UnknownScratchText(unknown), 400);
}

}  // namespace neap::report
