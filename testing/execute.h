// SPDX-License-Identifier: Apache-2.0
//
// Small graphs for the tests of this module.
#pragma once

#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/execute/value.h"
#include "neap/graph/graph.h"

namespace neap::execute {

template <typename T>
std::vector<std::byte> BytesOf(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> NumbersOf(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Adds tensors and operators to subgraph 0 of a graph.
class GraphMaker {
 public:
  GraphMaker() { graph_.subgraphs.push_back({}); }

  graph::TensorId Tensor(graph::ElementType type, graph::Shape shape) {
    graph::Tensor tensor;
    tensor.name = "t" + std::to_string(Main().tensors.size());
    tensor.type = type;
    tensor.shape = std::move(shape);
    return Main().tensors.push_back(std::move(tensor));
  }
  graph::TensorId Floats(graph::Shape shape) {
    return Tensor(graph::ElementType::kFloat32, std::move(shape));
  }
  graph::TensorId Input(graph::ElementType type, graph::Shape shape) {
    const graph::TensorId id = Tensor(type, std::move(shape));
    Main().inputs.push_back(id);
    return id;
  }
  template <typename T>
  graph::TensorId Constant(graph::ElementType type, graph::Shape shape,
                           const std::vector<T>& values) {
    const graph::TensorId id = Tensor(type, std::move(shape));
    auto bytes = std::make_shared<std::vector<std::byte>>(BytesOf(values));
    Main().tensors[id].constant = true;
    Main().tensors[id].data = graph::ConstantData{bytes, *bytes};
    return id;
  }
  void Quantize(graph::TensorId id, float scale, std::int64_t zero_point) {
    Main().tensors[id].quantization = graph::Quantization{{scale}, {zero_point}, 0};
  }
  graph::OpId Op(std::string domain, std::string type, std::vector<graph::TensorId> inputs,
                 std::vector<graph::TensorId> outputs,
                 std::map<std::string, graph::Attribute> attributes = {}) {
    graph::Op op;
    op.type = std::move(type);
    op.domain = std::move(domain);
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.attributes = std::move(attributes);
    return Main().ops.push_back(std::move(op));
  }
  void Output(graph::TensorId id) { Main().outputs.push_back(id); }

  graph::Subgraph& Main() { return graph_.subgraphs[graph::SubgraphId(0)]; }
  graph::Graph& graph() { return graph_; }

 private:
  graph::Graph graph_;
};

inline std::vector<float> RandomFloats(std::int64_t count, Random* random) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(2 * random->Unit() - 1));
  }
  return values;
}

}  // namespace neap::execute
