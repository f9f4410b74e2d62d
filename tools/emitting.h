// SPDX-License-Identifier: Apache-2.0
//
// Plans for emitted C, as `neap emit` makes them.
#pragma once

#include <optional>
#include <string>

#include "neap/base/result.h"
#include "neap/deliver/options.h"
#include "neap/formats/formats.h"
#include "neap/ops/neap_rt.h"
#include "neap/plan/plan.h"
#include "neap/show/report/explain_report.h"
#include "neap/transform/stream/options.h"

namespace neap::tools {

// What emit::Emit() takes.
struct PlannedForC {
  formats::SourceModel source;  // with all edits of the plan
  plan::Plan plan;
  std::optional<std::int64_t> fast_bytes;  // that the options give to the arena of two memories
};

// Of emitted code.
struct CodeKernels {
  ops::KernelLibrary library = ops::kNeapRt;  // by whose order of reads and writes tensors overlap
  stream::Processor processor = stream::Processor::kCortexM7;  // of which work is modelled
  std::int64_t max_cycles_permille = 0;                        // stream::Settings
};

// Where the options leave it open: the plan of least RAM for the runtime of emitted C, with no MAC
// more than the model's.
void SetEmitDefaults(deliver::Words* words);

// The same for received plans, which have whole tensors in one memory and the model's operators.
void SetReceivedDefaults(deliver::Words* words);

// `source` has its weights; `words` are complete (SetEmitDefaults()). The plan is not checked yet.
// Of a fast memory, the plan leaves the bytes of the state of steps. kOverBudget: the board's slow
// memory is exceeded.
Result<PlannedForC> PlanForC(const formats::SourceModel& source, const deliver::Words& words,
                             const formats::LoadOptions& load, bool shows_progress,
                             const CodeKernels& kernels = {});

// Runs the checker, which is independent of the planner and of emitted code. Then puts bodies that
// are called for certain in the place of their calls.
Status FinishForC(PlannedForC* planned);

// Of the model in a file, with the default options of `neap emit`. nullopt: it has no such code,
// for the reason that `neap emit` reports. A time limit of 0 is none.
std::optional<report::CodeNeed> NeedOfCode(const std::string& path, formats::LoadOptions load,
                                           double time_limit_seconds, bool shows_progress);

}  // namespace neap::tools
