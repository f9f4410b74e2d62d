// SPDX-License-Identifier: Apache-2.0
//
// Random networks of operators over time that carry a state.
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
    const bool lstm = random_.Below(2) == 0;
    const std::int64_t hidden = random_.Between(1, 5);
    const std::int64_t rows = (lstm ? 4 : 3) * hidden;
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
    AddOp(lstm ? "LSTM" : "GRU", std::move(inputs), std::move(outputs), {{"hidden_size", hidden}});
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

}  // namespace

graph::Graph RandomRecurrent(Random* random, int operators) {
  return RecurrentMaker(random).Make(operators);
}

}  // namespace neap::stream::test
