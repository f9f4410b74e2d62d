// SPDX-License-Identifier: Apache-2.0
//
// Weights that are copied while something is computed: the next block of the same operator, and the
// first copy of the next one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "neap/transform/stream/spill_weights.h"

namespace neap::stream {
namespace {

using graph::OpId;

bool HaveCommon(std::int64_t a, std::int64_t a_bytes, std::int64_t b, std::int64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

// Copies of one operator's weights for a box, and the parts of its arithmetic.
struct Parts {
  std::vector<std::int64_t> copies;   // cycles
  std::vector<std::int64_t> indices;  // of the output
  std::int64_t size = 1;              // all indices

  std::int64_t Computes(std::int64_t box_cycles, std::size_t part) const {
    return box_cycles * indices[part] / size;
  }
};

// A step of a segment that runs an operator.
struct Runner {
  OpId op;
  const plan::StreamOp* step = nullptr;
  plan::StreamWeights* weights = nullptr;
  std::vector<std::int64_t> cycles;  // of each box
  Parts parts;                       // one, if its weights stay or it has none
  bool may_begin = false;            // copies with its boxes

  bool in_blocks() const { return weights != nullptr && weights->block > 0; }
  std::int64_t LastOf(std::size_t box) const {
    return parts.Computes(cycles[box], parts.indices.size() - 1);
  }
};

bool HaveSameBoxes(const plan::StreamOp& a, const plan::StreamOp& b) {
  const auto same = [](const std::vector<plan::StreamRange>& x,
                       const std::vector<plan::StreamRange>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const auto& one, const auto& two) { return one.empty() == two.empty(); });
  };
  return same(a.rows, b.rows) && same(a.columns, b.columns);
}

// Cycles of `runner` beyond its arithmetic: copies that are waited for, and calls for blocks.
// `before`: the first copy of each box begins with its last block; nullptr: when it is used.
std::int64_t WaitsOf(const Network& network, const Runner& runner, const Parts& parts, bool two,
                     const Runner* before) {
  std::int64_t cycles = 0;
  for (std::size_t b = 0; b < runner.cycles.size(); ++b) {
    for (std::size_t p = 0; p < parts.copies.size(); ++p) {
      std::int64_t meanwhile = 0;
      if (p == 0 && before != nullptr) meanwhile = before->LastOf(b);
      if (p > 0 && two) meanwhile = parts.Computes(runner.cycles[b], p - 1);
      cycles += std::max<std::int64_t>(parts.copies[p] - meanwhile, 0);
      cycles += p > 0 ? network.rates.box : 0;
    }
  }
  return cycles;
}

class Prefetcher {
 public:
  Prefetcher(const graph::Subgraph& subgraph, const plan::StreamImages& images,
             const Network& network, std::int64_t limit, plan::Stream* stream)
      : subgraph_(subgraph), images_(images), network_(network), limit_(limit), stream_(*stream) {
    for (const Node& node : network.nodes) nodes_.emplace(node.op, &node);
    for (plan::StreamSegment& segment : stream_.segments) {
      used_.push_back(UsedBy(subgraph, images, segment));
      runners_.push_back(RunnersOf(&segment));
    }
  }

