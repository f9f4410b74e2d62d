// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/base/work.h"
#include "neap/check/check.h"
#include "neap/check/runtime_check.h"
#include "neap/compile/attention_order.h"
#include "neap/compile/headline.h"
#include "neap/plan/profile.h"
#include "neap/transform/cascade/cost.h"
#include "neap/transform/cascade/graph_work.h"
#include "neap/transform/cascade/ranking.h"
#include "neap/transform/cascade/region_search.h"
#include "neap/transform/cascade/tiles_check.h"

namespace neap::cascade {
namespace {

using graph::Graph;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;

std::int64_t ArenaOf(const compile::Compiled& compiled) {
  return compile::HeadlineBytes(compiled, true);
}

std::int64_t TotalOf(const compile::Compiled& compiled) {
  return compiled.totals.empty() ? -1 : compiled.totals.front().total_arena_bytes;
}

void SetMemory(const compile::Compiled& compiled, Proposal* proposal) {
  proposal->arena_bytes = ArenaOf(compiled);
  proposal->total_arena_bytes = TotalOf(compiled);
  proposal->delivered_arena_bytes = compiled.delivered_arena_bytes;
  proposal->unknown_scratch = compile::UnknownScratchText(compiled.unknown_kernels);
}

class Planner {
 public:
  Planner(const Graph& graph, const SearchOptions& options)
      : graph_(graph), options_(options), ranking_(options, &outcome_.uncut) {
    const plan::Profile& profile = plan::ProfileOf(options.compile.runtime);
    rules_.alignment = profile.alignment;
    rules_.kernels = options.compile.kernels == ops::KernelLibrary::kNone ? profile.kernels
                                                                          : options.compile.kernels;
    const bool tflm = options.compile.runtime == plan::Runtime::kTflm;
    if (tflm && rules_.kernels == ops::KernelLibrary::kNone && options.compile.memory_plan) {
      rules_.kernels = ops::KernelLibrary::kCopies;
    }
    rules_.charges_operators = tflm;
    rules_.runtime = check::StockRuntimeOf(options.compile.runtime);
    // Without an offline memory plan, TFLM lets no two tensors of a body that is called again share
    // bytes.
    if (tflm && options.compile.memory_plan) rules_.bodies = options.bodies;
  }

  Result<SearchOutcome> Run() {
    outcome_.uncut.placements = compile::MakePlacementMemo();
    compile::Options with = OptionsFor(options_, outcome_.uncut);
    with.limits = WithShareOfTime(with.limits, 1, 2);
    {
      const WorkScope work(1, 2);
      NEAP_TRY(outcome_.compiled, compile::Compile(graph_, with));
    }
    const compile::Compiled& base = outcome_.compiled;
    outcome_.macs = MacsOf(Main());
    SetMemory(base, &outcome_.uncut);
    outcome_.uncut.macs = outcome_.macs;
    outcome_.uncut.cycles = CyclesOf(Main(), options_.device);
    outcome_.uncut.keeps_order = false;
    proposals_ = {outcome_.uncut};
    plans_.emplace_back();  // was checked
    order_ = base.order[SubgraphId(0)];
    NEAP_CHECK_OK(Search());
    NEAP_CHECK_OK(SearchOtherOrder());
    NEAP_CHECK_OK(Finish());
    return std::move(outcome_);
  }

 private:
  const Subgraph& Main() const { return graph_.subgraphs[SubgraphId(0)]; }

  bool Stopped() const { return IsOver(options_.compile.limits); }

  void Report(const char* phase, std::size_t done, std::size_t of) const {
    if (!options_.observer) return;
    const Proposal& best = proposals_[Best()];
    options_.observer({phase, static_cast<std::int64_t>(done), static_cast<std::int64_t>(of),
                       ranking_.ScoreOf(best)});
  }

  std::size_t Best() const { return ranking_.Best(proposals_); }

  std::vector<Combination> SearchRegions(RegionSearch* search) {
    const WorkScope work(1, 3);
    search->SetLimits(WithShareOfTime(options_.compile.limits, 1, 2));
    std::vector<Combination> front =
        search->Run([&](std::size_t done, std::size_t of) { Report("regions", done, of); });
    outcome_.cut_short = search->cut_short();
    search->SetLimits(options_.compile.limits);
    return front;
  }

