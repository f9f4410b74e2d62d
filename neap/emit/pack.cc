// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/pack.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace neap::emit {
namespace {

constexpr std::int64_t kMaxSum = std::int64_t{1} << 30;     // exclusive, of a sum with its bias
constexpr std::int64_t kMaxOddSum = std::int64_t{1} << 23;  // exclusive, without it
constexpr std::int64_t kNoWeight = -1;                      // no weight: 0

bool IsBelow(const Interval& sums, std::int64_t limit) {
  return sums.low > -limit && sums.high < limit;
}

// A channel of zero weights whose output is `value` for every input: with the fraction 1/2 and the
// exponent 0, an output is a quarter of the sum.
void MakeConstant(Int8Product* given, std::int64_t output, std::int32_t value) {
  const auto channel = static_cast<std::size_t>(output);
  for (std::int64_t k = 0; k < given->product.length(); ++k) {
    given->weights[given->product.At(output, k)] = 0;
  }
  given->bias[channel] = std::int64_t{4} * (value - given->out_zero);
  given->factors[channel] = {1 << 30, -1};
}

class Packer {
 public:
  explicit Packer(const Int8Product& given) : given_(given), length_(given.product.length()) {}

  // false: a pair of weights is no 16-bit number.
  bool Convolution(std::vector<std::int64_t>* words) {
    const std::int64_t outputs = given_.product.outputs;
    std::int64_t output = 0;
    for (; output + 4 <= outputs; output += 4) {
      ForEachPair([&](std::int64_t a, std::int64_t b) {
        words->push_back(Word(output, a, output, b));
        words->push_back(Word(output + 2, a, output + 2, b));
      });
      if (length_ % 2 != 0) words->push_back(Word(output, Single(), output + 2, Single()));
    }
    if (output + 2 <= outputs) {
      ForEachPair(
          [&](std::int64_t a, std::int64_t b) { words->push_back(Word(output, a, output, b)); });
      if (length_ % 2 != 0) words->push_back(Word(output, Single(), output, kNoWeight));
      output += 2;
    }
    if (output < outputs) AddSingleChannel(output, words);
    return fits_;
  }

  void Depthwise(std::vector<std::int64_t>* words) const {
    const std::int64_t fours = given_.product.outputs / 4 * 4;
    for (std::int64_t output = 0; output < fours; output += 4) {
      for (std::int64_t tap = 0; tap + 1 < length_; tap += 2) {
        for (const std::int64_t pair : {output, output + 2}) {
          words->push_back(Bytes({Weight(pair, tap), Weight(pair + 1, tap), Weight(pair, tap + 1),
                                  Weight(pair + 1, tap + 1)}));
        }
      }
      if (length_ % 2 != 0) {
        const std::int64_t tap = length_ - 1;
        words->push_back(Bytes({Weight(output, tap), Weight(output + 1, tap),
                                Weight(output + 2, tap), Weight(output + 3, tap)}));
      }
    }
    for (std::int64_t output = fours; output < given_.product.outputs; ++output) {
      for (std::int64_t tap = 0; tap < length_; tap += 4) words->push_back(Four(output, tap));
    }
  }

 private:
  // Calls `take` for both inputs of every word that has two.
  template <typename Take>
  void ForEachPair(const Take& take) const {
    std::int64_t k = 0;
    for (; k + 4 <= length_; k += 4) {
      take(k, k + 2);
      take(k + 1, k + 3);
    }
    if (length_ - k == 2) take(k, k + 1);
    if (length_ - k == 3) take(k, k + 2);
  }
  // The input of the word with one.
  std::int64_t Single() const { return length_ % 4 == 3 ? length_ - 2 : length_ - 1; }

