// SPDX-License-Identifier: Apache-2.0
//
// The parts of an .onnx file that are made from a graph, whether the file is new (export.cc) or an
// old one that gets a few of them (edit.cc). Private to neap/formats/onnx.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "neap/base/result.h"
#include "neap/formats/onnx/messages.h"
#include "neap/graph/graph.h"

namespace neap::formats::onnx {

// Initializers have to be graph inputs, too, in files of older versions.
inline constexpr std::int64_t kFirstIrVersionWithoutInputs = 4;

// The number in TensorProto.data_type, of those that IR version 8 knows and that raw bytes can
// hold.
std::optional<std::int32_t> TypeCodeOf(graph::ElementType type);

// Name, element type and shape, with symbols where a dimension is not known. False: the format has
// no such element type.
bool FillValueInfo(const graph::Tensor& tensor, const std::string& name, pb::ValueInfoProto* info);

// A constant with its data. Fails with kBadInput where there is none, or fewer or more bytes than
// the shape requires.
Status FillInitializer(const graph::Tensor& tensor, const std::string& name,
                       pb::TensorProto* initializer);

// False for raw bytes: an attribute of the graph has neither their type nor their shape.
bool SetAttribute(const graph::Attribute& value, pb::AttributeProto* out);

}  // namespace neap::formats::onnx