  Status Search() {
    RegionLimits limits{options_.grids, options_.compile.limits};
    if (!options_.whole_front) {
      limits.enough_bytes = std::max(options_.budget_bytes, options_.budget_total_bytes);
    }
    RegionSearch search(Main(), order_, rules_, limits);
    std::vector<Combination> front = SearchRegions(&search);
    outcome_.regions_searched += search.Searched();
    least_ = std::min(least_, search.LeastPossible());
    outcome_.arena_lower_bound_bytes = rules_.kernels == ops::KernelLibrary::kNone ? least_ : 0;
    outcome_.proposals = std::max(outcome_.proposals, static_cast<std::int64_t>(front.size()));
    NEAP_CHECK_OK(TryFront(&front));
    return Polish(&search);
  }

  // By the model's estimate, the best first: it does not exceed the need of a placement, up to
  // overlaps inside operators. With a budget, those within it come first, by rising work.
  Status TryFront(std::vector<Combination>* front) {
    SortByModel(front, false);
    const auto fits = [&](const Combination& combination) {
      return ranking_.HasBudget() &&
             ranking_.Fits(combination.cost.bytes, TotalByModel(combination.cost));
    };
    const auto larger = std::stable_partition(front->begin(), front->end(), fits);
    std::stable_sort(front->begin(), larger, [](const Combination& a, const Combination& b) {
      return a.cost.macs < b.cost.macs;
    });
    int since_best = 0;
    for (std::size_t i = 0; i < front->size() && !Stopped(); ++i) {
      Report("proposals", i, front->size());
      if ((*front)[i].regions.empty()) continue;
      if (!options_.whole_front && since_best >= kPatience) break;
      const std::size_t best = Best();
      NEAP_CHECK_OK(TryFrom(best, (*front)[i].regions));
      since_best = Best() != best ? 0 : since_best + 1;
    }
    return {};
  }

  Status Polish(RegionSearch* search) {
    // The local search goes two ways, where there are two.
    const std::size_t of_front = Best();
    NEAP_CHECK_OK(TryNear(*search));
    const std::size_t of_near = Best();
    NEAP_CHECK_OK(Descend(of_near, search));
    if (of_front != of_near) NEAP_CHECK_OK(Descend(of_front, search));
    outcome_.cut_short = outcome_.cut_short || Stopped();
    if (!Stopped()) NEAP_CHECK_OK(ReorderBest());
    return {};
  }

  // Where nothing is cut: runs of an order in which attention is one run.
  Status SearchOtherOrder() {
    std::vector<OpId> other = compile::SecondMatricesFirst(Main(), order_);
    if (!proposals_[Best()].regions.empty() || Stopped() || other == order_) return {};
    order_ = std::move(other);
    tried_.clear();
    uneven_.clear();
    return Search();
  }

  // Prices a proposal, which is kept only if it is better than `reference`.
  Status TryFrom(std::size_t reference, const std::vector<RegionPlan>& regions) {
    if (!tried_.insert(KeysOf(regions)).second) return {};
    reference_ = reference;
    return Price(regions);
  }
  // The best of those after `since` and of `since` itself.
  std::size_t BestSince(std::size_t since, std::size_t count) const {
    std::size_t best = since;
    for (std::size_t i = count; i < proposals_.size(); ++i) {
      if (ranking_.IsBetter(proposals_[i], proposals_[best])) best = i;
    }
    return best;
  }

  // The estimate does not exceed the need of a placement, and may be much less: a proposal with a
  // slightly worse estimate may be better.
  Status TryNear(const RegionSearch& search) {
    if (options_.whole_front || (ranking_.HasBudget() && ranking_.Fits(proposals_[Best()])))
      return {};
    const std::int64_t score = ranking_.ScoreOf(proposals_[Best()]);
    std::vector<Combination> near =
        search.Near(score + ToleranceOf(score) - ScoreOf(Cost{}), kNearEach);
    SortByModel(&near, false);
    if (near.size() > kMaxNear) near.resize(kMaxNear);
    for (std::size_t i = 0; i < near.size() && !Stopped(); ++i) {
      Report("proposals", i, near.size());
      if (!near[i].regions.empty()) NEAP_CHECK_OK(TryFrom(Best(), near[i].regions));
    }
    return {};
  }

