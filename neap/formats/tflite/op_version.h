// SPDX-License-Identifier: Apache-2.0
//
// Versions of built-in operators: a runtime refuses an operator whose version is newer than its
// kernel, instead of computing something else. Private to neap/formats/tflite.
#pragma once

#include <cstdint>

#include "neap/graph/graph.h"

namespace neap::formats::tflite {

// The least version of the public format that has what `op` uses: its element types, its number of
// inputs, its options. Custom operators and those without newer versions have version 1.
std::int32_t OpVersion(const graph::Subgraph& subgraph, const graph::Op& op);

}  // namespace neap::formats::tflite
