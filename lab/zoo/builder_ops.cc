// SPDX-License-Identifier: Apache-2.0
//
// Operators without a window: element-wise ones, data movement, products.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "lab/zoo/builder.h"
#include "lab/zoo/builder_constant.h"
#include "neap/base/check.h"

namespace neap::zoo {

using graph::ElementType;
using graph::Shape;
using graph::TensorId;

TensorId Builder::Indices(const std::string& name, std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Constant(name, ElementType::kInt64, {count}, std::move(values));
}

TensorId Builder::Scalar(const std::string& name, float value) {
  return Constant<float>(name, ElementType::kFloat32, {1}, {value});
}

TensorId Builder::Unary(const std::string& type, const std::string& name, TensorId input,
                        double mean_square, Attributes attributes) {
  return AddOp(
      type, name, {input},
      {.shape = ShapeOf(input), .mean_square = mean_square, .attributes = std::move(attributes)});
}

// Of signed values, half are lost; values that have been rectified before (a shortcut) stay.
double Builder::Rectified(TensorId tensor) const {
  return (MeanSquare(tensor) + Positive(tensor)) / 2;
}

TensorId Builder::Relu(const std::string& name, TensorId input) {
  const double left = Rectified(input);
  return AddOp("Relu", name, {input},
               {.shape = ShapeOf(input), .mean_square = left, .positive = left});
}

TensorId Builder::Relu6(const std::string& name, TensorId input) {
  // Constants of rank 0, as Clip wants them.
  const TensorId low = Constant<float>(name + "/low", ElementType::kFloat32, {}, {0});
  const TensorId high = Constant<float>(name + "/high", ElementType::kFloat32, {}, {6});
  const double left = Rectified(input);
  return AddOp("Clip", name, {input, low, high},
               {.shape = ShapeOf(input), .mean_square = left, .positive = left});
}

TensorId Builder::HardSwish(const std::string& name, TensorId input) {
  return Unary("HardSwish", name, input, MeanSquare(input) / 3);
}

TensorId Builder::HardSigmoid(const std::string& name, TensorId input) {
  return Unary("HardSigmoid", name, input, 0.27, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
}

TensorId Builder::Sigmoid(const std::string& name, TensorId input) {
  return Unary("Sigmoid", name, input, 0.3);
}

TensorId Builder::Gelu(const std::string& name, TensorId input) {
  const double mean_square = MeanSquare(input);
  const TensorId scaled = Scale(name + "/scaled", input, 0.70710678F);
  const TensorId erf = Unary("Erf", name + "/erf", scaled, 0.4);
  const TensorId one = Scalar(name + "/one", 1);
  const TensorId shifted =
      AddOp("Add", name + "/shifted", {erf, one}, {.shape = ShapeOf(input), .mean_square = 1.4});
  const TensorId product = Mul(name + "/product", input, shifted);
  const TensorId output = Scale(name, product, 0.5F);
  trail_[output].mean_square = mean_square * 0.43;
  return output;
}

TensorId Builder::Add(const std::string& name, TensorId a, TensorId b) {
  NEAP_CHECK(ShapeOf(a) == ShapeOf(b), name);
  return AddOp("Add", name, {a, b},
               {.shape = ShapeOf(a),
                .mean_square = MeanSquare(a) + MeanSquare(b),
                .positive = Positive(a) + Positive(b)});
}

TensorId Builder::Sum(const std::string& name, const std::vector<TensorId>& inputs) {
  NEAP_CHECK(inputs.size() >= 2, name);
  double mean_square = 0;
  double positive = 0;
  for (const TensorId input : inputs) {
    NEAP_CHECK(ShapeOf(input) == ShapeOf(inputs.front()), name);
    mean_square += MeanSquare(input);
    positive += Positive(input);
  }
  return AddOp(
      "Sum", name, inputs,
      {.shape = ShapeOf(inputs.front()), .mean_square = mean_square, .positive = positive});
}

TensorId Builder::Mul(const std::string& name, TensorId a, TensorId b) {
  const Shape& large = ShapeOf(a);
  const Shape& small = ShapeOf(b);
  NEAP_CHECK(large.size() == small.size(), name);
  for (std::size_t i = 0; i < large.size(); ++i) {
    NEAP_CHECK(small[i] == large[i] || small[i] == 1, name);
  }
  return AddOp("Mul", name, {a, b}, {.shape = large, .mean_square = MeanSquare(a) * MeanSquare(b)});
}

// A factor belongs to the layer that reads it.
TensorId Builder::Scale(const std::string& name, TensorId input, float factor) {
  const TensorId constant = Scalar(name + "/factor", factor);
  return AddOp("Mul", name, {input, constant},
               {.shape = ShapeOf(input),
                .mean_square = MeanSquare(input) * factor * factor,
                .layers = 0,
                .positive = Positive(input) * factor * factor});
}

TensorId Builder::Softmax(const std::string& name, TensorId input) {
  const auto classes = static_cast<double>(ShapeOf(input).back());
  return Unary("Softmax", name, input, 2 / (classes * classes), {{"axis", std::int64_t{-1}}});
}

TensorId Builder::Concat(const std::string& name, const std::vector<TensorId>& inputs,
                         std::size_t axis) {
  NEAP_CHECK(!inputs.empty() && axis < ShapeOf(inputs.front()).size(), name);
  Shape shape = ShapeOf(inputs.front());
  shape[axis] = 0;
  double squares = 0;
  double positives = 0;
  for (const TensorId input : inputs) {
    Shape part = ShapeOf(input);
    NEAP_CHECK(part.size() == shape.size(), name);
    const std::int64_t size = std::exchange(part[axis], shape[axis]);
    NEAP_CHECK(part == shape, name);
    shape[axis] += size;
    squares += static_cast<double>(size) * MeanSquare(input);
    positives += static_cast<double>(size) * Positive(input);
  }
  const auto total = static_cast<double>(shape[axis]);
  return AddOp("Concat", name, inputs,
               {.shape = std::move(shape),
                .mean_square = squares / total,
                .attributes = {{"axis", static_cast<std::int64_t>(axis)}},
                .positive = positives / total});
}

TensorId Builder::SliceAxes(const std::string& name, TensorId input, const std::vector<Cut>& cuts) {
  Shape shape = ShapeOf(input);
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> axes;
  for (const Cut& cut : cuts) {
    NEAP_CHECK(cut.axis < static_cast<std::int64_t>(shape.size()), name);
    std::int64_t& size = shape[static_cast<std::size_t>(cut.axis)];
    NEAP_CHECK(0 <= cut.begin && cut.begin < cut.end && cut.end <= size, name);
    size = cut.end - cut.begin;
    starts.push_back(cut.begin);
    ends.push_back(cut.end);
    axes.push_back(cut.axis);
  }
  const TensorId start = Indices(name + "/starts", std::move(starts));
  const TensorId end = Indices(name + "/ends", std::move(ends));
  const TensorId axis = Indices(name + "/axes", std::move(axes));
  return AddOp("Slice", name, {input, start, end, axis},
               {.shape = std::move(shape), .mean_square = MeanSquare(input)});
}

TensorId Builder::Crop(const std::string& name, TensorId input, std::int64_t rows) {
  const Shape& in = ShapeOf(input);
  NEAP_CHECK(in.size() == 4, name);
  return SliceAxes(name, input, {{2, rows, in[2]}, {3, rows, in[3]}});
}

TensorId Builder::CenterCrop(const std::string& name, TensorId input, std::int64_t size) {
  const Shape& in = ShapeOf(input);
  NEAP_CHECK(in.size() == 4 && size <= in[2] && size <= in[3], name);
  const std::int64_t row = (in[2] - size) / 2;
  const std::int64_t column = (in[3] - size) / 2;
  return SliceAxes(name, input, {{2, row, row + size}, {3, column, column + size}});
}

TensorId Builder::Slice(const std::string& name, TensorId input, std::int64_t axis,
                        std::int64_t begin, std::int64_t end) {
  return SliceAxes(name, input, {{axis, begin, end}});
}

TensorId Builder::PadOne(const std::string& name, TensorId input) {
  Shape shape = ShapeOf(input);
  NEAP_CHECK(shape.size() == 4, name);
  ++shape[2];
  ++shape[3];
  const TensorId pads = Indices(name + "/pads", {0, 0, 0, 0, 0, 0, 1, 1});
  return AddOp("Pad", name, {input, pads},
               {.shape = std::move(shape), .mean_square = MeanSquare(input)});
}

TensorId Builder::SplitWhole(const std::string& name, TensorId input) {
  return Unary("Split", name, input, MeanSquare(input), {{"axis", std::int64_t{1}}});
}

TensorId Builder::Flatten(const std::string& name, TensorId input) {
  const Shape& in = ShapeOf(input);
  return AddOp("Flatten", name, {input},
               {.shape = {in[0], Elements(in) / in[0]},
                .mean_square = MeanSquare(input),
                .attributes = {{"axis", std::int64_t{1}}}});
}

TensorId Builder::Reshape(const std::string& name, TensorId input, Shape shape) {
  NEAP_CHECK(Elements(shape) == Elements(ShapeOf(input)), name);
  const TensorId target = Indices(name + "/shape", shape);
  return AddOp("Reshape", name, {input, target},
               {.shape = std::move(shape), .mean_square = MeanSquare(input)});
}

TensorId Builder::Transpose(const std::string& name, TensorId input,
                            const std::vector<std::int64_t>& permutation) {
  const Shape& in = ShapeOf(input);
  NEAP_CHECK(permutation.size() == in.size(), name);
  Shape shape;
  for (const std::int64_t axis : permutation) shape.push_back(in[static_cast<std::size_t>(axis)]);
  return AddOp("Transpose", name, {input},
               {.shape = std::move(shape),
                .mean_square = MeanSquare(input),
                .attributes = {{"perm", permutation}}});
}

TensorId Builder::MatMul(const std::string& name, TensorId a, TensorId b) {
  Shape shape = ShapeOf(a);
  const Shape& right = ShapeOf(b);
  const std::size_t rank = shape.size();
  NEAP_CHECK(rank >= 2 && right.size() == rank && shape[rank - 1] == right[rank - 2], name);
  NEAP_CHECK(std::equal(shape.begin(), shape.end() - 2, right.begin()), name);
  const std::int64_t terms = shape.back();
  shape.back() = right.back();
  facts_.multiply_accumulates += Elements(shape) * terms;
  const double mean_square = static_cast<double>(terms) * MeanSquare(a) * MeanSquare(b);
  return AddOp("MatMul", name, {a, b}, {.shape = std::move(shape), .mean_square = mean_square});
}

}  // namespace neap::zoo