  Status Descend(std::size_t from, RegionSearch* search) {
    NEAP_CHECK_OK(Improve(&from, *search));
    return Refine(from, search);
  }

  // A plan of one run replaces the regions that it touches in a proposal, as long as that helps and
  // effort remains. The best estimate comes first.
  Status Improve(std::size_t* at, const RegionSearch& search) {
    int left = kMaxImprovements;
    for (bool improved = true; improved && left > 0 && !Stopped();) {
      const std::size_t from = *at;
      int patience = kImprovePatience;
      for (const Combination& neighbour : NeighboursOf(proposals_[from], search)) {
        if (left == 0 || patience == 0 || *at != from || Stopped()) break;
        if (tried_.contains(KeysOf(neighbour.regions))) continue;
        --left;
        --patience;
        Report("proposals", static_cast<std::size_t>(kMaxImprovements - left),
               static_cast<std::size_t>(kMaxImprovements));
        const std::size_t count = proposals_.size();
        NEAP_CHECK_OK(TryFrom(from, neighbour.regions));
        *at = BestSince(from, count);
      }
      improved = *at != from;
    }
    return {};
  }

  // By how much a placement may need less than the model predicts. The model counts overlaps inside
  // operators by rows; without such overlaps it is a lower bound.
  std::int64_t ToleranceOf(std::int64_t bytes) const {
    const bool exact = rules_.kernels == ops::KernelLibrary::kNone ||
                       rules_.kernels == ops::KernelLibrary::kCopies;
    return exact ? 0 : bytes / 16;
  }

  // With a margin, because a placement may need less than the model estimates.
  bool FitsNearly(const Cost& cost) const {
    const auto within = [&](std::int64_t bytes, std::int64_t budget) {
      return budget == 0 || bytes <= budget + ToleranceOf(budget);
    };
    return within(cost.bytes, options_.budget_bytes) &&
           within(TotalByModel(cost), options_.budget_total_bytes);
  }

  // Those of a proposal that may be better than it, by the model.
  std::vector<Combination> NeighboursOf(const Proposal& proposal,
                                        const RegionSearch& search) const {
    const bool cheap = ranking_.HasBudget() && ranking_.Fits(proposal);
    const std::int64_t score = ranking_.ScoreOf(proposal);
    const std::int64_t macs = search.CostOf(proposal.regions).macs;
    ChargeWork(static_cast<std::int64_t>(search.Plans().size() * order_.size()) *
               kNeighbourOperator);
    std::vector<Combination> all = search.Neighbours(proposal.regions);
    std::erase_if(all, [&](const Combination& neighbour) {
      if (neighbour.regions.empty()) return true;
      if (options_.whole_front) return false;
      if (!cheap) return ScoreOf(neighbour.cost) > score + ToleranceOf(score);
      return neighbour.cost.macs >= macs || !FitsNearly(neighbour.cost);
    });
    SortByModel(&all, cheap);
    return all;
  }

  // Bands of other heights in the regions of the best proposal.
  Status Refine(std::size_t at, RegionSearch* search) {
    for (bool improved = true; improved && !Stopped();) {
      const Proposal from = proposals_[at];
      const std::size_t count = proposals_.size();
      for (const Stretch& run : StretchesToRefine(from)) {
        if (Stopped()) return {};
        if (!uneven_.contains(run)) {
          std::vector<RegionCandidate> plans = search->Uneven(run.first, run.second);
          SortByModel(&plans, false);
          if (plans.size() > kMaxUneven) plans.resize(kMaxUneven);
          uneven_.emplace(run, std::move(plans));
        }
        for (const RegionCandidate& plan : uneven_.at(run)) {
          NEAP_CHECK_OK(TryFrom(BestSince(at, count), search->With(from.regions, plan)));
        }
      }
      improved = BestSince(at, count) != at;
      at = BestSince(at, count);
    }
    return {};
  }