  std::int64_t Weight(std::int64_t output, std::int64_t k) const {
    const bool none = k == kNoWeight || k >= length_;
    return none ? 0 : given_.weights[given_.product.At(output, k)];
  }
  std::int64_t Half(std::int64_t even, std::int64_t k) {
    const std::int64_t half = 256 * Weight(even + 1, k) + Weight(even, k);
    fits_ = fits_ && half >= INT16_MIN && half <= INT16_MAX;
    return half & 0xffff;
  }
  // Lower half: the pair of channels from `a` on and input i; upper half: from `b` on, input j.
  std::int64_t Word(std::int64_t a, std::int64_t i, std::int64_t b, std::int64_t j) {
    return Half(a, i) | Half(b, j) << 16;
  }
  static std::int64_t Bytes(std::initializer_list<std::int64_t> bytes) {
    std::int64_t word = 0;
    int shift = 0;
    for (const std::int64_t byte : bytes) {
      word |= (byte & 0xff) << shift;
      shift += 8;
    }
    return word;
  }
  std::int64_t Four(std::int64_t output, std::int64_t k) const {
    return Bytes(
        {Weight(output, k), Weight(output, k + 1), Weight(output, k + 2), Weight(output, k + 3)});
  }
  void AddSingleChannel(std::int64_t output, std::vector<std::int64_t>* words) const {
    std::int64_t k = 0;
    for (; k + 4 <= length_; k += 4) words->push_back(Four(output, k));
    if (length_ - k == 2) {
      words->push_back(Bytes({Weight(output, k), 0, Weight(output, k + 1), 0}));
    } else if (k < length_) {
      words->push_back(Four(output, k));
    }
  }

  const Int8Product& given_;
  std::int64_t length_ = 0;
  bool fits_ = true;
};

// Biases doubled, fractions and exponents as neap_packed has them.
std::vector<std::int64_t> ChannelWords(const Int8Product& given) {
  std::vector<std::int64_t> words;
  const std::size_t outputs = given.bias.size();
  const auto doubled = [&](std::size_t i) { return 2 * given.bias[i] & 0xffffffff; };
  const auto exponent = [&](std::size_t i) { return std::int64_t{-given.factors[i].shift - 1}; };
  std::size_t i = 0;
  for (; i + 4 <= outputs; i += 4) {
    words.push_back(exponent(i) | exponent(i + 1) << 8 | exponent(i + 2) << 16 |
                    exponent(i + 3) << 24);
    for (const std::size_t pair : {i, i + 2}) {
      words.insert(words.end(), {doubled(pair), doubled(pair + 1), given.factors[pair].fraction,
                                 given.factors[pair + 1].fraction});
    }
  }
  for (; i < outputs; ++i) {
    words.insert(words.end(), {doubled(i), given.factors[i].fraction, exponent(i)});
  }
  return words;
}

// The weights of an output channel times `gain`; false: one exceeds 7 bits, or a sum its limit.
bool Multiply(Int8Product* given, std::int64_t output, std::int64_t gain) {
  for (std::int64_t k = 0; k < given->product.length(); ++k) {
    std::int64_t& weight = given->weights[given->product.At(output, k)];
    weight *= gain;
    if (weight < -127 || weight > 127) return false;
  }
  return IsBelow(SumsOf(*given, output), kMaxOddSum);
}

// The scaling of a channel, whose weights may be multiplied for it.
std::optional<Scaling> ScaleChannel(Int8Product* given, std::int64_t output) {
  const Stage stage = StageOf(*given, output);
  const Interval sums = SumsOf(*given, output);
  constexpr std::int64_t kMaxGain = 64;
  for (std::int64_t gain = 1;; gain *= 2) {
    if (const auto scaling = FindScaling(stage, sums, gain)) return scaling;
    if (gain == kMaxGain || !Multiply(given, output, 2)) return std::nullopt;
  }
}

// The scalings of all channels, where each has one. Changes weights of `given`, also where there
// are none.
std::optional<std::vector<Scaling>> ScaleChannels(Int8Product* given) {
  std::vector<Scaling> scalings;
  for (std::int64_t output = 0; output < given->product.outputs; ++output) {
    const auto scaling = ScaleChannel(given, output);
    if (!scaling) return std::nullopt;
    scalings.push_back(*scaling);
  }
  return scalings;
}

// Offsets and factors of all channels.
std::vector<std::int64_t> ScaledWords(const std::vector<Scaling>& scalings) {
  std::vector<std::int64_t> words;
  const auto add = [&](std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      words.push_back(scalings[first + i].offset & 0xffffffff);
    for (std::size_t i = 0; i < count; ++i) words.push_back(scalings[first + i].factor);
  };
  const std::size_t fours = scalings.size() / 4 * 4;
  for (std::size_t i = 0; i < fours; i += 2) add(i, 2);
  for (std::size_t i = fours; i < scalings.size(); ++i) add(i, 1);
  return words;
}

}  // namespace

