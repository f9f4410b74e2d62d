// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/rematerialise/moves.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "neap/base/index.h"
#include "neap/base/random.h"
#include "neap/base/work.h"
#include "neap/solve/rematerialise/eviction.h"
#include "neap/solve/rematerialise/trace.h"

namespace neap::rematerialise {
namespace {

// Targets between the peak of the start and the bound.
constexpr std::int64_t kLevels = 24;
// Sequences of a level that are taken apart and completed again.
constexpr int kRounds = 6;
// Repetitions that cost more than this multiple of the base cost are useless.
constexpr std::int64_t kMaxCostRatio = 4;
constexpr std::size_t kMostChain = 512;
constexpr std::int64_t kAimStep = 16;  // the next aim of executions is this part of it smaller
constexpr std::int64_t kExecutionShare = 3;  // of the moves, for executions
constexpr std::uint64_t kExecutionRounds = 24;
constexpr std::int64_t kMaxExecution = 4'000;  // values of one, in sizes of the problem
// A score is bytes over cost in units of 2^-kScoreBits; both are cut to fit.
constexpr int kScoreBits = 20;
constexpr std::int64_t kMaxScored = std::int64_t{1} << 42;

// Drop a copy behind a touch and write a new one before `at`.
struct Move {
  StepIndex at = 0;
  std::vector<OpIndex> chain;
  std::int64_t gain = 0;
  std::int64_t cost = 0;
  std::tuple<ValueIndex, StepIndex, bool> name;

  std::int64_t Score() const {
    return (std::min(gain, kMaxScored) << kScoreBits) / std::max<std::int64_t>(cost, 1);
  }
};

// The excess of a sequence over a target: the sum over its steps.
struct Excess {
  std::vector<StepIndex> steps;
  std::vector<std::int64_t> bytes;
  std::int64_t total = 0;
  StepIndex worst = -1;
};

Excess ExcessOf(const Trace& trace, std::int64_t target) {
  Excess excess;
  std::int64_t most = 0;
  for (std::size_t step = 0; step < trace.live_bytes.size(); ++step) {
    const std::int64_t over = trace.live_bytes[step] - target;
    if (over <= 0) continue;
    excess.steps.push_back(static_cast<StepIndex>(step));
    excess.bytes.push_back(over);
    excess.total += over;
    if (over <= most) continue;
    most = over;
    excess.worst = static_cast<StepIndex>(step);
  }
  return excess;
}

class MoveSearch {
 public:
  MoveSearch(const Problem& problem, std::int64_t max_moves, const Limits& limits,
             const std::function<void(const std::vector<OpIndex>&)>& found)
      : access_(problem),
        problem_(problem),
        max_moves_(max_moves),
        limits_(limits),
        found_(found),
        made_(problem.values.size(), 0),
        base_cost_(BaseCost(problem)) {}

  std::int64_t Run(std::span<const OpIndex> start, const std::vector<std::vector<OpIndex>>& others,
                   std::int64_t floor_bytes) {
    const std::int64_t top = TraceOf(access_, start).peak_bytes;
    // Both ways: from an execution, later targets may be reached at a greater cost.
    FollowLevels(start, top, floor_bytes);
    Execute(start, top, floor_bytes);
    for (const std::vector<OpIndex>& other : others) Keep(other, Try(other));
    FollowLevels(start, top, floor_bytes);
    return moves_;
  }

 private:
  bool IsLevelOver() const { return moves_ >= level_end_ || IsOver(limits_); }

  Trace Try(const std::vector<OpIndex>& sequence) {
    ++moves_;
    ChargeWork((static_cast<std::int64_t>(sequence.size()) + access_.size()) * 40);
    return TraceOf(access_, sequence);
  }

  // Reaches one target after the other, each from the sequence of the one before, or from an
  // execution that costs less.
  void FollowLevels(std::span<const OpIndex> start, std::int64_t top, std::int64_t floor_bytes) {
    std::vector<OpIndex> current(start.begin(), start.end());
    std::int64_t last = top;
    const std::int64_t end = moves_ + max_moves_;
    for (std::int64_t level = 1; level <= kLevels; ++level) {
      const std::int64_t target = top - (top - floor_bytes) / kLevels * level;
      if (target >= last) continue;
      level_end_ = moves_ + (end - moves_) / (kLevels + 1 - level);
      auto reached = Reach(current, target);
      const std::vector<OpIndex>* const executed = Executed(target);
      if (executed != nullptr && (!reached || CostOf(*executed) < CostOf(*reached))) {
        reached = *executed;
      }
      if (!reached) break;
      current = Improve(std::move(*reached), target);
      const Trace trace = TraceOf(access_, current);
      last = trace.peak_bytes;
      if (trace.cost > kMaxCostRatio * base_cost_ || IsOver(limits_)) break;
    }
  }

