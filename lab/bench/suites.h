// SPDX-License-Identifier: Apache-2.0
//
// The functions behind the table in suites.cc. Private to neap/bench.
#pragma once

#include <string_view>

#include "lab/bench/bench.h"

namespace neap::bench {

Result<Report> RunSerenity(const RunOptions& options);
Result<Report> RunOrder(const RunOptions& options);
Result<Report> RunPlace(const RunOptions& options);
Result<Report> RunRewrite(const RunOptions& options);
Result<Report> RunCascade(const RunOptions& options);
Result<Report> RunStream(const RunOptions& options);
Result<Report> RunPipeline(const RunOptions& options);

inline void ReportProgress(const RunOptions& options, std::string_view what) {
  if (options.progress) options.progress(what);
}

}  // namespace neap::bench
