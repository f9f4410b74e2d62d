// SPDX-License-Identifier: Apache-2.0
//
// Where to rewrite. A choice for every operator that some rule matches, in the order of the
// operators; a prefix of choices has a bound: the minimum peak of the graph in which every operator
// after the prefix is relaxed (Rule::relax), a lower bound of every completion. Branch and bound
// over that, from a start of local search; then applications that the peak does not need are
// removed.
#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/check.h"
#include "neap/base/work.h"
#include "neap/compile/peak_question.h"
#include "neap/transform/rewrite/channels/dead.h"
#include "neap/transform/rewrite/compose.h"
#include "neap/transform/rewrite/rewrite.h"
#include "neap/transform/rewrite/rule.h"

namespace neap::rewrite {
namespace {

using graph::OpId;
using graph::TensorId;

// Maximum states of one order search inside: a graph that needs more is bounded, not proven.
constexpr std::int64_t kStatesEach = 20'000;
// Of a first look, which gives the bounds that cost next to nothing.
constexpr std::int64_t kFewStates = 64;
// Of a search for an answer: is the peak below a number.
constexpr std::int64_t kStatesOfQuestion = 4096;
// Where a wrong no costs an operator or a byte count in the report, not the peak.
constexpr std::int64_t kStatesOfTrim = 1024;
// The trials of Trim() where the minimum peak is not known.
constexpr int kFewTries = 9;
// Where the answer closes a part of the tree.
constexpr std::int64_t kStatesOfBound = 16'384;

// For how many applications the saved bytes are computed.
constexpr std::size_t kMaxExplained = 64;

constexpr int kWhole = -1;
constexpr int kOpen = -2;

// An operator that can be rewritten in one of several ways, or left whole.
struct Variable {
  OpId op;
  const Rule* rule = nullptr;
  std::vector<Parameters> alternatives;
};

using Assignment = std::vector<int>;  // by variable: an alternative, kWhole or kOpen

Settings WithProfile(Settings settings, plan::Runtime runtime) {
  settings.in_place = plan::ProfileOf(runtime).in_place;
  return settings;
}

class Searcher {
 public:
  Searcher(const graph::Graph& graph, const compile::Options& options, const SearchOptions& search)
      : graph_(graph),
        limits_(WithShareOfTime(options.limits, 3, 4)),
        all_limits_(options.limits),
        options_(options),
        search_(search),
        settings_(WithProfile(search.settings, options.runtime)),
        order_(RunnableOrder(graph.subgraphs[graph::SubgraphId(0)])),
        facts_(graph) {
    options_.limits = limits_;
    options_.limits.max_states = kStatesEach;
    options_.limits.max_seconds = 0;
    options_.limits.threads = 1;
    options_.limits.observer = nullptr;
    options_.order = compile::kExactOrder;
  }

  Result<Found> Run() {
    FindVariables();
    if (search_.everywhere) return Everywhere();
    if (variables_.empty() && always_.empty() && !search_.measures_unchanged) return Unchanged();
    NEAP_CHECK_OK(SearchAll());
    return MakeFound();
  }

 private:
  Status SearchAll() {
    const WorkScope work(3, 4);
    const Assignment none(variables_.size(), kWhole);
    NEAP_TRY(const auto whole, Evaluate(ChoicesOf(none), false));
    best_peak_ = whole.peak_bytes;
    best_ = none;
    lower_bound_ = whole.lower_bound_bytes;
    return variables_.empty() ? Status() : SearchChoices();
  }

  Result<Found> Everywhere() {
    best_.assign(variables_.size(), kWhole);
    for (std::size_t i = 0; i < best_.size(); ++i) best_[i] = Alternatives(i) - 1;
    NEAP_TRY(const auto peak, Evaluate(ChoicesOf(best_), false));
    best_peak_ = peak.peak_bytes;
    best_is_known_ = peak.lower_bound_bytes >= best_peak_;
    lower_bound_ = peak.lower_bound_bytes;
    return MakeFound();
  }

  bool IsOn(const Rule& rule) const {
    const auto& names = search_.rules;
    return names.empty() || std::find(names.begin(), names.end(), rule.info.name) != names.end();
  }