  // Executions of `start` within smaller and smaller peaks, by all rules, in rounds of other seeds.
  // Keeps the cheapest of every peak, at last without its idle repetitions.
  void Execute(std::span<const OpIndex> start, std::int64_t top, std::int64_t floor_bytes) {
    level_end_ = moves_ + max_moves_ / kExecutionShare;
    for (std::uint64_t round = 0; round < kExecutionRounds; ++round) {
      std::int64_t peak = top;
      for (std::int64_t aim = top; peak > floor_bytes;) {
        aim = std::max(std::min(aim - aim / kAimStep, peak - 1), floor_bytes);
        const auto reached = ExecuteWithinAim(start, aim, round);
        if (!reached || IsLevelOver()) break;
        peak = *reached;
      }
      if (IsLevelOver()) break;
    }
    level_end_ = moves_ + max_moves_ / kExecutionShare;
    for (auto& [peak, sequence] : executed_) sequence = WithoutIdle(std::move(sequence), peak);
  }

  // The lowest peak of the executions, if one costs no more than is useful.
  std::optional<std::int64_t> ExecuteWithinAim(std::span<const OpIndex> start, std::int64_t aim,
                                               std::uint64_t round) {
    std::optional<std::int64_t> least;
    for (const bool distance : {true, false}) {
      for (const bool readers : {true, false}) {
        if (IsLevelOver()) return least;
        EvictionRule rule;
        rule.distance = distance;
        rule.readers = readers;
        rule.seed = round;
        auto sequence = ExecuteBy(rule, start, aim);
        rule.keeps_sources = true;
        if (!sequence) sequence = ExecuteBy(rule, start, aim);
        if (!sequence) continue;
        const Trace trace = Try(*sequence);
        if (trace.peak_bytes > aim || trace.cost > kMaxCostRatio * base_cost_) continue;
        least = std::min(least.value_or(trace.peak_bytes), trace.peak_bytes);
        Keep(std::move(*sequence), trace);
      }
    }
    return least;
  }

  void Keep(std::vector<OpIndex> sequence, const Trace& trace) {
    const auto known = executed_.find(trace.peak_bytes);
    if (known != executed_.end() && CostOf(known->second) <= trace.cost) return;
    executed_[trace.peak_bytes] = std::move(sequence);
  }

  std::optional<std::vector<OpIndex>> ExecuteBy(const EvictionRule& rule,
                                                std::span<const OpIndex> start, std::int64_t aim) {
    std::int64_t work = 0;
    auto sequence = ExecuteWithin(access_, start, aim, rule, kMaxExecution * access_.size(), &work);
    moves_ += work / access_.size();
    ChargeWork(work * 10);
    return sequence;
  }

  // The cheapest execution of a peak of at most `target`; nullptr: none.
  const std::vector<OpIndex>* Executed(std::int64_t target) const {
    const std::vector<OpIndex>* best = nullptr;
    for (const auto& [peak, sequence] : executed_) {
      if (peak > target) break;
      if (best == nullptr || CostOf(sequence) < CostOf(*best)) best = &sequence;
    }
    return best;
  }

  // Moves until the peak is at most `target`.
  std::optional<std::vector<OpIndex>> Reach(std::vector<OpIndex> sequence, std::int64_t target) {
    Trace trace = Try(sequence);
    Excess excess = ExcessOf(trace, target);
    std::set<std::tuple<ValueIndex, StepIndex, bool>> refused;
    while (excess.total > 0) {
      if (IsLevelOver()) return std::nullopt;
      const auto move = BestMove(sequence, trace, excess, target, refused);
      if (!move) return std::nullopt;
      std::vector<OpIndex> next = sequence;
      next.insert(next.begin() + move->at, move->chain.begin(), move->chain.end());
      Trace then = Try(next);
      Excess left = ExcessOf(then, target);
      if (left.total >= excess.total) {
        refused.insert(move->name);
        continue;
      }
      refused.clear();
      sequence = std::move(next);
      trace = std::move(then);
      excess = std::move(left);
    }
    return WithoutIdle(std::move(sequence), target);
  }

