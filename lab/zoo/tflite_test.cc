// SPDX-License-Identifier: Apache-2.0
#include "lab/zoo/tflite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lab/zoo/builder.h"
#include "lab/zoo/tflite_constants.h"
#include "lab/zoo/zoo.h"
#include "neap/base/random.h"
#include "neap/execute/evaluate.h"

namespace neap::zoo {
namespace {

using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

const Subgraph& Main(const graph::Graph& graph) { return graph.subgraphs[SubgraphId(0)]; }

graph::Graph Converted(std::string_view name, const ZooOptions& options = {.weights = false}) {
  const auto network = Build(name, options);
  EXPECT_TRUE(network) << network.error().ToString();
  auto converted = ConvertToTflite(*network);
  EXPECT_TRUE(converted) << name << ": " << converted.error().ToString();
  return converted.value_or(graph::Graph());
}

std::map<std::string, int> CountOps(const graph::Graph& graph) {
  std::map<std::string, int> counts;
  for (const Op& op : Main(graph).ops) ++counts[op.type];
  return counts;
}

using Counts = std::map<std::string, int>;

// The published structures: 28 convolutions of MobileNet, 17 bottlenecks of MobileNetV2, of which
// 10 have a shortcut.
TEST(ConvertToTflite, KeepsThePublishedOperators) {
  EXPECT_EQ(CountOps(Converted("mobilenet-v1")), (Counts{{"CONV_2D", 15},
                                                         {"DEPTHWISE_CONV_2D", 13},
                                                         {"MEAN", 1},
                                                         {"RESHAPE", 1},
                                                         {"SOFTMAX", 1}}));
  EXPECT_EQ(CountOps(Converted("mobilenet-v2")), (Counts{{"ADD", 10},
                                                         {"CONV_2D", 35},
                                                         {"DEPTHWISE_CONV_2D", 17},
                                                         {"FULLY_CONNECTED", 1},
                                                         {"MEAN", 1},
                                                         {"RESHAPE", 1},
                                                         {"SOFTMAX", 1}}));
  EXPECT_EQ(CountOps(Converted("resnet8")), (Counts{{"ADD", 3},
                                                    {"CONV_2D", 9},
                                                    {"FULLY_CONNECTED", 1},
                                                    {"MEAN", 1},
                                                    {"RESHAPE", 1},
                                                    {"SOFTMAX", 1}}));
  EXPECT_EQ(CountOps(Converted("ds-cnn")), (Counts{{"CONV_2D", 5},
                                                   {"DEPTHWISE_CONV_2D", 4},
                                                   {"FULLY_CONNECTED", 1},
                                                   {"MEAN", 1},
                                                   {"RESHAPE", 1},
                                                   {"SOFTMAX", 1}}));
}

// Operators of the source keep their order; added ones come directly before their operator.
TEST(ConvertToTflite, KeepsTheOrderOfConstruction) {
  for (const Recipe& recipe : Recipes()) {
    const auto network = Build(recipe.name, {.weights = false});
    const auto converted = ConvertToTflite(*network);
    if (!converted) continue;
    ASSERT_TRUE(graph::Verify(*converted)) << recipe.name;
    std::map<std::string, int> position;
    int next = 0;
    for (const Op& op : Main(*network).ops) position[op.name] = next++;
    int last = -1;
    std::vector<std::string> added;
    for (const Op& op : Main(*converted).ops) {
      const auto found = position.find(op.name);
      if (found == position.end()) {
        added.push_back(op.name);
        continue;
      }
      EXPECT_GT(found->second, last) << recipe.name << ": " << op.name;
      last = found->second;
      for (const std::string& name : added) {
        EXPECT_TRUE(name.starts_with(op.name + "/")) << recipe.name << ": " << name;
      }
      added.clear();
    }
    EXPECT_TRUE(added.empty()) << recipe.name;
    EXPECT_EQ(Main(*converted).inputs.size(), Main(*network).inputs.size());
    EXPECT_EQ(Main(*converted).outputs.size(), Main(*network).outputs.size());
  }
}

TEST(ConvertToTflite, RefusesByName) {
  int converted = 0;
  std::vector<std::string> refused;
  for (const Recipe& recipe : Recipes()) {
    const auto network = Build(recipe.name, {.weights = false});
    const auto result = ConvertToTflite(*network);
    if (result) {
      ++converted;
      continue;
    }
    refused.emplace_back(recipe.name);
    EXPECT_EQ(result.error().code, ErrorCode::kUsage);
    const std::string text = result.error().ToString();
    EXPECT_NE(text.find("write it as .onnx"), std::string::npos) << text;
  }
  EXPECT_EQ(refused, (std::vector<std::string>{"transformer-encoder", "vit-tiny"}));
  EXPECT_GE(converted, 50);
}

// --- Arithmetic: each converted operator against the definition of the ONNX operator. ---

// [channels][rows][columns], zero outside.
struct Map {
  std::int64_t channels = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values;

