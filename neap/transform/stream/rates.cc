// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/rates.h"

namespace neap::stream {
namespace {

// By Work: pointwise, window, depthwise, product, elements.
constexpr Rates kCortexM7 = {
    .each = {{{10, 7}, {10, 6}, {4, 1}, {2, 1}, {4, 1}}},
    .box = 150,
    .plane_byte = 1,
    .plane = 150,
};

}  // namespace

const Rates& RatesOf() { return kCortexM7; }

}  // namespace neap::stream
