// SPDX-License-Identifier: Apache-2.0
//
// Plans written by hand: bodies and precedences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "testing/plans.h"

namespace neap::check {
namespace {

using graph::ControlEdge;
using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;
using plan::test::AddOp;
using plan::test::AddTensor;
using plan::test::At;
using plan::test::Do;
using plan::test::Entry;
using plan::test::ExpectFinding;
using plan::test::GraphOf;
using plan::test::kBody;
using plan::test::Nothing;
using plan::test::PlanOf;
using plan::test::Tensors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// main: in(8) -> op0 If(captures cap(6)) -> t1(4) -> op1 -> out(2); cap is another input.
// then: two operators and 10 bytes between them; else: empty, its input is its output.
struct Control {
  Graph graph;
  plan::Plan plan;
};
Control IfElse() {
  Subgraph main;
  for (const int bytes : {8, 4, 2, 6}) AddTensor(main, bytes);
  const OpId branch = AddOp(main, "If", {0}, {1});
  main.ops[branch].bodies = {kBody, SubgraphId(2)};
  main.ops[branch].captures = Tensors({3});
  main.ops[branch].scratch_bytes = 1;
  AddOp(main, "Conv", {1}, {2});
  main.inputs = Tensors({0, 3});
  main.outputs = Tensors({2});
  Subgraph then;
  for (const int bytes : {8, 10, 4, 9}) AddTensor(then, bytes);
  AddOp(then, "Conv", {0}, {1});
  AddOp(then, "Conv", {1}, {2});
  then.inputs = Tensors({0, 3});  // 3 is not read
  then.outputs = Tensors({2});
  Subgraph otherwise;
  AddTensor(otherwise, 4);
  otherwise.inputs = Tensors({0});
  otherwise.outputs = Tensors({0});
  // Outside: 8 + 6 + 4 + 1 in slots 0 to 3. Slot 1: 8 + 10, slot 2: 10 + 4, slot 3: 4.
  plan::EntryPlan entry =
      Entry({Do(0), Do(0, kBody), Do(1, kBody), Nothing(SubgraphId(2)), Do(1)},
            {At(0, 0, 8, 0, 4), At(3, 8, 6, 0, 4), At(1, 14, 4, 0, 5), At(2, 0, 2, 4, 5),
             At(0, 29, 8, 1, 2, kBody), At(1, 19, 10, 1, 3, kBody), At(2, 29, 4, 2, 3, kBody),
             At(3, 37, 9, 1, 2, kBody), At(0, 19, 4, 3, 4, SubgraphId(2))},
            37, 46);
  entry.scratch = {{0, 18, 1}};
  return {GraphOf({main, then, otherwise}), PlanOf(plan::Runtime::kIdeal, entry)};
}

TEST(Check, AcceptsControlFlow) {
  const Control control = IfElse();
  EXPECT_THAT(CheckPlan(control.graph, control.plan), IsEmpty());
}

TEST(Check, RefusesOtherSlotsOfBodies) {
  const Control control = IfElse();
  const auto refused = [&](std::vector<plan::Step> steps, const std::string& why) {
    plan::Plan plan = control.plan;
    plan.entries[0].steps = std::move(steps);
    ExpectFinding(control.graph, plan, why);
  };
  const SubgraphId other(2);
  refused({Do(0), Do(0, kBody), Do(1, kBody), Do(1)},
          "slot 3: found operator 1 of subgraph 0, expected no operator of subgraph 2");
  refused({Do(0), Nothing(other), Do(0, kBody), Do(1, kBody), Do(1)},
          "slot 1: found no operator of subgraph 2, expected an operator of subgraph 1");
  refused({Do(0), Do(1, kBody), Do(0, kBody), Nothing(other), Do(1)}, "expected after #0 'Conv'");
  refused({Do(0), Do(0, kBody), Do(0, kBody), Nothing(other), Do(1)}, "which has run in slot 1");
  refused({Do(0), Do(0, kBody), Do(1, kBody)}, "slot 3: found the end");
  refused({Do(0), Do(0, kBody)}, "slot 2: found the end of the steps, expected this operator");
  refused({Do(0), Do(0, kBody), Do(1, kBody), Nothing(other), Do(1), Do(1)}, "expected the end");
  refused({Do(0), Do(0, kBody), Do(7, kBody), Nothing(other), Do(1)}, "one of its 2 operators");
  refused({Do(0), Do(0, SubgraphId(-4))}, "expected an operator of subgraph 1");
  plan::Plan plan = control.plan;
  plan.entries[0].tensors[1].last = 1;  // the capture is freed too early
  ExpectFinding(control.graph, plan, "is live in slots [0, 1), expected [0, 4)");
  plan = control.plan;
  plan.entries[0].tensors[5].offset = 18;  // the caller's scratch is in use all the while
  ExpectFinding(control.graph, plan, "shared with the scratch of operator #0 'If'");
}

// main: t0 -> op0 -> t1 -> op1 -> t2, all of 8 bytes; both operators call the body.
Graph TwoCallsOf(Subgraph body) {
  Subgraph main;
  for (int i = 0; i < 3; ++i) AddTensor(main, 8);
  for (int i = 0; i < 2; ++i) main.ops[AddOp(main, "While", {i}, {i + 1})].bodies = {kBody};
  main.inputs = Tensors({0});
  main.outputs = Tensors({2});
  return GraphOf({std::move(main), std::move(body)});
}

// t0 -> t1 -> t2, all of 8 bytes.
Subgraph ReluChain() {
  Subgraph chain;
  for (int i = 0; i < 3; ++i) AddTensor(chain, 8);
  for (int i = 0; i < 2; ++i) AddOp(chain, "Relu", {i}, {i + 1});
  chain.inputs = Tensors({0});
  chain.outputs = Tensors({2});
  return chain;
}

// Tensors of the body keep their place from the first call to the last.
TEST(Check, GivesABodyOneOrderAndOnePlace) {
  Subgraph body;
  for (const int bytes : {4, 5, 6}) AddTensor(body, bytes);
  AddOp(body, "Relu", {0}, {1});
  AddOp(body, "Relu", {0}, {2});
  body.inputs = Tensors({0});
  body.outputs = Tensors({1, 2});
  const Graph graph = TwoCallsOf(body);
  const plan::Plan plan = PlanOf(
      plan::Runtime::kIdeal,
      Entry({Do(0), Do(0, kBody), Do(1, kBody), Do(1), Do(0, kBody), Do(1, kBody)},
            {At(0, 0, 8, 0, 3), At(1, 8, 8, 0, 6), At(2, 0, 8, 3, 6), At(0, 16, 4, 1, 6, kBody),
             At(1, 20, 5, 1, 6, kBody), At(2, 25, 6, 2, 6, kBody)},
            31, 31));
  EXPECT_THAT(CheckPlan(graph, plan), IsEmpty());
  plan::Plan two_orders = plan;
  std::swap(two_orders.entries[0].steps[4], two_orders.entries[0].steps[5]);
  ExpectFinding(graph, two_orders, "as in the first call of subgraph 1");
}

// Tensors of a body that never live together in a call may share bytes, although both keep their
// places from the first call to the last; with tensors live between the calls they may not.
TEST(Check, LetsTensorsOfARepeatedBodyTakeTurns) {
  const Graph graph = TwoCallsOf(ReluChain());
  // In each call: 0 with 1, then 1 with 2.
  const plan::Plan plan = PlanOf(
      plan::Runtime::kIdeal,
      Entry({Do(0), Do(0, kBody), Do(1, kBody), Do(1), Do(0, kBody), Do(1, kBody)},
            {At(0, 0, 8, 0, 3), At(1, 8, 8, 0, 6), At(2, 0, 8, 3, 6), At(0, 16, 8, 1, 5, kBody),
             At(1, 24, 8, 1, 6, kBody), At(2, 16, 8, 2, 6, kBody)},
            32, 32));
  EXPECT_THAT(CheckPlan(graph, plan), IsEmpty());
  const auto moved = [&](std::size_t which, std::int64_t offset) {
    plan::Plan changed = plan;
    changed.entries[0].tensors[which].offset = offset;
    return CheckPlan(graph, changed);
  };
  EXPECT_THAT(moved(5, 24), ::testing::Contains(HasSubstr("are shared with tensor #1")));
  EXPECT_THAT(moved(3, 24), ::testing::Contains(HasSubstr("are shared with tensor #")));
  for (const std::size_t which : {3U, 4U, 5U}) {
    for (const std::int64_t offset : {0, 4, 8}) EXPECT_FALSE(moved(which, offset).empty());
  }
  plan::Plan twice = plan;
  twice.entries[0].tensors.push_back(At(1, 40, 8, 4, 6, kBody));
  EXPECT_THAT(CheckPlan(graph, twice), ::testing::Contains(HasSubstr("has a second address")));
}

// main: t0, condition -> IF -> t1; the body is x -> y. The output has the address of the argument.
struct Handed {
  Graph graph;
  plan::Plan plan;
};
Handed HandedOver() {
  Subgraph main;
  for (const int bytes : {16, 1, 16, 16}) AddTensor(main, bytes);
  main.tensors[TensorId(1)].constant = true;
  Op& call = main.ops[AddOp(main, "IF", {1, 0}, {2})];
  call.domain = "tflite";
  call.bodies = {kBody, kBody};
  AddOp(main, "Relu", {2}, {3});
  main.inputs = Tensors({0});
  main.outputs = Tensors({3});
  Subgraph body;
  for (const int bytes : {16, 16}) AddTensor(body, bytes);
  AddOp(body, "Conv", {0}, {1});
  body.inputs = Tensors({0});
  body.outputs = Tensors({1});
  plan::EntryPlan entry = Entry({Do(0), Do(0, kBody), Do(0, kBody), Do(1)},
                                {At(0, 0, 16, 0, 3), At(2, 0, 16, 0, 4), At(3, 16, 16, 3, 4),
                                 At(0, 16, 16, 1, 3, kBody), At(1, 32, 16, 1, 3, kBody)},
                                64, 48);
  entry.overlaps = {
      {0, plan::test::kMain, TensorId(0), TensorId(2), plan::OverlapKind::kCopiedIn, 0}};
  entry.arena_lower_bound_bytes = entry.arena_given_order_lower_bound_bytes = 0;
  entry.arena_status = plan::BoundStatus::kBounded;
  plan::Plan plan = PlanOf(plan::Runtime::kTflm, entry);
  plan.kernels = ops::KernelLibrary::kCopies;
  return {GraphOf({main, body}), plan};
}

TEST(Check, AcceptsAnOutputOverWhatWasHandedToABody) {
  const Handed handed = HandedOver();
  EXPECT_THAT(CheckPlan(handed.graph, handed.plan), IsEmpty());
  plan::Plan apart_by_less = handed.plan;  // in any way
  apart_by_less.entries[0].tensors[0].offset = 0;
  EXPECT_THAT(CheckPlan(handed.graph, apart_by_less), IsEmpty());
}

TEST(Check, RefusesAnOutputOverWhatIsStillWanted) {
  const Handed handed = HandedOver();
  const auto refused = [&](const std::function<void(Handed&)>& change, const std::string& why) {
    Handed changed = handed;
    change(changed);
    EXPECT_THAT(CheckPlan(changed.graph, changed.plan), ::testing::Contains(HasSubstr(why)));
  };
  const auto main = [](Handed& h) -> Subgraph& { return h.graph.subgraphs[plan::test::kMain]; };
  const auto entry = [](Handed& h) -> plan::EntryPlan& { return h.plan.entries[0]; };
  refused([&](Handed& h) { entry(h).overlaps.clear(); }, "are shared with tensor");
  refused([&](Handed& h) { h.plan.kernels = ops::KernelLibrary::kNone; },
          "the plan names no kernels that allow it");
  refused([&](Handed& h) { h.plan.kernels = ops::KernelLibrary::kNeap; },
          "overwrites bytes that are still to be read");
  // A loop passes its body more than one value.
  refused([&](Handed& h) { main(h).ops[OpId(0)].type = "WHILE"; },
          "overwrites bytes that are still to be read");
  // Read by another operator, seen by the body, wanted in the end.
  refused(
      [&](Handed& h) {
        main(h).ops[OpId(1)].inputs = Tensors({2, 0});
      },
      "the input is needed after operator");
  refused([&](Handed& h) { main(h).ops[OpId(0)].captures = Tensors({0}); },
          "overwrites bytes that are still to be read");
  refused(
      [&](Handed& h) {
        main(h).outputs = Tensors({3, 0});
      },
      "the input is needed after operator");
  // The body's own input is live at the same time as the output: they may not overlap.
  refused([&](Handed& h) { entry(h).tensors[3].offset = 0; }, "are shared with tensor");
  refused([&](Handed& h) { entry(h).tensors[4].offset = 0; }, "are shared with tensor");
}

// A body called twice whose first operator works in place, in both calls or in one.
TEST(Check, JoinsOverlapsOfARepeatedBodyOnlyWhenAllCallsDo) {
  const Graph graph = TwoCallsOf(ReluChain());
  plan::Plan plan = plan::test::NaivePlan(graph, plan::Runtime::kIdealInPlace);
  ASSERT_THAT(plan.entries[0].overlaps, SizeIs(4));
  EXPECT_EQ(plan.entries[0].arena_bytes, 24);
  EXPECT_THAT(CheckPlan(graph, plan), IsEmpty());
  plan.entries[0].overlaps.pop_back();
  EXPECT_THAT(CheckPlan(graph, plan),
              ::testing::Contains(HasSubstr("overwrites an input in 1 calls of its subgraph")));
}

TEST(Check, KeepsEveryKindOfOrder) {
  Subgraph subgraph;
  for (const int bytes : {1, 1, 1, 1}) AddTensor(subgraph, bytes);
  AddOp(subgraph, "A", {}, {0});
  AddOp(subgraph, "B", {}, {1});
  AddOp(subgraph, "Fold", {}, {2});
  subgraph.ops[OpId(2)].folded = true;
  subgraph.tensors[TensorId(2)].constant = true;
  const auto one_order = [&](const std::function<void(Subgraph&)>& change, bool allowed) {
    Subgraph changed = subgraph;
    change(changed);
    plan::Plan plan = PlanOf(plan::Runtime::kIdeal,
                             Entry({Do(1), Do(0)}, {At(0, 0, 1, 1, 2), At(1, 0, 1, 0, 1)}, 1, 1));
    const auto lines = CheckPlan(GraphOf({changed}), plan);
    if (allowed) {
      EXPECT_THAT(lines, IsEmpty());
    } else {
      EXPECT_THAT(lines, ElementsAre(HasSubstr("operator #1 'B': runs in slot 0 of its subgraph, "
                                               "expected after #0 'A'")));
    }
  };
  one_order([](Subgraph&) {}, true);
  one_order([](Subgraph& s) { s.control_edges = {ControlEdge{OpId(0), OpId(1)}}; }, false);
  one_order([](Subgraph& s) { s.control_edges = {ControlEdge{OpId(1), OpId(0)}}; }, true);
  one_order([](Subgraph& s) { s.ops[OpId(0)].stateful = true; }, true);
  one_order(
      [](Subgraph& s) {
        s.ops[OpId(0)].stateful = true;
        s.ops[OpId(1)].stateful = true;
      },
      false);
  // Through an operator that is folded: it reads what op0 writes, op1 reads what it writes.
  one_order(
      [](Subgraph& s) {
        s.ops[OpId(2)].inputs = Tensors({0});
        s.ops[OpId(1)].inputs = Tensors({2});
      },
      false);
  one_order(
      [](Subgraph& s) {
        s.control_edges = {ControlEdge{OpId(0), OpId(2)}, ControlEdge{OpId(2), OpId(1)}};
      },
      false);
}

// 2^20 calls if every one were followed: the existing steps bound the work.
TEST(Check, IsNotMisledByBodiesThatCallBodies) {
  std::vector<Subgraph> subgraphs(20);
  for (int i = 0; i < 20; ++i) {
    Subgraph& subgraph = subgraphs[static_cast<std::size_t>(i)];
    for (int j = 0; j < 2; ++j) {
      const OpId op = AddOp(subgraph, "Call", {}, {});
      if (i < 19) subgraph.ops[op].bodies = {SubgraphId(i + 1)};
    }
  }
  plan::Plan plan = PlanOf(plan::Runtime::kIdeal, Entry({Do(0), Do(0, kBody)}, {}, 0, 0));
  EXPECT_THAT(CheckPlan(GraphOf(subgraphs), plan), SizeIs(1));
}

// Deep nesting takes no stack of the machine.
TEST(Check, FollowsDeepNesting) {
  constexpr int kDepth = 20000;
  std::vector<Subgraph> subgraphs(kDepth);
  plan::EntryPlan entry = Entry({}, {}, 0, 0);
  for (int i = 0; i < kDepth; ++i) {
    const OpId op = AddOp(subgraphs[static_cast<std::size_t>(i)], "Call", {}, {});
    if (i + 1 < kDepth) {
      subgraphs[static_cast<std::size_t>(i)].ops[op].bodies = {SubgraphId(i + 1)};
    }
    entry.steps.push_back(Do(0, SubgraphId(i)));
  }
  EXPECT_THAT(CheckPlan(GraphOf(subgraphs), PlanOf(plan::Runtime::kIdeal, entry)), IsEmpty());
}

}  // namespace
}  // namespace neap::check
