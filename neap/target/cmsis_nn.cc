// SPDX-License-Identifier: Apache-2.0
#include "neap/target/cmsis_nn.h"

#include <algorithm>

namespace neap::target::cmsis_nn {
namespace {

constexpr std::int64_t kRowsAtOnce = 4;        // of the matrix product, with MVE
constexpr std::int64_t kVectorBytes = 16;      // of a register
constexpr std::int64_t kChannelsAtOnce = 124;  // of a depthwise convolution, with MVE

std::int64_t RoundUp(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

// Inputs of one output, before they are multiplied: elements.
std::int64_t ColumnOf(const Convolution& conv) {
  return conv.filter.height * conv.filter.width * conv.in_channels;
}

// Columns as a matrix: two of 16-bit numbers, or four of bytes.
std::int64_t MatrixS8(Simd simd, const Convolution& conv) {
  if (simd == Simd::kMve) return kRowsAtOnce * RoundUp(ColumnOf(conv), kVectorBytes);
  return std::int64_t{2} * 2 * RoundUp(ColumnOf(conv), 4);
}

bool IsUndilated(const Convolution& conv) {
  return conv.dilation.height == 1 && conv.dilation.width == 1;
}

// A matrix product as it is.
bool IsPointwise(const Convolution& conv) {
  return conv.padding.height == 0 && conv.padding.width == 0 && conv.filter.height == 1 &&
         conv.filter.width == 1 && IsUndilated(conv);
}

bool IsOneRow(const Convolution& conv) {
  return conv.in.height == 1 && conv.dilation.width == 1 && conv.filter.height == 1 &&
         conv.stride.width * conv.in_channels % 4 == 0;
}

// A row is read in place, but for the columns at its ends, which are copied beside their padding.
std::int64_t OneRowMve(const Convolution& conv) {
  const std::int64_t pad = conv.padding.width;
  const std::int64_t stride = conv.stride.width;
  const std::int64_t odd = ((conv.out.width - 1) * stride + conv.filter.width - conv.in.width) % 2;
  const auto padded = [&](std::int64_t columns) {
    return columns == 0 ? 0 : std::max<std::int64_t>(1, (columns + stride - 1) / stride);
  };
  const std::int64_t right = padded(pad + odd);
  const std::int64_t left = padded(pad);
  const std::int64_t between = std::max<std::int64_t>(conv.out.width - (right + left), 0);
  if (right + between + left != conv.out.width) return MatrixS8(Simd::kMve, conv);
  const std::int64_t pad_left = pad * conv.in_channels;
  const std::int64_t pad_right = odd != 0 ? right * conv.in_channels : pad_left;
  const std::int64_t column = conv.filter.width * conv.in_channels;
  return std::max(column + pad_left, column - conv.in_channels + pad_right);
}

// Each input channel makes one output channel, and the kernel is one that gathers columns.
bool IsPlainDepthwise(const Convolution& conv) {
  return conv.in_channels == conv.out_channels && conv.batches == 1 && IsUndilated(conv);
}

std::int64_t GatheredMve(const Convolution& conv) {
  return kRowsAtOnce * kChannelsAtOnce * conv.filter.height * conv.filter.width;
}

// A convolution with the filter turned around, where that is faster.
bool IsReversed(const Convolution& conv) {
  constexpr std::int64_t kLeastChannels = 17;
  return conv.stride.width <= 2 && conv.stride.height <= 2 && conv.in_channels >= kLeastChannels;
}

}  // namespace

std::int64_t ConvolveS8(Simd simd, const Convolution& conv) {
  if (IsPointwise(conv)) return 0;
  if (simd == Simd::kMve && IsOneRow(conv)) return OneRowMve(conv);
  return MatrixS8(simd, conv);
}

std::int64_t ConvolveS16(Simd simd, const Convolution& conv) {
  if (simd != Simd::kMve) return std::int64_t{2} * 2 * ColumnOf(conv);
  return 2 * kRowsAtOnce * RoundUp(ColumnOf(conv), kVectorBytes / 2);
}

std::int64_t DepthwiseS8(Simd simd, const Convolution& conv) {
  if (simd == Simd::kMve && conv.in_channels == 1 && conv.out_channels > 1) {
    // A convolution, with its filter turned around.
    return ConvolveS8(simd, conv) + ColumnOf(conv) * conv.out_channels;
  }
  if (!IsPlainDepthwise(conv) || simd == Simd::kNone) return 0;
  if (simd == Simd::kMve) return GatheredMve(conv);
  const bool is_3x3 = conv.filter.height == 3 && conv.filter.width == 3 &&
                      conv.padding.height <= 1 && conv.padding.width <= 1;
  return is_3x3 ? 0 : 2 * ColumnOf(conv);
}

std::int64_t DepthwiseS4(Simd simd, const Convolution& conv) {
  if (!IsPlainDepthwise(conv)) return 0;
  return simd == Simd::kMve ? GatheredMve(conv) : 2 * ColumnOf(conv);
}

std::int64_t TransposeConvS8(Simd simd, const Convolution& conv) {
  if (IsReversed(conv)) return MatrixS8(simd, conv);
  // The width is bounded by the stride of the height: so the library has it.
  const std::int64_t columns =
      (conv.in.width - 1) * conv.stride.width + std::max(conv.filter.width, conv.stride.height);
  return 4 * columns * conv.out_channels * std::max(conv.filter.height, conv.stride.height);
}

std::int64_t TransposeConvReverseS8(const Convolution& conv) {
  return IsReversed(conv) ? ColumnOf(conv) * conv.out_channels : 0;
}

std::int64_t AveragePool(Simd simd, std::int64_t channels) {
  return simd == Simd::kDsp ? 4 * channels : 0;
}

std::int64_t FullyConnectedS8(Simd simd, std::int64_t out_channels) {
  return simd == Simd::kMve ? 4 * out_channels : 0;
}

std::int64_t SvdfS8(Simd simd, std::int64_t filters) {
  return simd == Simd::kMve ? 4 * filters : 0;
}

}  // namespace neap::target::cmsis_nn
