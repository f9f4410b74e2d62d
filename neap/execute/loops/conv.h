// SPDX-License-Identifier: Apache-2.0
//
// Convolutions by explicit strides and windows, over any number types. Private to neap/execute.
//
// Both loops write in row-major order of the output and read a pixel's (a row's) windows before
// they write it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "neap/execute/kernel.h"

namespace neap::execute {

inline constexpr std::size_t kSpace = 3;  // depth, height, width; unused ones are of size 1
using Space = std::array<std::int64_t, kSpace>;

// A window that slides over the space of the input. Cell `k` of the window at place `o` is input
// index o * stride + k * dilation - pad; cells outside the input do not exist.
struct Window {
  Space input = {1, 1, 1};
  Space output = {1, 1, 1};
  Space kernel = {1, 1, 1};
  Space stride = {1, 1, 1};
  Space dilation = {1, 1, 1};
  Space pad = {0, 0, 0};

  // The window cells [first, last) in dimension `d` that are inside the input at place `o`.
  struct Range {
    std::int64_t first;
    std::int64_t last;
  };
  Range Inside(std::size_t d, std::int64_t o) const {
    const std::int64_t start = o * stride[d] - pad[d];
    const std::int64_t first = start >= 0 ? 0 : (-start + dilation[d] - 1) / dilation[d];
    const std::int64_t room = input[d] - start;
    const std::int64_t last = room <= 0 ? 0 : (room + dilation[d] - 1) / dilation[d];
    return {std::min(first, kernel[d]), std::max(std::min(last, kernel[d]), first)};
  }
  std::int64_t At(std::size_t d, std::int64_t o, std::int64_t k) const {
    return o * stride[d] + k * dilation[d] - pad[d];
  }
};

// Strides in elements.
struct ConvPlan {
  Window window;
  std::int64_t batches = 1;
  std::int64_t groups = 1;
  std::int64_t group_inputs = 1;   // input channels of a group
  std::int64_t group_outputs = 1;  // output channels of a group
  // Filter: [output channel][space...][input channel of the group] (last) or
  // [output channel][input channel][space...] (first).
  std::int64_t OutputChannels() const { return groups * group_outputs; }
  std::int64_t InputChannels() const { return groups * group_inputs; }
};

inline std::int64_t Volume(const Space& space) { return space[0] * space[1] * space[2]; }

// Sums wrap around instead of being undefined: a hostile file can make them overflow.
template <typename Acc>
Acc MultiplyAdd(Acc sum, Acc a, Acc b) {
  if constexpr (std::is_same_v<Acc, std::int32_t>) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) +
                                     static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
  } else if constexpr (std::is_same_v<Acc, std::int64_t>) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) +
                                     static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return sum + a * b;
  }
}

template <typename Acc, typename In, typename Weight>
Acc Dot(const Cell<In>* a, const Cell<Weight>* b, std::int64_t count, Acc a_zero, Acc b_zero,
        Acc sum) {
  if constexpr (std::is_floating_point_v<Acc>) {
    // Four running sums: vectors of numbers, in an order that does not depend on the machine.
    Acc sums[4] = {};
    std::int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      for (std::int64_t j = 0; j < 4; ++j) sums[j] += a[i + j].value * b[i + j].value;
    }
    for (; i < count; ++i) sums[0] += a[i].value * b[i].value;
    return sum + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
  } else if constexpr (sizeof(In) == 1 && sizeof(Weight) == 1 && sizeof(Acc) == 4) {
    // Differences of bytes fit into 16 bits: machines multiply these in pairs.
    const auto a_base = static_cast<std::int16_t>(a_zero);
    const auto b_base = static_cast<std::int16_t>(b_zero);
    std::int32_t products = 0;
    constexpr std::int64_t kMax = 16384;  // products of 255 * 256 whose sum fits
    while (count > 0) {
      const std::int64_t part = std::min(count, kMax);
      products = 0;
      for (std::int64_t i = 0; i < part; ++i) {
        const auto left = static_cast<std::int16_t>(a[i].value - a_base);
        const auto right = static_cast<std::int16_t>(b[i].value - b_base);
        products += left * right;
      }
      sum = MultiplyAdd<Acc>(sum, 1, products);
      a += part;
      b += part;
      count -= part;
    }
    return sum;
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      sum = MultiplyAdd<Acc>(sum, static_cast<Acc>(a[i].value) - a_zero,
                             static_cast<Acc>(b[i].value) - b_zero);
    }
    return sum;
  }
}

