// SPDX-License-Identifier: Apache-2.0
//
// A job as a child process. Private to neap/serve.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "neap/base/result.h"
#include "neap/serve/serve.h"

namespace neap::serve {

std::string JobText(const Job& job);

// How a job ended.
struct JobEnd {
  bool stopped = false;  // by `stop`, before it was done
  int exit_code = -1;    // of the program, if it exited
  std::string error;     // one line; "" where the program exited with 0
  double cpu_seconds = 0;
  std::int64_t peak_bytes = 0;  // resident
};

// The bounds of a running search.
struct JobProgress {
  std::int64_t upper_bound_bytes = 0;
  std::int64_t lower_bound_bytes = 0;
  std::int64_t states = 0;
};

// Runs `program` kJobVerb in `folder`, which has kJobFile, kJobInput and kJobOutput, and waits.
// Ends it after limits.wall_seconds, where its files exceed limits.total_bytes, and when *stop is
// set. `progress` is called from this thread.
Result<JobEnd> RunJob(const std::string& program, const std::string& folder,
                      const JobLimits& limits, const std::atomic<bool>& stop,
                      const std::function<void(const JobProgress&)>& progress);

}  // namespace neap::serve
