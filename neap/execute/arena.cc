// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/arena.h"

#include <algorithm>
#include <cstring>

namespace neap::execute {

Arena::Arena(std::int64_t bytes)
    : bytes_(bytes), storage_(static_cast<std::size_t>(bytes + 2 * kGuard), kPoison) {
  // Guards differ from poison, so that a stray fill is seen.
  const auto guard = [](std::byte* from) {
    for (std::int64_t i = 0; i < kGuard; ++i) from[i] = static_cast<std::byte>(0x60 + i);
  };
  guard(storage_.data());
  guard(storage_.data() + kGuard + bytes);
}

void Arena::Poison(std::int64_t offset, std::int64_t bytes) {
  const auto range = At(offset, bytes);
  std::fill(range.begin(), range.end(), kPoison);
}

bool Arena::ChangedOutside(std::vector<ArenaRange> allowed) const {
  std::sort(allowed.begin(), allowed.end(), [](const ArenaRange& a, const ArenaRange& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  std::int64_t from = -kGuard;
  const auto changed = [&](std::int64_t to) {
    if (to <= from) return false;
    const auto at = static_cast<std::size_t>(from + kGuard);
    return std::memcmp(storage_.data() + at, before_.data() + at,
                       static_cast<std::size_t>(to - from)) != 0;
  };
  for (const ArenaRange& range : allowed) {
    if (changed(range.offset)) return true;
    from = std::max(from, range.offset + range.bytes);
  }
  return changed(bytes_ + kGuard);
}

}  // namespace neap::execute
