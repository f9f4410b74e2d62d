// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neap/check/check.h"
#include "neap/deliver/deliver.h"
#include "neap/deliver/written_model.h"
#include "testing/deliver_networks.h"

namespace neap::deliver {
namespace {

using ::testing::HasSubstr;

// All operators in four bands of rows.
cascade::Proposal Bands(const graph::Graph& graph) {
  const graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
  cascade::Proposal proposal;
  cascade::RegionPlan region;
  for (const graph::OpId id : main.ops.Ids()) region.ops.push_back(id);
  region.splits = {{1, {1, 2, 3}}};
  proposal.order = region.ops;
  proposal.regions = {region};
  return proposal;
}

TEST(EditsTest, RecordedTilesAreReplayed) {
  const formats::SourceModel model = WideModel::Make();
  const cascade::Proposal proposal = Bands(model.graph);
  plan::Plan plan;
  plan.runtime = plan::Runtime::kTflm;
  RecordTiles(proposal, &plan);
  const auto replayed = ReplayEdits(model, plan, {});
  ASSERT_TRUE(replayed) << replayed.error().ToString();
  ASSERT_TRUE(replayed->edited);
  const auto graph = cascade::GraphOf(model.graph, proposal);
  ASSERT_TRUE(graph);
  const auto written = formats::WriteEdited(model, *graph, {});
  ASSERT_TRUE(written);
  EXPECT_EQ(*replayed->edited->bytes, *written->bytes);
  EXPECT_NE(*replayed->edited->bytes, *model.bytes);
  // A plan is checked against the model as it was given.
  EXPECT_EQ(replayed->edited->path, model.path);
  EXPECT_EQ(replayed->edited->sha256, model.sha256);
  EXPECT_EQ(&replayed->Planned(), &*replayed->edited);
}

TEST(EditsTest, AProposalWithoutTilesClearsWhatWasRecorded) {
  const formats::SourceModel model = WideModel::Make();
  plan::Plan plan;
  RecordTiles(Bands(model.graph), &plan);
  RecordTiles({}, &plan);
  EXPECT_TRUE(plan.tiled_regions.empty());
  EXPECT_TRUE(plan.tiled_order.empty());
}

TEST(EditsTest, TilesThatDoNotFitAreRefusedByName) {
  const formats::SourceModel model = WideModel::Make();
  plan::Plan plan;
  plan.runtime = plan::Runtime::kTflm;
  RecordTiles(Bands(model.graph), &plan);
  plan.tiled_regions[0].splits[0].cuts = {4};  // there are four rows
  const auto beyond = ReplayEdits(model, plan, {});
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::kBadInput);
  RecordTiles(Bands(model.graph), &plan);
  plan.tiled_regions[0].ops.pop_back();
  plan.tiled_regions[0].ops.erase(plan.tiled_regions[0].ops.begin());
  plan.tiled_regions[0].ops.push_back(graph::OpId(0));  // its result is wanted first
  EXPECT_FALSE(ReplayEdits(model, plan, {}));
}

TEST(EditsTest, ConversionsOfTheCallerAreTheEndsOfTheModel) {
  const formats::SourceModel model = WideModel::Make();
  const auto none = InterfacedModel(model, {}, {});
  ASSERT_TRUE(none);
  EXPECT_EQ(*none->bytes, *model.bytes);
  const auto refused = InterfacedModel(model, {graph::OpId(1)}, {});
  ASSERT_FALSE(refused) << "an activation is no conversion";
  EXPECT_EQ(refused.error().file, model.path);
}

TEST(EditsTest, OperatorsOfTheExecutorAreInNoFile) {
  const formats::SourceModel model = WideModel::Make();
  EXPECT_FALSE(NeedsExecutor(model.graph));
  EXPECT_TRUE(CanBeFile(model, model.graph));
  graph::Graph edited = model.graph;
  edited.subgraphs[graph::SubgraphId(0)].ops[graph::OpId(0)].domain = "neap";
  EXPECT_TRUE(NeedsExecutor(edited));
  EXPECT_FALSE(CanBeFile(model, edited));
  const formats::SourceModel alone = GraphAlone(model, edited);
  EXPECT_EQ(alone.bytes, model.bytes);
  EXPECT_TRUE(NeedsExecutor(alone.graph));
  formats::SourceModel json = model;
  json.format = formats::Format::kGraphJson;
  EXPECT_FALSE(CanBeFile(json, json.graph));
}

TEST(EditsTest, ARewrittenFileThatIsAnotherIsRefused) {
  const formats::SourceModel model = WideModel::Make();
  plan::Plan plan;
  plan.runtime = plan::Runtime::kTflm;
  plan::Rewrite rewrite;
  rewrite.rule = "no-op";
  rewrite.op = graph::OpId(0);
  plan.rewrites = {rewrite};
  const auto refused = ReplayEdits(model, plan, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().file, model.path);
}

// TensorFlow Lite Micro allocates the shapes of the file, other runtimes those that the operator
// defines.
TEST(AsSeenBy, DetectionsHaveTheShapesOfTheRuntime) {
  const formats::SourceModel model = Detector::Make();
  const auto shapes = [](const formats::SourceModel& of) {
    const graph::Subgraph& main = of.graph.subgraphs[graph::SubgraphId(0)];
    std::vector<graph::Shape> all;
    for (const graph::TensorId id : main.outputs) all.push_back(*main.tensors[id].shape);
    return all;
  };
  constexpr std::int64_t kPlaces = Detector::kPlaces;
  const std::vector<graph::Shape> defined = {{1, kPlaces, 4}, {1, kPlaces}, {1, kPlaces}, {1}};
  const std::vector<graph::Shape> file = {{}, {}, {}, {}};
  EXPECT_TRUE(model.defines_shapes);
  EXPECT_EQ(shapes(model), defined);
  const auto in_tflm = AsSeenBy(model, plan::Runtime::kTflm, {});
  ASSERT_TRUE(in_tflm) << in_tflm.error().ToString();
  EXPECT_EQ(shapes(*in_tflm), file);
  const auto back = AsSeenBy(*in_tflm, plan::Runtime::kNeap, {});
  ASSERT_TRUE(back);
  EXPECT_EQ(shapes(*back), defined);
  EXPECT_FALSE(WideModel::Make().defines_shapes);
}

TEST(AsSeenBy, PlansHaveTheShapesOfTheirRuntime) {
  const formats::SourceModel model = Detector::Make();
  for (const plan::Runtime runtime :
       {plan::Runtime::kTflm, plan::Runtime::kLitert, plan::Runtime::kNeap}) {
    Request request;
    request.compile.runtime = runtime;
    if (runtime == plan::Runtime::kNeap) request.streaming.use = Use::kAlways;
    const auto delivery = Deliver(model, request);
    ASSERT_TRUE(delivery) << delivery.error().ToString();
    const plan::Plan& plan = delivery->compiled.plan;
    EXPECT_EQ(delivery->interfaced.has_value(), runtime == plan::Runtime::kTflm);
    // As `neap check` reads them.
    const auto replayed = ReplayEdits(model, plan, {});
    ASSERT_TRUE(replayed) << replayed.error().ToString();
    EXPECT_TRUE(check::CheckPlan(replayed->Planned().graph, plan).empty());
    if (runtime == plan::Runtime::kNeap) {
      ASSERT_TRUE(plan.entries[0].stream);
      EXPECT_LT(plan.entries[0].arena_bytes, 8 * 8 * 64 * 4);  // the wide image
      continue;
    }
    std::vector<std::string> notes;
    const auto written =
        WrittenModel(delivery->Planned(model), delivery->compiled, "-", {}, &notes);
    EXPECT_TRUE(written) << written.error().ToString();
  }
}

// Stock runtimes unpack weights in a step of the plan, the executor before the first one.
TEST(AsSeenBy, UnpackedWeightsAreConstantsOfTheExecutor) {
  const formats::SourceModel model = HalfWeights::Make();
  EXPECT_TRUE(model.computes_constants);
  const auto in_neap = AsSeenBy(model, plan::Runtime::kNeap, {});
  ASSERT_TRUE(in_neap) << in_neap.error().ToString();
  for (const auto* const seen : {&model, &*in_neap}) {
    const graph::Subgraph& main = seen->graph.subgraphs[graph::SubgraphId(0)];
    const graph::Op& unpacks = main.ops[graph::OpId(0)];
    EXPECT_EQ(unpacks.folded, seen != &model);
    EXPECT_EQ(main.tensors[unpacks.outputs[0]].constant, seen != &model);
  }
  Request request;
  request.compile.runtime = plan::Runtime::kNeap;
  request.streaming.use = Use::kAlways;
  const auto delivery = Deliver(model, request);
  ASSERT_TRUE(delivery) << delivery.error().ToString();
  const plan::EntryPlan& entry = delivery->compiled.plan.entries[0];
  ASSERT_TRUE(entry.stream);
  EXPECT_LT(entry.arena_bytes, 8 * 8 * 64 * 4);  // the wide image
  const auto replayed = ReplayEdits(model, delivery->compiled.plan, {});
  ASSERT_TRUE(replayed);
  EXPECT_TRUE(check::CheckPlan(replayed->Planned().graph, delivery->compiled.plan).empty());
}

}  // namespace
}  // namespace neap::deliver
