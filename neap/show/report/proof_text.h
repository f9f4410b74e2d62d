// SPDX-License-Identifier: Apache-2.0
//
// Proofs and unknowns as text: "optimal" names its range, and an unknown allocation is reported as
// unknown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "neap/show/report/report.h"

namespace neap::report {

// "optimal arena (every order and placement)": the headline equals its lower bound.
std::string OptimalText(const PlanReport& report);

// "gap 2.3 % (lower bound 121,088 B)", "optimal arena (...)", or the unknown number; no full stop.
std::string ProofText(const PlanReport& report, const Headline& headline);

// A lower bound and the plans for which it holds; `over` is empty for every order and placement.
struct Bound {
  std::int64_t bytes = 0;
  std::string_view over;
};
// The largest bound that holds for this plan. `any` holds for every plan.
Bound StrongestBound(const plan::EntryPlan& entry, std::int64_t any);

// "TFLM", "LiteRT": of profiles whose runtime has a planner of its own.
std::string_view StockRuntimeName(plan::Runtime runtime);

// The value of the input is lost.
bool Overwrites(plan::OverlapKind kind);

// compile::UnknownScratchText() for a terminal.
std::string PrintableScratch(const std::vector<compile::UnknownKernel>& unknown);

}  // namespace neap::report
