// SPDX-License-Identifier: Apache-2.0
//
// Words of proof and of ignorance: "optimal" names what it ranges over, and an allocation that is
// unknown is called so.
#pragma once

#include <string>
#include <vector>

#include "neap/report/report.h"

namespace neap::report {

// "optimal arena (every order and placement)": the headline equals its lower bound.
std::string OptimalText(const PlanReport& report);

// compile::UnknownScratchText() for a terminal.
std::string PrintableScratch(const std::vector<compile::UnknownKernel>& unknown);

}  // namespace neap::report
