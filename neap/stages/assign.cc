// SPDX-License-Identifier: Apache-2.0
#include "neap/stages/assign.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/learn/peak.h"
#include "neap/learn/stages.h"
#include "neap/solve/partition/baselines.h"
#include "neap/solve/partition/cut.h"

namespace neap::stages {
namespace {

using partition::OpIndex;
using partition::Stage;

// Of the profiling partitioner, as it is published: 1 ms.
constexpr std::int64_t kProfilingPicoseconds = 1'000'000'000;
// Of the order of a stage whose memory is only reported: most networks need a fraction of it.
constexpr std::int64_t kStatesForReport = 20'000;
// Of a search with a limit of activations.
constexpr int kMaxRounds = 200;
// Of the local search by simulation.
constexpr std::int64_t kItemsToPolish = 200;
constexpr std::int64_t kMaxSimulations = 3000;

constexpr std::array<MethodEntry, 6> kMethods = {{
    {Method::kExact, "exact", "the optimum, proven"},
    {Method::kContiguous, "contiguous", "the best cut of the file's own order"},
    {Method::kCompiler, "compiler", "the parameter count rule that edgetpu_compiler documents"},
    {Method::kProfile, "profile", "libcoral's profiling partitioner, with modelled latencies"},
    {Method::kBalanced, "balanced",
     "ranges of depth with balanced parameters (Villarrubia et al.)"},
    {Method::kLearned, "learned",
     "a pointer network's order, repaired and cut (docs/algorithms/learned.md)"},
}};

class Clock {
 public:
  double Seconds() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Assigner {
 public:
  Assigner(const graph::Graph& graph, const AssignOptions& options)
      : graph_(graph), options_(options) {}

  Result<Assigned> Run() {
    NEAP_TRY(out_.lowered, Lower(graph_, options_.lower));
    LowerOptions time = options_.lower;
    time.objective = Objective::kTime;
    NEAP_TRY(Lowered timed, Lower(graph_, time));
    out_.time_problem = std::move(timed.problem);
    const auto too_large = FindTooLarge(graph_, out_.lowered, options_.lower.accelerator,
                                        options_.activation_limit_bytes);
    if (too_large) return Fail(Impossible(*too_large));
    NEAP_CHECK_OK(Prove());
    if (options_.method != Method::kExact) {
      NEAP_CHECK_OK(Cut());
      const auto wrong = partition::FindViolation(out_.lowered.problem, out_.assignment);
      if (wrong) return Fail(OverBudget("the method ignores the limits: " + *wrong));
    } else if (problem().machine.shared_link) {
      Polish();
    }
    return Describe();
  }

 private:
  partition::Problem& problem() { return out_.lowered.problem; }

  Limits SearchLimits() const {
    Limits limits = options_.limits;
    limits.observer = nullptr;
    return limits;
  }

  // The optimum or a bound, and for the exact method the assignment. A limit of activations is kept
  // by excluding stages that exceed it, one after the other.
  Status Prove() {
    const bool limited = options_.activation_limit_bytes >= 0;
    Clock clock;
    for (int round = 0;; ++round) {
      std::optional<partition::Certificate> none;
      auto outcome = partition::Solve(problem(), SearchLimits(), &none);
      out_.solve_seconds += clock.Seconds();
      if (!outcome) return Fail(NothingFound(none));
      Check(*outcome);
      out_.check_seconds += clock.Seconds();
      Take(std::move(*outcome));
      if (!limited || options_.method != Method::kExact) return {};
      NEAP_TRY(const bool excluded, Exclude());
      out_.activation_seconds += clock.Seconds();
      if (!excluded) return {};
      if (round == kMaxRounds || out_.interrupted) {
        return Fail(
            OverBudget("found no assignment within the limit of activations, and no proof that "
                       "there is none"));
      }
    }
  }

  Diagnostic Impossible(const Infeasible& infeasible) const {
    if (options_.infeasible != nullptr) *options_.infeasible = infeasible;
    return DiagnosticOf(graph_, infeasible);
  }

  // Stages that were excluded without a proof that they have to be make none.
  Diagnostic NothingFound(const std::optional<partition::Certificate>& none) {
    if (!none || !proven_exclusions_) {
      return OverBudget("found no assignment within the limits, and no proof that there is none");
    }
    const auto flaw = partition::FindFlaw(problem(), *none, 0);
    NEAP_CHECK(!flaw && none->bound == partition::kInfeasible, flaw.value_or("another bound"));
    Infeasible infeasible;
    if (out_.excluded_stages == 0) infeasible.limit = Infeasible::Limit::kParameters;
    if (options_.lower.parameter_limit_bytes < 0) {
      infeasible.limit = Infeasible::Limit::kActivations;
    }
    return Impossible(infeasible);
  }

  void Check(const partition::Outcome& outcome) {
    const auto wrong = partition::FindViolation(problem(), outcome.best);
    NEAP_CHECK(!wrong, wrong.value_or(""));
    const auto flaw = partition::FindFlaw(problem(), outcome.certificate, 0);
    NEAP_CHECK(!flaw, flaw.value_or(""));
    NEAP_CHECK(outcome.certificate.bound == outcome.lower_bound, "a bound without its certificate");
  }

  void Take(partition::Outcome outcome) {
    out_.assignment = std::move(outcome.best);
    // Stages that were excluded without a proof that they have to be make no bound.
    if (proven_exclusions_) out_.lower_bound = outcome.lower_bound;
    out_.states += outcome.states;
    out_.downsets = std::max(out_.downsets, outcome.downsets);
    out_.merged_operators = outcome.operators;
    out_.certificate_downsets = 0;
    for (const auto& layer : outcome.certificate.layers) {
      out_.certificate_downsets += static_cast<std::int64_t>(layer.size());
    }
    out_.interrupted = out_.interrupted || outcome.interrupted;
  }

  Result<ActivationPeak> PeakOfPart(const StagePart& part) {
    const auto known = peaks_.find(part.ops);
    if (known != peaks_.end()) return known->second;
    Limits limits;
    limits.max_states =
        options_.activation_limit_bytes >= 0 ? kStatesForAFewSeconds : kStatesForReport;
    limits.stop = options_.limits.stop;
    NEAP_TRY(const ActivationPeak peak, PeakOf(graph_, part, options_.lower.accelerator, limits));
    return peaks_[part.ops] = peak;
  }

  // True: some stage of the assignment needs too much, and may not be one any more.
  Result<bool> Exclude() {
    bool excluded = false;
    std::map<graph::OpId, OpIndex> index;
    for (std::size_t i = 0; i < out_.lowered.ops.size(); ++i) {
      index[out_.lowered.ops[i]] = static_cast<OpIndex>(i);
    }
    for (const StagePart& part : PartsOf(out_.lowered, out_.assignment.stage_of)) {
      NEAP_TRY(const ActivationPeak peak, PeakOfPart(part));
      if (peak.peak_bytes <= options_.activation_limit_bytes) continue;
      if (peak.lower_bound_bytes <= options_.activation_limit_bytes) proven_exclusions_ = false;
      std::vector<OpIndex> stage;
      stage.reserve(part.ops.size());
      for (const graph::OpId op : part.ops) stage.push_back(index[op]);
      std::sort(stage.begin(), stage.end());
      problem().forbidden.push_back(std::move(stage));
      ++out_.excluded_stages;
      excluded = true;
    }
    return excluded;
  }

  Status Cut() {
    Clock clock;
    const std::vector<OpIndex> order = partition::IndexOrder(problem());
    switch (options_.method) {
      case Method::kContiguous: {
        auto cut = partition::CutOrder(problem(), order);
        if (!cut) return Fail(OverBudget("no cut of this order is within the limit of parameters"));
        out_.assignment = std::move(*cut);
        break;
      }
      case Method::kCompiler:
        out_.assignment = partition::CutByParameterCount(problem(), order);
        break;
      case Method::kProfile:
        out_.assignment =
            partition::CutByProfiling(out_.time_problem, order, kProfilingPicoseconds);
        break;
      case Method::kBalanced:
        out_.assignment = partition::CutByLevels(out_.time_problem);
        break;
      case Method::kLearned: {
        if (problem().num_ops > learn::kMaxLearnedNodes) {
          return Fail(UsageError("method learned supports at most " +
                                 std::to_string(learn::kMaxLearnedNodes) + " operators, found " +
                                 std::to_string(problem().num_ops)));
        }
        const learn::Network network(options_.network ? *options_.network
                                                      : learn::BuiltinModel(learn::Task::kStages));
        auto learned = learn::AssignStages(network, problem());
        if (!learned.best) {
          return Fail(OverBudget("no cut of the learned order is within the limit of parameters"));
        }
        out_.assignment = std::move(*learned.best);
        break;
      }
      case Method::kExact:
        break;
    }
    out_.assignment.bottleneck =
        partition::Evaluate(problem(), out_.assignment.stage_of).bottleneck;
    out_.method_seconds = clock.Seconds();
    return {};
  }

  // The link is shared in time as well: where stages wait for it a run takes longer than any cost.
  // Takes the best simulated assignment of all methods and improves it by local search; the bound
  // is valid for runs, too. With a limit of activations the assignment stays.
  void Polish() {
    if (options_.activation_limit_bytes >= 0) return;
    Clock clock;
    partition::SimulationOptions run = options_.simulation;
    run.shared_link = true;
    run.items = std::min(run.items, kItemsToPolish);
    const auto time_of = [&](const partition::Assignment& assignment) {
      return partition::Simulate(problem(), assignment.stage_of, run).all_done;
    };
    std::int64_t best = time_of(out_.assignment);
    const auto consider = [&](partition::Assignment other) {
      other.bottleneck = partition::Evaluate(problem(), other.stage_of).bottleneck;
      if (partition::FindViolation(problem(), other)) return;
      const std::int64_t time = time_of(other);
      if (time >= best) return;
      best = time;
      out_.assignment = std::move(other);
    };
    const std::vector<OpIndex> order = partition::IndexOrder(problem());
    consider(partition::CutByParameterCount(problem(), order));
    consider(partition::CutByProfiling(problem(), order, kProfilingPicoseconds));
    consider(partition::CutByLevels(problem()));
    partition::Problem fewer = problem();
    for (Stage stages = 1; stages <= problem().num_stages; ++stages) {
      fewer.num_stages = stages;
      if (auto cut = partition::CutOrder(fewer, order)) consider(std::move(*cut));
    }
    consider(partition::ImproveSimulated(problem(), out_.assignment, run, kMaxSimulations));
    out_.solve_seconds += clock.Seconds();
  }

  Result<Assigned> Describe() {
    const auto evaluation = partition::Evaluate(out_.time_problem, out_.assignment.stage_of);
    out_.picoseconds = evaluation.slowest;
    out_.link_picoseconds = evaluation.link_cost;
    if (problem().machine.shared_link) {
      partition::SimulationOptions run = options_.simulation;
      run.shared_link = true;
      const auto simulated = partition::Simulate(out_.time_problem, out_.assignment.stage_of, run);
      out_.simulated_picoseconds = (simulated.all_done + run.items - 1) / run.items;
    }
    if (options_.method == Method::kExact) out_.method_seconds = out_.solve_seconds;
    Clock clock;
    for (StagePart& part : PartsOf(out_.lowered, out_.assignment.stage_of)) {
      AssignedStage stage;
      stage.cost = evaluation.stages[static_cast<std::size_t>(part.stage)];
      stage.cached_bytes =
          std::min(stage.cost.parameter_bytes, options_.lower.accelerator.cache_bytes);
      if (options_.activations) {
        NEAP_TRY(stage.activations, PeakOfPart(part));
      }
      stage.part = std::move(part);
      out_.stages.push_back(std::move(stage));
    }
    out_.activation_seconds += clock.Seconds();
    return std::move(out_);
  }

  const graph::Graph& graph_;
  const AssignOptions& options_;
  Assigned out_;
  bool proven_exclusions_ = true;
  std::map<std::vector<graph::OpId>, ActivationPeak> peaks_;
};

}  // namespace

std::span<const MethodEntry> Methods() { return kMethods; }

std::optional<Method> MethodNamed(std::string_view name) {
  for (const MethodEntry& entry : kMethods) {
    if (entry.name == name) return entry.method;
  }
  return std::nullopt;
}

std::string_view NameOf(Method method) {
  for (const MethodEntry& entry : kMethods) {
    if (entry.method == method) return entry.name;
  }
  return "";
}

Result<Assigned> Assign(const graph::Graph& graph, const AssignOptions& options) {
  return Assigner(graph, options).Run();
}

}  // namespace neap::stages
