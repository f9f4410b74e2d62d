// SPDX-License-Identifier: Apache-2.0
//
// Words of proof and of ignorance: "optimal" names what it ranges over, and an allocation that is
// unknown is called so.
#pragma once

#include <string>

#include "neap/report/report.h"

namespace neap::report {

// "optimal arena (every order and placement)": the headline equals its lower bound.
std::string OptimalText(const PlanReport& report);

// "the scratch of operator #3 'X' (name) and of 2 more is not modelled"; "": all of it is.
std::string UnknownScratchText(const compile::Compiled& compiled);

}  // namespace neap::report