// sums[k] += a times row k of b, for kRows rows that begin `apart` numbers after each other. Floats
// are added one by one, in the order of the stock reference kernels; rows side by side keep the
// machine busy.
template <std::int64_t kRows, typename Acc, typename In, typename Weight>
void AddDots(const Cell<In>* a, const Cell<Weight>* b, std::int64_t apart, std::int64_t count,
             Acc a_zero, Acc b_zero, Acc* sums) {
  if constexpr (std::is_floating_point_v<Acc>) {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t k = 0; k < kRows; ++k) sums[k] += a[i].value * b[k * apart + i].value;
    }
  } else {
    for (std::int64_t k = 0; k < kRows; ++k) {
      sums[k] = Dot<Acc>(a, b + k * apart, count, a_zero, b_zero, sums[k]);
    }
  }
}

// The part of a window that is inside the input, at one place of the output.
struct WindowPart {
  Space place;
  Window::Range z;
  Window::Range y;
  Window::Range x;
};

// The sums over the window there in one batch, for the output channels from `c` on, which are of
// one group.
template <std::int64_t kRows, typename Acc, typename In, typename Weight>
void SumWindow(const ConvPlan& plan, const Cell<In>* input, const Cell<Weight>* filter,
               const WindowPart& part, std::int64_t c, Acc input_zero, Acc filter_zero, Acc* sums) {
  const Window& w = plan.window;
  const std::int64_t pixel = plan.InputChannels();
  const std::int64_t row = pixel * w.input[2];
  const std::int64_t plane = row * w.input[1];
  const std::int64_t depth = plan.group_inputs;
  const std::int64_t taps = Volume(w.kernel) * depth;
  const auto& [place, in_z, in_y, in_x] = part;
  // Neighbours in the window are neighbours in the input: one long row.
  const bool joined = w.dilation[2] == 1 && plan.groups == 1;
  const std::int64_t steps =
      joined ? std::min<std::int64_t>(1, in_x.last - in_x.first) : in_x.last - in_x.first;
  const std::int64_t length = joined ? (in_x.last - in_x.first) * depth : depth;
  input += c / plan.group_outputs * depth;
  filter += c * taps;
  for (std::int64_t kz = in_z.first; kz < in_z.last; ++kz) {
    for (std::int64_t ky = in_y.first; ky < in_y.last; ++ky) {
      const Cell<In>* const from =
          input + w.At(0, place[0], kz) * plane + w.At(1, place[1], ky) * row;
      const Cell<Weight>* const tap = filter + (kz * w.kernel[1] + ky) * w.kernel[2] * depth;
      for (std::int64_t kx = in_x.first; kx < in_x.first + steps; ++kx) {
        AddDots<kRows, Acc>(from + w.At(2, place[2], kx) * pixel, tap + kx * depth, taps, length,
                            input_zero, filter_zero, sums);
      }
    }
  }
}

