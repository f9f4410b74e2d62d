// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/front.h"

#include <gtest/gtest.h>

#include "testing/graph_json.h"

namespace neap::deliver {
namespace {

FrontRequest RequestFor(plan::Runtime runtime) {
  FrontRequest request;
  request.search.compile.runtime = runtime;
  request.search.device = *cascade::DeviceNamed(cascade::DevicePresets().front());
  return request;
}

TEST(FrontTest, WhatNothingImprovesIsOnePoint) {
  const auto front = FindFront(ModelOf(kBranches), RequestFor(plan::Runtime::kIdeal));
  ASSERT_TRUE(front) << front.error().ToString();
  ASSERT_EQ(front->points.size(), 1U);
  EXPECT_EQ(front->points[0].kind, Kind::kAsGiven);
  EXPECT_EQ(front->points[0].arena_bytes, 180);
  EXPECT_EQ(front->points[0].requires_text, "");
  EXPECT_FALSE(front->rewritten);
  EXPECT_FALSE(front->criteria.total_arena) << "only TFLM has one";
}

// Nothing overlaps here: a plan that requires other kernels or another runtime is no better.
TEST(FrontTest, PlansThatRequireMoreAreNoBetter) {
  const auto front = FindFront(ModelOf(kBranches), RequestFor(plan::Runtime::kTflm));
  ASSERT_TRUE(front) << front.error().ToString();
  ASSERT_FALSE(front->points.empty());
  for (const FrontPoint& point : front->points) EXPECT_EQ(point.requires_text, "");
}

TEST(FrontTest, FailsWithTheErrorOfTheModelAsGiven) {
  formats::SourceModel source = ModelOf(kBranches);
  source.graph.subgraphs[graph::SubgraphId(0)].tensors[graph::TensorId(1)].shape.reset();
  const auto front = FindFront(source, RequestFor(plan::Runtime::kIdeal));
  ASSERT_FALSE(front);
  EXPECT_EQ(front.error().code, ErrorCode::kMissingSize);
}

}  // namespace
}  // namespace neap::deliver
