// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "neap/formats/tflite/memory_plan.h"
#include "neap/formats/tflite/splice.h"
#include "neap/formats/tflite/test_model.h"
#include "neap/formats/tflite/test_zip.h"
#include "neap/formats/tflite/zip_shift.h"

namespace neap::formats::tflite {
namespace {

using graph::OpId;
using graph::SubgraphId;
using graph::TensorOffsets;
using test::Code;
using test::LoadModel;
using test::TestModel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Orders = IdVector<SubgraphId, std::vector<OpId>>;

const TensorOffsets kDiamondPlan = {{0, 16, 32, 48, 64, 0}};

const schema::Model& RootOf(const std::vector<std::byte>& bytes) { return **OpenModel(bytes); }

std::vector<std::int32_t> OffsetsOf(const SourceModel& model) {
  std::vector<std::int32_t> all;
  for (const auto& of_subgraph : model.carried_plan->offsets) {
    all.insert(all.end(), of_subgraph.begin(), of_subgraph.end());
  }
  return all;
}

SourceModel Reload(const Result<std::vector<std::byte>>& bytes) {
  EXPECT_TRUE(bytes) << bytes.error().ToString();
  auto model = LoadModel(*bytes);
  EXPECT_TRUE(model) << model.error().ToString();
  return std::move(*model);
}

TEST(WriteMemoryPlan, StandsInFrontOfTheOldFile) {
  TestModel source = test::Diamond();
  source.buffers.push_back({{1, 2, 3}});
  source.metadata = {{"min_runtime_version", 1}};
  source.signatures = {{"serve", 0}};
  const auto bytes = source.Build();
  const auto model = LoadModel(bytes);
  ASSERT_TRUE(model);
  EXPECT_FALSE(model->carried_plan);
  const auto written = WritePlanned(*model, {}, kDiamondPlan, "");
  const SourceModel again = Reload(written);
  EXPECT_THAT(OffsetsOf(again), ElementsAre(0, 16, 32, 48, 64, 0));

  const std::size_t shift = written->size() - bytes.size();
  EXPECT_EQ(shift % kSpliceAlignment, 0U);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(),
                         written->begin() + static_cast<std::ptrdiff_t>(shift)));
  const schema::Model& root = RootOf(*written);
  ASSERT_EQ(root.metadata()->size(), 2U);
  EXPECT_EQ(root.metadata()->Get(0)->name()->str(), "min_runtime_version");
  EXPECT_EQ(root.metadata()->Get(0)->buffer(), 1U);
  EXPECT_EQ(root.metadata()->Get(1)->name()->str(), kMemoryPlanKey);
  const std::uint32_t buffer = root.metadata()->Get(1)->buffer();
  ASSERT_EQ(buffer, 2U);
  EXPECT_EQ(root.signature_defs()->Get(0)->signature_key()->str(), "serve");
  const auto data = BufferData(*written, root, buffer).value();
  EXPECT_EQ((data.data() - reinterpret_cast<const std::byte*>(written->data())) % 16, 0);
  std::int32_t words[9];
  ASSERT_EQ(data.size(), sizeof(words));
  std::memcpy(words, data.data(), sizeof(words));
  EXPECT_THAT(words, ElementsAre(0, 1, 6, 0, 16, 32, 48, 64, 0));
}

TEST(WriteMemoryPlan, OrderAndPlanTogether) {
  const auto model = LoadModel(test::Diamond().Build());
  ASSERT_TRUE(model);
  const Orders order = {{OpId(0), OpId(3), OpId(1), OpId(2), OpId(4)}};
  const SourceModel again = Reload(WritePlanned(*model, order, kDiamondPlan, ""));
  std::vector<std::string> types;
  for (const auto& op : again.graph.subgraphs[SubgraphId(0)].ops) types.push_back(op.type);
  EXPECT_THAT(types, ElementsAre("RELU", "TANH", "CONV_2D", "LOGISTIC", "ADD"));
  EXPECT_THAT(OffsetsOf(again), ElementsAre(0, 16, 32, 48, 64, 0));
}

TEST(WriteMemoryPlan, ReplacesThePlanWhereItStands) {
  const auto model = LoadModel(test::Diamond().Build());
  ASSERT_TRUE(model);
  const auto first = WritePlanned(*model, {}, kDiamondPlan, "");
  const SourceModel with_plan = Reload(first);
  const auto second = WritePlanned(with_plan, {}, {{80, 64, 48, 32, 16, -1}}, "");
  const SourceModel again = Reload(second);
  EXPECT_EQ(second->size(), first->size());
  EXPECT_THAT(OffsetsOf(again), ElementsAre(80, 64, 48, 32, 16, -1));
  EXPECT_EQ(WritePlanned(again, {}, kDiamondPlan, "").value(), *first);
}

