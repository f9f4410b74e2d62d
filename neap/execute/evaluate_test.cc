// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <string_view>
#include <utility>

#include "testing/execute.h"

namespace neap::execute {
namespace {

using graph::ElementType;
using graph::SubgraphId;
using graph::TensorId;
using testing::ElementsAre;
using testing::HasSubstr;

Value FloatValue(graph::Shape shape, const std::vector<float>& values) {
  return {ElementType::kFloat32, std::move(shape), BytesOf(values)};
}

// A convolution by its definition, one output at a time.
std::vector<float> NaiveConv(const std::vector<float>& in, const std::vector<float>& filter,
                             const std::vector<float>& bias, std::int64_t size, std::int64_t depth,
                             std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                             std::int64_t places, std::int64_t channels, bool depthwise) {
  std::vector<float> out;
  for (std::int64_t y = 0; y < places; ++y) {
    for (std::int64_t x = 0; x < places; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        double sum = bias[static_cast<std::size_t>(c)];
        for (std::int64_t ky = 0; ky < kernel; ++ky) {
          for (std::int64_t kx = 0; kx < kernel; ++kx) {
            const std::int64_t iy = y * stride + ky - pad;
            const std::int64_t ix = x * stride + kx - pad;
            if (iy < 0 || ix < 0 || iy >= size || ix >= size) continue;
            for (std::int64_t i = 0; i < depth; ++i) {
              if (depthwise && i != c) continue;
              const auto at = static_cast<std::size_t>((iy * size + ix) * depth + i);
              const auto tap = static_cast<std::size_t>(
                  depthwise ? (ky * kernel + kx) * depth + i
                            : ((c * kernel + ky) * kernel + kx) * depth + i);
              sum += static_cast<double>(in[at]) * static_cast<double>(filter[tap]);
            }
          }
        }
        out.push_back(static_cast<float>(sum));
      }
    }
  }
  return out;
}

TEST(Evaluate, ConvolutionsAreTheirDefinition) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    const bool depthwise = random.Chance(1, 2);
    const bool same = random.Chance(1, 2);
    const std::int64_t size = random.Between(3, 9);
    const std::int64_t depth = random.Between(1, 7);
    const std::int64_t channels = depthwise ? depth : random.Between(1, 5);
    const std::int64_t kernel = random.Between(1, 3);
    const std::int64_t stride = random.Between(1, 2);
    const std::int64_t places = same ? (size + stride - 1) / stride : (size - kernel) / stride + 1;
    const std::int64_t missing = (places - 1) * stride + kernel - size;
    const std::int64_t pad = same && missing > 0 ? missing / 2 : 0;
    GraphMaker maker;
    const TensorId in = maker.Input(ElementType::kFloat32, {1, size, size, depth});
    const graph::Shape filter_shape = depthwise ? graph::Shape{1, kernel, kernel, depth}
                                                : graph::Shape{channels, kernel, kernel, depth};
    const auto filter = RandomFloats(kernel * kernel * depth * (depthwise ? 1 : channels), &random);
    const auto bias = RandomFloats(channels, &random);
    const TensorId out = maker.Floats({1, places, places, channels});
    maker.Op("tflite", depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D",
             {in, maker.Constant(ElementType::kFloat32, filter_shape, filter),
              maker.Constant(ElementType::kFloat32, {channels}, bias)},
             {out},
             {{"padding", std::int64_t{same ? 0 : 1}}, {"stride_w", stride}, {"stride_h", stride}});
    maker.Output(out);
    const auto values = RandomFloats(size * size * depth, &random);
    const auto result = Evaluate(maker.graph(), SubgraphId(0),
                                 std::vector{FloatValue({1, size, size, depth}, values)}, {});
    ASSERT_TRUE(result) << result.error().ToString();
    const auto expected = NaiveConv(values, filter, bias, size, depth, kernel, stride, pad, places,
                                    channels, depthwise);
    EXPECT_THAT(NumbersOf<float>((*result)[0].bytes),
                testing::Pointwise(testing::FloatNear(1e-5F), expected));
  }
}

