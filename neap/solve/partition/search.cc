// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/search.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "neap/base/index.h"
#include "neap/base/work.h"
#include "neap/solve/partition/check.h"

namespace neap::partition {
namespace {

constexpr std::int64_t kStatesOfAFewSeconds = 40'000'000;
constexpr std::int64_t kStatesBetweenLooks = 1 << 12;

}  // namespace

StateBudget::StateBudget(const Limits& limits)
    : limits_(limits),
      max_states_(limits.max_states == kStatesForAFewSeconds ? kStatesOfAFewSeconds
                  : limits.max_states == 0                   ? kNever
                                                             : limits.max_states),
      allowed_(max_states_),
      end_(limits.EndOfSearch(LimitNow())) {}

bool StateBudget::Spend() {
  ++states_;
  if (states_ > allowed_) return false;
  if (states_ % kStatesBetweenLooks != 0) return !interrupted_;
  if (limits_.Interrupted()) interrupted_ = true;
  if (limits_.HasTimeLimit() && LimitNow() >= end_) interrupted_ = true;
  return !interrupted_;
}

void StateBudget::Allow(std::int64_t states) {
  allowed_ = states > max_states_ - std::min(states_, max_states_) ? max_states_ : states_ + states;
}

bool RestMayFit(const Machine& machine, std::int64_t compute, std::int64_t parameters, Stage stages,
                std::int64_t most) {
  if (stages == 0 || most < machine.fixed_cost) return false;
  const std::int64_t streamed =
      std::max<std::int64_t>(parameters - stages * machine.cache_bytes, 0);
  const std::int64_t work = compute + machine.stream_cost_per_byte * streamed;
  return (work + stages - 1) / stages <= most - machine.fixed_cost;
}

DownsetSearch::DownsetSearch(const Problem& problem, StateBudget* budget)
    : problem_(problem),
      budget_(budget),
      lattice_(problem),
      lists_(problem),
      load_(problem, lists_),
      width_(At(problem.num_stages) + 1),
      waiting_(At(problem.num_ops) + 1) {}

void DownsetSearch::Reserve() {
  const std::size_t sets = At(lattice_.size());
  best_.resize(sets * width_, kNever);
  from_.resize(sets * width_, Lattice::kUnknown);
  reached_.resize(sets, false);
  seen_.resize(sets, Lattice::kUnknown);
}

bool DownsetSearch::IsAlive(DownsetIndex set, Stage stages, std::int64_t bound) const {
  return Best(set, stages) < bound &&
         RestMayFit(problem_.machine, lattice_.RestCompute(set), lattice_.RestParameters(set),
                    problem_.num_stages - stages, bound - 1);
}

// With a stage of the current load, whose cost is below the bound.
void DownsetSearch::Reach(DownsetIndex from, DownsetIndex to) {
  const bool is_whole = lattice_.Operators(to) == problem_.num_ops;
  const bool shared = problem_.machine.shared_link;
  for (const Stage stages : alive_) {
    const std::int64_t whole = shared ? Best(from, stages) + load_.link_cost()
                                      : std::max(Best(from, stages), load_.cost());
    if (whole >= bound_ || whole >= Best(to, stages + 1)) continue;
    Best(to, stages + 1) = whole;
    from_[At(to) * width_ + At(stages) + 1] = from;
    if (!is_whole) continue;
    whole_ = to;
    // The use of a shared link is no bound for stages.
    if (!shared) bound_ = whole;
  }
  if (reached_[At(to)] || is_whole) return;
  reached_[At(to)] = true;
  waiting_[At(lattice_.Operators(to))].push_back(to);
}

// All stages below the bound that may follow `set`.
bool DownsetSearch::Expand(DownsetIndex set) {
  alive_.clear();
  for (Stage stages = 0; stages < problem_.num_stages; ++stages) {
    if (IsAlive(set, stages, bound_)) alive_.push_back(stages);
  }
  if (alive_.empty()) return true;
  bool in_budget = true;
  stack_.assign(1, {set, 0, kOutside});
  while (!stack_.empty()) {
    const DownsetIndex at = stack_.back().set;
    const std::size_t i = stack_.back().next++;
    if (!in_budget || i == lattice_.Ready(at).size()) {
      if (stack_.back().added != kOutside) load_.Remove(stack_.back().added);
      stack_.pop_back();
      continue;
    }
    const DownsetIndex known = lattice_.KnownGrown(at, i);
    if (known != Lattice::kUnknown && seen_[At(known)] == set) continue;
    const OpIndex op = lattice_.Ready(at)[i];
    in_budget = budget_->Spend();
    load_.Add(op);
    const DownsetIndex grown =
        load_.allowed() && load_.floor() < bound_ ? lattice_.Grown(at, i) : Lattice::kUnknown;
    if (grown != Lattice::kUnknown) Reserve();
    if (grown == Lattice::kUnknown || seen_[At(grown)] == set) {
      load_.Remove(op);
      continue;
    }
    seen_[At(grown)] = set;
    if (load_.cost() < bound_ && !load_.forbidden()) Reach(set, grown);
    stack_.push_back({grown, 0, op});
  }
  const std::int64_t memory =
      lattice_.MemoryBytes() + static_cast<std::int64_t>(best_.size() * 12 + seen_.size() * 5);
  return in_budget && memory <= budget_->max_memory_bytes();
}

bool DownsetSearch::Run(std::int64_t bound) {
  bound_ = bound;
  Reserve();
  Best(Lattice::kEmpty, 0) = 0;
  waiting_[0].push_back(Lattice::kEmpty);
  for (std::size_t operators = 0; operators < waiting_.size(); ++operators) {
    // Larger ones are appended to other lists while this one is gone through.
    for (std::size_t i = 0; i < waiting_[operators].size(); ++i) {
      if (!Expand(waiting_[operators][i])) return false;
    }
  }
  return true;
}

std::optional<Assignment> DownsetSearch::Found() const {
  if (whole_ == Lattice::kUnknown) return std::nullopt;
  Stage stages = 0;
  for (Stage s = 1; s <= problem_.num_stages; ++s) {
    if (Best(whole_, s) < Best(whole_, stages)) stages = s;
  }
  Assignment assignment;
  assignment.stage_of.assign(At(problem_.num_ops), 0);
  assignment.bottleneck = Best(whole_, stages);
  DownsetIndex set = whole_;
  for (Stage s = stages; s > 0; --s) {
    const DownsetIndex before = from_[At(set) * width_ + At(s)];
    for (OpIndex op = 0; op < problem_.num_ops; ++op) {
      if (lattice_.Has(set, op) && !lattice_.Has(before, op)) {
        assignment.stage_of[At(op)] = s - 1;
      }
    }
    set = before;
  }
  if (problem_.machine.shared_link) {
    assignment.bottleneck = Evaluate(problem_, assignment.stage_of).bottleneck;
  }
  return assignment;
}

Layers DownsetSearch::LayersBelow(std::int64_t bound) const {
  Layers layers(At(problem_.num_stages));
  const bool shared = problem_.machine.shared_link;
  for (DownsetIndex set = 0; set < static_cast<DownsetIndex>(reached_.size()); ++set) {
    for (Stage stages = 0; stages < problem_.num_stages; ++stages) {
      if (lattice_.Operators(set) < problem_.num_ops && IsAlive(set, stages, bound)) {
        layers[At(stages)].push_back({lattice_.Bits(set), shared ? Best(set, stages) : 0});
      }
    }
  }
  return layers;
}

}  // namespace neap::partition
