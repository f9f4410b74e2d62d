// SPDX-License-Identifier: Apache-2.0
//
// Random networks of signals: tensors of any shape, whose rows are time steps, tokens or a batch.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "testing/execute.h"
#include "testing/streams.h"

namespace neap::stream::test {
namespace {

using graph::Attribute;
using graph::ElementType;
using graph::Shape;
using graph::TensorId;
using Attributes = std::map<std::string, Attribute>;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kMaxElements = 2000;

std::int64_t CountOf(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  return count;
}

class SignalMaker {
 public:
  SignalMaker(Random* random, bool onnx) : random_(*random), onnx_(onnx) {}

  graph::Graph Make(int operators) {
    const std::int64_t rows = random_.Between(2, 12);
    const std::int64_t channels = random_.Between(1, 6);
    const Shape shapes[] = {{rows, channels},
                            {1, rows, channels},
                            {rows, 1, channels},
                            {rows, random_.Between(1, 3), channels},
                            {1, random_.Between(1, 4), rows, channels},
                            {random_.Between(2, 3), 4, rows, channels}};
    const Shape& shape = shapes[random_.Below(std::size(shapes))];
    if (random_.Below(3) == 0) {
      AddEmbedding(rows, channels);
    } else {
      open_.push_back(maker_.Input(ElementType::kFloat32, shape));
    }
    for (int i = 0; i < operators; ++i) AddOperator();
    if (random_.Below(2) == 0) AddEnd();
    std::vector<TensorId> read;
    for (const graph::Op& op : maker_.Main().ops) {
      read.insert(read.end(), op.inputs.begin(), op.inputs.end());
    }
    for (const TensorId id : open_) {
      // Some results have no consumers.
      if (id != open_.back() && random_.Below(4) == 0) continue;
      if (std::find(read.begin(), read.end(), id) == read.end()) maker_.Output(id);
    }
    return maker_.graph();
  }

 private:
  const Shape& ShapeOf(TensorId id) { return *maker_.Main().tensors[id].shape; }
  TensorId Values(const Shape& shape) {
    return maker_.Constant(ElementType::kFloat32, shape,
                           execute::RandomFloats(CountOf(shape), &random_));
  }
  TensorId Whole(const Integers& values) {
    const auto size = static_cast<std::int64_t>(values.size());
    if (onnx_) return maker_.Constant(ElementType::kInt64, {size}, values);
    return maker_.Constant(ElementType::kInt32, {size},
                           std::vector<std::int32_t>(values.begin(), values.end()));
  }
  TensorId Add(const std::string& tflite, const std::string& onnx, std::vector<TensorId> inputs,
               Shape shape, Attributes attributes = {}, ElementType type = ElementType::kFloat32) {
    const TensorId out = maker_.Tensor(type, std::move(shape));
    const graph::OpId id = maker_.Op(onnx_ ? "" : "tflite", onnx_ ? onnx : tflite,
                                     std::move(inputs), {out}, std::move(attributes));
    maker_.Main().ops[id].version = onnx_ ? 13 : 1;
    open_.push_back(out);
    return out;
  }

  // A row of a table for each of some tokens.
  void AddEmbedding(std::int64_t rows, std::int64_t channels) {
    const Shape shapes[] = {{1, rows}, {rows}, {1, 1, rows}};
    const Shape& tokens = shapes[random_.Below(std::size(shapes))];
    const TensorId input = maker_.Input(onnx_ ? ElementType::kInt64 : ElementType::kInt32, tokens);
    Shape out = tokens;
    out.push_back(channels);
    Add("GATHER", "Gather", {Values({300, channels}), input}, std::move(out),
        {{"axis", std::int64_t{0}}});
  }

  TensorId Pick() {
    return random_.Below(4) == 0 ? open_[random_.Below(open_.size())] : open_.back();
  }

  void AddOperator() {
    const TensorId in = Pick();
    const Shape shape = ShapeOf(in);
    switch (random_.Below(12)) {
      case 11:
        return AddSlice(in);
      case 10:
        return AddSplit(in);
      case 0:
      case 1:
        return AddProduct(in);
      case 2:
        Add(random_.Below(2) == 0 ? "RELU" : "LOGISTIC", "Relu", {in}, shape);
        return;
      case 3:
        Add("SOFTMAX", "Softmax", {in}, shape,
            onnx_ ? Attributes{{"axis", std::int64_t{-1}}} : Attributes{{"beta", 1.0}});
        return;
      case 4:
        return Join(in);
      case 5:
        return AddTranspose(in);
      case 6:
      case 7:
        return AddReshape(in);
      case 8:
        return AddAttention(in);
      default:
        return AddNormalised(in);
    }
  }

