// SPDX-License-Identifier: Apache-2.0
//
// The exact search: schedule::Solve. docs/algorithms/order.md tells method and proofs.
//   split at hourglasses -> per segment: greedy and beam orders (upper bound), min cuts (lower
//   bound) -> decision searches with growing limits, forward and backward, until the bounds meet.
// Only the segments whose upper bound exceeds the best lower bound of all are searched.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>

#include "neap/base/check.h"
#include "neap/schedule/beam.h"
#include "neap/schedule/best_first.h"
#include "neap/schedule/cut.h"
#include "neap/schedule/decider.h"
#include "neap/schedule/inference.h"
#include "neap/schedule/instance.h"
#include "neap/schedule/schedule.h"
#include "neap/schedule/segments.h"
#include "neap/schedule/stopper.h"

namespace neap::schedule {
namespace {

std::int64_t CommonUnit(const Problem& problem) {
  std::int64_t unit = 0;
  for (const Buffer& buffer : problem.buffers) unit = std::gcd(unit, buffer.bytes);
  for (const std::int64_t bytes : problem.scratch_bytes) unit = std::gcd(unit, bytes);
  return std::max<std::int64_t>(unit, 1);
}

// One segment. Bounds inside are in units; the doors speak bytes.
class SegmentSearch {
 public:
  SegmentSearch(const Segment& segment, std::int64_t max_table_bytes)
      : segment_(segment),
        unit_(CommonUnit(segment.problem)),
        max_table_bytes_(max_table_bytes),
        forward_(segment.problem, unit_, false) {
    order_ = forward_.topological();
    upper_ = forward_.PeakOf(order_);
    // What is live across the whole segment is live because every order passes its ends.
    for (const auto& buffer : forward_.buffers()) {
      if (buffer.users.empty() && buffer.at_start && buffer.at_end) base_ += buffer.bytes;
    }
    if (base_ > 0) proof_ = Proof::kMinCut;
    for (OpIndex op = 0; op < forward_.num_ops(); ++op) {
      const std::int64_t alone = AloneHill(op);
      if (alone > lower_ || bound_op_ < 0) {
        lower_ = alone;
        bound_op_ = op;
      }
    }
    // What is live before the first operator and after the last one is live while they run.
    Raise(std::max(forward_.start_live(), forward_.end_live()), Proof::kSearch, bound_op_);
  }

  std::int64_t upper_bytes() const { return upper_ * unit_; }
  std::int64_t lower_bytes() const { return lower_ * unit_; }
  Proof proof() const { return proof_; }
  OpIndex bound_op() const { return segment_.ops[static_cast<std::size_t>(bound_op_)]; }
  bool Closed(std::int64_t floor_bytes) const {
    return upper_ <= std::max(lower_, floor_bytes / unit_);
  }
  bool reversed() const { return reversed_; }
  // Of a min-cut bound, in the indices and bytes of the whole problem.
  std::vector<CutPath> Witness() const {
    std::vector<CutPath> witness;
    std::int64_t hill = 0;
    CutFinder cuts(forward_);
    for (CutFinder::Path& path : cuts.Witness(bound_op_, &hill)) {
      CutPath out{path.bytes * unit_, std::move(path.buffers), std::move(path.through)};
      for (BufferIndex& buffer : out.buffers) {
        buffer = segment_.buffers[static_cast<std::size_t>(buffer)];
      }
      for (auto& ops : out.through) {
        for (OpIndex& op : ops) op = segment_.ops[static_cast<std::size_t>(op)];
      }
      witness.push_back(std::move(out));
    }
    NEAP_CHECK(hill >= lower_, "the witness of a cut is below its bound");
    return witness;
  }
  void AppendOrder(std::vector<OpIndex>* order) const {
    for (const OpIndex op : order_) order->push_back(segment_.ops[static_cast<std::size_t>(op)]);
  }

