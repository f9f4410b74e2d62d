// SPDX-License-Identifier: Apache-2.0
//
// How many random cases a test makes.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace neap {

// `ordinary` times NEAP_PROPERTY_FACTOR (default 1), which may be a fraction; at least 1.
inline int Cases(int ordinary) {
  const char* factor = std::getenv("NEAP_PROPERTY_FACTOR");
  if (factor == nullptr) return ordinary;
  return std::max(1, static_cast<int>(ordinary * std::strtod(factor, nullptr)));
}

// For tests of rare cases: no fewer than `ordinary`.
inline int ManyCases(int ordinary) { return std::max(ordinary, Cases(ordinary)); }

}  // namespace neap
