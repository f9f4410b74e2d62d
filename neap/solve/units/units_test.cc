// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/units/units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "neap/base/random.h"
#include "neap/solve/schedule/schedule.h"
#include "neap/solve/units/check.h"
#include "neap/solve/units/instance.h"
#include "testing/cases.h"

namespace neap::units {
namespace {

Problem RandomProblem(Random* random, OpIndex ops) {
  Problem out;
  out.units = static_cast<std::int32_t>(random->Between(1, 3));
  out.graph.num_ops = ops;
  const auto density = static_cast<std::uint64_t>(random->Between(0, 3));
  for (OpIndex writer = 0; writer < ops; ++writer) {
    out.durations.push_back(random->Between(1, 3));
    schedule::Buffer buffer;
    buffer.bytes = random->Between(0, 6);
    buffer.users.push_back(writer);
    for (OpIndex reader = writer + 1; reader < ops; ++reader) {
      if (!random->Chance(density, 4)) continue;
      out.graph.precedences.emplace_back(writer, reader);
      buffer.users.push_back(reader);
    }
    buffer.live_at_end = random->Chance(1, 5);
    out.graph.buffers.push_back(buffer);
  }
  if (random->Chance(1, 2)) {
    schedule::Buffer input;
    input.bytes = random->Between(1, 4);
    input.live_at_start = true;
    input.live_at_end = random->Chance(1, 4);
    for (OpIndex op = 0; op < ops; ++op) {
      if (random->Chance(1, 3)) input.users.push_back(op);
    }
    out.graph.buffers.push_back(input);
  }
  if (random->Chance(1, 2)) {
    for (OpIndex op = 0; op < ops; ++op) out.graph.scratch_bytes.push_back(random->Between(0, 3));
  }
  return out;
}

// The (peak, makespan) of all schedules whose starts are any whole times up to the sum of the
// durations, idle times included: by the definition alone, not by ends of operators.
std::set<std::pair<std::int64_t, std::int64_t>> AllSchedules(const Problem& problem) {
  std::int64_t horizon = 0;
  for (const std::int64_t duration : problem.durations) horizon += duration;
  const std::size_t count = problem.durations.size();
  std::vector<std::int64_t> start(count, 0);
  std::set<std::pair<std::int64_t, std::int64_t>> out;
  const auto end = [&](std::size_t op) { return start[op] + problem.durations[op]; };
  const auto measure = [&] {
    std::int64_t makespan = 0;
    for (std::size_t op = 0; op < count; ++op) makespan = std::max(makespan, end(op));
    std::int64_t peak = 0;
    for (std::int64_t time = 0; time < makespan; ++time) {
      std::int64_t live = 0;
      for (const schedule::Buffer& buffer : problem.graph.buffers) {
        std::int64_t first = buffer.live_at_start ? 0 : makespan;
        std::int64_t last = buffer.live_at_end ? makespan : 0;
        for (const OpIndex user : buffer.users) {
          const auto op = static_cast<std::size_t>(user);
          first = std::min(first, start[op]);
          last = std::max(last, end(op));
        }
        if (first <= time && time < last) live += buffer.bytes;
      }
      for (std::size_t op = 0; op < problem.graph.scratch_bytes.size(); ++op) {
        if (start[op] <= time && time < end(op)) live += problem.graph.scratch_bytes[op];
      }
      peak = std::max(peak, live);
    }
    out.emplace(peak, makespan);
  };
  // Precedences go from smaller to larger numbers.
  const std::function<void(std::size_t)> place = [&](std::size_t op) {
    if (op == count) return measure();
    std::int64_t first = 0;
    for (const auto& [a, b] : problem.graph.precedences) {
      if (static_cast<std::size_t>(b) == op)
        first = std::max(first, end(static_cast<std::size_t>(a)));
    }
    for (start[op] = first; end(op) <= horizon; ++start[op]) {
      bool fits = true;
      for (std::int64_t time = start[op]; time < end(op); ++time) {
        std::int32_t busy = 0;
        for (std::size_t other = 0; other <= op; ++other) {
          if (start[other] <= time && time < end(other)) ++busy;
        }
        fits = fits && busy <= problem.units;
      }
      if (fits) place(op + 1);
    }
  };
  place(0);
  return out;
}

void ExpectExact(const Problem& problem, const std::set<std::pair<std::int64_t, std::int64_t>>& all,
                 const Options& options, Solver* solver) {
  std::optional<std::pair<std::int64_t, std::int64_t>> best;
  for (const auto& [peak, makespan] : all) {
    if (options.peak_limit >= 0 && peak > options.peak_limit) continue;
    if (options.makespan_limit >= 0 && makespan > options.makespan_limit) continue;
    auto value = std::make_pair(peak, makespan);
    if (options.objective == Objective::kMakespan) std::swap(value.first, value.second);
    if (!best || value < *best) best = value;
  }
  const Outcome outcome = solver->Solve(options);
  ASSERT_EQ(outcome.best.has_value(), best.has_value());
  ASSERT_EQ(outcome.infeasible, !best.has_value());
  if (!best) return;
  ASSERT_EQ(FindViolation(problem, *outcome.best), std::nullopt);
  auto found = std::make_pair(outcome.best->peak_bytes, outcome.best->makespan);
  if (options.objective == Objective::kMakespan) std::swap(found.first, found.second);
  ASSERT_EQ(found, *best);
  ASSERT_TRUE(outcome.optimal);
  ASSERT_TRUE(outcome.tie_optimal);
  ASSERT_LE(outcome.peak_lower_bound, outcome.best->peak_bytes);
  ASSERT_LE(outcome.makespan_lower_bound, outcome.best->makespan);
}

TEST(Units, AgreesWithAllSchedules) {
  Random random(1);
  for (int i = 0; i < Cases(2000); ++i) {
    SCOPED_TRACE(i);
    const Problem problem = RandomProblem(&random, static_cast<OpIndex>(random.Between(1, 4)));
    ASSERT_EQ(Validate(problem), std::nullopt);
    const auto all = AllSchedules(problem);
    Solver solver(problem);
    for (const Objective objective : {Objective::kPeak, Objective::kMakespan}) {
      ExpectExact(problem, all, {objective, -1, -1, {}}, &solver);
      ExpectExact(problem, all, {objective, random.Between(1, 10), -1, {}}, &solver);
      ExpectExact(problem, all, {objective, -1, random.Between(0, 15), {}}, &solver);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Units, AgreesWithAllSchedulesOfFiveOperators) {
  Random random(2);
  for (int i = 0; i < Cases(40); ++i) {
    SCOPED_TRACE(i);
    Problem problem = RandomProblem(&random, 5);
    for (std::int64_t& duration : problem.durations) duration = std::min<std::int64_t>(duration, 2);
    const auto all = AllSchedules(problem);
    Solver solver(problem);
    // Every point of the front, by both of its limits.
    for (const auto& [peak, makespan] : all) {
      ExpectExact(problem, all, {Objective::kPeak, makespan, -1, {}}, &solver);
      ExpectExact(problem, all, {Objective::kMakespan, -1, peak, {}}, &solver);
      if (HasFatalFailure()) return;
    }
  }
}

// The (peak, makespan) of all schedules that start operators at 0 and at ends, without any pruning.
std::set<std::pair<std::int64_t, std::int64_t>> AllStartsAtEnds(const Problem& problem) {
  const std::size_t count = problem.durations.size();
  std::vector<std::int64_t> start(count, -1);
  std::set<std::pair<std::int64_t, std::int64_t>> out;
  const auto end = [&](std::size_t op) { return start[op] + problem.durations[op]; };
  // Starts some of the operators from `first` on at `time`, then goes on at the next end.
  const std::function<void(std::int64_t, std::size_t)> go = [&](std::int64_t time,
                                                                std::size_t first) {
    std::int32_t running = 0;
    std::int64_t next = -1;
    std::int64_t makespan = 0;
    for (std::size_t op = 0; op < count; ++op) {
      if (start[op] < 0) continue;
      makespan = std::max(makespan, end(op));
      if (end(op) <= time) continue;
      ++running;
      if (next < 0 || end(op) < next) next = end(op);
    }
    if (std::find(start.begin(), start.end(), -1) == start.end()) {
      std::int64_t peak = 0;
      for (const Moment& moment : LiveBytes(problem, start)) {
        if (moment.time < makespan) peak = std::max(peak, moment.live_bytes);
      }
      out.emplace(peak, makespan);
      return;
    }
    for (std::size_t op = first; running < problem.units && op < count; ++op) {
      if (start[op] >= 0) continue;
      bool ready = true;
      for (const auto& [a, b] : problem.graph.precedences) {
        const auto before = static_cast<std::size_t>(a);
        if (static_cast<std::size_t>(b) == op) {
          ready = ready && start[before] >= 0 && end(before) <= time;
        }
      }
      if (!ready) continue;
      start[op] = time;
      go(time, op + 1);
      start[op] = -1;
    }
    if (next >= 0) go(next, 0);
  };
  go(0, 0);
  return out;
}

// Without the schedules and bounds that Solve() begins with, which hide what the search does.
TEST(Units, SearchAloneIsExact) {
  Random random(8);
  for (int i = 0; i < Cases(300); ++i) {
    SCOPED_TRACE(i);
    Problem problem = RandomProblem(&random, static_cast<OpIndex>(random.Between(4, 7)));
    problem.units = 2;
    const auto all = AllStartsAtEnds(problem);
    const Instance instance = MakeInstance(problem);
    std::set<std::int64_t> peaks;
    for (const auto& [peak, makespan] : all) peaks.insert(peak);
    for (const std::int64_t limit : peaks) {
      Options options{Objective::kMakespan, -1, limit, {}};
      std::pair<std::int64_t, std::int64_t> best{-1, -1};
      for (const auto& [peak, makespan] : all) {
        if (peak > limit) continue;
        if (best.first < 0 || std::make_pair(makespan, peak) < best) best = {makespan, peak};
      }
      Outcome outcome;
      SearchExact(instance, options, &outcome);
      ASSERT_TRUE(outcome.best && outcome.optimal);
      ASSERT_EQ(FindViolation(problem, *outcome.best), std::nullopt);
      ASSERT_EQ(std::make_pair(outcome.best->makespan, outcome.best->peak_bytes), best);
      options = {Objective::kPeak, best.first, -1, {}};
      std::pair<std::int64_t, std::int64_t> least{-1, -1};
      for (const auto& [peak, makespan] : all) {
        if (makespan > best.first) continue;
        if (least.first < 0 || std::make_pair(peak, makespan) < least) least = {peak, makespan};
      }
      outcome = {};
      SearchExact(instance, options, &outcome);
      ASSERT_TRUE(outcome.best && outcome.optimal);
      ASSERT_EQ(std::make_pair(outcome.best->peak_bytes, outcome.best->makespan), least);
    }
  }
}

TEST(Units, OneUnitHasTheLeastPeakOfAnOrder) {
  Random random(3);
  for (int i = 0; i < Cases(300); ++i) {
    Problem problem = RandomProblem(&random, static_cast<OpIndex>(random.Between(1, 12)));
    const std::int64_t least = schedule::Solve(problem.graph, {}).peak_bytes;
    // Of several units it is the minimum peak, too: docs/algorithms/units.md.
    for (const std::int32_t units : {1, 2, 4}) {
      problem.units = units;
      const Outcome outcome = Solve(problem, {});
      ASSERT_TRUE(outcome.best && outcome.optimal) << i;
      ASSERT_EQ(outcome.best->peak_bytes, least) << i << " " << units;
      ASSERT_EQ(FindViolation(problem, *outcome.best), std::nullopt) << i;
    }
  }
}

TEST(Units, LimitsLeaveValidSchedulesAndBounds) {
  Random random(4);
  for (int i = 0; i < Cases(100); ++i) {
    const Problem problem = RandomProblem(&random, static_cast<OpIndex>(random.Between(8, 12)));
    Options options{Objective::kMakespan, -1, -1, {}};
    const Outcome whole = Solve(problem, options);
    ASSERT_TRUE(whole.best && whole.optimal) << i;
    // Without a limit of bytes, the minimum makespan keeps the bounds of Graham's lists.
    std::int64_t work = 0;
    for (const std::int64_t duration : problem.durations) work += duration;
    Problem wide = problem;
    wide.units = problem.graph.num_ops;
    const std::int64_t path = Solve(wide, options).best->makespan;
    ASSERT_GE(whole.best->makespan * problem.units, work) << i;
    ASSERT_GE(whole.best->makespan, path) << i;
    ASSERT_LE(whole.best->makespan * problem.units, work + (problem.units - 1) * path) << i;
    options.limits.max_states = random.Between(1, 20);
    const Outcome part = Solve(problem, options);
    ASSERT_TRUE(part.best.has_value()) << i;
    ASSERT_EQ(FindViolation(problem, *part.best), std::nullopt) << i;
    ASSERT_LE(part.makespan_lower_bound, whole.best->makespan) << i;
    ASSERT_GE(part.best->makespan, whole.best->makespan) << i;
    const Outcome again = Solve(problem, options);
    ASSERT_EQ(again.best->start, part.best->start) << i;
  }
}

TEST(Units, LargeProblemsGetAListAndABound) {
  Random random(5);
  const Problem problem = RandomProblem(&random, 120);
  const Outcome outcome = Solve(problem, {Objective::kMakespan, -1, -1, {}});
  ASSERT_TRUE(outcome.best.has_value());
  EXPECT_EQ(FindViolation(problem, *outcome.best), std::nullopt);
  EXPECT_GE(outcome.best->makespan, outcome.makespan_lower_bound);
  EXPECT_GT(outcome.makespan_lower_bound, 0);
}

TEST(Units, CheckRejectsDamage) {
  Random random(6);
  for (int i = 0; i < Cases(500); ++i) {
    Problem problem = RandomProblem(&random, static_cast<OpIndex>(random.Between(2, 7)));
    const Schedule good = *Solve(problem, {Objective::kMakespan, -1, -1, {}}).best;
    ASSERT_EQ(FindViolation(problem, good), std::nullopt);
    Schedule bad = good;
    bad.peak_bytes += random.Chance(1, 2) ? 1 : -1;
    EXPECT_NE(FindViolation(problem, bad), std::nullopt);
    bad = good;
    bad.makespan += 1;
    EXPECT_NE(FindViolation(problem, bad), std::nullopt);
    bad = good;
    bad.unit[random.Below(bad.unit.size())] = problem.units;
    EXPECT_NE(FindViolation(problem, bad), std::nullopt);
    bad = good;
    bad.start[0] = -1;
    EXPECT_NE(FindViolation(problem, bad), std::nullopt);
    if (!problem.graph.precedences.empty()) {
      const auto [a, b] = problem.graph.precedences.front();
      bad = good;
      bad.start[static_cast<std::size_t>(b)] = bad.start[static_cast<std::size_t>(a)] +
                                               problem.durations[static_cast<std::size_t>(a)] - 1;
      EXPECT_NE(FindViolation(problem, bad)->find("before the end"), std::string::npos);
    }
    // All on one unit: valid only where no two run at once.
    bad = good;
    std::fill(bad.unit.begin(), bad.unit.end(), 0);
    std::int64_t work = 0;
    for (const std::int64_t duration : problem.durations) work += duration;
    EXPECT_EQ(FindViolation(problem, bad).has_value(), good.makespan < work) << i;
  }
}

TEST(Units, RejectsMalformedProblems) {
  Random random(7);
  const Problem good = RandomProblem(&random, 3);
  Problem bad = good;
  bad.units = 0;
  EXPECT_NE(Validate(bad), std::nullopt);
  bad = good;
  bad.durations[1] = 0;
  EXPECT_NE(Validate(bad), std::nullopt);
  bad = good;
  bad.durations.pop_back();
  EXPECT_NE(Validate(bad), std::nullopt);
  bad = good;
  bad.graph.in_place.push_back({0, 0, 1});
  EXPECT_NE(Validate(bad), std::nullopt);
}

}  // namespace
}  // namespace neap::units