  // Cheap orders, the min-cut bound, and short searches: on most networks that is all there is to
  // do.
  void Bound(std::int64_t floor_bytes, Stopper* stopper) {
    if (Closed(floor_bytes)) return;
    Improve(BeamSearch(forward_, upper_ - 1, 1, stopper));
    if (Closed(floor_bytes)) return;
    ImproveBackward(BeamSearch(backward(), kNoBudget, 1, stopper));
    CutBounds(floor_bytes, stopper);
    ByBestFirst(floor_bytes, 3, stopper);
    SoftBisect(floor_bytes, kShortStates, kNarrow, stopper);
    ByBestFirst(floor_bytes, 50, stopper);
  }

  // One round of decision searches of at most `states` states each. True: something is left to do.
  bool Search(std::int64_t floor_bytes, std::int64_t states, Stopper* stopper) {
    if (states == kFirstStates * kRoundFactor) {
      SoftBisect(floor_bytes, kFirstStates, kMiddling, stopper);
    }
    if (states == kFirstStates * kRoundFactor * kRoundFactor) {
      DecisionBeam(floor_bytes, kWide, stopper);
    }
    if (!HardBisect(floor_bytes, states, stopper)) return false;
    const bool hopeless = top_progress_ < kHopeless;
    if (hopeless && states >= kInferenceFrom && forward_.num_ops() <= kMostInferenceOps) {
      InferBisect(floor_bytes, states / 2, stopper);
    }
    return !Closed(floor_bytes);
  }

  static constexpr std::int64_t kFirstStates = 500;
  static constexpr std::int64_t kRoundFactor = 4;

 private:
  static constexpr std::int64_t kNoBudget = std::int64_t{1} << 62;
  static constexpr std::int64_t kInferenceFrom = 128'000;
  // Below this share of its tree (in 2^-30) a search is not expected to end.
  static constexpr std::int64_t kHopeless = std::int64_t{1} << 14U;
  static constexpr OpIndex kMostInferenceOps = 1'000;
  static constexpr std::int64_t kStatesPerCut = 16;  // a cut costs about as much as these
  static constexpr std::int64_t kShortStates = 200;
  static constexpr std::size_t kNarrow = 4;
  static constexpr std::size_t kMiddling = 16;
  static constexpr std::size_t kWide = 64;
  // Operators in all networks of the min-cut bound together; beyond, the bound stays as it is.
  static constexpr std::int64_t kMostCutWork = 4'000'000;

  const Instance& backward() {
    if (!backward_) backward_ = std::make_unique<Instance>(segment_.problem, unit_, true);
    return *backward_;
  }

  std::int64_t AloneHill(OpIndex op) const {
    std::int64_t bytes = base_ + forward_.Scratch(op);
    for (const BufferIndex index : forward_.BuffersOf(op)) {
      bytes += forward_.buffers()[static_cast<std::size_t>(index)].bytes;
    }
    const InPlace& pair = forward_.InPlaceOf(op);
    if (pair.op >= 0) bytes -= forward_.buffers()[static_cast<std::size_t>(pair.output)].bytes;
    return bytes;
  }

  void Improve(std::vector<OpIndex> order) {
    if (order.empty()) return;
    const std::int64_t peak = forward_.PeakOf(order);
    if (peak >= upper_) return;
    upper_ = peak;
    order_ = std::move(order);
  }
  void ImproveBackward(std::vector<OpIndex> order) {
    std::reverse(order.begin(), order.end());
    Improve(std::move(order));
  }
  void Raise(std::int64_t lower, Proof proof, OpIndex op) {
    if (lower <= lower_) return;
    lower_ = lower;
    proof_ = proof;
    bound_op_ = op;
  }

  // The hill of an operator in any order is at least its min cut, and its hill in the best order so
  // far is at least that: operators below the current bound there cannot raise it.
  void CutBounds(std::int64_t floor_bytes, Stopper* stopper) {
    std::vector<std::pair<std::int64_t, OpIndex>> hills;
    std::vector<Word> executed(forward_.words(), 0);
    std::int64_t live = forward_.start_live();
    for (const OpIndex op : order_) {
      const Effect effect = forward_.EffectOf(executed.data(), live, op);
      hills.emplace_back(-effect.hill, op);
      live = effect.live;
      SetBit(executed.data(), op);
    }
    std::sort(hills.begin(), hills.end());
    CutFinder cuts(forward_);
    std::int64_t work = 0;
    for (const auto& [negative_hill, op] : hills) {
      if (-negative_hill <= std::max(lower_, floor_bytes / unit_) || Closed(floor_bytes)) break;
      if (work > kMostCutWork || stopper->Look()) break;
      Raise(std::min(cuts.LeastHill(op, upper_), upper_), Proof::kMinCut, op);
      work += forward_.num_ops();
    }
  }

