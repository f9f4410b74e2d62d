// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/scratch.h"

#include <algorithm>
#include <vector>

#include "neap/emit/taps.h"

namespace neap::emit {
namespace {

std::int64_t Aligned(std::int64_t bytes) {
  return (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
}

}  // namespace

std::int64_t LowestGap(std::vector<plan::StreamRange> used, std::int64_t bytes) {
  std::sort(used.begin(), used.end(), [](const plan::StreamRange& a, const plan::StreamRange& b) {
    return a.first < b.first;
  });
  std::int64_t at = 0;
  for (const plan::StreamRange& range : used) {
    if (range.empty()) continue;
    if (range.first >= at + bytes) break;
    at = std::max(at, Aligned(range.last));
  }
  return at;
}

std::int64_t ScratchBytesOf(const Call& call) {
  return std::max(call.scratch_bytes, call.pixel_scratch * ScratchPixelsOf(call));
}

std::int64_t PlaceScratch(Program* program) {
  std::int64_t end = program->memory_bytes[0];
  for (Segment& segment : program->segments) {
    for (Call& call : segment.calls) {
      const std::int64_t bytes = ScratchBytesOf(call);
      if (bytes == 0) continue;
      call.scratch = LowestGap(call.used, bytes);
      end = std::max(end, call.scratch + bytes);
    }
  }
  return Aligned(end);
}

}  // namespace neap::emit
