// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow Lite files (FlatBuffers, identifier TFL3). Private to neap/formats.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/formats/formats.h"
#include "neap/graph/graph.h"

namespace neap::formats::tflite {

// Whether a file whose first bytes these are (eight, or all it has) can be one.
Status CheckHead(std::span<const std::byte> head);

// Runs the FlatBuffers Verifier before anything is touched. Notes and the memory plan that the file
// carries go to `model`.
Result<graph::Graph> Read(const std::shared_ptr<const std::vector<std::byte>>& bytes,
                          const std::string& path, const LoadOptions& options, SourceModel* model);

// See formats::WriteReordered: permutes the offsets in each operator vector in place and rewrites
// "model_control_dependencies" to the new indices; the length of the file does not change.
Result<std::vector<std::byte>> WriteReordered(
    const SourceModel& model, const IdVector<graph::SubgraphId, std::vector<graph::OpId>>& order);

// See formats::ExportTflite.
Result<std::vector<std::byte>> Export(const graph::Graph& graph, const std::string& name);

// See formats::WriteEdited; `edited` has been checked against `model`. A tensor that became unused
// stays in the list with no elements.
Result<std::vector<std::byte>> WriteEdited(const SourceModel& model, const graph::Graph& edited);

// See formats::WritePart.
Result<std::vector<std::byte>> WritePart(const SourceModel& model, const ModelPart& part);

// See formats::WritePlanned: the same, and the plan goes to the bytes of the old one or to a new
// front (splice.h).
Result<std::vector<std::byte>> WritePlanned(
    const SourceModel& model, const IdVector<graph::SubgraphId, std::vector<graph::OpId>>& order,
    const graph::TensorOffsets& offsets, const std::string& kernels);

}  // namespace neap::formats::tflite
