// SPDX-License-Identifier: Apache-2.0
//
// Weights of convolutions as the MVE kernels of neap_rt (runtime/neap_*_mve_s8.c) read them, where
// these kernels compute the same bytes. Pure. Private to neap/emit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/emit/pack.h"

namespace neap::emit {

// The tables of a neap_mve.
struct PackedMve {
  std::vector<std::int64_t> weights;   // int8
  std::vector<std::int64_t> channels;  // uint32
  bool positive = false;
};

// nullopt: an MVE kernel would compute other bytes, or has no such form (groups, multipliers).
// O(weights).
std::optional<PackedMve> PackMve(const Int8Product& given);

// The bytes of a pixel's inputs in the scratch of neap_conv_mve_s8.
std::int64_t MveInputBytes(const Product& product);

}  // namespace neap::emit
