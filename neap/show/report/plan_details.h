// SPDX-License-Identifier: Apache-2.0
//
// The lines of `neap plan` below its table, each indented by two; "" where a feature is not in use.
#pragma once

#include <string>

#include "neap/show/report/report.h"

namespace neap::report {

std::string RewritesText(const PlanReport& report);
std::string RepetitionText(const PlanReport& report);
// A line for each entry subgraph, if there are several.
std::string EntriesText(const PlanReport& report);
// The model inputs that cannot be used again after a run, among others.
std::string OverlapsText(const PlanReport& report);
std::string StreamText(const PlanReport& report);
// The limit of a streamed plan, as a sentence above the table. The terms add up.
std::string StreamLimitText(const PlanReport& report);
std::string MovesText(const PlanReport& report);
std::string MemoriesText(const PlanReport& report);
std::string CascadeText(const PlanReport& report);

}  // namespace neap::report
