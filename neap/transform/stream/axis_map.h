// SPDX-License-Identifier: Apache-2.0
//
// The rows (or columns) of an input that rows (or columns) of an output need.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "neap/plan/stream.h"

namespace neap::stream {

// Output indices [a, b) need the input indices [a * scale - pad, (b - 1) * scale - pad + extent),
// clipped. A scale of 0: the only index of an input that is the same everywhere.
struct AxisMap {
  std::int64_t scale = 1;
  std::int64_t pad = 0;
  std::int64_t extent = 1;
  // Where indices do not advance by a whole number, the needed indices of each output index, both
  // ends ascending. `scale` is then of `parts` output indices; the other numbers only pace the
  // producer.
  std::int64_t parts = 1;
  std::shared_ptr<const std::vector<plan::StreamRange>> listed = nullptr;
  bool all = false;  // listed: every index needs all of the input

  // Of output indices [first, last), not empty; clipped to an input of `size`.
  plan::StreamRange Need(std::int64_t first, std::int64_t last, std::int64_t size) const;
};

}  // namespace neap::stream
