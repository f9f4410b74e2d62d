// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/in_use.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/plan/profile.h"

namespace neap::report {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;  // [begin, end)

std::int64_t LengthOfUnion(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::int64_t bytes = 0;
  std::int64_t end = 0;
  for (const auto& [begin, range_end] : ranges) {
    bytes += std::max<std::int64_t>(range_end - std::max(begin, end), 0);
    end = std::max(end, range_end);
  }
  return bytes;
}

bool IsLive(const plan::TensorPlacement& placement, std::int32_t slot) {
  return placement.first <= slot && slot < placement.last;
}

// An output in place counts nothing in its slot.
bool IsInPlace(const plan::EntryPlan& entry, const plan::TensorPlacement& placement,
               std::int32_t slot) {
  return std::any_of(entry.overlaps.begin(), entry.overlaps.end(), [&](const auto& overlap) {
    return overlap.slot == slot && overlap.subgraph == placement.subgraph &&
           overlap.output == placement.tensor && overlap.kind == plan::OverlapKind::kInPlace;
  });
}

// Of every slot.
std::vector<std::int64_t> BytesInUse(const plan::EntryPlan& entry, std::int64_t alignment) {
  std::vector<std::vector<Range>> ranges(entry.steps.size());
  const auto add = [&](std::int32_t slot, std::int64_t offset, std::int64_t bytes) {
    if (slot < 0 || static_cast<std::size_t>(slot) >= ranges.size()) return;
    ranges[static_cast<std::size_t>(slot)].emplace_back(offset, offset + AlignUp(bytes, alignment));
  };
  for (const plan::TensorPlacement& placement : entry.tensors) {
    for (std::int32_t slot = placement.first; slot < placement.last; ++slot) {
      add(slot, placement.offset, placement.bytes);
    }
  }
  for (const plan::ScratchPlacement& scratch : entry.scratch) {
    add(scratch.slot, scratch.offset, scratch.bytes);
  }
  std::vector<std::int64_t> bytes;
  bytes.reserve(ranges.size());
  for (std::vector<Range>& each : ranges) bytes.push_back(LengthOfUnion(std::move(each)));
  return bytes;
}

}  // namespace

std::optional<FullestSlot> FindFullestSlot(const plan::Plan& plan, const plan::EntryPlan& entry) {
  if (entry.stream || entry.tensors.empty() || plan.memories.size() > 1) return std::nullopt;
  const std::int64_t alignment = plan::ProfileOf(plan.runtime).alignment;
  const std::vector<std::int64_t> in_use = BytesInUse(entry, alignment);
  if (in_use.empty()) return std::nullopt;
  const auto fullest = std::max_element(in_use.begin(), in_use.end());
  const auto slot = static_cast<std::int32_t>(fullest - in_use.begin());
  const plan::Step& step = entry.steps[static_cast<std::size_t>(slot)];
  if (!step.op.valid()) return std::nullopt;
  FullestSlot out;
  out.in_use_bytes = *fullest;
  out.cause.subgraph = step.subgraph;
  out.cause.op = step.op;
  for (const plan::TensorPlacement& placement : entry.tensors) {
    if (!IsLive(placement, slot) || IsInPlace(entry, placement, slot)) continue;
    const std::int64_t bytes = AlignUp(placement.bytes, alignment);
    out.cause.tensors.push_back({placement.subgraph, placement.tensor, bytes});
    out.live_bytes += bytes;
  }
  for (const plan::ScratchPlacement& scratch : entry.scratch) {
    if (scratch.slot == slot) out.cause.scratch_bytes += AlignUp(scratch.bytes, alignment);
  }
  out.live_bytes += out.cause.scratch_bytes;
  std::stable_sort(out.cause.tensors.begin(), out.cause.tensors.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return out;
}

}  // namespace neap::report
