// SPDX-License-Identifier: Apache-2.0
//
// Weights in slow memory (plan::StreamWeights): how those of each operator of a segment come into
// fast memory, and the bytes that this reads. Private to the search for plans with two memories.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/plan/stream_weights.h"
#include "neap/transform/stream/network.h"

namespace neap::stream {

// Bytes of fast memory for the weights of a segment, and bytes of weights that it reads then.
struct WeightPoint {
  std::int64_t bytes = 0;
  std::int64_t read_bytes = 0;
};

// Bytes of the arena that a segment uses for other things than weights; half-open, ascending.
using UsedRanges = std::vector<std::pair<std::int64_t, std::int64_t>>;
UsedRanges UsedBy(const graph::Subgraph& subgraph, const plan::StreamImages& images,
                  const plan::StreamSegment& segment);

// Weights of the operators of one subgraph.
class SlowWeights {
 public:
  // `emits`: only weights that the kernels of emitted C read in blocks are divided into some.
  SlowWeights(const graph::Subgraph& subgraph, const Network& network, bool emits = false);

  // For nodes that run on so many boxes: choices with few bytes to read for many bytes of fast
  // memory, fewest bytes of memory first. {{0, 0}}: there are no weights.
  struct Runs {
    int node = -1;
    std::int64_t boxes = 0;
  };
  std::vector<WeightPoint> FrontOf(const std::vector<Runs>& runs) const;

  // Adds buffers to all segments of `stream` and returns the height of the arena with them, which
  // is at most `limit` if that is possible. Reads the fewest bytes in gaps of each segment, whose
  // offsets do not change. `arena_bytes`: height without them.
  std::int64_t AddTo(plan::Stream* stream, std::int64_t arena_bytes, std::int64_t limit) const;

  // For a stream of AddTo(): copies are done while something is computed, where their buffers fit
  // into `limit` and fewer modelled cycles are left. The same bytes are read. `network`: with the
  // nodes of the one given before. `arena_bytes`: height without weights. Returns that with them.
  std::int64_t Prefetch(const Network& network, std::int64_t arena_bytes, std::int64_t limit,
                        plan::Stream* stream) const;

 private:
  // Weights in blocks of so many indices.
  struct Block {
    std::int64_t size = 0;
    std::int64_t bytes = 0;
    std::int64_t copied_bytes = 0;
  };
  struct Weights {
    std::int64_t bytes = 0;  // 0: none
    std::int64_t copied_bytes = 0;
    std::int64_t axis = 0;
    std::vector<Block> blocks;  // smallest first; empty: all at once, before the segment
  };
  struct Item {
    graph::OpId op;
    const Weights* weights = nullptr;
    std::int64_t boxes = 0;
    bool stays = false;
    std::size_t block = 0;
    // Of an item in blocks: the first indices, whose weights stay.
    std::int64_t kept = 0;
    std::int64_t kept_offset = 0;
    std::int64_t kept_bytes = 0;
    std::int64_t kept_copied_bytes = 0;
  };
  static Weights FindWeights(const graph::Subgraph& subgraph, const graph::Op& op,
                             const plan::StreamImages& images, bool divides);
  static WeightPoint PointOf(const std::vector<Item>& items);
  static void Choose(std::int64_t limit, std::vector<Item>* items);
  void KeepSome(std::int64_t limit, std::vector<Item>* items) const;
  std::vector<Item> ItemsOf(const plan::StreamSegment& segment) const;

  const graph::Subgraph& subgraph_;
  plan::StreamImages images_;
  std::vector<graph::OpId> ops_;  // of nodes
  std::map<graph::OpId, Weights> weights_;
};

}  // namespace neap::stream
