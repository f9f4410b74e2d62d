// SPDX-License-Identifier: Apache-2.0
//
// Plans that the checker accepts can be run, and compute the outputs of an unplanned run: small
// networks of every operator that the executor has a kernel for, in every kind of plan.
// NEAP_PROPERTY_FACTOR scales the number of cases; NEAP_PROPERTY_CASE runs one case alone, by the
// number that a failure reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/execute/run.h"
#include "testing/cases.h"
#include "testing/kernel_types.h"
#include "testing/random_network.h"
#include "testing/random_plans.h"
#include "testing/streams.h"

namespace neap::property {
namespace {

using graph::Graph;
using graph::SubgraphId;

constexpr std::int64_t kMemory = 1 << 24;

TEST(Property, EveryKernelHasACase) {
  std::set<std::pair<std::string, std::string>> cases;
  for (const OperatorCase& one : AllCases()) {
    EXPECT_TRUE(cases.insert({one.domain, one.type}).second) << one.type << " has two cases";
  }
  for (const execute::KernelName& kernel : execute::AllKernels()) {
    EXPECT_TRUE(cases.erase({kernel.domain, kernel.type}) > 0)
        << "the executor has a kernel for '" << kernel.type << "' (" << kernel.domain
        << "): add it to tests/property/*_cases_testing.cc";
  }
  for (const auto& [domain, type] : cases) ADD_FAILURE() << type << " has no kernel";
}

// A case that has no kernel for one of its types would leave that out of all other tests.
TEST(Property, EveryCaseRuns) {
  Random random(5);
  for (const OperatorCase& one : AllCases()) {
    for (const ElementType type : one.types) {
      for (int round = 0; round < 10; ++round) {
        Network network(&random);
        one.add(network, one, type);
        const Graph graph = network.Finish();
        ASSERT_TRUE(graph::Verify(graph))
            << one.type << ": " << graph::Verify(graph).error().ToString();
        const auto inputs = execute::RandomInputs(graph.subgraphs[SubgraphId(0)], 1, kMemory);
        ASSERT_TRUE(inputs) << one.type;
        const auto run = execute::Evaluate(graph, SubgraphId(0), *inputs, {});
        EXPECT_TRUE(run) << one.type << " of " << graph::NameOf(type) << ": "
                         << run.error().ToString();
        if (!run) break;
      }
    }
  }
}

void AddRandom(Network& network, const std::vector<OperatorCase>& cases, Random* random) {
  const OperatorCase& one = cases[random->Below(cases.size())];
  one.add(network, one, one.types[random->Below(one.types.size())]);
}

// A network in which operator `focus` of all cases occurs.
Graph MakeNetwork(std::size_t focus, Random* random) {
  const OperatorCase& one = AllCases()[focus];
  const std::vector<OperatorCase>& others = one.domain.empty() ? OnnxCases() : TfliteCases();
  Network network(random);
  for (std::uint64_t before = random->Below(4); before > 0; --before) {
    AddRandom(network, others, random);
  }
  one.add(network, one, one.types[random->Below(one.types.size())]);
  for (std::uint64_t after = random->Below(4); after > 0; --after) {
    AddRandom(network, others, random);
  }
  Graph graph = network.Finish();
  // Several signatures, each with a plan of its own.
  if (random->Chance(1, 12)) {
    Network second(random);
    AddRandom(second, others, random);
    AddRandom(second, others, random);
    graph.subgraphs.push_back(second.Finish().subgraphs[SubgraphId(0)]);
    graph.signatures = {{"one", SubgraphId(0)}, {"two", SubgraphId(1)}};
  }
  return graph;
}

struct Tally {
  int planned[kPlanKinds] = {};
  int displaced = 0;
  int accepted = 0;  // of those
  int overlaps = 0;
  std::map<std::size_t, int> planned_with;  // by the case in focus
};

PlanKind RandomKind(Random* random) {
  constexpr PlanKind kKinds[] = {PlanKind::kAddresses, PlanKind::kAddresses, PlanKind::kAddresses,
                                 PlanKind::kAddresses, PlanKind::kAddresses, PlanKind::kMemories,
                                 PlanKind::kMoves,     PlanKind::kTiles,     PlanKind::kRewrites,
                                 PlanKind::kBodies,    PlanKind::kStreams};
  return kKinds[random->Below(std::size(kKinds))];
}

// A plan of the same order that is accepted has no less than the bounds of the other one.
std::string RefutedBound(const plan::Plan& claims, const plan::Plan& less) {
  for (std::size_t i = 0; i < claims.entries.size(); ++i) {
    const plan::EntryPlan& entry = claims.entries[i];
    const std::int64_t bound =
        std::max(entry.arena_lower_bound_bytes, entry.arena_given_order_lower_bound_bytes);
    if (less.entries[i].arena_bytes >= bound) continue;
    return "needs " + std::to_string(less.entries[i].arena_bytes) + " B, less than a bound of " +
           std::to_string(bound) + " B";
  }
  return "";
}

// "" or the error.
std::string RunCase(std::size_t index, bool describes, Tally* tally) {
  Random random(0x9e3779b9U * (index + 1));
  const std::size_t focus = index % AllCases().size();
  const PlanKind kind = RandomKind(&random);
  // Few networks of all operators can be streamed.
  const bool images = kind == PlanKind::kStreams && random.Chance(3, 4);
  const Graph graph =
      images ? stream::test::RandomNetwork(&random, static_cast<int>(random.Between(1, 5)))
             : MakeNetwork(focus, &random);
  auto planned = MakePlan(graph, kind, &random);
  if (!planned) planned = MakePlan(graph, PlanKind::kAddresses, &random);
  if (!planned) return "has no plan";
  ++tally->planned[static_cast<std::size_t>(kind)];
  if (!images) ++tally->planned_with[focus];
  for (const auto& entry : planned->plan.entries) {
    tally->overlaps += static_cast<int>(entry.overlaps.size());
  }
  const auto with = [&](const std::string& wrong, const Planned& what) {
    return std::string(NameOf(kind)) + ": " + wrong +
           (describes ? "\n" + Describe(graph, what) : "");
  };
  const std::vector<std::string> findings = Check(*planned);
  if (!findings.empty())
    return with("the planner's plan is refused: " + findings.front(), *planned);
  if (planned->keeps_inputs && WritesOverInputs(*planned)) {
    return with("an input that was to be kept is written over", *planned);
  }
  const std::uint64_t seed = random.Next() >> 40U;
  std::string wrong = Judge(graph, *planned, seed);
  if (!wrong.empty()) return with(wrong, *planned);
  for (int round = 0; round < 3; ++round) {
    Planned displaced = *planned;
    if (!Displace(&displaced.plan, displaced.graph, &random)) continue;
    ++tally->displaced;
    if (!Check(displaced).empty()) continue;
    ++tally->accepted;
    wrong = Judge(graph, displaced, seed);
    // Where inputs are kept, bounds are of placements that keep them.
    const bool same_rules =
        displaced.plan.kernels == planned->plan.kernels && !planned->keeps_inputs;
    if (wrong.empty() && same_rules) {
      wrong = RefutedBound(planned->plan, displaced.plan);
    }
    if (!wrong.empty()) return with("a displaced plan is accepted, but " + wrong, displaced);
  }
  return "";
}

std::string RunCaseSafely(std::size_t index, bool describes, Tally* tally) {
  try {
    return RunCase(index, describes, tally);
  } catch (const std::exception& error) {
    return std::string("an internal error: ") + error.what();
  }
}

// Inputs that are outputs have addresses of their own, though no operator runs.
TEST(Property, PlansWithoutOperatorsRunToo) {
  Random random(8);
  int accepted = 0;
  int displaced = 0;
  const int cases = Cases(300);
  for (int n = 0; n < cases; ++n) {
    SCOPED_TRACE("case " + std::to_string(n));
    Network network(&random);
    for (std::int64_t inputs = random.Between(1, 4); inputs > 0; --inputs) {
      network.TakeRank(ElementType::kFloat32, static_cast<std::size_t>(random.Between(1, 4)));
    }
    const Graph graph = network.Finish();
    ASSERT_TRUE(graph.subgraphs[SubgraphId(0)].ops.empty());
    auto planned = MakePlan(graph, PlanKind::kAddresses, &random);
    ASSERT_TRUE(planned);
    ASSERT_THAT(Check(*planned), testing::IsEmpty());
    ASSERT_EQ(Judge(graph, *planned, static_cast<std::uint64_t>(n)), "");
    if (!Displace(&planned->plan, planned->graph, &random)) continue;
    ++displaced;
    if (!Check(*planned).empty()) continue;
    ++accepted;
    ASSERT_EQ(Judge(graph, *planned, static_cast<std::uint64_t>(n)), "");
  }
  EXPECT_GT(displaced, cases / 10);
  EXPECT_LT(accepted, displaced);
}

TEST(Property, AcceptedPlansRunAndGiveTheSameBytes) {
  Tally tally;
  if (const char* one = std::getenv("NEAP_PROPERTY_CASE")) {
    const auto index = static_cast<std::size_t>(std::strtoull(one, nullptr, 10));
    const std::string wrong = RunCaseSafely(index, true, &tally);
    EXPECT_TRUE(wrong.empty()) << wrong;
    return;
  }
  const auto cases = static_cast<std::size_t>(Cases(2000));
  int failures = 0;
  for (std::size_t index = 0; index < cases && failures < 20; ++index) {
    const std::string wrong = RunCaseSafely(index, false, &tally);
    if (wrong.empty()) continue;
    ++failures;
    ADD_FAILURE() << "case " << index << " (" << AllCases()[index % AllCases().size()].type
                  << "): " << wrong;
  }
  for (int kind = 0; kind < kPlanKinds; ++kind) {
    RecordProperty(NameOf(static_cast<PlanKind>(kind)), tally.planned[kind]);
  }
  RecordProperty("cases", static_cast<int>(cases));
  RecordProperty("displaced", tally.displaced);
  RecordProperty("accepted", tally.accepted);
  RecordProperty("overlaps", tally.overlaps);
}

}  // namespace
}  // namespace neap::property
