// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/copies.h"

#include <algorithm>
#include <set>
#include <utility>

#include "neap/base/bytes.h"

namespace neap::cascade {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;

std::vector<TensorId> ConstantsOf(const Subgraph& subgraph, const Op& op) {
  std::vector<TensorId> constants;
  for (const TensorId id : op.inputs) {
    if (id.valid() && subgraph.tensors[id].constant) constants.push_back(id);
  }
  return constants;
}

bool Uses(const Op& op, TensorId id) {
  return std::find(op.inputs.begin(), op.inputs.end(), id) != op.inputs.end();
}

// A subset of the first copies, by links to the one without the last of them.
struct Choice {
  std::int64_t bytes = 0;
  std::int64_t saved = 0;
  std::size_t before = 0;
  std::ptrdiff_t copy = -1;
};

}  // namespace

std::int64_t FreeBytes(const Device& device, std::int64_t arena_bytes) {
  const DeviceMemory* const memory = MemoryFor(device, false);
  return memory == nullptr ? 0 : std::max<std::int64_t>(memory->bytes - arena_bytes, 0);
}

std::vector<WeightCopy> CopiesThatPay(const Subgraph& subgraph, const RegionPlan& region,
                                      const Subgraph& realised, const Device& device) {
  std::vector<WeightCopy> copies;
  const DeviceMemory* const slow = MemoryFor(device, true);
  const DeviceMemory* const fast = MemoryFor(device, false);
  if (slow == nullptr || fast == nullptr || slow == fast) return copies;
  std::set<TensorId> taken;
  for (const OpId id : region.ops) {
    WeightCopy copy;
    copy.op = id;
    for (const TensorId constant : ConstantsOf(subgraph, subgraph.ops[id])) {
      if (!taken.insert(constant).second) continue;  // goes with the operator that has it first
      copy.tensors.push_back(constant);
      copy.bytes += graph::TensorBytes(subgraph.tensors[constant]).value_or(0);
    }
    if (copy.tensors.empty()) continue;
    copy.bytes = StoredBytes(copy.bytes, device);
    copy.saved_cycles = -CopyCycles(copy.bytes, *slow, *fast);
    for (const Op& op : realised.ops) {
      const bool all = std::all_of(copy.tensors.begin(), copy.tensors.end(),
                                   [&](TensorId constant) { return Uses(op, constant); });
      if (!all) continue;
      ++copy.reads;
      copy.saved_cycles +=
          CyclesOf(realised, op, device, false).total - CyclesOf(realised, op, device, true).total;
    }
    if (copy.saved_cycles > 0) copies.push_back(std::move(copy));
  }
  return copies;
}

std::vector<WeightCopy> BestCopies(const std::vector<WeightCopy>& copies, std::int64_t free_bytes) {
  // Subsets, of which none has as few bytes and saves as much as another; ascending in both.
  std::vector<std::vector<Choice>> choices = {{Choice{}}};
  for (std::size_t c = 0; c < copies.size(); ++c) {
    std::vector<Choice> all;
    for (std::size_t i = 0; i < choices.back().size(); ++i) {
      const Choice& choice = choices.back()[i];
      all.push_back({choice.bytes, choice.saved, i, -1});
      const auto bytes = CheckedAdd(choice.bytes, copies[c].bytes);
      if (!bytes || *bytes > free_bytes) continue;
      all.push_back(
          {*bytes, choice.saved + copies[c].saved_cycles, i, static_cast<std::ptrdiff_t>(c)});
    }
    std::stable_sort(all.begin(), all.end(), [](const Choice& a, const Choice& b) {
      return std::pair(a.bytes, -a.saved) < std::pair(b.bytes, -b.saved);
    });
    std::vector<Choice> kept;
    for (const Choice& choice : all) {
      if (kept.empty() || choice.saved > kept.back().saved) kept.push_back(choice);
    }
    choices.push_back(std::move(kept));
  }
  std::vector<WeightCopy> best;
  std::size_t at = choices.back().size() - 1;  // saves most
  for (std::size_t level = choices.size(); level-- > 1;) {
    const Choice& choice = choices[level][at];
    if (choice.copy >= 0) best.push_back(copies[static_cast<std::size_t>(choice.copy)]);
    at = choice.before;
  }
  std::reverse(best.begin(), best.end());
  return best;
}

}  // namespace neap::cascade
