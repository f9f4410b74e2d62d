// SPDX-License-Identifier: Apache-2.0
//
// Plans written by hand for graphs whose lifetimes can be read from the source.
#include "neap/check/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "testing/plans.h"

namespace neap::check {
namespace {

using graph::Graph;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;
using plan::test::AddOp;
using plan::test::AddTensor;
using plan::test::At;
using plan::test::Do;
using plan::test::Entry;
using plan::test::ExpectFinding;
using plan::test::GraphOf;
using plan::test::kBody;
using plan::test::kMain;
using plan::test::Nothing;
using plan::test::PlanOf;
using plan::test::Tensors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// in(20) -Conv-> t1(30) -Relu-> t2(30) -Conv-> t3(10) out; the second operator has 5 scratch.
Subgraph Chain() {
  Subgraph subgraph;
  for (const int bytes : {20, 30, 30, 10}) AddTensor(subgraph, bytes);
  AddOp(subgraph, "Conv", {0}, {1});
  subgraph.ops[AddOp(subgraph, "Relu", {1}, {2})].scratch_bytes = 5;
  AddOp(subgraph, "Conv", {2}, {3});
  subgraph.inputs = Tensors({0});
  subgraph.outputs = Tensors({3});
  return subgraph;
}

// Peak: both 30s and the scratch, 65.
plan::Plan ChainPlan() {
  plan::EntryPlan entry = Entry(
      {Do(0), Do(1), Do(2)},
      {At(0, 30, 20, 0, 1), At(1, 0, 30, 0, 2), At(2, 30, 30, 1, 3), At(3, 0, 10, 2, 3)}, 65, 65);
  entry.scratch = {{1, 60, 5}};
  return PlanOf(plan::Runtime::kIdeal, entry);
}

TEST(Check, AcceptsAChain) { EXPECT_THAT(CheckPlan(GraphOf({Chain()}), ChainPlan()), IsEmpty()); }

// t0(4) -> op0 -> t1(16), op1 -> t2(8); both -> op2 -> t3(4)
TEST(Check, AcceptsEitherOrderOfADiamond) {
  Subgraph diamond;
  for (const int bytes : {4, 16, 8, 4}) AddTensor(diamond, bytes);
  AddOp(diamond, "Conv", {0}, {1});
  AddOp(diamond, "Conv", {0}, {2});
  AddOp(diamond, "Concat", {1, 2}, {3});
  diamond.inputs = Tensors({0});
  diamond.outputs = Tensors({3});
  const Graph graph = GraphOf({diamond});
  EXPECT_THAT(
      CheckPlan(graph, PlanOf(plan::Runtime::kIdeal, Entry({Do(0), Do(1), Do(2)},
                                                           {At(0, 24, 4, 0, 2), At(1, 0, 16, 0, 3),
                                                            At(2, 16, 8, 1, 3), At(3, 24, 4, 2, 3)},
                                                           28, 28))),
      IsEmpty());
  EXPECT_THAT(
      CheckPlan(graph, PlanOf(plan::Runtime::kIdeal, Entry({Do(1), Do(0), Do(2)},
                                                           {At(0, 24, 4, 0, 2), At(1, 0, 16, 1, 3),
                                                            At(2, 16, 8, 0, 3), At(3, 24, 4, 2, 3)},
                                                           28, 28))),
      IsEmpty());
}

TEST(Check, AlignsForTflm) {
  // 20 -> 32, 30 -> 32, 10 -> 16, 5 -> 16
  plan::Plan plan = PlanOf(plan::Runtime::kTflm, Entry({Do(0), Do(1), Do(2)},
                                                       {At(0, 32, 20, 0, 1), At(1, 0, 30, 0, 2),
                                                        At(2, 32, 30, 1, 3), At(3, 0, 10, 2, 3)},
                                                       80, 80));
  plan.entries[0].scratch = {{1, 64, 5}};
  EXPECT_THAT(CheckPlan(GraphOf({Chain()}), plan), IsEmpty());
  plan.entries[0].tensors[3].offset = 8;
  ExpectFinding(GraphOf({Chain()}), plan, "offset is 8, expected a multiple of 16");
  EXPECT_THAT(CheckPlan(GraphOf({Chain()}), ChainPlan()), IsEmpty());
  plan::Plan wrong_profile = ChainPlan();
  wrong_profile.runtime = plan::Runtime::kTflm;
  EXPECT_FALSE(CheckPlan(GraphOf({Chain()}), wrong_profile).empty());
}

// t2 over t1: slot 0 has 20 + 30, slot 1 only 30 + 5, slot 2 has 30 + 10.
plan::Plan InPlacePlan() {
  plan::EntryPlan entry = Entry(
      {Do(0), Do(1), Do(2)},
      {At(0, 30, 20, 0, 1), At(1, 0, 30, 0, 2), At(2, 0, 30, 1, 3), At(3, 30, 10, 2, 3)}, 50, 50);
  entry.scratch = {{1, 30, 5}};
  entry.overlaps = {{1, kMain, TensorId(1), TensorId(2)}};
  return PlanOf(plan::Runtime::kIdealInPlace, entry);
}

TEST(Check, AcceptsWritingOverAnInputThatDies) {
  EXPECT_THAT(CheckPlan(GraphOf({Chain()}), InPlacePlan()), IsEmpty());
}

TEST(Check, RefusesOtherOverlaps) {
  const auto refused = [](Subgraph chain, plan::Plan plan, const std::string& why) {
    const auto lines = CheckPlan(GraphOf({std::move(chain)}), plan);
    EXPECT_THAT(lines, ::testing::Contains(HasSubstr(why)));
  };
  plan::Plan plan = InPlacePlan();
  plan.runtime = plan::Runtime::kIdeal;
  refused(Chain(), plan, "profile ideal writes nothing in place");
  for (const int slot : {-1, 3, 99}) {
    plan = InPlacePlan();
    plan.entries[0].overlaps[0].slot = slot;
    refused(Chain(), plan, "there is no such slot");
  }
  plan = InPlacePlan();
  plan.entries[0].overlaps[0].slot = 2;
  refused(Chain(), plan, "expected the first input and the first output");
  plan = InPlacePlan();
  plan.entries[0].overlaps[0].subgraph = kBody;
  refused(Chain(), plan, "no operator of this subgraph");
  plan = InPlacePlan();
  plan.entries[0].overlaps.push_back(plan.entries[0].overlaps[0]);
  refused(Chain(), plan, "the slot has one already");
  plan = InPlacePlan();
  plan.entries[0].tensors[2].offset = 20;
  refused(Chain(), plan, "offset is 20, expected 0");
  Subgraph chain = Chain();
  chain.ops[OpId(1)].type = "Conv";
  refused(chain, InPlacePlan(), "may not overwrite this input");
  chain = Chain();
  chain.tensors[TensorId(2)].shape = graph::Shape{29};
  refused(chain, InPlacePlan(), "may not overwrite this input");
  chain = Chain();
  chain.outputs.push_back(TensorId(1));
  refused(chain, InPlacePlan(), "may not overwrite this input");
  chain = Chain();
  chain.ops[OpId(0)].outputs.clear();
  chain.tensors[TensorId(1)].variable = true;
  refused(chain, InPlacePlan(), "may not overwrite this input");
  chain = Chain();
  chain.ops[OpId(2)].inputs.push_back(TensorId(1));
  refused(chain, InPlacePlan(), "the input is needed after");
  chain = Chain();
  chain.ops[OpId(2)].captures.push_back(TensorId(1));
  refused(chain, InPlacePlan(), "the input is needed after");
}

TEST(Check, RefusesTwoTensorsAtOnePlaceWithoutAnOverlap) {
  plan::Plan plan = InPlacePlan();
  plan.entries[0].overlaps.clear();
  plan.entries[0].peak_bytes = 65;
  plan.entries[0].order_status = plan::BoundStatus::kBounded;
  const auto lines = CheckPlan(GraphOf({Chain()}), plan);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("tensor #2 't2': slot 1: bytes [0, 30) are shared with tensor "
                                  "#1 't1' at [0, 30)"));
}

// An input without consumers has an address but no step needs it; an output that is an input is
// live throughout; a tensor without consumers is freed in its own step; constants, variables,
// unused tensors and folded operators have no place.
TEST(Check, KnowsTensorsThatAreDifferent) {
  Subgraph subgraph;
  for (const int bytes : {4, 100, 7, 16, 2, 50, 60, 70, 0}) AddTensor(subgraph, bytes);
  AddOp(subgraph, "Split", {0, 5}, {3, 4});
  AddOp(subgraph, "Conv", {3, 7, -1}, {8});
  subgraph.ops[AddOp(subgraph, "Shape", {6}, {7})].folded = true;
  subgraph.tensors[TensorId(5)].constant = true;
  subgraph.tensors[TensorId(6)].constant = true;
  subgraph.tensors[TensorId(7)].constant = true;
  AddTensor(subgraph, 1000);  // 9, dangling
  AddTensor(subgraph, 1000);  // 10, state
  subgraph.tensors[TensorId(10)].variable = true;
  subgraph.ops[OpId(1)].inputs.push_back(TensorId(10));
  AddTensor(subgraph, 3);  // 11, dangling, but read
  subgraph.ops[OpId(1)].inputs.push_back(TensorId(11));
  subgraph.inputs = Tensors({0, 1, 2});
  subgraph.outputs = Tensors({2, 8});
  const Graph graph = GraphOf({subgraph});
  // slot 0: 4 + 7 + 16 + 2 + 3; slot 1: 7 + 16 + 3
  const plan::Plan plan = PlanOf(
      plan::Runtime::kIdeal, Entry({Do(0), Do(1)},
                                   {At(0, 0, 4, 0, 1), At(1, 32, 100, 0, 1), At(2, 4, 7, 0, 2),
                                    At(3, 11, 16, 0, 2), At(4, 27, 2, 0, 1), At(11, 29, 3, 0, 2)},
                                   32, 132));
  EXPECT_THAT(CheckPlan(graph, plan), IsEmpty());
  plan::Plan with_empty = plan;
  with_empty.entries[0].tensors.push_back(At(8, 5, 0, 1, 2));
  EXPECT_THAT(CheckPlan(graph, with_empty), IsEmpty());
  plan::Plan too_long = plan;
  too_long.entries[0].tensors[1].last = 2;
  ExpectFinding(graph, too_long, "tensor #1 't1': is live in slots [0, 2), expected [0, 1)");
  plan::Plan missing = plan;
  missing.entries[0].tensors.erase(missing.entries[0].tensors.begin() + 1);
  missing.entries[0].arena_bytes = 32;
  missing.entries[0].arena_status = plan::BoundStatus::kOptimal;
  ExpectFinding(graph, missing, "tensor #1 't1': has no address, expected one of 100 bytes");
  for (const int nowhere : {5, 7, 9, 10, 12, -1}) {
    plan::Plan more = plan;
    more.entries[0].tensors.push_back(At(nowhere, 32, 1, 0, 1));
    ExpectFinding(graph, more, "has an address, expected none");
  }
}

TEST(Check, AcceptsAnEntryWithoutOperators) {
  Subgraph through;
  AddTensor(through, 8);
  through.inputs = Tensors({0});
  through.outputs = Tensors({0});
  const Graph graph = GraphOf({through});
  const auto check = [&](std::vector<plan::Step> steps) {
    plan::EntryPlan entry = Entry(std::move(steps), {At(0, 0, 8, 0, 1)}, 8, 8);
    entry.certificate = {};
    return CheckPlan(graph, PlanOf(plan::Runtime::kIdeal, std::move(entry)));
  };
  EXPECT_THAT(check({Nothing(kMain)}), IsEmpty());
  EXPECT_THAT(check({}), SizeIs(1));
  EXPECT_THAT(check({Nothing(kMain), Nothing(kMain)}), SizeIs(1));
}

TEST(Check, VerifiesCertificates) {
  const Graph graph = GraphOf({Chain()});
  plan::Plan plan = ChainPlan();
  const auto claim = [&](plan::CertificateKind kind, int op, std::int64_t bound) {
    plan::EntryPlan& entry = plan.entries[0];
    entry.certificate = {kind, OpId(op), {}, 0, false};
    entry.peak_lower_bound_bytes = bound;
    entry.order_status =
        bound == entry.peak_bytes ? plan::BoundStatus::kOptimal : plan::BoundStatus::kBounded;
    entry.arena_lower_bound_bytes = 0;
    entry.arena_status = plan::BoundStatus::kBounded;
    return CheckPlan(graph, plan);
  };
  EXPECT_THAT(claim(plan::CertificateKind::kSingleOperator, 1, 65), IsEmpty());
  EXPECT_THAT(claim(plan::CertificateKind::kSingleOperator, 0, 50), IsEmpty());
  EXPECT_THAT(claim(plan::CertificateKind::kSingleOperator, 0, 51),
              ElementsAre(HasSubstr("does not prove")));
  EXPECT_THAT(claim(plan::CertificateKind::kSingleOperator, 3, 1),
              ElementsAre(HasSubstr("expected an operator")));
  EXPECT_THAT(claim(plan::CertificateKind::kSingleOperator, -1, 1),
              ElementsAre(HasSubstr("expected an operator")));
  EXPECT_THAT(claim(plan::CertificateKind::kNone, -1, 65), IsEmpty());
  EXPECT_THAT(claim(plan::CertificateKind::kNone, -1, 0), IsEmpty());
  // In place, op1 needs 35 alone.
  plan = InPlacePlan();
  EXPECT_THAT(claim(plan::CertificateKind::kSingleOperator, 1, 35), IsEmpty());
  EXPECT_THAT(claim(plan::CertificateKind::kSingleOperator, 1, 36),
              ElementsAre(HasSubstr("does not prove")));
  EXPECT_THAT(claim(plan::CertificateKind::kNone, -1, 50), IsEmpty());
}

TEST(Check, VerifiesTheBoundOfTheArena) {
  const Graph graph = GraphOf({Chain()});
  plan::Plan plan = ChainPlan();
  plan::EntryPlan& entry = plan.entries[0];
  entry.peak_lower_bound_bytes = 50;
  entry.order_status = plan::BoundStatus::kBounded;
  entry.arena_lower_bound_bytes = 51;
  entry.arena_status =
      entry.arena_bytes == 51 ? plan::BoundStatus::kOptimal : plan::BoundStatus::kBounded;
  EXPECT_THAT(CheckPlan(graph, plan), ElementsAre(HasSubstr("arena_lower_bound_bytes is 51")));
  entry.arena_lower_bound_bytes = 50;
  EXPECT_THAT(CheckPlan(graph, plan), IsEmpty());
}

// Relu may not overwrite what a later operator has to read: then it needs both.
TEST(Check, CountsAnInputThatMustOutliveItsOperator) {
  Subgraph subgraph;
  for (const int bytes : {8, 8, 1}) AddTensor(subgraph, bytes);
  AddOp(subgraph, "Relu", {0}, {1});
  AddOp(subgraph, "Conv", {1, 0}, {2});
  subgraph.inputs = Tensors({0});
  subgraph.outputs = Tensors({2});
  plan::EntryPlan entry =
      Entry({Do(0), Do(1)}, {At(0, 0, 8, 0, 2), At(1, 8, 8, 0, 2), At(2, 16, 1, 1, 2)}, 17, 17);
  entry.peak_lower_bound_bytes = 16;
  entry.order_status = plan::BoundStatus::kBounded;
  entry.arena_lower_bound_bytes = 16;
  entry.arena_status = plan::BoundStatus::kBounded;
  entry.certificate = {plan::CertificateKind::kSingleOperator, OpId(0), {}, 0, false};
  EXPECT_THAT(CheckPlan(GraphOf({subgraph}), PlanOf(plan::Runtime::kIdealInPlace, entry)),
              IsEmpty());
  // Without the later operator's other input it might run first.
  subgraph.ops[OpId(1)].inputs = Tensors({0});
  subgraph.outputs = Tensors({1, 2});
  EXPECT_THAT(CheckPlan(GraphOf({subgraph}), PlanOf(plan::Runtime::kIdealInPlace, entry)),
              ElementsAre(HasSubstr("does not prove")));
}

TEST(Check, RefusesNumbersThatDoNotAdd) {
  const Graph graph = GraphOf({Chain()});
  const auto refused = [&](const std::function<void(plan::EntryPlan&)>& change,
                           const std::string& why) {
    plan::Plan plan = ChainPlan();
    change(plan.entries[0]);
    EXPECT_THAT(CheckPlan(graph, plan), ::testing::Contains(HasSubstr(why)));
  };
  const auto refused_at_all = [&](const std::function<void(plan::EntryPlan&)>& change) {
    plan::Plan plan = ChainPlan();
    change(plan.entries[0]);
    EXPECT_FALSE(CheckPlan(graph, plan).empty());
  };
  refused_at_all([](plan::EntryPlan& e) { e.peak_bytes = 64; });
  refused_at_all([](plan::EntryPlan& e) { e.peak_bytes = 66; });
  refused_at_all([](plan::EntryPlan& e) { e.arena_bytes = 66; });
  refused_at_all([](plan::EntryPlan& e) { e.arena_bytes = 64; });
  refused_at_all([](plan::EntryPlan& e) { e.peak_lower_bound_bytes = 66; });
  refused([](plan::EntryPlan& e) { e.peak_lower_bound_bytes = 64; }, "order_status is optimal");
  refused([](plan::EntryPlan& e) { e.order_status = plan::BoundStatus::kBounded; },
          "order_status is bounded");
  refused([](plan::EntryPlan& e) { e.arena_status = plan::BoundStatus::kBounded; },
          "arena_status is bounded");
  refused([](plan::EntryPlan& e) { e.arena_lower_bound_bytes = 64; }, "arena_status is optimal");
  refused([](plan::EntryPlan& e) { e.arena_given_order_lower_bound_bytes = 66; },
          "arena_given_order_lower_bound_bytes is 66, expected 0 to arena_bytes, 65");
  refused([](plan::EntryPlan& e) { e.arena_given_order_lower_bound_bytes = -1; }, "is -1");
  refused([](plan::EntryPlan& e) { e.states = -1; }, "states is -1");
  refused([](plan::EntryPlan& e) { e.certificate.states = -1; }, "certificate.states is -1");
  refused([](plan::EntryPlan& e) { e.signature = "serve"; }, "signature is 'serve', expected none");
  refused([](plan::EntryPlan& e) { e.tensors[1].bytes = 31; }, "bytes is 31, expected 30");
  refused([](plan::EntryPlan& e) { e.tensors[1].last = 1; }, "slots [0, 1), expected [0, 2)");
  refused([](plan::EntryPlan& e) { e.tensors[1].first = -1; }, "slots [-1, 2), expected [0, 2)");
  refused([](plan::EntryPlan& e) { e.tensors[3].offset = 31; }, "are shared with tensor");
  refused([](plan::EntryPlan& e) { e.tensors[3].offset = -16; }, "offset is -16");
  refused([](plan::EntryPlan& e) { e.tensors.push_back(e.tensors[0]); }, "has a second address");
  refused([](plan::EntryPlan& e) { e.tensors.erase(e.tensors.begin()); }, "has no address");
  refused([](plan::EntryPlan& e) { e.tensors.push_back(At(0, 0, 20, 0, 1, kBody)); },
          "no step runs its subgraph");
  refused([](plan::EntryPlan& e) { e.scratch[0].offset = 59; }, "are shared with");
  refused([](plan::EntryPlan& e) { e.scratch[0].bytes = 4; }, "bytes is 4, expected 5");
  refused([](plan::EntryPlan& e) { e.scratch[0].slot = 3; }, "there is no such slot");
  refused([](plan::EntryPlan& e) { e.scratch.push_back({0, 0, 1}); }, "expected none");
  refused([](plan::EntryPlan& e) { e.scratch.push_back(e.scratch[0]); }, "found a second one");
  refused([](plan::EntryPlan& e) { e.scratch.clear(); }, "scratch has no address");
  refused_at_all([](plan::EntryPlan& e) { e.tensors[0].offset = std::int64_t{1} << 62; });
  refused_at_all([](plan::EntryPlan& e) { e.tensors[0].offset = INT64_MAX; });
}

TEST(Check, LeavesAddressesOfAnOrderAloneOut) {
  plan::Plan plan = ChainPlan();
  plan::EntryPlan& entry = plan.entries[0];
  entry.tensors.clear();
  entry.scratch.clear();
  entry.arena_bytes = 0;
  EXPECT_THAT(CheckPlan(GraphOf({Chain()}), plan), IsEmpty());
  entry.peak_bytes = 64;
  EXPECT_FALSE(CheckPlan(GraphOf({Chain()}), plan).empty());
}

TEST(Check, WantsEveryEntryInOrder) {
  Graph graph = GraphOf({Chain(), Chain()});
  graph.signatures = {{"serve", kBody}, {"other", kBody}};
  plan::Plan plan = ChainPlan();
  ExpectFinding(graph, plan, "subgraph 1: has no plan");
  plan = plan::test::NaivePlan(graph, plan::Runtime::kIdeal);
  EXPECT_THAT(CheckPlan(graph, plan), IsEmpty());
  plan.entries[1].signature = "serve";
  EXPECT_THAT(CheckPlan(graph, plan), IsEmpty());
  plan.entries[1].signature.clear();
  ExpectFinding(graph, plan, "expected one of the model");
  std::swap(plan.entries[0], plan.entries[1]);
  ExpectFinding(graph, plan, "is planned as entry 0, expected subgraph 0");
  plan = plan::test::NaivePlan(graph, plan::Runtime::kIdeal);
  plan.entries.push_back(plan.entries[0]);
  ExpectFinding(graph, plan, "expected only 2 entries");
}

TEST(Check, SaysWhatTheGraphDoesNotTell) {
  Subgraph chain = Chain();
  chain.tensors[TensorId(1)].shape.reset();
  ExpectFinding(GraphOf({chain}), ChainPlan(), "tensor #1 't1': has no shape");
  chain = Chain();
  chain.ops[OpId(0)].inputs = Tensors({77});
  ExpectFinding(GraphOf({chain}), ChainPlan(), "the graph is not well-formed");
  chain = Chain();
  chain.ops[OpId(1)].scratch_bytes = std::int64_t{1} << 62;
  ExpectFinding(GraphOf({chain}), ChainPlan(), "does not fit");
  EXPECT_THAT(CheckPlan(Graph(), plan::Plan()), IsEmpty());
}

TEST(Check, StopsAfterTwentyLines) {
  Subgraph wide;
  std::vector<plan::Step> steps;
  for (int i = 0; i < 50; ++i) {
    AddTensor(wide, 1);
    AddOp(wide, "Op", {}, {i});
    steps.push_back(Do(i));
  }
  plan::EntryPlan entry = Entry(steps, {At(0, 0, 1, 0, 1)}, 1, 1);
  EXPECT_THAT(CheckPlan(GraphOf({wide}), PlanOf(plan::Runtime::kIdeal, entry)), SizeIs(20));
}

TEST(LargestEntry, PrefersTheArenaThenThePeak) {
  plan::Plan plan;
  plan.entries = {Entry({}, {}, 9, 10), Entry({}, {}, 8, 12), Entry({}, {}, 9, 12),
                  Entry({}, {}, 9, 12)};
  EXPECT_EQ(&LargestEntry(plan), &plan.entries[2]);
}

}  // namespace
}  // namespace neap::check
