// SPDX-License-Identifier: Apache-2.0
//
// Each pruning rule by itself, against brute force over completions: a state that the rule replaces
// can be completed within the budget exactly when its replacement can. And each rule with its
// condition weakened, where the same check has to find a counterexample: a check that cannot fail
// would prove nothing. Statements and proofs: docs/algorithms/order.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/schedule/cut.h"
#include "neap/solve/schedule/expander.h"
#include "neap/solve/schedule/fusion.h"
#include "neap/solve/schedule/inference.h"
#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/known_cuts.h"
#include "neap/solve/schedule/relations.h"
#include "neap/solve/schedule/stopper.h"
#include "testing/schedule.h"

namespace neap::schedule {
namespace {

// For every executed set of a small problem: the minimum peak of the remaining operators, by
// dynamic programming from the end. Sets that are not downsets stay at kNever.
class Completions {
 public:
  static constexpr std::int64_t kNever = std::int64_t{1} << 60;

  explicit Completions(const Instance& instance) : instance_(instance) {
    const auto ops = static_cast<unsigned>(instance.num_ops());
    const std::size_t sets = std::size_t{1} << ops;
    min_peak_.assign(sets, kNever);
    live_.assign(sets, -1);
    live_[0] = instance.start_live();
    for (Word set = 0; set < sets; ++set) {
      if (live_[set] < 0) continue;
      downsets_.push_back(set);
      for (OpIndex op = 0; op < instance.num_ops(); ++op) {
        if (!TestBit(&set, op) && instance.IsReady(&set, op)) {
          live_[set | (Word{1} << static_cast<unsigned>(op))] =
              instance.EffectOf(&set, live_[set], op).live;
        }
      }
    }
    min_peak_[sets - 1] = 0;
    for (auto at = downsets_.rbegin(); at != downsets_.rend(); ++at) {
      const Word set = *at;
      for (OpIndex op = 0; op < instance.num_ops(); ++op) {
        if (TestBit(&set, op) || !instance.IsReady(&set, op)) continue;
        const std::int64_t hill = instance.EffectOf(&set, live_[set], op).hill;
        const std::int64_t after = min_peak_[set | (Word{1} << static_cast<unsigned>(op))];
        min_peak_[set] = std::min(min_peak_[set], std::max(hill, after));
      }
    }
  }

  bool Completable(Word set, std::int64_t budget) const { return min_peak_[set] <= budget; }
  std::int64_t live(Word set) const { return live_[set]; }
  std::int64_t optimum() const { return min_peak_[0]; }

  // A downset that a random walk within the budget reaches from `set`.
  Word Walk(Word set, std::int64_t budget, Random& random) const {
    for (std::uint64_t steps = random.Below(6); steps > 0; --steps) {
      std::vector<OpIndex> fits;
      for (OpIndex op = 0; op < instance_.num_ops(); ++op) {
        if (TestBit(&set, op) || !instance_.IsReady(&set, op)) continue;
        if (instance_.EffectOf(&set, live_[set], op).hill <= budget) fits.push_back(op);
      }
      if (fits.empty()) break;
      SetBit(&set, fits[static_cast<std::size_t>(random.Below(fits.size()))]);
    }
    return set;
  }

