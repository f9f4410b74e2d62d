// SPDX-License-Identifier: Apache-2.0
//
// Compares the distances of ops/overlap.h with the kernels that run under the profile `neap`: one
// operator at a time, its output overlapping its input as far as the rule allows, and a little
// further.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/execute/inputs.h"
#include "neap/execute/run.h"
#include "neap/ops/overlap.h"
#include "testing/execute.h"

namespace neap::execute {
namespace {

using graph::ElementType;
using graph::Shape;
using graph::TensorId;

constexpr std::int64_t kMemory = 1 << 24;

// One operator whose inputs are those of the graph.
struct Case {
  GraphMaker maker;
  std::vector<TensorId> inputs;
  TensorId output;
};

class CaseMaker {
 public:
  CaseMaker(Random* random, bool quantized) : random_(*random), quantized_(quantized) {}

  Case Take(const std::string& type) {
    if (type.ends_with("_2D")) {
      Window(type);
    } else if (type == "FULLY_CONNECTED") {
      FullyConnected();
    } else if (type == "PAD") {
      Pad();
    } else if (type == "MEAN") {
      Mean();
    } else if (type.starts_with("RESIZE")) {
      Resize(type);
    } else {
      Pointwise(type);
    }
    case_.maker.Output(case_.output);
    return std::move(case_);
  }

 private:
  ElementType Type() const { return quantized_ ? ElementType::kInt8 : ElementType::kFloat32; }
  void Scale(TensorId id, float scale, std::int64_t zero_point) {
    if (quantized_) case_.maker.Quantize(id, scale, zero_point);
  }
  void AddInput(const Shape& shape) {
    case_.inputs.push_back(case_.maker.Input(Type(), shape));
    Scale(case_.inputs.back(), 0.05F, 3);
  }
  void AddOutput(const Shape& shape, float scale = 0.05F, std::int64_t zero_point = 3) {
    case_.output = case_.maker.Tensor(Type(), shape);
    Scale(case_.output, scale, zero_point);
  }
  TensorId Weights(const Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    if (!quantized_) {
      return case_.maker.Constant(ElementType::kFloat32, shape, RandomFloats(count, &random_));
    }
    std::vector<std::int8_t> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<std::int8_t>(random_.Between(-127, 127)));
    }
    const TensorId id = case_.maker.Constant(ElementType::kInt8, shape, values);
    case_.maker.Quantize(id, 0.01F, 0);
    return id;
  }
  TensorId Bias(std::int64_t channels) {
    if (!quantized_) {
      return case_.maker.Constant(ElementType::kFloat32, {channels},
                                  RandomFloats(channels, &random_));
    }
    const TensorId id =
        case_.maker.Constant(ElementType::kInt32, {channels},
                             std::vector<std::int32_t>(static_cast<std::size_t>(channels), 100));
    case_.maker.Quantize(id, 0.0005F, 0);
    return id;
  }
  void Op(const std::string& type, std::vector<TensorId> more,
          std::map<std::string, graph::Attribute> attributes) {
    std::vector<TensorId> inputs = case_.inputs;
    inputs.insert(inputs.end(), more.begin(), more.end());
    case_.maker.Op("tflite", type, std::move(inputs), {case_.output}, std::move(attributes));
  }

  void Window(const std::string& type) {
    const std::int64_t height = random_.Between(2, 7);
    const std::int64_t width = random_.Between(2, 7);
    const std::int64_t channels = random_.Between(1, 4);
    const std::int64_t kernel = random_.Between(1, 3);
    const std::int64_t stride = random_.Between(1, 2);
    const bool conv = type == "CONV_2D";
    const std::int64_t out = conv                          ? random_.Between(1, 5)
                             : type == "DEPTHWISE_CONV_2D" ? channels * random_.Between(1, 2)
                                                           : channels;
    AddInput({1, height, width, channels});
    AddOutput({1, (height + stride - 1) / stride, (width + stride - 1) / stride, out});
    std::map<std::string, graph::Attribute> attributes = {
        {"padding", std::int64_t{0}}, {"stride_h", stride}, {"stride_w", stride}};
    std::vector<TensorId> more;
    if (type.ends_with("_POOL_2D")) {
      attributes["filter_height"] = kernel;
      attributes["filter_width"] = kernel;
    } else {
      if (!conv) attributes["depth_multiplier"] = out / channels;
      more = {Weights(conv ? Shape{out, kernel, kernel, channels} : Shape{1, kernel, kernel, out}),
              Bias(out)};
    }
    Op(type, more, std::move(attributes));
  }

