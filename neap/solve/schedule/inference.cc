// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/inference.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/solve/schedule/cut.h"
#include "neap/solve/schedule/instance.h"

namespace neap::schedule {
namespace {

// One pass over all operators with the precedences known so far.
class Pass {
 public:
  Pass(const Problem& problem, const Instance::Stages& stages, std::int64_t unit,
       std::int64_t budget, std::int64_t max_cuts, Stopper* stopper, Inference* inference)
      : instance_(problem, stages, unit, false),
        cuts_(instance_),
        budget_(budget),
        max_cuts_(max_cuts),
        stopper_(stopper),
        inference_(inference),
        inside_(instance_.words()),
        can_be_in_(static_cast<std::size_t>(instance_.num_ops())),
        can_be_out_(can_be_in_.size()) {}

  // False: infeasible, or the effort is spent.
  bool Run() {
    // Operators that are high in every order rule out most.
    std::vector<std::pair<std::int64_t, OpIndex>> by_hill;
    for (OpIndex op = 0; op < instance_.num_ops(); ++op) {
      if (Spent()) return false;
      ++inference_->cuts;
      const std::int64_t hill = cuts_.LeastHill(op, budget_ + 1);
      if (hill > budget_) {
        inference_->infeasible = true;
        return false;
      }
      by_hill.emplace_back(-hill, op);
    }
    std::sort(by_hill.begin(), by_hill.end());
    for (const auto& [negative_hill, op] : by_hill) {
      for (std::size_t stage = 0; stage < cuts_.NumStages(op); ++stage) {
        if (!Look(op, stage)) return false;
      }
    }
    return true;
  }

 private:
  bool Look(OpIndex op, std::size_t stage) {
    can_be_in_.assign(can_be_in_.size(), 0);
    can_be_out_.assign(can_be_out_.size(), 0);
    ++inference_->cuts;
    if (!IsAffordable(cuts_.LeastStageHill(op, stage, budget_ + 1))) {
      inference_->infeasible = true;
      return false;
    }
    for (OpIndex other = 0; other < instance_.num_ops(); ++other) {
      const auto at = static_cast<std::size_t>(other);
      if (other == op || TestBit(instance_.Ancestors(op), other) ||
          TestBit(instance_.Descendants(op), other)) {
        continue;
      }
      if (Spent()) return false;
      const bool in = can_be_in_[at] != 0 || CanBe(other, true);
      const bool out = can_be_out_[at] != 0 || CanBe(other, false);
      if (!in && !out) {
        inference_->infeasible = true;
        return false;
      }
      if (!in) inference_->precedences.emplace_back(op, other);
      if (!out) inference_->precedences.emplace_back(other, op);
    }
    return true;
  }

  bool CanBe(OpIndex other, bool executed) {
    ++inference_->cuts;
    return IsAffordable(cuts_.LeastStageHillWith(other, executed, budget_ + 1));
  }

  // Of the downset of the last cut; its members may be in, the rest may be out.
  bool IsAffordable(std::int64_t hill) {
    if (hill > budget_) return false;
    cuts_.ExecutedAtCut(inside_.data());
    for (OpIndex other = 0; other < instance_.num_ops(); ++other) {
      auto& known = TestBit(inside_.data(), other) ? can_be_in_ : can_be_out_;
      known[static_cast<std::size_t>(other)] = 1;
    }
    return true;
  }

  bool Spent() const {
    if (inference_->cuts % 64 == 0) stopper_->Look();
    return inference_->cuts >= max_cuts_ || stopper_->stopped();
  }

  Instance instance_;
  CutFinder cuts_;
  std::int64_t budget_;
  std::int64_t max_cuts_;
  Stopper* stopper_;
  Inference* inference_;
  std::vector<Word> inside_;
  std::vector<char> can_be_in_;
  std::vector<char> can_be_out_;
};

}  // namespace

Inference InferPrecedences(const Problem& problem, const Instance::Stages& stages,
                           std::int64_t unit, std::int64_t budget, std::int64_t max_cuts,
                           Stopper* stopper) {
  Inference inference;
  Problem known = problem;
  while (true) {
    const std::size_t before = inference.precedences.size();
    const bool complete = Pass(known, stages, unit, budget, max_cuts, stopper, &inference).Run();
    if (inference.infeasible) return inference;
    known.precedences.insert(known.precedences.end(),
                             inference.precedences.begin() + static_cast<std::ptrdiff_t>(before),
                             inference.precedences.end());
    // A cycle of precedences that every order within the budget obeys: there is no such order.
    if (Validate(known)) {
      inference.infeasible = true;
      return inference;
    }
    if (!complete || stopper->Look() || inference.precedences.size() == before) return inference;
  }
}

}  // namespace neap::schedule
