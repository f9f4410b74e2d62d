// SPDX-License-Identifier: Apache-2.0
#include "neap/report/tried_text.h"

#include <fmt/format.h>

#include "neap/base/bytes.h"

namespace neap::report {
namespace {

std::string BytesText(const TriedPlan& tried) {
  return FormatCount(tried.bytes) + (tried.known ? " B" : " B without scratch");
}

}  // namespace

std::string TriedText(const PlanReport& report) {
  if (report.tried.size() < 2) return "";
  const bool has_budget = report.budget_bytes || report.budget_total_bytes;
  std::string others;
  const TriedPlan* taken = nullptr;
  bool another_fits = false;
  bool fewer = false;
  for (const TriedPlan& tried : report.tried) {
    if (tried.taken) taken = &tried;
  }
  if (taken == nullptr) return "";
  for (const TriedPlan& tried : report.tried) {
    if (tried.taken) continue;
    another_fits = another_fits || tried.fits;
    fewer = fewer || tried.bytes > taken->bytes;
    others += fmt::format("{}{} {}", others.empty() ? "" : ", ", tried.kind, BytesText(tried));
  }
  std::string why = fewer ? "the fewest bytes" : "as few bytes as any";
  if (report.compiled->plan.memories.size() > 1) why = "the fewest cycles of access";
  if (has_budget && taken->fits && !another_fits) why = "the only one within the budget";
  if (has_budget && IsBudgetKnown(report) && !taken->fits) why += ", none is within the budget";
  return fmt::format("  taken: {}, {}, {}; {}\n", taken->kind, BytesText(*taken), why, others);
}

}  // namespace neap::report
