// SPDX-License-Identifier: Apache-2.0
//
// plan.json as an input of a verb.
#pragma once

#include <string>

#include "neap/base/result.h"
#include "neap/formats/formats.h"
#include "neap/plan/plan.h"

namespace neap::tools {

// Errors name the file.
Result<plan::Plan> LoadPlan(const std::string& path);

// Why `plan` is not about `source`, whose hash it does not name.
std::string HashMismatch(const plan::Plan& plan, const formats::SourceModel& source);

}  // namespace neap::tools
