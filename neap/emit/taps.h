// SPDX-License-Identifier: Apache-2.0
//
// Output pixels that a call computes together, and the pointers to their inputs. Private to
// neap/emit.
#pragma once

#include <cstdint>

#include "neap/emit/program.h"

namespace neap::emit {

// The most bytes of pointers to taps that a driver fills at once.
inline constexpr std::int64_t kTapBudget = 18;
// Pixels whose inputs a packed kernel has in its scratch.
inline constexpr std::int64_t kPixelsTogether = 2;
// NEAP_ROW_PAIRS of neap_rt.h.
inline constexpr std::int64_t kRowPairs = 0x80;
// Whether the driver is neap_drive_runs or neap_drive_points.
bool IsOfRuns(const Call& call);
// Whether the kernel computes one pixel at a time where there is scratch for no more.
bool IsPacked(const Call& call);
// Whether it is a call of CMSIS-NN.
bool IsCmsisNn(const Call& call);
// Whether boxes of one column may be computed by two rows.
bool HasRowPairs(const Call& call);
// Output pixels whose taps are found at once.
std::int64_t PixelsOf(const Call& call);
// The most pixels whose inputs the kernel has in its scratch.
std::int64_t ScratchPixelsOf(const Call& call);
// Pointers that any call needs at once; at least one.
std::int64_t TapsOf(const Program& program);

}  // namespace neap::emit
