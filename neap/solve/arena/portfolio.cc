// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "neap/base/ahead.h"
#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/base/random.h"
#include "neap/solve/arena/anytime.h"
#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/best_fit.h"
#include "neap/solve/arena/budget.h"
#include "neap/solve/arena/capacity_search.h"
#include "neap/solve/arena/crowd.h"
#include "neap/solve/arena/ejection.h"
#include "neap/solve/arena/first_fit.h"
#include "neap/solve/arena/pair_table.h"
#include "neap/solve/arena/sections.h"
#include "neap/solve/arena/skyline.h"
#include "neap/solve/arena/window_repair.h"

namespace neap::arena {
namespace {

constexpr std::size_t kMaxExact = 3000;  // buffers of a part; also bounds the recursion
constexpr std::int64_t kMaxVisits = 300'000'000;
constexpr int kRepairPasses = 24;
constexpr int kRepairPassesLarge = 12;
constexpr std::array<std::size_t, 2> kWindows = {24, 96};
constexpr int kMaxFruitless = 3;
constexpr std::int64_t kEjectionShares = 6;      // insertions of an attempt
constexpr std::int64_t kLeastEjectionPart = 64;  // of the gap, that an attempt aims at
constexpr std::int64_t kMaxEjectionStates = 2'000'000;
constexpr std::int64_t kMaxEjectionVisits = 48'000'000;  // neighbours looked at
// After these, where the arena is still more than one part of so many above the bound, the crowd is
// placed first.
constexpr std::int64_t kVisitsBeforeCrowd = 12'000'000;
constexpr std::int64_t kCrowdGap = 100;
constexpr std::size_t kMaxScanned = 60'000;
constexpr std::size_t kMaxScannedLate = 20'000;  // when there is no time left
constexpr std::pair<int, int> kExponents[] = {
    {1, 0}, {0, 1}, {1, 1}, {2, 1}, {1, 2}};  // size, life
constexpr std::int64_t kFirstFitPerState =
    8;                                      // placements that cost about as much as a search node
constexpr std::int64_t kBestFitWork = 500;  // of a buffer, in about nanoseconds
constexpr std::int64_t kFirstRoundNodes = 20'000;
constexpr std::int64_t kPrepareWork = 10'000;  // to prepare a search, in about nanoseconds

// The best placement known of every part of the problem, and the proven bound of all.
class Incumbent {
 public:
  explicit Incumbent(const Problem& problem)
      : problem_(problem), lower_(LoadLowerBound(problem)), parts_(SplitByTime(problem)) {
    heights_.assign(parts_.size(), INT64_MAX);
    // Buffers without bytes or lifetime are at the bottom.
    offsets_.assign(problem.buffers.size(), 0);
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      offsets_[i] = problem.buffers[i].fixed_offset.value_or(0);
    }
  }

  // Takes over the parts that `offsets`, one per buffer, places lower.
  void Offer(std::span<const std::int64_t> offsets) {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      std::int64_t height = 0;
      for (const BufferIndex i : parts_[p]) height = std::max(height, End(i, offsets));
      if (height >= heights_[p]) continue;
      heights_[p] = height;
      for (const BufferIndex i : parts_[p]) {
        offsets_[static_cast<std::size_t>(i)] = offsets[static_cast<std::size_t>(i)];
      }
    }
  }
  void OfferPart(std::size_t part, std::span<const std::int64_t> offsets, std::int64_t height) {
    heights_[part] = height;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      offsets_[static_cast<std::size_t>(parts_[part][i])] = offsets[i];
    }
  }
  void RaiseLower(std::int64_t lower) { lower_ = std::max(lower_, lower); }

  Placement Best() const { return {offsets_, Height()}; }
  std::int64_t Height() const { return HeightOf(problem_, offsets_); }
  std::int64_t lower() const { return lower_; }
  std::int64_t PartHeight(std::size_t part) const { return heights_[part]; }
  const std::vector<std::vector<BufferIndex>>& parts() const { return parts_; }
  bool Reaches(std::int64_t enough) const {
    return std::all_of(heights_.begin(), heights_.end(),
                       [enough](std::int64_t height) { return height <= enough; });
  }

 private:
  std::int64_t End(BufferIndex i, std::span<const std::int64_t> offsets) const {
    return offsets[static_cast<std::size_t>(i)] +
           problem_.buffers[static_cast<std::size_t>(i)].bytes;
  }

  const Problem& problem_;
  std::int64_t lower_;
  std::vector<std::vector<BufferIndex>> parts_;
  std::vector<std::int64_t> heights_;  // one per part
  std::vector<std::int64_t> offsets_;  // one per buffer
};

