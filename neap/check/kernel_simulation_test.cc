// SPDX-License-Identifier: Apache-2.0
//
// Three answers to one question, each with code of its own: how far below an input may the output
// start? The distance that the planner uses (ops/overlap.h), the walk of the checker
// (kernel_simulation.h), and here the loops of the kernels with every single byte.
#include "neap/check/kernel_simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "testing/cases.h"
#include "testing/sketch.h"

namespace neap::check {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;

constexpr auto kLibrary = ops::KernelLibrary::kTflmReference;

// The accesses of a kernel, element by element: the elements that it reads, then the one that it
// writes; -1: none.
struct Event {
  std::vector<std::int64_t> reads;
  std::int64_t write = 0;
};

struct Case {
  ops::KernelLibrary library = kLibrary;
  std::string what;
  Subgraph subgraph;
  Op op;
  std::vector<Event> events;  // of the first input
  std::int64_t in_element = 1;
  std::int64_t out_element = 1;
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
};

std::int64_t Count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  return count;
}

TensorId Add(Subgraph* subgraph, Shape shape, ElementType type) {
  graph::Tensor tensor;
  tensor.name = "t" + std::to_string(subgraph->tensors.size());
  tensor.type = type;
  tensor.shape = std::move(shape);
  subgraph->tensors.push_back(std::move(tensor));
  return TensorId(static_cast<std::int32_t>(subgraph->tensors.size()) - 1);
}

TensorId AddIntegers(Subgraph* subgraph, Shape shape, const std::vector<std::int32_t>& values) {
  const TensorId id = Add(subgraph, std::move(shape), ElementType::kInt32);
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * 4);
  std::memcpy(bytes->data(), values.data(), bytes->size());
  subgraph->tensors[id].constant = true;
  subgraph->tensors[id].data = graph::ConstantData{bytes, *bytes};
  return id;
}

void SetIo(Case* c, Shape in, Shape out, ElementType in_type, ElementType out_type) {
  c->in_elements = Count(in);
  c->out_elements = Count(out);
  c->in_element = graph::BitsOf(in_type) / 8;
  c->out_element = graph::BitsOf(out_type) / 8;
  c->op.domain = "tflite";
  c->op.inputs = {Add(&c->subgraph, std::move(in), in_type)};
  c->op.outputs = {Add(&c->subgraph, std::move(out), out_type)};
}

// ---- the operators

