// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/memories.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/budget.h"
#include "neap/solve/arena/pair_table.h"

namespace neap::arena {
namespace {

constexpr std::int64_t kNoCost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kStatesPerPlacement = 20'000;
constexpr std::size_t kMaxMembers = 4'000'000;
// In about nanoseconds.
constexpr std::int64_t kStateCost = 1000;
constexpr std::int64_t kMemberCost = 5;
constexpr MemoryIndex kUndecided = -1;

// A buffer that is live at a crowded step, with the bytes that it adds to those before it
// (LoadLowerBound proves that they may be counted one by one).
struct Member {
  std::size_t buffer = 0;
  std::int64_t bytes = 0;
};

// The largest sets of buffers that are live at one step; not all of them where they are too many,
// which makes bounds weaker, but not wrong.
std::vector<std::vector<Member>> CrowdedSteps(const Problem& problem) {
  const PairTable table(problem);
  const auto& buffers = problem.buffers;
  std::vector<std::tuple<Step, bool, std::size_t>> events;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].bytes == 0 || buffers[i].first == buffers[i].last) continue;
    events.emplace_back(buffers[i].first, true, i);
    events.emplace_back(buffers[i].last, false, i);
  }
  std::sort(events.begin(), events.end());
  std::vector<std::vector<Member>> steps;
  std::vector<std::size_t> live;  // by first step, then index
  bool started = false;
  std::size_t num_members = 0;
  for (const auto& [step, starts, buffer] : events) {
    if (starts) {
      live.push_back(buffer);
      started = true;
      continue;
    }
    if (std::exchange(started, false) && num_members < kMaxMembers) {
      num_members += live.size();
      std::vector<Member> members;
      for (std::size_t i = 0; i < live.size(); ++i) {
        std::int64_t bytes = buffers[live[i]].bytes;
        const auto self = static_cast<BufferIndex>(live[i]);
        for (std::size_t j = 0; j < i && !table.Of(self).empty(); ++j) {
          bytes -= table.MostShared(self, buffers[live[i]].bytes, static_cast<BufferIndex>(live[j]),
                                    buffers[live[j]].bytes);
        }
        members.push_back({live[i], std::max<std::int64_t>(bytes, 0)});
      }
      steps.push_back(std::move(members));
    }
    live.erase(std::find(live.begin(), live.end(), buffer));
  }
  return steps;
}

