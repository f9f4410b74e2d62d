// SPDX-License-Identifier: Apache-2.0
//
// Next steps after `neap plan`, with the options of the command line.
#pragma once

#include <string>
#include <vector>

#include "tools/plan_options.h"
#include "tools/plan_report.h"

namespace neap::tools {

// Over budget: the features that were not planned and may need less memory. Otherwise: the option
// that writes the model or the plan, unless one is written. One sentence each, no full stop.
std::vector<std::string> NextSteps(const PlanOptions& options, const MadePlan& made,
                                   const report::PlanReport& report);

}  // namespace neap::tools