Case WindowCase(Random* random) {
  Case c;
  const auto pick = [&](std::int64_t low, std::int64_t high) { return random->Between(low, high); };
  const int kind = static_cast<int>(pick(0, 2));  // convolution, depthwise, pooling
  const std::int64_t batches = pick(0, 5) == 0 ? 2 : 1;
  const std::int64_t in_h = pick(1, 7);
  const std::int64_t in_w = pick(1, 7);
  const std::int64_t in_c = pick(1, 4);
  const std::int64_t k_h = pick(1, 4);
  const std::int64_t k_w = pick(1, 4);
  const std::int64_t s_h = pick(1, 3);
  const std::int64_t s_w = pick(1, 3);
  const std::int64_t d_h = kind == 2 ? 1 : pick(1, 2);
  const std::int64_t d_w = kind == 2 ? 1 : pick(1, 2);
  const bool same = pick(0, 1) == 0;
  const std::int64_t multiplier = kind == 1 ? pick(1, 2) : 1;
  const std::int64_t out_c = kind == 0 ? pick(1, 5) : in_c * multiplier;
  const std::int64_t e_h = (k_h - 1) * d_h + 1;
  const std::int64_t e_w = (k_w - 1) * d_w + 1;
  if (!same && (e_h > in_h || e_w > in_w)) return WindowCase(random);
  const std::int64_t out_h = same ? (in_h + s_h - 1) / s_h : (in_h - e_h) / s_h + 1;
  const std::int64_t out_w = same ? (in_w + s_w - 1) / s_w : (in_w - e_w) / s_w + 1;
  const std::int64_t p_h = same ? std::max<std::int64_t>((out_h - 1) * s_h + e_h - in_h, 0) / 2 : 0;
  const std::int64_t p_w = same ? std::max<std::int64_t>((out_w - 1) * s_w + e_w - in_w, 0) / 2 : 0;
  const ElementType type = pick(0, 2) == 0 ? ElementType::kFloat32 : ElementType::kInt8;
  SetIo(&c, {batches, in_h, in_w, in_c}, {batches, out_h, out_w, out_c}, type, type);
  c.op.attributes = {{"padding", std::int64_t{same ? 0 : 1}}, {"stride_h", s_h}, {"stride_w", s_w}};
  if (kind == 2) {
    c.op.type = pick(0, 1) == 0 ? "MAX_POOL_2D" : "AVERAGE_POOL_2D";
    c.op.attributes["filter_height"] = k_h;
    c.op.attributes["filter_width"] = k_w;
  } else {
    c.op.type = kind == 0 ? "CONV_2D" : "DEPTHWISE_CONV_2D";
    c.op.attributes["dilation_h_factor"] = d_h;
    c.op.attributes["dilation_w_factor"] = d_w;
    c.op.inputs.push_back(Add(
        &c.subgraph, kind == 0 ? Shape{out_c, k_h, k_w, in_c} : Shape{1, k_h, k_w, out_c}, type));
  }
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t y = 0; y < out_h; ++y)
      for (std::int64_t x = 0; x < out_w; ++x)
        for (std::int64_t o = 0; o < out_c; ++o) {
          Event event;
          for (std::int64_t ky = 0; ky < k_h; ++ky)
            for (std::int64_t kx = 0; kx < k_w; ++kx)
              for (std::int64_t i = 0; i < in_c; ++i) {
                const std::int64_t row = y * s_h - p_h + ky * d_h;
                const std::int64_t column = x * s_w - p_w + kx * d_w;
                if (row < 0 || row >= in_h || column < 0 || column >= in_w) continue;
                if (kind != 0 && i != o / multiplier) continue;
                event.reads.push_back(((b * in_h + row) * in_w + column) * in_c + i);
              }
          event.write = static_cast<std::int64_t>(c.events.size());
          c.events.push_back(std::move(event));
        }
  c.what = c.op.type;
  return c;
}

Case ElementwiseCase(Random* random) {
  Case c;
  const bool binary = random->Below(2) == 0;
  const std::int64_t n = 1 + static_cast<std::int64_t>(random->Below(20));
  const bool widen = !binary && random->Below(3) == 0;
  const bool narrow = !binary && !widen && random->Below(3) == 0;
  c.op.type = binary ? "ADD" : widen ? "DEQUANTIZE" : narrow ? "QUANTIZE" : "LOGISTIC";
  SetIo(&c, {1, n}, {1, n}, narrow ? ElementType::kFloat32 : ElementType::kInt8,
        widen ? ElementType::kFloat32 : ElementType::kInt8);
  if (binary) c.op.inputs.push_back(Add(&c.subgraph, {1, n}, ElementType::kInt8));
  for (std::int64_t i = 0; i < n; ++i) c.events.push_back({{i}, i});
  c.what = c.op.type;
  return c;
}

Case FullyConnectedCase(Random* random) {
  Case c;
  const std::int64_t batches = 1 + static_cast<std::int64_t>(random->Below(3));
  const std::int64_t depth = 1 + static_cast<std::int64_t>(random->Below(8));
  const std::int64_t outputs = 1 + static_cast<std::int64_t>(random->Below(8));
  c.op.type = "FULLY_CONNECTED";
  SetIo(&c, {batches, depth}, {batches, outputs}, ElementType::kInt8, ElementType::kInt8);
  c.op.inputs.push_back(Add(&c.subgraph, {outputs, depth}, ElementType::kInt8));
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t o = 0; o < outputs; ++o) {
      Event event;
      for (std::int64_t d = 0; d < depth; ++d) event.reads.push_back(b * depth + d);
      event.write = b * outputs + o;
      c.events.push_back(std::move(event));
    }
  c.what = c.op.type;
  return c;
}