// Operators of any number of operands, of one to four with broadcasting: from the left, element by
// element.
TEST(Evaluate, FoldsTakeEveryOperand) {
  using Combine = float (*)(float, float);
  const std::pair<const char*, Combine> operators[] = {
      {"Sum", [](float a, float b) { return a + b; }},
      {"Mean", [](float a, float b) { return a + b; }},
      {"Max", [](float a, float b) { return a < b ? b : a; }},
      {"Min", [](float a, float b) { return a < b ? a : b; }}};
  Random random(2);
  for (int round = 0; round < 100; ++round) {
    const auto& [type, combine] = operators[random.Below(std::size(operators))];
    const std::int64_t height = random.Between(1, 4);
    const std::int64_t width = random.Between(1, 5);
    GraphMaker maker;
    std::vector<TensorId> inputs;
    std::vector<Value> values;
    std::vector<float> expected;
    const std::int64_t count = random.Between(1, 4);
    for (std::int64_t n = 0; n < count; ++n) {
      // The first one has the shape of the output.
      const std::int64_t own_height = n > 0 && random.Chance(1, 2) ? 1 : height;
      const std::int64_t own_width = n > 0 && random.Chance(1, 2) ? 1 : width;
      const auto numbers = RandomFloats(own_height * own_width, &random);
      inputs.push_back(maker.Input(ElementType::kFloat32, {own_height, own_width}));
      values.push_back(FloatValue({own_height, own_width}, numbers));
      for (std::int64_t i = 0; i < height * width; ++i) {
        const std::int64_t y = own_height == 1 ? 0 : i / width;
        const std::int64_t x = own_width == 1 ? 0 : i % width;
        const float number = numbers[static_cast<std::size_t>(y * own_width + x)];
        if (n == 0) {
          expected.push_back(number);
        } else {
          float& sum = expected[static_cast<std::size_t>(i)];
          sum = combine(sum, number);
        }
      }
    }
    const bool divides = std::string_view(type) == "Mean";
    for (float& number : expected) number /= divides ? static_cast<float>(count) : 1.0F;
    const TensorId out = maker.Floats({height, width});
    maker.Op("", type, inputs, {out}, {});
    maker.Output(out);
    const auto result = Evaluate(maker.graph(), SubgraphId(0), values, {});
    ASSERT_TRUE(result) << result.error().ToString();
    EXPECT_EQ(NumbersOf<float>((*result)[0].bytes), expected) << type << " of " << count;
  }
}

TEST(Evaluate, ObserverSeesEveryTensorOnceInOrder) {
  GraphMaker maker;
  const TensorId in = maker.Input(ElementType::kFloat32, {2});
  const TensorId relu = maker.Floats({2});
  const TensorId sum = maker.Floats({2});
  maker.Op("tflite", "ADD", {relu, relu}, {sum});
  maker.Op("tflite", "RELU", {in}, {relu});
  maker.Output(sum);
  std::vector<std::pair<TensorId, std::vector<float>>> seen;
  EvaluateOptions options;
  options.observer = [&](TensorId id, std::span<const std::byte> bytes) {
    seen.emplace_back(id, NumbersOf<float>(bytes));
  };
  const auto result =
      Evaluate(maker.graph(), SubgraphId(0), std::vector{FloatValue({2}, {-1, 3})}, options);
  ASSERT_TRUE(result) << result.error().ToString();
  EXPECT_THAT(seen, ElementsAre(testing::Pair(in, ElementsAre(-1, 3)),
                                testing::Pair(relu, ElementsAre(0, 3)),
                                testing::Pair(sum, ElementsAre(0, 6))));
  EXPECT_THAT(NumbersOf<float>((*result)[0].bytes), ElementsAre(0, 6));
}

TEST(Evaluate, OperatorsWithoutAKernelAreRefusedByName) {
  GraphMaker maker;
  const TensorId in = maker.Input(ElementType::kFloat32, {2});
  const TensorId out = maker.Floats({2});
  maker.Op("tflite", "NO_SUCH_THING", {in}, {out});
  maker.Output(out);
  const auto result =
      Evaluate(maker.graph(), SubgraphId(0), std::vector{FloatValue({2}, {1, 2})}, {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().ToString(), HasSubstr("NO_SUCH_THING"));
}

TEST(Evaluate, InputsOfAnotherTypeOrShapeAreRefused) {
  GraphMaker maker;
  const TensorId in = maker.Input(ElementType::kFloat32, {2});
  maker.Output(in);
  EXPECT_TRUE(Evaluate(maker.graph(), SubgraphId(0), std::vector{FloatValue({2}, {1, 2})}, {}));
  EXPECT_FALSE(Evaluate(maker.graph(), SubgraphId(0), std::vector{FloatValue({1}, {1})}, {}));
  EXPECT_FALSE(Evaluate(maker.graph(), SubgraphId(0), std::vector<Value>{}, {}));
}

TEST(Evaluate, MemoryIsBounded) {
  GraphMaker maker;
  const TensorId in = maker.Input(ElementType::kFloat32, {2});
  const TensorId out = maker.Floats({std::int64_t{1} << 40});
  maker.Op("tflite", "TILE",
           {in, maker.Constant<std::int32_t>(ElementType::kInt32, {1}, {1 << 30})}, {out});
  maker.Output(out);
  EXPECT_FALSE(Evaluate(maker.graph(), SubgraphId(0), std::vector{FloatValue({2}, {1, 2})}, {}));
}

}  // namespace
}  // namespace neap::execute