  bool Allows(std::optional<plan::Exactness> exactness) const {
    if (!exactness) return false;
    return search_.exactness == plan::Exactness::kReassociates ||
           *exactness == plan::Exactness::kBitwise;
  }

  // Everything on: the first rule that fits an operator when all before it are rewritten, in the
  // finest way, is its rule.
  void FindVariables() {
    Draft draft(facts_, settings_, Purpose::kOrder);
    for (const OpId id : order_) {
      const Rule* fits = nullptr;
      for (const Rule& rule : AllRules()) {
        if (!draft.IsPlain(id) || !IsOn(rule) || !Allows(rule.match(draft, id))) continue;
        fits = &rule;
        break;
      }
      if (fits == nullptr) {
        draft.Keep(id);
        continue;
      }
      if (fits->info.always) {
        always_[id] = {fits, {}, false};
        fits->apply(&draft, id, {});
        continue;
      }
      Variable variable{id, fits, {{}}};
      if (fits->variants != nullptr) variable.alternatives = fits->variants(draft, id);
      fits->apply(&draft, id, variable.alternatives.back());
      variables_.push_back(std::move(variable));
    }
  }

  Choices ChoicesOf(const Assignment& assignment) const {
    Choices choices = always_;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const Variable& variable = variables_[i];
      if (assignment[i] == kWhole) continue;
      if (assignment[i] == kOpen) {
        choices[variable.op] = {variable.rule, variable.alternatives.back(), true};
        continue;
      }
      choices[variable.op] = {
          variable.rule, variable.alternatives[static_cast<std::size_t>(assignment[i])], false};
    }
    return choices;
  }

  bool HasWork() const { return work_ < search_.max_work && !Stopped(); }
  // About microseconds: an evaluation costs as much as its operators, a state a few words a row.
  void Count(std::int64_t states) {
    constexpr std::int64_t kEachOperator = 16;
    constexpr std::int64_t kNanoseconds = 600;
    const auto ops = static_cast<std::int64_t>(order_.size());
    work_ += kEachOperator * ops + states * (2 + ops / 64);
    // The searches of orders charge their states.
    if (states == 0) ChargeWork(kEachOperator * ops * kNanoseconds);
  }
  bool Stopped() const { return IsOver(limits_); }

  void ReportProgress() {
    if (!limits_.observer || best_peak_ == 0) return;
    const auto now = LimitNow();
    if (now - reported_ < std::chrono::milliseconds(100)) return;
    reported_ = now;
    limits_.observer({best_peak_, lower_bound_, evaluations_});
  }

  // The minimum peak of the graph of these choices. With `question`, only whether it is below that;
  // `exact` then also requires a bound, which an inexpensive first pass computes.
  Result<compile::PeakOfOrder> Evaluate(const Choices& choices, bool exact,
                                        std::optional<std::int64_t> question = std::nullopt,
                                        std::int64_t states = kStatesOfQuestion) {
    const Composed composed = Compose(facts_, order_, choices, settings_, Purpose::kOrder);
    NEAP_CHECK(!composed.refused, "rule " +
                                      std::string(choices.at(*composed.refused).rule->info.name) +
                                      " refuses its own parameters");
    if (exact && composed.limited) limited_ = true;
    ++evaluations_;
    Count(0);
    ReportProgress();
    if (!question) return Look(composed.graph, exact, 0, kStatesEach);
    if (!exact) return Look(composed.graph, exact, *question, states);
    NEAP_TRY(const auto first, Look(composed.graph, exact, 0, kFewStates));
    if (first.lower_bound_bytes >= *question || first.peak_bytes < *question) return first;
    NEAP_TRY(auto answer, Look(composed.graph, exact, *question, states));
    answer.lower_bound_bytes = std::max(answer.lower_bound_bytes, first.lower_bound_bytes);
    return answer;
  }

  Result<compile::PeakOfOrder> Look(const graph::Graph& graph, bool exact, std::int64_t question,
                                    std::int64_t states) {
    options_.limits.max_states = std::min(states, MostStatesEach());
    auto peak = compile::FindPeakBelow(graph, options_, exact, question);
    options_.limits.max_states = kStatesEach;
    if (peak) Count(peak->states);
    return peak;
  }

