// SPDX-License-Identifier: Apache-2.0
#include "neap/report/proof_text.h"

#include <fmt/format.h>

namespace neap::report {
namespace {

// No choice of the rewrites that were allowed, with any order and placement, is lower. Where
// outputs overlap inputs, the bound of the peak is none of the arena.
bool IsOptimalOverRules(const PlanReport& report) {
  if (report.rewriting == nullptr) return false;
  if (report.compiled->plan.kernels != ops::KernelLibrary::kNone) return false;
  return report.rewriting->peak_lower_bound_bytes >=
         HeadlineOf(*report.compiled, report.placed).bytes;
}

}  // namespace

std::string OptimalText(const PlanReport& report) {
  const char* const what = report.placed ? "arena" : "order";
  const char* const range = report.placed ? "order and placement" : "order";
  if (IsOptimalOverRules(report)) {
    return fmt::format("optimal {} over these rules (every rewrite, {})", what, range);
  }
  if (plan::LargestEntry(report.compiled->plan).stream) {
    return fmt::format("optimal {} of these streamed segments (every {})", what, range);
  }
  if (report.cascade && report.cascade->tiles > 0) {
    return fmt::format("optimal {} of these tiles (every {})", what, range);
  }
  return fmt::format("optimal {} (every {}{})", what, range,
                     report.rewriting == nullptr ? "" : " of the rewritten graph");
}

std::string PrintableScratch(const std::vector<compile::UnknownKernel>& unknown) {
  return Printable(compile::UnknownScratchText(unknown), 400);
}

std::string UnknownText(const PlanReport& report) {
  const std::string scratch = PrintableScratch(report.compiled->unknown_kernels);
  if (report.budget_bytes && !scratch.empty()) {
    return "it is unknown whether the arena fits: " + scratch;
  }
  const compile::TflmTotal* total = TotalOf(*report.compiled);
  if (report.budget_total_bytes && total != nullptr && !total->missing.empty()) {
    return "it is unknown whether the whole arena of TFLM fits: " + Printable(total->missing, 400);
  }
  return "";
}

}  // namespace neap::report
