// SPDX-License-Identifier: Apache-2.0
//
// The parsed file and the numbering of its graphs, shared by the reader and the writer. Private to
// neap/formats/onnx.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/formats/onnx/messages.h"

namespace neap::formats::onnx {

// Bodies inside bodies, and graphs in all.
inline constexpr int kMaxDepth = 16;
inline constexpr std::size_t kMaxScopes = 65536;

// A graph of the file: the main one or the body of a node of another. Scope i is subgraph i.
struct Scope {
  pb::GraphProto* graph = nullptr;  // owned by the model
  int parent = -1;                  // scope of the node; -1: the main graph
  int node = -1;                    // index of the node in the parent
  std::string attribute;            // the attribute of the node that contains it ("then_branch")
  int depth = 0;
};

// One clear error if the bytes are no ONNX model; `path` is for the message. The model has views of
// the bytes, which must outlive it.
Result<std::unique_ptr<pb::ModelProto>> ParseModel(std::span<const std::byte> bytes,
                                                   const std::string& path);

// The main graph, then every body directly after the node that contains it, depth first, in the
// order of nodes and attributes in the file: parents come before their bodies.
Result<std::vector<Scope>> ListScopes(pb::ModelProto* model);

// "#12 'Conv' (name)"
std::string DescribeNode(int index, const pb::NodeProto& node);

}  // namespace neap::formats::onnx