Case SoftmaxCase(Random* random) {
  Case c;
  const std::int64_t rows = 1 + static_cast<std::int64_t>(random->Below(3));
  const std::int64_t depth = 1 + static_cast<std::int64_t>(random->Below(6));
  c.op.type = "SOFTMAX";
  SetIo(&c, {rows, depth}, {rows, depth}, ElementType::kInt8,
        random->Below(3) == 0 ? ElementType::kInt16 : ElementType::kInt8);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t d = 0; d < depth; ++d) {
      Event event;
      if (d == 0) {
        for (std::int64_t k = 0; k < depth; ++k) event.reads.push_back(r * depth + k);
      }
      event.reads.push_back(r * depth + d);
      event.write = r * depth + d;
      c.events.push_back(std::move(event));
    }
  c.what = c.op.type;
  return c;
}

Case PadCase(Random* random) {
  Case c;
  Shape in;
  Shape out;
  std::vector<std::int32_t> paddings;
  for (int d = 0; d < 4; ++d) {
    in.push_back(1 + static_cast<std::int64_t>(random->Below(3)));
    paddings.push_back(static_cast<std::int32_t>(random->Below(3)));
    paddings.push_back(static_cast<std::int32_t>(random->Below(3)));
    out.push_back(in.back() + paddings[paddings.size() - 2] + paddings.back());
  }
  c.op.type = "PAD";
  SetIo(&c, in, out, ElementType::kInt8, ElementType::kInt8);
  c.op.inputs.push_back(AddIntegers(&c.subgraph, {4, 2}, paddings));
  std::int64_t k = 0;
  for (std::int64_t a = 0; a < out[0]; ++a)
    for (std::int64_t b = 0; b < out[1]; ++b)
      for (std::int64_t y = 0; y < out[2]; ++y)
        for (std::int64_t x = 0; x < out[3]; ++x) {
          const std::int64_t at[4] = {a - paddings[0], b - paddings[2], y - paddings[4],
                                      x - paddings[6]};
          Event event;
          bool inside = true;
          std::int64_t index = 0;
          for (std::size_t d = 0; d < 4; ++d) {
            inside = inside && at[d] >= 0 && at[d] < in[d];
            index = index * in[d] + at[d];
          }
          if (inside) event.reads.push_back(index);
          event.write = k++;
          c.events.push_back(std::move(event));
        }
  c.what = c.op.type;
  return c;
}

Case MeanCase(Random* random) {
  Case c;
  const std::int64_t h = 1 + static_cast<std::int64_t>(random->Below(4));
  const std::int64_t w = 1 + static_cast<std::int64_t>(random->Below(4));
  const std::int64_t channels = 1 + static_cast<std::int64_t>(random->Below(5));
  c.op.type = "MEAN";
  c.library = ops::KernelLibrary::kNeap;
  SetIo(&c, {1, h, w, channels}, {1, channels}, ElementType::kInt8, ElementType::kInt8);
  c.op.inputs.push_back(AddIntegers(&c.subgraph, {2}, {1, 2}));
  for (std::int64_t o = 0; o < channels; ++o) {
    Event event;
    for (std::int64_t p = 0; p < h * w; ++p) event.reads.push_back(p * channels + o);
    event.write = o;
    c.events.push_back(std::move(event));
  }
  c.what = c.op.type;
  return c;
}

// The lower and the upper neighbour of a place, as the kernels round.
std::pair<std::int64_t, std::int64_t> Neighbours(std::int64_t o, std::int64_t in, std::int64_t out,
                                                 bool corners, bool centers, bool whole) {
  if (whole) {
    std::int64_t scale = (1024 * in + out / 2) / out;
    if (corners && out > 1) scale = (1024 * (in - 1) + (out - 1) / 2) / (out - 1);
    const std::int64_t place = centers ? o * scale + scale / 2 - 512 : o * scale;
    return {std::max<std::int64_t>(place / 1024, 0), std::min((place + 1023) / 1024, in - 1)};
  }
  float scale = static_cast<float>(in) / static_cast<float>(out);
  if (corners && out > 1) scale = static_cast<float>(in - 1) / static_cast<float>(out - 1);
  const float place =
      centers ? (static_cast<float>(o) + 0.5F) * scale - 0.5F : static_cast<float>(o) * scale;
  return {std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(place)), 0),
          std::min<std::int64_t>(static_cast<std::int64_t>(std::ceil(place)), in - 1)};
}

