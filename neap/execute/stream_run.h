// SPDX-License-Identifier: Apache-2.0
//
// Runs a streamed plan (neap/plan/stream.h). Private to neap/execute.
#pragma once

#include <span>

#include "neap/base/result.h"
#include "neap/execute/program.h"
#include "neap/execute/run.h"
#include "neap/execute/value.h"
#include "neap/plan/plan.h"

namespace neap::execute {

// `entry.stream` has a value; `inputs` are those of the subgraph. As Run().
Result<RunResult> RunStream(const Program& program, const plan::EntryPlan& entry,
                            std::span<const Value> inputs, const RunOptions& options);

}  // namespace neap::execute
