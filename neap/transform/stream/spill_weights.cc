// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/spill_weights.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"

namespace neap::stream {
namespace {

using graph::OpId;
using graph::TensorId;
using plan::AlignedToWeights;

constexpr std::int64_t kMaxBlocks = 256;  // of one operator
constexpr std::int64_t kAtOnce = 4;       // output channels
constexpr std::size_t kMaxChoices = 256;  // of operators whose weights stay
constexpr std::size_t kMaxSizes = 8;      // of the buffer that others share
constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max() / 4;

struct Gap {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

std::int64_t TopOf(const UsedRanges& used) {
  std::int64_t top = 0;
  for (const auto& [from, to] : used) top = std::max(top, to);
  return top;
}

// The largest one below `limit`; without bytes where there is none.
Gap LargestGap(const UsedRanges& used, std::int64_t limit) {
  Gap largest;
  std::int64_t at = 0;
  const auto see = [&](std::int64_t end) {
    const std::int64_t from = AlignedToWeights(at);
    if (end - from > largest.bytes) largest = {from, end - from};
  };
  for (const auto& [from, to] : used) {
    see(from);
    at = std::max(at, to);
  }
  see(limit);
  return largest;
}

// Whether kernels of emitted C compute some of its output channels.
bool HasBlocksInCode(const graph::Op& op) {
  using ops::OpKind;
  return ops::Is(op, OpKind::kConv2d) || ops::Is(op, OpKind::kDepthwiseConv2d) ||
         ops::Is(op, OpKind::kFullyConnected) || ops::Is(op, OpKind::kTransposeConv);
}

std::int64_t NonEmpty(const std::vector<plan::StreamRange>& ranges) {
  return std::count_if(ranges.begin(), ranges.end(),
                       [](const plan::StreamRange& range) { return !range.empty(); });
}

}  // namespace

UsedRanges UsedBy(const graph::Subgraph& subgraph, const plan::StreamImages& images,
                  const plan::StreamSegment& segment) {
  UsedRanges used;
  for (const plan::StreamArea& area : segment.areas) {
    for (const plan::StreamRing& ring : area.rings) {
      used.emplace_back(ring.offset, ring.offset + ring.pixels * images[area.tensor].pixel_bytes);
    }
    // Running sums, which a segment may also take over from the one before.
    for (const graph::Op& op : subgraph.ops) {
      const bool sums = !op.outputs.empty() && op.outputs[0] == area.tensor && !op.inputs.empty() &&
                        op.inputs[0].valid() &&
                        ops::IsMeanOfPlaces(subgraph, op, images[op.inputs[0]].channels_first);
      if (!sums) continue;
      const std::int64_t from = area.rings[0].offset;
      used.emplace_back(from, from + images[area.tensor].bytes() * ops::SumBytesOf(subgraph, op));
    }
  }
  if (segment.channel_plane) {
    const TensorId out = subgraph.ops[segment.ops[0].op].outputs[0];
    const plan::StreamImage& image = images[out];
    const std::int64_t channels = (*subgraph.tensors[out].shape)[3];
    used.emplace_back(*segment.channel_plane,
                      *segment.channel_plane + image.bytes() / std::max<std::int64_t>(channels, 1));
  }
  std::sort(used.begin(), used.end());
  return used;
}

SlowWeights::SlowWeights(const graph::Subgraph& subgraph, const Network& network, bool emits)
    : subgraph_(subgraph), images_(plan::ImagesOf(subgraph)) {
  for (const Node& node : network.nodes) {
    const graph::Op& op = subgraph.ops[node.op];
    ops_.push_back(node.op);
    weights_.try_emplace(node.op,
                         FindWeights(subgraph, op, images_, !emits || HasBlocksInCode(op)));
  }
}

// Blocks are those of the dimension that needs the fewest bytes for one index, beside rows and
// columns of images.
SlowWeights::Weights SlowWeights::FindWeights(const graph::Subgraph& subgraph, const graph::Op& op,
                                              const plan::StreamImages& images, bool divides) {
  const plan::WeightCopy all = plan::AllWeights(subgraph, op);
  Weights weights{all.bytes, all.copied_bytes, 0, {}};
  if (all.bytes == 0 || op.outputs.size() != 1 || !op.outputs[0].valid()) return weights;
  const auto& shape = subgraph.tensors[op.outputs[0]].shape;
  if (!shape) return weights;
  const plan::StreamImage& image = images[op.outputs[0]];
  std::int64_t least = kNone;
  for (std::size_t axis = 0; axis < shape->size(); ++axis) {
    if (image.row_axis == axis || image.column_axis == axis) continue;
    const auto number = static_cast<std::int64_t>(axis);
    const auto one = plan::WeightsOf(subgraph, op, number, {0, 1});
    if (!one || one->bytes >= least) continue;
    least = one->bytes;
    weights.axis = number;
  }
  if (least == kNone) return weights;
  const std::int64_t size = (*shape)[static_cast<std::size_t>(weights.axis)];
  for (std::int64_t block = divides ? (size + kMaxBlocks - 1) / kMaxBlocks : size;; block *= 2) {
    const std::int64_t indices = std::min(block, size);
    const auto blocks = plan::BlocksOf(subgraph, op, weights.axis, indices);
    if (blocks && blocks->bytes > 0) {
      weights.blocks.push_back({indices, blocks->bytes, blocks->copied_bytes});
    }
    if (block >= size) return weights;
  }
}

WeightPoint SlowWeights::PointOf(const std::vector<Item>& items) {
  WeightPoint point;
  std::int64_t shared = 0;
  for (const Item& item : items) {
    if (item.stays) {
      point.bytes += AlignedToWeights(item.weights->bytes);
      point.read_bytes += item.weights->copied_bytes;
      continue;
    }
    const Block& block = item.weights->blocks[item.block];
    shared = std::max(shared, block.bytes);
    point.bytes += AlignedToWeights(item.kept_bytes);
    point.read_bytes += block.copied_bytes * item.boxes - item.kept_copied_bytes * (item.boxes - 1);
  }
  point.bytes += shared;
  return point;
}

std::vector<WeightPoint> SlowWeights::FrontOf(const std::vector<Runs>& runs) const {
  std::vector<Item> items;
  for (const Runs& one : runs) {
    const OpId op = ops_[static_cast<std::size_t>(one.node)];
    const Weights& weights = weights_.at(op);
    if (weights.bytes == 0) continue;
    items.push_back({op, &weights, one.boxes, weights.blocks.empty()});
  }
  // Weights of many boxes gain the most by staying, for each byte of memory.
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return std::tuple(!a.stays, -a.boxes) < std::tuple(!b.stays, -b.boxes);
  });
  std::vector<WeightPoint> points{PointOf(items)};
  for (Item& item : items) {
    if (item.stays) continue;
    // About so many parts of them stay.
    constexpr std::int64_t kParts = 4;
    for (std::int64_t part = 1; part < kParts && item.weights->blocks.size() > 1; ++part) {
      Item whole = item;
      item.kept_bytes = item.weights->bytes * part / kParts + plan::kWeightAlignment;
      item.kept_copied_bytes = item.weights->copied_bytes * part / kParts;
      points.push_back(PointOf(items));
      item = whole;
    }
    item.stays = true;
    points.push_back(PointOf(items));
  }
  std::stable_sort(points.begin(), points.end(), [](const WeightPoint& a, const WeightPoint& b) {
    return std::tie(a.bytes, a.read_bytes) < std::tie(b.bytes, b.read_bytes);
  });
  std::vector<WeightPoint> front;
  for (const WeightPoint& point : points) {
    if (front.empty() || point.read_bytes < front.back().read_bytes) front.push_back(point);
  }
  return front;
}

