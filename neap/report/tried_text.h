// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "neap/report/report.h"

namespace neap::report {

// Which kind of plan was taken, why, and what the others need:
// "  taken: tiles, 36,864 B, the fewest bytes; as given 55,296 B, rewritten 46,080 B". "" where
// only one kind was planned.
std::string TriedText(const PlanReport& report);

}  // namespace neap::report
