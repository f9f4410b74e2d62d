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

// Of `each` and `call`: counted instructions of person_detect by function (docs/reference/
// emitted-c.md), divided by products and calls, rounded. Others are estimates. An operator that
// runs channel by channel has portable kernels.
constexpr Rates kCortexM4Dsp = {
    .each = {{{105, 100}, {105, 100}, {3, 1}, {3, 2}, {8, 1}}},
    .single = {{{30, 100}, {30, 100}, {}, {}, {}}},
    .call = {200, 300, 300, 200, 150},
    .box = 20,
    .plane_byte = 60,
    .plane = 300,
};
constexpr Rates kCortexM55Mve = {
    .each = {{{30, 100}, {30, 100}, {98, 100}, {30, 100}, {2, 1}}},
    .single = {{{15, 100}, {15, 100}, {}, {}, {}}},
    .call = {200, 300, 300, 200, 150},
    .box = 20,
    .plane_byte = 60,
    .plane = 300,
};

}  // namespace

const Rates& RatesOf(Processor processor) {
  switch (processor) {
    case Processor::kCortexM4Dsp:
      return kCortexM4Dsp;
    case Processor::kCortexM55Mve:
      return kCortexM55Mve;
    default:
      return kCortexM7;
  }
}

}  // namespace neap::stream
