// SPDX-License-Identifier: Apache-2.0
//
// The plans of `neap pareto`, for the command and for the Python package.
#pragma once

#include <atomic>
#include <string>

#include "neap/base/result.h"
#include "neap/formats/formats.h"
#include "tools/common.h"

namespace neap::tools {

struct ParetoOptions {
  ModelOptions model;  // its `words` and, for the plans that are written, its `dims`
  OutputOptions output;
  std::string features = "all";  // or "tiles"
  std::string input = "resident";
  std::string target;    // "cortex-m4", "cortex-m55": plans of emitted C, by instructions; "": none
  std::string plans;     // folder
  std::string html;      // a page with the points; "": none is made
  std::string criteria;  // "": those of the kind of plans
  bool force = false;
  double time_limit_seconds = 0;  // 0: none
};

struct ParetoReport {
  std::string text;  // for people, or with OutputOptions::json as schemas/pareto-report.schema.json
  bool interrupted = false;
  std::string page;  // where ParetoOptions::html is stated; not written
};

// The plans of the model `read` that no other plan beats in memory and time, each checked. `stop`
// is not owned and may be null. With ParetoOptions::plans writes the plans.
Result<ParetoReport> MakePareto(const ParetoOptions& options, const formats::SourceModel& read,
                                const formats::LoadOptions& load, const std::atomic<bool>* stop);

}  // namespace neap::tools
