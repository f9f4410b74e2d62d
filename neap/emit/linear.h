// SPDX-License-Identifier: Apache-2.0
//
// Functions of two int8 operands as one linear form. Pure. Private to neap/emit.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "neap/emit/quantization.h"

namespace neap::emit {

// clamp((factors[0] * a + factors[1] * b + offset) >> shift); nothing exceeds int32.
struct Linear {
  std::array<std::int64_t, 2> factors{};
  std::int64_t offset = 0;
  int shift = 0;
};

// A form that is equal to `function`, whose values are inside `range`, for all 65,536 pairs of
// operands; each pair is compared. `slopes`: about the change of the function for one more of each
// operand, where it is not clamped. nullopt: none was found.
std::optional<Linear> FindLinear(const std::function<std::int32_t(int a, int b)>& function,
                                 const std::array<double, 2>& slopes, const Range& range);

}  // namespace neap::emit
