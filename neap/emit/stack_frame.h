// SPDX-License-Identifier: Apache-2.0
//
// A row of a table of stack frames. Private to stack.cc.
#pragma once

#include <cstdint>
#include <string_view>

namespace neap::emit {

// Of neap_find_taps: neap_source. Of kernels: memcpy and the like.
inline constexpr std::int64_t kLeaf = 16;

struct Frame {
  std::string_view function;
  std::int64_t bytes;
  std::int64_t below = kLeaf;  // of the functions that it calls, and what its assembly saves
};

}  // namespace neap::emit
