// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/pack_mve.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace neap::emit {
namespace {

constexpr std::int64_t kVector = 16;  // bytes
constexpr std::int64_t kLanes = 4;    // sums in a vector
// Channels of 16 in each of four rows.
constexpr std::array<std::int64_t, 4> kFirstOfRow = {0, 2, 1, 3};

std::int64_t RoundedUp(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// The kernels round a sum and shift it to the right by at least one.
bool ScalesAreExact(const Int8Product& given) {
  return std::all_of(given.factors.begin(), given.factors.end(),
                     [](const execute::FixedFactor& factor) {
                       return factor.fraction == 0 || (factor.shift > -32 && factor.shift < 0);
                     });
}

// Whether the products of taps 2n and 2n + 1 have a sum of 16 bits.
bool PairsFit(const Int8Product& given) {
  for (std::int64_t output = 0; output < given.product.outputs; ++output) {
    for (std::int64_t k = 0; k + 1 < given.product.length(); k += 2) {
      std::int64_t low = 0;
      std::int64_t high = 0;
      for (const std::int64_t tap : {k, k + 1}) {
        const std::int64_t weight = given.weights[given.product.At(output, tap)];
        low += weight * (weight > 0 ? -128 : 127);
        high += weight * (weight > 0 ? 127 : -128);
      }
      if (low < INT16_MIN || high > INT16_MAX) return false;
    }
  }
  return true;
}

// A row for four channels; those from `outputs` on are zero.
void AddRow(const Int8Product& given, const std::array<std::int64_t, 4>& channels,
            std::vector<std::int64_t>* words) {
  std::int64_t exponents = 0;
  std::array<std::int64_t, 4> biases = {};
  std::array<std::int64_t, 4> fractions = {};
  for (std::size_t lane = 0; lane < channels.size(); ++lane) {
    if (channels[lane] >= given.product.outputs) continue;
    const auto channel = static_cast<std::size_t>(channels[lane]);
    const execute::FixedFactor& factor = given.factors[channel];
    biases[lane] = given.bias[channel] & 0xffffffff;
    fractions[lane] = factor.fraction;
    const std::int64_t exponent = factor.fraction == 0 ? -1 : factor.shift;
    exponents |= (exponent & 0xff) << 8 * lane;
  }
  words->insert(words->end(), biases.begin(), biases.end());
  words->insert(words->end(), fractions.begin(), fractions.end());
  words->push_back(exponents);
}

void PackConvolution(const Int8Product& given, PackedMve* packed) {
  const Product& product = given.product;
  for (std::int64_t first = 0; first < product.outputs; first += kLanes) {
    const std::int64_t together = std::min(kLanes, product.outputs - first);
    for (std::int64_t block = 0; block < product.length(); block += kVector) {
      for (std::int64_t output = first; output < first + together; ++output) {
        for (std::int64_t k = block; k < block + kVector; ++k) {
          packed->weights.push_back(k < product.length() ? given.weights[product.At(output, k)]
                                                         : 0);
        }
      }
    }
    AddRow(given, {first, first + 1, first + 2, first + 3}, &packed->channels);
  }
}

void PackDepthwise(const Int8Product& given, PackedMve* packed) {
  const Product& product = given.product;
  // The same channels again fill a vector.
  const bool repeats = product.outputs < kVector && kVector % product.outputs == 0;
  for (std::int64_t first = 0; first < product.outputs; first += kVector) {
    for (std::int64_t tap = 0; tap < product.length(); ++tap) {
      for (std::int64_t output = first; output < first + kVector; ++output) {
        const std::int64_t channel = repeats ? output % product.outputs : output;
        packed->weights.push_back(
            channel < product.outputs ? given.weights[product.At(channel, tap)] : 0);
      }
    }
    for (const std::int64_t lane : kFirstOfRow) {
      std::array<std::int64_t, 4> channels = {};
      for (std::size_t i = 0; i < channels.size(); ++i) {
        const std::int64_t channel = first + lane + static_cast<std::int64_t>(i) * kLanes;
        channels[i] = repeats ? channel % product.outputs : channel;
      }
      AddRow(given, channels, &packed->channels);
    }
  }
}

}  // namespace

std::optional<PackedMve> PackMve(const Int8Product& given) {
  const Product& product = given.product;
  const bool has_kernel =
      product.depthwise ? product.group_outputs == 1 : product.group_outputs == product.outputs;
  if (!has_kernel || !ScalesAreExact(given)) return std::nullopt;
  if (product.depthwise && !PairsFit(given)) return std::nullopt;
  PackedMve packed;
  if (product.depthwise) {
    PackDepthwise(given, &packed);
  } else {
    PackConvolution(given, &packed);
  }
  packed.positive = given.out_zero == given.range.low;
  return packed;
}

std::int64_t MveInputBytes(const Product& product) { return RoundedUp(product.length(), kVector); }

}  // namespace neap::emit
