// SPDX-License-Identifier: Apache-2.0
//
// Lists: operators start at the ends of others, by the rank of each, as far as a cap of bytes
// allows it.
#include <algorithm>
#include <limits>
#include <numeric>

#include "neap/base/index.h"
#include "neap/base/random.h"
#include "neap/base/work.h"
#include "neap/solve/units/instance.h"

namespace neap::units {
namespace {

constexpr std::int64_t kNoCap = std::numeric_limits<std::int64_t>::max();

struct Run {
  OpIndex op = 0;
  std::int64_t end = 0;
};

// One list schedule.
class Lister {
 public:
  explicit Lister(const Instance& instance) : instance_(instance) {}

  // `in_order`: no operator starts before one of a smaller rank has started. False where it is
  // stuck: nothing runs, and nothing may start.
  bool Make(const std::vector<OpIndex>& sequence, std::int64_t cap, bool in_order) {
    Reset(cap);
    std::vector<OpIndex> waiting = sequence;
    while (true) {
      Start(&waiting, in_order);
      if (running_.empty()) return waiting.empty();
      Advance();
    }
  }
  const std::vector<std::int64_t>& start() const { return start_; }

 private:
  void Reset(std::int64_t cap) {
    const Problem& problem = *instance_.problem;
    cap_ = cap;
    time_ = 0;
    live_ = 0;
    running_.clear();
    start_.assign(instance_.size(), 0);
    missing_.resize(instance_.size());
    for (std::size_t op = 0; op < instance_.size(); ++op) {
      missing_[op] = instance_.before[op].size();
    }
    begun_.assign(problem.graph.buffers.size(), false);
    users_left_.resize(problem.graph.buffers.size());
    for (std::size_t b = 0; b < users_left_.size(); ++b) {
      const schedule::Buffer& buffer = problem.graph.buffers[b];
      users_left_[b] = buffer.users.size();
      begun_[b] = buffer.live_at_start;
      if (buffer.live_at_start && (buffer.live_at_end || !buffer.users.empty())) {
        live_ += buffer.bytes;
      }
    }
  }
  std::int64_t Scratch(OpIndex op) const {
    const auto& scratch = instance_.problem->graph.scratch_bytes;
    return scratch.empty() ? 0 : scratch[At(op)];
  }
  std::int64_t Added(OpIndex op) const {
    std::int64_t bytes = Scratch(op);
    for (const std::size_t b : instance_.buffers_of[At(op)]) {
      if (!begun_[b]) bytes += instance_.problem->graph.buffers[b].bytes;
    }
    return bytes;
  }
  void Start(std::vector<OpIndex>* waiting, bool in_order) {
    std::size_t kept = 0;
    bool closed = false;
    for (const OpIndex op : *waiting) {
      const bool room = running_.size() < static_cast<std::size_t>(instance_.problem->units);
      if (closed || !room || missing_[At(op)] > 0 || Added(op) > cap_ - live_) {
        (*waiting)[kept++] = op;
        closed = closed || in_order;
        continue;
      }
      live_ += Added(op);
      for (const std::size_t b : instance_.buffers_of[At(op)]) begun_[b] = true;
      start_[At(op)] = time_;
      running_.push_back({op, time_ + instance_.problem->durations[At(op)]});
    }
    waiting->resize(kept);
  }
  void Advance() {
    time_ = kNoCap;
    for (const Run& run : running_) time_ = std::min(time_, run.end);
    std::size_t kept = 0;
    for (const Run& run : running_) {
      if (run.end > time_) {
        running_[kept++] = run;
        continue;
      }
      live_ -= Scratch(run.op);
      for (const std::size_t b : instance_.buffers_of[At(run.op)]) {
        const schedule::Buffer& buffer = instance_.problem->graph.buffers[b];
        if (--users_left_[b] == 0 && !buffer.live_at_end) live_ -= buffer.bytes;
      }
      for (const OpIndex next : instance_.after[At(run.op)]) --missing_[At(next)];
    }
    running_.resize(kept);
  }

  const Instance& instance_;
  std::int64_t cap_ = 0;
  std::int64_t time_ = 0;
  std::int64_t live_ = 0;
  std::vector<Run> running_;
  std::vector<std::int64_t> start_;
  std::vector<std::size_t> missing_;
  std::vector<bool> begun_;
  std::vector<std::size_t> users_left_;
};

class Improver {
 public:
  Improver(const Instance& instance, const Options& options, Outcome* outcome)
      : instance_(instance), options_(options), outcome_(*outcome), lister_(instance) {}

