// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/onnx/model.h"

#include <cstdint>
#include <limits>

#include "neap/formats/onnx/onnx.h"
#include "neap/formats/onnx/wire.h"

namespace neap::formats::onnx {
namespace {

Status ListBodies(Scope scope, std::vector<Scope>* scopes) {
  const auto index = static_cast<int>(scopes->size());
  scopes->push_back(scope);
  const auto visit = [&](int node, pb::AttributeProto* attribute, pb::GraphProto* body) -> Status {
    const pb::NodeProto& holder = scope.graph->node[static_cast<std::size_t>(node)];
    if (scope.depth + 1 > kMaxDepth || scopes->size() >= kMaxScopes) {
      Diagnostic error = BadInput(scopes->size() >= kMaxScopes
                                      ? "the model has more than " + std::to_string(kMaxScopes) +
                                            " graphs inside operators"
                                      : "graphs inside operators are nested more than " +
                                            std::to_string(kMaxDepth) + " deep");
      error.op = DescribeNode(node, holder);
      return Fail(std::move(error));
    }
    return ListBodies({body, index, node, attribute->name.str(), scope.depth + 1}, scopes);
  };
  for (std::size_t i = 0; i < scope.graph->node.size(); ++i) {
    const auto node = static_cast<int>(i);
    for (auto& attribute : scope.graph->node[i].attribute) {
      if (attribute.g) NEAP_CHECK_OK(visit(node, &attribute, &*attribute.g));
      for (auto& body : attribute.graphs) NEAP_CHECK_OK(visit(node, &attribute, &body));
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
  auto model = std::make_unique<pb::ModelProto>();
  WireError error;
  if (!ParseMessage({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, model.get(),
                    &error)) {
    return fail(
        "is not an ONNX model or is truncated: its protocol buffer does not parse at byte " +
        std::to_string(error.at) + ": " + error.reason);
  }
  if (!model->graph) return fail("is not an ONNX model: it has no graph");
  return model;
}

Result<std::vector<Scope>> ListScopes(pb::ModelProto* model) {
  std::vector<Scope> scopes;
  NEAP_CHECK_OK(ListBodies({&*model->graph, -1, -1, {}, 0}, &scopes));
  return scopes;
}

std::string DescribeNode(int index, const pb::NodeProto& node) {
  std::string out = "#" + std::to_string(index) + " '" + node.op_type.str() + "'";
  if (!node.name.empty()) out += " (" + node.name.str() + ")";
  return out;
}

}  // namespace neap::formats::onnx
