// SPDX-License-Identifier: Apache-2.0
//
// Arrays by name in NumPy's .npz: a zip archive of .npy files. Source: the public descriptions of
// both formats (zip: stored and deflated members, no encryption, no split archives; npy 1 to 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/execute/value.h"

namespace neap::execute {

struct NamedValue {
  std::string name;  // without ".npy"
  Value value;
};

// All arrays, in the order of the archive's directory. Integers, floats and booleans of any width
// in little-endian row-major order; anything else is refused by name. Fails when they need more
// than `max_bytes`, regardless of the sizes that the archive states.
Result<std::vector<NamedValue>> ReadNpz(std::span<const std::byte> file, std::int64_t max_bytes);

// An archive that numpy.load() reads; members are stored. Types that NumPy does not have are
// written as integers of the same bits (bfloat16 as uint16), types of less than a byte unpacked
// into int8 or uint8. Equal values give equal bytes.
Result<std::vector<std::byte>> WriteNpz(std::span<const NamedValue> values);

// Elements of less than a byte, one in each int8 or uint8, and back: `value` with another type and
// the same shape. Fails for values that do not fit.
Value Unpacked(const Value& value);
Result<Value> Packed(const Value& value, graph::ElementType type);

}  // namespace neap::execute
