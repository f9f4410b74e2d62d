// SPDX-License-Identifier: Apache-2.0
//
// Another interface of a model: conversions at its ends that the caller runs
// (neap/transform/rewrite/interface.h), chosen by name.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/base/result.h"
#include "neap/formats/formats.h"
#include "neap/graph/graph.h"

namespace neap::deliver {

// Which float inputs and outputs become the integers that the model computes with.
enum class IntegerIo : std::uint8_t { kNone, kInputs, kOutputs, kBoth };

struct Interfaced {
  formats::SourceModel model;           // with path and hash of the given one
  std::vector<graph::OpId> caller_ops;  // of the given model; plan::Plan::caller_ops
};

// Fails with kBadInput where the model has no such conversion. `options` are those that `source`
// was read with. O(file).
Result<Interfaced> WithIntegerIo(const formats::SourceModel& source, IntegerIo which,
                                 const formats::LoadOptions& options);

}  // namespace neap::deliver
