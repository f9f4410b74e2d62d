// SPDX-License-Identifier: Apache-2.0
//
// A lower bound of all plans that compute every pixel once and every tensor in blocks from left to
// right and from top to bottom, no higher than given ones.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "neap/transform/stream/network.h"

namespace neap::stream {

class BoundsOfNetwork;

class Bounds {
 public:
  // `network` outlives it.
  Bounds(const Network& network, plan::StreamInput input);
  ~Bounds();

  // Bytes that every such plan has in its arena at some moment. For every tensor of the network and
  // every moment of its progress: the minimum live bytes of all tensors around it, over their
  // progress. `heights`: for each image the maximum rows of a block; the higher, the smaller the
  // bound, because a high block fills line after line at once. Of a tensor with several consumers
  // only one of them counts; halos of columns and kernels' scratch count nothing. O(nodes x
  // places), some hundred places a tensor (BoundOfChain); results are cached.
  std::int64_t For(const std::vector<std::int64_t>& heights);
  // The same, with halos, skips and branches (BoundOfMoments); not above `enough` unless that is
  // known anyway.
  std::int64_t ByMoments(const std::vector<std::int64_t>& heights, std::int64_t enough);

 private:
  std::unique_ptr<BoundsOfNetwork> of_;
};

}  // namespace neap::stream
