// SPDX-License-Identifier: Apache-2.0
//
// ONNX files. Private to neap/formats, except Export(), which the zoo's writer uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/formats/formats.h"
#include "neap/graph/graph.h"

namespace neap::formats::onnx {

// Whether a file of this size can be one: protobuf messages end at 2 GiB.
Status CheckSize(std::int64_t file_bytes);

// `path` is for messages and for the folder of external data, which is the only folder that is ever
// read from. Shapes are inferred by neap/ops/onnx_shapes.h, helped by value_info.
Result<graph::Graph> Read(const std::shared_ptr<const std::vector<std::byte>>& bytes,
                          const std::string& path, const LoadOptions& options,
                          std::vector<std::string>* notes);

// See formats::WriteReordered.
Result<std::vector<std::byte>> WriteReordered(
    const SourceModel& model, const IdVector<graph::SubgraphId, std::vector<graph::OpId>>& order);

// See formats::WriteEdited; `edited` has been checked against `model`. Without `declare_shapes` new
// tensors get no shape: it follows from sizes that were given for symbols.
Result<std::vector<std::byte>> WriteEdited(const SourceModel& model, const graph::Graph& edited,
                                           bool declare_shapes);

// See formats::WritePart.
Result<std::vector<std::byte>> WritePart(const SourceModel& model, const ModelPart& part);

// A new model from a graph of ONNX operators whose constants have their data: subgraph 0, its
// operators in the order of the graph, opset 17, value_info for every tensor. Deterministic.
Result<std::vector<std::byte>> Export(const graph::Graph& graph, const std::string& name);

}  // namespace neap::formats::onnx
