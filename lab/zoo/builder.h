// SPDX-License-Identifier: Apache-2.0
//
// Writes a network down operator by operator, the way its definition reads: computes shapes, draws
// weights, counts parameters and multiplications.
//
// Weights are uniform around zero, from seeded integers through +, *, / and sqrt only, so that they
// have the same bits on every machine. Their scale keeps activations near unit size however deep
// and however wired the network is: the builder carries a rough mean square of every tensor along
// (a sum adds them, a ReLU halves signed values) and divides it out in the next convolution, as the
// batch normalisation folded into it would have done after training. After ReLU this is He's rule.
// Classifiers are the exception: their outputs are larger, because classes of unit size would leave
// a softmax over a thousand of them without a winner, and in 8 bits with nothing but zeros.
//
// Names must be unique; the output tensor has the name of its operator, its weights that name with
// "/weight" and "/bias". A call that a definition could not contain (shapes that do not fit) is a
// defect of the recipe, hence an InternalError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "lab/zoo/layer_recorder.h"
#include "lab/zoo/zoo.h"
#include "neap/base/random.h"
#include "neap/graph/graph.h"

namespace neap::zoo {

// Zeros around the input of a window.
enum class Padding {
  kHalf,   // half of the (dilated, odd) extent on every side
  kSame,   // as many as make ceil(size / stride) outputs, the odd one below and to the right
  kValid,  // none
};

struct ConvSpec {
  std::int64_t channels = 0;  // of the output; not used by DepthwiseConv
  std::int64_t kernel = 1;    // height, and width unless that is given
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  bool batch_norm = false;  // followed by a batch normalisation: folded, hence a bias
  Padding padding = Padding::kHalf;
  std::int64_t kernel_width = 0;
  bool bias = false;        // of its own; beside a batch normalisation it changes the count alone
  bool unscaled = false;    // the batch normalisation has no learned scale
  int extra_layers = 0;     // see Body: 1 for a padding, -1 where it is one layer with the next
  bool classifier = false;  // its outputs are larger: see above
};

struct PoolSpec {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  Padding padding = Padding::kHalf;
  int extra_layers = 0;
};

class Builder {
 public:
  // Without weights, constants have shapes but no data, and the network cannot be written.
  Builder(std::string name, std::uint64_t weight_seed, bool weights = true);

  graph::TensorId Input(const std::string& name, graph::Shape shape);
  // A learned tensor that is read as it is. `name` ends in "/weight" or "/bias".
  graph::TensorId Parameter(const std::string& name, graph::Shape shape);

  // Windows, of [batch, channels, height, width].
  graph::TensorId Conv(const std::string& name, graph::TensorId input, const ConvSpec& spec);
  graph::TensorId DepthwiseConv(const std::string& name, graph::TensorId input,
                                const ConvSpec& spec);
  // 2x2 with stride 2 and bias: doubles height and width.
  graph::TensorId UpConv(const std::string& name, graph::TensorId input, std::int64_t channels);
  graph::TensorId MaxPool(const std::string& name, graph::TensorId input, const PoolSpec& spec);
  // Padding does not count.
  graph::TensorId AveragePool(const std::string& name, graph::TensorId input, const PoolSpec& spec);
  graph::TensorId GlobalAveragePool(const std::string& name, graph::TensorId input);

  // A batch normalisation that no convolution can take in.
  graph::TensorId BatchNorm(const std::string& name, graph::TensorId input);
  // Over the last dimension.
  graph::TensorId LayerNorm(const std::string& name, graph::TensorId input);

  // Element by element.
  graph::TensorId Relu(const std::string& name, graph::TensorId input);
  graph::TensorId Relu6(const std::string& name, graph::TensorId input);
  graph::TensorId HardSwish(const std::string& name, graph::TensorId input);
  graph::TensorId HardSigmoid(const std::string& name, graph::TensorId input);
  graph::TensorId Sigmoid(const std::string& name, graph::TensorId input);
  // The exact one, of five operators around Erf.
  graph::TensorId Gelu(const std::string& name, graph::TensorId input);
  graph::TensorId Add(const std::string& name, graph::TensorId a, graph::TensorId b);
  // n-ary, at least two of equal shape.
  graph::TensorId Sum(const std::string& name, const std::vector<graph::TensorId>& inputs);
  // Dimensions of `b` may be 1 where those of `a` are not.
  graph::TensorId Mul(const std::string& name, graph::TensorId a, graph::TensorId b);
  graph::TensorId Scale(const std::string& name, graph::TensorId input, float factor);
  // By a learned factor in (0, 1), drawn like a weight.
  graph::TensorId Gate(const std::string& name, graph::TensorId input);
  // Over the last dimension.
  graph::TensorId Softmax(const std::string& name, graph::TensorId input);

