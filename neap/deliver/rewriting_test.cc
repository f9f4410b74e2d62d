// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/rewriting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neap/base/bytes.h"
#include "neap/deliver/edits.h"
#include "testing/attention_cases.h"
#include "testing/deliver_networks.h"

namespace neap::deliver {
namespace {

using ::testing::HasSubstr;

compile::Options Tflm() {
  compile::Options options;
  options.runtime = plan::Runtime::kTflm;
  return options;
}

Result<Rewritten> RewriteWide(const formats::SourceModel& model,
                              const formats::LoadOptions& load = {}) {
  return Rewrite(model, Tflm(), RewriteSettings(), load);
}

const formats::LoadOptions kWithWeights{.dims = {}, .weights = true};

formats::SourceModel WithAllWeights(const formats::SourceModel& model) {
  auto whole = formats::LoadBytes(model.bytes, model.path, kWithWeights);
  EXPECT_TRUE(whole) << whole.error().ToString();
  return *std::move(whole);
}

// A plan that names these rewrites of `whole` leads to the same file.
plan::Plan ExpectSameFile(const formats::SourceModel& whole, const Rewritten& rewritten) {
  plan::Plan plan;
  plan.runtime = plan::Runtime::kTflm;
  plan.rewrites = rewritten.applications;
  plan.rewritten_sha256 = rewritten.rewritten_sha256;
  const auto replayed = ReplayEdits(whole, plan, kWithWeights);
  EXPECT_TRUE(replayed) << replayed.error().ToString();
  if (replayed) {
    EXPECT_EQ(*replayed->edited->bytes, *rewritten.model.bytes);
  }
  return plan;
}

TEST(RewritingTest, TheModelIsAFileThatThePlanNames) {
  const formats::SourceModel model = WideModel::Make();
  const auto rewritten = RewriteWide(model);
  ASSERT_TRUE(rewritten) << rewritten.error().ToString();
  ASSERT_FALSE(rewritten->applications.empty());
  EXPECT_EQ(rewritten->model.sha256, rewritten->rewritten_sha256);
  EXPECT_EQ(rewritten->growth_bytes, static_cast<std::int64_t>(rewritten->model.bytes->size()) -
                                         static_cast<std::int64_t>(model.bytes->size()));
  const auto peak = compile::FindPeak(rewritten->model.graph, Tflm(), false);
  const auto before = compile::FindPeak(model.graph, Tflm(), false);
  ASSERT_TRUE(peak && before);
  EXPECT_EQ(peak->peak_bytes, rewritten->peak_bytes);
  EXPECT_LT(peak->peak_bytes, before->peak_bytes);
  EXPECT_LE(rewritten->lower_bound_bytes, rewritten->peak_bytes);
  const formats::SourceModel whole = WithAllWeights(model);
  plan::Plan plan = ExpectSameFile(whole, *rewritten);
  plan.rewritten_sha256 = model.sha256;
  EXPECT_FALSE(ReplayEdits(whole, plan, kWithWeights));
}

// A plan that nothing can run is none, whether a model is written or not.
TEST(RewritingTest, WeightsWithoutValuesAreNotCut) {
  formats::SourceModel model = WideModel::Make();
  for (graph::Tensor& tensor : model.graph.subgraphs[graph::SubgraphId(0)].tensors) {
    tensor.data.reset();
  }
  const auto known = RewriteWide(WideModel::Make());
  ASSERT_TRUE(known);
  formats::LoadOptions read;
  read.weights = true;  // and still there are none
  const auto refused = RewriteWide(model, read);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(refused.error().message, HasSubstr("has no values of the weights"));
  EXPECT_THAT(refused.error().message,
              HasSubstr("the peak would be " + FormatBytes(known->peak_bytes)));
  // Where the values were only not read, they are.
  const auto again = RewriteWide(model);
  ASSERT_TRUE(again) << again.error().ToString();
  EXPECT_EQ(*again->model.bytes, *known->model.bytes);
}

TEST(RewritingTest, WithoutRulesThatHelpThereIsNoModel) {
  RewriteSettings settings;
  settings.rules = {"no-op"};
  const auto rewritten = Rewrite(WideModel::Make(), Tflm(), settings, {});
  ASSERT_TRUE(rewritten);
  EXPECT_TRUE(rewritten->applications.empty());
  EXPECT_EQ(rewritten->model.bytes, nullptr);
}

formats::SourceModel Attention(bool tflite, const graph::Shape& sizes, bool mask) {
  Random random(1);
  rewrite::AttentionSizes made;
  made.queries = sizes[0];
  made.keys = sizes[1];
  made.width = made.depth = sizes[2];
  made.mask = mask;
  const graph::Graph graph = rewrite::AttentionMaker(tflite, &random).Make(made).graph;
  const auto bytes =
      tflite ? formats::ExportTflite(graph, "attention") : formats::ExportOnnx(graph, "attention");
  EXPECT_TRUE(bytes) << bytes.error().ToString();
  auto model = formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(*bytes),
                                  tflite ? "attention.tflite" : "attention.onnx", {});
  EXPECT_TRUE(model) << model.error().ToString();
  return *std::move(model);
}

RewriteSettings KeyBlocks() {
  RewriteSettings settings;
  settings.exactness = plan::Exactness::kReassociates;
  settings.rules = {"key-blocks"};
  return settings;
}

TEST(RewritingTest, AttentionInBlocksOfKeysIsAFile) {
  for (const bool tflite : {true, false}) {
    const formats::SourceModel model = Attention(tflite, {1, 256, 16}, true);
    const auto rewritten = Rewrite(model, Tflm(), KeyBlocks(), {});
    ASSERT_TRUE(rewritten) << rewritten.error().ToString();
    ASSERT_EQ(rewritten->applications.size(), 1U);
    const formats::SourceModel whole = WithAllWeights(model);
    const plan::Plan plan = ExpectSameFile(whole, *rewritten);
    EXPECT_TRUE(CheckKeyBlocks(whole.graph, plan.rewrites));
  }
}

// Larger constants of .onnx are read for the search: a mask has to be finite.
TEST(RewritingTest, MasksOfOnnxAreRead) {
  const formats::SourceModel model = Attention(false, {1, 6000, 2}, true);
  bool unknown = false;
  for (const graph::Tensor& tensor : model.graph.subgraphs[graph::SubgraphId(0)].tensors) {
    unknown = unknown || (tensor.constant && !tensor.data);
  }
  ASSERT_TRUE(unknown);
  const auto rewritten = Rewrite(model, Tflm(), KeyBlocks(), {});
  ASSERT_TRUE(rewritten) << rewritten.error().ToString();
  EXPECT_EQ(rewritten->applications.size(), 1U);
}

}  // namespace
}  // namespace neap::deliver
