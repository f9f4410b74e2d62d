// SPDX-License-Identifier: Apache-2.0
//
// Several searches for the same question, side by side: forward over single operators, forward over
// next-freed-buffer clusters, backward. Which of them ends first differs from problem to problem by
// orders of magnitude. Private to neap/schedule.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "neap/solve/schedule/decider.h"
#include "neap/solve/schedule/expander.h"
#include "neap/solve/schedule/fusion.h"
#include "neap/solve/schedule/instance.h"
#include "neap/solve/schedule/stopper.h"

namespace neap::schedule {

// Searches just below the best order go on where they were stopped; the others have tables of their
// own, so as not to disturb them.
enum class Aim : std::uint8_t { kTop, kLower };

struct Answer {
  Verdict verdict = Verdict::kUnknown;
  std::vector<OpIndex> order;  // of kFeasible
  bool reversed = false;       // of kInfeasible: refuted from the end backwards
};

class Rivals {
 public:
  // `forward`: the instance of `problem` in `unit`. Both outlive this.
  Rivals(const Problem& problem, const Instance& forward, std::int64_t unit,
         std::int64_t max_table_bytes);

  // Adds precedences between interchangeable operators (symmetry.h), once; searches start over
  // where there are any, and true is returned.
  bool BreakSymmetries();

  // Is there an order with a peak of at most `budget`? All searches expand the same number of
  // states, at most `states` each, in slices that double, on up to limits().threads threads. A
  // slice always ends for all of them, and the first in their fixed order that knows the answer
  // gives it: the number of threads changes nothing. From a quarter of the states on, those that
  // are far behind the best are left out.
  Answer Decide(Aim aim, std::int64_t budget, std::int64_t states, Stopper* stopper);
  // Of the last Decide() with that aim that found no answer: see Decider::Progress().
  std::int64_t progress(Aim aim) const { return progress_[static_cast<std::size_t>(aim)]; }

  const Fusion& fusion() const { return fusion_; }
  // An order of the fused problem as one of the problem.
  std::vector<OpIndex> Expand(const std::vector<OpIndex>& order) const;

  // An order within the budget by a beam, or an empty one.
  std::vector<OpIndex> Greedy(bool reversed, std::int64_t budget, Stopper* stopper);
  std::vector<OpIndex> Beam(std::int64_t budget, std::size_t width, Stopper* stopper);

 private:
  struct Rival {
    const Instance* instance = nullptr;
    bool reversed = false;
    bool fused = false;
    bool narrow_only = false;  // leaves wide problems to the others
    std::unique_ptr<Expander> expander;
    std::array<std::unique_ptr<Decider>, 2> deciders;  // by aim
    // Of the slice at hand.
    Answer answer;
    std::int64_t states = 0;
  };
  void Add(const Instance* instance, bool reversed, bool fused, bool next_freed);
  void AddSingle();
  void AddNextFreed();
  Decider& DeciderOf(Rival* rival, Aim aim) const;
  void RunSlice(const std::vector<Rival*>& active, Aim aim, std::int64_t budget,
                std::int64_t states, Stopper* stopper);
  std::vector<OpIndex> InOrder(const Rival& rival, std::vector<OpIndex> order) const;
  std::vector<OpIndex> BeamOf(Rival* rival, std::int64_t budget, std::size_t width,
                              Stopper* stopper);

  const Instance& forward_;
  std::int64_t unit_;
  std::int64_t max_table_bytes_;
  Fusion fusion_;
  Instance fused_forward_;
  Instance fused_backward_;
  std::vector<Rival> rivals_;
  std::array<std::int64_t, 2> progress_ = {0, 0};
};

}  // namespace neap::schedule
