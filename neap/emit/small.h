// SPDX-License-Identifier: Apache-2.0
//
// Biases and factors of output channels in few bits, for code with little flash: a neap_small
// (runtime/neap_rt.h). Pure. Private to neap/emit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/emit/pack.h"

namespace neap::emit {

struct SmallChannels {
  std::vector<std::int64_t> weights;   // as given, but 0 where an output is constant
  std::vector<std::int64_t> channels;  // bytes
  std::int64_t bias = 0;
  std::int64_t exponent = 0;
  int bias_bits = 0;
  int exponent_bits = 0;
  int fraction_bits = 0;
};
// Fractions have as few bits as leave all outputs as they are, for each sum that an input can give;
// all channels have the same number of bits. nullopt: the kernel would compute other bytes, or a
// channel has more than 57 bits, more than 31 for its bias and exponent, or an exponent above 31.
// O(weights + steps of outputs).
std::optional<SmallChannels> FindSmall(const Int8Product& given);
// 64 bits for each channel, from which outputs are computed faster (ScaleProduct()); nullopt: there
// are none. O(weights + steps of outputs).
std::optional<SmallChannels> FastSmall(const Int8Product& given);

}  // namespace neap::emit