  // Data movement.
  graph::TensorId Concat(const std::string& name, const std::vector<graph::TensorId>& inputs,
                         std::size_t axis = 1);
  // Without the first `rows` rows and columns.
  graph::TensorId Crop(const std::string& name, graph::TensorId input, std::int64_t rows);
  // The middle `size` rows and columns.
  graph::TensorId CenterCrop(const std::string& name, graph::TensorId input, std::int64_t size);
  // Elements [begin, end) of one dimension.
  graph::TensorId Slice(const std::string& name, graph::TensorId input, std::int64_t axis,
                        std::int64_t begin, std::int64_t end);
  // One more row of zeros below, one more column at the right.
  graph::TensorId PadOne(const std::string& name, graph::TensorId input);
  // Into a single part: a copy, as some converters leave it.
  graph::TensorId SplitWhole(const std::string& name, graph::TensorId input);
  // All but the batch into one dimension.
  graph::TensorId Flatten(const std::string& name, graph::TensorId input);
  graph::TensorId Reshape(const std::string& name, graph::TensorId input, graph::Shape shape);
  graph::TensorId Transpose(const std::string& name, graph::TensorId input,
                            const std::vector<std::int64_t>& permutation);

  // A fully connected classifier, with bias, of a flat input.
  graph::TensorId Gemm(const std::string& name, graph::TensorId input, std::int64_t features);
  // The same of the last dimension of any input, as a MatMul and an Add.
  graph::TensorId Linear(const std::string& name, graph::TensorId input, std::int64_t features);
  // Of equal leading dimensions.
  graph::TensorId MatMul(const std::string& name, graph::TensorId a, graph::TensorId b);

  // What follows `features` is the classifier, which Facts::body leaves out.
  void EndBody(graph::TensorId features);
  void Output(graph::TensorId tensor);

  const graph::Shape& ShapeOf(graph::TensorId tensor) const;
  const std::string& NameOf(graph::TensorId tensor) const { return subgraph_.tensors[tensor].name; }
  std::int64_t Channels(graph::TensorId tensor) const { return ShapeOf(tensor)[1]; }

  // Returns the network; the builder is empty afterwards.
  Network Finish();

 private:
  using Attributes = std::map<std::string, graph::Attribute>;

  // The builder's data of a tensor beside its shape.
  struct Trail {
    double mean_square = 0;
    double positive = 0;     // the part of it that comes from values without a sign
    std::int64_t depth = 0;  // most layers of the definition on a path to it, itself included
  };
  struct Made {
    graph::Shape shape;
    double mean_square = 0;
    Attributes attributes = {};
    int layers = 1;
    double positive = 0;
    // Of the layer graph: see RecordedLayers.
    graph::Shape padded = {};
    bool normalised = false;
    std::int64_t norm_parameters = 0;
  };

  double MeanSquare(graph::TensorId tensor) const { return trail_[tensor].mean_square; }
  double Positive(graph::TensorId tensor) const { return trail_[tensor].positive; }
  double Rectified(graph::TensorId tensor) const;
  graph::TensorId AddTensor(const std::string& name, graph::ElementType type, graph::Shape shape,
                            const Trail& trail);
  // A constant with the bytes of `values` as they are in memory.
  template <typename T>
  graph::TensorId Constant(const std::string& name, graph::ElementType type, graph::Shape shape,
                           std::vector<T> values);
  graph::TensorId Indices(const std::string& name, std::vector<std::int64_t> values);
  graph::TensorId Scalar(const std::string& name, float value);
  // Counts `shape` as learned numbers, and creates a constant from consecutive results of `next`.
  template <typename F>
  graph::TensorId Learned(const std::string& name, graph::Shape shape, const F& next);
  graph::TensorId Weights(const std::string& name, graph::Shape shape, double mean_square);
  graph::TensorId Filled(const std::string& name, graph::Shape shape, double value);
  graph::TensorId AddOp(const std::string& type, const std::string& name,
                        std::vector<graph::TensorId> inputs, Made made);
  void Record(const std::string& type, const std::string& name, const graph::Op& op,
              const Made& made);
  graph::TensorId Convolve(const std::string& name, graph::TensorId input, const ConvSpec& spec,
                           std::int64_t channels, std::int64_t groups);
  graph::TensorId Pool(const std::string& type, const std::string& name, graph::TensorId input,
                       const PoolSpec& spec, Made made);
  graph::TensorId Unary(const std::string& type, const std::string& name, graph::TensorId input,
                        double mean_square, Attributes attributes = {});
  struct Cut {
    std::int64_t axis = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  graph::TensorId SliceAxes(const std::string& name, graph::TensorId input,
                            const std::vector<Cut>& cuts);

  graph::Subgraph subgraph_;
  IdVector<graph::TensorId, Trail> trail_;
  std::unordered_set<std::string> names_;
  Random random_;
  bool weights_;
  Facts facts_;
  Body body_;
  LayerRecorder layers_;
  // Parts of the facts that the layer graph already contains.
  std::int64_t recorded_parameters_ = 0;
  std::int64_t recorded_macs_ = 0;
};

}  // namespace neap::zoo