  void FullyConnected() {
    const std::int64_t batches = random_.Between(1, 3);
    const std::int64_t depth = random_.Between(2, 9);
    const std::int64_t outputs = random_.Between(1, 6);
    AddInput({batches, depth});
    AddOutput({batches, outputs});
    Op("FULLY_CONNECTED", {Weights({outputs, depth}), Bias(outputs)}, {});
  }

  void Pad() {
    Shape in;
    Shape out;
    std::vector<std::int32_t> paddings;
    for (int d = 0; d < 4; ++d) {
      in.push_back(random_.Between(1, 4));
      paddings.push_back(static_cast<std::int32_t>(random_.Between(0, 2)));
      paddings.push_back(static_cast<std::int32_t>(random_.Between(0, 2)));
      out.push_back(in.back() + paddings[paddings.size() - 2] + paddings.back());
    }
    AddInput(in);
    AddOutput(out);
    Op("PAD", {case_.maker.Constant(ElementType::kInt32, {4, 2}, paddings)}, {});
  }

  void Mean() {
    const std::int64_t channels = random_.Between(2, 6);
    AddInput({1, random_.Between(2, 4), random_.Between(2, 4), channels});
    AddOutput({1, channels});
    Op("MEAN", {case_.maker.Constant(ElementType::kInt32, {2}, std::vector<std::int32_t>{1, 2})},
       {{"keep_dims", std::int64_t{0}}});
  }

  void Resize(const std::string& type) {
    const Shape in = {1, random_.Between(1, 6), random_.Between(1, 6), random_.Between(1, 3)};
    const auto rows = static_cast<std::int32_t>(random_.Between(1, 9));
    const auto columns = static_cast<std::int32_t>(random_.Between(1, 9));
    const bool corners = random_.Chance(1, 2);
    AddInput(in);
    AddOutput({1, rows, columns, in[3]});
    Op(type,
       {case_.maker.Constant(ElementType::kInt32, {2}, std::vector<std::int32_t>{rows, columns})},
       {{"align_corners", std::int64_t{corners}},
        {"half_pixel_centers", std::int64_t{!corners && random_.Chance(1, 2)}}});
  }

  void Pointwise(const std::string& type) {
    const Shape shape = {random_.Between(1, 3), random_.Between(2, 12)};
    AddInput(shape);
    const bool binary = type == "ADD" || type == "SUB" || type == "MUL";
    if (binary) AddInput(shape);
    if (type == "QUANTIZE" || type == "DEQUANTIZE") {
      const bool quantize = type == "QUANTIZE";
      case_.maker.Main().tensors[case_.inputs[0]].type =
          quantize ? ElementType::kFloat32 : ElementType::kInt8;
      case_.output =
          case_.maker.Tensor(quantize ? ElementType::kInt8 : ElementType::kFloat32, shape);
      case_.maker.Quantize(quantize ? case_.output : case_.inputs[0], 0.01F, -5);
    } else if (type == "SOFTMAX") {
      AddOutput(shape, 1.0F / 256, -128);
    } else if (type == "LOGISTIC") {
      AddOutput(shape, 1.0F / 256, -128);
    } else if (type == "TANH") {
      AddOutput(shape, 1.0F / 128, 0);
    } else {
      AddOutput(shape);
    }
    std::map<std::string, graph::Attribute> attributes;
    if (type == "SOFTMAX") attributes["beta"] = 1.0;
    if (type == "LEAKY_RELU") attributes["alpha"] = 0.25;
    Op(type, {}, std::move(attributes));
  }

