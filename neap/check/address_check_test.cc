// SPDX-License-Identifier: Apache-2.0
//
// Several tensors that share bytes with one: each pair needs a reason of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neap/check/check.h"
#include "testing/plans.h"

namespace neap::check {
namespace {

using graph::Graph;
using graph::Subgraph;
using graph::TensorId;
using plan::test::AddOp;
using plan::test::AddTensor;
using plan::test::At;
using plan::test::Do;
using plan::test::Entry;
using plan::test::GraphOf;
using plan::test::kBody;
using plan::test::kMain;
using plan::test::PlanOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

void UseTflite(Subgraph* subgraph) {
  for (graph::Op& op : subgraph->ops) op.domain = "tflite";
}

// t2 = t0 + t1, all of 16 bytes.
Subgraph Sum() {
  Subgraph sum;
  for (int i = 0; i < 3; ++i) AddTensor(sum, 16);
  AddOp(sum, "ADD", {0, 1}, {2});
  sum.inputs = plan::test::Tensors({0, 1});
  sum.outputs = plan::test::Tensors({2});
  UseTflite(&sum);
  return sum;
}

// Claims no bound of the arena.
plan::Plan Planned(plan::Runtime runtime, plan::EntryPlan entry) {
  entry.arena_lower_bound_bytes = 0;
  entry.arena_given_order_lower_bound_bytes = 0;
  entry.arena_status = plan::BoundStatus::kBounded;
  plan::Plan plan = PlanOf(runtime, std::move(entry));
  plan.kernels = ops::KernelLibrary::kNeap;
  return plan;
}

// The sum over its first input, by the rule of the profile, and below its second one at will.
plan::Plan SumPlan(std::int64_t second, std::int64_t arena) {
  plan::EntryPlan entry =
      Entry({Do(0)}, {At(0, 0, 16, 0, 1), At(1, second, 16, 0, 1), At(2, 0, 16, 0, 1)}, 32, arena);
  entry.overlaps = {{0, kMain, TensorId(0), TensorId(2), plan::OverlapKind::kInPlace, 0},
                    {0, kMain, TensorId(1), TensorId(2), plan::OverlapKind::kStartsBelow, 0}};
  return Planned(plan::Runtime::kNeap, entry);
}

TEST(CheckAddresses, InputsThatOneOutputMayLieOverAreApart) {
  const Graph graph = GraphOf({Sum()});
  EXPECT_THAT(CheckPlan(graph, SumPlan(16, 32)), IsEmpty());
  EXPECT_THAT(CheckPlan(graph, SumPlan(0, 16)), Contains(HasSubstr("are shared with")));
  // The rules of a kernel library alone.
  plan::Plan below = SumPlan(0, 16);
  below.runtime = plan::Runtime::kTflm;
  below.entries[0].overlaps[0].kind = plan::OverlapKind::kStartsBelow;
  below.entries[0].peak_bytes = below.entries[0].peak_lower_bound_bytes = 48;
  EXPECT_THAT(CheckPlan(graph, below), Contains(HasSubstr("are shared with")));
  below.entries[0].tensors[1].offset = 16;
  below.entries[0].arena_bytes = 32;
  EXPECT_THAT(CheckPlan(graph, below), IsEmpty());
}

// The same in the first slot of a body, where its inputs begin, and with a chain in front.
TEST(CheckAddresses, InputsOfABodyAreApart) {
  Subgraph main;
  for (int i = 0; i < 3; ++i) AddTensor(main, 16);
  AddOp(main, "CALL", {0, 1}, {2});
  main.ops[graph::OpId(0)].bodies = {kBody};
  main.inputs = plan::test::Tensors({0, 1});
  main.outputs = plan::test::Tensors({2});
  const Graph graph = GraphOf({main, Sum()});
  plan::EntryPlan entry =
      Entry({Do(0), Do(0, kBody)},
            {At(0, 0, 16, 0, 2), At(1, 16, 16, 0, 2), At(2, 32, 16, 0, 2),
             At(0, 48, 16, 1, 2, kBody), At(1, 64, 16, 1, 2, kBody), At(2, 48, 16, 1, 2, kBody)},
            80, 80);
  entry.overlaps = {{1, kBody, TensorId(0), TensorId(2), plan::OverlapKind::kInPlace, 0},
                    {1, kBody, TensorId(1), TensorId(2), plan::OverlapKind::kStartsBelow, 0}};
  plan::Plan plan = Planned(plan::Runtime::kNeap, entry);
  EXPECT_THAT(CheckPlan(graph, plan), IsEmpty());
  plan.entries[0].tensors[4].offset = 48;
  plan.entries[0].arena_bytes = 64;
  EXPECT_THAT(CheckPlan(graph, plan), Contains(HasSubstr("are shared with")));
}

// t0 -> t2 in place, t2 + t1 -> t3 in place: t1 overlaps no tensor of the chain.
TEST(CheckAddresses, AChainInPlaceLendsNoPermission) {
  Subgraph chain;
  for (int i = 0; i < 4; ++i) AddTensor(chain, 16);
  AddOp(chain, "RELU", {0}, {2});
  AddOp(chain, "ADD", {2, 1}, {3});
  chain.inputs = plan::test::Tensors({0, 1});
  chain.outputs = plan::test::Tensors({3});
  UseTflite(&chain);
  const Graph graph = GraphOf({chain});
  plan::EntryPlan entry = Entry(
      {Do(0), Do(1)},
      {At(0, 0, 16, 0, 1), At(1, 16, 16, 0, 2), At(2, 0, 16, 0, 2), At(3, 0, 16, 1, 2)}, 32, 32);
  entry.overlaps = {{0, kMain, TensorId(0), TensorId(2), plan::OverlapKind::kInPlace, 0},
                    {1, kMain, TensorId(2), TensorId(3), plan::OverlapKind::kInPlace, 0},
                    {1, kMain, TensorId(1), TensorId(3), plan::OverlapKind::kStartsBelow, 0}};
  plan::Plan plan = Planned(plan::Runtime::kNeap, entry);
  EXPECT_THAT(CheckPlan(graph, plan), IsEmpty());
  plan.entries[0].tensors[1].offset = 0;
  plan.entries[0].arena_bytes = 16;
  EXPECT_FALSE(CheckPlan(graph, plan).empty());
  // Without a kernel library, where nothing but chains shares bytes.
  plan.kernels = ops::KernelLibrary::kNone;
  plan.runtime = plan::Runtime::kIdealInPlace;
  plan.entries[0].overlaps.pop_back();
  EXPECT_THAT(CheckPlan(graph, plan), Contains(HasSubstr("are shared with")));
  plan.entries[0].tensors[1].offset = 16;
  plan.entries[0].arena_bytes = 32;
  EXPECT_THAT(CheckPlan(graph, plan), IsEmpty());
}

// A part of a tensor is dead when no operator reads its value any more: a value that the same
// operator writes, or that is written later, is not dead.
TEST(CheckAddresses, WhatIsNotWrittenYetIsNotDead) {
  Subgraph main;
  for (int i = 0; i < 4; ++i) AddTensor(main, 16);
  AddOp(main, "TANH", {0}, {1});
  AddOp(main, "SPLIT", {0}, {2, 3});
  main.inputs = plan::test::Tensors({0});
  main.outputs = plan::test::Tensors({1, 2});
  UseTflite(&main);
  const Graph graph = GraphOf({main});
  const auto plan = [](std::int32_t slot, int dead, int over) {
    std::vector<plan::TensorPlacement> tensors = {At(0, 0, 16, 0, 2), At(1, 16, 16, 0, 2),
                                                  At(2, 32, 16, 1, 2), At(3, 48, 16, 1, 2)};
    tensors[static_cast<std::size_t>(dead)].offset = tensors[static_cast<std::size_t>(over)].offset;
    plan::EntryPlan entry = Entry({Do(0), Do(1)}, tensors, 64, 0);
    for (const plan::TensorPlacement& t : tensors) {
      entry.arena_bytes = std::max(entry.arena_bytes, t.offset + t.bytes);
    }
    entry.overlaps = {
        {slot, kMain, TensorId(dead), TensorId(over), plan::OverlapKind::kDeadPart, 16}};
    return Planned(plan::Runtime::kTflm, entry);
  };
  // Written by the same operator; written after it.
  EXPECT_THAT(CheckPlan(graph, plan(1, 3, 2)), Contains(HasSubstr("no value yet")));
  EXPECT_THAT(CheckPlan(graph, plan(0, 3, 1)), Contains(HasSubstr("no value yet")));
}

}  // namespace
}  // namespace neap::check
