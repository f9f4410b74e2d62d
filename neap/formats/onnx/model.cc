// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/onnx/model.h"

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <limits>

#include "neap/formats/onnx/onnx.h"

namespace neap::formats::onnx {
namespace {

// Each body nests three messages (node, attribute, graph); types nest too.
constexpr int kMaxMessageDepth = 100;

Status ListBodies(Scope scope, std::vector<Scope>* scopes) {
  const auto index = static_cast<int>(scopes->size());
  scopes->push_back(scope);
  const auto visit = [&](int node, pb::AttributeProto* attribute, pb::GraphProto* body) -> Status {
    const pb::NodeProto& holder = scope.graph->node(node);
    if (scope.depth + 1 > kMaxDepth || scopes->size() >= kMaxScopes) {
      Diagnostic error = BadInput(scopes->size() >= kMaxScopes
                                      ? "the model has more than " + std::to_string(kMaxScopes) +
                                            " graphs inside operators"
                                      : "graphs inside operators are nested more than " +
                                            std::to_string(kMaxDepth) + " deep");
      error.op = DescribeNode(node, holder);
      return Fail(std::move(error));
    }
    return ListBodies({body, index, node, attribute->name(), scope.depth + 1}, scopes);
  };
  for (int node = 0; node < scope.graph->node_size(); ++node) {
    for (auto& attribute : *scope.graph->mutable_node(node)->mutable_attribute()) {
      if (attribute.has_g()) NEAP_CHECK_OK(visit(node, &attribute, attribute.mutable_g()));
      for (auto& body : *attribute.mutable_graphs()) NEAP_CHECK_OK(visit(node, &attribute, &body));
    }
  }
  return {};
}

}  // namespace

Status CheckSize(std::int64_t file_bytes) {
  if (file_bytes <= std::numeric_limits<int>::max()) return {};
  return Fail(BadInput("is larger than 2 GiB, which an ONNX file cannot be"));
}

Result<std::unique_ptr<pb::ModelProto>> ParseModel(std::span<const std::byte> bytes,
                                                   const std::string& path) {
  const auto fail = [&path](std::string message) {
    Diagnostic error = BadInput(std::move(message));
    error.file = path;
    return Fail(std::move(error));
  };
  if (Status fits = CheckSize(static_cast<std::int64_t>(bytes.size())); !fits) {
    fits.error().file = path;
    return Fail(std::move(fits.error()));
  }
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetTotalBytesLimit(static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxMessageDepth);
  auto model = std::make_unique<pb::ModelProto>();
  if (!model->MergeFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return fail("is not an ONNX model or is truncated: its protocol buffer does not parse");
  }
  if (!model->has_graph()) return fail("is not an ONNX model: it has no graph");
  return model;
}

Result<std::vector<Scope>> ListScopes(pb::ModelProto* model) {
  std::vector<Scope> scopes;
  NEAP_CHECK_OK(ListBodies({model->mutable_graph(), -1, -1, {}, 0}, &scopes));
  return scopes;
}

std::string DescribeNode(int index, const pb::NodeProto& node) {
  std::string out = "#" + std::to_string(index) + " '" + node.op_type() + "'";
  if (!node.name().empty()) out += " (" + node.name() + ")";
  return out;
}

}  // namespace neap::formats::onnx