  // Of `segment`: its blocks take turns in two halves of their memory where this saves cycles.
  void TakeTurns(
      std::size_t segment,
      const std::function<std::vector<std::int64_t>(const plan::StreamWeights&)>& sizes) {
    std::vector<Runner>& runners = runners_[segment];
    const auto first = std::find_if(runners.begin(), runners.end(),
                                    [](const Runner& runner) { return runner.in_blocks(); });
    if (first == runners.end()) return;
    const std::int64_t at = first->weights->offset;
    std::int64_t end = limit_;
    for (const auto& [from, to] : used_[segment]) {
      if (from >= at) end = std::min(end, from);
    }
    const std::int64_t half = (end - at) / 2 / plan::kWeightAlignment * plan::kWeightAlignment;
    const std::int64_t halves[] = {at, at + half};
    const Runner* last = nullptr;  // the runner before, in blocks
    std::size_t free = 0;          // the half that its last block leaves; 2: none
    for (std::size_t r = 0; r < runners.size(); ++r) {
      Runner& runner = runners[r];
      if (!runner.in_blocks()) continue;
      if (runner.weights->kept > 0) {  // their blocks are copied when they are used
        last = &runner;
        free = 2;
        continue;
      }
      const Runner* before = BestBefore(runners, r, last, free);
      const std::size_t start = before != nullptr && before == last ? free : 0;
      const std::int64_t waits = WaitsOf(network_, runner, runner.parts, false, nullptr);
      std::int64_t least = waits + 1;
      std::int64_t best = 0;
      Parts parts;
      for (const std::int64_t size : sizes(*runner.weights)) {
        const auto blocks =
            plan::BlocksOf(subgraph_, subgraph_.ops[runner.op], runner.weights->axis, size);
        if (!blocks || blocks->bytes > half || blocks->copied_bytes > Copied(*runner.weights)) {
          continue;
        }
        Parts found = PartsOf(*blocks, size, runner.parts.size);
        const bool two = found.copies.size() > 1;
        const std::int64_t cycles = WaitsOf(network_, runner, found, two, before);
        if (cycles >= least) continue;
        least = cycles;
        best = size;
        parts = std::move(found);
      }
      last = &runner;
      free = 2;
      if (best == 0) continue;
      stream_.cycles -= waits - least;
      runner.parts = std::move(parts);
      const std::size_t count = runner.parts.copies.size();
      runner.weights->block = best;
      runner.weights->offset = halves[start];
      if (count > 1) runner.weights->second = halves[1 - start];
      if (before != nullptr) runner.weights->after = before->op;
      free = count % 2 == 1 ? 1 - start : start;
    }
  }

  // The first copies of `segment`, which begin in the segment before.
  void BeginEarly(std::size_t segment) {
    std::vector<Runner>& earlier = runners_[segment - 1];
    if (earlier.empty()) return;
    const Runner& with = earlier.back();
    if (!with.may_begin || with.cycles.empty()) return;
    if (with.in_blocks() && with.cycles.size() != 1) return;
    std::int64_t meanwhile = with.LastOf(with.cycles.size() - 1);
    bool first = true;  // in blocks
    for (Runner& runner : runners_[segment]) {
      if (runner.weights == nullptr) continue;
      if (runner.in_blocks() && !std::exchange(first, false)) continue;
      if (runner.weights->after.valid() || runner.weights->kept > 0) continue;
      if (runner.in_blocks() && runner.cycles.size() != 1) continue;
      const plan::WeightCopy copy = plan::FirstCopy(subgraph_, *runner.weights);
      const std::int64_t hidden = std::min(copy.copied_bytes / kCopyBytesPerCycle, meanwhile);
      if (hidden == 0 || !IsFree(segment, with, runner.weights->offset, copy.bytes)) continue;
      runner.weights->after = with.op;
      meanwhile -= hidden;
      stream_.cycles -= hidden;
    }
  }

 private:
  std::int64_t Copied(const plan::StreamWeights& weights) const {
    return plan::BlocksOf(subgraph_, subgraph_.ops[weights.op], weights.axis, weights.block)
        ->copied_bytes;
  }

  static Parts PartsOf(const plan::WeightBlocks& blocks, std::int64_t block, std::int64_t size) {
    Parts parts;
    parts.size = size;
    for (const plan::WeightCopy& copy : blocks.blocks) {
      parts.copies.push_back(copy.copied_bytes / kCopyBytesPerCycle);
      parts.indices.push_back(std::min(block, size));
      size -= block;
    }
    return parts;
  }

