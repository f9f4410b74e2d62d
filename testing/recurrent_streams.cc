// SPDX-License-Identifier: Apache-2.0
//
// Random networks of operators over time that carry a state.
#include <algorithm>
#include <cstdint>
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

class RecurrentMaker {
 public:
  explicit RecurrentMaker(Random* random) : random_(*random) {}

  graph::Graph Make(int operators) {
    steps_ = random_.Between(2, 14);
    batch_ = random_.Below(3) == 0 ? 2 : 1;
    const std::int64_t channels = random_.Between(1, 6);
    if (random_.Below(2) == 0) {
      batch_ = 1;
      AddConvolutions(channels);
    } else {
      now_ = maker_.Input(ElementType::kFloat32, {steps_, batch_, channels});
    }
    bool ended = false;
    for (int i = 0; i < operators && !ended; ++i) ended = AddOperator();
    maker_.Output(now_);
    return maker_.graph();
  }

 private:
  TensorId Values(const Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    return maker_.Constant(ElementType::kFloat32, shape, execute::RandomFloats(count, &random_));
  }
  TensorId Whole(const Integers& values) {
    return maker_.Constant(ElementType::kInt64, {static_cast<std::int64_t>(values.size())}, values);
  }
  const Shape& ShapeOf(TensorId id) { return *maker_.Main().tensors[id].shape; }
  void AddOp(const std::string& type, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
             Attributes attributes = {}) {
    const graph::OpId id =
        maker_.Op("", type, std::move(inputs), std::move(outputs), std::move(attributes));
    maker_.Main().ops[id].version = 13;
  }
  void Add(const std::string& type, std::vector<TensorId> inputs, Shape shape,
           Attributes attributes = {}) {
    now_ = maker_.Floats(std::move(shape));
    AddOp(type, std::move(inputs), {now_}, std::move(attributes));
  }

  // Over (1, channels, time), then time first.
  void AddConvolutions(std::int64_t channels) {
    const std::int64_t stride = random_.Between(1, 2);
    const std::int64_t kernel = random_.Between(stride, 4);
    const std::int64_t before = random_.Between(0, kernel - 1);
    const std::int64_t wide = (steps_ - 1) * stride + kernel - before;
    now_ = maker_.Input(ElementType::kFloat32, {1, channels, wide});
    const std::int64_t out = random_.Between(1, 6);
    Add("Conv", {now_, Values({out, channels, kernel})}, {1, out, steps_},
        {{"kernel_shape", Integers{kernel}},
         {"strides", Integers{stride}},
         {"pads", Integers{before, 0}}});
    if (random_.Below(2) == 0) Add("Relu", {now_}, {1, out, steps_});
    Add("Transpose", {now_}, {steps_, 1, out}, {{"perm", Integers{2, 0, 1}}});
  }

  // Of (time, batch, channels). True: what it computes has no time.
  bool AddOperator() {
    const std::int64_t channels = ShapeOf(now_)[2];
    switch (random_.Below(6)) {
      case 0: {
        const std::int64_t out = random_.Between(1, 8);
        Add("MatMul", {now_, Values({channels, out})}, {steps_, batch_, out});
        return false;
      }
      case 1:
        Add("Tanh", {now_}, ShapeOf(now_));
        return false;
      default:
        return AddRecurrent(channels);
    }
  }

  TensorId State(std::int64_t hidden) {
    const Shape shape = {1, batch_, hidden};
    switch (random_.Below(4)) {
      case 0:
        return Values(shape);
      case 1:
        return maker_.Input(ElementType::kFloat32, shape);
      default:
        return {};
    }
  }

