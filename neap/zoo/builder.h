// SPDX-License-Identifier: Apache-2.0
//
// Writes a network down operator by operator, the way its definition reads: computes shapes, draws
// weights, counts parameters and multiplications.
//
// Weights are uniform around zero, from seeded integers through +, *, / and sqrt only, so that they
// have the same bits on every machine. Their scale keeps activations near unit size however deep
// and however wired the network is: the builder carries a rough mean square of every tensor along
// (a sum adds them, a ReLU halves it) and divides it out in the next convolution, which is what the
// batch normalisation folded into it would have done after training. After ReLU this is He's rule.
//
// Names must be unique; the output tensor has the name of its operator, its weights that name with
// "/weight" and "/bias". A call that a definition could not contain (shapes that do not fit) is a
// defect of the recipe, hence an InternalError.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "neap/base/random.h"
#include "neap/graph/graph.h"
#include "neap/zoo/zoo.h"

namespace neap::zoo {

// A square convolution, padded by half of its (dilated, odd) kernel on every side.
struct ConvSpec {
  std::int64_t channels = 0;  // of the output; not used by DepthwiseConv
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  bool batch_norm = false;  // followed by a batch normalisation: folded, hence a bias
};

// A square pooling window, padded by half of its odd size on every side.
struct PoolSpec {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
};

class Builder {
 public:
  Builder(std::string name, std::uint64_t weight_seed);

  graph::TensorId Input(const std::string& name, graph::Shape shape);
  graph::TensorId Conv(const std::string& name, graph::TensorId input, const ConvSpec& spec);
  graph::TensorId DepthwiseConv(const std::string& name, graph::TensorId input,
                                const ConvSpec& spec);
  graph::TensorId Relu(const std::string& name, graph::TensorId input);
  graph::TensorId Add(const std::string& name, graph::TensorId a, graph::TensorId b);
  // n-ary, at least two of equal shape.
  graph::TensorId Sum(const std::string& name, const std::vector<graph::TensorId>& inputs);
  graph::TensorId Scale(const std::string& name, graph::TensorId input, float factor);
  // By a learned factor in (0, 1), drawn like a weight.
  graph::TensorId Gate(const std::string& name, graph::TensorId input);
  // Of channels.
  graph::TensorId Concat(const std::string& name, const std::vector<graph::TensorId>& inputs);
  // Without the first `rows` rows and columns.
  graph::TensorId Crop(const std::string& name, graph::TensorId input, std::int64_t rows);
  graph::TensorId MaxPool(const std::string& name, graph::TensorId input, const PoolSpec& spec);
  // Padding does not count.
  graph::TensorId AveragePool(const std::string& name, graph::TensorId input, const PoolSpec& spec);
  graph::TensorId GlobalAveragePool(const std::string& name, graph::TensorId input);
  // All but the batch into one dimension.
  graph::TensorId Flatten(const std::string& name, graph::TensorId input);
  // Fully connected, with bias, of a flat input.
  graph::TensorId Gemm(const std::string& name, graph::TensorId input, std::int64_t features);
  graph::TensorId Softmax(const std::string& name, graph::TensorId input);
  void Output(graph::TensorId tensor);

  const graph::Shape& ShapeOf(graph::TensorId tensor) const;
  std::int64_t Channels(graph::TensorId tensor) const { return ShapeOf(tensor)[1]; }

  // Hands the network over; the builder is empty afterwards.
  Network Finish();

 private:
  using Attributes = std::map<std::string, graph::Attribute>;

  graph::TensorId AddTensor(const std::string& name, graph::ElementType type, graph::Shape shape,
                            double mean_square);
  // A constant that holds `values` as they lie in memory.
  template <typename T>
  graph::TensorId Constant(const std::string& name, graph::ElementType type, graph::Shape shape,
                           std::vector<T> values);
  graph::TensorId Weights(const std::string& name, graph::Shape shape, double mean_square);
  graph::TensorId AddOp(const std::string& type, const std::string& name,
                        std::vector<graph::TensorId> inputs, graph::Shape shape, double mean_square,
                        Attributes attributes);
  graph::TensorId Convolve(const std::string& name, graph::TensorId input, const ConvSpec& spec,
                           std::int64_t channels, std::int64_t groups);
  graph::TensorId Pool(const std::string& type, const std::string& name, graph::TensorId input,
                       const PoolSpec& spec, double growth, Attributes attributes);

  graph::Subgraph subgraph_;
  IdVector<graph::TensorId, double> mean_square_;
  std::unordered_set<std::string> names_;
  Random random_;
  Facts facts_;
};

}  // namespace neap::zoo
