// SPDX-License-Identifier: Apache-2.0
//
// Random networks of ONNX over time, whose tensors are (1, channels, time).
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
using graph::TensorId;
using Attributes = std::map<std::string, Attribute>;
using Integers = std::vector<std::int64_t>;

struct Line {
  TensorId id;
  std::int64_t channels = 0;
  std::int64_t steps = 0;
};

class AudioMaker {
 public:
  explicit AudioMaker(Random* random) : random_(*random) {}

  graph::Graph Make(int operators) {
    const std::int64_t channels = random_.Between(1, 5);
    const std::int64_t steps = random_.Between(4, 40);
    open_.push_back({maker_.Input(ElementType::kFloat32, {1, channels, steps}), channels, steps});
    AddWindow(open_.back(), "Conv");
    for (int i = 0; i < operators; ++i) AddOperator();
    std::vector<TensorId> read;
    for (const graph::Op& op : maker_.Main().ops) {
      read.insert(read.end(), op.inputs.begin(), op.inputs.end());
    }
    for (const Line& line : open_) {
      if (std::find(read.begin(), read.end(), line.id) == read.end()) maker_.Output(line.id);
    }
    return maker_.graph();
  }

 private:
  Line New(std::int64_t channels, std::int64_t steps) {
    return {maker_.Floats({1, channels, steps}), channels, steps};
  }
  TensorId Values(const graph::Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    return maker_.Constant(ElementType::kFloat32, shape, execute::RandomFloats(count, &random_));
  }
  TensorId Whole(const Integers& values) {
    return maker_.Constant(ElementType::kInt64, {static_cast<std::int64_t>(values.size())}, values);
  }
  void AddOp(const std::string& type, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
             Attributes attributes = {}) {
    const graph::OpId id =
        maker_.Op("", type, std::move(inputs), std::move(outputs), std::move(attributes));
    maker_.Main().ops[id].version = 13;
  }
  void Add(const std::string& type, std::vector<TensorId> inputs, const Line& out,
           Attributes attributes = {}) {
    AddOp(type, std::move(inputs), {out.id}, std::move(attributes));
    open_.push_back(out);
  }

  void AddOperator() {
    const Line in = random_.Below(4) == 0 ? open_[random_.Below(open_.size())] : open_.back();
    switch (random_.Below(13)) {
      case 12: {
        const std::int64_t first = random_.Between(0, in.channels - 1);
        const std::int64_t begin = random_.Between(0, in.steps - 1);
        return Add("Slice",
                   {in.id, Whole({first, begin}), Whole({in.channels, in.steps}), Whole({1, 2})},
                   New(in.channels - first, in.steps - begin));
      }
      case 0:
      case 1:
      case 2:
        return AddWindow(in, "Conv");
      case 3:
        return AddWindow(in, "MaxPool");
      case 4:
        return AddWindow(in, "AveragePool");
      case 5:
        return Add("Relu", {in.id}, New(in.channels, in.steps));
      case 6: {
        const std::vector<float> spread(static_cast<std::size_t>(in.channels), 0.7F);
        return Add("BatchNormalization",
                   {in.id, Values({in.channels}), Values({in.channels}), Values({in.channels}),
                    maker_.Constant(ElementType::kFloat32, {in.channels}, spread)},
                   New(in.channels, in.steps));
      }
      case 7:
        return AddGate(in);
      case 8:
        return AddProduct(in);
      case 9:
        return AddSplit(in);
      case 10:
        return Add("Softmax", {in.id}, New(in.channels, in.steps), {{"axis", std::int64_t{1}}});
      default:
        return Join(in);
    }
  }

