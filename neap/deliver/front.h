// SPDX-License-Identifier: Apache-2.0
//
// All plans of a model that are worth something: over rewriting, overlaps, tiles and streams
// together, those that no other plan beats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/deliver/deliver.h"
#include "neap/formats/formats.h"
#include "neap/transform/cascade/plan.h"
#include "neap/transform/stream/entries.h"

namespace neap::deliver {

struct FrontRequest {
  // Its criteria, grids, device and limits; `kernels` are those that every plan may use.
  cascade::SearchOptions search;
  formats::LoadOptions load;  // with which the model was read
  bool rewriting = true;      // plans of the rewritten model, too
  bool overlap = true;        // plans for TFLM's reference kernels, too, where `search` names none
  bool streams = true;        // streamed plans, too
};

struct FrontPoint {
  Kind kind = Kind::kAsGiven;
  plan::Runtime runtime = plan::Runtime::kIdeal;           // that executes the plan
  ops::KernelLibrary kernels = ops::KernelLibrary::kNone;  // whose overlaps it relies on
  std::string_view requires_text;  // from the user, beyond the options: "TFLM reference kernels"
  std::int64_t arena_bytes = 0;
  std::int64_t total_arena_bytes = -1;  // -1: not known
  std::int64_t macs = 0;
  // By the model of the device. Of a stream: in proportion to its own model's cycles layer by
  // layer.
  std::int64_t cycles = 0;
  // Regions of the model as given, or of the rewritten one; empty in a stream.
  cascade::Proposal tiles;
  std::optional<stream::StreamPoint> stream;
};

struct Front {
  // By arena, falling. No other point that requires no more of the user is at least as good in all
  // criteria.
  std::vector<FrontPoint> points;
  cascade::Criteria criteria;  // without the total arena where it is not known
  std::int64_t macs = 0;       // of the model as given
  // The rewritten model; nullopt: no rewrite lowers its peak.
  std::optional<formats::SourceModel> rewritten;
  bool cut_short = false;  // a limit ended a search: there may be more points
  std::string note;        // why nothing is cut, if nothing is; "" else
};

// `source` has the requested interface. The plans of all points have passed check::CheckPlan().
// Fails as compile::Compile() does for the model as given. Deterministic without a time limit.
Result<Front> FindFront(const formats::SourceModel& source, const FrontRequest& request);

}  // namespace neap::deliver