TEST(WriteMemoryPlan, ReplacesWhatCannotBeChangedInPlace) {
  std::vector<std::uint8_t> plan(4 * 9, 0);
  plan[8] = 6;
  TestModel source = test::Diamond();
  source.buffers.push_back({plan});
  source.buffers.push_back({{7}});
  source.metadata = {{kMemoryPlanKey, 1}, {"other", 2}, {kMemoryPlanKey, 1}};
  const auto twice = LoadModel(source.Build());
  ASSERT_TRUE(twice);
  ASSERT_TRUE(twice->carried_plan);
  EXPECT_EQ(twice->carried_plan->problem, "");
  const auto written = WritePlanned(*twice, {}, kDiamondPlan, "");
  const SourceModel again = Reload(written);
  EXPECT_THAT(OffsetsOf(again), ElementsAre(0, 16, 32, 48, 64, 0));
  const schema::Model& root = RootOf(*written);
  ASSERT_EQ(root.metadata()->size(), 2U);
  EXPECT_EQ(root.metadata()->Get(0)->name()->str(), "other");
  EXPECT_EQ(root.metadata()->Get(1)->name()->str(), kMemoryPlanKey);

  // One that is too short, and bytes that a tensor shares.
  source.metadata = {{kMemoryPlanKey, 2}};
  const auto cut = LoadModel(source.Build());
  ASSERT_TRUE(cut);
  EXPECT_THAT(cut->carried_plan->problem, HasSubstr("too short"));
  EXPECT_THAT(OffsetsOf(Reload(WritePlanned(*cut, {}, kDiamondPlan, ""))),
              ElementsAre(0, 16, 32, 48, 64, 0));
  source.metadata = {{kMemoryPlanKey, 1}};
  source.subgraphs[0].tensors.push_back({"weights", {{36}}, test::Type::INT8, 1});
  plan[8] = 7;
  plan.resize(4 * 10);
  source.buffers[1].data = plan;
  source.subgraphs[0].tensors.back().shape = {{40}};
  const auto shared = LoadModel(source.Build());
  ASSERT_TRUE(shared);
  const SourceModel apart = Reload(WritePlanned(*shared, {}, {{0, 16, 32, 48, 64, 0, -1}}, ""));
  EXPECT_THAT(OffsetsOf(apart), ElementsAre(0, 16, 32, 48, 64, 0, -1));
  const auto& weights = apart.graph.subgraphs[SubgraphId(0)].tensors[graph::TensorId(6)];
  ASSERT_TRUE(weights.data);
  EXPECT_EQ(weights.data->bytes[8], std::byte{7});
  EXPECT_EQ(weights.data->bytes[12], std::byte{0});
}

TEST(WriteMemoryPlan, CountsAnewWhatCountsFromTheStart) {
  TestModel source = test::Diamond();
  source.subgraphs[0].tensors.push_back({"far weights", {{5}}, test::Type::INT8, 1});
  source.subgraphs[0].ops[1].inputs = {1, 6};
  source.subgraphs[0].ops[3] = {Code::CUSTOM, {1}, {4}};
  source.subgraphs[0].ops[3].custom_code = "far_options";
  source.subgraphs[0].ops[3].large_options_offset = 2;
  source.subgraphs[0].ops[3].large_options_size = 4;
  source.buffers.push_back({{}, 2, 5});
  source.buffers.push_back({{}, 1, 1});  // a placeholder, which stays
  const std::size_t end = source.Build().size();
  source.buffers[1].offset = end;
  source.subgraphs[0].ops[3].large_options_offset = end + 5;
  auto bytes = source.Build();
  ASSERT_EQ(bytes.size(), end);
  for (const char c : std::string("WIGHTopts")) bytes.push_back(static_cast<std::byte>(c));

  const auto model = LoadModel(bytes);
  ASSERT_TRUE(model) << model.error().ToString();
  const auto written = WritePlanned(*model, {}, {{0, 16, 32, 48, 64, 0, -1}}, "");
  const SourceModel again = Reload(written);
  const auto& weights = again.graph.subgraphs[SubgraphId(0)].tensors[graph::TensorId(6)];
  ASSERT_TRUE(weights.data);
  EXPECT_EQ(std::memcmp(weights.data->bytes.data(), "WIGHT", 5), 0);
  const schema::Model& root = RootOf(*written);
  EXPECT_EQ(root.buffers()->Get(2)->offset(), 1U);
  const auto* op = root.subgraphs()->Get(0)->operators()->Get(3);
  ASSERT_LE(op->large_custom_options_offset() + 4, written->size());
  EXPECT_EQ(std::memcmp(written->data() + op->large_custom_options_offset(), "opts", 4), 0);
}