  // Of every row with a matrix.
  void AddProduct(TensorId in) {
    Shape out = ShapeOf(in);
    const std::int64_t channels = out.back();
    out.back() = random_.Between(1, 8);
    if (CountOf(out) > kMaxElements) return;
    if (!onnx_) {
      Add("FULLY_CONNECTED", "", {in, Values({out.back(), channels}), Values({out.back()})}, out,
          {{"keep_num_dims", std::int64_t{1}}});
    } else if (out.size() == 2 && random_.Below(2) == 0) {
      Add("", "Gemm", {in, Values({channels, out.back()}), Values({out.back()})}, out);
    } else {
      Add("", "MatMul", {in, Values({channels, out.back()})}, out);
    }
  }

  // With another one, or with constants, or behind itself.
  void Join(TensorId in) {
    const Shape shape = ShapeOf(in);
    for (const TensorId other : open_) {
      if (other == in || ShapeOf(other) != shape || random_.Below(2) == 0) continue;
      Add("ADD", "Add", {in, other}, shape);
      return;
    }
    if (random_.Below(2) == 0) {
      Add("MUL", "Mul", {in, Values({shape.back()})}, shape);
      return;
    }
    const std::size_t axis = random_.Below(shape.size());
    Shape out = shape;
    out[axis] *= 2;
    if (CountOf(out) > kMaxElements) return;
    Add("CONCATENATION", "Concat", {in, in}, out, {{"axis", static_cast<std::int64_t>(axis)}});
  }

  // Parts along any dimension, or, of .tflite, one of each index.
  void AddSplit(TensorId in) {
    const Shape shape = ShapeOf(in);
    const std::size_t axis = random_.Below(shape.size());
    const std::int64_t parts = shape[axis] % 2 == 0 ? 2 : shape[axis];
    if (parts < 2 || parts > 5) {
      Add("RELU", "Relu", {in}, shape);
      return;
    }
    const bool unpacks = !onnx_ && shape[axis] == parts && shape.size() > 2;
    Shape part = shape;
    part[axis] /= parts;
    if (unpacks) part.erase(part.begin() + static_cast<std::ptrdiff_t>(axis));
    std::vector<TensorId> outputs;
    for (std::int64_t p = 0; p < parts; ++p) {
      outputs.push_back(maker_.Tensor(ElementType::kFloat32, part));
    }
    open_.insert(open_.end(), outputs.begin(), outputs.end());
    const auto along = static_cast<std::int64_t>(axis);
    std::vector<TensorId> inputs = {in};
    if (!onnx_ && !unpacks) {
      const TensorId dimension = maker_.Constant(
          ElementType::kInt32, {}, std::vector<std::int32_t>{static_cast<std::int32_t>(axis)});
      inputs.insert(inputs.begin(), dimension);
    }
    const graph::OpId id =
        maker_.Op(onnx_ ? "" : "tflite",
                  onnx_     ? "Split"
                  : unpacks ? "UNPACK"
                            : "SPLIT",
                  inputs, outputs, {{"axis", along}, {"num", parts}, {"num_splits", parts}});
    maker_.Main().ops[id].version = onnx_ ? 13 : 1;
  }

  // From some index of every dimension on, one by one; sometimes every second one.
  void AddSlice(TensorId in) {
    const Shape shape = ShapeOf(in);
    Integers begins;
    Integers steps;
    Integers axes;
    Shape out;
    for (const std::int64_t d : shape) {
      axes.push_back(static_cast<std::int64_t>(axes.size()));
      begins.push_back(random_.Below(3) == 0 ? random_.Between(0, d - 1) : 0);
      steps.push_back(random_.Below(8) == 0 ? 2 : 1);
      out.push_back((d - begins.back() + steps.back() - 1) / steps.back());
    }
    if (onnx_) {
      Add("", "Slice", {in, Whole(begins), Whole(shape), Whole(axes), Whole(steps)}, out);
    } else if (random_.Below(2) == 0) {
      Add("STRIDED_SLICE", "", {in, Whole(begins), Whole(shape), Whole(steps)}, out);
    } else {
      for (std::size_t d = 0; d < shape.size(); ++d) out[d] = shape[d] - begins[d];
      Add("SLICE", "", {in, Whole(begins), Whole(out)}, out);
    }
  }

  TensorId Transposed(TensorId in, const Integers& order) {
    Shape out;
    for (const std::int64_t d : order) out.push_back(ShapeOf(in)[static_cast<std::size_t>(d)]);
    if (onnx_) return Add("", "Transpose", {in}, out, {{"perm", order}});
    return Add("TRANSPOSE", "", {in, Whole(order)}, out);
  }

  void AddTranspose(TensorId in) {
    Integers order;
    for (std::size_t d = 0; d < ShapeOf(in).size(); ++d) {
      order.push_back(static_cast<std::int64_t>(d));
    }
    const std::size_t first = random_.Below(order.size() - 1);
    std::swap(order[first], order[random_.Below(4) == 0 ? order.size() - 1 : first + 1]);
    Transposed(in, order);
  }