  Random& random_;
  bool quantized_;
  Case case_;
};

// Violations of a run with the output `distance` bytes below input `over`.
Result<std::vector<std::string>> RunAt(Case& c, std::size_t over, std::int64_t distance,
                                       std::uint64_t seed) {
  const graph::Subgraph& main = c.maker.Main();
  plan::EntryPlan entry;
  entry.subgraph = graph::SubgraphId(0);
  entry.steps = {{graph::SubgraphId(0), graph::OpId(0)}};
  const auto bytes = [&](TensorId id) { return *graph::TensorBytes(main.tensors[id]); };
  const auto place = [&](TensorId id, std::int64_t offset) {
    entry.tensors.push_back({graph::SubgraphId(0), id, offset, bytes(id), 0, 1});
    entry.arena_bytes = std::max(entry.arena_bytes, offset + bytes(id));
  };
  place(c.output, 0);
  place(c.inputs[over], distance);
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (i != over) place(c.inputs[i], entry.arena_bytes);
  }
  entry.overlaps = {{0, graph::SubgraphId(0), c.inputs[over], c.output,
                     plan::OverlapKind::kStartsBelow, distance}};
  NEAP_TRY(const auto inputs, RandomInputs(main, seed, kMemory));
  NEAP_TRY(const RunResult result, Run(c.maker.graph(), entry, inputs, {}));
  return result.violations;
}

// Parts along the outermost dimension: pieces where they are in the whole, which stays what it was.
TEST(KernelViewTest, PiecesMayLieInTheWhole) {
  Random random(3);
  for (int round = 0; round < 100; ++round) {
    GraphMaker maker;
    const bool unpacks = round % 3 == 1;
    const std::int64_t first = unpacks ? 1 : random.Between(1, 5);
    const std::int64_t second = unpacks ? 1 : random.Between(1, 5);
    const std::int64_t width = random.Between(2, 6);
    const TensorId whole = maker.Input(ElementType::kFloat32, {first + second, width});
    const TensorId axis = maker.Constant(ElementType::kInt32, {}, std::vector<std::int32_t>{0});
    const TensorId sizes =
        maker.Constant(ElementType::kInt32, {2},
                       std::vector<std::int32_t>{static_cast<std::int32_t>(first),
                                                 static_cast<std::int32_t>(second)});
    using graph::Shape;
    const TensorId a =
        maker.Tensor(ElementType::kFloat32, unpacks ? Shape{width} : Shape{first, width});
    const TensorId b =
        maker.Tensor(ElementType::kFloat32, unpacks ? Shape{width} : Shape{second, width});
    if (unpacks) {
      maker.Op("tflite", "UNPACK", {whole}, {a, b}, {{"num", std::int64_t{2}}});
    } else if (round % 3 == 2) {
      const TensorId parts =
          maker.Constant(ElementType::kInt64, {2}, std::vector<std::int64_t>{first, second});
      maker.Op("", "Split", {whole, parts}, {a, b}, {{"axis", std::int64_t{0}}});
    } else {
      maker.Op("tflite", "SPLIT_V", {whole, sizes, axis}, {a, b}, {});
    }
    for (const TensorId output : {whole, a, b}) maker.Output(output);
    const graph::Subgraph& main = maker.Main();
    const auto rule = ops::ViewRuleOf(main, main.ops[graph::OpId(0)], 1, ops::KernelLibrary::kNeap);
    ASSERT_TRUE(rule);
    const auto inputs = RandomInputs(main, static_cast<std::uint64_t>(round), kMemory);
    ASSERT_TRUE(inputs);
    for (const std::int64_t off : {0, 4}) {
      plan::EntryPlan entry;
      entry.subgraph = graph::SubgraphId(0);
      entry.steps = {{graph::SubgraphId(0), graph::OpId(0)}};
      entry.arena_bytes = (first + second) * width * 4 + 4;
      const auto place = [&](TensorId id, std::int64_t offset) {
        entry.tensors.push_back(
            {graph::SubgraphId(0), id, offset, *graph::TensorBytes(main.tensors[id]), 0, 1});
      };
      place(whole, 0);
      place(a, 0);
      place(b, rule->bytes + off);
      for (const TensorId piece : {a, b}) {
        entry.overlaps.push_back({0, graph::SubgraphId(0), whole, piece,
                                  plan::OverlapKind::kHoldsOutput, piece == a ? 0 : rule->bytes});
      }
      const auto result = execute::Run(maker.graph(), entry, *inputs, {});
      ASSERT_TRUE(result) << result.error().ToString();
      EXPECT_EQ(result->violations.empty(), off == 0);
    }
  }
}

