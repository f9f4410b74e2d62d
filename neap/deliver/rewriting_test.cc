// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/rewriting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neap/base/bytes.h"
#include "neap/deliver/edits.h"
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
  // A plan that names these rewrites leads to the same file.
  plan::Plan plan;
  plan.runtime = plan::Runtime::kTflm;
  plan.rewrites = rewritten->applications;
  plan.rewritten_sha256 = rewritten->rewritten_sha256;
  formats::LoadOptions load;
  load.weights = true;
  auto whole = formats::LoadBytes(model.bytes, model.path, load);
  ASSERT_TRUE(whole);
  const auto replayed = ReplayEdits(*whole, plan, load);
  ASSERT_TRUE(replayed) << replayed.error().ToString();
  EXPECT_EQ(*replayed->edited->bytes, *rewritten->model.bytes);
  plan.rewritten_sha256 = model.sha256;
  EXPECT_FALSE(ReplayEdits(*whole, plan, load));
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

}  // namespace
}  // namespace neap::deliver