std::int64_t Nearest(std::int64_t o, std::int64_t in, std::int64_t out, bool corners,
                     bool centers) {
  float scale = static_cast<float>(in) / static_cast<float>(out);
  if (corners && out > 1) scale = static_cast<float>(in - 1) / static_cast<float>(out - 1);
  const float place = (static_cast<float>(o) + (centers ? 0.5F : 0.0F)) * scale;
  const float rounded = corners ? std::round(place) : std::floor(place);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(rounded), 0, in - 1);
}

// A pixel is copied at once; the result of a copy onto itself is undefined.
void AddCopiedPixel(std::int64_t from, std::int64_t depth, Case* c) {
  const auto at = static_cast<std::int64_t>(c->events.size()) / (depth + 1) * depth;
  for (std::int64_t i = 0; i < depth; ++i) c->events.push_back({{}, at + i});
  Event last;
  last.write = -1;
  for (std::int64_t i = 0; i < depth; ++i) last.reads.push_back(from * depth + i);
  c->events.push_back(std::move(last));
}

Case ResizeCase(Random* random) {
  Case c;
  const bool nearest = random->Below(2) == 0;
  const bool floats = random->Below(2) == 0;
  const bool corners = random->Below(2) == 0;
  const bool centers = !corners && random->Below(2) == 0;
  const Shape in = {random->Between(1, 2), random->Between(1, 7), random->Between(1, 7),
                    random->Between(1, 3)};
  const Shape out = {in[0], random->Between(1, 12), random->Between(1, 12), in[3]};
  const ElementType type = floats ? ElementType::kFloat32 : ElementType::kInt8;
  c.op.type = nearest ? "RESIZE_NEAREST_NEIGHBOR" : "RESIZE_BILINEAR";
  SetIo(&c, in, out, type, type);
  c.op.inputs.push_back(AddIntegers(
      &c.subgraph, {2}, {static_cast<std::int32_t>(out[1]), static_cast<std::int32_t>(out[2])}));
  c.op.attributes = {{"align_corners", std::int64_t{corners}},
                     {"half_pixel_centers", std::int64_t{centers}}};
  std::int64_t written = 0;
  for (std::int64_t b = 0; b < out[0]; ++b)
    for (std::int64_t y = 0; y < out[1]; ++y)
      for (std::int64_t x = 0; x < out[2]; ++x) {
        const auto pixel = [&](std::int64_t row, std::int64_t column) {
          return (b * in[1] + row) * in[2] + column;
        };
        if (nearest) {
          AddCopiedPixel(pixel(Nearest(y, in[1], out[1], corners, centers),
                               Nearest(x, in[2], out[2], corners, centers)),
                         in[3], &c);
          continue;
        }
        const auto [y0, y1] = Neighbours(y, in[1], out[1], corners, centers, !floats);
        const auto [x0, x1] = Neighbours(x, in[2], out[2], corners, centers, !floats);
        for (std::int64_t i = 0; i < in[3]; ++i) {
          Event event;
          for (const std::int64_t row : {y0, y1})
            for (const std::int64_t column : {x0, x1})
              event.reads.push_back(pixel(row, column) * in[3] + i);
          event.write = written++;
          c.events.push_back(std::move(event));
        }
      }
  c.what = c.op.type + (floats ? " float" : " int8");
  return c;
}

// ---- every byte

bool SurvivesByBytes(const Case& c, std::int64_t distance) {
  std::vector<char> clobbered(static_cast<std::size_t>(c.in_elements * c.in_element), 0);
  for (const Event& event : c.events) {
    for (const std::int64_t element : event.reads) {
      for (std::int64_t k = 0; k < c.in_element; ++k) {
        if (clobbered[static_cast<std::size_t>(element * c.in_element + k)] != 0) return false;
      }
    }
    for (std::int64_t k = 0; event.write >= 0 && k < c.out_element; ++k) {
      const std::int64_t at = event.write * c.out_element + k - distance;
      if (at >= 0 && at < static_cast<std::int64_t>(clobbered.size())) {
        clobbered[static_cast<std::size_t>(at)] = 1;
      }
    }
  }
  return true;
}

