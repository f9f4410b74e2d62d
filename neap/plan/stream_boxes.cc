// SPDX-License-Identifier: Apache-2.0
#include "neap/plan/stream_boxes.h"

#include <algorithm>
#include <optional>

namespace neap::plan {
namespace {

// The stretch that ranges cover one after the other; nullopt: they leave a gap, or return.
std::optional<StreamRange> JoinedOf(const std::vector<StreamRange>& ranges) {
  std::optional<StreamRange> all;
  for (const StreamRange& range : ranges) {
    if (range.empty()) continue;
    if (all && range.first != all->last) return std::nullopt;
    all = StreamRange{all ? all->first : range.first, range.last};
  }
  return all;
}

}  // namespace

StreamBoxes JoinedBoxes(StreamBoxes boxes) {
  if (boxes.columns.size() > 1) {
    const auto columns = JoinedOf(boxes.columns);
    const bool row_by_row =
        std::all_of(boxes.rows.begin(), boxes.rows.end(),
                    [](const StreamRange& rows) { return rows.empty() || rows.size() == 1; });
    if (!columns || !row_by_row) return boxes;
    boxes.columns = {*columns};
  }
  if (const auto rows = JoinedOf(boxes.rows)) boxes.rows = {*rows};
  return boxes;
}

}  // namespace neap::plan
