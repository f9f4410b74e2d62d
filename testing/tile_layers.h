// SPDX-License-Identifier: Apache-2.0
//
// Networks of int8 for the tests of this module, layer by layer, in TensorFlow Lite's operators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/transform/cascade/region.h"

namespace neap::cascade {

struct Pair {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

struct LayerShape {
  Pair kernel;
  Pair stride = {1, 1};
  Pair dilation = {1, 1};
  bool same = true;  // false: VALID
};

class Layers {
 public:
  Layers() { graph_.subgraphs.push_back({}); }

  graph::TensorId Input(const graph::Shape& shape);
  graph::TensorId Conv(graph::TensorId from, std::int64_t channels, const LayerShape& shape);
  // The same weights for another layer.
  graph::TensorId ConvWith(graph::TensorId from, graph::OpId weights_of, const LayerShape& shape);
  graph::TensorId Depthwise(graph::TensorId from, const LayerShape& shape);
  graph::TensorId MaxPool(graph::TensorId from, const LayerShape& shape);
  graph::TensorId Add(graph::TensorId a, graph::TensorId b);
  graph::TensorId Relu(graph::TensorId from);
  graph::TensorId Reshape(graph::TensorId from, const graph::Shape& shape);
  // Equal parts of the channels, and the sizes of the first axis one by one.
  std::vector<graph::TensorId> Split(graph::TensorId from, std::int64_t parts);
  std::vector<graph::TensorId> Unpack(graph::TensorId from);
  // The mean of all rows and columns, with both axes or without them.
  graph::TensorId Mean(graph::TensorId from, bool keeps);
  // Needs all of its input for every part of its output.
  graph::TensorId Softmax(graph::TensorId from);
  void Output(graph::TensorId id) { Main().outputs.push_back(id); }

  graph::Subgraph& Main() { return graph_.subgraphs[graph::SubgraphId(0)]; }
  const graph::Graph& Graph() const { return graph_; }
  std::vector<graph::OpId> Ops();
  std::int64_t BytesOf(graph::TensorId id);

 private:
  graph::TensorId Activation(const graph::Shape& shape);
  graph::TensorId Weights(const graph::Shape& shape, std::size_t channel_axis);
  graph::TensorId Bias(std::int64_t channels);
  graph::TensorId Window(const std::string& type, std::vector<graph::TensorId> inputs,
                         std::int64_t channels, const LayerShape& shape);
  std::vector<graph::TensorId> RunSplit(const std::string& type,
                                        std::vector<graph::TensorId> inputs,
                                        const graph::Shape& shape, std::int64_t parts,
                                        std::map<std::string, graph::Attribute> with);
  graph::TensorId Run(const std::string& type, std::vector<graph::TensorId> inputs,
                      const graph::Shape& shape, std::map<std::string, graph::Attribute> with);

  graph::Graph graph_;
  std::int64_t drawn_ = 0;
};

}  // namespace neap::cascade