  void AddWindow(const Line& in, const std::string& type) {
    const bool conv = type == "Conv";
    std::int64_t kernel = 0;
    std::int64_t stride = 0;
    std::int64_t dilation = 0;
    std::int64_t before = 0;
    std::int64_t after = 0;
    std::int64_t steps = 0;
    do {
      kernel = random_.Between(1, 5);
      stride = random_.Below(3) == 0 ? random_.Between(1, 3) : 1;
      dilation = conv && random_.Below(4) == 0 ? 2 : 1;
      before = random_.Between(0, kernel - 1);  // all of it: causal
      after = random_.Between(0, kernel - 1);
      const std::int64_t room = in.steps + before + after - (kernel - 1) * dilation - 1;
      steps = room < 0 ? 0 : room / stride + 1;
    } while (steps < 1);
    const std::int64_t groups = conv && random_.Below(3) == 0 ? in.channels : 1;
    const std::int64_t channels =
        conv ? groups * random_.Between(1, groups > 1 ? 2 : 5) : in.channels;
    Attributes attributes = {{"kernel_shape", Integers{kernel}},
                             {"strides", Integers{stride}},
                             {"pads", Integers{before, after}}};
    std::vector<TensorId> inputs = {in.id};
    if (conv) {
      attributes["dilations"] = Integers{dilation};
      attributes["group"] = groups;
      inputs.push_back(Values({channels, in.channels / groups, kernel}));
      inputs.push_back(Values({channels}));
    } else if (type == "AveragePool") {
      attributes["count_include_pad"] = std::int64_t{random_.Below(2) == 0};
    }
    Add(type, std::move(inputs), New(channels, steps), std::move(attributes));
  }

  // The mean of each channel, and the product with the signal.
  void AddGate(const Line& in) {
    const Line mean = New(in.channels, 1);
    if (random_.Below(2) == 0) {
      AddOp("GlobalAveragePool", {in.id}, {mean.id});
    } else {
      AddOp("ReduceMean", {in.id}, {mean.id},
            {{"axes", Integers{random_.Below(2) == 0 ? 2 : -1}}, {"keepdims", std::int64_t{1}}});
    }
    Add("Mul", {in.id, mean.id}, New(in.channels, in.steps));
  }

  // Time steps first, times a matrix, and back.
  void AddProduct(const Line& in) {
    const std::int64_t channels = random_.Between(1, 6);
    const TensorId rows = maker_.Floats({1, in.steps, in.channels});
    const TensorId products = maker_.Floats({1, in.steps, channels});
    AddOp("Transpose", {in.id}, {rows}, {{"perm", Integers{0, 2, 1}}});
    AddOp("MatMul", {rows, Values({in.channels, channels})}, {products});
    const Line back = New(channels, in.steps);
    Add("Transpose", {products}, back, {{"perm", Integers{0, 2, 1}}});
  }

  void AddSplit(const Line& in) {
    const std::int64_t axis = random_.Between(1, 2);
    const std::int64_t along = axis == 1 ? in.channels : in.steps;
    if (along < 2) return Add("Relu", {in.id}, New(in.channels, in.steps));
    const std::int64_t first = random_.Between(1, along - 1);
    std::vector<TensorId> outputs;
    for (const std::int64_t size : {first, along - first}) {
      open_.push_back(New(axis == 1 ? size : in.channels, axis == 2 ? size : in.steps));
      outputs.push_back(open_.back().id);
    }
    AddOp("Split", {in.id, Whole({first, along - first})}, std::move(outputs), {{"axis", axis}});
  }

  // A sum with another line, or channels beside it, or time steps behind it.
  void Join(const Line& in) {
    for (const Line& other : open_) {
      if (other.id == in.id || other.steps != in.steps) continue;
      if (other.channels == in.channels && random_.Below(2) == 0) {
        return Add("Add", {in.id, other.id}, New(in.channels, in.steps));
      }
      return Add("Concat", {in.id, other.id}, New(in.channels + other.channels, in.steps),
                 {{"axis", std::int64_t{1}}});
    }
    Add("Concat", {in.id, in.id}, New(in.channels, 2 * in.steps), {{"axis", std::int64_t{2}}});
  }

  Random& random_;
  execute::GraphMaker maker_;
  std::vector<Line> open_;
};

}  // namespace

graph::Graph RandomOnnxAudio(Random* random, int operators) {
  return AudioMaker(random).Make(operators);
}

}  // namespace neap::stream::test