  std::optional<Move> BestMove(const std::vector<OpIndex>& sequence, const Trace& trace,
                               const Excess& excess, std::int64_t target,
                               const std::set<std::tuple<ValueIndex, StepIndex, bool>>& refused) {
    std::optional<Move> best;
    const auto steps = static_cast<StepIndex>(sequence.size());
    for (std::size_t at = 0; at < trace.copies.size(); ++at) {
      const Copy& copy = trace.copies[at];
      if (copy.first >= excess.worst || copy.last <= excess.worst) continue;
      const Value& value = problem_.values[At(copy.value)];
      if (value.bytes == 0 || value.writer == kNoWriter) continue;
      if (!problem_.ops[At(value.writer)].repeatable) continue;
      const std::vector<StepIndex>& reads = trace.reads[at];
      const auto next = std::lower_bound(reads.begin(), reads.end(), excess.worst);
      if (next != reads.end() && *next == excess.worst) continue;
      const StepIndex from = next == reads.begin() ? copy.first : *(next - 1);
      // A value that is live at the end may be computed behind all others.
      const StepIndex to = next == reads.end() ? steps : *next;
      for (const bool extends : {false, true}) {
        const std::tuple name(copy.value, from, extends);
        if (refused.contains(name)) continue;
        auto move = MoveAt(trace, excess, target, copy.value, from, to, extends);
        if (!move) continue;
        if (best && move->Score() <= best->Score()) continue;
        move->name = name;
        best = std::move(move);
      }
    }
    return best;
  }

  struct Extension {
    StepIndex after = 0;  // the copy's last step so far
    std::int64_t bytes = 0;
  };

  std::optional<Move> MoveAt(const Trace& trace, const Excess& excess, std::int64_t target,
                             ValueIndex value, StepIndex from, StepIndex to, bool extends) {
    Move move;
    move.at = to;
    ++stamp_;
    extensions_.clear();
    largest_extension_ = extends ? problem_.values[At(value)].bytes / 2 : 0;
    if (!Make(trace, target, problem_.values[At(value)].writer, &move)) return std::nullopt;
    const std::int64_t bytes = problem_.values[At(value)].bytes;
    const auto first = std::upper_bound(excess.steps.begin(), excess.steps.end(), from);
    for (auto at = static_cast<std::size_t>(first - excess.steps.begin());
         at < excess.steps.size() && excess.steps[at] < to; ++at) {
      std::int64_t over = excess.bytes[at] - bytes;
      for (const Extension& extension : extensions_) {
        if (excess.steps[at] > extension.after) over += extension.bytes;
      }
      move.gain += excess.bytes[at] - std::max<std::int64_t>(over, 0);
    }
    // Extensions that begin before the gap.
    for (const Extension& extension : extensions_) {
      const auto begin =
          std::upper_bound(excess.steps.begin(), excess.steps.end(), extension.after);
      move.gain -= extension.bytes * std::max<std::int64_t>(first - begin, 0);
    }
    if (move.gain <= 0) return std::nullopt;
    return move;
  }

  // Appends a run of `op` before step move->at, behind runs that compute what is not live there.
  bool Make(const Trace& trace, std::int64_t target, OpIndex op, Move* move) {
    for (const ValueIndex read : access_.ReadsOf(op)) {
      if (made_[At(read)] == stamp_) continue;
      const std::int32_t index = trace.CopyBefore(read, move->at);
      if (index < 0) return false;
      const Copy& copy = trace.copies[At(index)];
      if (copy.last >= move->at) continue;
      const Value& value = problem_.values[At(read)];
      const bool again = value.writer != kNoWriter && problem_.ops[At(value.writer)].repeatable;
      if (!again || value.bytes <= largest_extension_ ||
          HasSpace(trace, target - value.bytes, copy.last, move->at)) {
        extensions_.push_back({copy.last, value.bytes});
        made_[At(read)] = stamp_;
        continue;
      }
      if (!Make(trace, target, value.writer, move)) return false;
    }
    if (move->chain.size() >= kMostChain) return false;
    move->chain.push_back(op);
    move->cost += problem_.ops[At(op)].cost;
    for (const ValueIndex written : access_.WritesOf(op)) made_[At(written)] = stamp_;
    return true;
  }

