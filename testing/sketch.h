// SPDX-License-Identifier: Apache-2.0
//
// Networks written down in tests.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/graph/graph.h"

namespace neap::graph {

// A constant without a name.
template <typename T>
Tensor ConstantOf(ElementType type, Shape shape, const std::vector<T>& values) {
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes->data(), values.data(), bytes->size());
  Tensor tensor;
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.constant = true;
  tensor.data = ConstantData{bytes, *bytes};
  return tensor;
}

// A subgraph that is being written down.
class Sketch {
 public:
  Sketch() { graph_.subgraphs.push_back({}); }

  // A tensor without a name is called t and its number.
  TensorId Tensor(ElementType type, Shape shape, std::string name = "") {
    neap::graph::Tensor tensor;
    tensor.name = name.empty() ? "t" + std::to_string(Main().tensors.size()) : std::move(name);
    tensor.type = type;
    tensor.shape = std::move(shape);
    return Main().tensors.push_back(std::move(tensor));
  }
  TensorId Input(ElementType type, Shape shape) {
    Main().inputs.push_back(Tensor(type, std::move(shape)));
    return Main().inputs.back();
  }
  template <typename T>
  TensorId Constant(ElementType type, Shape shape, const std::vector<T>& values) {
    neap::graph::Tensor tensor = ConstantOf(type, std::move(shape), values);
    tensor.name = "t" + std::to_string(Main().tensors.size());
    return Main().tensors.push_back(std::move(tensor));
  }
  TensorId RandomFloats(Shape shape, Random* random) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(2 * random->Unit() - 1));
    }
    return Constant(ElementType::kFloat32, std::move(shape), values);
  }
  void Quantize(TensorId id, float scale, std::int64_t zero_point) {
    Main().tensors[id].quantization = Quantization{{scale}, {zero_point}, 0};
  }
  void Op(std::string domain, std::string type, std::vector<TensorId> inputs,
          std::vector<TensorId> outputs, std::map<std::string, Attribute> attributes = {}) {
    neap::graph::Op op;
    op.type = std::move(type);
    op.domain = std::move(domain);
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.attributes = std::move(attributes);
    op.source_index = static_cast<std::int32_t>(Main().ops.size());
    op.version = op.domain.empty() ? 17 : 0;
    Main().ops.push_back(std::move(op));
  }
  void Output(TensorId id) { Main().outputs.push_back(id); }

  Subgraph& Main() { return graph_.subgraphs[SubgraphId(0)]; }
  Graph& graph() { return graph_; }

 private:
  Graph graph_;
};

}  // namespace neap::graph