// size^a * length^b with a + b <= 3: the key of a priority rule, largest first.
__extension__ using Product = unsigned __int128;

std::vector<BufferIndex> OrderBy(const Problem& problem, int size_exponent, int length_exponent) {
  std::int64_t largest = 0;
  for (const Buffer& buffer : problem.buffers) largest = std::max(largest, buffer.bytes);
  int shift = 0;  // 2 * 40 bits of size and 32 bits of length fit into 128
  while ((largest >> shift) >= (std::int64_t{1} << 40)) ++shift;
  std::vector<Product> priorities;
  for (const Buffer& buffer : problem.buffers) {
    Product product = 1;
    for (int i = 0; i < size_exponent; ++i) product *= static_cast<Product>(buffer.bytes >> shift);
    const auto length = static_cast<Product>(std::int64_t{buffer.last} - buffer.first);
    for (int i = 0; i < length_exponent; ++i) product *= length;
    priorities.push_back(product);
  }
  std::vector<BufferIndex> order = FreeBuffers(problem);
  std::stable_sort(order.begin(), order.end(), [&](BufferIndex a, BufferIndex b) {
    return priorities[static_cast<std::size_t>(a)] > priorities[static_cast<std::size_t>(b)];
  });
  return order;
}

class Portfolio {
 public:
  Portfolio(const Problem& problem, const SolveOptions& options)
      : problem_(problem),
        goal_(options.goal_bytes),
        seed_(options.seed),
        threads_(options.limits.threads),
        table_(problem),
        budget_(options.limits),
        incumbent_(problem),
        first_fit_(problem) {
    budget_.SetStateCost(StateCost());
    budget_.SetFewSeconds(StatesForAFewSeconds());
  }

  Outcome Run() {
    if (IsLarge() && IsPlain()) PlaceInOrderOfTime();
    if (IsHuge()) return RunHuge();
    if (!problem_.pairs.empty() && AllowsDisjoint()) {
      incumbent_.Offer(PlaceLikeTflm(problem_).offsets);
    }
    FirstFit::Pass uncounted;  // beside the orders that kMaxVisits limits
    incumbent_.Offer(
        first_fit_.Place(TflmOrder(problem_), problem_.pairs.empty() ? &uncounted : &pass_)
            .offsets);
    Spend();
    FirstFitOrders();
    if (Unfinished() && CanEject()) {
      LowerByEjection();
    } else if (Unfinished()) {
      Repair();
    }
    if (Unfinished() && IsLarge() && problem_.pairs.empty() && !CanEject()) RepairWindows();
    if (Unfinished()) Search();
    return Result();
  }

 private:
  Outcome Result() const {
    return {incumbent_.Best(), std::min(incumbent_.lower(), incumbent_.Height()), budget_.states()};
  }

  // First-fit would look at all pairs.
  bool IsHuge() const {
    const std::size_t most = budget_.IsLate() ? kMaxScannedLate : kMaxScanned;
    return first_fit_.neighbours() == nullptr && problem_.buffers.size() > most && AllowsDisjoint();
  }
  Outcome RunHuge() {
    for (const auto& [size, length] : kExponents) {
      incumbent_.Offer(PlaceOnSkyline(problem_, OrderBy(problem_, size, length)).offsets);
      Spend();
      if (!Unfinished()) return Result();
    }
    Search();
    return Result();
  }