Interval SumsOf(const Int8Product& given, std::int64_t output) {
  Interval sums;
  for (std::int64_t k = 0; k < given.product.length(); ++k) {
    const std::int64_t weight = given.weights[given.product.At(output, k)];
    sums.low += weight * (weight > 0 ? -128 : 127);
    sums.high += weight * (weight > 0 ? 127 : -128);
  }
  return sums;
}

Stage StageOf(const Int8Product& given, std::int64_t output) {
  const auto channel = static_cast<std::size_t>(output);
  return {given.bias[channel], given.factors[channel], given.out_zero, given.range};
}

bool MakeExact(Int8Product* given, std::int64_t output) {
  const auto channel = static_cast<std::size_t>(output);
  execute::FixedFactor& factor = given->factors[channel];
  if (factor.fraction == 0) factor.shift = -1;
  const Interval products = SumsOf(*given, output);
  const bool is_odd = IsBelow(products, kMaxOddSum);
  const Interval sums = {products.low + given->bias[channel], products.high + given->bias[channel]};
  if (is_odd && factor.shift < 0 && IsBelow(sums, kMaxSum)) return true;
  // Scaling is monotonic as long as shifts to the left lose nothing.
  if (factor.shift > 0 || sums.low < INT32_MIN || sums.high > INT32_MAX) return false;
  const Stage stage = StageOf(*given, output);
  const std::int32_t value = OutputOf(stage, products.low);
  if (value != OutputOf(stage, products.high)) return false;
  MakeConstant(given, output, value);
  return true;
}

std::optional<ScaledProduct> ScaleProduct(const Int8Product& given) {
  Int8Product exact = given;
  for (std::int64_t output = 0; output < given.product.outputs; ++output) {
    if (!MakeExact(&exact, output)) return std::nullopt;
  }
  const auto scalings = ScaleChannels(&exact);
  if (!scalings) return std::nullopt;
  ScaledProduct scaled;
  scaled.weights = std::move(exact.weights);
  for (const Scaling& scaling : *scalings) {
    scaled.offsets.push_back(scaling.offset);
    scaled.factors.push_back(scaling.factor);
  }
  return scaled;
}

std::vector<std::int64_t> InFours(const std::vector<std::int64_t>& weights, const Product& product,
                                  std::int64_t block, std::int64_t first) {
  std::vector<std::int64_t> ordered;
  ordered.reserve(weights.size());
  for (std::int64_t output = 0; output < product.outputs;) {
    std::int64_t end = (output / product.group_outputs + 1) * product.group_outputs;
    end = std::min(end, product.outputs);
    if (output < first) {
      end = std::min(end, first);
    } else if (block > 0) {
      end = std::min(end, first + ((output - first) / block + 1) * block);
    }
    while (output < end) {
      const std::int64_t together = end - output >= 4 ? 4 : 1;
      for (std::int64_t k = 0; k < product.length(); ++k) {
        for (std::int64_t i = 0; i < together; ++i) {
          ordered.push_back(weights[product.At(output + i, k)]);
        }
      }
      output += together;
    }
  }
  return ordered;
}

std::optional<Packed> Pack(const Int8Product& given) {
  const Product& product = given.product;
  const bool has_kernel =
      product.depthwise ? product.group_outputs == 1 : product.group_outputs == product.outputs;
  if (!has_kernel) return std::nullopt;
  Int8Product exact = given;
  for (std::int64_t output = 0; output < product.outputs; ++output) {
    if (!MakeExact(&exact, output)) return std::nullopt;
  }
  Packed packed;
  Int8Product scaled = exact;
  const auto scalings = ScaleChannels(&scaled);
  packed.scaled = scalings.has_value();
  packed.channels = scalings ? ScaledWords(*scalings) : ChannelWords(exact);
  packed.rounding = 2 * std::int64_t{given.out_zero} + 1;
  Packer packer(packed.scaled ? scaled : exact);
  if (product.depthwise) {
    packer.Depthwise(&packed.weights);
  } else if (!packer.Convolution(&packed.weights)) {
    return std::nullopt;
  }
  return packed;
}

}  // namespace neap::emit
