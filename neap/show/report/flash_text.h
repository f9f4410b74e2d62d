// SPDX-License-Identifier: Apache-2.0
//
// The line about flash in a plan's report. Private to neap/report.
#pragma once

#include <string>

#include "neap/show/report/report.h"

namespace neap::report {

// One line; "" where there is no model file.
std::string FlashText(const PlanReport& report);

}  // namespace neap::report
