// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/defined_shapes.h"

#include <cstdint>
#include <optional>

#include "neap/ops/op_kind.h"
#include "neap/ops/op_table.h"
#include "neap/ops/tflm_scratch.h"

namespace neap::ops {

std::vector<graph::Shape> DefinedShapes(const graph::Op& op) {
  constexpr std::int64_t kMaxDetections = std::int64_t{1} << 20;
  if (!Is(op, OpKind::kDetectionPostprocess) || op.outputs.size() != 4) return {};
  const auto found = CustomOption(op, "max_detections");
  const auto each = CustomOption(op, "max_classes_per_detection");
  if (!found || !each || *found < 1 || *each < 1) return {};
  if (*found > kMaxDetections || *each > kMaxDetections / *found) return {};
  const std::int64_t places = *found * *each;
  return {{1, places, 4}, {1, places}, {1, places}, {1}};
}

}  // namespace neap::ops
