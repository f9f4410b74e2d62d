// SPDX-License-Identifier: Apache-2.0
//
// Parts of an operator's parameters for a part of its channels. Private to neap/transform/rewrite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/transform/rewrite/draft.h"

namespace neap::rewrite {

// How the operator's inputs are cut for indices [begin, begin + size) of the data along its axis.
struct ChannelCut {
  enum class Kind : std::uint8_t {
    kShared,    // the same for every part
    kPiece,     // data: the piece itself
    kConstant,  // indices [begin, begin + size) x factor of a constant along `axis`
  };
  struct Input {
    Kind kind = Kind::kShared;
    std::size_t axis = 0;
    std::int64_t factor = 1;
  };
  std::vector<Input> inputs;
  std::int64_t out_factor = 1;   // output channels a data channel
  std::int64_t granularity = 1;  // parts begin and end at multiples of this
  // Attributes that count channels: the number of groups.
  const char* groups_attribute = nullptr;
  std::int64_t group_channels = 1;  // data channels a group
};

// The cut of a depthwise convolution, an element-wise operator with constants or operands in the
// same pieces, pooling, padding, quantisation or batch normalisation along `axis` of its data;
// nullopt: an output channel needs other channels, or it is not known that it does not.
std::optional<ChannelCut> CutOf(const Draft& draft, graph::OpId op, std::size_t axis);

}  // namespace neap::rewrite
