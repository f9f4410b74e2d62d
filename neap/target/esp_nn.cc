// SPDX-License-Identifier: Apache-2.0
#include "neap/target/esp_nn.h"

#include <algorithm>

namespace neap::target::esp_nn {
namespace {

constexpr std::int64_t kVector = 16;
constexpr std::int64_t kMargin = 64;  // alignment, and what vector loads read beyond a buffer

std::int64_t Align(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

std::int64_t AreaOf(const Hw& size) { return size.height * size.width; }

// Filter and input with padded channels; eight pixels turned around.
std::int64_t PointwiseS8(const Convolution& conv) {
  const std::int64_t channels = Align(conv.in_channels, 8);
  const std::int64_t pixels = AreaOf(conv.in);
  const std::int64_t input = conv.in_channels % 8 == 0 ? 0 : pixels * channels;
  const std::int64_t turned = pixels < 8 ? 0 : std::int64_t{2} * 8 * channels;
  return input + channels * conv.out_channels + turned + kMargin;
}

// Columns that the filter reads behind the input.
std::int64_t PadBehind(std::int64_t in, std::int64_t out, std::int64_t filter, std::int64_t stride,
                       std::int64_t before) {
  return std::max<std::int64_t>(0, (out - 1) * stride + filter - before - in);
}

// The input with its padding, two copies of the filter, a sum for each output channel.
std::int64_t PaddedS8(const Convolution& conv) {
  const Hw behind = {PadBehind(conv.in.height, conv.out.height, conv.filter.height,
                               conv.stride.height, conv.padding.height),
                     PadBehind(conv.in.width, conv.out.width, conv.filter.width, conv.stride.width,
                               conv.padding.width)};
  const Hw padded = {conv.in.height + conv.padding.height + behind.height,
                     conv.in.width + conv.padding.width + behind.width};
  const bool copied = padded.height != conv.in.height || padded.width != conv.in.width;
  const std::int64_t input = copied ? AreaOf(padded) * conv.in_channels : 0;
  const std::int64_t filter =
      AreaOf(conv.filter) * Align(conv.in_channels, kVector) * conv.out_channels;
  const std::int64_t rows =
      Align(conv.filter.width * conv.in_channels, kVector) * conv.filter.height * conv.out_channels;
  return input + filter + rows + kMargin + 4 * conv.out_channels;
}

// Input and filter as 16-bit numbers.
std::int64_t WideS8(const Convolution& conv, std::int64_t filter) {
  return 2 * (filter + AreaOf(conv.in) * conv.in_channels) + 32;
}

// A filter of 3x3, channels a multiple of 16: the padded input, or a strip of it.
std::int64_t Depthwise3x3(const Convolution& conv, std::int64_t filter) {
  constexpr std::int64_t kMaxInput = std::int64_t{40} * 1024;
  Hw pad = {2 * conv.padding.height, 2 * conv.padding.width};
  if (pad.height == 0 && pad.width == 0) {
    pad = {conv.out.height * conv.stride.height + conv.filter.height - 1 - conv.in.height,
           conv.out.width * conv.stride.width + conv.filter.width - 1 - conv.in.width};
  }
  if (pad.height == 0 && pad.width == 0) return filter + 16;
  const std::int64_t row = (conv.in.width + pad.width) * conv.in_channels;
  const std::int64_t whole = row * (conv.in.height + pad.height);
  return filter + (whole <= kMaxInput ? whole : row * conv.filter.height) + 16;
}

// The same with channels padded to a multiple of 16, and an output to be compacted.
std::int64_t Depthwise3x3Padded(const Convolution& conv) {
  const std::int64_t channels = Align(conv.in_channels, kVector);
  const auto padded = [](std::int64_t in, std::int64_t out, std::int64_t stride, std::int64_t pad) {
    return in + 2 * pad + std::max<std::int64_t>(0, out * stride + 2 - in);
  };
  const std::int64_t input =
      padded(conv.in.height, conv.out.height, conv.stride.height, conv.padding.height) *
      padded(conv.in.width, conv.out.width, conv.stride.width, conv.padding.width);
  return channels * (9 + input + AreaOf(conv.out)) + kMargin;
}

// Any number of channels, padded to a multiple of 8: each part aligned behind the one before.
std::int64_t DepthwiseAnyChannels(const Convolution& conv) {
  const std::int64_t channels = Align(conv.in_channels, 8);
  std::int64_t bytes = Align(2 * AreaOf(conv.filter) * channels, kVector);
  bytes = Align(bytes + 2 * AreaOf(conv.in) * channels, kVector);
  bytes = Align(bytes + AreaOf(conv.out) * channels, kVector);
  constexpr std::int64_t kLists = 3;  // bias, shift, multiplier
  return bytes + kLists * 4 * channels + 16;
}

}  // namespace

std::int64_t ConvolveS8(const Convolution& conv) {
  const bool pointwise = AreaOf(conv.filter) == 1 && conv.padding.height == 0 &&
                         conv.padding.width == 0 && conv.stride.height == 1 &&
                         conv.stride.width == 1;
  if (pointwise) return PointwiseS8(conv);
  const std::int64_t column = AreaOf(conv.filter) * conv.in_channels;
  if (conv.filter.width * conv.in_channels >= kVector || column < kVector) return PaddedS8(conv);
  // Rows of the filter shorter than a register: columns are gathered.
  const std::int64_t aligned = Align(column, kVector);
  return 4 * conv.out_channels + 16 + conv.out_channels * aligned + 16 + aligned + kMargin;
}

std::int64_t DepthwiseS8(const Convolution& conv) {
  constexpr std::int64_t kMaxWide = std::int64_t{48} * 1024;
  const std::int64_t channels = conv.in_channels;
  const std::int64_t multiplier = conv.out_channels / channels;
  const std::int64_t filter = AreaOf(conv.filter) * channels * multiplier;
  if (multiplier != 1) return multiplier % 4 == 0 ? WideS8(conv, filter) : 32;
  if (channels % 8 != 0) return channels > 3 ? DepthwiseAnyChannels(conv) : 32;
  if (conv.filter.height == 3 && conv.filter.width == 3) {
    if (channels % 16 == 0) return Depthwise3x3(conv, filter);
    return channels >= 12 ? Depthwise3x3Padded(conv) : WideS8(conv, filter);
  }
  const std::int64_t whole = WideS8(conv, filter);
  if (whole - 32 <= kMaxWide) return whole;
  return 2 * filter + 2 * conv.in.width * conv.filter.height * channels + 32;
}

std::int64_t SoftmaxS8(std::int64_t width) { return 4 * width; }

}  // namespace neap::target::esp_nn
