// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/schedule/best_first.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/schedule.h"
#include "neap/solve/schedule/serenity_budget.h"
#include "neap/solve/schedule/serenity_dp.h"
#include "neap/solve/schedule/walk.h"
#include "testing/limits.h"
#include "testing/schedule.h"

namespace neap::schedule {
namespace {

// A strategy with its options.
struct Named {
  Method method;
  Forced forced = Forced::kSingle;
  std::int64_t step_states = 10'000;
  std::string Name() const {
    return std::string(Strategies()[static_cast<std::size_t>(method)].name) + " forced " +
           std::to_string(static_cast<int>(forced)) + " step states " + std::to_string(step_states);
  }
};

// Those that prove their result. Step time-outs so short that budgets are searched for.
const std::vector<Named>& Proving() {
  static const std::vector<Named> proving = {
      {Method::kExact},
      {Method::kSerenityDp},
      {Method::kSerenityDc},
      {Method::kSerenity},
      {Method::kSerenity, Forced::kSingle, 1},
      {Method::kSerenity, Forced::kSingle, 3},
      {Method::kBestFirst, Forced::kNone},
      {Method::kBestFirst},
      {Method::kBestFirst, Forced::kProven},
      {Method::kExhaustive},
  };
  return proving;
}

Outcome RunNamed(const Named& named, const Problem& problem, const Limits& limits) {
  StrategyOptions options;
  options.forced = named.forced;
  options.step_states = named.step_states;
  options.slack_bytes = 3;
  return schedule::Run(named.method, problem, limits, options);
}

void ExpectHonest(const Problem& problem, std::int64_t best, const Outcome& outcome) {
  const auto replay = ReplayOrder(problem, outcome.order);
  ASSERT_TRUE(replay.has_value());
  ASSERT_EQ(replay->peak_bytes, outcome.peak_bytes);
  ASSERT_GE(outcome.peak_bytes, best);
  ASSERT_LE(outcome.lower_bound_bytes, best);
}

void ExpectProven(const Problem& problem) {
  ASSERT_EQ(Validate(problem), std::nullopt);
  const std::int64_t best = BruteForcePeak(problem);
  for (const Named& named : Proving()) {
    SCOPED_TRACE(named.Name() + "\n" + Dump(problem));
    const Outcome outcome = RunNamed(named, problem, Limits{});
    ASSERT_NO_FATAL_FAILURE(ExpectHonest(problem, best, outcome));
    ASSERT_EQ(outcome.peak_bytes, best);
    ASSERT_TRUE(outcome.optimal());
    ASSERT_FALSE(outcome.interrupted);
  }
}

// Up to twelve operators: aliases, scratch, in-place pairs, pinned outputs, several components,
// precedences stated twice, buffers of no bytes. NEAP_PROPERTY_FACTOR=50 makes 200,000 of them.
TEST(Strategies, ThatProveAgreeWithBruteForceOnAnyProblem) {
  Random random(21);
  const Shape any{12, true, true, true};
  for (int i = 0; i < Cases(4'000); ++i) {
    const Problem problem =
        random.Chance(1, 4) ? ChainedProblem(random, any) : RandomProblem(random, any);
    ASSERT_NO_FATAL_FAILURE(ExpectProven(problem));
  }
}

// The test above would be worth little if the problems lacked what it speaks of.
TEST(Strategies, RandomProblemsHaveEverything) {
  Random random(21);
  const Shape any{12, true, true, true};
  int large = 0;
  int aliases = 0;
  int scratch = 0;
  int in_place = 0;
  int pinned = 0;
  int twice = 0;
  int empty = 0;
  int parts = 0;
  for (int i = 0; i < 4'000; ++i) {
    const Problem problem = RandomProblem(random, any);
    large += problem.num_ops == any.max_ops ? 1 : 0;
    scratch += problem.scratch_bytes.empty() ? 0 : 1;
    in_place += problem.in_place.empty() ? 0 : 1;
    const Instance instance(problem, 1, false);
    aliases += instance.one_first_user() ? 0 : 1;
    auto precedences = problem.precedences;
    std::sort(precedences.begin(), precedences.end());
    twice += std::unique(precedences.begin(), precedences.end()) != precedences.end() ? 1 : 0;
    for (const Buffer& buffer : problem.buffers) {
      pinned += buffer.live_at_end ? 1 : 0;
      empty += buffer.bytes == 0 ? 1 : 0;
    }
    // An operator that is related to no other is a component of its own.
    for (OpIndex op = 0; op < problem.num_ops; ++op) {
      const bool is_alone = instance.Predecessors(op).empty() && instance.Successors(op).empty() &&
                            problem.num_ops > 1;
      parts += is_alone ? 1 : 0;
    }
  }
  for (const int count : {large, aliases, scratch, in_place, pinned, twice, empty, parts}) {
    EXPECT_GT(count, 200);
  }
}

TEST(Strategies, ThatProveAgreeWithBruteForceOnPureProblems) {
  Random random(22);
  const Shape pure{10, false, false, false};
  for (int i = 0; i < Cases(4000); ++i) {
    ASSERT_NO_FATAL_FAILURE(ExpectProven(RandomProblem(random, pure)));
  }
}

TEST(Strategies, AreHonestWhenALimitEndsThem) {
  Random random(23);
  std::vector<Named> all = Proving();
  all.push_back({Method::kBestFirst, Forced::kSets});
  all.push_back({Method::kBestFirst, Forced::kRelaxed});
  int ended_early = 0;
  for (int i = 0; i < Cases(1500); ++i) {
    const Problem problem = RandomProblem(random, Shape{});
    const std::int64_t best = BruteForcePeak(problem);
    Limits limits;
    if (random.Chance(1, 3)) {
      limits.max_memory_bytes = random.Between(0, 4000);
    } else {
      limits.max_states = random.Between(1, 12);
    }
    for (const Named& named : all) {
      SCOPED_TRACE(named.Name() + "\n" + Dump(problem));
      const Outcome outcome = RunNamed(named, problem, limits);
      ASSERT_NO_FATAL_FAILURE(ExpectHonest(problem, best, outcome));
      ASSERT_TRUE(limits.max_states == 0 || outcome.states <= limits.max_states);
      if (!outcome.optimal()) ++ended_early;
    }
  }
  EXPECT_GT(ended_early, 0);
}

TEST(Strategies, AreHonestWhenTheyAreStopped) {
  Random random(24);
  std::atomic<bool> stop = true;
  Limits limits;
  limits.stop = &stop;
  const Problem problem = RandomProblem(random, Shape{});
  const std::int64_t best = BruteForcePeak(problem);
  for (const Strategy& strategy : Strategies()) {
    const auto outcome = schedule::Run(strategy.method, problem, limits, StrategyOptions{});
    ASSERT_NO_FATAL_FAILURE(ExpectHonest(problem, best, outcome));
  }
}

TEST(Strategies, RepeatExactly) {
  Random random(25);
  std::vector<Named> all = Proving();
  all.push_back({Method::kBestFirst, Forced::kSets});
  for (int i = 0; i < 50; ++i) {
    const Problem problem = RandomProblem(random, Shape{});
    Limits limits;
    limits.max_states = random.Between(1, 100);
    for (const Named& named : all) {
      const Outcome first = RunNamed(named, problem, limits);
      const Outcome second = RunNamed(named, problem, limits);
      EXPECT_EQ(first.order, second.order) << named.Name();
      EXPECT_EQ(first.states, second.states) << named.Name();
      EXPECT_EQ(first.transitions, second.transitions) << named.Name();
    }
  }
}

// Independent operators: nothing is forced, every subset is a state.
TEST(Strategies, StopAtEachLimitOnWhatTheyCannotFinish) {
  Problem wide;
  wide.num_ops = 40;
  for (OpIndex op = 0; op < wide.num_ops; ++op) {
    wide.buffers.push_back({op + 1, {op}, false, true});
    wide.scratch_bytes.push_back(100 - op);
  }
  for (const Named& named : Proving()) {
    if (named.step_states < 10'000 || named.method == Method::kExact) continue;
    SCOPED_TRACE(named.Name());
    Limits limits;
    limits.max_states = 2000;
    const Outcome by_states = RunNamed(named, wide, limits);
    EXPECT_LE(by_states.states, 2000);
    EXPECT_FALSE(by_states.interrupted);
    EXPECT_TRUE(ReplayOrder(wide, by_states.order).has_value());
    {
      const CountedClock clock;
      EXPECT_TRUE(RunNamed(named, wide, CountedClock::DeadlineAfter(100)).interrupted);
    }
    if (named.method == Method::kExhaustive) continue;  // needs no memory that grows
    limits = Limits{};
    limits.max_memory_bytes = 300'000;
    const Outcome by_memory = RunNamed(named, wide, limits);
    EXPECT_FALSE(by_memory.interrupted);
    EXPECT_FALSE(by_memory.optimal());
    EXPECT_LT(by_memory.states, 300'000 / 16);
  }
}

TEST(Strategies, HandleLongChains) {
  Problem chain;
  chain.num_ops = 20'000;
  for (OpIndex op = 0; op < chain.num_ops; ++op) {
    if (op > 0) chain.precedences.emplace_back(op - 1, op);
    Buffer buffer{op % 7 + 1, {op}, false, op + 1 == chain.num_ops};
    if (op + 1 < chain.num_ops) buffer.users.push_back(op + 1);
    chain.buffers.push_back(buffer);
  }
  for (const Strategy& strategy : Strategies()) {
    // Bit rows of 20,000 operators take 150 MB, which beam has no way around.
    Limits limits;
    limits.max_memory_bytes = std::int64_t{1} << 20;
    const auto outcome = schedule::Run(strategy.method, chain, limits, StrategyOptions{});
    EXPECT_EQ(outcome.peak_bytes, 13) << strategy.name;
  }
  Limits limits;
  limits.max_states = 30'000;
  for (const Named& named :
       {Named{Method::kSerenityDp}, Named{Method::kBestFirst, Forced::kNone}}) {
    const Outcome outcome = RunNamed(named, chain, limits);
    EXPECT_EQ(outcome.peak_bytes, 13) << named.Name();
    EXPECT_TRUE(outcome.optimal()) << named.Name();
  }
}

TEST(Strategies, HandleTheEmptyProblem) {
  for (const Strategy& strategy : Strategies()) {
    const auto outcome = schedule::Run(strategy.method, Problem{}, Limits{}, StrategyOptions{});
    EXPECT_EQ(outcome.peak_bytes, 0) << strategy.name;
    EXPECT_TRUE(outcome.optimal()) << strategy.name;
  }
}

// Why the zero-indegree set can be the key: it differs between any two executed sets.
TEST(SerenityDp, SignatureDeterminesTheExecutedSet) {
  Random random(26);
  for (int i = 0; i < Cases(200); ++i) {
    const Problem problem = RandomProblem(random, Shape{});
    const Instance instance(problem, 1, false);
    std::set<Word> signatures;
    int downsets = 0;
    for (Word set = 0; set < Word{1} << static_cast<unsigned>(problem.num_ops); ++set) {
      Word ready = 0;
      bool is_downset = true;
      for (OpIndex op = 0; op < problem.num_ops; ++op) {
        if (TestBit(&set, op)) {
          is_downset = is_downset && instance.IsReady(&set, op);
        } else if (instance.IsReady(&set, op)) {
          SetBit(&ready, op);
        }
      }
      if (!is_downset) continue;
      ++downsets;
      signatures.insert(ready);
    }
    EXPECT_EQ(static_cast<int>(signatures.size()), downsets) << Dump(problem);
  }
}

TEST(SerenityDp, ABudgetPrunesWithoutLosingTheOptimum) {
  Random random(27);
  for (int i = 0; i < Cases(1000); ++i) {
    const Problem problem = RandomProblem(random, Shape{});
    const std::int64_t best = BruteForcePeak(problem);
    const Instance instance(problem, 1, false);
    const Limits limits;
    Stopper stopper(limits);
    constexpr std::int64_t kRoom = 1 << 20;
    const DpResult all = RunSerenityDp(instance, DpBudget{}, kRoom, &stopper);
    const DpResult within = RunSerenityDp(instance, {best, 0}, kRoom, &stopper);
    const DpResult below = RunSerenityDp(instance, {best - 1, 0}, kRoom, &stopper);
    ASSERT_EQ(all.peak, best) << Dump(problem);
    ASSERT_EQ(within.end, DpEnd::kSolution) << Dump(problem);
    ASSERT_EQ(within.peak, best) << Dump(problem);
    ASSERT_LE(within.transitions, all.transitions) << Dump(problem);
    ASSERT_EQ(below.end, DpEnd::kNoSolution) << Dump(problem);
    if (problem.num_ops > 2) {
      const DpResult hurried = RunSerenityDp(instance, {best, 1}, kRoom, &stopper);
      ASSERT_TRUE(hurried.end == DpEnd::kTimeout || hurried.peak == best) << Dump(problem);
    }
  }
}

// The answer of a run with a budget: no solution below the optimum, a time-out from `slow` on.
DpEnd Oracle(double budget, double optimum, double slow) {
  if (budget < optimum) return DpEnd::kNoSolution;
  return budget >= slow ? DpEnd::kTimeout : DpEnd::kSolution;
}

TEST(BudgetSearch, TheUpdateAsPrintedNeedNotEnd) {
  // Algorithm 2, lines 4 to 19, to the letter: both assignments of a branch are simultaneous.
  double tau_old = 100;
  double tau_new = 100;
  DpEnd flag = DpEnd::kNoSolution;
  std::vector<double> tried;
  while (flag != DpEnd::kSolution && tried.size() < 1000) {
    const double last = tau_new;
    if (flag == DpEnd::kTimeout) tau_new = last / 2;
    if (flag == DpEnd::kNoSolution) tau_new = (last + tau_old) / 2;
    tau_old = last;
    tried.push_back(tau_new);
    flag = Oracle(tau_new, 80, 90);
  }
  EXPECT_EQ(flag, DpEnd::kNoSolution);
  ASSERT_EQ(tried.size(), 1000U);
  tried.resize(5);
  EXPECT_EQ(tried, (std::vector<double>{100, 50, 75, 62.5, 68.75}));
}

TEST(BudgetSearch, TheBracketEnds) {
  BudgetSearch search(100, 10, 1000);
  std::vector<std::int64_t> tried;
  while (tried.size() < 1000) {
    tried.push_back(search.budget());
    const DpEnd flag = Oracle(static_cast<double>(search.budget()), 80, 90);
    if (flag == DpEnd::kSolution) break;
    if (flag == DpEnd::kNoSolution) search.NoSolution();
    if (flag == DpEnd::kTimeout) search.Timeout();
  }
  EXPECT_EQ(tried, (std::vector<std::int64_t>{100, 50, 75, 87}));
  EXPECT_EQ(search.step_states(), 1000);
}

// A budget tau takes tau^2 states: small time-outs have to grow until one budget is settled.
TEST(BudgetSearch, TheTimeOutGrowsWhenNoBudgetFitsIt) {
  Random random(28);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t optimum = random.Between(0, 300);
    const std::int64_t least = random.Between(0, optimum);
    BudgetSearch search(random.Between(optimum, 400), least, random.Between(1, 50'000));
    int rounds = 0;
    while (true) {
      ASSERT_LT(++rounds, 500);
      ASSERT_LT(search.infeasible(), optimum);
      ASSERT_GT(search.budget(), search.infeasible());
      if (search.budget() * search.budget() > search.step_states()) {
        search.Timeout();
      } else if (search.budget() < optimum) {
        search.NoSolution();
      } else {
        break;
      }
    }
  }
}

// After 0..3 there are 7 live bytes, and 14 is the peak so far. {5, 4} in this order takes 9, then
// leaves 6: "strictly good" as the document has it.
Problem RefutedSet() {
  Problem problem;
  problem.num_ops = 7;
  problem.precedences = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {3, 5}, {3, 6}};
  problem.buffers = {{1, {0}, false, true}, {3, {1, 4}, false, false}, {3, {3, 4}, false, false},
                     {3, {4}, false, true}, {2, {5}, false, true},     {1, {6}, false, true}};
  problem.scratch_bytes = {0, 0, 10, 0, 0, 0, 8};
  return problem;
}

TEST(ForcedSets, AGoodSetIsNotSafe) {
  const Problem problem = RefutedSet();
  EXPECT_EQ(BruteForcePeak(problem), 14);
  const auto committed = ReplayOrder(problem, std::vector<OpIndex>{0, 1, 2, 3, 5, 4, 6});
  const auto better = ReplayOrder(problem, std::vector<OpIndex>{0, 1, 2, 3, 4, 6, 5});
  EXPECT_EQ(committed->live_bytes, (std::vector<std::int64_t>{1, 4, 14, 7, 9, 12, 15}));
  EXPECT_EQ(better->live_bytes, (std::vector<std::int64_t>{1, 4, 14, 7, 10, 13, 7}));
  // Here a single operator of the set is forced, which the document looks at first: no harm done.
  EXPECT_EQ(RunNamed({Method::kBestFirst, Forced::kSets}, problem, Limits{}).peak_bytes, 14);
  EXPECT_EQ(RunNamed({Method::kBestFirst, Forced::kProven}, problem, Limits{}).peak_bytes, 14);
}

// The same flaw where no single operator is forced. Outputs O (1 byte, read by 3, 4, 5) and P (10
// bytes, read by 3, 4) are pending with 30 the peak so far. All readers of O together go from 11 to
// 7 live bytes; but 3 and 4 alone leave 3, and only then 6 fits.
TEST(ForcedSets, LoseTheOptimumAsWrittenAndKeepItRepaired) {
  Problem problem;
  problem.num_ops = 7;
  problem.precedences = {{0, 1}, {1, 2}, {2, 3}, {2, 4}, {2, 5}, {2, 6}};
  problem.buffers = {{1, {0, 3, 4, 5}, false, false}, {10, {1, 3, 4}, false, false},
                     {1, {3}, false, true},           {1, {4}, false, true},
                     {5, {5}, false, true},           {1, {6}, false, true}};
  problem.scratch_bytes = {0, 0, 19, 0, 0, 0, 24};
  ASSERT_EQ(BruteForcePeak(problem), 30);
  const Outcome written = RunNamed({Method::kBestFirst, Forced::kSets}, problem, Limits{});
  EXPECT_EQ(written.peak_bytes, 32);
  EXPECT_LE(written.lower_bound_bytes, 30);
  const Outcome repaired = RunNamed({Method::kBestFirst, Forced::kProven}, problem, Limits{});
  EXPECT_EQ(repaired.peak_bytes, 30);
  EXPECT_TRUE(repaired.optimal());
  // The repair takes a set here, and not just everything one by one.
  EXPECT_LT(repaired.states, RunNamed({Method::kBestFirst}, problem, Limits{}).states);
}

Problem AnyProblem(Random& random) { return RandomProblem(random, Shape{}); }

// Several outputs pending at a high peak so far, each read by some of the operators left, whose own
// outputs are kept: where sets of operators are forced.
Problem SharedReaders(Random& random) {
  Problem problem;
  const auto writers = static_cast<OpIndex>(random.Between(2, 4));
  const auto readers = static_cast<OpIndex>(random.Between(3, 5));
  problem.num_ops = writers + readers + 1;
  for (OpIndex op = 0; op < problem.num_ops; ++op) {
    if (op > 0) problem.precedences.emplace_back(op < writers ? op - 1 : writers - 1, op);
    problem.scratch_bytes.push_back(op < writers ? 0 : random.Between(0, 3));
  }
  problem.scratch_bytes[static_cast<std::size_t>(writers) - 1] = random.Between(10, 25);
  problem.scratch_bytes.back() = random.Between(10, 25);
  for (OpIndex writer = 0; writer < writers; ++writer) {
    Buffer buffer{random.Between(1, 12), {writer}, false, false};
    for (OpIndex reader = writers; reader < writers + readers; ++reader) {
      if (random.Chance(1, 2)) buffer.users.push_back(reader);
    }
    problem.buffers.push_back(buffer);
  }
  for (OpIndex op = writers; op < problem.num_ops; ++op) {
    problem.buffers.push_back({random.Between(1, 6), {op}, false, true});
  }
  return problem;
}

// How often a rule misses the optimum.
int Losses(const BestFirstOptions& rule, Problem (*make)(Random&)) {
  Random random(21);
  int losses = 0;
  for (int i = 0; i < Cases(5000); ++i) {
    const Problem problem = make(random);
    const std::int64_t best = BruteForcePeak(problem);
    const std::vector<OpIndex> file = schedule::Run(Method::kFile, problem, Limits{}, {}).order;
    const Outcome outcome = BestFirst(problem, Limits{}, file, rule);
    EXPECT_LE(outcome.lower_bound_bytes, best) << Dump(problem);
    EXPECT_GE(outcome.peak_bytes, best) << Dump(problem);
    if (outcome.peak_bytes > best) ++losses;
  }
  return losses;
}

// The agreement test would notice a weaker condition: each half of it is needed.
TEST(ForcedOperator, BothConditionsAreNeeded) {
  EXPECT_EQ(Losses({Forced::kRelaxed, 0, 0, 64}, AnyProblem), 0);
  EXPECT_GT(Losses({Forced::kRelaxed, 4, 0, 64}, AnyProblem), 0);
  EXPECT_GT(Losses({Forced::kRelaxed, 0, 4, 64}, AnyProblem), 0);
}

// And a set that is taken as written instead of its largest cheapest part.
TEST(ForcedSets, TheRepairIsNeeded) {
  EXPECT_EQ(Losses({Forced::kProven, 0, 0, 64}, SharedReaders), 0);
  EXPECT_GT(Losses({Forced::kSets, 0, 0, 64}, SharedReaders), 0);
}

TEST(ForcedOperator, SavesStates) {
  Random random(29);
  std::int64_t none = 0;
  std::int64_t single = 0;
  for (int i = 0; i < 300; ++i) {
    const Problem problem = RandomProblem(random, Shape{});
    none += RunNamed({Method::kBestFirst, Forced::kNone}, problem, Limits{}).states;
    single += RunNamed({Method::kBestFirst}, problem, Limits{}).states;
  }
  EXPECT_LT(single, none);
}

TEST(BestFirst, CollidingFingerprintsChangeNothing) {
  Random random(30);
  for (int i = 0; i < Cases(500); ++i) {
    const Problem problem = RandomProblem(random, Shape{});
    const std::vector<OpIndex> file = schedule::Run(Method::kFile, problem, Limits{}, {}).order;
    for (const Forced forced : {Forced::kNone, Forced::kProven}) {
      const Outcome wide = BestFirst(problem, Limits{}, file, {forced, 0, 0, 64});
      for (const int bits : {0, 2}) {
        const Outcome narrow = BestFirst(problem, Limits{}, file, {forced, 0, 0, bits});
        ASSERT_EQ(narrow.order, wide.order) << Dump(problem);
        ASSERT_EQ(narrow.states, wide.states) << Dump(problem);
      }
    }
  }
}

TEST(Walk, AgreesWithTheCompiledInstance) {
  Random random(31);
  for (int i = 0; i < Cases(500); ++i) {
    const Problem problem = RandomProblem(random, Shape{});
    const Instance instance(problem, 1, false);
    Walk walk(problem);
    ASSERT_EQ(walk.live(), instance.start_live());
    Word executed = 0;
    std::vector<OpIndex> ready = walk.sources();
    while (!ready.empty()) {
      const auto pick = static_cast<std::size_t>(random.Below(ready.size()));
      const OpIndex op = ready[pick];
      const Effect expected = instance.EffectOf(&executed, walk.live(), op);
      const Effect effect = walk.EffectOf(op);
      ASSERT_EQ(effect.hill, expected.hill) << Dump(problem);
      ASSERT_EQ(effect.live, expected.live) << Dump(problem);
      if (random.Chance(1, 3)) {
        std::vector<OpIndex> follows;
        const std::int64_t live = walk.live();
        walk.Run(op, &follows);
        walk.Undo(op, live);
      }
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
      walk.Run(op, &ready);
      SetBit(&executed, op);
    }
    ASSERT_EQ(CountBits(&executed, 1), problem.num_ops);
  }
}

}  // namespace
}  // namespace neap::schedule