void CheckPlan(const Case& c) {
  const std::int64_t out_bytes = c.out_elements * c.out_element;
  std::int64_t least = 0;  // that every distance from there on survives
  for (std::int64_t d = 0; d <= out_bytes; ++d) {
    const bool survives = SurvivesByBytes(c, d);
    ASSERT_EQ(ReadsSurvive(c.subgraph, c.op, 0, c.library, d), survives) << c.what << " at " << d;
    if (!survives) least = d + 1;
  }
  const auto rule = ops::OverlapRuleOf(c.subgraph, c.op, 0, c.library);
  if (least >= out_bytes) {
    EXPECT_FALSE(rule) << c.what;
  } else {
    ASSERT_TRUE(rule) << c.what << ": " << least << " suffice of " << out_bytes;
    EXPECT_EQ(rule->bytes, least) << c.what;
  }
}

using MakeCase = Case (*)(Random*);
class KernelSimulationTest : public testing::TestWithParam<std::pair<const char*, MakeCase>> {};

TEST_P(KernelSimulationTest, DistanceWalkAndBytesAgree) {
  Random random(7);
  int with_rule = 0;
  for (int i = 0; i < Cases(1000) && !HasFatalFailure(); ++i) {
    const Case c = GetParam().second(&random);
    CheckPlan(c);
    with_rule += ops::OverlapRuleOf(c.subgraph, c.op, 0, c.library) ? 1 : 0;
  }
  EXPECT_GT(with_rule, Cases(1000) / 20);
}

INSTANTIATE_TEST_SUITE_P(Operators, KernelSimulationTest,
                         testing::Values(std::pair("Window", &WindowCase),
                                         std::pair("Elementwise", &ElementwiseCase),
                                         std::pair("FullyConnected", &FullyConnectedCase),
                                         std::pair("Softmax", &SoftmaxCase),
                                         std::pair("Pad", &PadCase), std::pair("Mean", &MeanCase)),
                         [](const auto& test) { return std::string(test.param.first); });

// TFLM's kernel sets its output to 0 before it reads: no distance is safe.
TEST(KernelSimulation, StockMeansStandApart) {
  Random random(11);
  for (int i = 0; i < 50; ++i) {
    const Case c = MeanCase(&random);
    EXPECT_FALSE(ops::OverlapRuleOf(c.subgraph, c.op, 0, kLibrary));
    EXPECT_FALSE(ReadsSurvive(c.subgraph, c.op, 0, kLibrary, 0));
  }
}

// Single precision may round a place down: there rule and walk may keep more distance than these
// loops need, never less.
TEST(KernelSimulationTest, ResizedImagesAreSafeAndNearlyAlwaysTight) {
  Random random(9);
  int tight = 0;
  for (int i = 0; i < Cases(1000); ++i) {
    const Case c = ResizeCase(&random);
    const std::int64_t out_bytes = c.out_elements * c.out_element;
    std::int64_t least = 0;
    for (std::int64_t d = 0; d <= out_bytes; ++d) {
      const bool survives = SurvivesByBytes(c, d);
      if (!survives) {
        ASSERT_FALSE(ReadsSurvive(c.subgraph, c.op, 0, kLibrary, d)) << c.what << " at " << d;
      }
      if (!survives) least = d + 1;
    }
    const auto rule = ops::OverlapRuleOf(c.subgraph, c.op, 0, kLibrary);
    if (!rule) {
      tight += least >= out_bytes ? 1 : 0;
      continue;
    }
    ASSERT_GE(rule->bytes, least) << c.what;
    ASSERT_TRUE(ReadsSurvive(c.subgraph, c.op, 0, kLibrary, rule->bytes)) << c.what;
    tight += rule->bytes == least ? 1 : 0;
    if (c.what == "RESIZE_BILINEAR int8") {
      ASSERT_EQ(rule->bytes, least);
    }
  }
  EXPECT_GT(tight, Cases(1000) * 7 / 10);
}

