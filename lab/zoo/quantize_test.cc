// SPDX-License-Identifier: Apache-2.0
#include "lab/zoo/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lab/zoo/builder.h"
#include "lab/zoo/tflite.h"
#include "lab/zoo/tflite_constants.h"
#include "lab/zoo/zoo.h"

namespace neap::zoo {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;

Graph FloatGraph(std::string_view name, const ZooOptions& options = {}) {
  const auto network = Build(name, options);
  EXPECT_TRUE(network) << network.error().ToString();
  auto converted = ConvertToTflite(*network);
  EXPECT_TRUE(converted) << converted.error().ToString();
  return std::move(*converted);
}

Graph Quantized(const Graph& graph) {
  auto quantized = QuantizeToInt8(graph, {});
  EXPECT_TRUE(quantized) << quantized.error().ToString();
  return std::move(*quantized);
}

const Subgraph& Main(const Graph& graph) { return graph.subgraphs[SubgraphId(0)]; }

bool SameParameters(const Tensor& a, const Tensor& b) {
  return a.quantization->scales == b.quantization->scales &&
         a.quantization->zero_points == b.quantization->zero_points;
}

float ScaleOf(const Tensor& tensor, std::size_t i = 0) {
  const auto& scales = tensor.quantization->scales;
  return scales[scales.size() == 1 ? 0 : i];
}

bool IsWeighted(const Op& op) {
  return op.type == "CONV_2D" || op.type == "DEPTHWISE_CONV_2D" || op.type == "FULLY_CONNECTED";
}

// The channel that a weight belongs to.
std::size_t ChannelOf(const Op& op, const Tensor& weights, std::size_t at) {
  const auto last = static_cast<std::size_t>(weights.shape->back());
  const auto first = static_cast<std::size_t>(weights.shape->front());
  const std::size_t count = weights.data->bytes.size();
  return op.type == "DEPTHWISE_CONV_2D" ? at % last : at / (count / first);
}

// Every real value of a constant is within half a step of the original.
void ExpectClose(const Op& op, const Subgraph& before, const Subgraph& after) {
  const Tensor& weights = after.tensors[op.inputs[1]];
  const auto real = ValuesOf<float>(before.tensors[op.inputs[1]]);
  const auto steps = ValuesOf<std::int8_t>(weights);
  ASSERT_EQ(real.size(), steps.size());
  std::set<std::size_t> full;
  for (std::size_t i = 0; i < real.size(); ++i) {
    const std::size_t channel = ChannelOf(op, weights, i);
    const double scale = ScaleOf(weights, channel);
    ASSERT_NEAR(real[i], steps[i] * scale, scale * 0.5001) << op.name;
    ASSERT_NE(steps[i], -128) << op.name;
    if (std::abs(steps[i]) >= 126) full.insert(channel);
  }
  const auto bias_count = after.tensors[op.inputs[2]].shape->front();
  const bool one_scale = op.type == "FULLY_CONNECTED";
  // Every scale is used up.
  EXPECT_EQ(weights.quantization->scales.size(),
            one_scale ? 1 : static_cast<std::size_t>(bias_count))
      << op.name;
  EXPECT_GE(full.size(), weights.quantization->scales.size()) << op.name;
  const Tensor& bias = after.tensors[op.inputs[2]];
  const auto real_bias = ValuesOf<float>(before.tensors[op.inputs[2]]);
  const auto bias_steps = ValuesOf<std::int32_t>(bias);
  EXPECT_EQ(bias.type, ElementType::kInt32);
  for (std::size_t i = 0; i < real_bias.size(); ++i) {
    const float product = ScaleOf(after.tensors[op.inputs[0]]) * ScaleOf(weights, i);
    ASSERT_EQ(ScaleOf(bias, i), product) << op.name;
    ASSERT_NEAR(real_bias[i], bias_steps[i] * static_cast<double>(product), product * 0.5001);
  }
}

class EveryQuantized : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Zoo, EveryQuantized,
                         testing::Values("ds-cnn", "resnet8", "swiftnet", "mobilenet-v1-vww",
                                         "mobilenet-v3-small", "darts-imagenet-cell",
                                         "randwire-cell-ws", "randwire-ws-cifar10"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(EveryQuantized, FollowsTheSpecification) {
  const Graph before = FloatGraph(GetParam());
  const Graph after = Quantized(before);
  ASSERT_TRUE(graph::Verify(after));
  const Subgraph& net = Main(after);
  const std::set<std::string_view> moves = {
      "CONCATENATION", "MAX_POOL_2D", "AVERAGE_POOL_2D", "PAD",  "PADV2", "RESHAPE",
      "SLICE",         "SPLIT",       "TRANSPOSE",       "RELU", "RELU6"};
  for (const Tensor& tensor : net.tensors) {
    EXPECT_NE(tensor.type, ElementType::kFloat32) << tensor.name;
    if (tensor.type != ElementType::kInt8 || tensor.constant) continue;
    ASSERT_TRUE(tensor.quantization) << tensor.name;
    ASSERT_EQ(tensor.quantization->scales.size(), 1U);
    EXPECT_GT(tensor.quantization->scales[0], 0);
  }
  for (const OpId id : net.ops.Ids()) {
    const Op& op = net.ops[id];
    if (IsWeighted(op)) ExpectClose(op, Main(before), net);
    const Tensor& output = net.tensors[op.outputs[0]];
    if (op.type == "SOFTMAX" || op.type == "LOGISTIC") {
      EXPECT_EQ(output.quantization->scales[0], 1.0F / 256);
      EXPECT_EQ(output.quantization->zero_points[0], -128);
    }
    if (!moves.contains(op.type)) continue;
    for (const TensorId input : op.inputs) {
      const Tensor& tensor = net.tensors[input];
      if (tensor.type == ElementType::kInt8) {
        EXPECT_TRUE(SameParameters(tensor, output)) << op.name << " " << tensor.name;
      }
    }
  }
  for (const TensorId input : net.inputs) {
    EXPECT_EQ(net.tensors[input].quantization->scales[0], 1.0F / 128);
    EXPECT_EQ(net.tensors[input].quantization->zero_points[0], 0);
  }
}

// The calibration's range is within the range of every activation.
TEST_P(EveryQuantized, HoldsWhatCalibrationSaw) {
  const Graph before = FloatGraph(GetParam());
  const auto ranges = Calibrate(before, {});
  ASSERT_TRUE(ranges) << ranges.error().ToString();
  const Graph after = Quantized(before);
  std::set<TensorId> padded;
  for (const Op& op : Main(after).ops) {
    if (op.type == "PADV2" || op.type == "SOFTMAX") padded.insert(op.outputs[0]);
  }
  for (const TensorId id : Main(after).tensors.Ids()) {
    const Tensor& tensor = Main(after).tensors[id];
    if (tensor.constant || tensor.type != ElementType::kInt8 || padded.contains(id)) continue;
    const double scale = tensor.quantization->scales[0];
    const auto zero = static_cast<double>(tensor.quantization->zero_points[0]);
    EXPECT_LE(-128 - 0.5, zero + (*ranges)[id].low / scale) << tensor.name;
    EXPECT_GE(127 + 0.5, zero + (*ranges)[id].high / scale) << tensor.name;
  }
}

TEST(Quantize, IsTheSameEveryTimeAndDependsOnTheSeed) {
  const auto fingerprint = [](const Graph& graph) {
    std::string text;
    for (const Tensor& tensor : Main(graph).tensors) {
      if (tensor.quantization) text += std::to_string(tensor.quantization->scales[0]) + " ";
      if (tensor.data) {
        text.append(reinterpret_cast<const char*>(tensor.data->bytes.data()),
                    tensor.data->bytes.size());
      }
    }
    return text;
  };
  const Graph graph = FloatGraph("resnet8");
  EXPECT_EQ(fingerprint(*QuantizeToInt8(graph, {})), fingerprint(*QuantizeToInt8(graph, {})));
  EXPECT_NE(fingerprint(*QuantizeToInt8(graph, {})),
            fingerprint(*QuantizeToInt8(graph, {.seed = 1})));
}

// Scales of 12 digits: the product of two of them is the same in any precision.
TEST(Quantize, ProductsOfScalesAreExact) {
  const Graph graph = Quantized(FloatGraph("mobilenet-v1-vww"));
  int products = 0;
  for (const Op& op : Main(graph).ops) {
    if (!IsWeighted(op)) continue;
    const Tensor& weights = Main(graph).tensors[op.inputs[1]];
    for (const float scale : weights.quantization->scales) {
      const float input = ScaleOf(Main(graph).tensors[op.inputs[0]]);
      EXPECT_EQ(static_cast<double>(input * scale), static_cast<double>(input) * scale);
      ++products;
    }
  }
  EXPECT_GT(products, 1000);
}

TEST(Quantize, FactorsOfBordersAreExact) {
  Builder b("net", 0);
  b.Output(b.AveragePool("y", b.Input("in", {1, 2, 8, 8}), {.kernel = 3, .stride = 2}));
  const auto converted = ConvertToTflite(b.Finish().graph);
  ASSERT_TRUE(converted);
  const Graph graph = Quantized(*converted);
  for (const Op& op : Main(graph).ops) {
    if (op.type != "MUL") continue;
    const Tensor& factor = Main(graph).tensors[op.inputs[1]];
    const auto steps = ValuesOf<std::int8_t>(factor);
    const double scale = ScaleOf(factor);
    EXPECT_NEAR(steps[0] * scale, 2.25, 1e-6);  // a corner: 4 of 9 inside
    EXPECT_NEAR(steps[1] * scale, 1.5, 1e-6);
    EXPECT_NEAR(steps[5] * scale, 1, 1e-6);
    return;
  }
  FAIL() << "no factor";
}

TEST(Quantize, RefusesOperatorsWithoutARule) {
  Graph graph = FloatGraph("ds-cnn");
  graph.subgraphs[SubgraphId(0)].ops[OpId(0)].type = "EXP";
  const auto quantized = QuantizeToInt8(graph, {});
  ASSERT_FALSE(quantized);
  EXPECT_NE(quantized.error().ToString().find("EXP"), std::string::npos);
}

TEST(Quantize, SeesEveryActivation) {
  const Graph graph = FloatGraph("resnet8");
  const auto ranges = Calibrate(graph, {});
  ASSERT_TRUE(ranges);
  for (const TensorId id : Main(graph).tensors.Ids()) {
    const Tensor& tensor = Main(graph).tensors[id];
    if (tensor.constant) continue;
    EXPECT_LT((*ranges)[id].low, (*ranges)[id].high) << tensor.name;
  }
}

}  // namespace
}  // namespace neap::zoo