  using Stretch = std::pair<std::size_t, std::size_t>;  // positions in the order, half-open
  std::vector<Stretch> StretchesToRefine(const Proposal& best) const {
    std::vector<Stretch> runs;
    for (const RegionPlan& region : best.regions) {
      const auto at = std::find(order_.begin(), order_.end(), region.ops.front());
      const auto begin = static_cast<std::size_t>(at - order_.begin());
      runs.emplace_back(begin, begin + region.ops.size());
    }
    return runs;
  }

  // By the minimised number; `cheap`: by the work.
  template <typename T>
  void SortByModel(std::vector<T>* items, bool cheap) const {
    std::stable_sort(items->begin(), items->end(), [&](const T& a, const T& b) {
      const std::int64_t bytes_a = ScoreOf(a.cost);
      const std::int64_t bytes_b = ScoreOf(b.cost);
      return cheap ? std::tuple(a.cost.macs, bytes_a) < std::tuple(b.cost.macs, bytes_b)
                   : std::tuple(bytes_a, a.cost.macs) < std::tuple(bytes_b, b.cost.macs);
    });
  }
  // The minimised number, by the model.
  std::int64_t ScoreOf(const Cost& cost) const {
    return ranking_.CountsTotal() ? TotalByModel(cost) : cost.bytes;
  }
  std::int64_t TotalByModel(const Cost& cost) const {
    const std::int64_t total = outcome_.uncut.total_arena_bytes;
    return cost.bytes + std::max<std::int64_t>(total - outcome_.uncut.arena_bytes, 0) +
           cost.kept_bytes;
  }

  using Key = std::vector<RegionKey>;
  static Key KeysOf(const std::vector<RegionPlan>& regions) {
    Key key;
    for (const RegionPlan& region : regions) key.push_back(KeyOf(region));
    return key;
  }

  // A realised graph, in its own order, with a fraction of the effort.
  Status Price(const std::vector<RegionPlan>& regions) {
    Proposal proposal;
    proposal.placements = outcome_.uncut.placements;
    proposal.regions = regions;
    proposal.order = order_;
    NEAP_CHECK_OK(Add(proposal, kQuickStates));
    if (rules_.bodies == TileBodies::kClones) return {};
    proposal.bodies = rules_.bodies;
    return Add(std::move(proposal), kQuickStates);
  }

  // The exact search may know a better order of the tiles, and the full effort a lower placement.
  // It is spent on an order that with the effort of all proposals is not far above, and where there
  // may be a lower placement at all.
  Status ReorderBest() {
    const std::size_t at = Best();
    const Proposal best = proposals_[at];
    if (best.regions.empty()) return {};
    reference_ = at;
    const bool may_be_lower = !IsLeast(plans_[at], true);
    Proposal searched = best;
    searched.keeps_order = false;
    const std::size_t before = proposals_.size();
    const Limits::Clock::time_point began = LimitNow();
    NEAP_CHECK_OK(Add(searched, kQuickStates));
    // An order that is chosen is searched once more.
    const auto& deadline = options_.compile.limits.deadline;
    const Limits::Clock::time_point now = LimitNow();
    if (deadline && *deadline - now < now - began) {
      proposals_.resize(before);
      plans_.resize(before);
      outcome_.cut_short = true;
      return {};
    }
    const bool promising = proposals_.size() > before && !IsLeast(plans_.back(), false) &&
                           ranking_.ScoreOf(proposals_.back()) <=
                               ranking_.ScoreOf(best) + ranking_.ScoreOf(best) / kPromisingShare;
    if (may_be_lower) NEAP_CHECK_OK(Add(best, options_.compile.placement_states));
    if (!promising) return {};
    return Add(std::move(searched), options_.compile.placement_states);
  }

  // No effort finds a lower arena: of the order of the plan, or of the orders that are searched.
  static bool IsLeast(const plan::Plan& plan, bool of_this_order) {
    const plan::EntryPlan& entry = plan::LargestEntry(plan);
    if (of_this_order) return entry.arena_bytes == entry.arena_given_order_lower_bound_bytes;
    const bool at_peak =
        plan.kernels == ops::KernelLibrary::kNone && entry.arena_bytes == entry.peak_bytes;
    return at_peak || entry.arena_status == plan::BoundStatus::kOptimal;
  }