Case ConcatenationOf(const std::vector<std::int64_t>& parts, std::int64_t outside) {
  Case c;
  std::int64_t total = 0;
  for (const std::int64_t part : parts) total += part;
  SetIo(&c, {outside, parts[0]}, {outside, total}, ElementType::kInt8, ElementType::kInt8);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    c.op.inputs.push_back(Add(&c.subgraph, {outside, parts[i]}, ElementType::kInt8));
  }
  c.op.type = "CONCATENATION";
  c.op.attributes["axis"] = std::int64_t{1};
  return c;
}

TEST(KernelHoldsInputTest, PartsOfAConcatenationLieWhereTheyBelong) {
  const Case c = ConcatenationOf({5, 3, 7}, 1);
  const std::int64_t expected[] = {0, 5, 8};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto rule = ops::OverlapRuleOf(c.subgraph, c.op, i, kLibrary);
    ASSERT_TRUE(rule);
    EXPECT_EQ(rule->kind, ops::OverlapRule::Kind::kHoldsInput);
    EXPECT_EQ(rule->bytes, expected[i]);
    EXPECT_TRUE(HoldsInput(c.subgraph, c.op, i, kLibrary, expected[i]));
    EXPECT_FALSE(HoldsInput(c.subgraph, c.op, i, kLibrary, expected[i] + 1));
    EXPECT_FALSE(ReadsSurvive(c.subgraph, c.op, i, kLibrary, 0));
  }
}

TEST(KernelHoldsInputTest, NotInPiecesAndNotTwice) {
  const Case pieces = ConcatenationOf({5, 3}, 2);
  EXPECT_FALSE(ops::OverlapRuleOf(pieces.subgraph, pieces.op, 0, kLibrary));
  EXPECT_FALSE(HoldsInput(pieces.subgraph, pieces.op, 0, kLibrary, 0));
  Case twice = ConcatenationOf({5, 5}, 1);
  twice.op.inputs[1] = twice.op.inputs[0];
  EXPECT_FALSE(ops::OverlapRuleOf(twice.subgraph, twice.op, 0, kLibrary));
  EXPECT_FALSE(HoldsInput(twice.subgraph, twice.op, 0, kLibrary, 0));
}

// Kernels of uint8 compute with scales as soon as one part has another one than the output.
TEST(KernelHoldsInputTest, ScalesOfAllPartsDecide) {
  Random random(7);
  int held = 0;
  for (int i = 0; i < 200; ++i) {
    Case c = ConcatenationOf({5, 3, 7}, 1);
    for (graph::Tensor& tensor : c.subgraph.tensors) {
      tensor.type = ElementType::kUint8;
      tensor.quantization = graph::Quantization{{random.Below(6) == 0 ? 0.5F : 0.25F}, {3}, 0};
    }
    for (std::size_t input = 0; input < 3; ++input) {
      const auto rule = ops::OverlapRuleOf(c.subgraph, c.op, input, kLibrary);
      const std::int64_t at[] = {0, 5, 8};
      EXPECT_EQ(rule.has_value(), HoldsInput(c.subgraph, c.op, input, kLibrary, at[input]));
      held += rule ? 1 : 0;
    }
  }
  EXPECT_GT(held, 100);
  EXPECT_LT(held, 500);
}

// A piece of a tensor, and which element of the tensor each of its elements is.
struct Piece {
  Case c;
  std::size_t output = 0;
  std::vector<std::int64_t> sources;
};

std::vector<std::int64_t> SourcesOf(const Shape& in, const Shape& begin, const Shape& size) {
  std::vector<std::int64_t> sources;
  Shape at(in.size(), 0);
  for (std::int64_t k = Count(size); k > 0; --k) {
    std::int64_t source = 0;
    for (std::size_t d = 0; d < in.size(); ++d) source = source * in[d] + begin[d] + at[d];
    sources.push_back(source);
    for (std::size_t d = in.size(); d-- > 0 && ++at[d] == size[d];) at[d] = 0;
  }
  return sources;
}

std::vector<std::int32_t> Words(const Shape& values) { return {values.begin(), values.end()}; }