TEST(WriteMemoryPlan, AppendedArchive) {
  for (const auto form : {test::ZipForm::kPlain, test::ZipForm::kZip64}) {
    auto bytes = test::Diamond().Build();
    const auto zip = test::MakeZip({"labels.txt", "b"}, bytes.size(), form);
    bytes.insert(bytes.end(), zip.begin(), zip.end());
    const auto model = LoadModel(bytes);
    ASSERT_TRUE(model);
    const auto written = WritePlanned(*model, {}, kDiamondPlan, "");
    Reload(written);
    const auto before = FindZipOffsets(bytes);
    const auto after = FindZipOffsets(*written);  // sound from the new start
    ASSERT_FALSE(before.empty());
    ASSERT_EQ(after.size(), before.size());
    const std::size_t shift = written->size() - bytes.size();
    for (std::size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(after[i].value, before[i].value + shift);
    }
  }
}

TEST(WriteMemoryPlan, SeveralSubgraphsAndNoBuffers) {
  TestModel source = test::Diamond();
  source.subgraphs.push_back(source.subgraphs[0]);
  source.subgraphs[0].ops[0] = {Code::IF, {0}, {1}, {1, 1}};
  source.buffers.clear();
  const auto model = LoadModel(source.Build());
  ASSERT_TRUE(model);
  const auto written =
      WritePlanned(*model, {}, {{0, 1, 2, 3, 4, 5}, {10, 11, 12, 13, 14, graph::kNoOffset}}, "");
  const SourceModel again = Reload(written);
  EXPECT_THAT(OffsetsOf(again), ElementsAre(0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, -1));
  EXPECT_EQ(RootOf(*written).buffers()->size(), 2U);
  EXPECT_FALSE(again.graph.subgraphs[SubgraphId(0)].tensors[graph::TensorId(0)].constant);
}

TEST(WriteMemoryPlan, NamesTheKernelsThatItReliesOn) {
  const auto model = LoadModel(test::Diamond().Build());
  ASSERT_TRUE(model);
  const auto written = WritePlanned(*model, {}, kDiamondPlan, "some-kernels");
  const SourceModel with_kernels = Reload(written);
  EXPECT_EQ(with_kernels.carried_plan->kernels, "some-kernels");
  EXPECT_EQ(RootOf(*written).metadata()->size(), 2U);
  // In place for the same kernels; a plan that any kernels may run must not keep the name.
  EXPECT_EQ(WritePlanned(with_kernels, {}, kDiamondPlan, "some-kernels").value(), *written);
  const auto plain = WritePlanned(with_kernels, {}, kDiamondPlan, "");
  EXPECT_EQ(Reload(plain).carried_plan->kernels, "");
  EXPECT_EQ(RootOf(*plain).metadata()->size(), 1U);
}

TEST(WriteMemoryPlan, RefusesWhatIsAboutAnotherFile) {
  const auto model = LoadModel(test::Diamond().Build());
  ASSERT_TRUE(model);
  for (const TensorOffsets& wrong :
       {TensorOffsets{}, TensorOffsets{{0, 0}}, TensorOffsets{{0, 1, 2, 3, 4, 5}, {}}}) {
    const auto written = WritePlanned(*model, {}, wrong, "");
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().ToString(), HasSubstr("another file"));
  }
}

TEST(WriteMemoryPlan, AnotherOrderBlanksThePlan) {
  const auto model = LoadModel(test::Diamond().Build());
  ASSERT_TRUE(model);
  const SourceModel with_plan = Reload(WritePlanned(*model, {}, kDiamondPlan, ""));
  EXPECT_EQ(WriteReordered(with_plan, {}).value(), *with_plan.bytes);
  const Orders order = {{OpId(0), OpId(3), OpId(1), OpId(2), OpId(4)}};
  const SourceModel blank = Reload(WriteReordered(with_plan, order));
  EXPECT_THAT(OffsetsOf(blank), ElementsAre(-1, -1, -1, -1, -1, -1));

  TestModel shared = test::Diamond();
  std::vector<std::uint8_t> plan(4 * 9, 0);
  plan[8] = 6;
  shared.buffers.push_back({plan});
  shared.metadata = {{kMemoryPlanKey, 1}, {"other", 1}};
  const auto refused = WriteReordered(*LoadModel(shared.Build()), order);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("cannot be blanked"));
}

TEST(ReadMemoryPlan, ReportsWhatIsWrong) {
  const auto problem = [](std::vector<std::uint8_t> data, std::uint32_t buffer) {
    TestModel source = test::Diamond();
    source.buffers.push_back({std::move(data)});
    source.metadata = {{kMemoryPlanKey, buffer}};
    const auto model = LoadModel(source.Build());
    EXPECT_TRUE(model && model->carried_plan);
    return model->carried_plan->problem;
  };
  std::vector<std::uint8_t> plan(4 * 8, 0);
  plan[8] = 6;
  EXPECT_THAT(problem(plan, 1), HasSubstr("cut off: 32 bytes for 6 tensors"));
  EXPECT_THAT(problem(plan, 9), HasSubstr("refers to buffer 9"));
  EXPECT_THAT(problem(plan, 0), HasSubstr("too short"));
  plan[8] = 5;
  EXPECT_THAT(problem(plan, 1), HasSubstr("about 5 tensors, the model has 6"));
}

}  // namespace
}  // namespace neap::formats::tflite
