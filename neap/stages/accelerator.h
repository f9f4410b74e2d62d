// SPDX-License-Identifier: Apache-2.0
//
// Machines that pipelines are planned for: integers only, fitted to published measurements
// (docs/algorithms/pipelines.md has the fit and its residuals).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace neap::stages {

struct Accelerator {
  std::string_view name;
  std::string_view summary;
  std::int64_t femtoseconds_per_mac = 0;
  std::int64_t fixed_picoseconds = 0;            // of a run of a stage
  std::int64_t cache_bytes = 0;                  // parameters that stay on the chip
  std::int64_t stream_picoseconds_per_byte = 0;  // of parameters beyond the cache
  std::int64_t link_picoseconds_per_byte = 0;    // of tensors in and out
  // Works on 8-bit numbers: an element of a tensor of floats counts as a byte, as if the model had
  // been quantised. Other elements count their size in the file.
  bool int8 = false;
};

std::span<const Accelerator> Accelerators();
// nullptr: no such accelerator.
const Accelerator* AcceleratorNamed(std::string_view name);

}  // namespace neap::stages
