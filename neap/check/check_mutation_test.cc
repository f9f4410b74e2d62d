// SPDX-License-Identifier: Apache-2.0
//
// Random graphs, planned by a naive planner; damaged copies of the plans must be rejected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/random.h"
#include "neap/check/check.h"
#include "testing/plans.h"

namespace neap::check {
namespace {

using graph::Graph;
using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;
using ::testing::IsEmpty;

struct Sample {
  Graph graph;
  plan::Plan plan;
};

Sample RandomSample(Random& random) {
  constexpr plan::Runtime kRuntimes[] = {plan::Runtime::kIdeal, plan::Runtime::kIdealInPlace,
                                         plan::Runtime::kTflm, plan::Runtime::kLitert,
                                         plan::Runtime::kOnnxRuntime};
  Sample sample;
  sample.graph =
      plan::test::RandomGraph(random, static_cast<int>(random.Between(1, 14)), random.Chance(1, 2));
  sample.plan = plan::test::NaivePlan(sample.graph, kRuntimes[random.Below(std::size(kRuntimes))]);
  return sample;
}

TEST(CheckRandom, AcceptsWhatANaivePlannerDoes) {
  Random random(1);
  int overlaps = 0;
  int calls = 0;
  for (int i = 0; i < 400; ++i) {
    const Sample sample = RandomSample(random);
    ASSERT_THAT(CheckPlan(sample.graph, sample.plan), IsEmpty()) << "sample " << i;
    overlaps += static_cast<int>(sample.plan.entries[0].overlaps.size());
    for (const plan::Step& step : sample.plan.entries[0].steps) calls += step.subgraph.value() > 0;
  }
  EXPECT_GT(overlaps, 100);
  EXPECT_GT(calls, 1000);
}

// Whether the addresses alone are right, pair by pair; everything else of the plan is.
bool AddressesAreRight(const Sample& sample, const plan::EntryPlan& entry) {
  const std::int64_t alignment = ProfileOf(sample.plan.runtime).alignment;
  std::set<std::pair<std::pair<SubgraphId, TensorId>, std::pair<SubgraphId, TensorId>>> joined;
  // The transitive closure of the overlaps.
  for (const plan::Overlap& o : entry.overlaps) {
    joined.insert({{o.subgraph, o.input}, {o.subgraph, o.output}});
  }
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& a : joined) {
      for (const auto& b : joined) {
        if (a.second == b.first) grew = joined.insert({a.first, b.second}).second || grew;
      }
    }
  }
  // Slots of own operators of a subgraph in one call, and all of them in all calls.
  const auto in_call = [&](const plan::TensorPlacement& t) {
    const auto& ops = sample.graph.subgraphs[t.subgraph].ops;
    const auto own = std::max<std::ptrdiff_t>(
        std::count_if(ops.begin(), ops.end(), [](const graph::Op& op) { return !op.folded; }), 1);
    std::vector<std::int32_t> slots;
    for (std::size_t slot = 0; slot < entry.steps.size(); ++slot) {
      if (entry.steps[slot].subgraph == t.subgraph) {
        slots.push_back(static_cast<std::int32_t>(slot));
      }
    }
    const std::int32_t last_begin =
        slots.empty() ? 0 : slots[slots.size() - static_cast<std::size_t>(own)];
    return std::pair(t.first - (slots.empty() ? 0 : slots.front()), t.last - last_begin);
  };
  std::int64_t top = 0;
  for (const plan::TensorPlacement& a : entry.tensors) {
    if (a.offset < 0 || a.offset % alignment != 0) return false;
    top = std::max(top, a.offset + AlignUp(a.bytes, alignment));
    for (const plan::TensorPlacement& b : entry.tensors) {
      if (&a == &b) continue;
      const auto [first_a, last_a] = in_call(a);
      const auto [first_b, last_b] = in_call(b);
      const bool turns = a.subgraph == b.subgraph && (last_a <= first_b || last_b <= first_a);
      const bool together = a.first < b.last && b.first < a.last && !turns &&
                            a.offset < b.offset + AlignUp(b.bytes, alignment) &&
                            b.offset < a.offset + AlignUp(a.bytes, alignment);
      const bool join = joined.contains({{a.subgraph, a.tensor}, {b.subgraph, b.tensor}});
      if (join && a.offset != b.offset) return false;
      if (together && !join && !joined.contains({{b.subgraph, b.tensor}, {a.subgraph, a.tensor}})) {
        return false;
      }
    }
  }
  return top == entry.arena_bytes;
}

TEST(CheckRandom, AgreesWithAllPairsOnMovedTensors) {
  Random random(2);
  int right = 0;
  int wrong = 0;
  for (int i = 0; i < 3000; ++i) {
    Sample sample;
    sample.graph = plan::test::RandomGraph(random, static_cast<int>(random.Between(1, 10)),
                                           random.Chance(1, 2));
    for (graph::Subgraph& subgraph : sample.graph.subgraphs) {
      for (graph::Op& op : subgraph.ops) op.scratch_bytes = 0;
    }
    sample.plan = plan::test::NaivePlan(
        sample.graph, random.Chance(1, 2) ? plan::Runtime::kIdealInPlace : plan::Runtime::kTflm);
    plan::EntryPlan& entry = sample.plan.entries[0];
    plan::TensorPlacement& moved = entry.tensors[random.Below(entry.tensors.size())];
    moved.offset = 16 * random.Between(-1, 9);
    const bool expected = AddressesAreRight(sample, entry);
    ASSERT_EQ(CheckPlan(sample.graph, sample.plan).empty(), expected) << "sample " << i;
    ++(expected ? right : wrong);
  }
  EXPECT_GT(right, 100);
  EXPECT_GT(wrong, 100);
}

