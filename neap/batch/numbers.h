// SPDX-License-Identifier: Apache-2.0
//
// The numbers of an answer. Private to neap/batch.
#pragma once

#include <cstdint>
#include <optional>

namespace neap::batch {

struct Numbers {
  std::int64_t peak_bytes = 0;
  std::int64_t peak_lower_bound_bytes = 0;
  std::optional<std::int64_t> arena_bytes;
  // The allocation of the profile's stock runtime for the planned order.
  std::optional<std::int64_t> delivered_arena_bytes;

  friend bool operator==(const Numbers&, const Numbers&) = default;
};

}  // namespace neap::batch
