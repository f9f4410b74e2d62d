// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "neap/show/report/report.h"

namespace neap::report {

// "tiles at 1.003x MACs", "rewritten": the kind of a plan and its cost.
std::string KindText(const TriedPlan& tried);
// The plan that was taken; nullptr if there is none among `tried`.
const TriedPlan* TakenOf(const PlanReport& report);

// The plan that was taken, the reason, and the bytes of the others:
// "  taken: tiles at 1.003x MACs, 36,864 B (fewest bytes); as given 55,296 B, rewritten 46,080 B".
// "" if only one kind was planned.
std::string TriedText(const PlanReport& report);

}  // namespace neap::report
