// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/headline.h"

#include <gtest/gtest.h>

namespace neap::compile {
namespace {

TEST(HeadlineTest, WhatTheRuntimeAllocatesThenTheArenaThenThePeak) {
  Compiled compiled;
  compiled.plan.entries.resize(2);
  compiled.plan.entries[0].peak_bytes = 10;
  compiled.plan.entries[0].arena_bytes = 20;
  compiled.plan.entries[1].peak_bytes = 30;  // the largest entry
  compiled.plan.entries[1].arena_bytes = 40;
  EXPECT_EQ(HeadlineBytes(compiled, true), 40);
  EXPECT_EQ(HeadlineBytes(compiled, false), 30);
  compiled.delivered_arena_bytes = 0;  // known, and nothing
  EXPECT_EQ(HeadlineBytes(compiled, true), 0);
  compiled.delivered_arena_bytes = 35;
  EXPECT_EQ(HeadlineBytes(compiled, true), 35);
  EXPECT_EQ(HeadlineBytes(compiled, false), 30) << "an order alone is not what is allocated";
}

TEST(HeadlineTest, ProvenMeansEveryEntryAndTheNumberThatIsReported) {
  plan::Plan plan;
  plan.entries.resize(2);
  for (plan::EntryPlan& entry : plan.entries) entry.arena_status = plan::BoundStatus::kOptimal;
  EXPECT_TRUE(IsProven(plan, true)) << "of any order: the peak of this one does not matter";
  EXPECT_FALSE(IsProven(plan, false));
  plan.entries[0].order_status = plan.entries[1].order_status = plan::BoundStatus::kOptimal;
  EXPECT_TRUE(IsProven(plan, false));
  plan.entries[1].arena_status = plan::BoundStatus::kBounded;
  EXPECT_FALSE(IsProven(plan, true));
  plan.entries[1].order_status = plan::BoundStatus::kBounded;
  EXPECT_FALSE(IsProven(plan, false));
}

}  // namespace
}  // namespace neap::compile