  Result<std::int64_t> BoundOf(const Assignment& assignment) {
    NEAP_TRY(const auto peak, Evaluate(ChoicesOf(assignment), true, best_peak_, kStatesOfBound));
    return peak.lower_bound_bytes;
  }

  Status Offer(const Assignment& assignment) {
    if (!offered_.insert(assignment).second) return {};
    NEAP_TRY(const std::int64_t bound, Judge(assignment, kStatesOfQuestion));
    static_cast<void>(bound);
    return {};
  }

  // Takes an assignment that is better than the best one; returns a lower bound of its peak.
  Result<std::int64_t> Judge(const Assignment& assignment, std::int64_t states) {
    const Choices choices = ChoicesOf(assignment);
    NEAP_TRY(const auto quick, Evaluate(choices, false, best_peak_, states));
    if (quick.peak_bytes >= best_peak_) return quick.lower_bound_bytes;
    // How much better, it is worth to know.
    NEAP_TRY(const auto peak, Evaluate(choices, false));
    best_peak_ = std::min(quick.peak_bytes, peak.peak_bytes);
    best_ = assignment;
    best_is_known_ = peak.lower_bound_bytes >= best_peak_;
    return peak.lower_bound_bytes;
  }

  Status SearchChoices() {
    const Assignment open(variables_.size(), kOpen);
    NEAP_TRY(const auto root, Evaluate(ChoicesOf(open), true));
    lower_bound_ = std::min(root.lower_bound_bytes, best_peak_);
    if (lower_bound_ < best_peak_) {
      Assignment all(variables_.size(), kWhole);
      for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = static_cast<int>(variables_[i].alternatives.size()) - 1;
      }
      NEAP_CHECK_OK(Offer(all));
      NEAP_CHECK_OK(Climb(search_.max_work / 2));
      if (best_peak_ > lower_bound_) NEAP_CHECK_OK(BranchAndBound());
    }
    // Then the bounds have led the search, and prove nothing.
    if (limited_) lower_bound_ = 0;
    return Trim();
  }

  // Changes of one choice, and of two at the same operator's neighbours in the list, while they
  // help.
  Status Climb(std::int64_t work_limit) {
    bool better = true;
    while (better && best_peak_ > lower_bound_) {
      better = false;
      const std::int64_t before = best_peak_;
      for (std::size_t i = 0; i < variables_.size() && best_peak_ > lower_bound_; ++i) {
        if (work_ >= work_limit || Stopped()) return {};
        for (int value = kWhole; value < Alternatives(i); ++value) {
          Assignment next = best_;
          if (next[i] == value) continue;
          next[i] = value;
          NEAP_CHECK_OK(Offer(next));
        }
      }
      better = best_peak_ < before;
    }
    return {};
  }

  // Whether a rule splits its operator's output into pieces, so that the choices of the consumers
  // depend on it.
  static bool MakesPieces(const Variable& variable) {
    return variable.rule->info.name == "kernel-wise" || variable.rule->info.name == "split-conv";
  }

  // Variables on which the pieces that a variable sees depend, by index.
  std::vector<std::set<std::size_t>> Dependencies() const {
    const graph::Subgraph& subgraph = graph_.subgraphs[graph::SubgraphId(0)];
    const auto producer = graph::Producers(subgraph);
    std::map<OpId, std::size_t> index;
    for (std::size_t i = 0; i < variables_.size(); ++i) index[variables_[i].op] = i;
    std::map<OpId, std::set<std::size_t>> seen;  // by the inputs of an operator's output
    std::vector<std::set<std::size_t>> dependencies(variables_.size());
    for (const OpId id : order_) {
      std::set<std::size_t> from;
      for (const TensorId input : subgraph.ops[id].inputs) {
        if (!input.valid() || !producer[input].valid()) continue;
        const auto known = seen.find(producer[input]);
        if (known != seen.end()) from.insert(known->second.begin(), known->second.end());
      }
      const auto variable = index.find(id);
      if (variable != index.end()) {
        dependencies[variable->second] = from;
        if (!MakesPieces(variables_[variable->second])) continue;
        from.insert(variable->second);
        seen[id] = std::move(from);
      } else if (always_.count(id) != 0) {
        seen[id] = std::move(from);
      }
    }
    return dependencies;
  }

