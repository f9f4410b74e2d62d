// SPDX-License-Identifier: Apache-2.0
//
// Weights of operators in streamed plans with two memories (StreamWeights): which inputs they are,
// and their layout in a buffer of fast memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"
#include "neap/plan/stream.h"

namespace neap::plan {

// Of every part of a buffer, from its start.
inline constexpr std::int64_t kWeightAlignment = 8;
constexpr std::int64_t AlignedToWeights(std::int64_t bytes) {
  return (bytes + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment;
}

// A part of one input, stored in the buffer without gaps, the last dimension innermost.
struct WeightPart {
  std::size_t input = 0;
  ops::Box box;
  std::int64_t offset = 0;  // in the buffer
  std::int64_t bytes = 0;
};

struct WeightCopy {
  std::vector<WeightPart> parts;  // by input
  std::int64_t bytes = 0;         // of the buffer
  std::int64_t copied_bytes = 0;  // without gaps
};

// Whether an input is a weight: a constant of known size that takes part in the arithmetic.
// Integers of 32 and 64 bits do in element-wise operators and in products (a bias); in others they
// are axes, shapes and indices, which are a part of the program, as is the shape of TRANSPOSE_CONV.
bool IsWeight(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input);

// All weights of an operator. O(inputs).
WeightCopy AllWeights(const graph::Subgraph& subgraph, const graph::Op& op);

// The weights that indices `range` of dimension `axis` of its only output need. nullopt: not known,
// or elements smaller than a byte. O(inputs) and a dependence map for each.
std::optional<WeightCopy> WeightsOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                    std::int64_t axis, const StreamRange& range);

// All blocks of StreamWeights, in order; with `kept`, the first one has so many indices, fewer than
// all. nullopt: a block is not known, or there is no such axis.
struct WeightBlocks {
  std::vector<WeightCopy> blocks;
  std::int64_t bytes = 0;         // of the buffer, that of the largest block, without the kept one
  std::int64_t copied_bytes = 0;  // for one box, with the kept one
};
std::optional<WeightBlocks> BlocksOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                     std::int64_t axis, std::int64_t block, std::int64_t kept = 0);
std::optional<WeightBlocks> BlocksOf(const graph::Subgraph& subgraph, const StreamWeights& weights);

// Bytes of the buffer of `weights`, whose operator is one of the subgraph; 0: its blocks are not
// known.
std::int64_t BufferBytes(const graph::Subgraph& subgraph, const StreamWeights& weights);

// What comes first: the copy of all weights that stay, or of the first block. Without parts where
// blocks are not known. `weights`: as for BufferBytes().
WeightCopy FirstCopy(const graph::Subgraph& subgraph, const StreamWeights& weights);

// How many boxes of an operator a segment computes; one where it runs as a whole.
std::int64_t BoxesOf(const StreamSegment& segment, graph::OpId op);

// The bytes of the arena that the weights of a segment use; empty: none.
StreamRange WeightBytesOf(const graph::Subgraph& subgraph, const StreamSegment& segment);

// Bytes of each operand that some element of the output needs, where this is known, else all: what
// every plan reads of input `input`, which is a weight.
std::int64_t NeededWeightBytes(const graph::Subgraph& subgraph, const graph::Op& op,
                               std::size_t input);

// Adjacent bytes of a constant that a part contains.
struct WeightRun {
  std::int64_t from = 0;  // in the constant
  std::int64_t bytes = 0;
};
// In the order of the buffer.
std::vector<WeightRun> RunsOf(const graph::Tensor& tensor, const WeightPart& part);

}  // namespace neap::plan
