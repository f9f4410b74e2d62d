// SPDX-License-Identifier: Apache-2.0
//
// What the work of operators takes on a Cortex-M7 with stock kernels, for the comparison of plans
// alone. Integers. Private to neap/transform/stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace neap::stream {

// Kinds of work; the first four are of multiply-accumulates.
enum class Work : std::uint8_t { kPointwise, kWindow, kDepthwise, kProduct, kElements };
inline constexpr std::size_t kWorks = 5;

// An amount times `times`, divided by `by`, rounded down.
struct Rate {
  std::int64_t times = 0;
  std::int64_t by = 1;

  std::int64_t Of(std::int64_t amount) const { return amount * times / by; }
};

struct Rates {
  std::array<Rate, kWorks> each = {};  // MAC, or byte of the output
  std::int64_t box = 0;
  // More for a byte of the output, and for a channel, of an operator that runs channel by channel.
  std::int64_t plane_byte = 0;
  std::int64_t plane = 0;
};

const Rates& RatesOf();

}  // namespace neap::stream