  // Two dimensions become one, one becomes two, a one comes or goes.
  void AddReshape(TensorId in) {
    Shape out = ShapeOf(in);
    const std::size_t at = random_.Below(out.size());
    const auto place = out.begin() + static_cast<std::ptrdiff_t>(at);
    const auto one = std::find(out.begin(), out.end(), 1);
    const std::uint64_t way = random_.Below(4);
    if (way == 0 && out.size() > 2 && at + 1 < out.size()) {
      out[at + 1] *= *place;
      out.erase(place);
    } else if (way == 1 && out.size() < 4) {
      const std::int64_t part = *place % 2 == 0 ? 2 : 1;
      *place /= part;
      out.insert(place, part);
    } else if (way == 2 && out.size() > 2 && one != out.end()) {
      out.erase(one);
    } else if (out.size() < 4) {
      out.insert(place, 1);
    }
    Add("RESHAPE", "Reshape", {in, Whole(Integers(out.begin(), out.end()))}, out);
  }

  // Rows of scores, normalised, times rows of values: both are those of `in`.
  void AddAttention(TensorId in) {
    const Shape shape = ShapeOf(in);
    const std::size_t rank = shape.size();
    if (!onnx_ && random_.Below(3) == 0) return AddCovariance(in);
    Shape scores = shape;
    scores.back() = shape[rank - 2];
    if (CountOf(scores) > kMaxElements) return;
    TensorId weights;
    if (onnx_) {
      Integers order;
      for (std::size_t d = 0; d < rank; ++d) order.push_back(static_cast<std::int64_t>(d));
      std::swap(order[rank - 1], order[rank - 2]);
      weights = Add("", "MatMul", {in, Transposed(in, order)}, scores);
    } else {
      weights = Add("BATCH_MATMUL", "", {in, in}, scores, {{"adj_y", std::int64_t{1}}});
    }
    const TensorId normal =
        Add("SOFTMAX", "Softmax", {weights}, scores,
            onnx_ ? Attributes{{"axis", std::int64_t{-1}}} : Attributes{{"beta", 1.0}});
    Add("BATCH_MATMUL", "MatMul", {normal, in}, shape);
  }

  // Products of columns: rows of the output are channels of the first input.
  void AddCovariance(TensorId in) {
    Shape rows = ShapeOf(in);
    if (random_.Below(2) == 0) rows = {1, 1, CountOf(rows)};
    const TensorId first =
        rows == ShapeOf(in)
            ? in
            : Add("RESHAPE", "", {in, Whole(Integers(rows.begin(), rows.end()))}, rows);
    Shape out = rows;
    out[out.size() - 2] = out.back();
    if (CountOf(out) > kMaxElements) return;
    Add("BATCH_MATMUL", "", {first, first}, out, {{"adj_x", std::int64_t{1}}});
  }

  void AddNormalised(TensorId in) {
    const Shape shape = ShapeOf(in);
    const auto last = static_cast<std::int64_t>(shape.size()) - 1;
    Shape mean = shape;
    mean.back() = 1;
    if (onnx_ && random_.Below(2) == 0) {
      const TensorId out =
          Add("", "LayerNormalization", {in, Values({shape.back()}), Values({shape.back()})}, shape,
              {{"axis", std::int64_t{-1}}});
      maker_.Main()
          .ops[graph::OpId(static_cast<std::int32_t>(maker_.Main().ops.size()) - 1)]
          .version = 17;
      static_cast<void>(out);
      return;
    }
    const TensorId middle =
        onnx_ ? Add("", "ReduceMean", {in}, mean,
                    {{"axes", Integers{last}}, {"keepdims", std::int64_t{1}}})
              : Add("MEAN", "", {in, Whole({last})}, mean, {{"keep_dims", std::int64_t{1}}});
    Add("SUB", "Sub", {in, middle}, shape);
  }

  // The mean of all places, or the best channel of each.
  void AddEnd() {
    const TensorId in = open_.back();
    const Shape shape = ShapeOf(in);
    if (!onnx_ && shape.size() > 2 && shape[0] == 1) {
      Integers places;
      for (std::size_t d = 1; d + 1 < shape.size(); ++d) {
        places.push_back(static_cast<std::int64_t>(d));
      }
      Add(random_.Below(3) == 0 ? "SUM" : "MEAN", "", {in, Whole(places)}, {1, shape.back()},
          {{"keep_dims", std::int64_t{0}}});
      return;
    }
    Shape out = shape;
    out.pop_back();
    if (onnx_) return;
    const TensorId axis = maker_.Constant(
        ElementType::kInt32, {}, std::vector<std::int32_t>{static_cast<std::int32_t>(out.size())});
    Add("ARG_MAX", "", {in, axis}, out, {{"output_type", std::int64_t{2}}}, ElementType::kInt32);
  }

  Random& random_;
  bool onnx_;
  execute::GraphMaker maker_;
  std::vector<TensorId> open_;
};

}  // namespace

graph::Graph RandomSignals(Random* random, int operators, bool onnx) {
  return SignalMaker(random, onnx).Make(operators);
}

}  // namespace neap::stream::test