  Status Add(Proposal proposal, std::int64_t states) {
    auto realised = GraphOf(graph_, proposal);
    if (!realised) return {};  // the edges of a region forbid it: no proposal
    const bool has_bodies = realised->subgraphs.size() > graph_.subgraphs.size();
    if (proposal.bodies == TileBodies::kShared && !has_bodies) return {};  // clones after all
    ++realised_;
    const Graph planned = WithoutUnused(std::move(*realised));
    const auto operators = static_cast<std::int64_t>(planned.subgraphs[SubgraphId(0)].ops.size());
    ChargeWork(operators * kRealisedOperator);
    const auto work = WorkOf(planned, options_.device);
    proposal.macs = work.macs;
    proposal.cycles = work.cycles;
    proposal.tiles = 0;
    for (const RegionPlan& region : proposal.regions) {
      std::int64_t tiles = 1;
      for (const Split& split : region.splits) {
        tiles *= static_cast<std::int64_t>(split.cuts.size()) + 1;
      }
      proposal.tiles += tiles;
    }
    proposal.placement_states = states;
    compile::Options with = OptionsFor(options_, proposal);
    with.place_file_order = false;
    with.limits.observer = nullptr;
    with.check = false;  // most of them are thrown away; see Finish()
    const auto accepts = [&](std::int64_t arena_bytes, std::int64_t total_arena_bytes) {
      proposal.arena_bytes = arena_bytes;
      proposal.total_arena_bytes = total_arena_bytes;
      return IsCandidate(proposal);
    };
    // The full effort is spent as it will be in the end, so that it is spent once.
    if (states == kQuickStates) {
      with.accepts = accepts;
      const bool unlimited = with.limits.max_states <= 0;
      with.limits.max_states =
          unlimited ? kQuickOrderStates : std::min(with.limits.max_states, kQuickOrderStates);
    }
    NEAP_TRY(compile::Compiled compiled, compile::Compile(planned, with));
    if (compiled.rejected) return {};
    SetMemory(compiled, &proposal);
    proposals_.push_back(std::move(proposal));
    plans_.push_back(std::move(compiled.plan));
    return {};
  }

  // Better than the reference; when the whole front is requested, undominated so far.
  bool IsCandidate(const Proposal& proposal) const {
    if (!options_.whole_front) return ranking_.IsBetter(proposal, proposals_[reference_]);
    return std::none_of(proposals_.begin(), proposals_.end(), [&](const Proposal& other) {
      return IsNoWorse(other, proposal) && other.tiles <= proposal.tiles;
    });
  }

  bool IsNoWorse(const Proposal& a, const Proposal& b) const {
    // A total that is not known is no better than any.
    const auto total = [](const Proposal& p) {
      return p.total_arena_bytes < 0 ? kMaxBytes : p.total_arena_bytes;
    };
    const Criteria& by = options_.criteria;
    return (Ranking::IsKnown(a) || !Ranking::IsKnown(b)) &&
           (!by.arena || a.arena_bytes <= b.arena_bytes) &&
           (!by.total_arena || total(a) <= total(b)) && (!by.cycles || a.cycles <= b.cycles) &&
           (!by.macs || a.macs <= b.macs);
  }

  // Checks the plan whose arena was counted, independently of the planner.
  Status Verify(std::size_t proposal) const {
    if (proposals_[proposal].regions.empty()) return {};
    NEAP_TRY(Graph realised, GraphOf(graph_, proposals_[proposal]));
    const auto refused = check::FindNewRefusal(graph_, realised, options_.compile.runtime);
    NEAP_CHECK(!refused, "tiles need an operator that the runtime refuses: " + refused->why);
    for (const RegionPlan& region : proposals_[proposal].regions) {
      NEAP_TRY(const std::vector<Tile> tiles, TilesOf(Main(), region));
      const std::string wrong = FindWrongTile(Main(), region, tiles);
      NEAP_CHECK(wrong.empty(), "tiles fail their check: " + wrong);
    }
    const auto violations = check::CheckPlan(WithoutUnused(std::move(realised)), plans_[proposal]);
    NEAP_CHECK(violations.empty(), "a plan in tiles fails its check: " + violations.front());
    return {};
  }