  void DecisionBeam(std::int64_t floor_bytes, std::size_t width, Stopper* stopper) {
    while (!Closed(floor_bytes) && !stopper->stopped()) {
      const std::int64_t before = upper_;
      TryBeams(upper_ - 1, width, stopper);
      if (upper_ == before) return;
    }
  }

  // Smallest peak first: unbeaten where few orders come close to the optimum, as in most networks,
  // and hopeless where many do. `states_per_op` keeps it short.
  void ByBestFirst(std::int64_t floor_bytes, std::int64_t states_per_op, Stopper* stopper) {
    if (Closed(floor_bytes) || stopper->stopped()) return;
    Limits limits;
    limits.max_states = stopper->Remaining(states_per_op * forward_.num_ops());
    limits.max_memory_bytes = max_table_bytes_ / 2;
    limits.stop = stopper->limits().stop;
    const Outcome outcome = BestFirst(segment_.problem, limits, order_, BestFirstOptions{});
    stopper->Charge(outcome.states);
    Improve(outcome.order);
    Raise(std::min(outcome.lower_bound_bytes / unit_, upper_), Proof::kSearch, bound_op_);
  }

  void TryBeams(std::int64_t budget, std::size_t width, Stopper* stopper) {
    const std::int64_t before = upper_;
    Improve(BeamSearch(forward_, budget, width, stopper));
    if (upper_ == before) ImproveBackward(BeamSearch(backward(), budget, width, stopper));
  }

  // Good orders by adaptive budgets, after SERENITY (MLSys 2020, section 3.2) but bracketed: tight
  // budgets guide a short search better than generous ones. From the lower bound on, a budget at
  // which short searches and narrow beams find nothing is taken for too small, without being proven
  // so.
  void SoftBisect(std::int64_t floor_bytes, std::int64_t states, std::size_t width,
                  Stopper* stopper) {
    std::int64_t soft = std::max(lower_, floor_bytes / unit_);
    std::int64_t budget = soft;
    for (int looks = 0; looks < kMostLooks && soft < upper_ && !stopper->stopped(); ++looks) {
      const std::int64_t before = upper_;
      const Verdict verdict = Decide(Aim::kLower, budget, states, stopper);
      if (verdict == Verdict::kUnknown) TryBeams(budget, width, stopper);
      if (upper_ == before) soft = budget + 1;
      soft = std::max(soft, lower_);
      budget = soft + (upper_ - 1 - soft) / 2;
    }
  }
  static constexpr int kMostLooks = 12;
  static constexpr int kMostHalvings = 4;

  // Decision searches until none of them comes to an end within its states: refuting all below the
  // best order ends everything, the middle moves one of the bounds. True: the bounds have not met.
  bool HardBisect(std::int64_t floor_bytes, std::int64_t states, Stopper* stopper) {
    while (!Closed(floor_bytes) && !stopper->stopped()) {
      const std::int64_t low = std::max(lower_, floor_bytes / unit_);
      const std::int64_t top = upper_ - 1;
      if (Decide(Aim::kTop, top, states, stopper) != Verdict::kUnknown) continue;
      top_progress_ =
          std::max(Direction(Aim::kTop, true).Progress(), Direction(Aim::kTop, false).Progress());
      // Lower budgets are refuted more easily: halve the way down until one of them moves a bound.
      bool moved = false;
      std::int64_t last = top;
      const int halvings = top_progress_ < kHopeless ? kMostHalvings : 1;
      for (int halving = 1; !moved && halving <= halvings && !stopper->stopped(); ++halving) {
        const std::int64_t budget = low + ((top - low) >> halving);
        if (budget == last) break;
        last = budget;
        moved = Decide(Aim::kLower, budget, std::max<std::int64_t>(states / 4, 1), stopper) !=
                Verdict::kUnknown;
      }
      if (!moved) return true;
    }
    return !Closed(floor_bytes);
  }

