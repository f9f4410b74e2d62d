// SPDX-License-Identifier: Apache-2.0
//
// Weights of convolutions as the packed kernels of neap_rt (runtime/neap_*_packed_s8.c) read them,
// where these kernels compute the same bytes. Which of their shortcuts are exact follows from the
// intervals of all sums. Pure. Private to neap/emit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neap/emit/quantization.h"
#include "neap/emit/scaling.h"
#include "neap/execute/fixed_point.h"

namespace neap::emit {

// The shape of a product: `outputs` output channels, each of `taps` taps with `inputs` channels.
struct Product {
  std::int64_t outputs = 0;
  std::int64_t taps = 1;
  std::int64_t inputs = 0;
  std::int64_t group_outputs = 0;
  bool depthwise = false;  // weights are [tap][output], else [output][tap][input]

  // Weights of one output channel.
  std::int64_t length() const { return taps * (depthwise ? 1 : inputs); }
  // Where weight `k` of an output channel is.
  std::size_t At(std::int64_t output, std::int64_t k) const {
    return static_cast<std::size_t>(depthwise ? k * outputs + output : output * length() + k);
  }
};

// A product on int8. Its input is any number from -128 to 127; its zero point is in the bias.
struct Int8Product {
  Product product;
  std::vector<std::int64_t> weights;  // from -128 to 127
  std::vector<std::int64_t> bias;     // of each output channel, int32
  std::vector<execute::FixedFactor> factors;
  std::int32_t out_zero = 0;
  Range range;  // of the output
};

// The tables of a neap_packed.
struct Packed {
  std::vector<std::int64_t> weights;   // uint32
  std::vector<std::int64_t> channels;  // uint32
  std::int64_t rounding = 0;
  bool scaled = false;  // outputs are one product each (scaling.h)
};

// nullopt: a packed kernel would compute other bytes, or has no such form (groups,
// multipliers). A table of words has at most 3 bytes of padding for each channel that is not one of
// four. O(weights).
std::optional<Packed> Pack(const Int8Product& given);

// Weights, offsets and factors of a product whose outputs are one product each (scaling.h).
struct ScaledProduct {
  std::vector<std::int64_t> weights;  // from -128 to 127
  std::vector<std::int64_t> offsets;  // of each output channel, int32
  std::vector<std::int64_t> factors;  // the same
};
// nullopt: the outputs of some channel are not. O(weights + steps).
std::optional<ScaledProduct> ScaleProduct(const Int8Product& given);

// The sums of products of one output channel, without bias. O(weights of the channel).
Interval SumsOf(const Int8Product& given, std::int64_t output);
// What the stock kernels do with such a sum.
Stage StageOf(const Int8Product& given, std::int64_t output);
// Whether no sum of an output channel with its bias reaches 2^30, none without it 2^23, and its
// factor is below 1/2. A channel that is not so, but whose output is the same for every input, is
// replaced by one that is.
bool MakeExact(Int8Product* given, std::int64_t output);

// Weights of a convolution in the order of the portable kernels: in each group, of four output
// channels at a time, an input's of all four; those of channels that are left follow. `block`:
// groups also end behind so many channels; 0: they do not. `first`: and before them behind so many.
// O(weights).
std::vector<std::int64_t> InFours(const std::vector<std::int64_t>& weights, const Product& product,
                                  std::int64_t block = 0, std::int64_t first = 0);

}  // namespace neap::emit
