// SPDX-License-Identifier: Apache-2.0
//
// The word "optimal" never stands alone in a report: it names what it ranges over.
#pragma once

#include <string>

#include "neap/report/report.h"

namespace neap::report {

// "optimal arena (every order and placement)": the headline equals its lower bound.
std::string OptimalText(const PlanReport& report);

}  // namespace neap::report