  bool Inside(std::int64_t row, std::int64_t column) const {
    return row >= 0 && row < rows && column >= 0 && column < columns;
  }
  float At(std::int64_t channel, std::int64_t row, std::int64_t column) const {
    if (!Inside(row, column)) return 0;
    return values[static_cast<std::size_t>((channel * rows + row) * columns + column)];
  }
};

using Integers = std::vector<std::int64_t>;
Integers List(const Op& op, const char* name, Integers absent) {
  const auto found = op.attributes.find(name);
  return found == op.attributes.end() ? absent : std::get<Integers>(found->second);
}

// One output of a window: `visit` sees every element under it, inside or not.
template <typename F>
void VisitWindow(const Op& op, std::int64_t row, std::int64_t column, const F& visit) {
  const Integers kernel = List(op, "kernel_shape", {});
  const Integers strides = List(op, "strides", {1, 1});
  const Integers dilations = List(op, "dilations", {1, 1});
  const Integers pads = List(op, "pads", {0, 0, 0, 0});
  for (std::int64_t i = 0; i < kernel[0]; ++i) {
    for (std::int64_t j = 0; j < kernel[1]; ++j) {
      visit(row * strides[0] - pads[0] + i * dilations[0],
            column * strides[1] - pads[1] + j * dilations[1], i * kernel[1] + j);
    }
  }
}

float Defined(const Subgraph& net, const Op& op, const Map& in, std::int64_t channel,
              std::int64_t row, std::int64_t column) {
  double sum = 0;
  double most = -1e30;
  int inside = 0;
  if (op.type == "Conv") {
    const Shape weight_shape = *net.tensors[op.inputs[1]].shape;
    const auto weights = ValuesOf<float>(net.tensors[op.inputs[1]]);
    const std::int64_t group = std::get<std::int64_t>(op.attributes.at("group"));
    const std::int64_t depth = weight_shape[1];
    const std::int64_t first = channel / (weight_shape[0] / group) * depth;
    const std::int64_t window = weight_shape[2] * weight_shape[3];
    if (op.inputs.size() > 2) {
      sum = ValuesOf<float>(net.tensors[op.inputs[2]])[static_cast<std::size_t>(channel)];
    }
    for (std::int64_t d = 0; d < depth; ++d) {
      VisitWindow(op, row, column, [&](std::int64_t r, std::int64_t c, std::int64_t k) {
        const auto at = static_cast<std::size_t>((channel * depth + d) * window + k);
        sum += static_cast<double>(weights[at]) * in.At(first + d, r, c);
      });
    }
    return static_cast<float>(sum);
  }
  VisitWindow(op, row, column, [&](std::int64_t r, std::int64_t c, std::int64_t) {
    if (!in.Inside(r, c)) return;
    ++inside;
    sum += in.At(channel, r, c);
    most = std::max<double>(most, in.At(channel, r, c));
  });
  return static_cast<float>(op.type == "MaxPool" ? most : sum / inside);
}

// Channels last, from a map and back.
execute::Value ChannelsLast(const Map& map) {
  execute::Value value;
  value.type = graph::ElementType::kFloat32;
  value.shape = {1, map.rows, map.columns, map.channels};
  std::vector<float> values =
      Permuted(map.values, {1, map.channels, map.rows, map.columns}, {0, 2, 3, 1});
  value.bytes.resize(values.size() * sizeof(float));
  std::memcpy(value.bytes.data(), values.data(), value.bytes.size());
  return value;
}

std::vector<float> FloatsOf(const execute::Value& value) {
  std::vector<float> values(value.bytes.size() / sizeof(float));
  std::memcpy(values.data(), value.bytes.data(), value.bytes.size());
  return values;
}

// A network of one window, drawn at random. Nothing when the window does not fit.
TensorId DrawWindow(Builder* b, TensorId in, Random* random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) { return random->Between(low, high); };
  const std::int64_t kernel = 1 + 2 * pick(0, 2);
  const auto padding = static_cast<Padding>(pick(0, 2));
  const std::int64_t stride = pick(1, 3);
  switch (pick(0, 3)) {
    case 0:
      return b->Conv("w", in,
                     {.channels = pick(1, 4),
                      .kernel = kernel,
                      .stride = stride,
                      .dilation = pick(1, 2),
                      .batch_norm = pick(0, 1) == 1,
                      .padding = padding});
    case 1:
      return b->DepthwiseConv("w", in,
                              {.kernel = kernel,
                               .stride = stride,
                               .dilation = pick(1, 2),
                               .batch_norm = pick(0, 1) == 1,
                               .padding = padding});
    case 2:
      return b->MaxPool("w", in, {.kernel = kernel, .stride = stride, .padding = padding});
    default:
      return b->AveragePool("w", in, {.kernel = kernel, .stride = stride, .padding = padding});
  }
}

TEST(ConvertToTflite, WindowsComputeWhatTheyAreDefinedTo) {
  Random random(11);
  std::map<std::string, int> seen;
  for (int trial = 0; trial < 3000; ++trial) {
    Map in{random.Between(2, 4), random.Between(9, 14), random.Between(9, 14), {}};
    for (std::int64_t i = 0; i < in.channels * in.rows * in.columns; ++i) {
      in.values.push_back(static_cast<float>(2 * random.Unit() - 1));
    }
    Builder b("net", static_cast<std::uint64_t>(trial));
    b.Output(DrawWindow(&b, b.Input("in", {1, in.channels, in.rows, in.columns}), &random));
    const Network network = b.Finish();
    const auto converted = ConvertToTflite(network.graph);
    ASSERT_TRUE(converted) << converted.error().ToString();
    for (const Op& op : Main(*converted).ops) ++seen[op.type];
    const execute::Value value = ChannelsLast(in);
    const auto outputs = execute::Evaluate(*converted, SubgraphId(0), std::span(&value, 1), {});
    ASSERT_TRUE(outputs) << outputs.error().ToString();
    const Subgraph& net = Main(network.graph);
    const Op& op = net.ops[OpId(0)];
    const Shape shape = *net.tensors[op.outputs[0]].shape;
    ASSERT_EQ(outputs->front().shape, (Shape{1, shape[2], shape[3], shape[1]}));
    const std::vector<float> got = FloatsOf(outputs->front());
    std::size_t at = 0;
    for (std::int64_t row = 0; row < shape[2]; ++row) {
      for (std::int64_t column = 0; column < shape[3]; ++column) {
        for (std::int64_t channel = 0; channel < shape[1]; ++channel) {
          const float expected = Defined(net, op, in, channel, row, column);
          ASSERT_NEAR(got[at++], expected, 2e-5) << op.type << " trial " << trial;
        }
      }
    }
  }
  for (const char* type :
       {"PAD", "PADV2", "MUL", "CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D"}) {
    EXPECT_GT(seen[type], 50) << type;
  }
}

// Of a small network whose output the builder calls `y`.
std::vector<float> Evaluated(Builder* b, const Map& in, graph::Graph* converted) {
  const Network network = b->Finish();
  auto result = ConvertToTflite(network.graph);
  EXPECT_TRUE(result) << result.error().ToString();
  *converted = std::move(*result);
  const execute::Value value = ChannelsLast(in);
  const auto outputs = execute::Evaluate(*converted, SubgraphId(0), std::span(&value, 1), {});
  EXPECT_TRUE(outputs) << outputs.error().ToString();
  return outputs ? FloatsOf(outputs->front()) : std::vector<float>();
}

const Map kSmall{2, 2, 2, {-4, 1, 2, 8, 0.5F, -1, 3, 7}};  // channel 0, then channel 1

TEST(ConvertToTflite, SumsAreChainsAndTakeTheRectifierIn) {
  Builder b("net", 0);
  const TensorId in = b.Input("in", {1, 2, 2, 2});
  const TensorId sum = b.Sum("sum", {in, in, in});
  b.Output(b.Relu6("y", sum));
  graph::Graph converted;
  const auto got = Evaluated(&b, kSmall, &converted);
  EXPECT_EQ(got, (std::vector<float>{0, 1.5F, 3, 0, 6, 6, 6, 6}));
  EXPECT_EQ(CountOps(converted), (Counts{{"ADD", 2}}));
}

TEST(ConvertToTflite, ARectifierThatIsNotAloneStaysApart) {
  Builder b("net", 0);
  const TensorId in = b.Input("in", {1, 2, 2, 2});
  const TensorId sum = b.Add("sum", in, in);
  b.Output(b.Add("y", b.Relu("relu", sum), sum));
  graph::Graph converted;
  const auto got = Evaluated(&b, kSmall, &converted);
  EXPECT_EQ(got, (std::vector<float>{-8, 2, 4, -2, 8, 12, 32, 28}));
  EXPECT_EQ(CountOps(converted), (Counts{{"ADD", 2}, {"RELU", 1}}));
}

TEST(ConvertToTflite, FlattensChannelsFirst) {
  Builder b("net", 0);
  b.Output(b.Flatten("y", b.Input("in", {1, 2, 2, 2})));
  graph::Graph converted;
  EXPECT_EQ(Evaluated(&b, kSmall, &converted), kSmall.values);
}

TEST(ConvertToTflite, MovesAndNormalisesAsDefined) {
  Builder b("net", 3);
  TensorId x = b.Input("in", {1, 2, 2, 2});
  x = b.Concat("both", {x, b.HardSigmoid("gate", x)});
  x = b.Crop("crop", b.PadOne("pad", x), 1);
  x = b.BatchNorm("norm", b.SplitWhole("copy", x));
  b.Output(b.Slice("y", x, 1, 1, 3));
  const Network network = b.Finish();
  const auto converted = ConvertToTflite(network.graph);
  ASSERT_TRUE(converted) << converted.error().ToString();
  const execute::Value value = ChannelsLast(kSmall);
  const auto outputs = execute::Evaluate(*converted, SubgraphId(0), std::span(&value, 1), {});
  ASSERT_TRUE(outputs) << outputs.error().ToString();
  const Subgraph& net = Main(network.graph);
  std::vector<std::vector<float>> norm;
  for (const Op& op : net.ops) {
    if (op.type != "BatchNormalization") continue;
    for (std::size_t i = 1; i < 5; ++i) norm.push_back(ValuesOf<float>(net.tensors[op.inputs[i]]));
  }
  const auto expected = [&](std::size_t channel, float x_value) {
    return (x_value - norm[2][channel]) / std::sqrt(norm[3][channel] + 1e-5F) * norm[0][channel] +
           norm[1][channel];
  };
  const auto got = FloatsOf(outputs->front());
  // The last element is kept by crop and pad; the others are padding.
  ASSERT_EQ(got.size(), 8U);
  EXPECT_NEAR(got[0], expected(1, 7), 1e-5);
  EXPECT_NEAR(got[1], expected(2, 1), 1e-5);
  for (std::size_t i = 2; i < 8; i += 2) {
    EXPECT_NEAR(got[i], expected(1, 0), 1e-5);
    EXPECT_NEAR(got[i + 1], expected(2, 0), 1e-5);
  }
}

TEST(ConvertToTflite, RefusesLongConcatenations) {
  Builder b("net", 0);
  const TensorId in = b.Input("in", {1, 2, 2, 2});
  b.Output(b.Concat("y", std::vector<TensorId>(11, in)));
  const auto converted = ConvertToTflite(b.Finish().graph);
  ASSERT_FALSE(converted);
  EXPECT_NE(converted.error().ToString().find("'Concat' (y): joins 11 tensors"), std::string::npos)
      << converted.error().ToString();
}

}  // namespace
}  // namespace neap::zoo