Piece PieceCase(Random* random) {
  Piece piece;
  Case& c = piece.c;
  Shape in;
  Shape begin;
  Shape size;
  for (std::int64_t d = random->Between(1, 4); d > 0; --d) {
    in.push_back(random->Between(1, 4));
    begin.push_back(random->Chance(1, 2) ? 0 : random->Between(0, in.back() - 1));
    size.push_back(random->Chance(1, 2) ? in.back() - begin.back()
                                        : random->Between(1, in.back() - begin.back()));
  }
  const auto rank = static_cast<std::int32_t>(in.size());
  const ElementType type = random->Chance(1, 2) ? ElementType::kInt8 : ElementType::kFloat32;
  const auto kind = random->Below(7);
  if (kind == 4) {
    const auto axis = static_cast<std::size_t>(random->Below(in.size()));
    size = in;
    begin.assign(in.size(), 0);
    piece.output = static_cast<std::size_t>(random->Below(static_cast<std::uint64_t>(in[axis])));
    begin[axis] = static_cast<std::int64_t>(piece.output);
    size[axis] = 1;
    Shape out = in;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
    SetIo(&c, in, out, type, type);
    for (std::int64_t i = 1; i < in[axis]; ++i) {
      c.op.outputs.push_back(Add(&c.subgraph, out, type));
    }
    c.op.type = "UNPACK";
    c.op.attributes = {{"axis", static_cast<std::int64_t>(axis) -
                                    (random->Chance(1, 3) ? std::int64_t{rank} : 0)}};
  } else if (kind == 5) {
    // Axes in another order, those that are whole left out, and ends counted from behind.
    SetIo(&c, in, size, type, type);
    c.op.type = "Slice";
    c.op.domain = "";
    std::vector<std::int64_t> starts;
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> axes;
    std::vector<std::int64_t> by;
    for (std::size_t d = in.size(); d-- > 0;) {
      if (size[d] == in[d] && d > 0 && random->Chance(1, 2)) continue;
      starts.push_back(begin[d] - (random->Chance(1, 3) ? in[d] : 0));
      ends.push_back(begin[d] + size[d]);
      by.push_back(size[d] == 1 && random->Chance(1, 3) ? 2 : 1);
      axes.push_back(static_cast<std::int64_t>(d) -
                     (random->Chance(1, 3) ? std::int64_t{rank} : 0));
    }
    if (random->Chance(1, 3)) {
      c.op.attributes = {{"starts", starts}, {"ends", ends}, {"axes", axes}};
    } else {
      const auto count = static_cast<std::int64_t>(axes.size());
      for (const auto& list : {starts, ends, axes, by}) {
        c.op.inputs.push_back(
            c.subgraph.tensors.push_back(graph::ConstantOf(ElementType::kInt64, {count}, list)));
      }
    }
  } else if (kind < 2 || kind == 6) {
    const auto axis = static_cast<std::size_t>(random->Below(in.size()));
    begin.assign(in.size(), 0);
    size = in;
    size[axis] = random->Between(1, in[axis]);
    SetIo(&c, in, size, type, type);
    Shape rest = in;
    rest[axis] -= size[axis];
    if (rest[axis] > 0) {
      c.op.outputs.push_back(Add(&c.subgraph, rest, type));
      if (random->Chance(1, 2)) {
        piece.output = 1;
        begin[axis] = size[axis];
        size = rest;
      }
    }
    const auto along = static_cast<std::int32_t>(axis) - (random->Chance(1, 3) ? rank : 0);
    const TensorId axis_id = AddIntegers(&c.subgraph, {}, {along});
    c.op.type = kind == 0 ? "SPLIT" : "SPLIT_V";
    if (kind == 6) {
      c.op.type = "Split";
      c.op.domain = "";
      c.op.attributes = {{"axis", std::int64_t{along}}};
    } else if (kind == 0) {
      c.op.inputs = {axis_id, c.op.inputs[0]};
    } else {
      c.op.inputs.push_back(AddIntegers(&c.subgraph, {2}, {1, 1}));  // the kernel reads the shapes
      c.op.inputs.push_back(axis_id);
    }
  } else if (kind == 2) {
    c.op.type = "SLICE";
    SetIo(&c, in, size, type, type);
    c.op.inputs.push_back(AddIntegers(&c.subgraph, {rank}, Words(begin)));
    c.op.inputs.push_back(AddIntegers(&c.subgraph, {rank}, Words(size)));
  } else {
    c.op.type = "STRIDED_SLICE";
    Shape end = begin;
    std::int64_t ends_masked = 0;
    std::int64_t gone = 0;
    Shape out;
    for (std::size_t d = 0; d < in.size(); ++d) {
      end[d] += size[d];
      if (end[d] == in[d] && random->Chance(1, 2)) ends_masked |= std::int64_t{1} << d;
      if (size[d] == 1 && random->Chance(1, 3)) {
        gone |= std::int64_t{1} << d;
      } else {
        out.push_back(size[d]);
      }
    }
    SetIo(&c, in, out, type, type);
    Shape steps(in.size(), 1);
    if (random->Chance(1, 8)) steps[0] = 2;
    c.op.inputs.push_back(AddIntegers(&c.subgraph, {rank}, Words(begin)));
    c.op.inputs.push_back(AddIntegers(&c.subgraph, {rank}, Words(end)));
    c.op.inputs.push_back(AddIntegers(&c.subgraph, {rank}, Words(steps)));
    c.op.attributes = {{"end_mask", ends_masked}, {"shrink_axis_mask", gone}};
    if (steps[0] != 1) {
      piece.sources = {0, 2};  // no stretch of any kind
      return piece;
    }
  }
  piece.sources = SourcesOf(in, begin, size);
  return piece;
}

