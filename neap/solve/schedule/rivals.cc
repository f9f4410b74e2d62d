// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/rivals.h"

#include <algorithm>
#include <cstddef>
#include <thread>
#include <utility>

#include "neap/solve/schedule/beam.h"
#include "neap/solve/schedule/symmetry.h"

namespace neap::schedule {
namespace {

constexpr std::int64_t kFirstSlice = 64;
// A thread costs about as much as these.
constexpr std::int64_t kStatesWorthAThread = 1'000;
// Those whose progress is this many times less than the best one's are left out.
constexpr std::int64_t kFarBehind = 8;
// Single operators forward are worth a try on narrow problems only, which end soon.
constexpr std::int64_t kNarrowStates = 8'000;
// Fused operators with much extra make more moves than fusion saves: at most one in so many.
constexpr std::int64_t kOneTallIn = 10;

}  // namespace

Rivals::Rivals(const Problem& problem, const Instance& forward, std::int64_t unit,
               std::int64_t max_table_bytes)
    : forward_(forward),
      unit_(unit),
      max_table_bytes_(max_table_bytes),
      fusion_(Fuse(problem, forward, unit)),
      fused_forward_(fusion_.problem, fusion_.stages, unit, false),
      fused_backward_(fusion_.problem, fusion_.stages, unit, true) {
  AddSingle();
}

void Rivals::AddSingle() {
  Add(&fused_forward_, false, true, false);
  rivals_.back().narrow_only = true;
  Add(&fused_backward_, true, true, false);
}

void Rivals::Add(const Instance* instance, bool reversed, bool fused, bool next_freed) {
  Rival& rival = rivals_.emplace_back();
  rival.instance = instance;
  rival.reversed = reversed;
  rival.fused = fused;
  rival.expander = std::make_unique<Expander>(*instance, next_freed);
}

bool Rivals::BreakSymmetries() {
  const auto found = schedule::BreakSymmetries(fusion_.problem, fusion_.stages);
  if (found.empty()) return false;
  auto& precedences = fusion_.problem.precedences;
  precedences.insert(precedences.end(), found.begin(), found.end());
  rivals_.clear();
  fused_forward_ = Instance(fusion_.problem, fusion_.stages, unit_, false);
  fused_backward_ = Instance(fusion_.problem, fusion_.stages, unit_, true);
  AddSingle();
  return true;
}

// Once the searches over single operators have not ended soon.
void Rivals::AddNextFreed() {
  if (rivals_.size() > 2) return;
  Add(&fused_forward_, false, true, true);
  const Expander& fused = *rivals_.back().expander;
  const bool is_light = fused.next_freed() && fused.tall() * kOneTallIn <= fused_forward_.num_ops();
  if (!is_light) {
    rivals_.pop_back();
    Add(&forward_, false, false, true);
  }
  // Single operators after all: the first rival.
  if (!rivals_.back().expander->next_freed()) {
    rivals_.pop_back();
    rivals_.front().narrow_only = false;
  }
}

Decider& Rivals::DeciderOf(Rival* rival, Aim aim) const {
  auto& decider = rival->deciders[static_cast<std::size_t>(aim)];
  if (!decider) {
    decider =
        std::make_unique<Decider>(*rival->instance, rival->expander.get(), max_table_bytes_ / 4);
  }
  return *decider;
}

void Rivals::RunSlice(const std::vector<Rival*>& active, Aim aim, std::int64_t budget,
                      std::int64_t states, Stopper* stopper) {
  std::vector<Stopper> stoppers(active.size(), stopper->Child());
  const auto run = [&](std::size_t i) {
    Rival& rival = *active[i];
    rival.answer = {};
    rival.answer.verdict =
        DeciderOf(&rival, aim).Decide(budget, states, &stoppers[i], &rival.answer.order);
    rival.states = stoppers[i].states();
  };
  const bool side_by_side =
      stopper->limits().threads > 1 && states >= kStatesWorthAThread && active.size() > 1;
  if (side_by_side) {
    const auto threads =
        std::min<std::size_t>(static_cast<std::size_t>(stopper->limits().threads), active.size());
    std::vector<std::thread> workers;
    for (std::size_t t = 1; t < threads; ++t) {
      workers.emplace_back([&, t] {
        for (std::size_t i = t; i < active.size(); i += threads) run(i);
      });
    }
    for (std::size_t i = 0; i < active.size(); i += threads) run(i);
    for (std::thread& worker : workers) worker.join();
  } else {
    for (std::size_t i = 0; i < active.size(); ++i) run(i);
  }
  for (const Rival* rival : active) stopper->Charge(rival->states);
}

Answer Rivals::Decide(Aim aim, std::int64_t budget, std::int64_t states, Stopper* stopper) {
  if (states > kNarrowStates / 4) AddNextFreed();
  std::vector<Rival*> active;
  for (Rival& rival : rivals_) {
    if (!rival.narrow_only || states <= kNarrowStates) active.push_back(&rival);
  }
  bool is_cut = false;
  std::int64_t given = 0;
  for (std::int64_t slice = kFirstSlice; given < states; slice = given) {
    // Where max_states ends the search, all of them stop at the same place.
    const auto rivals = static_cast<std::int64_t>(active.size());
    const std::int64_t most = stopper->Remaining(std::min(slice, states - given) * rivals);
    if (most < rivals) active.resize(static_cast<std::size_t>(most));
    slice = std::max<std::int64_t>(most / rivals, 1);
    RunSlice(active, aim, budget, slice, stopper);
    for (Rival* rival : active) {
      if (rival->answer.verdict == Verdict::kUnknown) continue;
      Answer answer = std::move(rival->answer);
      answer.order = InOrder(*rival, std::move(answer.order));
      answer.reversed = rival->reversed;
      return answer;
    }
    given += slice;
    if (stopper->stopped()) break;
    if (is_cut || given < states / 4 || active.size() < 2) continue;
    is_cut = true;
    std::int64_t best = 0;
    for (Rival* rival : active) best = std::max(best, DeciderOf(rival, aim).Progress());
    std::erase_if(
        active, [&](Rival* rival) { return DeciderOf(rival, aim).Progress() < best / kFarBehind; });
  }
  std::int64_t& progress = progress_[static_cast<std::size_t>(aim)];
  progress = 0;
  for (Rival* rival : active) progress = std::max(progress, DeciderOf(rival, aim).Progress());
  return {};
}

std::vector<OpIndex> Rivals::Expand(const std::vector<OpIndex>& order) const {
  std::vector<OpIndex> all;
  for (const OpIndex op : order) {
    const auto& ops = fusion_.ops[static_cast<std::size_t>(op)];
    all.insert(all.end(), ops.begin(), ops.end());
  }
  return all;
}

// As operators of the problem, forward.
std::vector<OpIndex> Rivals::InOrder(const Rival& rival, std::vector<OpIndex> order) const {
  if (rival.reversed) std::reverse(order.begin(), order.end());
  return rival.fused ? Expand(order) : order;
}

std::vector<OpIndex> Rivals::BeamOf(Rival* rival, std::int64_t budget, std::size_t width,
                                    Stopper* stopper) {
  return InOrder(*rival,
                 BeamSearch(*rival->instance, rival->expander.get(), budget, width, stopper));
}

std::vector<OpIndex> Rivals::Greedy(bool reversed, std::int64_t budget, Stopper* stopper) {
  return BeamOf(&rivals_[reversed ? 1 : 0], budget, 1, stopper);
}

std::vector<OpIndex> Rivals::Beam(std::int64_t budget, std::size_t width, Stopper* stopper) {
  AddNextFreed();
  for (auto rival = rivals_.rbegin(); rival != rivals_.rend(); ++rival) {
    std::vector<OpIndex> order = BeamOf(&*rival, budget, width, stopper);
    if (!order.empty() || stopper->stopped()) return order;
  }
  return {};
}

}  // namespace neap::schedule
