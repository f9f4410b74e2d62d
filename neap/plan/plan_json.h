// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "neap/base/result.h"
#include "neap/plan/plan.h"

namespace neap::plan {

// Version kPlanVersion of docs/reference/plan-format.md; ends with a newline; the same bytes for
// the same plan.
std::string ToJson(const Plan& plan);

// Refuses what is malformed, out of range or of another version; does not know the model, so that
// the ids in the result may still be out of range for it: Check() finds that.
Result<Plan> FromJson(std::string_view text);

}  // namespace neap::plan