class MemorySearch {
 public:
  MemorySearch(const MemoryProblem& problem, const Limits& limits)
      : problem_(problem),
        limits_(limits),
        budget_(limits),
        steps_(CrowdedSteps(problem.problem)),
        num_memories_(problem.capacities_bytes.size()) {
    budget_.SetFewSeconds(2'000'000);
    std::int64_t members = 0;
    for (const auto& step : steps_) members += static_cast<std::int64_t>(step.size());
    budget_.SetStateCost(kStateCost + members * kMemberCost);
    const std::size_t num_buffers = problem.problem.buffers.size();
    memories_.assign(num_buffers, kUndecided);
    used_in_.assign(num_buffers, 0);
    for (std::size_t i = 0; i < num_buffers; ++i) choices_.push_back(ChoicesOf(i));
    order_.resize(num_buffers);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return Regret(a) > Regret(b); });
  }

  MemoryOutcome Run() {
    MemoryOutcome outcome;
    const bool possible = std::none_of(choices_.begin(), choices_.end(),
                                       [](const auto& choices) { return choices.empty(); });
    const std::int64_t root_bound = possible ? Bound() : kNoCost;
    const bool complete = root_bound == kNoCost || Search();
    outcome.best = std::move(best_);
    outcome.states = budget_.states();
    const std::int64_t open = complete ? unresolved_cost_ : root_bound;
    const std::int64_t found = outcome.best ? outcome.best->cost : kNoCost;
    const std::int64_t bound = std::min(open, found);
    outcome.impossible = bound == kNoCost;
    outcome.lower_bound_cost = outcome.impossible ? 0 : std::max(bound, root_bound);
    return outcome;
  }

 private:
  struct Branch {
    std::size_t depth = 0;  // decides order_[depth]
    std::size_t next_choice = 0;
  };

  // Memories into which the buffer alone fits, the cheapest first.
  std::vector<MemoryIndex> ChoicesOf(std::size_t buffer) const {
    const Buffer& data = problem_.problem.buffers[buffer];
    std::vector<MemoryIndex> choices;
    for (std::size_t m = 0; m < num_memories_; ++m) {
      if (problem_.CostOf(buffer, m) == MemoryProblem::kNotAllowed) continue;
      if (data.fixed_offset.value_or(0) + data.bytes > problem_.capacities_bytes[m]) continue;
      choices.push_back(static_cast<MemoryIndex>(m));
    }
    std::stable_sort(choices.begin(), choices.end(), [&](MemoryIndex a, MemoryIndex b) {
      return CostOf(buffer, a) < CostOf(buffer, b);
    });
    return choices;
  }
  std::int64_t CostOf(std::size_t buffer, MemoryIndex memory) const {
    return problem_.CostOf(buffer, static_cast<std::size_t>(memory));
  }
  // The extra cost of the buffer in the second cheapest memory.
  std::int64_t Regret(std::size_t buffer) const {
    const auto& choices = choices_[buffer];
    if (choices.size() < 2) return kNoCost;
    return CostOf(buffer, choices[1]) - CostOf(buffer, choices[0]);
  }

  // False when a limit ended the search.
  bool Search() {
    if (order_.empty()) {
      Place();
      return true;
    }
    std::vector<Branch> branches = {{0, 0}};
    while (!branches.empty()) {
      Branch& branch = branches.back();
      const std::size_t buffer = order_[branch.depth];
      if (branch.next_choice == choices_[buffer].size()) {
        memories_[buffer] = kUndecided;
        branches.pop_back();
        continue;
      }
      memories_[buffer] = choices_[buffer][branch.next_choice++];
      if (!budget_.Spend(1)) return false;
      if (Bound() >= (best_ ? best_->cost : kNoCost)) continue;
      if (branch.depth + 1 < order_.size()) {
        branches.push_back({branch.depth + 1, 0});
      } else {
        Place();
      }
    }
    return true;
  }

  // Lower bound of all completions of the decisions; kNoCost: none fits.
  std::int64_t Bound() {
    std::int64_t bound = 0;
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      const MemoryIndex memory = memories_[i];
      bound += CostOf(i, memory == kUndecided ? choices_[i].front() : memory);
    }
    std::vector<std::pair<std::int64_t, std::size_t>> relief;  // least additional cost of a step
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const std::int64_t cost = ReliefOf(steps_[s]);
      if (cost == kNoCost) return kNoCost;
      if (cost > 0) relief.emplace_back(-cost, s);
    }
    std::sort(relief.begin(), relief.end());
    ++round_;
    for (const auto& [minus_cost, step] : relief) {
      // Buffers that are decided move nowhere, so only the others must not be counted twice.
      const bool apart =
          std::none_of(steps_[step].begin(), steps_[step].end(), [&](const Member& member) {
            return memories_[member.buffer] == kUndecided && used_in_[member.buffer] == round_;
          });
      if (!apart) continue;
      for (const Member& member : steps_[step]) used_in_[member.buffer] = round_;
      bound -= minus_cost;
    }
    return bound;
  }

  // Lower bound of the cost of reducing the step's load in every memory to its capacity: the
  // cheapest bytes move first, the last ones as a fraction.
  std::int64_t ReliefOf(const std::vector<Member>& step) {
    std::int64_t relief = 0;
    for (std::size_t m = 0; m < num_memories_; ++m) {
      std::int64_t excess = -problem_.capacities_bytes[m];
      movable_.clear();
      for (const Member& member : step) {
        const MemoryIndex memory = memories_[member.buffer];
        const MemoryIndex here = memory == kUndecided ? choices_[member.buffer].front() : memory;
        if (static_cast<std::size_t>(here) != m) continue;
        excess += member.bytes;
        if (memory == kUndecided && choices_[member.buffer].size() > 1) movable_.push_back(member);
      }
      if (excess <= 0) continue;
      std::sort(movable_.begin(), movable_.end(),
                [&](const Member& a, const Member& b) { return Ratio(a, b) < Ratio(b, a); });
      for (const Member& member : movable_) {
        if (excess <= 0) break;
        const std::int64_t bytes = std::min(excess, member.bytes);
        if (bytes == 0) continue;
        const Wide cost = static_cast<Wide>(Regret(member.buffer)) * bytes;
        relief += static_cast<std::int64_t>(cost / member.bytes);  // rounded down
        excess -= bytes;
      }
      if (excess > 0) return kNoCost;
    }
    return relief;
  }

  __extension__ using Wide = __int128;
  // Compares regret per byte without division.
  Wide Ratio(const Member& a, const Member& b) const {
    return static_cast<Wide>(Regret(a.buffer)) * b.bytes;
  }

  // Everything is decided and costs less than the best: places each memory.
  void Place() {
    MemoryPlacement placement;
    placement.memories = memories_;
    placement.offsets.assign(memories_.size(), 0);
    for (std::size_t i = 0; i < memories_.size(); ++i) placement.cost += CostOf(i, memories_[i]);
    bool proven_not_to_fit = false;
    bool fits = true;
    for (std::size_t m = 0; m < num_memories_ && !proven_not_to_fit; ++m) {
      std::vector<std::size_t> buffers;
      const Problem here = ProblemOf(static_cast<MemoryIndex>(m), buffers);
      SolveOptions options;
      options.limits = limits_;
      options.limits.max_states = kStatesPerPlacement;
      options.limits.observer = nullptr;
      options.goal_bytes = problem_.capacities_bytes[m];
      const Outcome outcome = Solve(here, options);
      budget_.Spend(outcome.states + 1);
      proven_not_to_fit = outcome.lower_bound_bytes > problem_.capacities_bytes[m];
      fits = fits && outcome.placement.height_bytes <= problem_.capacities_bytes[m];
      placement.heights_bytes.push_back(outcome.placement.height_bytes);
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        placement.offsets[buffers[i]] = outcome.placement.offsets[i];
      }
    }
    if (proven_not_to_fit) return;
    if (fits) {
      best_ = std::move(placement);
    } else {
      unresolved_cost_ = std::min(unresolved_cost_, placement.cost);
    }
  }

  Problem ProblemOf(MemoryIndex memory, std::vector<std::size_t>& buffers) const {
    Problem here;
    std::vector<BufferIndex> index_of(memories_.size(), -1);
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      if (memories_[i] != memory) continue;
      index_of[i] = static_cast<BufferIndex>(buffers.size());
      buffers.push_back(i);
      here.buffers.push_back(problem_.problem.buffers[i]);
    }
    for (const PairRule& rule : problem_.problem.pairs) {
      const BufferIndex a = index_of[static_cast<std::size_t>(rule.a)];
      const BufferIndex b = index_of[static_cast<std::size_t>(rule.b)];
      if (a >= 0 && b >= 0) here.pairs.push_back({a, b, rule.low, rule.high});
    }
    return here;
  }

  const MemoryProblem& problem_;
  const Limits& limits_;
  Budget budget_;
  std::vector<std::vector<Member>> steps_;
  std::size_t num_memories_;
  std::vector<std::vector<MemoryIndex>> choices_;
  std::vector<std::size_t> order_;
  std::vector<MemoryIndex> memories_;
  std::vector<Member> movable_;
  std::vector<std::int64_t> used_in_;  // by buffer: the last Bound() that counted it
  std::int64_t round_ = 0;
  std::optional<MemoryPlacement> best_;
  std::int64_t unresolved_cost_ =
      kNoCost;  // least of assignments that were neither placed nor refuted
};

}  // namespace

MemoryOutcome SolveMemories(const MemoryProblem& problem, const Limits& limits) {
  const auto wrong = Validate(problem);
  NEAP_CHECK(!wrong, wrong.value_or(""));
  return MemorySearch(problem, limits).Run();
}

}  // namespace neap::arena
