// SPDX-License-Identifier: Apache-2.0
//
// From a plan to its report.
#pragma once

#include <vector>

#include "neap/deliver/deliver.h"
#include "neap/deliver/explain.h"
#include "neap/formats/formats.h"
#include "neap/show/report/report.h"

namespace neap::tools {

// A model, how it was read, and the plan that was made for it.
struct MadePlan {
  formats::LoadOptions load;
  formats::SourceModel source;
  deliver::Request request;
  deliver::Delivery delivery;
  std::vector<deliver::Feature> advice;  // over budget
};

// `writes_model`: the notes cover what becomes of the plan in the written model. The report points
// into `made`. Its files and times are the caller's to fill in.
report::PlanReport DescribePlan(const MadePlan& made, bool writes_model);

}  // namespace neap::tools