TEST(KernelHoldsOutputTest, ThePiecesThatAreOneStretch) {
  constexpr auto kNeap = ops::KernelLibrary::kNeap;
  Random random(4);
  int stretches = 0;
  for (int i = 0; i < 4 * Cases(1000); ++i) {
    Piece piece = PieceCase(&random);
    piece.c.op.stateful = random.Chance(1, 4);  // of the order alone
    const Case& c = piece.c;
    bool stretch = true;
    for (std::size_t k = 1; k < piece.sources.size(); ++k) {
      stretch = stretch && piece.sources[k] == piece.sources[k - 1] + 1;
    }
    const auto rule = ops::ViewRuleOf(c.subgraph, c.op, piece.output, kNeap);
    ASSERT_EQ(MayBePiece(c.subgraph, c.op, piece.output, kNeap), stretch) << c.op.type << i;
    // Other libraries are tested with slices only.
    const bool elsewhere = ops::ViewRuleOf(c.subgraph, c.op, piece.output, kLibrary).has_value();
    ASSERT_EQ(elsewhere, stretch && c.op.type == "SLICE");
    ASSERT_EQ(MayBePiece(c.subgraph, c.op, piece.output, kLibrary), elsewhere);
    if (!stretch) {
      ASSERT_FALSE(rule) << c.op.type;
      continue;
    }
    ++stretches;
    // One dimension in part behind single indices: one element alone may have several.
    ASSERT_TRUE(rule) << c.op.type;
    ASSERT_EQ(rule->bytes, piece.sources.front() * c.in_element) << c.op.type;
    for (const std::int64_t by : {-1, 0, 1}) {
      EXPECT_EQ(HoldsOutput(c.subgraph, c.op, rule->input, piece.output, kNeap, rule->bytes + by),
                by == 0);
    }
  }
  EXPECT_GT(stretches, Cases(1000));
}

TEST(KernelSimulationTest, UnknownKernelsAllowNothing) {
  Random random(3);
  Case c = ElementwiseCase(&random);
  EXPECT_FALSE(ops::OverlapRuleOf(c.subgraph, c.op, 0, ops::KernelLibrary::kNone));
  EXPECT_FALSE(ReadsSurvive(c.subgraph, c.op, 0, ops::KernelLibrary::kNone, 1000));
  c.op.type = "GATHER";
  EXPECT_FALSE(ops::OverlapRuleOf(c.subgraph, c.op, 0, kLibrary));
  EXPECT_FALSE(ReadsSurvive(c.subgraph, c.op, 0, kLibrary, 1000));
  c.op.type = "LOGISTIC";
  c.op.domain = "";
  EXPECT_FALSE(ops::OverlapRuleOf(c.subgraph, c.op, 0, kLibrary));
}

}  // namespace
}  // namespace neap::check
