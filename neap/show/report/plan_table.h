// SPDX-License-Identifier: Apache-2.0
//
// The table of `neap plan`: bytes of the plan, their lower bounds, and those of the file order.
#pragma once

#include <optional>
#include <string>

#include "neap/show/report/in_use.h"
#include "neap/show/report/report.h"

namespace neap::report {

// Of a plan whose tensors share bytes: its arena is below its peak.
std::optional<FullestSlot> SharingOf(const PlanReport& report);

// Ends with a newline. `sharing` is SharingOf(report).
std::string TableText(const PlanReport& report, const std::optional<FullestSlot>& sharing);

}  // namespace neap::report