// Which weights stay: the fewest bytes to read within `limit`, or else the least memory. The size
// of the buffer that all others share is tried; for each, subsets that others of as few bytes beat
// are dropped.
void SlowWeights::Choose(std::int64_t limit, std::vector<Item>* items) {
  std::set<std::int64_t> sizes = {0};
  for (const Item& item : *items) {
    if (!item.weights->blocks.empty()) sizes.insert(item.weights->blocks[0].bytes);
  }
  std::vector<std::int64_t> tried(sizes.begin(), sizes.end());
  while (tried.size() > kMaxSizes) {
    for (std::size_t i = 1; i + 1 < tried.size() && tried.size() > kMaxSizes; ++i) {
      tried.erase(tried.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  struct Subset {
    std::int64_t bytes = 0;
    std::int64_t read_bytes = 0;
    std::vector<bool> stays;
  };
  std::optional<Subset> best;
  const auto rank = [&](const Subset& subset) {
    const std::int64_t over = std::max<std::int64_t>(subset.bytes - limit, 0);
    return std::tuple(over, subset.read_bytes, subset.bytes);
  };
  for (const std::int64_t shared : tried) {
    std::vector<Subset> subsets = {{shared, 0, {}}};
    for (const Item& item : *items) {
      const bool may_stream =
          !item.weights->blocks.empty() && item.weights->blocks[0].bytes <= shared;
      const bool gains = item.boxes > 1 || !may_stream;
      std::vector<Subset> next;
      for (const Subset& subset : subsets) {
        if (may_stream) {
          Subset streams = subset;
          streams.read_bytes += item.weights->blocks[0].copied_bytes * item.boxes;
          streams.stays.push_back(false);
          next.push_back(std::move(streams));
        }
        if (!gains) continue;
        Subset stays = subset;
        stays.bytes += AlignedToWeights(item.weights->bytes);
        stays.read_bytes += item.weights->copied_bytes;
        stays.stays.push_back(true);
        next.push_back(std::move(stays));
      }
      std::stable_sort(next.begin(), next.end(), [](const Subset& a, const Subset& b) {
        return std::tie(a.bytes, a.read_bytes) < std::tie(b.bytes, b.read_bytes);
      });
      subsets.clear();
      for (Subset& subset : next) {
        if (!subsets.empty() && subset.read_bytes >= subsets.back().read_bytes) continue;
        if (!subsets.empty() && subset.bytes > limit) break;
        subsets.push_back(std::move(subset));
      }
      // Every second one, the first and the last among them.
      while (subsets.size() > kMaxChoices) {
        std::vector<Subset> fewer;
        for (std::size_t i = 0; i < subsets.size(); ++i) {
          if (i % 2 == 0 || i + 1 == subsets.size()) fewer.push_back(std::move(subsets[i]));
        }
        subsets = std::move(fewer);
      }
    }
    for (Subset& subset : subsets) {
      if (!best || rank(subset) < rank(*best)) best = std::move(subset);
    }
  }
  for (std::size_t i = 0; i < items->size(); ++i) (*items)[i].stays = best->stays[i];
}

// Memory that is left keeps weights of the operators that read theirs for the most boxes: their
// first indices, as many as fit beside blocks that kernels compute at once.
void SlowWeights::KeepSome(std::int64_t limit, std::vector<Item>* items) const {
  const std::vector<Item> before = *items;
  for (Item& item : *items) {
    if (item.stays) continue;
    const std::vector<Block>& blocks = item.weights->blocks;
    const std::int64_t enough = blocks.empty() ? 0 : std::min(kAtOnce, blocks.back().size / 4);
    while (item.block + 1 < blocks.size() && blocks[item.block].size < enough &&
           blocks[item.block + 1].copied_bytes <= blocks[item.block].copied_bytes) {
      ++item.block;
      if (PointOf(*items).bytes <= limit) continue;
      --item.block;
      break;
    }
  }
  std::vector<Item*> order;
  for (Item& item : *items) {
    if (!item.stays && item.boxes > 1 && item.weights->blocks.size() > 1) order.push_back(&item);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Item* a, const Item* b) { return a->boxes > b->boxes; });
  for (Item* item : order) {
    const std::int64_t left = limit - PointOf(*items).bytes;
    const graph::Op& op = subgraph_.ops[item->op];
    const Block& block = item->weights->blocks[item->block];
    const std::int64_t size =
        (*subgraph_.tensors[op.outputs[0]].shape)[static_cast<std::size_t>(item->weights->axis)];
    // The most indices that fit are at least `fits`, and fewer than `above`.
    std::int64_t fits = 0;
    std::int64_t above = size;
    while (above - fits > 1) {
      const std::int64_t middle = fits + (above - fits) / 2;
      const auto copy = plan::WeightsOf(subgraph_, op, item->weights->axis, {0, middle});
      (copy && AlignedToWeights(copy->bytes) <= left ? fits : above) = middle;
    }
    if (fits == 0) continue;
    const auto copy = plan::WeightsOf(subgraph_, op, item->weights->axis, {0, fits});
    const auto blocks = plan::BlocksOf(subgraph_, op, item->weights->axis, block.size, fits);
    const bool same = copy && blocks && blocks->copied_bytes <= block.copied_bytes &&
                      blocks->bytes <= block.bytes;
    if (!same || copy->copied_bytes == 0 || blocks->bytes == 0) continue;
    item->kept = fits;
    item->kept_bytes = copy->bytes;
    item->kept_copied_bytes = copy->copied_bytes;
  }
  if (std::none_of(items->begin(), items->end(), [](const Item& item) { return item.kept > 0; })) {
    *items = before;
  }
}

std::vector<SlowWeights::Item> SlowWeights::ItemsOf(const plan::StreamSegment& segment) const {
  std::vector<Item> items;
  for (const plan::StreamOp& step : segment.ops) {
    if (!step.op.valid() || weights_.at(step.op).bytes == 0) continue;
    const std::int64_t boxes = segment.whole ? 1 : NonEmpty(step.rows) * NonEmpty(step.columns);
    const auto same = std::find_if(items.begin(), items.end(),
                                   [&](const Item& item) { return item.op == step.op; });
    if (same != items.end()) {
      same->boxes += boxes;
      continue;
    }
    items.push_back({step.op, &weights_.at(step.op), boxes});
  }
  return items;
}

std::int64_t SlowWeights::AddTo(plan::Stream* stream, std::int64_t arena_bytes,
                                std::int64_t limit) const {
  std::int64_t touched = arena_bytes;
  std::vector<std::vector<Item>> chosen;
  std::vector<Gap> gaps;
  for (const plan::StreamSegment& segment : stream->segments) {
    const UsedRanges used = UsedBy(subgraph_, images_, segment);
    gaps.push_back(LargestGap(used, std::max(limit, arena_bytes)));
    chosen.push_back(ItemsOf(segment));
    if (chosen.back().empty()) continue;
    Choose(gaps.back().bytes, &chosen.back());
    const std::int64_t needed = PointOf(chosen.back()).bytes;
    if (needed > gaps.back().bytes) gaps.back() = {AlignedToWeights(TopOf(used)), needed};
    KeepSome(gaps.back().bytes, &chosen.back());
    arena_bytes = std::max(arena_bytes, gaps.back().offset + PointOf(chosen.back()).bytes);
  }
  for (std::size_t s = 0; s < chosen.size(); ++s) {
    std::vector<Item>& items = chosen[s];
    if (items.empty()) continue;
    // Blocks grow into memory that is in the arena anyway.
    const std::int64_t end = std::max(std::min(gaps[s].offset + gaps[s].bytes, arena_bytes),
                                      gaps[s].offset + PointOf(items).bytes);
    std::int64_t at = gaps[s].offset;
    plan::StreamSegment& segment = stream->segments[s];
    for (const Item& item : items) {
      if (!item.stays) continue;
      segment.weights.push_back({item.op, at, 0, 0});
      touched = std::max(touched, at + item.weights->bytes);
      at = AlignedToWeights(at + item.weights->bytes);
    }
    for (Item& item : items) {
      if (item.kept == 0) continue;
      item.kept_offset = at;
      touched = std::max(touched, at + item.kept_bytes);
      at = AlignedToWeights(at + item.kept_bytes);
    }
    for (Item& item : items) {
      if (item.stays) continue;
      const std::vector<Block>& blocks = item.weights->blocks;
      plan::StreamWeights weights{item.op, at, blocks[item.block].size, item.weights->axis};
      weights.kept = item.kept;
      weights.kept_offset = item.kept_offset;
      while (item.block + 1 < blocks.size() &&
             blocks[item.block + 1].copied_bytes <= blocks[item.block].copied_bytes) {
        plan::StreamWeights larger = weights;
        larger.block = blocks[item.block + 1].size;
        const std::int64_t bytes = plan::BufferBytes(subgraph_, larger);
        if (bytes == 0 || at + bytes > end) break;
        weights = larger;
        ++item.block;
      }
      touched = std::max(touched, at + plan::BufferBytes(subgraph_, weights));
      segment.weights.push_back(weights);
    }
    stream->cycles += PointOf(items).read_bytes / kCopyBytesPerCycle;
  }
  return touched;
}

}  // namespace neap::stream
