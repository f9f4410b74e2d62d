// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/peak_cause.h"

#include <algorithm>

#include "neap/base/bytes.h"

namespace neap::compile {

PeakCause CauseOfPeak(const Timeline& timeline, const std::vector<std::int64_t>& live_bytes,
                      const AllSizes& sizes, const plan::Profile& profile) {
  PeakCause cause;
  if (live_bytes.empty()) return cause;
  const auto slot = static_cast<std::int32_t>(
      std::max_element(live_bytes.begin(), live_bytes.end()) - live_bytes.begin());
  const plan::Step& step = timeline.steps[static_cast<std::size_t>(slot)];
  cause.subgraph = step.subgraph;
  cause.op = step.op;
  for (const LiveTensor& live : timeline.tensors) {
    if (live.unread || live.first > slot || live.last <= slot) continue;
    const bool written_over =
        std::any_of(timeline.overlaps.begin(), timeline.overlaps.end(), [&](const auto& overlap) {
          return overlap.slot == slot && overlap.subgraph == live.subgraph &&
                 overlap.output == live.tensor;
        });
    const std::int64_t bytes = sizes[live.subgraph].counted[live.tensor];
    if (!written_over && bytes > 0) cause.tensors.push_back({live.subgraph, live.tensor, bytes});
  }
  for (const LiveScratch& scratch : timeline.scratch) {
    if (scratch.first <= slot && slot < scratch.last) {
      cause.scratch_bytes += AlignUp(scratch.bytes, profile.alignment);
    }
  }
  std::stable_sort(cause.tensors.begin(), cause.tensors.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return cause;
}

}  // namespace neap::compile
