// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/taps.h"

#include <algorithm>
#include <vector>

namespace neap::emit {

using plan::StreamRange;

namespace {

// Whether some box satisfies `takes`.
template <typename Takes>
bool HasBox(const std::vector<StreamRange>& boxes, std::int64_t whole, const Takes& takes) {
  if (boxes.empty()) return takes(whole);
  return std::any_of(boxes.begin(), boxes.end(),
                     [&](const StreamRange& box) { return takes(box.size()); });
}
bool IsOne(std::int64_t size) { return size == 1; }
bool IsSeveral(std::int64_t size) { return size > 1; }

}  // namespace

bool IsOfRuns(const Call& call) {
  return call.driver == "neap_drive_runs" || call.driver == "neap_drive_points";
}

bool IsCmsisNn(const Call& call) { return call.driver.starts_with("neap_drive_cmsis_nn_"); }

bool IsPacked(const Call& call) { return call.kernel.ends_with("_packed_s8"); }

namespace {

// The portable kernels of convolutions, which need no scratch.
bool IsPortable(const Call& call) {
  return IsOfRuns(call) &&
         (call.kernel.starts_with("neap_conv_") || call.kernel.starts_with("neap_depthwise_")) &&
         !IsPacked(call) && !call.kernel.ends_with("_mve_s8");
}
// How many pixels the kernel computes together.
std::int64_t TogetherOf(const Call& call) {
  if (IsPortable(call)) return kPixelsTogether;
  return call.pixel_scratch > 0 ? std::min(kPixelsTogether, call.max_pixels) : 1;
}

}  // namespace

bool HasRowPairs(const Call& call) {
  return (IsOfRuns(call) || call.driver == "neap_drive_strip") && TogetherOf(call) > 1 &&
         HasBox(call.columns, call.views[0].width, IsOne) &&
         HasBox(call.rows, call.views[0].height, IsSeveral);
}

std::int64_t PixelsOf(const Call& call) {
  if (IsOfRuns(call)) {
    const bool pairs = HasRowPairs(call) || HasBox(call.columns, call.views[0].width, IsSeveral);
    return pairs ? TogetherOf(call) : 1;
  }
  if (call.driver == "neap_drive_strip") return HasRowPairs(call) ? kPixelsTogether : 1;
  if (call.driver != "neap_drive_window" || call.taps < 1) return 1;
  constexpr std::int64_t kMaxPixels = 8;
  return std::clamp<std::int64_t>(kTapBudget / call.taps, 1, kMaxPixels);
}

std::int64_t ScratchPixelsOf(const Call& call) {
  if (call.pixel_scratch == 0) return 0;
  if (IsOfRuns(call) || HasRowPairs(call)) return PixelsOf(call);
  std::int64_t widest = call.columns.empty() ? call.views[0].width : 1;
  for (const StreamRange& columns : call.columns) widest = std::max(widest, columns.size());
  return std::min(kPixelsTogether, widest);
}

std::int64_t TapsOf(const Program& program) {
  std::int64_t taps = 1;
  for (const Segment& segment : program.segments) {
    for (const Call& call : segment.calls) taps = std::max(taps, call.taps * PixelsOf(call));
  }
  return taps;
}

}  // namespace neap::emit