  int Alternatives(std::size_t variable) const {
    return static_cast<int>(variables_[variable].alternatives.size());
  }

  // Those first that raise the bound most when they are decided: the others are left open where the
  // bound has been reached. Dependencies come first. A value that no better choice has, for any
  // values of the others, is removed: `known` are the remaining ones. True: none remain, the best
  // choice is optimal.
  //
  // A rule that does not fit when its turn comes leaves its operator whole, so that `known` is
  // right for choices in which it does not fit, too: they count as those in which it is whole.
  Result<bool> OrderVariables(Assignment* known) {
    const auto dependencies = Dependencies();
    using Score = std::pair<std::int64_t, std::int64_t>;  // the least bound, and their sum
    std::vector<Score> score(variables_.size(), {0, 0});
    for (std::size_t i = variables_.size(); i-- > 0;) {
      Assignment one = *known;
      std::vector<int> left;
      Score of{best_peak_, 0};
      for (int value = kWhole; HasWork() && value < Alternatives(i); ++value) {
        one[i] = value;
        NEAP_TRY(const std::int64_t bound, BoundOf(one));
        if (bound < best_peak_) left.push_back(value);
        of.first = std::min(of.first, bound);
        of.second += std::min(bound, best_peak_);
      }
      if (!HasWork()) break;
      if (left.empty()) return true;
      if (left.size() == 1) (*known)[i] = left.front();
      score[i] = std::max(score[i], of);
      for (const std::size_t before : dependencies[i]) {
        score[before] = std::max(score[before], score[i]);
      }
    }
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      if ((*known)[i] == kOpen) branch_order_.push_back(i);
    }
    // A dependency has at least the score and a smaller index.
    std::stable_sort(branch_order_.begin(), branch_order_.end(),
                     [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
    return false;
  }

  Status BranchAndBound() {
    Assignment prefix(variables_.size(), kOpen);
    NEAP_TRY(const bool proven, OrderVariables(&prefix));
    std::int64_t open_bound = std::numeric_limits<std::int64_t>::max();
    if (!proven) NEAP_CHECK_OK(Branch(0, lower_bound_, &prefix, &open_bound));
    // Unexplored choices are not below their own bounds.
    lower_bound_ = std::max(lower_bound_, std::min(best_peak_, open_bound));
    return {};
  }

  // All completions of the first `depth` choices, none of which is below `bound`. Recursion is as
  // deep as the work limit allows evaluations, at most.
  Status Branch(std::size_t depth, std::int64_t bound, Assignment* prefix,
                std::int64_t* open_bound) {
    if (bound >= best_peak_) return {};
    if (!HasWork()) {
      *open_bound = std::min(*open_bound, bound);
      return {};
    }
    if (depth == branch_order_.size()) {
      NEAP_TRY(const std::int64_t leaf, Judge(*prefix, kStatesEach));
      if (leaf < best_peak_) *open_bound = std::min(*open_bound, std::max(bound, leaf));
      return {};
    }
    const std::size_t at = branch_order_[depth];
    std::vector<std::pair<std::int64_t, int>> children;
    for (int value = kWhole; value < Alternatives(at); ++value) {
      (*prefix)[at] = value;
      NEAP_TRY(const std::int64_t child, BoundOf(*prefix));
      children.emplace_back(std::max(child, bound), value);
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [child_bound, value] : children) {
      (*prefix)[at] = value;
      NEAP_CHECK_OK(Branch(depth + 1, child_bound, prefix, open_bound));
    }
    (*prefix)[at] = kOpen;
    return {};
  }

  // Removes applications that the peak does not need, later operators first. Where the minimum peak
  // of the best choice is not known, a longer search may find a lower one that needs them: few are
  // tried, and none where evaluations are so expensive that the best choice has had few of them.
  Status Trim() {
    int tries = std::numeric_limits<int>::max();
    if (!best_is_known_) tries = work_ > search_.max_work * 5 / 4 ? 0 : kFewTries;
    for (std::size_t i = variables_.size(); i-- > 0;) {
      if (best_[i] == kWhole || work_ > 2 * search_.max_work || tries <= 0 || Stopped()) continue;
      --tries;
      for (int value = kWhole; value < best_[i]; ++value) {
        Assignment next = best_;
        next[i] = value;
        NEAP_TRY(const auto peak, Evaluate(ChoicesOf(next), false, best_peak_ + 1, kStatesOfTrim));
        if (peak.peak_bytes > best_peak_) continue;
        best_ = next;
        break;
      }
    }
    return {};
  }

  // In which order the terms of every sum come.
  Status TakeArrivals(Choices* choices) {
    const Composed composed = Compose(facts_, order_, *choices, settings_, Purpose::kOrder);
    // Where nothing lower is to be found, any order as good will do.
    NEAP_TRY(const auto peak, best_is_known_ ? Evaluate(*choices, false, best_peak_ + 1)
                                             : Evaluate(*choices, false));
    const graph::Subgraph& subgraph = composed.graph.subgraphs[graph::SubgraphId(0)];
    IdVector<OpId, std::int64_t> position(subgraph.ops.size(), -1);
    for (std::size_t k = 0; k < peak.order.size(); ++k) {
      position[peak.order[k]] = static_cast<std::int64_t>(k);
    }
    const auto producer = graph::Producers(subgraph);
    for (auto& [op, choice] : *choices) {
      const auto terms = composed.terms.find(op);
      if (terms == composed.terms.end()) continue;
      std::vector<std::pair<std::int64_t, std::int64_t>> arrivals;
      for (std::size_t k = 0; k < terms->second.size(); ++k) {
        const Draft::Term& term = terms->second[k];
        const OpId by = term.part.valid() ? term.part : producer[term.tensor];
        arrivals.emplace_back(by.valid() ? position[by] : -1, static_cast<std::int64_t>(k));
      }
      std::sort(arrivals.begin(), arrivals.end());
      choice.parameters.clear();
      for (const auto& [when, which] : arrivals) choice.parameters.push_back(which);
    }
    return {};
  }

  // A state of a large graph costs milliseconds: an evaluation has half a second's worth.
  std::int64_t MostStatesEach() const {
    constexpr std::int64_t kWork = 500'000'000;  // in about nanoseconds
    const auto ops = static_cast<std::int64_t>(order_.size());
    return std::max(kFewStates, kWork / (400 + ops * (ops / 64) / 5));
  }

  Found Unchanged() const {
    Found found;
    found.graph = graph_;
    return found;
  }

  // Final choices, each with its saving.
  Result<Found> MakeFound() {
    // The result is completed in the time that was reserved for it.
    options_.limits.deadline = all_limits_.deadline;
    Choices choices = ChoicesOf(best_);
    if (!settings_.keep_order || settings_.sums == Sums::kInPlace) {
      NEAP_CHECK_OK(TakeArrivals(&choices));
    }
    Composed composed = Compose(facts_, order_, choices, settings_, Purpose::kGraph);
    NEAP_CHECK(!composed.refused, "a rule refuses the order of its parts");
    KeepApplied(composed, &choices);
    Choices busy = choices;
    DropIdle(graph_, order_, composed.graph, &busy);
    Composed without_idle = Compose(facts_, order_, busy, settings_, Purpose::kGraph);
    // Some rules fit only beside one that is idle itself.
    const bool all_fit = !without_idle.refused && without_idle.applied.size() == busy.size();
    composed = all_fit ? std::move(without_idle)
                       : Compose(facts_, order_, choices, settings_, Purpose::kGraph);
    if (all_fit) choices = std::move(busy);
    KeepApplied(composed, &choices);
    NEAP_TRY(auto real, Look(composed.graph, false, best_peak_ + 1, kStatesEach));
    if (real.peak_bytes > best_peak_) {
      NEAP_TRY(real, Look(composed.graph, false, 0, kStatesEach));
    }
    Found found;
    found.peak_bytes = real.peak_bytes;
    found.lower_bound_bytes = std::min(lower_bound_, real.peak_bytes);
    NEAP_CHECK_OK(Describe(choices, composed.exactness, real.peak_bytes, &found));
    found.graph = std::move(composed.graph);
    found.evaluations = evaluations_;
    return found;
  }

  static void KeepApplied(const Composed& composed, Choices* choices) {
    std::erase_if(*choices, [&](const auto& entry) {
      return std::find(composed.applied.begin(), composed.applied.end(), entry.first) ==
             composed.applied.end();
    });
  }

  // `exactness`: of the rules in the composed graph.
  Status Describe(const Choices& choices, const std::map<OpId, plan::Exactness>& exactness,
                  std::int64_t peak, Found* found) {
    for (const auto& [op, choice] : choices) {
      plan::Rewrite rewrite;
      rewrite.rule = std::string(choice.rule->info.name);
      rewrite.op = op;
      rewrite.parameters = choice.parameters;
      rewrite.exactness = exactness.at(op);
      if (found->applications.size() < kMaxExplained && work_ < 2 * search_.max_work &&
          !IsOver(all_limits_)) {
        Choices without = choices;
        without.erase(op);
        // There may be fewer parts now: an order of them has no meaning.
        for (auto& [other, left] : without) {
          if (left.rule->variants == nullptr) left.parameters.clear();
        }
        NEAP_TRY(const auto less, Evaluate(without, false, peak + 1, kStatesOfTrim));
        rewrite.bytes_saved = std::max<std::int64_t>(less.peak_bytes - peak, 0);
      }
      found->applications.push_back(std::move(rewrite));
    }
    return {};
  }

  const graph::Graph& graph_;
  const Limits limits_;       // of the search
  const Limits all_limits_;   // with its successors
  compile::Options options_;  // of each evaluation
  const SearchOptions& search_;
  const Settings settings_;
  const std::vector<OpId> order_;
  const Facts facts_;
  Choices always_;
  std::vector<std::size_t> branch_order_;  // of variables
  std::vector<Variable> variables_;
  std::set<Assignment> offered_;
  Assignment best_;
  std::int64_t best_peak_ = 0;
  bool best_is_known_ = true;  // no order of the best choice has a smaller peak
  std::int64_t lower_bound_ = 0;
  bool limited_ = false;  // a graph of relaxed choices was (Composed::limited)
  std::int64_t work_ = 0;
  std::int64_t evaluations_ = 0;
  Limits::Clock::time_point reported_;
};

}  // namespace

