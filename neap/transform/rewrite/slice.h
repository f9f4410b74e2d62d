// SPDX-License-Identifier: Apache-2.0
//
// Parts of constants. Private to neap/rewrite.
#pragma once

#include <cstddef>
#include <cstdint>

#include "neap/graph/graph.h"

namespace neap::rewrite {

// Whether SliceOf() can do it: shape known, elements of whole bytes, data (if any) of that size.
bool CanSlice(const graph::Tensor& constant, std::size_t axis);

// Indices [begin, begin + size) along `axis`, in bounds, of a constant that CanSlice(): shape,
// scales (those of the same axis are cut, too) and, with `data`, the bytes where the constant has
// them. The name is the caller's to give. O(bytes of the slice).
graph::Tensor SliceOf(const graph::Tensor& constant, std::size_t axis, std::int64_t begin,
                      std::int64_t size, bool data);

}  // namespace neap::rewrite
