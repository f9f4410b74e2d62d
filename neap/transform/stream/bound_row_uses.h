// SPDX-License-Identifier: Apache-2.0
//
// What rows of images need of others, for the bound with a progress of each row. Private to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/transform/stream/network.h"

namespace neap::stream {

using RowsCounts = std::vector<std::int64_t>;

// How an operator reads an image.
struct RowsUse {
  int from = -1;
  int to = -1;
  RowsCounts high;    // [y]: rows of `from` that the rows [0, y) need
  RowsCounts right;   // likewise columns
  RowsCounts last_y;  // [row of `from`]: the last row that needs it; -1: none
  RowsCounts last_x;
  bool in_place = false;
  bool sums = false;  // it adds pixels as they arrive
};

// An image.
struct RowsImage {
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t bytes = 0;  // of a pixel
  std::int64_t block_rows = 1;
  bool whole = false;  // its pixels exist at once; they are freed one by one
  bool absent = false;
  bool complete = false;  // from the start
  bool kept = false;      // an output
  bool fed = false;       // its rows arrive as a whole
  bool frees = false;     // it has at most as many bytes as what is read for it
  std::int64_t sum_bytes = 0;
  std::vector<std::size_t> readers;  // uses of it
  std::vector<std::size_t> sources;  // uses from which it is computed
};

class RowsNetwork {
 public:
  // `heights`: of each image the most rows of a block.
  RowsNetwork(const Network& network, plan::StreamInput input, const RowsCounts& heights);

  std::vector<RowsImage> images;
  std::vector<RowsUse> uses;
  std::vector<int> order;  // images that are computed, producers first

 private:
  void AddImage(const Network& network, plan::StreamInput input, std::size_t i,
                std::int64_t height);
  void AddUses(const Network& network, const Node& node);
  std::int64_t BytesRead(const RowsUse& use) const;
};

}  // namespace neap::stream