Result<Found> Search(const graph::Graph& graph, const compile::Options& options,
                     const SearchOptions& search) {
  if (graph.subgraphs.empty()) return Fail(BadInput("has no subgraph"));
  if (!search.dead_channels) return Searcher(graph, options, search).Run();
  Narrowed narrowed = RemoveDeadChannels(graph);
  if (narrowed.applications.empty() || !IsWorthwhile(graph, narrowed.graph)) {
    return Searcher(graph, options, search).Run();
  }
  SearchOptions others = search;
  others.measures_unchanged = true;
  compile::Options first_half = options;
  first_half.limits = WithShareOfTime(options.limits, 1, 2);
  NEAP_TRY(Found found, [&] {
    const WorkScope work(1, 2);
    return Searcher(narrowed.graph, first_half, others).Run();
  }());
  // Without its dead channels an operator may fit no rule: the channels stay where that is worse.
  NEAP_TRY(Found with_dead, Searcher(graph, options, others).Run());
  found.lower_bound_bytes = std::min(found.lower_bound_bytes, with_dead.lower_bound_bytes);
  found.evaluations += with_dead.evaluations;
  if (with_dead.peak_bytes < found.peak_bytes) {
    with_dead.lower_bound_bytes = found.lower_bound_bytes;
    with_dead.evaluations = found.evaluations;
    return with_dead;
  }
  narrowed.applications.insert(narrowed.applications.end(), found.applications.begin(),
                               found.applications.end());
  found.applications = std::move(narrowed.applications);
  return found;
}

}  // namespace neap::rewrite
