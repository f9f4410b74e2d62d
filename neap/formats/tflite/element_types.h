// SPDX-License-Identifier: Apache-2.0
//
// Element types by their numbers in the format. Private to neap/formats/tflite.
#pragma once

#include <optional>

#include "neap/formats/tflite/model_view.h"
#include "neap/graph/element_type.h"

namespace neap::formats::tflite {

// kUnknown for numbers that are newer than Neap.
graph::ElementType ElementTypeOf(schema::TensorType type);

// nullopt: the format has no such type, or several (8-bit floats) that are one type in the graph.
// Handles are 32-bit integers in the graph and stay so here.
std::optional<schema::TensorType> TensorTypeOf(graph::ElementType type);

}  // namespace neap::formats::tflite
