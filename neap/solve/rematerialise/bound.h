// SPDX-License-Identifier: Apache-2.0
//
// Private to neap/rematerialise.
#pragma once

#include <cstdint>

#include "neap/solve/rematerialise/problem.h"

namespace neap::rematerialise {

// No sequence has a smaller peak: the largest sum, over the operators, of the values that an
// operator touches, its scratch, and values that are certainly live in its first run. The latter
// cannot be computed again (inputs, outputs of operators that are not repeatable), are written
// before it in every sequence, and have a reader behind it in every sequence. O(operators * size)
// for at most 4,096 operators, otherwise O(size), without the latter.
std::int64_t LowerBound(const Problem& problem);

}  // namespace neap::rematerialise
