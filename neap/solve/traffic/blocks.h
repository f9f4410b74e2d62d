// SPDX-License-Identifier: Apache-2.0
//
// The same traffic in equal blocks, as a cache or a page table would move it: every tensor is
// ceil(bytes / block) blocks, a step touches the blocks of its inputs and then of its outputs, one
// after the other, and every block that is touched occupies one place of the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "neap/solve/traffic/problem.h"

namespace neap::traffic {

enum class BlockPolicy : std::uint8_t {
  kBelady,  // the block that is touched again last goes: the fewest misses of any rule (Belady
            // 1966)
  kLeastRecentlyUsed,
};
std::string_view NameOf(BlockPolicy policy);  // "belady", "lru"

struct BlockMemory {
  std::int64_t block_bytes = 1;  // >= 1
  std::int64_t blocks = 0;       // places
};

// Right before the access number `position` of the trace; -1: a block that is on chip at the start
// has no place.
struct Eviction {
  std::int64_t position = 0;
  TensorIndex tensor = 0;
  std::int64_t block = 0;
};

// Misses are reads of a block that is not there; a block that is written for the first time takes
// a place without one. Bytes are those of whole blocks.
struct BlockCounts {
  Counts counts;
  std::vector<Eviction> evictions;  // where they are requested
};

// Accesses of blocks that the trace of the problem has.
std::int64_t BlockAccesses(const Problem& problem, std::int64_t block_bytes);

// Scratch is left out of account: a step has no moment at which it is needed as a whole. With no
// places at all every access streams. `problem` passes Validate(). O(accesses of blocks, a
// logarithm apart).
BlockCounts ApplyToBlocks(BlockPolicy policy, const Problem& problem, const BlockMemory& memory,
                          bool list_evictions);

}  // namespace neap::traffic
