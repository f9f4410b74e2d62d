// SPDX-License-Identifier: Apache-2.0
//
// Distances of CMSIS-NN and ESP-NN: the planner's (ops/overlap.h) and the walk of the checker, each
// with code of its own, on random operators. tests/conformance/test_library_overlap.py compares
// them with the kernels themselves.
#include "neap/check/library_kernels.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/kernel_simulation.h"
#include "neap/ops/overlap.h"
#include "testing/cases.h"

namespace neap::check {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;
using ops::KernelLibrary;

struct Case {
  Subgraph subgraph;
  Op op;
  std::string what;
};

TensorId Add(Subgraph* subgraph, Shape shape, ElementType type = ElementType::kInt8) {
  graph::Tensor tensor;
  tensor.name = "t" + std::to_string(subgraph->tensors.size());
  tensor.type = type;
  tensor.shape = std::move(shape);
  subgraph->tensors.push_back(std::move(tensor));
  return TensorId(static_cast<std::int32_t>(subgraph->tensors.size()) - 1);
}

Case FullyConnectedCase(Random* random) {
  Case c;
  const std::int64_t batches = random->Between(1, 9);
  const std::int64_t depth = random->Between(1, 24);
  const std::int64_t outputs = random->Between(1, 20);
  const bool cube = random->Between(0, 2) == 0;
  c.op.type = "FULLY_CONNECTED";
  c.op.domain = "tflite";
  c.op.inputs = {Add(&c.subgraph, {batches, depth}), Add(&c.subgraph, {outputs, depth})};
  c.op.outputs = {Add(&c.subgraph, cube ? Shape{1, batches, outputs} : Shape{batches, outputs})};
  c.what = std::to_string(batches) + " rows of " + std::to_string(depth) + ", " +
           std::to_string(outputs) + " outputs";
  return c;
}

Case WindowCase(Random* random) {
  Case c;
  const auto pick = [&](std::int64_t low, std::int64_t high) { return random->Between(low, high); };
  const auto kind = pick(0, 3);
  const std::int64_t kh = pick(1, 3);
  const std::int64_t kw = pick(0, 1) == 0 ? kh : pick(1, 4);
  const std::int64_t sh = pick(1, 3);
  const std::int64_t sw = pick(0, 1) == 0 ? sh : pick(1, 2);
  const bool dilated = kind < 2 && sh == 1 && sw == 1 && pick(0, 5) == 0;
  const std::int64_t d = dilated ? 2 : 1;
  const std::int64_t n = kind < 2 && pick(0, 4) == 0 ? 2 : 1;
  const std::int64_t h = (kh - 1) * d + pick(1, 9);
  const std::int64_t w = (kw - 1) * d + pick(1, 9);
  const std::int64_t channels = pick(0, 9) == 0 ? pick(120, 130) : pick(1, 18);
  const bool same = pick(0, 1) == 0;
  const auto out_of = [&](std::int64_t size, std::int64_t kernel, std::int64_t stride) {
    return same ? (size + stride - 1) / stride : (size - (kernel - 1) * d - 1) / stride + 1;
  };
  std::int64_t out_channels = channels;
  if (kind == 0) out_channels = pick(1, 20);
  if (kind == 1 && channels < 20)
    out_channels *=
        std::vector<std::int64_t>{1, 1, 2, 3, 4, 8}[static_cast<std::size_t>(pick(0, 5))];
  c.op.domain = "tflite";
  c.op.inputs = {Add(&c.subgraph, {n, h, w, channels})};
  if (kind == 0) c.op.inputs.push_back(Add(&c.subgraph, {out_channels, kh, kw, channels}));
  if (kind == 1) c.op.inputs.push_back(Add(&c.subgraph, {1, kh, kw, out_channels}));
  c.op.outputs = {Add(&c.subgraph, {n, out_of(h, kh, sh), out_of(w, kw, sw), out_channels})};
  const char* const types[] = {"CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D"};
  c.op.type = types[kind];
  c.op.attributes = {{"padding", std::int64_t{same ? 0 : 1}},
                     {"stride_h", sh},
                     {"stride_w", sw},
                     {"dilation_h_factor", d},
                     {"dilation_w_factor", d},
                     {"filter_height", kh},
                     {"filter_width", kw},
                     {"depth_multiplier", out_channels / channels}};
  for (const std::int64_t number : {n, h, w, channels, kh, kw, sh, sw, d, out_channels}) {
    c.what += std::to_string(number) + " ";
  }
  c.what = c.op.type + " " + c.what + (same ? "SAME" : "VALID");
  return c;
}

constexpr KernelLibrary kSingle[] = {KernelLibrary::kCmsisNnScalar, KernelLibrary::kCmsisNnDsp,
                                     KernelLibrary::kCmsisNnMve, KernelLibrary::kEspNn};

TEST(LibraryKernels, PlannerAndWalkAgree) {
  Random random(22);
  const int cases = Cases(4000);
  int found = 0;
  for (int i = 0; i < cases; ++i) {
    const Case c = i % 6 == 0 ? FullyConnectedCase(&random) : WindowCase(&random);
    SCOPED_TRACE(c.what);
    const std::int64_t bytes = graph::TensorBytes(c.subgraph.tensors[c.op.outputs[0]]).value();
    std::optional<std::int64_t> largest = 0;
    for (const KernelLibrary library : kSingle) {
      const auto rule = ops::OverlapRuleOf(c.subgraph, c.op, 0, library);
      const auto walked = LeastDistance(c.subgraph, c.op, 0, library, bytes - 1);
      ASSERT_EQ(rule.has_value(), walked.has_value()) << ops::NameOf(library);
      if (rule) {
        ASSERT_EQ(rule->kind, ops::OverlapRule::Kind::kStartsBelow);
        ASSERT_EQ(rule->bytes, *walked) << ops::NameOf(library);
        ++found;
      }
      largest = rule && largest ? std::optional(std::max(*largest, rule->bytes)) : std::nullopt;
    }
    // A set of libraries has the largest distance of its members.
    const KernelLibrary all = KernelLibrary::kCmsisNn | KernelLibrary::kEspNn;
    const auto rule = ops::OverlapRuleOf(c.subgraph, c.op, 0, all);
    ASSERT_EQ(rule.has_value(), largest.has_value());
    if (rule) {
      ASSERT_EQ(rule->bytes, *largest);
      ASSERT_EQ(LeastDistance(c.subgraph, c.op, 0, all, bytes), *largest);
    }
  }
  EXPECT_GT(found, cases);
}

TEST(LibraryKernels, OtherTypesAndOperatorsHaveNone) {
  Random random(23);
  for (int i = 0; i < 50; ++i) {
    Case c = WindowCase(&random);
    for (graph::Tensor& tensor : c.subgraph.tensors) tensor.type = ElementType::kInt16;
    for (const KernelLibrary library : kSingle) {
      EXPECT_FALSE(ops::OverlapRuleOf(c.subgraph, c.op, 0, library));
      EXPECT_FALSE(LeastDistance(c.subgraph, c.op, 0, library, 1 << 20));
    }
  }
  Case relu;
  relu.op.type = "RELU";
  relu.op.domain = "tflite";
  relu.op.inputs = {Add(&relu.subgraph, {1, 8})};
  relu.op.outputs = {Add(&relu.subgraph, {1, 8})};
  for (const KernelLibrary library : kSingle) {
    EXPECT_FALSE(ops::OverlapRuleOf(relu.subgraph, relu.op, 0, library));
  }
  EXPECT_TRUE(ops::OverlapRuleOf(relu.subgraph, relu.op, 0, KernelLibrary::kTflmReference));
}

TEST(LibraryKernels, NamesOfSets) {
  for (const ops::KernelLibraryInfo& info : ops::KernelLibraries()) {
    EXPECT_EQ(ops::NameOf(info.library), info.name);
    EXPECT_EQ(ops::KernelLibraryNamed(info.name), info.library);
  }
  EXPECT_EQ(ops::NameOf(KernelLibrary::kCmsisNn | KernelLibrary::kTflmReference),
            "tflm-reference,cmsis-nn");
  EXPECT_EQ(ops::KernelLibraryNamed("cmsis-nn-dsp,cmsis-nn-mve,cmsis-nn-scalar"),
            KernelLibrary::kCmsisNn);
  EXPECT_EQ(ops::NameOf(KernelLibrary::kNone), "none");
  EXPECT_FALSE(ops::KernelLibraryNamed("cmsis-nn,"));
  EXPECT_FALSE(ops::KernelLibraryNamed(""));
}

}  // namespace
}  // namespace neap::check
