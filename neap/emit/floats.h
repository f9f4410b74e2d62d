// SPDX-License-Identifier: Apache-2.0
//
// Operators of float32 to rows of tables. Private to neap/emit.
#pragma once

#include <cstdint>
#include <vector>

#include "neap/emit/lowering.h"

namespace neap::emit {

inline constexpr std::int64_t kFloatBytes = 4;

// Whether the first input and the first output of `op`, which exist, are of float32.
bool IsOfFloats(const Lowering& lowering, const graph::Op& op);

// FULLY_CONNECTED and SOFTMAX.
Result<std::vector<Call>> LowerFloatProduct(Lowering& lowering, const Subject& subject);
Result<std::vector<Call>> LowerFloatSoftmax(Lowering& lowering, const Subject& subject);

}  // namespace neap::emit
