// SPDX-License-Identifier: Apache-2.0
//
// Rules of streamed plans that a run does not notice to be broken: it copies the input of a box
// before it writes, and some rules do not change its bytes. Plans written by hand, right and wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "testing/streams.h"

namespace neap::check {
namespace {

using plan::StreamRange;
using plan::StreamSegment;
using stream::test::Depthwise;
using stream::test::EntryWith;
using stream::test::PlanOf;
using stream::test::Squeeze;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr graph::SubgraphId kMain(0);
using Steps = std::vector<StreamRange>;

const graph::Op& OpOf(const graph::Graph& graph, int index) {
  return graph.subgraphs[kMain].ops[graph::OpId(index)];
}

StreamSegment Whole(int op, std::vector<plan::StreamArea> areas) {
  StreamSegment segment;
  segment.whole = true;
  segment.areas = std::move(areas);
  segment.ops = {{graph::OpId(op), {}, false, {}, {}}};
  return segment;
}

// A convolution of 3x3 over 2 x 3 pixels: each output pixel reads all of them.
TEST(StreamCheck, NoOutputOverlapsTheInputOfItsBox) {
  Random random(11);
  const graph::Graph graph = Depthwise(&random, 2, 3, 1);
  const graph::Op& op = OpOf(graph, 0);
  for (std::int64_t out = 0; out <= 6; ++out) {
    StreamSegment whole = Whole(0, {{op.inputs[0], {{0, 6}}}, {op.outputs[0], {{out, 6}}}});
    StreamSegment block = whole;
    block.whole = false;
    block.ops[0].rows = {{0, 2}};
    block.ops[0].columns = {{0, 3}};
    for (const StreamSegment& segment : {whole, block}) {
      const auto findings = CheckPlan(graph, PlanOf(EntryWith(graph, {segment}, out + 6)));
      if (out == 6) {
        EXPECT_THAT(findings, IsEmpty());
      } else {
        EXPECT_THAT(findings, Contains(HasSubstr("overwrites values that the same box reads")))
            << out;
      }
    }
  }
}

// An element-wise output may have the offset of its input, and no other overlap.
TEST(StreamCheck, ElementwiseOutputsAreInPlaceOrApart) {
  Random random(11);
  graph::Graph graph = Depthwise(&random, 2, 3, 1);
  graph::Op& op = graph.subgraphs[kMain].ops[graph::OpId(0)];
  op.type = "LOGISTIC";
  op.inputs.resize(1);
  for (std::int64_t out = 0; out <= 6; ++out) {
    const StreamSegment segment = Whole(0, {{op.inputs[0], {{0, 6}}}, {op.outputs[0], {{out, 6}}}});
    plan::EntryPlan entry = EntryWith(graph, {segment}, out + 6);
    entry.stream->macs = entry.stream->layerwise_macs = 0;
    const auto findings = CheckPlan(graph, PlanOf(entry));
    if (out == 0 || out == 6) {
      EXPECT_THAT(findings, IsEmpty()) << out;
    } else {
      EXPECT_THAT(findings, Contains(HasSubstr("overwrites values that the same box reads")))
          << out;
    }
  }
}

// Running sums of 4 bytes, to which one box adds a whole image.
TEST(StreamCheck, RunningSumsDoNotOverlapTheirInput) {
  Random random(12);
  const graph::Graph graph = Squeeze(&random, 4, 3, 2);
  for (std::int64_t sums = 24; sums <= 48; ++sums) {
    StreamSegment segment;
    segment.areas = {{OpOf(graph, 0).inputs[0], {{0, 12}}},
                     {OpOf(graph, 0).outputs[0], {{24, 12}}},
                     {OpOf(graph, 1).outputs[0], {{sums, 1}}},
                     {OpOf(graph, 2).outputs[0], {{56, 1}}}};
    segment.ops = {{graph::OpId(0), {}, false, {{0, 4}}, {{0, 3}}},
                   {graph::OpId(1), {}, true, {{0, 4}}, {{0, 3}}},
                   {graph::OpId(2), {}, false, {{0, 1}}, {{0, 1}}}};
    const auto findings = CheckPlan(graph, PlanOf(EntryWith(graph, {segment}, 58)));
    if (sums == 48) {
      EXPECT_THAT(findings, IsEmpty());
    } else {
      EXPECT_THAT(findings, Contains(HasSubstr("overwrites values that the same box reads")))
          << sums;
    }
  }
}

// Rows of 3 x 2 bytes are delivered in two steps; the convolution runs after them.
TEST(StreamCheck, RowsAreFedOnceInOrderAndWhole) {
  Random random(13);
  const graph::Graph graph = Depthwise(&random, 4, 3, 2);
  const graph::Op& op = OpOf(graph, 0);
  const auto findings = [&](const Steps& rows, const Steps& columns) {
    StreamSegment segment;
    segment.areas = {{op.inputs[0], {{0, 12}}}, {op.outputs[0], {{24, 12}}}};
    const StreamRange none{0, 0};
    segment.ops = {{graph::OpId(), op.inputs[0], false, rows, columns},
                   {graph::OpId(0), {}, false, {none, {0, 4}}, {none, {0, 3}}}};
    plan::EntryPlan entry = EntryWith(graph, {segment}, 48);
    entry.stream->input = plan::StreamInput::kRows;
    return CheckPlan(graph, PlanOf(entry));
  };
  const Steps whole = {{0, 3}, {3, 3}};
  EXPECT_THAT(findings({{0, 2}, {2, 4}}, whole), IsEmpty());
  EXPECT_THAT(findings({{0, 4}, {4, 4}}, whole), IsEmpty());
  const auto refused = Contains(HasSubstr("delivered once and in order"));
  EXPECT_THAT(findings({{2, 4}, {0, 2}}, whole), refused);
  EXPECT_THAT(findings({{0, 3}, {2, 4}}, whole), refused);
  EXPECT_THAT(findings({{0, 2}, {3, 4}}, whole), refused);
  EXPECT_THAT(findings({{0, 2}, {2, 4}}, {{0, 2}, {2, 3}}), refused);
  EXPECT_THAT(findings({{0, 2}, {2, 4}}, {{0, 2}, {2, 2}}), refused);
  EXPECT_THAT(findings({{0, 2}, {2, 3}}, whole), Contains(HasSubstr("its value is not")));
}

// The image is an output, too: its value has to be complete at the end.
TEST(StreamCheck, OutputsAreReadAtTheEnd) {
  Random random(14);
  graph::Graph graph = Squeeze(&random, 4, 3, 2);
  graph.subgraphs[kMain].outputs.push_back(OpOf(graph, 0).outputs[0]);
  const graph::TensorId image = OpOf(graph, 0).outputs[0];
  const graph::TensorId mean = OpOf(graph, 1).outputs[0];
  const graph::TensorId last = OpOf(graph, 2).outputs[0];
  for (const std::int64_t at : {24, 40, 46, 50}) {
    const std::vector<StreamSegment> segments = {
        Whole(0, {{OpOf(graph, 0).inputs[0], {{0, 12}}}, {image, {{24, 12}}}}),
        Whole(1, {{image, {{24, 12}}}, {mean, {{48, 1}}}}),
        Whole(2, {{image, {{24, 12}}}, {mean, {{48, 1}}}, {last, {{at, 1}}}})};
    const auto findings = CheckPlan(graph, PlanOf(EntryWith(graph, segments, at == 50 ? 52 : 50)));
    if (at == 50) {
      EXPECT_THAT(findings, IsEmpty());
    } else {
      EXPECT_THAT(findings, Contains(HasSubstr("where its value is not"))) << at;
    }
  }
}

// Every operator is computed completely, also one without a consumer.
TEST(StreamCheck, NoOperatorIsLeftOut) {
  Random random(15);
  graph::Graph graph = Squeeze(&random, 4, 3, 2);
  graph.subgraphs[kMain].outputs = {OpOf(graph, 0).outputs[0]};
  for (const StreamRange& rows : {StreamRange{0, 1}, StreamRange{0, 0}}) {
    StreamSegment segment;
    segment.areas = {{OpOf(graph, 0).inputs[0], {{0, 12}}},
                     {OpOf(graph, 0).outputs[0], {{24, 12}}},
                     {OpOf(graph, 1).outputs[0], {{48, 1}}},
                     {OpOf(graph, 2).outputs[0], {{52, 1}}}};
    segment.ops = {{graph::OpId(0), {}, false, {{0, 4}}, {{0, 3}}},
                   {graph::OpId(1), {}, true, {{0, 4}}, {{0, 3}}},
                   {graph::OpId(2), {}, false, {rows}, {{0, 1}}}};
    const auto findings = CheckPlan(graph, PlanOf(EntryWith(graph, {segment}, 54)));
    if (rows.empty()) {
      EXPECT_THAT(findings, Contains(HasSubstr("is never computed as a whole")));
    } else {
      EXPECT_THAT(findings, IsEmpty());
    }
  }
}

}  // namespace
}  // namespace neap::check