  Status Finish() {
    const std::size_t best = Best();
    const Proposal chosen = proposals_[best];
    if (!options_.whole_front) NEAP_CHECK_OK(Verify(best));
    outcome_.fits = ranking_.Fits(chosen);
    for (std::size_t i = 0; i < proposals_.size(); ++i) {
      bool beaten = false;
      for (std::size_t j = 0; j < proposals_.size() && !beaten; ++j) {
        if (i == j || !IsNoWorse(proposals_[j], proposals_[i])) continue;
        // Of equal ones that of the fewest tiles, then the first.
        beaten = !IsNoWorse(proposals_[i], proposals_[j]) ||
                 std::pair(proposals_[j].tiles, j) < std::pair(proposals_[i].tiles, i);
      }
      // The best one has been checked and is returned.
      if (beaten && (options_.whole_front || i != best)) continue;
      if (options_.whole_front) NEAP_CHECK_OK(Verify(i));
      outcome_.front.push_back(proposals_[i]);
    }
    std::stable_sort(
        outcome_.front.begin(), outcome_.front.end(), [](const Proposal& a, const Proposal& b) {
          return std::tuple(-a.arena_bytes, a.cycles) < std::tuple(-b.arena_bytes, b.cycles);
        });
    outcome_.chosen = 0;
    for (std::size_t i = 1; i < outcome_.front.size(); ++i) {
      if (ranking_.IsBetter(outcome_.front[i], outcome_.front[outcome_.chosen]))
        outcome_.chosen = i;
    }
    if (!outcome_.front[outcome_.chosen].regions.empty()) return {};
    if (outcome_.cut_short && realised_ == 0) {
      outcome_.note = "no operators are cut into tiles: the search ended before any were tried";
      return {};
    }
    outcome_.note = outcome_.proposals <= 1
                        ? "no operators are cut into tiles: tiles save no memory here"
                        : "no operators are cut into tiles: none of " + std::to_string(realised_) +
                              " planned combinations is better";
    return {};
  }

  static constexpr int kPatience = 24;
  static constexpr std::int64_t kPromisingShare = 8;
  static constexpr int kMaxImprovements = 480;
  static constexpr int kImprovePatience = 128;
  static constexpr std::size_t kMaxUneven = 24;
  static constexpr std::size_t kNearEach = 16;
  static constexpr std::size_t kMaxNear = 300;
  static constexpr std::int64_t kQuickStates = 4000;  // of a placement
  static constexpr std::int64_t kQuickOrderStates = 20'000;
  // In about nanoseconds.
  static constexpr std::int64_t kRealisedOperator = 10'000;
  static constexpr std::int64_t kNeighbourOperator = 6;

  const Graph& graph_;
  const SearchOptions& options_;
  Rules rules_;
  std::vector<OpId> order_;
  std::vector<Proposal> proposals_;  // [0]: nothing is cut; the others were candidates when added
  std::vector<plan::Plan> plans_;    // of each
  std::int64_t realised_ = 0;
  std::int64_t least_ = kMaxBytes;  // of all orders searched
  std::set<Key> tried_;
  std::size_t reference_ = 0;  // the best result so far
  std::map<Stretch, std::vector<RegionCandidate>> uneven_;
  SearchOutcome outcome_;
  Ranking ranking_;
};

}  // namespace

compile::Options OptionsFor(const SearchOptions& options, const Proposal& proposal) {
  compile::Options with = options.compile;
  if (proposal.placements != nullptr) with.placements = proposal.placements;
  if (proposal.regions.empty()) return with;
  if (proposal.placement_states > 0) {
    with.placement_states = std::min(with.placement_states, proposal.placement_states);
  }
  with.order = proposal.keeps_order ? compile::kFileOrder : compile::kExactOrder;
  const bool tflm = with.runtime == plan::Runtime::kTflm;
  if (tflm && with.kernels == ops::KernelLibrary::kNone && with.memory_plan && with.place) {
    with.kernels = ops::KernelLibrary::kCopies;
  }
  return with;
}

Result<Graph> GraphOf(const Graph& graph, const Proposal& proposal) {
  if (proposal.regions.empty()) return graph;
  return Realise(graph, proposal.regions, proposal.order, proposal.bodies);
}

Result<SearchOutcome> FindPlan(const Graph& graph, const SearchOptions& options) {
  return Planner(graph, options).Run();
}

}  // namespace neap::cascade