  // Inferred precedences refute budgets that a search does not get through, and shrink the search
  // where they do not. Bisects for the largest budget that is refuted this way.
  void InferBisect(std::int64_t floor_bytes, std::int64_t states, Stopper* stopper) {
    std::int64_t low = std::max(lower_, floor_bytes / unit_);
    std::int64_t end = upper_;
    while (low < end && !Closed(floor_bytes) && !stopper->stopped()) {
      const std::int64_t budget = low + (end - 1 - low) / 2;
      const Verdict verdict = DecideWithInference(budget, states, stopper);
      if (verdict == Verdict::kInfeasible) low = budget + 1;
      if (verdict == Verdict::kUnknown) end = budget;
      end = std::min(end, upper_);
    }
  }

  Verdict DecideWithInference(std::int64_t budget, std::int64_t states, Stopper* stopper) {
    Inference inference =
        InferPrecedences(segment_.problem, unit_, budget, states / kStatesPerCut, stopper);
    stopper->Charge(inference.cuts * kStatesPerCut);
    if (inference.infeasible) {
      Raise(budget + 1, Proof::kSearch, bound_op_);
      reversed_ = false;
      return Verdict::kInfeasible;
    }
    Problem known = segment_.problem;
    known.precedences.insert(known.precedences.end(), inference.precedences.begin(),
                             inference.precedences.end());
    for (const bool reversed : {false, true}) {
      if (stopper->stopped()) break;
      const Instance instance(known, unit_, reversed);
      Decider decider(instance, max_table_bytes_ / 4);
      std::vector<OpIndex> order;
      const Verdict verdict = decider.Decide(budget, states / 4, stopper, &order);
      if (verdict == Verdict::kUnknown) continue;
      if (verdict == Verdict::kFeasible) {
        if (reversed) std::reverse(order.begin(), order.end());
        Improve(std::move(order));
      } else {
        Raise(budget + 1, Proof::kSearch, bound_op_);
        reversed_ = reversed;
      }
      return verdict;
    }
    return Verdict::kUnknown;
  }

  // Searches just below the best order go on where they were stopped; the others have deciders of
  // their own, so as not to disturb them.
  enum class Aim : std::uint8_t { kTop, kLower };
  Decider& Direction(Aim aim, bool reversed) {
    auto& search = deciders_[aim == Aim::kTop ? 0 : 1][reversed ? 1 : 0];
    if (!search) {
      search = std::make_unique<Decider>(reversed ? backward() : forward_, max_table_bytes_ / 4);
    }
    return *search;
  }

  Verdict DecideOneWay(Aim aim, bool reversed, std::int64_t budget, std::int64_t states,
                       Stopper* stopper) {
    std::vector<OpIndex> order;
    const Verdict verdict = Direction(aim, reversed).Decide(budget, states, stopper, &order);
    if (verdict == Verdict::kFeasible) {
      if (reversed) std::reverse(order.begin(), order.end());
      const std::int64_t before = upper_;
      Improve(std::move(order));
      NEAP_CHECK(upper_ <= budget && upper_ < before, "a feasible order is above its budget");
    }
    if (verdict == Verdict::kInfeasible) {
      Raise(budget + 1, Proof::kSearch, bound_op_);
      reversed_ = reversed;
    }
    return verdict;
  }

  // Hard budgets are often refuted fast from one end only: a quarter of the states for each
  // direction, then all of them for the one that got further.
  Verdict Decide(Aim aim, std::int64_t budget, std::int64_t states, Stopper* stopper) {
    const std::int64_t probe = std::max<std::int64_t>(states / 4, 1);
    for (const bool reversed : {false, true}) {
      const Verdict verdict = DecideOneWay(aim, reversed, budget, probe, stopper);
      if (verdict != Verdict::kUnknown || stopper->stopped()) return verdict;
    }
    const bool reversed = Direction(aim, true).Progress() > Direction(aim, false).Progress();
    return DecideOneWay(aim, reversed, budget, states, stopper);
  }

