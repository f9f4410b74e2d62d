// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "neap/base/bytes.h"
#include "neap/base/diagnostic.h"
#include "neap/base/id.h"
#include "neap/base/random.h"
#include "neap/base/step_time.h"
#include "neap/base/topological_order.h"

namespace neap {
namespace {

TEST(Bytes, ParsesSizes) {
  EXPECT_EQ(ParseBytes("262144").value(), 262144);
  EXPECT_EQ(ParseBytes("256KiB").value(), 262144);
  EXPECT_EQ(ParseBytes("256K").value(), 262144);
  EXPECT_EQ(ParseBytes("256KB").value(), 256000);
  EXPECT_EQ(ParseBytes("3MiB").value(), 3 << 20);
  EXPECT_EQ(ParseBytes("0").value(), 0);
  for (const char* bad : {"", "KiB", "-1", "1.5MiB", "12 KiB", "12kib", "99999999999GiB", "1e6"}) {
    EXPECT_FALSE(ParseBytes(bad).has_value()) << bad;
  }
}

TEST(Bytes, Formats) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(768), "768 B");
  EXPECT_EQ(FormatBytes(301056), "301,056 B (294.0 KiB)");
  EXPECT_EQ(FormatBytes(1023 * 1024 + 1023), "1,048,575 B (1,024.0 KiB)");
  EXPECT_EQ(FormatBytes(std::int64_t{20} << 20), "20,971,520 B (20.0 MiB)");
}

TEST(Bytes, ChecksOverflow) {
  EXPECT_FALSE(CheckedAdd(kMaxBytes, kMaxBytes).has_value());
  EXPECT_FALSE(CheckedMultiply(kMaxBytes, 3).has_value());
  EXPECT_EQ(AlignUp(17, 16), 32);
  EXPECT_EQ(AlignUp(0, 16), 0);
}

TEST(Diagnostic, IsOneLine) {
  Diagnostic d = BadInput("found 3\n");
  d.file = "a.tflite";
  d.op = "#2 'x\ny'";
  d.hint = "try again";
  EXPECT_EQ(d.ToString(), "a.tflite: operator #2 'x\\x0ay': found 3\\x0a (try again)");
}

TEST(Random, IsTheSameEverywhere) {
  Random random(1);
  EXPECT_EQ(random.Next(), 0x910a2dec89025cc1U);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.Below(7), 7U);
}

struct TestTag {};
TEST(Id, DefaultIsNone) {
  EXPECT_FALSE(Id<TestTag>().valid());
  EXPECT_TRUE(Id<TestTag>(0).valid());
  IdVector<Id<TestTag>, int> items;
  EXPECT_EQ(items.push_back(5), Id<TestTag>(0));
  EXPECT_FALSE(items.Has(Id<TestTag>(1)));
}

TEST(TopologicalOrder, TakesTheSmallestReadyNode) {
  using Successors = std::vector<std::vector<std::int32_t>>;
  using Order = std::vector<std::int32_t>;
  EXPECT_EQ(TopologicalOrder(Successors{}), Order{});
  // 3 before 0, twice; 1 and 2 are free.
  EXPECT_EQ(TopologicalOrder(Successors{{}, {}, {}, {0, 0}}), (Order{1, 2, 3, 0}));
  // 0 and 1 are a cycle, 2 is behind it.
  EXPECT_EQ(TopologicalOrder(Successors{{1}, {0, 2}, {}, {}}), (Order{3}));
  using Node = Id<TestTag>;
  EXPECT_EQ(TopologicalOrder(std::vector<std::vector<Node>>{{}, {Node(0)}}),
            (std::vector<Node>{Node(1), Node(0)}));
}

TEST(StepTime, AddsUpByName) {
  std::vector<StepTime> steps;
  AddSeconds("order", 1, &steps);
  AddSeconds("place", 2, &steps);
  AddSeconds("order", 4, &steps);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].name, "order");
  EXPECT_EQ(steps[0].seconds, 5);
  EXPECT_EQ(steps[1].seconds, 2);
}

}  // namespace
}  // namespace neap
