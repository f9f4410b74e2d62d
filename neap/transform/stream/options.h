// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "neap/base/limits.h"
#include "neap/plan/stream.h"

namespace neap::stream {

enum class Objective : std::uint8_t { kMacs, kCycles };

// What the modelled cycles are (docs/algorithms/streams.md, rates.h): those of a Cortex-M7 with
// stock kernels, or instructions of emitted C with its kernels for a processor.
enum class Processor : std::uint8_t { kCortexM7, kCortexM4Dsp, kCortexM55Mve };

struct SearchOptions {
  plan::StreamInput input = plan::StreamInput::kResident;
  Objective objective = Objective::kMacs;
  // Columns of a segment's output per block. 0: chosen for each segment; kFullRow: all of them.
  std::int64_t column_block = 0;
  bool recompute = true;
  // Only operators that the kernels of emitted C (ops::kNeapRt) run in boxes are streamed.
  bool emits = false;
  // Two memories: copies from slow memory begin one step before their bytes are used, where fast
  // memory is free.
  bool prefetch = false;
  // Two memories: weights are in slow memory, too.
  bool slow_weights = false;
  Processor processor = Processor::kCortexM7;
  std::int64_t max_placements = 400'000;  // that are made; the same on every machine
  Limits limits;  // stop, deadline and observer, whose states are placements
};
inline constexpr std::int64_t kFullRow = -1;

// User options of streamed plans.
struct Settings {
  plan::StreamInput input = plan::StreamInput::kResident;
  std::int64_t column_block = 0;  // see SearchOptions
  // Most multiply-accumulates of a plan, in thousandths of the network's; with a budget too.
  std::int64_t max_macs_permille = 1000;
  // Most modelled cycles, in thousandths of those layer by layer; of plans with no more the one of
  // fewest bytes, with a budget that of fewest cycles. 0: cycles decide between equals alone.
  std::int64_t max_cycles_permille = 0;
  Processor processor = Processor::kCortexM7;
  // Two memories: the limit of the arena, which is the fast one; with StreamInput::kSlow, and only
  // then. 0: one memory.
  std::int64_t fast_bytes = 0;
  bool prefetch = false;      // see SearchOptions
  bool slow_weights = false;  // see SearchOptions
};

}  // namespace neap::stream