  // The height from which on lower ones are not looked for.
  std::int64_t Enough() const { return std::max(incumbent_.lower(), goal_.value_or(0)); }
  bool Unfinished() const {
    if (goal_ && incumbent_.lower() > *goal_) return false;
    return !incumbent_.Reaches(Enough()) && !budget_.Ended();
  }
  // A placed buffer costs microseconds in the square of the number of its neighbours: by how many
  // times it is dearer than one without neighbours.
  std::int64_t Dearness() const {
    const Neighbours* const neighbours = first_fit_.neighbours();
    const auto buffers = static_cast<std::int64_t>(problem_.buffers.size());
    if (neighbours == nullptr || buffers == 0) return 100;
    const std::int64_t average = neighbours->num_entries() / buffers;
    return 1 + average * average / 900;
  }
  std::int64_t StateCost() const { return 1000 * Dearness(); }
  std::int64_t StatesForAFewSeconds() const {
    constexpr std::int64_t kMax = 8'000'000;
    const std::int64_t states = kMax / Dearness();
    if (first_fit_.neighbours() == nullptr) return states;
    return std::max(static_cast<std::int64_t>(problem_.buffers.size()) * 10, states);
  }

  // Whether pairs that are disjoint break no rule.
  bool AllowsDisjoint() const {
    return std::all_of(problem_.pairs.begin(), problem_.pairs.end(), [this](const PairRule& rule) {
      return rule.low >= -problem_.buffers[static_cast<std::size_t>(rule.b)].bytes &&
             rule.high <= problem_.buffers[static_cast<std::size_t>(rule.a)].bytes;
    });
  }
  bool IsLarge() const { return problem_.buffers.size() > kMaxExact; }
  // Without rules and without fixed buffers.
  bool IsPlain() const {
    return problem_.pairs.empty() &&
           std::none_of(problem_.buffers.begin(), problem_.buffers.end(),
                        [](const Buffer& buffer) { return buffer.fixed_offset.has_value(); });
  }

  void Spend() {
    budget_.SetBounds(incumbent_.Height(), incumbent_.lower());
    budget_.Spend(static_cast<std::int64_t>(problem_.buffers.size()) / kFirstFitPerState + 1);
  }

  std::int64_t Try(const std::vector<BufferIndex>& order) {
    return Adopt(order, first_fit_.Place(order, &pass_));
  }

  std::int64_t Adopt(const std::vector<BufferIndex>& order, Placement placement) {
    incumbent_.Offer(placement.offsets);
    Spend();
    last_ = std::move(placement);
    if (last_.height_bytes < best_height_) {
      best_height_ = last_.height_bytes;
      best_order_ = order;
    }
    return last_.height_bytes;
  }

  // Best-fit in both directions, with every tenth of the lengths as the longest short one.
  void PlaceInOrderOfTime() {
    std::vector<std::int64_t> lengths;
    lengths.reserve(problem_.buffers.size());
    for (const Buffer& buffer : problem_.buffers) {
      lengths.push_back(std::int64_t{buffer.last} - buffer.first);
    }
    std::sort(lengths.begin(), lengths.end());
    std::vector<BestFitOptions> runs;
    for (std::size_t tenth = 0; tenth < 10; ++tenth) {
      BestFitOptions options;
      options.short_steps = tenth == 0 ? 0 : lengths[lengths.size() * tenth / 10];
      if (tenth > 0 && options.short_steps == runs.back().short_steps) continue;
      runs.push_back(options);
      options.from_the_end = true;
      runs.push_back(options);
    }
    const BestFitPlacer best_fit(problem_);
    ForEachAhead(
        threads_, runs.size(), [&](std::size_t) { return Unfinished(); },
        [&](std::size_t i, int) { return best_fit.Place(runs[i]); },
        [&](std::size_t, const Placement& placement) {
          incumbent_.Offer(placement.offsets);
          budget_.Work(static_cast<std::int64_t>(problem_.buffers.size()) * kBestFitWork);
        });
  }

  void FirstFitOrders() {
    struct Placed {
      std::vector<BufferIndex> order;
      Placement placement;
      std::int64_t visits = 0;
    };
    // Small placements are not worth a thread.
    ForEachAhead(
        IsLarge() ? threads_ : 1, std::size(kExponents),
        [&](std::size_t) { return Unfinished() && pass_.visits <= kMaxVisits; },
        [&](std::size_t i, int) {
          Placed placed{OrderBy(problem_, kExponents[i].first, kExponents[i].second), {}, 0};
          FirstFit::Pass pass;
          placed.placement = first_fit_.Place(placed.order, &pass);
          placed.visits = pass.visits;
          return placed;
        },
        [&](std::size_t, Placed placed) {
          pass_.visits += placed.visits;
          Adopt(placed.order, std::move(placed.placement));
        });
  }