// Channels last (NHWC), filter [out][kd][kh][kw][in]. stage(sum, output channel) -> Out.
template <typename In, typename Weight, typename Acc, typename Out, typename Stage>
void ConvChannelsLast(const ConvPlan& plan, const Cell<In>* input, const Cell<Weight>* filter,
                      Acc input_zero, Acc filter_zero, Cell<Out>* output, const Stage& stage) {
  constexpr std::int64_t kRows = 4;
  const Window& w = plan.window;
  const Space& places = w.output;
  const std::int64_t channels = plan.OutputChannels();
  const std::int64_t together = plan.groups == 1 ? channels / kRows * kRows : 0;
  const std::int64_t batch = plan.InputChannels() * Volume(w.input);
  for (std::int64_t n = 0; n < plan.batches; ++n, input += batch) {
    for (Space at = {}; at[0] < places[0]; ++at[0]) {
      for (at[1] = 0; at[1] < places[1]; ++at[1]) {
        for (at[2] = 0; at[2] < places[2]; ++at[2]) {
          const WindowPart part{at, w.Inside(0, at[0]), w.Inside(1, at[1]), w.Inside(2, at[2])};
          std::int64_t c = 0;
          for (; c < together; c += kRows) {
            Acc sums[kRows] = {};
            SumWindow<kRows>(plan, input, filter, part, c, input_zero, filter_zero, sums);
            for (std::int64_t k = 0; k < kRows; ++k) (output++)->value = stage(sums[k], c + k);
          }
          for (; c < channels; ++c) {
            Acc sum = 0;
            SumWindow<1>(plan, input, filter, part, c, input_zero, filter_zero, &sum);
            (output++)->value = stage(sum, c);
          }
        }
      }
    }
  }
}

// One filter a channel, channels last: output channel c reads input channel c / multiplier; filter
// [kd][kh][kw][out].
template <typename In, typename Weight, typename Acc, typename Out, typename Stage>
void DepthwiseChannelsLast(const ConvPlan& plan, const Cell<In>* input, const Cell<Weight>* filter,
                           Acc input_zero, Acc filter_zero, Cell<Out>* output, const Stage& stage) {
  constexpr std::int64_t kBlock = 128;  // output channels that are summed side by side
  const Window& w = plan.window;
  const std::int64_t channels = plan.OutputChannels();
  const std::int64_t multiplier = plan.group_outputs;
  const std::int64_t pixel = plan.InputChannels();
  const std::int64_t row = pixel * w.input[2];
  const std::int64_t plane = row * w.input[1];
  Acc sums[kBlock];
  for (std::int64_t n = 0; n < plan.batches; ++n, input += plane) {
    for (std::int64_t y = 0; y < w.output[1]; ++y) {
      const auto in_y = w.Inside(1, y);
      for (std::int64_t x = 0; x < w.output[2]; ++x) {
        const auto in_x = w.Inside(2, x);
        for (std::int64_t begin = 0; begin < channels; begin += kBlock) {
          const std::int64_t count = std::min(kBlock, channels - begin);
          std::fill(sums, sums + count, Acc{0});
          for (std::int64_t ky = in_y.first; ky < in_y.last; ++ky) {
            for (std::int64_t kx = in_x.first; kx < in_x.last; ++kx) {
              const Cell<In>* const from = input + w.At(1, y, ky) * row + w.At(2, x, kx) * pixel;
              const Cell<Weight>* const tap = filter + (ky * w.kernel[2] + kx) * channels + begin;
              if (multiplier == 1) {
                for (std::int64_t c = 0; c < count; ++c) {
                  sums[c] = MultiplyAdd<Acc>(sums[c],
                                             static_cast<Acc>(from[begin + c].value) - input_zero,
                                             static_cast<Acc>(tap[c].value) - filter_zero);
                }
                continue;
              }
              for (std::int64_t c = 0; c < count; ++c) {
                sums[c] = MultiplyAdd<Acc>(
                    sums[c], static_cast<Acc>(from[(begin + c) / multiplier].value) - input_zero,
                    static_cast<Acc>(tap[c].value) - filter_zero);
              }
            }
          }
          for (std::int64_t c = 0; c < count; ++c) {
            (output++)->value = stage(sums[c], begin + c);
          }
        }
      }
    }
  }
}

}  // namespace neap::execute