  // Whether no step between the two has more live bytes.
  static bool HasSpace(const Trace& trace, std::int64_t most, StepIndex after, StepIndex before) {
    for (StepIndex step = after + 1; step < before; ++step) {
      if (trace.live_bytes[At(step)] > most) return false;
    }
    return true;
  }

  // Steps that run an operator again.
  static std::vector<std::size_t> Repetitions(const std::vector<OpIndex>& sequence,
                                              std::size_t num_ops) {
    std::vector<char> ran(num_ops, 0);
    std::vector<std::size_t> steps;
    for (std::size_t step = 0; step < sequence.size(); ++step) {
      if (ran[At(sequence[step])] != 0) steps.push_back(step);
      ran[At(sequence[step])] = 1;
    }
    return steps;
  }

  // Leaves out repetitions without which the peak is no higher than `target`, costly ones first.
  std::vector<OpIndex> WithoutIdle(std::vector<OpIndex> sequence, std::int64_t target) {
    std::vector<std::size_t> steps = Repetitions(sequence, problem_.ops.size());
    std::stable_sort(steps.begin(), steps.end(), [&](std::size_t a, std::size_t b) {
      return problem_.ops[At(sequence[a])].cost > problem_.ops[At(sequence[b])].cost;
    });
    std::vector<char> out(sequence.size(), 0);
    const auto kept = [&] {
      std::vector<OpIndex> rest;
      for (std::size_t step = 0; step < sequence.size(); ++step) {
        if (out[step] == 0) rest.push_back(sequence[step]);
      }
      return rest;
    };
    for (const std::size_t step : steps) {
      if (IsLevelOver()) break;
      out[step] = 1;
      if (Try(kept()).peak_bytes > target) out[step] = 0;
    }
    sequence = kept();
    found_(sequence);
    return sequence;
  }

  std::int64_t CostOf(const std::vector<OpIndex>& sequence) const {
    std::int64_t cost = 0;
    for (const OpIndex op : sequence) cost += problem_.ops[At(op)].cost;
    return cost;
  }

  // Takes a part of the repetitions out and completes the rest, as long as there are moves.
  std::vector<OpIndex> Improve(std::vector<OpIndex> sequence, std::int64_t target) {
    std::int64_t cost = CostOf(sequence);
    for (int round = 0; round < kRounds && !IsLevelOver(); ++round) {
      const std::vector<std::size_t> steps = Repetitions(sequence, problem_.ops.size());
      if (steps.empty()) break;
      std::vector<char> out(sequence.size(), 0);
      if (round == 0) {
        for (const std::size_t step : steps) out[step] = 1;
      } else {
        // A stretch of them.
        const std::size_t length = 1 + random_.Below(1 + steps.size() / 2);
        const std::size_t begin = random_.Below(steps.size());
        for (std::size_t i = begin; i < std::min(begin + length, steps.size()); ++i) {
          out[steps[i]] = 1;
        }
      }
      std::vector<OpIndex> rest;
      for (std::size_t step = 0; step < sequence.size(); ++step) {
        if (out[step] == 0) rest.push_back(sequence[step]);
      }
      auto again = Reach(std::move(rest), target);
      if (!again || CostOf(*again) >= cost) continue;
      sequence = std::move(*again);
      cost = CostOf(sequence);
    }
    return sequence;
  }

  Access access_;
  const Problem& problem_;
  std::map<std::int64_t, std::vector<OpIndex>> executed_;  // by peak
  std::int64_t max_moves_;
  std::int64_t level_end_ = 0;
  std::int64_t moves_ = 0;
  const Limits& limits_;
  const std::function<void(const std::vector<OpIndex>&)>& found_;
  std::vector<std::int64_t> made_;  // per value: the stamp of the move that has it at its place
  std::int64_t stamp_ = 0;
  std::int64_t largest_extension_ = 0;
  std::vector<Extension> extensions_;
  std::int64_t base_cost_;
  Random random_{24};
};

}  // namespace

std::int64_t SearchByMoves(const Problem& problem, std::span<const OpIndex> start,
                           const std::vector<std::vector<OpIndex>>& others,
                           std::int64_t floor_bytes, std::int64_t max_moves, const Limits& limits,
                           const std::function<void(const std::vector<OpIndex>& sequence)>& found) {
  return MoveSearch(problem, max_moves, limits, found).Run(start, others, floor_bytes);
}

}  // namespace neap::rematerialise