  // True if a better schedule came of it.
  bool Try(const std::vector<OpIndex>& sequence, std::int64_t cap) {
    bool better = false;
    for (const bool in_order : {true, false}) {
      if (!lister_.Make(sequence, cap, in_order)) continue;
      Schedule made = Complete(instance_, lister_.start());
      if (!IsWithin(options_, made.peak_bytes, made.makespan)) continue;
      if (outcome_.best && !IsBetter(options_.objective, made.peak_bytes, made.makespan,
                                     outcome_.best->peak_bytes, outcome_.best->makespan)) {
        continue;
      }
      outcome_.best = std::move(made);
      better = true;
    }
    return better;
  }

 private:
  const Instance& instance_;
  const Options& options_;
  Outcome& outcome_;
  Lister lister_;
};

std::vector<OpIndex> ByTail(const Instance& instance) {
  std::vector<OpIndex> out = instance.topological;
  std::vector<std::int64_t> rank(instance.size());
  for (std::size_t op = 0; op < instance.size(); ++op) {
    rank[op] = instance.tail[op] + instance.problem->durations[op];
  }
  std::stable_sort(out.begin(), out.end(),
                   [&](OpIndex a, OpIndex b) { return rank[At(a)] > rank[At(b)]; });
  return out;
}

// Moves one operator of `sequence` within the operators that it neither precedes nor follows.
void MoveOne(const Instance& instance, Random* random, std::vector<OpIndex>* sequence) {
  const std::size_t from = random->Below(sequence->size());
  const OpIndex op = (*sequence)[from];
  const auto is_in = [](const std::vector<OpIndex>& list, OpIndex other) {
    return std::find(list.begin(), list.end(), other) != list.end();
  };
  std::size_t low = from;
  while (low > 0 && !is_in(instance.before[At(op)], (*sequence)[low - 1])) --low;
  std::size_t high = from;
  while (high + 1 < sequence->size() && !is_in(instance.after[At(op)], (*sequence)[high + 1])) {
    ++high;
  }
  const std::size_t to = low + random->Below(high - low + 1);
  const auto begin = sequence->begin();
  const auto at = [&](std::size_t i) { return begin + static_cast<std::ptrdiff_t>(i); };
  if (to < from) std::rotate(at(to), at(from), at(from + 1));
  if (to > from) std::rotate(at(from), at(from + 1), at(to + 1));
}

}  // namespace

void ImproveByLists(const Instance& instance, const std::vector<OpIndex>& sequence,
                    const Options& options, Outcome* outcome) {
  if (instance.size() == 0) return;
  Improver improver(instance, options, outcome);
  const std::int64_t limit = options.peak_limit < 0 ? kNoCap : options.peak_limit;
  const std::vector<OpIndex> lists[] = {sequence, ByTail(instance)};
  // Caps from the minimum peak of one unit to none, each an eighth above the one before it.
  const std::int64_t least = std::max<std::int64_t>(outcome->peak_lower_bound, 1);
  for (const auto& list : lists) {
    improver.Try(list, limit);
    std::int64_t cap = least;
    for (int i = 0; i < 32 && cap < limit; ++i, cap += cap / 8 + 1) improver.Try(list, cap);
  }
  const auto size =
      static_cast<std::int64_t>(instance.size() + instance.problem->graph.buffers.size());
  constexpr std::int64_t kSteps = 2'000'000;
  const std::int64_t rounds = std::clamp<std::int64_t>(kSteps / (size * size / 8 + size), 8, 500);
  Random random(1);
  const auto end = options.limits.EndOfSearch(LimitNow());
  std::vector<OpIndex> kept[] = {lists[0], lists[1]};
  for (std::int64_t round = 0; round < rounds; ++round) {
    if (options.limits.Interrupted() || (options.limits.HasTimeLimit() && LimitNow() > end)) {
      outcome->interrupted = true;
      return;
    }
    std::vector<OpIndex>& base = kept[round % 2];
    std::vector<OpIndex> changed = base;
    for (std::uint64_t moves = 1 + random.Below(3); moves > 0; --moves) {
      MoveOne(instance, &random, &changed);
    }
    std::int64_t cap = limit;
    if (options.objective == Objective::kPeak && outcome->best) {
      cap = std::min(cap, outcome->best->peak_bytes - static_cast<std::int64_t>(random.Below(2)));
    }
    if (improver.Try(changed, cap)) base = changed;
  }
}

}  // namespace neap::units
