// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/measure.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "neap/compile/headline.h"
#include "neap/deliver/price.h"

namespace neap::deliver {
namespace {

// Of the entry that needs most.
std::int64_t SlowBytes(const plan::Plan& plan) {
  std::int64_t bytes = 0;
  for (const plan::EntryPlan& entry : plan.entries) {
    if (entry.stream && entry.stream->slow) bytes = std::max(bytes, entry.stream->slow->bytes);
  }
  return bytes;
}

}  // namespace

Verdict VerdictOf(const compile::Compiled& compiled, bool placed, const Budgets& budgets) {
  using Fit = Verdict::Fit;
  const std::int64_t arena = compile::HeadlineBytes(compiled, placed);
  const std::string scratch = compile::UnknownScratchText(compiled.unknown_kernels);
  const compile::TflmTotal* const total =
      compiled.totals.empty() ? nullptr : &compiled.totals.front();
  const bool has_total = total != nullptr && total->total_arena_bytes >= 0;
  Verdict verdict;
  const auto compare = [&](const std::optional<std::int64_t>& available, bool of_total) {
    if (!available || verdict.fit == Fit::kExceeds) return;
    Verdict own{Fit::kFits,
                of_total && has_total ? total->total_arena_bytes : arena,
                *available,
                of_total,
                false,
                false,
                of_total && total != nullptr ? total->missing : scratch};
    if (of_total && total == nullptr) own.unknown = "this plan is not executed by TFLM";
    if (!own.unknown.empty()) {
      own.fit = Fit::kUnknown;
      own.required_bytes = 0;
    } else if (own.required_bytes > own.available_bytes) {
      own.fit = Fit::kExceeds;
    }
    const bool first = verdict.fit == Fit::kNoBudget;
    const bool worse = own.fit != Fit::kFits && verdict.fit == Fit::kFits;
    if (first || worse || own.fit == Fit::kExceeds) verdict = std::move(own);
  };
  compare(budgets.arena_bytes, false);
  compare(budgets.total_bytes, true);
  compare(budgets.memory_bytes, has_total);
  const std::int64_t slow = SlowBytes(compiled.plan);
  if (budgets.slow_bytes && verdict.fit != Fit::kExceeds && slow > *budgets.slow_bytes) {
    verdict = {Fit::kExceeds, slow, *budgets.slow_bytes, false, true};
  }
  if (budgets.weight_memory_bytes && verdict.fit != Fit::kExceeds &&
      budgets.weight_bytes > *budgets.weight_memory_bytes) {
    verdict = {Fit::kExceeds, budgets.weight_bytes, *budgets.weight_memory_bytes};
    verdict.of_weights = true;
  }
  return verdict;
}

Measure MeasureOf(const graph::Graph& graph, const compile::Compiled& compiled, bool placed,
                  const Budgets& budgets) {
  Measure measure;
  measure.operators = OperatorsOf(graph);
  measure.access_cycles = compiled.access_cycles;
  const std::int64_t total =
      placed && !compiled.totals.empty() ? compiled.totals.front().total_arena_bytes : -1;
  if (total >= 0) measure.total_arena_bytes = total;
  measure.compares_total = budgets.CountsTotal();
  measure.bytes =
      measure.compares_total && total >= 0 ? total : compile::HeadlineBytes(compiled, placed);
  measure.known = compiled.unknown_kernels.empty();
  const Verdict::Fit fit = VerdictOf(compiled, placed, budgets).fit;
  measure.fits = fit == Verdict::Fit::kNoBudget || fit == Verdict::Fit::kFits;
  return measure;
}

}  // namespace neap::deliver
