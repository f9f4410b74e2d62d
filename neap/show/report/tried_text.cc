// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/tried_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "neap/base/bytes.h"

namespace neap::report {
namespace {

std::string BytesText(const TriedPlan& tried) {
  return FormatCount(tried.bytes) + (tried.known ? " B" : " B without scratch");
}

// The plan that a budget of the total arena would prefer, where the taken one is not it; "".
std::string SmallerTotalText(const PlanReport& report, const TriedPlan& taken) {
  if (report.budgets.Any() || !taken.known || !taken.total_arena_bytes) return "";
  const TriedPlan* least = &taken;
  for (const TriedPlan& tried : report.tried) {
    if (!tried.known || !tried.total_arena_bytes) continue;
    if (*tried.total_arena_bytes < *least->total_arena_bytes) least = &tried;
  }
  if (least == &taken) return "";
  return fmt::format("  smallest total arena: {}, {} B (taken: {} B); --budget compares these\n",
                     KindText(*least), FormatCount(*least->total_arena_bytes),
                     FormatCount(*taken.total_arena_bytes));
}

}  // namespace

std::string KindText(const TriedPlan& tried) {
  std::string kind = tried.kind;
  // The words of `neap explain`; JSON keeps the name of the option's value.
  constexpr std::string_view kOption = "overlap copies";
  if (const std::size_t at = kind.find(kOption); at != std::string::npos) {
    kind.replace(at, kOption.size(), "copies in place");
  }
  if (tried.macs <= 0 || tried.whole_macs <= 0) return kind;
  return fmt::format("{} at {:.3f}x MACs", kind,
                     static_cast<double>(tried.macs) / static_cast<double>(tried.whole_macs));
}

const TriedPlan* TakenOf(const PlanReport& report) {
  const auto taken = std::find_if(report.tried.begin(), report.tried.end(),
                                  [](const TriedPlan& tried) { return tried.taken; });
  return taken == report.tried.end() ? nullptr : &*taken;
}

namespace {

// "as given 55,296 B, rewritten 46,080 B": the plans that were not taken.
std::string OthersText(const PlanReport& report) {
  std::string others;
  for (const TriedPlan& tried : report.tried) {
    if (tried.taken) continue;
    others += fmt::format("{}{} {}", others.empty() ? "" : ", ", KindText(tried), BytesText(tried));
  }
  return others;
}

}  // namespace

std::string TriedText(const PlanReport& report) {
  const TriedPlan* const taken = TakenOf(report);
  if (report.tried.size() < 2 || taken == nullptr) return "";
  const bool has_budget = report.budgets.Any();
  bool another_fits = false;
  bool fewest = false;
  bool fewer_fit = false;  // bytes, within the budget
  for (const TriedPlan& tried : report.tried) {
    if (tried.taken) continue;
    another_fits = another_fits || tried.fits;
    fewest = fewest || tried.bytes > taken->bytes;
    fewer_fit = fewer_fit || (tried.fits && tried.bytes < taken->bytes);
  }
  std::string why = fewest ? "fewest bytes" : "no other has fewer bytes";
  if (has_budget && taken->fits && fewer_fit) why = "fewest MACs within the budget";
  if (report.compiled->plan.memories.size() > 1) why = "shortest access time";
  if (has_budget && taken->fits && !another_fits) why = "the only one within the budget";
  if (has_budget && IsBudgetKnown(report) && !taken->fits) why += ", none is within the budget";
  return fmt::format("  taken: {}, {} ({}); {}\n{}", KindText(*taken), BytesText(*taken), why,
                     OthersText(report), SmallerTotalText(report, *taken));
}

}  // namespace neap::report
