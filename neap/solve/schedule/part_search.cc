// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/part_search.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "neap/base/ahead.h"
#include "neap/base/check.h"
#include "neap/base/index.h"
#include "neap/base/work.h"
#include "neap/solve/schedule/baselines.h"
#include "neap/solve/schedule/closure.h"
#include "neap/solve/schedule/cut.h"
#include "neap/solve/schedule/inference.h"
#include "neap/solve/schedule/known_cuts.h"

namespace neap::schedule {
namespace {

constexpr std::int64_t kNoBudget = std::int64_t{1} << 62;
constexpr std::int64_t kInferenceFrom = 32'000;
// From these states of a round on, inference tries precedences, which takes more than other effort
// of the round.
constexpr std::int64_t kTrialsFrom = 512'000;
constexpr std::int64_t kTrialFactor = 4;
constexpr OpIndex kMaxInferenceOps = 1'000;
constexpr std::int64_t kInstancesOfInference = 4;
constexpr std::int64_t kStatesPerCut = 16;  // a cut costs about as much as these
// The bound of the cuts is often the optimum.
constexpr std::int64_t kFirstLook = 512;
constexpr std::int64_t kShortStates = 128;
constexpr std::size_t kNarrow = 4;
constexpr std::size_t kMiddling = 16;
constexpr std::size_t kWide = 64;
constexpr int kMaxLooks = 12;
constexpr int kMaxHalvings = 4;
constexpr std::int64_t kFinest = 16;  // of a gap, that inference is bisected to
// Operators in all networks of the min-cut bound together; beyond, the bound stays as it is.
constexpr std::int64_t kMaxCutWork = 4'000'000;
constexpr OpIndex kOpsWorthAThread = 1'000;

// Bit rows of the part, of the fused problem and of that in both directions: beyond, the
// portfolio, which has none, is left to find orders and bounds.
constexpr std::int64_t kMaxRowBytes = std::int64_t{1} << 30;

std::int64_t RowBytes(const Problem& problem) {
  constexpr std::int64_t kRowsOfOp = 12;
  return kRowsOfOp * problem.num_ops * (problem.num_ops / 8 + 1);
}

std::int64_t CommonUnit(const Problem& problem) {
  std::int64_t unit = 0;
  for (const Buffer& buffer : problem.buffers) unit = std::gcd(unit, buffer.bytes);
  for (const std::int64_t bytes : problem.scratch_bytes) unit = std::gcd(unit, bytes);
  return std::max<std::int64_t>(unit, 1);
}

}  // namespace

PartSearch::PartSearch(const Part& part, std::int64_t max_table_bytes, std::int64_t below_bytes,
                       Stopper* stopper)
    : part_(part),
      unit_(CommonUnit(part.problem)),
      max_table_bytes_(max_table_bytes),
      cap_(below_bytes > 0 ? (below_bytes - 1) / unit_ + 1 : kNoBudget) {
  const std::int64_t work = InstanceWork(part.problem);
  if (RowBytes(part.problem) > kMaxRowBytes || !Affords(stopper->limits(), work)) {
    TakeSimpleOrder(stopper->limits());
    return;
  }
  stopper->Work(work);
  instance_ = std::make_unique<const Instance>(part.problem, unit_, false);
  order_ = forward().topological();
  upper_ = forward().PeakOf(order_);
  // Buffers live across the whole part are live because every order passes its ends.
  for (const auto& buffer : forward().buffers()) {
    if (buffer.users.empty() && buffer.at_start && buffer.at_end) base_ += buffer.bytes;
  }
  if (base_ > 0) proof_ = Proof::kMinCut;
  for (OpIndex op = 0; op < forward().num_ops(); ++op) {
    const std::int64_t alone = AloneHill(op);
    if (alone > lower_ || bound_op_ < 0) {
      lower_ = alone;
      bound_op_ = op;
    }
  }
  // Buffers live before the first operator and after the last one are live while they run.
  Raise(std::max(forward().start_live(), forward().end_live()), Proof::kSearch, bound_op_);
}

void PartSearch::TakeSimpleOrder(const Limits& limits) {
  const Outcome simple = SingleOpOutcome(part_.problem);
  lower_ = simple.lower_bound_bytes / unit_;
  bound_op_ = simple.bound_op;
  order_ = FileOrder(part_.problem, {});
  upper_ = PeakOfOrder(part_.problem, order_) / unit_;
  Close(WithShareOfTime(limits, 1, 4));
}

// The best of a few orders that cost next to nothing, each closed: where that is no better, nothing
// changes.
void PartSearch::Close(const Limits& limits) {
  const FlatProblem flat(part_.problem);
  RankedOrder closed = std::move(ClosedOrders(flat, {order_, upper_bytes()}, limits).front());
  if (closed.peak_bytes >= upper_bytes()) return;
  upper_ = closed.peak_bytes / unit_;
  order_ = std::move(closed.order);
}

std::vector<CutPath> PartSearch::Witness() const {
  std::vector<CutPath> witness;
  if (given_) {
    witness = given_->witness;
  } else {
    std::int64_t hill = 0;
    CutFinder cuts(forward());
    for (CutFinder::Path& path : cuts.Witness(bound_op_, &hill)) {
      witness.push_back({path.bytes * unit_, std::move(path.buffers), std::move(path.through)});
    }
    NEAP_CHECK(hill >= lower_, "the witness of a cut is below its bound");
  }
  for (CutPath& path : witness) {
    for (BufferIndex& buffer : path.buffers) buffer = part_.buffers[At(buffer)];
    for (auto& ops : path.through) {
      for (OpIndex& op : ops) op = part_.ops[At(op)];
    }
  }
  return witness;
}

void PartSearch::AppendOrder(std::vector<OpIndex>* order) const {
  for (const OpIndex op : order_) order->push_back(part_.ops[static_cast<std::size_t>(op)]);
}

// False: too little is left for them.
bool PartSearch::MakeRivals(Stopper* stopper) {
  constexpr std::int64_t kInstances = 3;  // fusion, and the fused problem in two directions
  if (rivals_) return true;
  if (!instance_) return false;
  const std::int64_t work = kInstances * InstanceWork(part_.problem);
  if (!Affords(stopper->limits(), work)) return false;
  stopper->Work(work);
  rivals_ = std::make_unique<Rivals>(part_.problem, forward(), unit_, max_table_bytes_);
  return true;
}

void PartSearch::FindBounds(std::int64_t floor_bytes, Stopper* stopper) {
  if (Closed(floor_bytes) || !MakeRivals(stopper)) return;
  Improve(rivals().Greedy(false, Target() - 1, stopper));
  if (Closed(floor_bytes) || stopper->stopped()) return;
  Improve(rivals().Greedy(true, kNoBudget, stopper));
  if (stopper->stopped()) return;
  // Closed orders cost a small part of the work of the cuts. Questions, which callers ask by the
  // thousand, do without them.
  if (cap_ == kNoBudget && !Closed(floor_bytes)) Close(stopper->limits());
  // A question is answered by an order more often than by a bound.
  if (cap_ < upper_ && lower_ < cap_) {
    Decide(Aim::kLower, Floor(floor_bytes), kFirstLook, stopper);
    if (Closed(floor_bytes) || stopper->stopped()) return;
  }
  CutBounds(floor_bytes, stopper);
  if (!Closed(floor_bytes)) Decide(Aim::kLower, Floor(floor_bytes), kFirstLook, stopper);
  SoftBisect(floor_bytes, kShortStates, 1, stopper);
}

bool PartSearch::Search(std::int64_t floor_bytes, std::int64_t states, Stopper* stopper) {
  if (!MakeRivals(stopper)) return false;
  if (states == kFirstStates && rivals().BreakSymmetries()) {
    stopper->Work(2 * InstanceWork(rivals().fusion().problem));
  }
  if (states == kFirstStates * kRoundFactor) {
    SoftBisect(floor_bytes, kFirstStates, kMiddling, stopper);
  }
  if (states == kFirstStates * kRoundFactor * kRoundFactor) {
    DecisionBeam(floor_bytes, kWide, stopper);
  }
  const bool infers =
      states >= kInferenceFrom && rivals().fusion().problem.num_ops <= kMaxInferenceOps;
  if (!HardBisect(floor_bytes, states, infers, stopper)) return false;
  if (states == kFirstStates && !stopper->stopped()) {
    Improve(rivals().Beam(Target() - 1, 1, stopper));
    SoftBisect(floor_bytes, kShortStates, kNarrow, stopper);
  }
  if (infers && IsHopeless()) {
    InferBisect(floor_bytes, states, stopper);
  }
  return !Closed(floor_bytes);
}

void PartSearch::Adopt(Improved improved) {
  if (improved.best.peak_bytes < upper_bytes()) {
    upper_ = improved.best.peak_bytes / unit_;
    order_ = std::move(improved.best.order);
  }
  // Every peak is so many units.
  const std::int64_t bound = (improved.bound.bytes + unit_ - 1) / unit_;
  if (bound <= lower_) return;
  Raise(bound, improved.bound.proof, improved.bound.op);
  reversed_ = improved.bound.reversed;
  given_ = std::move(improved.bound);
}

void PartSearch::AdoptOther(RankedOrder order) {
  if (order.peak_bytes > upper_bytes()) return;
  upper_ = order.peak_bytes / unit_;
  order_ = std::move(order.order);
}

std::int64_t PartSearch::AloneHill(OpIndex op) const {
  std::int64_t bytes = base_ + forward().Scratch(op);
  for (const BufferIndex index : forward().BuffersOf(op)) {
    bytes += forward().buffers()[static_cast<std::size_t>(index)].bytes;
  }
  const InPlace& pair = forward().InPlaceOf(op);
  if (pair.op >= 0) bytes -= forward().buffers()[static_cast<std::size_t>(pair.output)].bytes;
  if (const TakeOver* part = forward().TakeOverOf(op)) {
    const auto sum = [&](const std::vector<BufferIndex>& list) {
      std::int64_t total = 0;
      for (const BufferIndex index : list) {
        total += forward().buffers()[static_cast<std::size_t>(index)].bytes;
      }
      return total;
    };
    bytes -= std::min(sum(part->inputs), sum(part->outputs));
  }
  return bytes;
}

void PartSearch::Improve(std::vector<OpIndex> order) {
  if (order.empty()) return;
  const std::int64_t peak = forward().PeakOf(order);
  if (peak >= upper_) return;
  upper_ = peak;
  order_ = std::move(order);
}

void PartSearch::Raise(std::int64_t lower, Proof proof, OpIndex op) {
  if (lower <= lower_) return;
  lower_ = lower;
  proof_ = proof;
  bound_op_ = op;
  given_.reset();
}

// The hill of an operator in any order is at least its min cut, and its hill in the best order so
// far is at least that: operators below the current bound there cannot raise it. Most of the others
// are excluded by the downset of an earlier cut. They count like those that are not, so that the
// bound is the same as with all cuts.
void PartSearch::CutBounds(std::int64_t floor_bytes, Stopper* stopper) {
  std::vector<std::pair<std::int64_t, OpIndex>> hills;
  std::vector<Word> executed(forward().words(), 0);
  std::int64_t live = forward().start_live();
  for (const OpIndex op : order_) {
    const Effect effect = forward().EffectOf(executed.data(), live, op);
    hills.emplace_back(-effect.hill, op);
    live = effect.live;
    SetBit(executed.data(), op);
  }
  std::sort(hills.begin(), hills.end());
  // Small cuts are not worth a thread.
  const int threads = forward().num_ops() >= kOpsWorthAThread ? stopper->limits().threads : 1;
  CutFinder cuts(forward());
  std::optional<CutFinder> others;
  if (threads > 1) others.emplace(forward());
  KnownCuts known(forward());
  std::int64_t work = 0;
  std::size_t counted = 0;          // of hills
  std::vector<std::size_t> wanted;  // of hills, one per cut
  const auto want_next = [&] {
    std::size_t at = wanted.empty() ? 0 : wanted.back() + 1;
    while (at < hills.size() && -hills[at].first > lower_ &&
           known.Exclude(hills[at].second, lower_)) {
      ++at;
    }
    wanted.push_back(at);
  };
  struct Cut {
    std::int64_t hill = 0;
    std::vector<Word> executed;  // empty: not known
  };
  ForEachAhead(
      threads, hills.size(),
      [&](std::size_t i) {
        if (i == wanted.size()) want_next();
        for (; counted <= wanted[i]; ++counted) {
          if (counted == hills.size()) return false;
          if (-hills[counted].first <= Floor(floor_bytes) || Closed(floor_bytes)) return false;
          if (work > kMaxCutWork || stopper->WorkOf(kStatesPerCut)) return false;
          work += forward().num_ops();
        }
        if (threads > 1 && i + 1 == wanted.size()) want_next();
        return true;
      },
      [&](std::size_t i, int thread) {
        Cut cut;
        if (wanted[i] == hills.size()) return cut;
        CutFinder& finder = thread == 0 ? cuts : *others;
        cut.hill = finder.LeastHill(hills[wanted[i]].second, upper_);
        if (cut.hill >= upper_) return cut;
        cut.executed.resize(forward().words());
        finder.ExecutedAtCut(cut.executed.data());
        return cut;
      },
      [&](std::size_t i, const Cut& cut) {
        Raise(std::min(cut.hill, upper_), Proof::kMinCut, hills[wanted[i]].second);
        if (!cut.executed.empty()) known.Add(cut.executed);
      });
}

Verdict PartSearch::Decide(Aim aim, std::int64_t budget, std::int64_t states, Stopper* stopper) {
  Answer answer = rivals().Decide(aim, budget, states, stopper);
  if (answer.verdict == Verdict::kFeasible) {
    const std::int64_t before = upper_;
    Improve(std::move(answer.order));
    NEAP_CHECK(upper_ <= budget && upper_ < before, "a feasible order is above its budget");
  }
  if (answer.verdict == Verdict::kInfeasible && budget + 1 > lower_) {
    Raise(budget + 1, Proof::kSearch, bound_op_);
    reversed_ = answer.reversed;
  }
  return answer.verdict;
}

// Good orders by adaptive budgets, after SERENITY (MLSys 2020, section 3.2) but bracketed: tight
// budgets guide a short search better than generous ones. From the lower bound on, a budget at
// which short searches and narrow beams find nothing is taken for too small, without being proven
// so.
void PartSearch::SoftBisect(std::int64_t floor_bytes, std::int64_t states, std::size_t width,
                            Stopper* stopper) {
  std::int64_t soft = Floor(floor_bytes);
  std::int64_t budget = soft;
  for (int looks = 0; looks < kMaxLooks && soft < Target() && !stopper->stopped(); ++looks) {
    const std::int64_t before = upper_;
    const Verdict verdict = Decide(Aim::kLower, budget, states, stopper);
    if (verdict == Verdict::kUnknown && width > 1 && !stopper->stopped()) {
      Improve(rivals().Beam(budget, width, stopper));
    }
    if (upper_ == before) soft = budget + 1;
    soft = std::max(soft, Floor(floor_bytes));
    budget = soft + (Target() - 1 - soft) / 2;
  }
}

void PartSearch::DecisionBeam(std::int64_t floor_bytes, std::size_t width, Stopper* stopper) {
  while (!Closed(floor_bytes) && !stopper->stopped()) {
    const std::int64_t before = upper_;
    Improve(rivals().Beam(Target() - 1, width, stopper));
    if (upper_ == before) return;
  }
}

// Decision searches until none of them comes to an end within its states: refuting all below the
// best order ends everything, the middle moves one of the bounds. True: the bounds have not met.
bool PartSearch::HardBisect(std::int64_t floor_bytes, std::int64_t states, bool infers,
                            Stopper* stopper) {
  while (!Closed(floor_bytes) && !stopper->stopped()) {
    const std::int64_t low = Floor(floor_bytes);
    const std::int64_t top = Target() - 1;
    // Where it is not expected to end, most of the effort goes into inference.
    const std::int64_t share = infers && IsHopeless() ? 4 : 1;
    if (Decide(Aim::kTop, top, states / share, stopper) != Verdict::kUnknown) continue;
    if (infers && IsHopeless()) return true;
    // Lower budgets are refuted more easily: halve the way down until one of them moves a bound.
    bool moved = false;
    std::int64_t last = top;
    const int halvings = IsHopeless() ? kMaxHalvings : 1;
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
void PartSearch::InferBisect(std::int64_t floor_bytes, std::int64_t states, Stopper* stopper) {
  std::int64_t low = Floor(floor_bytes);
  std::int64_t end = Target();
  const std::int64_t tolerance = (end - low) / kFinest;
  while (low + tolerance < end && !Closed(floor_bytes) && !stopper->stopped()) {
    const std::int64_t budget = low + (end - 1 - low) / 2;
    const Verdict verdict = DecideWithInference(budget, states, stopper);
    if (verdict == Verdict::kInfeasible) low = budget + 1;
    if (verdict == Verdict::kUnknown) end = budget;
    end = std::min(end, upper_);
  }
}

Verdict PartSearch::DecideWithInference(std::int64_t budget, std::int64_t states,
                                        Stopper* stopper) {
  const Fusion& fusion = rivals().fusion();
  Problem known = fusion.problem;
  for (const Known& earlier : known_) {
    if (earlier.budget >= budget) known.precedences.push_back(earlier.precedence);
  }
  const bool tries = states >= kTrialsFrom;
  const std::int64_t most = stopper->Remaining(tries ? kTrialFactor * states : states);
  Inference inference =
      InferPrecedences(known, fusion.stages, unit_, budget, {most / kStatesPerCut, tries}, stopper);
  stopper->Charge(stopper->Remaining(inference.cuts * kStatesPerCut));
  if (inference.infeasible) {
    Raise(budget + 1, Proof::kSearch, bound_op_);
    reversed_ = false;
    return Verdict::kInfeasible;
  }
  for (const auto& precedence : inference.precedences) known_.push_back({precedence, budget});
  if (stopper->stopped()) return Verdict::kUnknown;
  known.precedences.insert(known.precedences.end(), inference.precedences.begin(),
                           inference.precedences.end());
  stopper->Work(kInstancesOfInference * InstanceWork(known));
  const Instance forward(known, fusion.stages, unit_, false);
  Rivals search(known, forward, unit_, max_table_bytes_);
  Answer answer = search.Decide(Aim::kTop, budget, states / 4, stopper);
  if (answer.verdict == Verdict::kFeasible) Improve(rivals().Expand(answer.order));
  if (answer.verdict == Verdict::kInfeasible) {
    Raise(budget + 1, Proof::kSearch, bound_op_);
    reversed_ = answer.reversed;
  }
  return answer.verdict;
}

}  // namespace neap::schedule
