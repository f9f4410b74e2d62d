// SPDX-License-Identifier: Apache-2.0
//
// Steps of Deliver(): plans without tiles and streams, of the rewritten model and of the model as
// given.
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neap/deliver/found.h"
#include "neap/plan/profile.h"
#include "neap/transform/rewrite/rewrite.h"

namespace neap::deliver {
namespace {

// Of the order search whose bound may show that the model as given needs no placement.
constexpr std::int64_t kStatesOfALook = 20'000;

// Where nothing overlaps inside operators, an arena is no smaller than the peak of its order, so
// that a bound of the peak may show that the model as given need not be placed.
bool CannotBeBetterAsGiven(const Job& job, const Limits& share, const Found& found) {
  const compile::Options& options = job.options;
  const bool overlaps =
      options.place && (options.kernels != ops::KernelLibrary::kNone ||
                        plan::ProfileOf(options.runtime).kernels != ops::KernelLibrary::kNone);
  const bool of_total = job.request.budgets.CountsTotal();
  if (overlaps || of_total || !options.memories.empty() || options.order != "exact") return false;
  if (!found.best_measure.fits || !found.best_measure.known) return false;
  compile::Options quick = options;
  quick.limits = share;
  quick.limits.max_states = kStatesOfALook;
  const auto before = compile::FindPeak(job.source.graph, quick, false);
  return before && found.best_measure.bytes < before->lower_bound_bytes;
}

// Where a plan is known and no plan of the model as given can be better, it is not planned.
Status PlanAsGiven(const Job& job, const Limits& share, Found* found) {
  if (found->as_given_tried || found->error) return {};
  const StepTimer timer("as given", found);
  if (found->best && (IsInterrupted(job, found) || CannotBeBetterAsGiven(job, share, *found))) {
    return {};
  }
  Delivery candidate;
  candidate.options = job.options;
  candidate.options.limits = share;
  found->as_given_tried = true;
  auto compiled = compile::Compile(job.source.graph, candidate.options);
  if (!compiled) return NotePlanError(std::move(compiled).error(), found);
  found->file_order = compiled->file_order;
  if (job.streams == Use::kIfNeeded) found->layers = *compiled;
  candidate.compiled = std::move(*compiled);
  Offer(job, std::move(candidate), found);
  return {};
}

void CompileRewritten(const Job& job, const Limits& share, Rewritten rewritten, Found* found) {
  Delivery candidate;
  candidate.kind = Kind::kRewritten;
  candidate.options = job.options;
  candidate.options.limits = WithShareOfTime(share, 1, 2);
  std::optional<WorkScope> work(std::in_place, 1, 2);
  auto compiled = compile::Compile(rewritten.model.graph, candidate.options);
  work.reset();
  if (!compiled) return;
  candidate.compiled = std::move(*compiled);
  candidate.compiled.plan.rewrites = rewritten.applications;
  candidate.compiled.plan.accumulator_bytes = rewritten.accumulator_bytes;
  candidate.compiled.plan.rewritten_sha256 = rewritten.rewritten_sha256;
  candidate.edited = std::move(rewritten.model);
  rewritten.model = {};
  candidate.rewriting = std::move(rewritten);
  Offer(job, std::move(candidate), found);
}

// Fewer rules where all of them give no better plan: a smaller peak may have a larger arena.
Status PlanRewritten(const Job& job, const Limits& share, Found* found) {
  if (IsInterrupted(job, found)) return {};
  compile::Options search = job.options;
  search.limits = WithShareOfTime(share, 1, 2);
  search.order = "exact";
  RewriteSettings wanted = job.request.rewriting;
  std::string left_out;
  for (const std::vector<std::string>& rules : rewrite::RuleSets(job.request.rewriting.rules)) {
    wanted.rules = rules;
    {
      const StepTimer timer("rewrite", found);
      std::optional<WorkScope> work(std::in_place, 1, 2);
      auto rewritten =
          Rewrite(job.source, search, wanted, job.request.sums_in_place, job.request.load);
      work.reset();
      if (!rewritten) {
        // A graph without sizes fails as it is given, with a better message.
        if (rewritten.error().code != ErrorCode::kBadInput) break;
        left_out = "rewrites are left out: " + rewritten.error().message;
        continue;
      }
      if (rewritten->applications.empty()) break;
      CompileRewritten(job, share, std::move(*rewritten), found);
    }
    NEAP_CHECK_OK(PlanAsGiven(job, share, found));
    if (found->best && found->best->kind == Kind::kRewritten) break;
  }
  if (!left_out.empty()) found->notes.push_back(std::move(left_out));
  return {};
}

}  // namespace

Status PlanWhole(const Job& job, Found* found) {
  const WorkScope work = ShareOfWork(*found);
  const Limits share = TakeShareOfTime(job, found);
  if (job.request.rewriting.any) NEAP_CHECK_OK(PlanRewritten(job, share, found));
  return PlanAsGiven(job, share, found);
}

}  // namespace neap::deliver
