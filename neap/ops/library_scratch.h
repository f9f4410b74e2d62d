// SPDX-License-Identifier: Apache-2.0
//
// Scratch of the kernels that CMSIS-NN and ESP-NN have in place of the reference kernels: which
// sizes TensorFlow Lite Micro requests when it prepares them (its folders kernels/cmsis_nn and
// kernels/esp_nn of Espressif's fork). Private to neap/ops.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/target/target.h"

namespace neap::ops {

struct LibraryScratch {
  bool replaced = false;  // the library has a kernel for this operator and these types
  // Of that kernel; nullopt: not modelled.
  std::optional<std::vector<std::int64_t>> requests;
  std::string_view unknown = "";  // why not, unless shapes are the reason
};

// Not `replaced`: the reference kernel runs.
LibraryScratch LibraryScratchOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                const target::Target& target);

}  // namespace neap::ops