  bool AddRecurrent(std::int64_t channels) {
    constexpr const char* kTypes[] = {"LSTM", "LSTM", "GRU", "GRU", "RNN"};
    const std::string type = kTypes[random_.Below(5)];
    const bool lstm = type == "LSTM";
    const std::int64_t hidden = random_.Between(1, 5);
    const std::int64_t rows = (lstm ? 4 : type == "GRU" ? 3 : 1) * hidden;
    std::vector<TensorId> inputs = {now_, Values({1, rows, channels})};
    inputs.push_back(Values({1, rows, hidden}));
    inputs.push_back(random_.Below(2) == 0 ? Values({1, 2 * rows}) : TensorId());
    inputs.emplace_back();
    inputs.push_back(State(hidden));
    if (lstm) inputs.push_back(State(hidden));
    while (!inputs.back().valid()) inputs.pop_back();
    const Shape state = {1, batch_, hidden};
    const TensorId all = maker_.Floats({steps_, 1, batch_, hidden});
    const bool last = random_.Below(3) == 0;
    const bool named = random_.Below(2) == 0;  // outputs without a consumer
    std::vector<TensorId> outputs = {last && !named ? TensorId() : all};
    const TensorId end = maker_.Floats(state);
    if (last || named) outputs.push_back(end);
    if (lstm && named) outputs.push_back(maker_.Floats(state));
    Attributes attributes = {{"hidden_size", hidden}};
    constexpr const char* kFunctions[] = {"Tanh", "Relu", "Sigmoid"};
    const std::string function = kFunctions[random_.Below(3)];
    if (type == "RNN" && random_.Below(2) == 0) {
      attributes["activations"] = std::vector<std::string>{function};
    }
    AddOp(type, std::move(inputs), std::move(outputs), std::move(attributes));
    // Both are read: it runs as a whole.
    if (last && named && random_.Below(3) == 0) maker_.Output(all);
    if (last) {
      now_ = end;
      if (random_.Below(2) == 0) {
        Add("MatMul", {now_, Values({hidden, 3})}, {1, batch_, 3});
      }
      return true;
    }
    now_ = all;
    Add("Reshape", {now_, Whole({steps_, batch_, hidden})}, {steps_, batch_, hidden});
    if (random_.Below(4) != 0) return false;
    // Only the last step is used.
    Add("Slice", {now_, Whole({steps_ - 1}), Whole({steps_}), Whole({0})}, {1, batch_, hidden});
    return true;
  }

  Random& random_;
  execute::GraphMaker maker_;
  std::int64_t steps_ = 0;
  std::int64_t batch_ = 1;
  TensorId now_;
};

class SequenceMaker {
 public:
  explicit SequenceMaker(Random* random)
      : random_(*random),
        type_(random->Below(2) == 0 ? ElementType::kFloat32 : ElementType::kInt8) {}

  graph::Graph Make(int operators) {
    time_major_ = random_.Below(2) == 0;
    steps_ = random_.Between(2, 12);
    batch_ = random_.Below(4) == 0 ? 2 : 1;
    const std::int64_t channels = random_.Between(1, 6);
    if (random_.Below(2) == 0) {
      batch_ = 1;
      AddConvolution(channels);
    } else {
      now_ = Values(Lead(channels));
      maker_.Main().inputs.push_back(now_);
    }
    for (int i = 0; i < operators; ++i) {
      const bool product = random_.Below(3) == 0;
      product ? AddProduct() : AddLstm();
    }
    if (random_.Below(3) == 0) AddLastStep();
    maker_.Output(now_);
    return maker_.graph();
  }

