// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/partition.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "neap/base/index.h"
#include "neap/solve/partition/cut.h"
#include "neap/solve/partition/dominance.h"
#include "neap/solve/partition/search.h"

namespace neap::partition {
namespace {

constexpr int kBisections = 12;
constexpr std::uint64_t kRandomOrders = 4;

// The least that a stage of an assignment of `problem` can cost when everything is spread
// perfectly.
std::int64_t SpreadBound(const Problem& problem) {
  if (problem.num_ops == 0) return 0;
  const auto sum = [](const std::vector<std::int64_t>& values) {
    return std::accumulate(values.begin(), values.end(), std::int64_t{0});
  };
  const std::int64_t compute = sum(problem.compute_cost);
  const std::int64_t parameters = sum(problem.parameter_bytes);
  std::int64_t low = 0;
  std::int64_t high = kInfeasible;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (RestMayFit(problem.machine, compute, parameters, problem.num_stages, middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Dominance NoMerges(const Problem& problem) {
  Dominance none;
  none.count = problem.num_ops;
  none.class_of.resize(At(problem.num_ops));
  std::iota(none.class_of.begin(), none.class_of.end(), OpIndex{0});
  return none;
}

class Solver {
 public:
  Solver(const Problem& problem, const Limits& limits) : budget_(limits) {
    Classes groups = ClassesOf(problem);
    grouped_ = Merged(problem, groups.class_of, groups.count);
    // Moving an operator could make a forbidden stage.
    Dominance dominance = problem.forbidden.empty() ? FindDominance(grouped_) : NoMerges(grouped_);
    merged_ = Merged(grouped_, dominance.class_of, dominance.count);
    Certificate& certificate = outcome_.certificate;
    certificate.group_of = std::move(groups.class_of);
    certificate.num_groups = groups.count;
    certificate.merges = std::move(dominance.merges);
    certificate.class_of = std::move(dominance.class_of);
    certificate.num_classes = dominance.count;
    outcome_.operators = dominance.count;
  }

  std::optional<Outcome> Run(std::optional<Certificate>* infeasible) {
    Prove(SpreadBound(merged_), Layers(At(merged_.num_stages)));
    Try(CutOrder(merged_, IndexOrder(merged_)));
    Try(CutOrder(merged_, DepthFirstOrder(merged_)));
    if (!IsProven()) {
      // Half of the states are left for the bound.
      budget_.Allow(budget_.max_states() / 2);
      if (!SearchAll()) Approximate();
    }
    outcome_.states = budget_.states();
    outcome_.interrupted = budget_.interrupted();
    if (!best_) {
      const bool proven = outcome_.lower_bound == kInfeasible;
      if (proven && infeasible != nullptr) *infeasible = std::move(outcome_.certificate);
      return std::nullopt;
    }
    Expand();
    return std::move(outcome_);
  }

 private:
  bool IsProven() const { return upper_ == outcome_.lower_bound; }

  void Try(const std::optional<Assignment>& assignment) {
    if (!assignment || assignment->bottleneck >= upper_) return;
    best_ = assignment;
    upper_ = assignment->bottleneck;
  }

  void Prove(std::int64_t bound, Layers layers) {
    if (bound <= outcome_.lower_bound && !outcome_.certificate.layers.empty()) return;
    outcome_.lower_bound = bound;
    outcome_.certificate.bound = bound;
    outcome_.certificate.layers = std::move(layers);
  }

  // Decides whether there is something below `bound`. False: the states ran out.
  bool Search(std::int64_t bound) {
    DownsetSearch search(merged_, &budget_);
    const bool complete = search.Run(bound);
    outcome_.downsets = std::max<std::int64_t>(outcome_.downsets, search.downsets());
    const auto found = search.Found();
    Try(found);
    // With a shared link, the result is below the bound, and is not proven to be the best.
    if (complete && !(found && merged_.machine.shared_link)) {
      const std::int64_t proven = found ? found->bottleneck : bound;
      Prove(proven, search.LayersBelow(proven));
    }
    return complete;
  }

  // Until the best found is proven. False: the states ran out. With a shared link alternately tests
  // for any better assignment, and for one in the lower half of the open range.
  bool SearchAll() {
    for (bool halve = false; !IsProven(); halve = !halve) {
      const std::int64_t open = upper_ - outcome_.lower_bound;
      if (!Search(halve ? upper_ - open / 2 : upper_)) return false;
    }
    return true;
  }

  void Approximate() {
    Try(CutOrder(merged_, AsapOrder(merged_)));
    Try(CutOrder(merged_, HeightOrder(merged_)));
    for (std::uint64_t seed = 0; seed < kRandomOrders; ++seed) {
      Try(CutOrder(merged_, RandomOrder(merged_, seed)));
    }
    const std::int64_t steps = std::int64_t{20'000'000} / (merged_.num_ops + 1);
    if (best_) Try(Improve(merged_, *best_, steps));
    // The largest bound that can be proven with the states that are left: lower ones take fewer.
    std::int64_t high = upper_;
    for (int i = 0; i < kBisections && outcome_.lower_bound < high && !budget_.interrupted(); ++i) {
      const std::int64_t middle = outcome_.lower_bound + (high - outcome_.lower_bound + 1) / 2;
      budget_.Allow((budget_.max_states() - budget_.states()) / (kBisections - i));
      if (!Search(middle)) high = middle - 1;
      high = std::min(high, upper_);
    }
  }

  void Expand() {
    outcome_.best.bottleneck = best_->bottleneck;
    for (const OpIndex group : outcome_.certificate.group_of) {
      outcome_.best.stage_of.push_back(
          best_->stage_of[At(outcome_.certificate.class_of[At(group)])]);
    }
  }

  StateBudget budget_;
  Problem grouped_;
  Problem merged_;
  Outcome outcome_;
  std::optional<Assignment> best_;  // of merged_
  std::int64_t upper_ = kInfeasible;
};

}  // namespace

std::optional<Outcome> Solve(const Problem& problem, const Limits& limits,
                             std::optional<Certificate>* infeasible) {
  return Solver(problem, limits).Run(infeasible);
}

}  // namespace neap::partition