 private:
  const Instance& instance_;
  std::vector<Word> downsets_;
  std::vector<std::int64_t> min_peak_;
  std::vector<std::int64_t> live_;
};

// Runs `judge` on random problems, both directions, budgets around the optimum and reachable
// states. `judge(instance, completions, state, budget)` returns whether the rule was wrong there.
// Returns how often it was.
template <typename Judge>
int CountWrong(std::uint64_t seed, int cases, const Shape& shape, Judge&& judge) {
  Random random(seed);
  int wrong = 0;
  for (int i = 0; i < ManyCases(cases); ++i) {
    const Problem problem = RandomProblem(random, shape);
    const Instance instance(problem, 1, random.Chance(1, 2));
    const Completions completions(instance);
    const std::int64_t budget =
        std::max<std::int64_t>(completions.optimum() + random.Between(-4, 3), 0);
    for (int walk = 0; walk < 4; ++walk) {
      const Word state = completions.Walk(0, budget, random);
      if (judge(instance, completions, state, budget, random)) ++wrong;
    }
  }
  return wrong;
}

bool ForcedIsWrong(const Instance& instance, const Completions& completions, Word state,
                   std::int64_t budget, std::int64_t slack) {
  for (OpIndex op = 0; op < instance.num_ops(); ++op) {
    if (TestBit(&state, op) || !instance.IsReady(&state, op)) continue;
    const Effect effect = instance.EffectOf(&state, completions.live(state), op);
    if (effect.hill > budget || effect.live > completions.live(state) + slack) continue;
    const Word after = state | (Word{1} << static_cast<unsigned>(op));
    if (completions.Completable(state, budget) && !completions.Completable(after, budget)) {
      return true;
    }
  }
  return false;
}

TEST(Rules, ForcedOperatorLosesNothing) {
  const auto judge = [](const Instance& instance, const Completions& completions, Word state,
                        std::int64_t budget,
                        Random&) { return ForcedIsWrong(instance, completions, state, budget, 0); };
  EXPECT_EQ(CountWrong(21, 6000, Shape{}, judge), 0);
}

TEST(Rules, ForcedOperatorMustNotRaiseLiveBytes) {
  const auto judge = [](const Instance& instance, const Completions& completions, Word state,
                        std::int64_t budget,
                        Random&) { return ForcedIsWrong(instance, completions, state, budget, 1); };
  EXPECT_GT(CountWrong(21, 6000, Shape{}, judge), 0);
}

TEST(Rules, WaypointIsAsGoodAsTheStateBefore) {
  const auto judge = [](const Instance& instance, const Completions& completions, Word state,
                        std::int64_t budget, Random& random) {
    const Word end = completions.Walk(state, budget, random);
    Word waypoint = 0;
    const std::int64_t live =
        CutFinder(instance).LargestMinimiser(&state, completions.live(state), &end, &waypoint);
    EXPECT_EQ(live, completions.live(waypoint));
    EXPECT_LE(live, completions.live(state));
    EXPECT_LE(live, completions.live(end));
    return completions.Completable(state, budget) != completions.Completable(waypoint, budget);
  };
  EXPECT_EQ(CountWrong(22, 4000, Shape{}, judge), 0);
}

// "Any sequence that stays within the budget and ends with no more live bytes is safe": the forced
// transition set of the constrained-memory document as it is written. Refuted.
TEST(Rules, CommittingToTheEndOfASequenceIsWrong) {
  const auto judge = [](const Instance&, const Completions& completions, Word state,
                        std::int64_t budget, Random& random) {
    const Word end = completions.Walk(state, budget, random);
    return completions.live(end) <= completions.live(state) &&
           completions.Completable(state, budget) && !completions.Completable(end, budget);
  };
  EXPECT_GT(CountWrong(22, 8000, Shape{}, judge), 0);
}

State StateOf(const Expander& expander, const Completions& completions, Word set) {
  State state{{set}, {0}, completions.live(set)};
  expander.FindReady(&state);
  return state;
}

// A closed state with a completion has one that begins with one of the moves.
bool MovesAreWrong(const Instance& instance, const Completions& completions, Word set,
                   std::int64_t budget, std::size_t kept_of_two,
                   const Clusters::Rules& rules = {}) {
  Expander expander(instance, true, rules);
  State state = StateOf(expander, completions, set);
  std::vector<OpIndex> path;
  expander.Close(&state, budget, &path);
  const Word all = (Word{1} << static_cast<unsigned>(instance.num_ops())) - 1;
  if (state.executed[0] == all || !completions.Completable(state.executed[0], budget)) return false;
  Moves moves;
  expander.FindMoves(state, budget, &moves);
  moves.list.resize((moves.list.size() * kept_of_two + 1) / 2);
  return std::none_of(moves.list.begin(), moves.list.end(), [&](const Move& move) {
    State after = state;
    expander.Apply(moves, move, &after, &path);
    return completions.Completable(after.executed[0], budget);
  });
}

// Without buffers that several operators may touch first: next-freed-buffer moves.
const Shape kOneFirstUser{10, false, true, true};

TEST(Rules, NextFreedMovesAreEnough) {
  int next_freed = 0;
  const auto judge = [&](const Instance& instance, const Completions& completions, Word state,
                         std::int64_t budget, Random&) {
    if (Expander(instance).next_freed()) ++next_freed;
    return MovesAreWrong(instance, completions, state, budget, 2);
  };
  EXPECT_EQ(CountWrong(23, 10'000, kOneFirstUser, judge), 0);
  EXPECT_GT(next_freed, 10'000);
}

int CountWrongMoves(std::uint64_t seed, const Clusters::Rules& rules) {
  const auto judge = [&](const Instance& instance, const Completions& completions, Word state,
                         std::int64_t budget, Random&) {
    return MovesAreWrong(instance, completions, state, budget, 2, rules);
  };
  return CountWrong(seed, 12'000, kOneFirstUser, judge);
}

TEST(Rules, NextFreedMovesNeedEarlySets) { EXPECT_GT(CountWrongMoves(23, {false, true}), 0); }
TEST(Rules, NextFreedMovesNeedTallOperators) { EXPECT_GT(CountWrongMoves(23, {true, false}), 0); }

// The same on fused problems, whose operators have several stages, in both directions.
int CountWrongFusedMoves(const Clusters::Rules& rules, int* with_early_sets) {
  Random random(31);
  int wrong = 0;
  for (int i = 0; i < Cases(10'000); ++i) {
    const Problem problem = ChainedProblem(random, kOneFirstUser);
    const Instance plain(problem, 1, false);
    const Fusion fusion = Fuse(problem, plain, 1);
    const Instance instance(fusion.problem, fusion.stages, 1, random.Chance(1, 4));
    if (!Expander(instance).next_freed()) continue;
    for (const auto& stages : fusion.stages) *with_early_sets += stages.size() > 1 ? 1 : 0;
    const Completions completions(instance);
    const std::int64_t budget =
        std::max<std::int64_t>(completions.optimum() + random.Between(-2, 3), 0);
    const Word state = completions.Walk(0, budget, random);
    if (MovesAreWrong(instance, completions, state, budget, 2, rules)) ++wrong;
  }
  return wrong;
}

TEST(Rules, NextFreedMovesAreEnoughOnFusedProblems) {
  int with_early_sets = 0;
  EXPECT_EQ(CountWrongFusedMoves({}, &with_early_sets), 0);
  EXPECT_GT(with_early_sets, Cases(1000));
}

TEST(Rules, NextFreedMovesNeedEarlySetsOnFusedProblems) {
  int with_early_sets = 0;
  EXPECT_GT(CountWrongFusedMoves({false, true}, &with_early_sets), 0);
}

TEST(Rules, HalfOfTheNextFreedMovesAreNotEnough) {
  const auto judge = [&](const Instance& instance, const Completions& completions, Word state,
                         std::int64_t budget, Random&) {
    return MovesAreWrong(instance, completions, state, budget, 1);
  };
  EXPECT_GT(CountWrong(23, 5000, kOneFirstUser, judge), 0);
}

// The hill of a move and the live bytes after it are those of its operators.
TEST(Rules, MovesReturnTheirEffect) {
  const auto judge = [](const Instance& instance, const Completions& completions, Word set,
                        std::int64_t budget, Random&) {
    Expander expander(instance);
    const State state = StateOf(expander, completions, set);
    Moves moves;
    expander.FindMoves(state, budget, &moves);
    for (const Move& move : moves.list) {
      std::vector<OpIndex> path;
      State after = state;
      expander.Apply(moves, move, &after, &path);
      Word at = set;
      std::int64_t peak = 0;
      for (const OpIndex op : path) {
        EXPECT_TRUE(instance.IsReady(&at, op));
        peak = std::max(peak, instance.EffectOf(&at, completions.live(at), op).hill);
        SetBit(&at, op);
      }
      EXPECT_EQ(at, after.executed[0]);
      const Word ready = after.ready[0];
      expander.FindReady(&after);
      EXPECT_EQ(ready, after.ready[0]);
      if (peak > move.hill || completions.live(at) != move.live) return true;
    }
    return false;
  };
  EXPECT_EQ(CountWrong(24, 3000, Shape{}, judge), 0);
  EXPECT_EQ(CountWrong(25, 3000, kOneFirstUser, judge), 0);
}

// The bound of the operators together is often the optimum, so one unit more would be wrong.
TEST(Rules, MinCutBoundCannotBeRaised) {
  int above = 0;
  const auto judge = [&](const Instance& instance, const Completions& completions, Word,
                         std::int64_t, Random&) {
    CutFinder cuts(instance);
    bool wrong = false;
    for (OpIndex op = 0; op < instance.num_ops(); ++op) {
      const std::int64_t hill = cuts.LeastHill(op, MaxFlow::kInfinite);
      wrong = wrong || hill > completions.optimum();
      if (hill + 1 > completions.optimum()) ++above;
    }
    return wrong;
  };
  EXPECT_EQ(CountWrong(26, 1500, Shape{}, judge), 0);
  EXPECT_GT(above, 0);
}

// What an earlier cut excludes has a least hill within the bound, and a cut excludes its own
// operator.
TEST(Rules, KnownCutsExcludeNothingThatWouldRaiseTheBound) {
  int excluded = 0;
  const auto judge = [&](const Instance& instance, const Completions&, Word, std::int64_t,
                         Random& random) {
    CutFinder cuts(instance);
    KnownCuts known(instance);
    bool wrong = false;
    for (OpIndex op = 0; op < instance.num_ops(); ++op) {
      const std::int64_t hill = cuts.LeastHill(op, MaxFlow::kInfinite);
      std::vector<Word> executed(instance.words());
      cuts.ExecutedAtCut(executed.data());
      wrong = wrong || known.Exclude(op, hill - 1);
      if (known.Exclude(op, hill + random.Between(0, 2))) ++excluded;
      known.Add(executed);
      if (cuts.NumStages(op) == 1 && instance.IsStaged(op))
        wrong = wrong || !known.Exclude(op, hill);
    }
    return wrong;
  };
  EXPECT_EQ(CountWrong(40, 3000, Shape{}, judge), 0);
  EXPECT_EQ(CountWrong(41, 3000, kOneFirstUser, judge), 0);
  EXPECT_GT(excluded, Cases(3000));
}

// Least hill of an operator over all downsets that it can run at, with or without another one.
std::int64_t LeastHillByForce(const Instance& instance, OpIndex op, OpIndex forced, bool executed) {
  std::int64_t least = MaxFlow::kInfinite;
  const Completions completions(instance);
  for (Word set = 0; set < Word{1} << static_cast<unsigned>(instance.num_ops()); ++set) {
    if (completions.live(set) < 0 || TestBit(&set, op) || !instance.IsReady(&set, op)) continue;
    if (forced >= 0 && TestBit(&set, forced) != executed) continue;
    least = std::min(least, instance.EffectOf(&set, completions.live(set), op).hill);
  }
  return least;
}

// The cut of one stage is exact for operators of one stage, and never above the truth.
TEST(Rules, CutsOfPairsAreWhatTheyClaim) {
  Random random(28);
  int exact = 0;
  for (int i = 0; i < Cases(1500); ++i) {
    const Problem problem = ChainedProblem(random, Shape{7, true, true, true});
    const Instance plain(problem, 1, false);
    const Fusion fusion = Fuse(problem, plain, 1);
    const Instance instance(fusion.problem, fusion.stages, 1, random.Chance(1, 2));
    if (instance.num_ops() < 2) continue;
    CutFinder cuts(instance);
    const Completions completions(instance);
    const auto op =
        static_cast<OpIndex>(random.Below(static_cast<std::uint64_t>(instance.num_ops())));
    EXPECT_LE(cuts.LeastHill(op, MaxFlow::kInfinite), LeastHillByForce(instance, op, -1, false));
    for (std::size_t stage = 0; stage < cuts.NumStages(op); ++stage) {
      cuts.LeastStageHill(op, stage, MaxFlow::kInfinite);
      for (OpIndex other = 0; other < instance.num_ops(); ++other) {
        if (other == op || TestBit(instance.Ancestors(op), other) ||
            TestBit(instance.Descendants(op), other)) {
          continue;
        }
        for (const bool executed : {true, false}) {
          const std::int64_t hill = cuts.LeastStageHillWith(other, executed, MaxFlow::kInfinite);
          const std::int64_t truth = LeastHillByForce(instance, op, other, executed);
          ASSERT_LE(hill, truth) << Dump(problem);
          const bool one_stage = cuts.NumStages(op) == 1 && instance.IsStaged(op);
          if (one_stage) {
            ASSERT_EQ(hill, truth) << Dump(problem);
          }
          exact += one_stage ? 1 : 0;
          std::vector<Word> most(instance.words());
          std::vector<Word> fewest(instance.words());
          cuts.ExecutedAtCut(most.data());
          cuts.FewestAtCut(fewest.data());
          for (const auto& downset : {most, fewest}) {
            ASSERT_EQ(TestBit(downset.data(), other), executed) << Dump(problem);
            ASSERT_FALSE(TestBit(downset.data(), op));
            if (!one_stage) continue;
            const std::int64_t live = completions.live(downset[0]);
            ASSERT_EQ(instance.EffectOf(downset.data(), live, op).hill, hill) << Dump(problem);
          }
          ASSERT_TRUE(IsSubset(fewest.data(), most.data(), instance.words()));
        }
      }
    }
  }
  EXPECT_GT(exact, Cases(1000));
}

// Every order within the budget obeys the inferred precedences, and a budget that is called
// infeasible is; so for every smaller budget. With a budget one lower the same inferences would be
// wrong at times.
int CountWrongInferences(std::int64_t error, bool fused, bool trials) {
  Random random(27);
  int wrong = 0;
  int inferred = 0;
  for (int i = 0; i < Cases(3000); ++i) {
    const Problem problem =
        fused ? ChainedProblem(random, Shape{}) : RandomProblem(random, Shape{});
    const std::int64_t best = BruteForcePeak(problem);
    const std::int64_t budget = best + random.Between(-2, 2);
    const Limits limits;
    Stopper stopper(limits);
    Fusion fusion{problem, {}, {}};
    if (fused) fusion = Fuse(problem, Instance(problem, 1, false), 1);
    const Inference inference = InferPrecedences(fusion.problem, fusion.stages, 1, budget - error,
                                                 {1'000'000, trials}, &stopper);
    inferred += static_cast<int>(inference.precedences.size());
    if (inference.infeasible) {
      wrong += budget >= best ? 1 : 0;
      continue;
    }
    Problem known = fusion.problem;
    known.precedences.insert(known.precedences.end(), inference.precedences.begin(),
                             inference.precedences.end());
    const Instance instance(known, fusion.stages, 1, false);
    const std::int64_t least =
        std::max({Completions(instance).optimum(), instance.start_live(), instance.end_live()});
    // Orders of less than the budget are still there, too: the best one is.
    wrong += budget >= best && least > best ? 1 : 0;
  }
  EXPECT_GT(inferred, Cases(400));
  return wrong;
}

TEST(Rules, InferredPrecedencesHold) { EXPECT_EQ(CountWrongInferences(0, false, false), 0); }
TEST(Rules, InferredPrecedencesHoldOnFusedProblems) {
  EXPECT_EQ(CountWrongInferences(0, true, false), 0);
}
TEST(Rules, InferredPrecedencesHoldWithTrials) {
  EXPECT_EQ(CountWrongInferences(0, false, true), 0);
  EXPECT_EQ(CountWrongInferences(0, true, true), 0);
}
TEST(Rules, PrecedencesOfASmallerBudgetDoNot) {
  EXPECT_GT(CountWrongInferences(1, false, false), 0);
  EXPECT_GT(CountWrongInferences(1, false, true), 0);
}

// What trials add: budgets just below the best peak that cuts alone do not refute. Effort that ends
// early leaves fewer precedences, none of them wrong.
TEST(Rules, TrialsRefuteWhatCutsDoNot) {
  Random random(29);
  int by_cuts = 0;
  int by_trials = 0;
  for (int i = 0; i < Cases(1500); ++i) {
    const Problem problem = RandomProblem(random, Shape{});
    const std::int64_t best = BruteForcePeak(problem);
    const Limits limits;
    Stopper stopper(limits);
    const Inference cuts = InferPrecedences(problem, {}, 1, best - 1, {1'000'000, false}, &stopper);
    const Inference trials =
        InferPrecedences(problem, {}, 1, best - 1, {1'000'000, true}, &stopper);
    by_cuts += cuts.infeasible ? 1 : 0;
    by_trials += trials.infeasible ? 1 : 0;
    EXPECT_TRUE(trials.infeasible || !cuts.infeasible) << Dump(problem);
    const std::int64_t few = random.Between(1, 40);
    const Inference early = InferPrecedences(problem, {}, 1, best, {few, true}, &stopper);
    EXPECT_FALSE(early.infeasible) << Dump(problem);
    EXPECT_LE(early.cuts, few + 1);
  }
  EXPECT_GT(by_trials, by_cuts);
}

// Relations with more precedences are those of an instance with them, and return to what they were.
TEST(Rules, RelationsAreThoseOfAnInstance) {
  Random random(30);
  for (int i = 0; i < Cases(1000); ++i) {
    Problem problem = RandomProblem(random, Shape{});
    const Instance plain(problem, 1, false);
    Relations relations(plain);
    const auto expect_equal = [&](const Instance& instance) {
      for (OpIndex op = 0; op < instance.num_ops(); ++op) {
        for (OpIndex other = 0; other < instance.num_ops(); ++other) {
          ASSERT_EQ(TestBit(relations.Ancestors(op), other),
                    TestBit(instance.Ancestors(op), other));
          ASSERT_EQ(TestBit(relations.Descendants(op), other),
                    TestBit(instance.Descendants(op), other));
        }
      }
    };
    relations.Remember();
    for (int k = 0; k < 4; ++k) {
      const auto ops = static_cast<std::uint64_t>(plain.num_ops());
      const auto before = static_cast<OpIndex>(random.Below(ops));
      const auto after = static_cast<OpIndex>(random.Below(ops));
      if (before == after || TestBit(relations.Ancestors(before), after)) continue;
      relations.Add(before, after);
      problem.precedences.emplace_back(before, after);
    }
    expect_equal(Instance(problem, 1, false));
    relations.TakeBack();
    expect_equal(plain);
    EXPECT_TRUE(relations.added().empty());
    for (OpIndex op = 0; op < plain.num_ops(); ++op) {
      EXPECT_EQ(relations.Predecessors(op), plain.Predecessors(op));
    }
  }
}

}  // namespace
}  // namespace neap::schedule
