// SPDX-License-Identifier: Apache-2.0
//
// What no plan can do with less, as long as it computes every pixel once and every tensor in blocks
// that go from left to right and from top to bottom, no higher than some given ones.
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
  // every moment of its progress: what is live at least of all tensors around it, however far each
  // of them has got. `heights`: for each image the most rows of a block; the higher, the smaller
  // the bound, because a high block fills line after line at once. Tensors that are read by several
  // operators count by one of these alone; halos of columns and kernels' working memory count
  // nothing. O(nodes x places), some hundred places a tensor (BoundOfChain); what has been asked
  // before is known.
  std::int64_t For(const std::vector<std::int64_t>& heights);

 private:
  std::unique_ptr<BoundsOfNetwork> of_;
};

}  // namespace neap::stream
