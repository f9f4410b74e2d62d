// SPDX-License-Identifier: Apache-2.0
//
// UNIDIRECTIONAL_SEQUENCE_LSTM in emitted C: random networks of int8 and float32, whole and step by
// step, in runs one after the other (unit.h). NEAP_EMIT_NETWORKS: how many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/check.h"
#include "neap/compile/compile.h"
#include "neap/ops/neap_rt.h"
#include "neap/ops/recurrence.h"
#include "neap/transform/stream/stream.h"
#include "testing/cases.h"
#include "testing/execute.h"
#include "testing/streams.h"
#include "tests/emit/unit.h"

namespace neap::emit {
namespace {

using graph::ElementType;
using graph::OpId;
using graph::Shape;
using graph::TensorId;
using ::testing::HasSubstr;

constexpr graph::SubgraphId kMain(0);
constexpr std::size_t kInputs = 24;

// Of LSTMs, with scales of their own, and sometimes a product of each step and a softmax.
class LstmMaker {
 public:
  LstmMaker(Random* random, bool floats) : random_(*random), floats_(floats) {}

  graph::Graph Make(int operators) {
    time_major_ = random_.Chance(1, 2);
    steps_ = random_.Between(1, 10);
    batches_ = random_.Chance(1, 3) ? random_.Between(2, 3) : 1;
    now_ = Values(Lead(random_.Between(1, 9)));
    maker_.Main().inputs.push_back(now_);
    for (int i = 0; i < operators; ++i) AddLstm(random_.Between(1, 8));
    if (random_.Chance(1, 3)) AddProduct(random_.Between(1, 6));
    if (random_.Chance(1, 4)) AddSoftmax();
    maker_.Output(now_);
    return maker_.graph();
  }

 private:
  Shape Lead(std::int64_t channels) const {
    return time_major_ ? Shape{steps_, batches_, channels} : Shape{batches_, steps_, channels};
  }
  float Scale(int low, int high) { return 0.001F * static_cast<float>(random_.Between(low, high)); }
  TensorId Values(Shape shape) {
    if (floats_) return maker_.Floats(std::move(shape));
    const TensorId id = maker_.Tensor(ElementType::kInt8, std::move(shape));
    maker_.Quantize(id, Scale(5, 60), random_.Between(-128, 127));
    return id;
  }
  TensorId FloatsOf(const Shape& shape, std::int64_t count) {
    return maker_.Constant(ElementType::kFloat32, shape, execute::RandomFloats(count, &random_));
  }
  TensorId Weights(const Shape& shape) {
    if (floats_) return FloatsOf(shape, shape[0] * shape[1]);
    std::vector<std::int8_t> values;
    for (std::int64_t i = 0; i < shape[0] * shape[1]; ++i) {
      values.push_back(static_cast<std::int8_t>(random_.Between(-128, 127)));
    }
    const TensorId id = maker_.Constant(ElementType::kInt8, shape, values);
    maker_.Quantize(id, Scale(1, 30), 0);
    return id;
  }
  TensorId Bias(std::int64_t count) {
    if (floats_) return FloatsOf({count}, count);
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<std::int32_t>(random_.Between(-9000, 9000)));
    }
    return maker_.Constant(ElementType::kInt32, {count}, values);
  }
  TensorId Variable(ElementType type, std::int64_t cells, float scale, std::int64_t zero) {
    const TensorId id = maker_.Tensor(floats_ ? ElementType::kFloat32 : type, {batches_, cells});
    maker_.Main().tensors[id].variable = true;
    if (!floats_) maker_.Quantize(id, scale, zero);
    return id;
  }

