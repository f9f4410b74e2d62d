// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/front.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace neap::deliver {
namespace {

formats::SourceModel SourceOf(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  auto bytes = std::make_shared<const std::vector<std::byte>>(data, data + text.size());
  auto model = formats::LoadBytes(bytes, "graph.json", {});
  EXPECT_TRUE(model) << model.error().ToString();
  return *std::move(model);
}

// In file order both wide tensors are live: 320 bytes, and 180 in the best order.
constexpr std::string_view kTwoBranches = R"({
  "tensors": [{"name": "in", "bytes": 20}, {"name": "wide1", "bytes": 150},
              {"name": "wide2", "bytes": 150}, {"name": "thin1", "bytes": 10},
              {"name": "thin2", "bytes": 10}, {"name": "out", "bytes": 5}],
  "inputs": ["in"], "outputs": ["out"],
  "ops": [{"name": "widen1", "inputs": ["in"], "outputs": ["wide1"]},
          {"name": "widen2", "inputs": ["in"], "outputs": ["wide2"]},
          {"name": "narrow1", "inputs": ["wide1"], "outputs": ["thin1"]},
          {"name": "narrow2", "inputs": ["wide2"], "outputs": ["thin2"]},
          {"name": "join", "inputs": ["thin1", "thin2"], "outputs": ["out"]}]})";

FrontRequest RequestFor(plan::Runtime runtime) {
  FrontRequest request;
  request.search.compile.runtime = runtime;
  request.search.device = *cascade::DeviceNamed(cascade::DevicePresets().front());
  return request;
}

TEST(FrontTest, WhatNothingImprovesIsOnePoint) {
  std::vector<std::string> searches;
  FrontRequest request = RequestFor(plan::Runtime::kIdeal);
  request.observer = [&](std::string_view label) { searches.emplace_back(label); };
  const auto front = FindFront(SourceOf(kTwoBranches), request);
  ASSERT_TRUE(front) << front.error().ToString();
  ASSERT_EQ(front->points.size(), 1U);
  EXPECT_EQ(front->points[0].kind, Kind::kAsGiven);
  EXPECT_EQ(front->points[0].arena_bytes, 180);
  EXPECT_EQ(front->points[0].requires_text, "");
  EXPECT_FALSE(front->rewritten);
  EXPECT_FALSE(front->criteria.total_arena) << "only TFLM has one";
  // Graph JSON has no streams; overlaps of TFLM's kernels are no matter of the ideal runtime.
  EXPECT_EQ(searches, (std::vector<std::string>{"tiles", "rewriting"}));
}

TEST(FrontTest, OverlapsOfKernelsAreTriedUnderTheirRuntime) {
  int overlapped = 0;
  FrontRequest request = RequestFor(plan::Runtime::kTflm);
  request.observer = [&](std::string_view label) { overlapped += label == "tiles" ? 1 : 0; };
  const auto front = FindFront(SourceOf(kTwoBranches), request);
  ASSERT_TRUE(front) << front.error().ToString();
  EXPECT_EQ(overlapped, 2);
  // Nothing overlaps here: a plan that requires other kernels is no better.
  for (const FrontPoint& point : front->points) EXPECT_EQ(point.requires_text, "");
  overlapped = 0;
  request.search.compile.kernels = ops::KernelLibrary::kCopies;
  ASSERT_TRUE(FindFront(SourceOf(kTwoBranches), request));
  EXPECT_EQ(overlapped, 1) << "a named library is the one that is used";
}

TEST(FrontTest, FailsWithTheErrorOfTheModelAsGiven) {
  formats::SourceModel source = SourceOf(kTwoBranches);
  source.graph.subgraphs[graph::SubgraphId(0)].tensors[graph::TensorId(1)].shape.reset();
  const auto front = FindFront(source, RequestFor(plan::Runtime::kIdeal));
  ASSERT_FALSE(front);
  EXPECT_EQ(front.error().code, ErrorCode::kMissingSize);
}

}  // namespace
}  // namespace neap::deliver
