// SPDX-License-Identifier: Apache-2.0
//
// Plans for emitted C, as `neap emit` makes them.
#pragma once

#include "neap/base/result.h"
#include "neap/deliver/options.h"
#include "neap/formats/formats.h"
#include "neap/plan/plan.h"

namespace neap::tools {

// What emit::Emit() takes.
struct PlannedForC {
  formats::SourceModel source;  // with all edits of the plan
  plan::Plan plan;
};

// Where no option says otherwise: the plan of least RAM for the runtime of emitted C, with no MAC
// more than the model's.
void SetEmitDefaults(deliver::Words* words);

// `source` has its weights; `words` are complete (SetEmitDefaults()). The plan is not checked yet.
Result<PlannedForC> PlanForC(formats::SourceModel source, const deliver::Words& words,
                             const formats::LoadOptions& load, bool shows_progress);

// Runs the checker, which is independent of the planner and of emitted code. Then puts bodies that
// are called for certain in the place of their calls.
Status FinishForC(PlannedForC* planned);

}  // namespace neap::tools
