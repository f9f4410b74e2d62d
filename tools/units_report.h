// SPDX-License-Identifier: Apache-2.0
//
// What `neap units` prints and draws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/show/report/text.h"
#include "neap/solve/units/check.h"
#include "neap/solve/units/units.h"

namespace neap::tools {

struct PlacedBuffer {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int64_t first = 0;  // live in [first, last)
  std::int64_t last = 0;
  std::vector<units::OpIndex> users;  // problem indices
  bool scratch = false;
};

struct FrontPoint {
  std::int64_t makespan = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t makespan_lower_bound = 0;  // of schedules within the peak before it less a byte
  bool optimal = false;
  bool tie_optimal = false;
};

struct UnitsReport {
  std::string model;
  std::string model_sha256;
  std::string runtime;
  const graph::Subgraph* subgraph = nullptr;
  std::vector<graph::OpId> ops;  // problem index -> operator
  units::Problem problem;
  units::Options options;
  units::Outcome outcome;
  std::vector<units::Moment> live;
  std::vector<PlacedBuffer> buffers;
  std::int64_t arena_bytes = 0;
  std::int64_t arena_lower_bound_bytes = 0;
  std::vector<FrontPoint> front;  // by growing makespan
  bool front_complete = false;    // proven: no schedule has a smaller peak than its last point
  std::vector<std::string> notes;
  double seconds = 0;
};

std::string UnitsText(const UnitsReport& report, const report::Style& style);
std::string UnitsJson(const UnitsReport& report);
// A page with the units over time above the live bytes.
std::string UnitsPage(const UnitsReport& report);

}  // namespace neap::tools
