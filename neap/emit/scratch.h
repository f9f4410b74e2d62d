// SPDX-License-Identifier: Apache-2.0
//
// Scratch of kernels, in memory 0: in gaps between the tensors that are in use while its call runs,
// or behind them. Private to neap/emit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/emit/program.h"

namespace neap::emit {

// All scratch begins at multiples of it.
inline constexpr std::int64_t kScratchAlignment = 4;

// The lowest aligned offset of `bytes` bytes outside of `used`.
std::int64_t LowestGap(std::vector<plan::StreamRange> used, std::int64_t bytes);

// The bytes of scratch of a call.
std::int64_t ScratchBytesOf(const Call& call);

// Sets the offset of each call's scratch, the lowest where it fits. Returns the end of memory 0,
// aligned: of the plan's bytes and of all scratch. O(calls x tensors in use x log).
std::int64_t PlaceScratch(Program* program);

// "": the scratch of every call is aligned, inside the first `end` bytes and apart from all bytes
// that are in use; else the first call for which that is wrong. It shares the
// size of scratch with PlaceScratch(); a size that is too small is found by emitted code that runs
// between guard pages.
std::string FindScratchOverlap(const Program& program, std::int64_t end);

}  // namespace neap::emit
