// SPDX-License-Identifier: Apache-2.0
#include "lab/zoo/layer_recorder.h"

#include <algorithm>
#include <utility>

namespace neap::zoo {

using graph::Shape;
using graph::TensorId;

LayerRecorder::Standing& LayerRecorder::At(TensorId tensor) {
  if (standing_.size() <= tensor.index()) standing_.resize(tensor.index() + 1);
  return standing_[tensor.index()];
}

TensorId LayerRecorder::AddTensor(const std::string& name, Shape shape) {
  graph::Tensor tensor;
  tensor.name = name;
  tensor.type = graph::ElementType::kInt8;
  tensor.shape = std::move(shape);
  return layers_.tensors.push_back(std::move(tensor));
}

TensorId LayerRecorder::AddLayer(const std::string& type, const std::string& name,
                                 std::vector<TensorId> inputs, const Shape& shape,
                                 std::int64_t parameters, std::int64_t multiply_accumulates) {
  graph::Op op;
  op.type = type;
  op.domain = "layer";
  op.name = name;
  op.inputs = std::move(inputs);
  if (parameters > 0) {
    const TensorId constant = AddTensor(name + "/parameters", {parameters});
    layers_.tensors[constant].constant = true;
    op.inputs.push_back(constant);
  }
  op.attributes["multiply_accumulates"] = multiply_accumulates;
  const TensorId output = AddTensor(name, shape);
  op.outputs = {output};
  layers_.ops.push_back(std::move(op));
  return output;
}

void LayerRecorder::AddInput(TensorId input, const std::string& name, const Shape& shape) {
  if (ended_) return;
  const TensorId outside = AddTensor(name + "/outside", shape);
  layers_.inputs.push_back(outside);
  At(input).tensor = AddLayer("Input", name, {outside}, shape, 0, 0);
}

void LayerRecorder::Add(const RecordedLayers& made) {
  if (ended_) return;
  std::vector<TensorId> inputs;
  std::int64_t parameters = made.parameters;
  std::int64_t multiply_accumulates = made.multiply_accumulates;
  for (const TensorId input : made.inputs) {
    Standing& standing = At(input);
    if (!standing.tensor.valid()) continue;
    if (std::find(inputs.begin(), inputs.end(), standing.tensor) == inputs.end()) {
      inputs.push_back(standing.tensor);
    }
    parameters += std::exchange(standing.parameters, 0);
    multiply_accumulates += std::exchange(standing.multiply_accumulates, 0);
  }
  if (made.layers == 0) {
    At(made.output) = {inputs.empty() ? TensorId() : inputs.front(), parameters,
                       multiply_accumulates};
    return;
  }
  if (!made.padded.empty() && !inputs.empty()) {
    inputs.front() = AddLayer("Pad", made.name + "/pad", {inputs.front()}, made.padded, 0, 0);
  }
  TensorId output = AddLayer(made.type, made.name, std::move(inputs), made.shape,
                             parameters - made.norm_parameters, multiply_accumulates);
  if (made.normalised) {
    output = AddLayer("BatchNormalization", made.name + "/norm", {output}, made.shape,
                      made.norm_parameters, 0);
  }
  At(made.output).tensor = output;
}

void LayerRecorder::End(TensorId output) {
  ended_ = true;
  layers_.outputs.push_back(At(output).tensor);
}

graph::Graph LayerRecorder::Take() {
  graph::Graph graph;
  if (!ended_) return graph;
  graph.subgraphs.push_back(std::move(layers_));
  *this = {};
  return graph;
}

}  // namespace neap::zoo