struct Kernel {
  const char* type;
  bool floats;
  bool quantized;
};

class KernelOrderTest : public testing::TestWithParam<Kernel> {};

TEST_P(KernelOrderTest, TheRuleHoldsAndIsTight) {
  Random random(11);
  int tight = 0;
  int ruled = 0;
  for (int round = 0; round < 120; ++round) {
    const bool quantized = GetParam().quantized && (!GetParam().floats || round % 2 == 1);
    Case c = CaseMaker(&random, quantized).Take(GetParam().type);
    const graph::Subgraph& main = c.maker.Main();
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      const auto rule =
          ops::OverlapRuleOf(main, main.ops[graph::OpId(0)], i, ops::KernelLibrary::kNeap);
      if (!rule) continue;
      ++ruled;
      const std::uint64_t seed = random.Next() >> 40U;
      const auto at = RunAt(c, i, rule->bytes, seed);
      ASSERT_TRUE(at) << at.error().ToString();
      EXPECT_TRUE(at->empty()) << GetParam().type << ": " << at->front();
      if (rule->bytes < 4) continue;
      const auto deeper = RunAt(c, i, rule->bytes - 4, seed);
      ASSERT_TRUE(deeper) << deeper.error().ToString();
      tight += deeper->empty() ? 0 : 1;
    }
  }
  EXPECT_GT(ruled, 20);
  // Where kernels write after the byte that they read, some distance is needed, and a smaller one
  // fails.
  const std::string type = GetParam().type;
  if (type == "CONV_2D" || type == "PAD" || type == "DEQUANTIZE" || type.starts_with("RESIZE")) {
    EXPECT_GT(tight, 10);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Operators, KernelOrderTest,
    testing::Values(Kernel{"CONV_2D", true, true}, Kernel{"DEPTHWISE_CONV_2D", true, true},
                    Kernel{"MAX_POOL_2D", true, true}, Kernel{"AVERAGE_POOL_2D", true, true},
                    Kernel{"FULLY_CONNECTED", true, true}, Kernel{"PAD", true, true},
                    Kernel{"MEAN", true, true}, Kernel{"RESIZE_BILINEAR", true, true},
                    Kernel{"RESIZE_NEAREST_NEIGHBOR", true, true}, Kernel{"SOFTMAX", true, true},
                    Kernel{"ADD", true, true}, Kernel{"SUB", true, true}, Kernel{"MUL", true, true},
                    Kernel{"LOGISTIC", true, true}, Kernel{"TANH", true, true},
                    Kernel{"RELU", true, true}, Kernel{"RELU6", true, true},
                    Kernel{"LEAKY_RELU", true, true}, Kernel{"HARD_SWISH", true, true},
                    Kernel{"ABS", true, false}, Kernel{"EXP", true, false},
                    Kernel{"NEG", true, false}, Kernel{"SQUARE", true, false},
                    Kernel{"QUANTIZE", true, false}, Kernel{"DEQUANTIZE", true, false}),
    [](const auto& test) { return std::string(test.param.type); });

}  // namespace
}  // namespace neap::execute
