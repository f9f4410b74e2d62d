// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "neap/graph/graph.h"

namespace neap::ops {

// Of a custom operator of a .tflite: a real number, or an integer as one, among its options.
// nullopt: there is none. Integers: CustomOption() in neap/ops/tflm_scratch.h.
std::optional<double> CustomRealOption(const graph::Op& op, const char* name);

}  // namespace neap::ops
