// SPDX-License-Identifier: Apache-2.0
//
// Steps of Deliver(): plans without tiles and streams, of the rewritten model and of the model as
// given.
#include <algorithm>
#include <chrono>
#include <cstddef>
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
  if (overlaps || of_total || !options.memories.empty() || options.order != compile::kExactOrder)
    return false;
  if (!found.best_measure.fits || !found.best_measure.known) return false;
  compile::Options quick = options;
  quick.limits = share;
  quick.limits.max_states = kStatesOfALook;
  const auto before = compile::FindPeak(job.source.graph, quick, false);
  return before && found.best_measure.bytes < before->lower_bound_bytes;
}

struct Planned {
  compile::Compiled compiled;
  compile::Options options;
};

// Moves add operators, whose records may outweigh the activations that they save: where total
// arenas are compared, the plan without moves may be better.
Result<Planned> PlanOf(const Job& job, const graph::Graph& graph, compile::Options options) {
  NEAP_TRY(compile::Compiled compiled, compile::Compile(graph, options));
  Planned moved{std::move(compiled), std::move(options)};
  if (!moved.compiled.edited || !job.request.budgets.CountsTotal()) return moved;
  Planned unmoved;
  unmoved.options = moved.options;
  unmoved.options.moves = compile::MoveStrategy::kNone;
  auto other = compile::Compile(graph, unmoved.options);
  if (!other) return moved;
  unmoved.compiled = std::move(*other);
  const auto measure = [&](const Planned& one) {
    return MeasureOf(graph, one.compiled, job.options.place, job.request.budgets);
  };
  return IsBetter(measure(unmoved), measure(moved)) ? std::move(unmoved) : std::move(moved);
}

// Where a plan is known and no plan of the model as given can be better, it is not planned.
Status PlanAsGiven(const Job& job, const Limits& share, Found* found) {
  if (found->as_given_tried || found->error) return {};
  const StepTimer timer("as given", found);
  if (found->best && (IsInterrupted(job, found) || CannotBeBetterAsGiven(job, share, *found))) {
    return {};
  }
  compile::Options options = job.options;
  options.limits = share;
  found->as_given_tried = true;
  auto planned = PlanOf(job, job.source.graph, std::move(options));
  if (!planned) return NotePlanError(std::move(planned).error(), found);
  found->file_order = planned->compiled.file_order;
  if (job.streams == Use::kIfNeeded) found->layers = planned->compiled;
  Delivery candidate;
  candidate.options = std::move(planned->options);
  candidate.compiled = std::move(planned->compiled);
  Offer(job, std::move(candidate), found);
  return {};
}

void CompileRewritten(const Job& job, const Limits& share, Rewritten rewritten, Found* found) {
  compile::Options options = job.options;
  options.limits = WithShareOfTime(share, 1, 2);
  std::optional<WorkScope> work(std::in_place, 1, 2);
  auto planned = PlanOf(job, rewritten.model.graph, std::move(options));
  work.reset();
  if (!planned) return;
  const Measure measure =
      MeasureOf(rewritten.model.graph, planned->compiled, job.options.place, job.request.budgets);
  Delivery candidate;
  candidate.options = std::move(planned->options);
  candidate.compiled = std::move(planned->compiled);
  Job of_rewritten = job;
  of_rewritten.base = &rewritten;
  Offer(of_rewritten, std::move(candidate), found);
  if (found->rewritten && !IsBetter(measure, found->rewritten_measure)) return;
  found->rewritten = std::move(rewritten);
  found->rewritten_measure = measure;
}

// An operator has the first rule that matches it. Where rules may be inexact, that can be a sum of
// partial convolutions in place of a convolution in pieces, which is exact and may need less.
// Therefore the exact choices are searched, too, and first: of equal plans they are kept.
std::vector<plan::Exactness> ExactnessesOf(const RewriteSettings& settings) {
  if (settings.exactness == plan::Exactness::kBitwise || settings.everywhere) {
    return {settings.exactness};
  }
  return {plan::Exactness::kBitwise, plan::Exactness::kReassociates};
}

struct Rewritings {
  std::vector<Rewritten> found;  // with rewrites; a bound that holds for the choices of all of them
  std::string left_out;          // why a search has no model; ""
  bool failed = false;           // for every set of rules: the graph has no sizes
};

// One search for every exactness.
Rewritings SearchRewrites(const Job& job, const Limits& share, const RewriteSettings& wanted) {
  Rewritings out;
  std::optional<std::int64_t> bound;
  const std::vector<plan::Exactness> exactnesses = ExactnessesOf(wanted);
  for (std::size_t i = 0; i < exactnesses.size(); ++i) {
    compile::Options search = job.options;
    search.limits = WithShareOfTime(share, 1, static_cast<int>(1 + exactnesses.size() - i));
    search.order = compile::kExactOrder;
    RewriteSettings settings = wanted;
    settings.exactness = exactnesses[i];
    const WorkScope work(1, 2);
    auto rewritten = Rewrite(job.source, search, settings, job.request.load);
    if (!rewritten) {
      // A graph without sizes fails as it is given, with a better message.
      out.failed = rewritten.error().code != ErrorCode::kBadInput;
      if (out.failed) return out;
      out.left_out = "rewrites are left out: " + rewritten.error().message;
      continue;
    }
    // No peak: no rule matches, and the other search has every choice of this one.
    if (rewritten->peak_bytes > 0) {
      bound = std::min(bound.value_or(rewritten->lower_bound_bytes), rewritten->lower_bound_bytes);
    }
    const bool known = !out.found.empty() && !rewritten->rewritten_sha256.empty() &&
                       out.found.back().rewritten_sha256 == rewritten->rewritten_sha256;
    if (!known && !rewritten->applications.empty()) out.found.push_back(std::move(*rewritten));
  }
  for (Rewritten& rewritten : out.found) rewritten.lower_bound_bytes = *bound;
  return out;
}

// Fewer rules where all of them give no better plan: a smaller peak may have a larger arena.
Status PlanRewritten(const Job& job, const Limits& share, Found* found) {
  if (IsInterrupted(job, found)) return {};
  RewriteSettings wanted = job.request.rewriting;
  std::string left_out;
  for (const std::vector<std::string>& rules : rewrite::RuleSets(job.request.rewriting.rules)) {
    wanted.rules = rules;
    {
      const StepTimer timer("rewrite", found);
      Rewritings rewritings = SearchRewrites(job, share, wanted);
      if (rewritings.failed) break;
      if (!rewritings.left_out.empty()) left_out = std::move(rewritings.left_out);
      if (rewritings.found.empty()) {
        if (left_out.empty()) break;
        continue;
      }
      for (Rewritten& rewritten : rewritings.found) {
        CompileRewritten(job, share, std::move(rewritten), found);
      }
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
