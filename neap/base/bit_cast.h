// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace neap {

// std::bit_cast, which the C++ library of emscripten 3.1.6 lacks.
template <typename To, typename From>
constexpr To BitCast(const From& from) {
  return __builtin_bit_cast(To, from);
}

}  // namespace neap