// Change what the graph and the steps determine. False: there was nothing to change.
bool DamageNumber(plan::EntryPlan& entry, Random& random, std::uint64_t kind) {
  const auto some = [&](auto& list) -> auto& { return list[random.Below(list.size())]; };
  const auto by = static_cast<std::int32_t>(random.Chance(1, 2) ? 1 : -1);
  switch (kind) {
    case 0:
      entry.peak_bytes += by;
      return true;
    case 1:
      entry.arena_bytes += by;
      return true;
    case 2:
      entry.peak_lower_bound_bytes += by;
      return true;
    case 3:
      entry.arena_lower_bound_bytes = entry.arena_bytes + 1;
      return true;
    case 4:
      some(entry.tensors).first += by;
      return true;
    case 5:
      some(entry.tensors).last += by;
      return true;
    case 6:
      some(entry.tensors).bytes += by;
      return true;
    case 14:
      if (entry.scratch.empty()) return false;
      some(entry.scratch).bytes += by;
      return true;
    default:
      if (entry.overlaps.empty()) return false;
      some(entry.overlaps).slot += by;
      return true;
  }
}

bool DamageList(plan::EntryPlan& entry, Random& random, std::uint64_t kind) {
  const auto some = [&](auto& list) -> auto& { return list[random.Below(list.size())]; };
  switch (kind) {
    case 7:
      entry.tensors.erase(entry.tensors.begin() +
                          static_cast<std::ptrdiff_t>(random.Below(entry.tensors.size())));
      return true;
    case 8: {
      const plan::TensorPlacement copy = some(entry.tensors);
      entry.tensors.push_back(copy);
      return true;
    }
    case 9:
      some(entry.tensors).tensor = TensorId(static_cast<std::int32_t>(random.Between(-3, 99)) + 40);
      return true;
    case 10:
      entry.steps.erase(entry.steps.begin() +
                        static_cast<std::ptrdiff_t>(random.Below(entry.steps.size())));
      return true;
    case 11: {
      const plan::Step copy = some(entry.steps);
      entry.steps.insert(
          entry.steps.begin() + static_cast<std::ptrdiff_t>(random.Below(entry.steps.size() + 1)),
          copy);
      return true;
    }
    case 12: {
      plan::Step& a = some(entry.steps);
      plan::Step& b = some(entry.steps);
      if (a.subgraph == b.subgraph && a.op == b.op) return false;
      std::swap(a, b);
      return true;
    }
    case 13:
      some(entry.steps).op = OpId(static_cast<std::int32_t>(random.Between(20, 99)));
      return true;
    default:
      return false;
  }
}

TEST(CheckRandom, FindsEveryDamage) {
  Random random(3);
  int damaged = 0;
  for (int i = 0; i < 4000; ++i) {
    Sample sample = RandomSample(random);
    const std::uint64_t kind = random.Below(16);
    plan::EntryPlan& entry = sample.plan.entries[random.Below(sample.plan.entries.size())];
    const bool list = kind >= 7 && kind <= 13;
    if (!(list ? DamageList(entry, random, kind) : DamageNumber(entry, random, kind))) continue;
    ASSERT_FALSE(CheckPlan(sample.graph, sample.plan).empty())
        << "sample " << i << ", kind " << kind;
    ++damaged;
  }
  EXPECT_GT(damaged, 3000);
}

// Ids and numbers of any value: the checker answers each.
TEST(CheckRandom, SurvivesNonsense) {
  Random random(4);
  for (int i = 0; i < 2000; ++i) {
    Sample sample = RandomSample(random);
    plan::EntryPlan& entry = sample.plan.entries[0];
    for (int j = 0; j < 3; ++j) {
      const auto id = static_cast<std::int32_t>(random.Next());
      const auto number = static_cast<std::int64_t>(random.Next());
      plan::TensorPlacement& tensor = entry.tensors[random.Below(entry.tensors.size())];
      plan::Step& step = entry.steps[random.Below(entry.steps.size())];
      switch (random.Below(9)) {
        case 0:
          tensor.subgraph = SubgraphId(id);
          break;
        case 1:
          tensor.tensor = TensorId(id);
          break;
        case 2:
          tensor.offset = number;
          break;
        case 3:
          tensor.bytes = number;
          break;
        case 4:
          tensor.first = id;
          break;
        case 5:
          step.op = OpId(id);
          break;
        case 6:
          step.subgraph = SubgraphId(id);
          break;
        case 7:
          entry.scratch.push_back({id, number, number});
          break;
        default:
          entry.overlaps.push_back({id, SubgraphId(id), TensorId(id), TensorId(id)});
          break;
      }
    }
    EXPECT_FALSE(CheckPlan(sample.graph, sample.plan).empty());
  }
}

}  // namespace
}  // namespace neap::check