  std::vector<Runner> RunnersOf(plan::StreamSegment* segment) const {
    std::vector<Runner> runners;
    for (const plan::StreamOp& step : segment->ops) {
      if (!step.op.valid()) continue;
      const auto same = std::find_if(runners.begin(), runners.end(),
                                     [&](const Runner& other) { return other.op == step.op; });
      if (same != runners.end()) return {};  // of one operator twice: nothing is copied ahead
      Runner runner{step.op, &step, nullptr, {}, {{}, {1}, 1}, !step.sums};
      const Node& node = *nodes_.at(step.op);
      for (plan::StreamWeights& weights : segment->weights) {
        if (weights.op == step.op) runner.weights = &weights;
      }
      if (runner.in_blocks() && runner.weights->kept == 0) {
        const graph::Op& op = subgraph_.ops[step.op];
        const auto& shape = *subgraph_.tensors[op.outputs[0]].shape;
        runner.parts = PartsOf(*plan::BlocksOf(subgraph_, *runner.weights), runner.weights->block,
                               shape[static_cast<std::size_t>(runner.weights->axis)]);
      }
      if (segment->whole) runner.cycles.push_back(WholeCycles(network_, node));
      for (const plan::StreamRange& rows : step.rows) {
        for (const plan::StreamRange& columns : step.columns) {
          if (rows.empty() || columns.empty()) continue;
          runner.cycles.push_back(CyclesOf(network_, node, {rows}, {columns}));
        }
      }
      runners.push_back(std::move(runner));
    }
    return runners;
  }

  // With which the first copy of runner `r` begins: from `last` on, which has blocks in the same
  // memory, the one that computes the longest.
  static const Runner* BestBefore(const std::vector<Runner>& runners, std::size_t r,
                                  const Runner* last, std::size_t free) {
    const Runner* best = nullptr;
    for (std::size_t i = r; i-- > 0;) {
      const Runner& runner = runners[i];
      const bool may = runner.may_begin && !runner.cycles.empty() &&
                       (&runner != last || free < 2) &&
                       HaveSameBoxes(*runner.step, *runners[r].step);
      if (may && (best == nullptr || runner.LastOf(0) > best->LastOf(0))) best = &runner;
      if (&runner == last) break;
    }
    return best;
  }

  // Whether bytes are used by nothing from the last block of `with` on, the last operator of the
  // segment before `segment`, until that begins.
  bool IsFree(std::size_t segment, const Runner& with, std::int64_t from,
              std::int64_t bytes) const {
    for (const auto& [first, last] : used_[segment - 1]) {
      if (HaveCommon(from, bytes, first, last - first)) return false;
    }
    for (const plan::StreamWeights& other : stream_.segments[segment - 1].weights) {
      const std::int64_t size = plan::BufferBytes(subgraph_, other);
      const bool is_own = &other == with.weights;
      if (other.block > 0 && !is_own) continue;  // done
      const bool in_second = other.second.has_value() && with.parts.copies.size() % 2 == 0;
      const std::int64_t place = in_second ? *other.second : other.offset;
      if (HaveCommon(from, bytes, place, size)) return false;
    }
    constexpr std::int64_t kMaxSumBytes = 8;  // for each byte of a mean
    for (const plan::StreamMove& move : stream_.segments[segment].moves) {
      const plan::StreamImage& image = images_[move.tensor];
      const bool may_be_sums = image.height * image.width == 1;
      if (HaveCommon(from, bytes, move.to, image.bytes() * (may_be_sums ? kMaxSumBytes : 1)))
        return false;
    }
    return true;
  }

  const graph::Subgraph& subgraph_;
  const plan::StreamImages& images_;
  const Network& network_;
  std::int64_t limit_;
  plan::Stream& stream_;
  std::map<OpId, const Node*> nodes_;
  std::vector<UsedRanges> used_;              // of each segment
  std::vector<std::vector<Runner>> runners_;  // by step
};

}  // namespace

std::int64_t SlowWeights::Prefetch(const Network& network, std::int64_t arena_bytes,
                                   std::int64_t limit, plan::Stream* stream) const {
  Prefetcher prefetcher(subgraph_, images_, network, limit, stream);
  const auto sizes = [this](const plan::StreamWeights& weights) {
    std::vector<std::int64_t> found;
    const std::vector<Block>& blocks = weights_.at(weights.op).blocks;
    // The largest first, which are the fewest.
    for (std::size_t b = blocks.size(); b-- > 0;) found.push_back(blocks[b].size);
    return found;
  };
  for (std::size_t s = 0; s < stream->segments.size(); ++s) prefetcher.TakeTurns(s, sizes);
  for (std::size_t s = 1; s < stream->segments.size(); ++s) prefetcher.BeginEarly(s);
  for (const plan::StreamSegment& segment : stream->segments) {
    arena_bytes = std::max(arena_bytes, plan::WeightBytesOf(subgraph_, segment).last);
  }
  return arena_bytes;
}

}  // namespace neap::stream
