// SPDX-License-Identifier: Apache-2.0
//
// Steps of Deliver(): plans with features that the request does not state for every plan. Without
// tiles; those with tiles are in tiled.cc.
#include <algorithm>
#include <utility>

#include "neap/deliver/found.h"

namespace neap::deliver {
namespace {

bool IsWanted(const Job& job, const Found& found) {
  switch (job.request.use_extras) {
    case Use::kNever:
      return false;
    case Use::kIfNeeded:
      return Misses(found);
    case Use::kAlways:
      return true;
  }
  return false;
}

// Overlaps need addresses of Neap, and exclude moves.
bool MayOverlap(const Job& job) {
  const compile::Options& options = job.options;
  return job.request.extras.kernels != ops::KernelLibrary::kNone &&
         options.kernels == ops::KernelLibrary::kNone &&
         options.moves == compile::MoveStrategy::kNone && options.place && options.memory_plan;
}

// The models whose plans without tiles and streams are known: nullptr is the one as given.
std::vector<const Rewritten*> Bases(const Found& found) {
  std::vector<const Rewritten*> bases = {nullptr};
  if (found.rewritten) bases.push_back(&*found.rewritten);
  return bases;
}

// No order of the base has a peak within the budgets.
bool PeakExceeds(const Job& job, const Found& found) {
  const Kind kind = job.base == nullptr ? Kind::kAsGiven : Kind::kRewritten;
  return std::any_of(found.tried.begin(), found.tried.end(), [&](const Tried& tried) {
    return tried.kind == kind && tried.extras == Extras() &&
           Exceeds(job.request.budgets, tried.peak_lower_bound_bytes);
  });
}

void PlanBase(const Job& job, Found* found) {
  Delivery candidate;
  candidate.options = job.options;
  auto compiled = compile::Compile(job.Planned().graph, candidate.options);
  if (!compiled) return;
  candidate.compiled = std::move(*compiled);
  Offer(job, std::move(candidate), found);
}

// `job` has the extras. Bases that a bound excludes are not planned.
template <typename Excludes>
Status PlanBases(Job job, const Excludes& excludes, Found* found) {
  const WorkScope work = ShareOfWork(*found);
  job.options.limits = TakeShareOfTime(job, found);
  const std::vector<const Rewritten*> bases = Bases(*found);
  for (std::size_t i = 0; i < bases.size(); ++i) {
    if (IsInterrupted(job, found)) return {};
    job.base = bases[i];
    if (excludes(job)) continue;
    const WorkScope share(1, static_cast<std::int64_t>(bases.size() - i));
    PlanBase(job, found);
  }
  return {};
}

}  // namespace

bool OverlapIsDue(const Job& job, const Found& found) {
  return IsWanted(job, found) && MayOverlap(job);
}

Status PlanOverlapped(const Job& job, Found* found) {
  Job overlapped = job;
  overlapped.extras.kernels = job.request.extras.kernels;
  overlapped.options.kernels = job.request.extras.kernels;
  const auto excludes = [](const Job& one) {
    return Exceeds(one.request.budgets, LargestTensor(one.Planned().graph));
  };
  return PlanBases(std::move(overlapped), excludes, found);
}

bool MovesAreDue(const Job& job, const Found& found) {
  const compile::Options& options = job.options;
  return IsWanted(job, found) && job.request.extras.moves != compile::MoveStrategy::kNone &&
         options.moves == compile::MoveStrategy::kNone &&
         options.kernels == ops::KernelLibrary::kNone && options.memories.empty() && options.place;
}

Status PlanMoved(const Job& job, Found* found) {
  Job moved = job;
  moved.extras.moves = job.request.extras.moves;
  moved.options.moves = job.request.extras.moves;
  const auto excludes = [&](const Job& one) { return PeakExceeds(one, *found); };
  return PlanBases(std::move(moved), excludes, found);
}

bool OverlappedTilesAreDue(const Job& job, const Found& found) {
  // Tiles have the overlaps of copies as they are.
  return IsWanted(job, found) && job.tiles != Use::kNever && MayOverlap(job) &&
         job.request.extras.kernels != ops::KernelLibrary::kCopies;
}

bool SharedBodiesAreDue(const Job& job, const Found& found) {
  return IsWanted(job, found) && job.tiles != Use::kNever && job.request.extras.shared_bodies &&
         job.request.tiling.bodies == cascade::TileBodies::kClones && job.options.memory_plan;
}

}  // namespace neap::deliver
