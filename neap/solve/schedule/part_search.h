// SPDX-License-Identifier: Apache-2.0
//
// The exact search of one part of a problem, between two hourglasses. Private to neap/schedule.
// docs/algorithms/order.md has method and proofs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/parts.h"
#include "neap/solve/schedule/portfolio.h"
#include "neap/solve/schedule/rivals.h"
#include "neap/solve/schedule/schedule.h"
#include "neap/solve/schedule/stopper.h"

namespace neap::schedule {

// Internal bounds are in units (the common divisor of all sizes); the interface is in bytes.
// `floor_bytes`: a lower bound of the whole problem; lower peaks of this part need no search.
class PartSearch {
 public:
  // `part` outlives this. Tables of states take at most `max_table_bytes`. With `below_bytes`
  // only orders below that are of interest. Where what is left of work or time is too little for
  // the bit rows of the part, it has an order that is not searched for, and no more than that.
  PartSearch(const Part& part, std::int64_t max_table_bytes, std::int64_t below_bytes,
             Stopper* stopper);

  std::int64_t upper_bytes() const { return upper_ * unit_; }
  std::int64_t lower_bytes() const { return lower_ * unit_; }
  Proof proof() const { return proof_; }
  OpIndex bound_op() const { return part_.ops[static_cast<std::size_t>(bound_op_)]; }
  bool reversed() const { return reversed_; }
  bool Closed(std::int64_t floor_bytes) const { return Target() <= Floor(floor_bytes); }
  // Of a min-cut bound, in the indices and bytes of the whole problem.
  std::vector<CutPath> Witness() const;
  void AppendOrder(std::vector<OpIndex>* order) const;
  const Problem& problem() const { return part_.problem; }
  const std::vector<OpIndex>& order() const { return order_; }
  // Takes over an order and a bound of the part, as far as they are better.
  void Adopt(Improved improved);
  // Takes over an order whose peak is not larger.
  void AdoptOther(RankedOrder order);

  // Cheap orders, the min-cut bound, and short searches: on most networks that is all there is to
  // do.
  void FindBounds(std::int64_t floor_bytes, Stopper* stopper);
  // One round of decision searches of at most `states` states each. True: something is left to do.
  bool Search(std::int64_t floor_bytes, std::int64_t states, Stopper* stopper);

  static constexpr std::int64_t kFirstStates = 2'000;
  static constexpr std::int64_t kRoundFactor = 4;

 private:
  // Share of its tree, in 2^-30, that a search has to get through in a round.
  static constexpr std::int64_t kHopeless = std::int64_t{1} << 14U;
  std::int64_t Floor(std::int64_t floor_bytes) const {
    const std::int64_t floor = floor_bytes / unit_;
    return lower_ > floor ? lower_ : floor;
  }
  // Orders must be below this to be used.
  std::int64_t Target() const { return upper_ < cap_ ? upper_ : cap_; }
  void TakeSimpleOrder(const Limits& limits);
  void Close(const Limits& limits);
  bool MakeRivals(Stopper* stopper);
  Rivals& rivals() { return *rivals_; }
  std::int64_t AloneHill(OpIndex op) const;
  const Instance& forward() const { return *instance_; }
  void Improve(std::vector<OpIndex> order);
  void Raise(std::int64_t lower, Proof proof, OpIndex op);
  void CutBounds(std::int64_t floor_bytes, Stopper* stopper);
  Verdict Decide(Aim aim, std::int64_t budget, std::int64_t states, Stopper* stopper);
  void SoftBisect(std::int64_t floor_bytes, std::int64_t states, std::size_t width,
                  Stopper* stopper);
  void DecisionBeam(std::int64_t floor_bytes, std::size_t width, Stopper* stopper);
  bool HardBisect(std::int64_t floor_bytes, std::int64_t states, bool infers, Stopper* stopper);
  // The search just below the best order is not expected to end.
  bool IsHopeless() { return rivals().progress(Aim::kTop) < kHopeless; }
  void InferBisect(std::int64_t floor_bytes, std::int64_t states, Stopper* stopper);
  Verdict DecideWithInference(std::int64_t budget, std::int64_t states, Stopper* stopper);

  const Part& part_;
  std::int64_t unit_;
  std::int64_t max_table_bytes_;
  std::int64_t cap_;
  std::unique_ptr<const Instance> instance_;  // none: too large for the remaining budget
  std::unique_ptr<Rivals> rivals_;            // built when the cheapest bounds leave a gap
  std::vector<OpIndex> order_;
  std::int64_t base_ = 0;
  std::int64_t upper_ = 0;
  std::int64_t lower_ = 0;
  Proof proof_ = Proof::kSingleOp;
  OpIndex bound_op_ = -1;
  bool reversed_ = false;
  std::optional<Bound> given_;  // the bound, where the portfolio found it
  // Precedences of the fused problem that every order within a budget, or within less, obeys.
  struct Known {
    std::pair<OpIndex, OpIndex> precedence;
    std::int64_t budget;
  };
  std::vector<Known> known_;
};

}  // namespace neap::schedule