 private:
  bool floats() const { return type_ == ElementType::kFloat32; }
  Shape Lead(std::int64_t channels) const {
    return time_major_ ? Shape{steps_, batch_, channels} : Shape{batch_, steps_, channels};
  }
  const Shape& ShapeOf(TensorId id) { return *maker_.Main().tensors[id].shape; }
  TensorId Values(Shape shape) {
    const TensorId id = maker_.Tensor(type_, std::move(shape));
    if (!floats()) maker_.Quantize(id, 0.0157F, random_.Between(-9, 9));
    return id;
  }
  TensorId Weights(const Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    if (floats()) {
      return maker_.Constant(type_, shape, execute::RandomFloats(count, &random_));
    }
    std::vector<std::int8_t> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<std::int8_t>(random_.Between(-127, 127)));
    }
    const TensorId id = maker_.Constant(type_, shape, values);
    maker_.Quantize(id, 0.01F, 0);
    return id;
  }
  TensorId Bias(std::int64_t count) {
    if (floats()) return Weights({count});
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<std::int32_t>(random_.Between(-3000, 3000)));
    }
    const TensorId id = maker_.Constant(ElementType::kInt32, {count}, values);
    maker_.Quantize(id, 0.000157F, 0);
    return id;
  }
  TensorId Whole(const std::vector<std::int32_t>& values) {
    return maker_.Constant(ElementType::kInt32, {static_cast<std::int64_t>(values.size())}, values);
  }
  TensorId Variable(ElementType type, float scale) {
    const TensorId id = maker_.Tensor(type, {batch_, cells_});
    maker_.Main().tensors[id].variable = true;
    if (!floats()) maker_.Quantize(id, scale, 0);
    return id;
  }

  // Over an image of one row, or of one column, whose places are time steps.
  void AddConvolution(std::int64_t channels) {
    const std::int64_t kernel = random_.Between(1, 4);
    const std::int64_t out = random_.Between(1, 6);
    const bool upright = random_.Below(2) == 0;
    const auto image = [&](std::int64_t steps, std::int64_t depth) {
      return upright ? Shape{1, steps, 1, depth} : Shape{1, 1, steps, depth};
    };
    const TensorId in = Values(image(steps_ + kernel - 1, channels));
    maker_.Main().inputs.push_back(in);
    const TensorId wide = Values(image(steps_, out));
    const Shape weights =
        upright ? Shape{out, kernel, 1, channels} : Shape{out, 1, kernel, channels};
    const TensorId filter = Weights(weights);
    const TensorId bias = Bias(out);
    maker_.Op("tflite", "CONV_2D", {in, filter, bias}, {wide},
              {{"padding", std::int64_t{1}},
               {"stride_w", std::int64_t{1}},
               {"stride_h", std::int64_t{1}},
               {"dilation_w_factor", std::int64_t{1}},
               {"dilation_h_factor", std::int64_t{1}},
               {"fused_activation_function", std::int64_t{1}}});
    const auto quantization = maker_.Main().tensors[wide].quantization;
    now_ = Values(Lead(out));
    maker_.Main().tensors[now_].quantization = quantization;
    maker_.Op("tflite", "RESHAPE", {wide}, {now_});
  }

  void AddProduct() {
    const std::int64_t channels = ShapeOf(now_)[2];
    const std::int64_t out = random_.Between(1, 8);
    const TensorId to = Values(Lead(out));
    const TensorId weights = Weights({out, channels});
    const TensorId bias = Bias(out);
    maker_.Op("tflite", "FULLY_CONNECTED", {now_, weights, bias}, {to},
              {{"keep_num_dims", std::int64_t{1}}});
    now_ = to;
  }

  void AddLstm() {
    constexpr std::size_t kInputs = 24;
    constexpr std::int64_t kTanh = 4;
    constexpr float kHidden = 0.0078F;
    cells_ = random_.Between(1, 5);
    const std::int64_t channels = ShapeOf(now_)[2];
    std::vector<TensorId> inputs(kInputs);
    inputs[0] = now_;
    const std::size_t first = random_.Below(4) == 0 ? 1 : 0;  // 1: no gate of the input
    for (std::size_t gate = first; gate < 4; ++gate) {
      inputs[1 + gate] = Weights({cells_, channels});
      inputs[5 + gate] = Weights({cells_, cells_});
      inputs[12 + gate] = Bias(cells_);
    }
    inputs[18] = Variable(type_, kHidden);
    inputs[19] = Variable(floats() ? type_ : ElementType::kInt16, 0x1p-11F);
    const TensorId out = maker_.Tensor(type_, Lead(cells_));
    Attributes attributes = {{"time_major", std::int64_t{time_major_ ? 1 : 0}},
                             {"fused_activation_function", kTanh}};
    if (!floats()) {
      maker_.Quantize(out, kHidden, 0);
      const TensorId hidden = maker_.Tensor(type_, {0});
      maker_.Quantize(hidden, kHidden, 0);
      attributes["intermediates"] = Integers(5, hidden.value());
    }
    const graph::OpId id = maker_.Op("tflite", "UNIDIRECTIONAL_SEQUENCE_LSTM", std::move(inputs),
                                     {out}, std::move(attributes));
    maker_.Main().ops[id].stateful = true;
    now_ = out;
  }

  void AddLastStep() {
    const Shape in = ShapeOf(now_);
    const auto at = static_cast<std::int32_t>(steps_ - 1);
    Shape shape = in;
    shape[time_major_ ? 0 : 1] = 1;
    const TensorId begin = time_major_ ? Whole({at, 0, 0}) : Whole({0, at, 0});
    const TensorId size =
        Whole({static_cast<std::int32_t>(shape[0]), static_cast<std::int32_t>(shape[1]),
               static_cast<std::int32_t>(shape[2])});
    const TensorId out = maker_.Tensor(type_, shape);
    maker_.Main().tensors[out].quantization = maker_.Main().tensors[now_].quantization;
    maker_.Op("tflite", "SLICE", {now_, begin, size}, {out});
    now_ = out;
  }

  Random& random_;
  ElementType type_;
  execute::GraphMaker maker_;
  bool time_major_ = false;
  std::int64_t steps_ = 0;
  std::int64_t batch_ = 1;
  std::int64_t cells_ = 0;
  TensorId now_;
};

}  // namespace

graph::Graph RandomSequences(Random* random, int operators) {
  return SequenceMaker(random).Make(operators);
}

graph::Graph RandomRecurrent(Random* random, int operators) {
  return RecurrentMaker(random).Make(operators);
}

}  // namespace neap::stream::test