  // Squeaky wheel: buffers that end above a random target go forward in the order.
  void Repair() {
    if (best_order_.empty()) return;
    Random random(seed_ + 1);
    const int passes = IsLarge() ? kRepairPassesLarge : kRepairPasses;
    std::vector<BufferIndex> order = best_order_;
    int fruitless = 0;
    for (int pass = 0; pass < passes && Unfinished(); ++pass) {
      if (pass_.visits > kMaxVisits) return;
      const std::int64_t before = best_height_;
      if (pass == 0 || fruitless > 8) {
        order = best_order_;
        first_fit_.Place(order, &pass_).offsets.swap(last_.offsets);
        fruitless = 0;
      }
      MoveForward(order, random);
      Try(order);
      fruitless = best_height_ < before ? 0 : fruitless + 1;
    }
  }

  void MoveForward(std::vector<BufferIndex>& order, Random& random) {
    const std::int64_t target =
        random.Between(incumbent_.lower(), std::max(incumbent_.lower(), best_height_ - 1));
    std::vector<std::pair<std::int64_t, BufferIndex>> ranked;
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      const auto i = static_cast<std::size_t>(order[rank]);
      auto key = static_cast<std::int64_t>(rank);
      if (last_.offsets[i] + problem_.buffers[i].bytes > target) {
        key -= random.Between(1, static_cast<std::int64_t>(order.size()));
      }
      ranked.emplace_back(key, order[rank]);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t rank = 0; rank < order.size(); ++rank) order[rank] = ranked[rank].second;
  }

  bool CanEject() const { return IsLarge() && IsPlain() && first_fit_.neighbours() != nullptr; }

  // Divides all sizes, and so every offset in a placement without gaps.
  std::int64_t Unit() const {
    std::int64_t unit = 0;
    for (const Buffer& buffer : problem_.buffers) unit = std::gcd(unit, buffer.bytes);
    return std::max<std::int64_t>(unit, 1);
  }

  // Aims at the middle between the bound and the best height; after a failure half as far below
  // that height, after a success twice as far. Ends with a part of the states.
  void LowerByEjection() {
    Ejection ejection(problem_, *first_fit_.neighbours(), seed_ + 3, kMaxEjectionVisits);
    bool tried_crowd = false;
    const std::int64_t states = std::min(budget_.left(), kMaxEjectionStates) / 2;
    const std::int64_t end = budget_.states() + states;
    const std::int64_t unit = Unit();
    for (std::int64_t part = 2; part <= kLeastEjectionPart && Unfinished();) {
      if (budget_.states() >= end) return;
      const std::int64_t height = incumbent_.Height();
      const std::int64_t less = (height - Enough()) / part;
      const std::int64_t target = (height - std::max<std::int64_t>(less, 1)) / unit * unit;
      std::vector<std::int64_t> offsets = incumbent_.Best().offsets;
      if (ejection.Run(target, states / kEjectionShares, offsets, budget_)) {
        incumbent_.Offer(offsets);
        budget_.SetBounds(incumbent_.Height(), incumbent_.lower());
        part = std::max<std::int64_t>(part / 2, 2);
      } else {
        part *= 2;
      }
      if (tried_crowd || ejection.visits() < kVisitsBeforeCrowd) continue;
      tried_crowd = true;
      if (PlaceCrowd()) return;
    }
  }

  // Whether the arena comes close to the bound this way.
  bool PlaceCrowd() {
    const std::int64_t gap = incumbent_.Height() - Enough();
    if (gap < Enough() / kCrowdGap) return false;
    const auto crowd = FindCrowd(problem_, Enough());
    if (!crowd) return false;
    const std::int64_t capacity = Enough() + Enough() / kCrowdGap;
    std::vector<std::int64_t> offsets = incumbent_.Best().offsets;
    if (!PlaceCrowdFirst(problem_, *first_fit_.neighbours(), *crowd, capacity, seed_ + 5, offsets,
                         budget_)) {
      return false;
    }
    incumbent_.Offer(offsets);
    budget_.SetBounds(incumbent_.Height(), incumbent_.lower());
    return true;
  }

  // Capacities between the bound and the best height, the bound with wider and wider windows first;
  // repeated while that helps.
  void RepairWindows() {
    if (first_fit_.neighbours() == nullptr) return;
    WindowRepair repair(problem_, *first_fit_.neighbours(), seed_ + 2);
    for (int fruitless = 0; fruitless < kMaxFruitless && Unfinished(); ++fruitless) {
      const std::int64_t before = incumbent_.Height();
      for (const std::size_t window : kWindows) RepairWindows(repair, window);
      if (incumbent_.Height() < before) fruitless = -1;
    }
  }

  void RepairWindows(WindowRepair& repair, std::size_t window) {
    std::vector<std::int64_t> offsets = incumbent_.Best().offsets;
    for (int quarter = 0; quarter < 4 && Unfinished(); ++quarter) {
      const std::int64_t gap = incumbent_.Height() - Enough();
      repair.Run(Enough() + gap / 4 * quarter, window, offsets, budget_);
      incumbent_.Offer(offsets);
      budget_.SetBounds(incumbent_.Height(), incumbent_.lower());
    }
  }

  struct PartSearch {
    std::size_t part = 0;
    std::unique_ptr<AnytimeSearch> search;
  };

  // The exact search on every part that is above the bound, in rounds that grow.
  void Search() {
    std::vector<PartSearch> searches;
    for (std::size_t p = 0; p < incumbent_.parts().size() && Unfinished(); ++p) {
      const auto& part = incumbent_.parts()[p];
      budget_.Work(static_cast<std::int64_t>(part.size()) * kPrepareWork);
      if (incumbent_.PartHeight(p) <= Enough() || part.size() > kMaxExact) continue;
      auto search = MakeCapacitySearch(problem_, table_, part);
      if (search == nullptr) continue;
      std::vector<std::int64_t> bytes;
      for (const BufferIndex i : part) {
        bytes.push_back(problem_.buffers[static_cast<std::size_t>(i)].bytes);
      }
      searches.push_back({p, std::make_unique<AnytimeSearch>(std::move(search), std::move(bytes),
                                                             incumbent_.PartHeight(p), seed_)});
    }
    for (std::int64_t nodes = kFirstRoundNodes; Unfinished(); nodes *= 2) {
      bool any = false;
      const std::int64_t states_before = budget_.states();
      for (PartSearch& entry : searches) {
        if (entry.search->upper_bytes() <= Enough()) continue;
        if (!Unfinished()) return;
        any = true;
        std::int64_t lower = incumbent_.lower();
        if (entry.search->Round(nodes, goal_, lower, budget_)) {
          incumbent_.OfferPart(entry.part, entry.search->offsets(), entry.search->upper_bytes());
        }
        incumbent_.RaiseLower(lower);
        budget_.SetBounds(incumbent_.Height(), incumbent_.lower());
      }
      // No search has anything left to try.
      if (!any || budget_.states() == states_before) return;
    }
  }

  const Problem& problem_;
  std::optional<std::int64_t> goal_;
  std::uint64_t seed_;
  int threads_;
  PairTable table_;
  Budget budget_;
  Incumbent incumbent_;
  FirstFit first_fit_;
  FirstFit::Pass pass_;
  Placement last_;
  std::vector<BufferIndex> best_order_;
  std::int64_t best_height_ = INT64_MAX;
};

}  // namespace

Outcome Solve(const Problem& problem, const SolveOptions& options) {
  const auto wrong = Validate(problem);
  NEAP_CHECK(!wrong, wrong.value_or(""));
  return Portfolio(problem, options).Run();
}

Outcome Solve(const Problem& problem, const Limits& limits) {
  SolveOptions options;
  options.limits = limits;
  return Solve(problem, options);
}

}  // namespace neap::arena