  const Segment& segment_;
  std::int64_t unit_;
  std::int64_t max_table_bytes_;
  Instance forward_;
  std::unique_ptr<Instance> backward_;
  std::array<std::array<std::unique_ptr<Decider>, 2>, 2> deciders_;  // by aim and direction
  std::vector<OpIndex> order_;
  std::int64_t base_ = 0;
  std::int64_t upper_ = 0;
  std::int64_t lower_ = 0;
  Proof proof_ = Proof::kSingleOp;
  OpIndex bound_op_ = -1;
  bool reversed_ = false;
  std::int64_t top_progress_ = 0;  // of the last search just below the best order
};

class ExactSearch {
 public:
  ExactSearch(const Problem& problem, const Limits& limits)
      : stopper_(limits), segments_(SplitAtHourglasses(problem)) {
    const auto share = limits.max_memory_bytes / 2;
    for (const Segment& segment : segments_) searches_.emplace_back(segment, share);
  }

  Outcome Run() {
    Publish();
    // Highest first: what it proves spares the others.
    std::vector<std::size_t> by_height(searches_.size());
    std::iota(by_height.begin(), by_height.end(), std::size_t{0});
    std::stable_sort(by_height.begin(), by_height.end(), [&](std::size_t a, std::size_t b) {
      return searches_[a].upper_bytes() > searches_[b].upper_bytes();
    });
    for (const std::size_t s : by_height) {
      if (stopper_.stopped()) break;
      searches_[s].Bound(lower_, &stopper_);
      Publish();
    }
    std::int64_t states = SegmentSearch::kFirstStates;
    for (bool open = true; open && !stopper_.stopped(); states *= SegmentSearch::kRoundFactor) {
      open = false;
      for (const std::size_t s : by_height) {
        if (stopper_.stopped() || searches_[s].Closed(lower_)) continue;
        if (searches_[s].Search(lower_, states, &stopper_)) open = true;
        Publish();
      }
    }
    return Result();
  }

 private:
  void Publish() {
    upper_ = 0;
    for (const SegmentSearch& search : searches_) {
      upper_ = std::max(upper_, search.upper_bytes());
      lower_ = std::max(lower_, search.lower_bytes());
    }
    stopper_.SetBounds(upper_, lower_);
  }

  Outcome Result() const {
    Outcome outcome;
    const SegmentSearch* best = nullptr;
    for (const SegmentSearch& search : searches_) {
      search.AppendOrder(&outcome.order);
      if (search.lower_bytes() > outcome.lower_bound_bytes || outcome.bound_op < 0) {
        outcome.lower_bound_bytes = search.lower_bytes();
        outcome.proof = search.proof();
        outcome.bound_op = search.bound_op();
        outcome.reversed = search.reversed();
        best = &search;
      }
    }
    if (outcome.proof == Proof::kMinCut) outcome.witness = best->Witness();
    outcome.peak_bytes = upper_;
    outcome.states = stopper_.states();
    outcome.interrupted = stopper_.interrupted();
    return outcome;
  }

  Stopper stopper_;
  std::vector<Segment> segments_;
  std::vector<SegmentSearch> searches_;
  std::int64_t upper_ = 0;
  std::int64_t lower_ = 0;
};

}  // namespace

std::int64_t StatesForAFewSeconds(OpIndex num_ops) {
  // A state costs a look at every buffer, word by word.
  constexpr std::int64_t kWork = 2'000'000'000;
  constexpr std::int64_t kMost = 10'000'000;
  constexpr std::int64_t kLeast = 500;
  const std::int64_t ops = std::max<std::int64_t>(num_ops, 1);
  return std::clamp(kWork / (ops * ((ops + 63) / 64)), kLeast, kMost);
}

Outcome Solve(const Problem& problem, const Limits& limits) {
  if (problem.num_ops == 0) return {};
  Limits effective = limits;
  if (limits.max_states == kStatesForAFewSeconds) {
    effective.max_states = StatesForAFewSeconds(problem.num_ops);
  }
  return ExactSearch(problem, effective).Run();
}

}  // namespace neap::schedule
