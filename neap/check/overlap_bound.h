// SPDX-License-Identifier: Apache-2.0
//
// Lower bounds of arenas in which outputs may overlap inputs. Private to neap/check.
#pragma once

#include <cstdint>

#include "neap/check/address_check.h"

namespace neap::check {

// True if some operator proves that no arena of any order is below `bytes`: its inputs and outputs
// do not fit. Every overlap that kernels could allow is granted; the distance comes from walking
// the kernel. If only one order is possible, its bound is one of all orders; if no kernel allows
// any overlap, the bound of the peak is one of the arena.
bool ProvesArenaBound(const EntryContext& context, std::int64_t bytes);

}  // namespace neap::check