  void AddLstm(std::int64_t cells) {
    const std::int64_t width = maker_.Main().tensors[now_].shape->back();
    std::vector<TensorId> inputs(kInputs);
    inputs[0] = now_;
    for (std::size_t gate = floats_ && random_.Chance(1, 4) ? 1 : 0; gate < 4; ++gate) {
      inputs[1 + gate] = Weights({cells, width});
      inputs[5 + gate] = Weights({cells, cells});
      inputs[12 + gate] = Bias(cells);
    }
    const float scale = Scale(4, 12);
    const std::int64_t zero = random_.Between(-30, 30);
    const auto power = static_cast<int>(random_.Between(-15, -9));
    inputs[ops::kHiddenVariable] = Variable(ElementType::kInt8, cells, scale, zero);
    inputs[ops::kCellVariable] = Variable(ElementType::kInt16, cells, std::ldexp(1.0F, power), 0);
    const TensorId out = Values(Lead(cells));
    if (!floats_) maker_.Quantize(out, scale, zero);
    const double clip = random_.Chance(1, 3) ? 0.5 * static_cast<double>(random_.Between(1, 6)) : 0;
    const OpId id = maker_.Op("tflite", "UNIDIRECTIONAL_SEQUENCE_LSTM", std::move(inputs), {out},
                              {{"time_major", std::int64_t{time_major_ ? 1 : 0}},
                               {"fused_activation_function", std::int64_t{4}},
                               {"cell_clip", clip}});
    maker_.Main().ops[id].stateful = true;
    now_ = out;
  }

  void AddProduct(std::int64_t channels) {
    const std::int64_t width = maker_.Main().tensors[now_].shape->back();
    const TensorId to = Values(Lead(channels));
    maker_.Op("tflite", "FULLY_CONNECTED", {now_, Weights({channels, width}), Bias(channels)}, {to},
              {{"keep_num_dims", std::int64_t{1}}});
    now_ = to;
  }

  void AddSoftmax() {
    const TensorId to = Values(*maker_.Main().tensors[now_].shape);
    if (!floats_) maker_.Quantize(to, 1.0F / 256, -128);
    maker_.Op("tflite", "SOFTMAX", {now_}, {to}, {{"beta", 1.0}});
    now_ = to;
  }

  Random& random_;
  bool floats_;
  execute::GraphMaker maker_;
  bool time_major_ = false;
  std::int64_t steps_ = 0;
  std::int64_t batches_ = 1;
  TensorId now_;
};

plan::Plan PlanOfWhole(const graph::Graph& graph, plan::Runtime runtime = plan::Runtime::kNeap) {
  compile::Options options;
  options.runtime = runtime;
  options.limits.max_states = 2000;
  if (runtime == plan::Runtime::kNeap) options.kernels = ops::kNeapRt;
  return compile::Compile(graph, options)->plan;
}

// nullopt: none with such an input.
std::optional<plan::EntryPlan> StreamedEntry(const graph::Graph& graph, bool emits,
                                             plan::StreamInput input) {
  stream::Options options;
  options.search.emits = emits;
  options.search.input = input;
  const auto planned = stream::PlanStream(graph, kMain, stream::test::FileOrder(graph), options);
  if (!planned) return std::nullopt;
  return stream::EntryOf(graph, kMain, planned->front[0]);
}

bool RunsInSteps(const graph::Graph& graph, const plan::Stream& stream) {
  for (const plan::StreamSegment& segment : stream.segments) {
    for (const plan::StreamOp& step : segment.ops) {
      const bool boxes = step.op.valid() && !segment.whole && step.rows.size() > 1;
      if (boxes &&
          ops::OwnsVariables(graph.subgraphs[kMain], graph.subgraphs[kMain].ops[step.op])) {
        return true;
      }
    }
  }
  return false;
}

