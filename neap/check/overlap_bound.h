// SPDX-License-Identifier: Apache-2.0
//
// Lower bounds of arenas in which outputs may lie over inputs. Private to neap/plan.
#pragma once

#include <cstdint>

#include "neap/check/address_check.h"

namespace neap::check {

// True if some operator shows that no arena is below `bytes`, whatever the order: what it reads and
// writes does not fit. Every overlap that kernels could allow is granted; how far a kernel goes is
// seen by walking it. Where no other order is possible, what holds for this one holds for all;
// where no kernel allows any overlap, the bound of the peak is one of the arena.
bool ProvesArenaBound(const EntryContext& context, std::int64_t bytes);

}  // namespace neap::check
