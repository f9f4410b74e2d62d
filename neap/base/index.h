// SPDX-License-Identifier: Apache-2.0
//
// Numbers of operators and buffers are signed and narrow, indices of vectors are not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace neap {

// `number` as an index; it must not be negative.
constexpr std::size_t At(std::int32_t number) { return static_cast<std::size_t>(number); }

}  // namespace neap