TEST(EmitLstm, RunsInTurnComputeTheBytesOfTheExecutor) {
  if (!test::HasCompiler()) GTEST_SKIP() << "there is no C compiler";
  constexpr int kRuns = 4;
  constexpr int kInOneUnit = 30;
  const int networks = test::FromEnvironment("NEAP_EMIT_NETWORKS", std::max(Cases(60), 16));
  test::Unit unit("lstm", kInOneUnit);
  int whole = 0;
  int in_steps = 0;
  for (int i = 0; i < networks && !HasFailure(); ++i) {
    SCOPED_TRACE("network " + std::to_string(i));
    Random random(static_cast<std::uint64_t>(i) + 5'000'000);
    const graph::Graph graph =
        LstmMaker(&random, i % 3 == 2).Make(static_cast<int>(random.Between(1, 3)));
    const auto reference = StreamedEntry(graph, false, plan::StreamInput::kResident);
    ASSERT_TRUE(reference);
    constexpr plan::StreamInput kInputKinds[] = {
        plan::StreamInput::kResident, plan::StreamInput::kExternal, plan::StreamInput::kRows};
    const auto streamed = StreamedEntry(graph, true, kInputKinds[random.Below(3)]);
    std::vector<plan::Plan> plans = {PlanOfWhole(graph)};
    if (streamed) plans.push_back(stream::test::PlanOf(*streamed));
    for (const plan::Plan& plan : plans) {
      const bool streams = plan.entries[0].stream.has_value();
      ASSERT_TRUE(check::CheckPlan(graph, plan).empty());
      const auto added =
          unit.Add(graph, plan, {graph, execute::Kernels::kTflm, kRuns, &*reference},
                   "network " + std::to_string(i) + (streams ? " streamed" : " whole"));
      ASSERT_TRUE(added.has_value()) << added.error().ToString();
      ASSERT_TRUE(*added);
      whole += streams ? 0 : 1;
      in_steps += streams && RunsInSteps(graph, *plan.entries[0].stream) ? 1 : 0;
    }
  }
  unit.Run();
  EXPECT_EQ(whole, networks);
  EXPECT_GE(in_steps, networks / 4);
}

class EmitLstmRefuses : public ::testing::Test {
 protected:
  std::string RefusalOf(const graph::Graph& graph, const plan::Plan& plan) {
    const auto emitted = Emit(graph, plan, {});
    return emitted ? "" : emitted.error().message;
  }
  graph::Op& op() { return graph_.subgraphs[kMain].ops[OpId(0)]; }

  Random random_{5};
  graph::Graph graph_ = LstmMaker(&random_, false).Make(1);
};

TEST_F(EmitLstmRefuses, PlansThatPlaceNoVariables) {
  EXPECT_EQ(RefusalOf(graph_, PlanOfWhole(graph_)), "");
  EXPECT_THAT(RefusalOf(graph_, PlanOfWhole(graph_, plan::Runtime::kTflm)),
              HasSubstr("keeps its state in variables"));
  const auto received = EmitNetwork(graph_, {"0", "m.tflite", ""}, {});
  ASSERT_FALSE(received);
  EXPECT_THAT(received.error().message, HasSubstr("received plans do not place"));
  EXPECT_FALSE(ToBinary(graph_, PlanOfWhole(graph_), KernelSet::kPortable));
}

TEST_F(EmitLstmRefuses, VariablesThatMove) {
  plan::Plan plan = PlanOfWhole(graph_);
  // Behind the last slot of its places.
  plan.entries[0].steps.push_back({kMain, OpId()});
  EXPECT_THAT(RefusalOf(graph_, plan), HasSubstr("not at one address for the whole run"));
}

TEST_F(EmitLstmRefuses, OtherFormsOfTheOperator) {
  const plan::Plan plan = PlanOfWhole(graph_);
  const auto refused = [&](const char* what) {
    EXPECT_THAT(RefusalOf(graph_, plan), HasSubstr(what));
    Random random(5);
    graph_ = LstmMaker(&random, false).Make(1);
  };
  op().inputs[1] = op().inputs[5] = TensorId();  // the input gate is that of forgetting
  refused("for each of four gates");
  op().inputs[9] = op().inputs[12];
  refused("peepholes");
  op().attributes["fused_activation_function"] = std::int64_t{1};
  refused("an activation");
  graph_.subgraphs[kMain].tensors[op().inputs[ops::kCellVariable]].quantization->scales = {0.001F};
  refused("not a power of two");
  graph_.subgraphs[kMain].tensors[op().inputs[2]].quantization->zero_points = {1};
  refused("a zero point");
}

}  // namespace
}  // namespace neap::emit
