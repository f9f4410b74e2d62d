// SPDX-License-Identifier: Apache-2.0
//
// How far one value is from another: bytes first, then numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "neap/execute/value.h"

namespace neap::execute {

struct Difference {
  bool same_shape = true;      // type and shape are equal; if not, nothing below is set
  std::int64_t elements = 0;   // of the expected value
  std::int64_t differing = 0;  // elements with another byte
  // The largest absolute difference of two elements: integers in units of one, floats as they are.
  // nullopt where the difference is undefined: a NaN or an infinity on one side only, or a type
  // without numbers (strings, complex numbers, 8-bit and 4-bit floats) whose bytes differ.
  std::optional<double> max_difference = 0;
  // The largest absolute value of an expected element that is finite; of integers with a zero
  // point, the distance from it.
  double magnitude = 0;

  bool identical() const { return same_shape && differing == 0; }
  // max_difference / magnitude; 0 where no numbers differ (as between -0 and 0). nullopt where the
  // difference is undefined, or the expected value is 0 everywhere and another was found.
  std::optional<double> Relative() const;
};

// `zero_point` is that of the tensor where it is quantised with one scale, else 0. O(elements).
Difference Compare(const Value& expected, const Value& found, std::int64_t zero_point);

}  // namespace neap::execute
