// SPDX-License-Identifier: Apache-2.0
//
// The given model with other operators that compute the same outputs
// (neap/transform/rewrite/rewrite.h), as a file wherever a file can represent them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/formats/formats.h"
#include "neap/plan/plan.h"

namespace neap::deliver {

struct RewriteSettings {
  bool any = true;  // false: the graph stays as it is
  plan::Exactness exactness = plan::Exactness::kBitwise;
  std::vector<std::string> rules;  // empty: all but those on demand
  bool dead_channels = false;      // rewrite::SearchOptions::dead_channels
  int accumulator_bytes = 4;
  std::int64_t work = 0;    // of the search; 0: its own limit
  bool everywhere = false;  // rewrite::SearchOptions::everywhere
  // Sums may be held in accumulators of Neap's executor, which no file can hold.
  bool sums_in_place = false;
};

struct Rewritten {
  formats::SourceModel model;
  std::vector<plan::Rewrite> applications;  // empty: no rewrite lowers the peak; no model then
  std::int64_t accumulator_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t lower_bound_bytes = 0;
  std::int64_t growth_bytes = 0;  // of the file
  std::int64_t evaluations = 0;
  std::string rewritten_sha256;
};

// Searches for rewrites and applies them. The source is read again where constants have to be cut
// whose data was not read; fails with kBadInput where the file lacks that data.
Result<Rewritten> Rewrite(const formats::SourceModel& source, const compile::Options& compile,
                          const RewriteSettings& settings, const formats::LoadOptions& options);

}  // namespace neap::deliver
