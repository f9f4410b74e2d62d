// SPDX-License-Identifier: Apache-2.0
//
// Scratch and persistent data of TensorFlow Lite Micro's kernels, by operator. Private to
// neap/compile.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/target/target.h"

namespace neap::compile {

struct KernelMemory {
  // The options of the operator, parsed; none: options_bytes is 0.
  std::int64_t options_bytes = 0;
  std::int64_t options_alignment = 1;
  // Kept from loading on: the kernel's own data, then its lists (of scales per output channel, of
  // transposed weights, of samples). Each is aligned to 16.
  std::int64_t data_bytes = 0;
  std::vector<std::int64_t> channel_bytes;
  // Needed while it runs, in the order of the kernel's requests.
  std::vector<std::int64_t> scratch_bytes;
};

// nullopt: the kernel is not known, or its shapes are not.
std::optional<KernelMemory> KernelMemoryOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                           const target::Target& target);

}  // namespace neap::compile
