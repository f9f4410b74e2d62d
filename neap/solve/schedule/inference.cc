// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/inference.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>

#include "neap/base/index.h"
#include "neap/solve/schedule/cut.h"
#include "neap/solve/schedule/relations.h"

namespace neap::schedule {
namespace {

constexpr std::size_t kStepsPerCut = 65'536;  // that cost as much as a cut
constexpr std::size_t kFewDownsets = 48;      // per place, that are kept in any case
constexpr std::int64_t kManyTrials = 400;   // without a result: those that rank lower are left out
constexpr std::size_t kKeptPerPlace = 200;  // downsets, on average, before some are dropped

// Where a hill has to be affordable: a stage of an operator. Its downsets are affordable and obeyed
// all precedences when they were found.
struct Place {
  OpIndex op = -1;
  std::size_t stage = 0;
  std::vector<Word> downsets;
  std::vector<std::int64_t> hills;  // per downset
  std::vector<char> holds;          // per downset: no precedence since then splits it
  std::size_t num_holding = 0;
  bool is_waiting = false;  // for Settle()
};

class Inferrer {
 public:
  Inferrer(const Problem& problem, const Instance::Stages& stages, std::int64_t unit,
           std::int64_t budget, const InferenceLimits& limits, Stopper* stopper)
      : instance_(problem, stages, unit, false),
        relations_(instance_),
        cuts_(instance_, relations_),
        words_(instance_.words()),
        budget_(budget),
        limits_(limits),
        stopper_(stopper) {}

  Inference Run() {
    AddPlaces();
    if (!is_refuted_) Settle();
    if (limits_.trials) TryAll();
    inference_.infeasible = is_refuted_;
    inference_.precedences = relations_.added();
    return inference_;
  }

 private:
  struct Trial {
    std::int64_t hill;  // of both operators together
    OpIndex before;
    OpIndex after;
  };

  // Operators that are high in every order rule out most: they come first.
  void AddPlaces() {
    std::vector<std::pair<std::int64_t, OpIndex>> by_hill;
    for (OpIndex op = 0; op < instance_.num_ops(); ++op) {
      if (Spent()) return;
      ++inference_.cuts;
      const std::int64_t hill = cuts_.LeastHill(op, budget_ + 1);
      if (hill > budget_) {
        is_refuted_ = true;
        return;
      }
      by_hill.emplace_back(-hill, op);
    }
    std::sort(by_hill.begin(), by_hill.end());
    for (const auto& [negative_hill, op] : by_hill) {
      for (std::size_t stage = 0; stage < cuts_.NumStages(op); ++stage) {
        places_.emplace_back();
        places_.back().op = op;
        places_.back().stage = stage;
      }
    }
    for (std::size_t at = 0; at < places_.size(); ++at) Wait(at);
  }

  void Wait(std::size_t at) {
    if (places_[at].is_waiting) return;
    places_[at].is_waiting = true;
    waiting_.push_back(at);
  }

  Word* Downset(Place& place, std::size_t index) { return &place.downsets[index * words_]; }

  // Adds a precedence and finds the downsets that it splits.
  void Add(OpIndex before, OpIndex after) {
    if (is_refuted_) return;
    if (before == after || TestBit(relations_.Ancestors(before), after)) {
      is_refuted_ = true;
      return;
    }
    if (TestBit(relations_.Ancestors(after), before)) return;
    relations_.Add(before, after);
    for (std::size_t at = 0; at < places_.size(); ++at) {
      Place& place = places_[at];
      for (std::size_t d = 0; d < place.holds.size(); ++d) {
        if (place.holds[d] == 0) continue;
        const Word* downset = Downset(place, d);
        if (TestBit(downset, before)) continue;
        if (!TestBit(downset, after) && place.op != after) continue;
        place.holds[d] = 0;
        --place.num_holding;
        if (is_trial_) split_.emplace_back(at, d);
        Wait(at);
      }
    }
  }

  // All that follows from the precedences, unless the effort is spent before.
  void Settle() {
    while (!is_refuted_ && !waiting_.empty() && !Spent()) {
      const std::size_t at = waiting_.front();
      waiting_.pop_front();
      places_[at].is_waiting = false;
      if (!is_trial_) DropSome();
      Look(places_[at]);
    }
    if (!is_refuted_) return;
    for (const std::size_t at : waiting_) places_[at].is_waiting = false;
    waiting_.clear();
  }

  // The operators that are in none of the affordable downsets of a place, or in all of them.
  struct Missing {
    std::vector<Word> inside;
    std::vector<Word> outside;
  };
  Missing MissingAt(Place& place) {
    Missing missing{std::vector<Word>(words_, 0), std::vector<Word>(words_, 0)};
    for (OpIndex op = 0; op < instance_.num_ops(); ++op) {
      if (op == place.op || relations_.AreOrdered(place.op, op)) continue;
      SetBit(missing.inside.data(), op);
      SetBit(missing.outside.data(), op);
    }
    for (std::size_t d = 0; d < place.holds.size(); ++d) {
      if (place.holds[d] != 0) Cover(Downset(place, d), &missing);
    }
    return missing;
  }
  void Cover(const Word* downset, Missing* missing) const {
    for (std::size_t w = 0; w < words_; ++w) {
      missing->inside[w] &= ~downset[w];
      missing->outside[w] &= downset[w];
    }
  }
  bool IsAny(const std::vector<Word>& row) const {
    return std::any_of(row.begin(), row.end(), [](Word word) { return word != 0; });
  }

  void Look(Place& place) {
    Missing missing = MissingAt(place);
    if (place.num_holding > 0 && !IsAny(missing.inside) && !IsAny(missing.outside)) return;
    ++inference_.cuts;
    const std::int64_t hill = cuts_.LeastStageHill(place.op, place.stage, budget_ + 1);
    if (hill > budget_) {
      is_refuted_ = true;
      return;
    }
    Keep(place, hill, false, &missing);
    Keep(place, hill, true, &missing);
    std::vector<std::pair<OpIndex, OpIndex>> found;
    for (const bool executed : {true, false}) {
      std::vector<Word>& row = executed ? missing.inside : missing.outside;
      for (OpIndex other = 0; other < instance_.num_ops(); ++other) {
        if (!TestBit(row.data(), other)) continue;
        if (Spent()) break;
        ++inference_.cuts;
        const std::int64_t with = cuts_.LeastStageHillWith(other, executed, budget_ + 1);
        if (with <= budget_) {
          Keep(place, with, executed, &missing);
        } else if (executed) {
          found.emplace_back(place.op, other);
        } else {
          found.emplace_back(other, place.op);
        }
      }
    }
    for (const auto& [before, after] : found) Add(before, after);
  }

  // The downset of the last cut.
  void Keep(Place& place, std::int64_t hill, bool fewest, Missing* missing) {
    place.downsets.resize(place.downsets.size() + words_);
    Word* downset = Downset(place, place.holds.size());
    if (fewest) {
      cuts_.FewestAtCut(downset);
    } else {
      cuts_.ExecutedAtCut(downset);
    }
    place.hills.push_back(hill);
    place.holds.push_back(1);
    ++place.num_holding;
    ++kept_;
    Cover(downset, missing);
  }

  // Tries precedences, those that raise hills most first, until many of them in a row hold.
  void TryAll() {
    bool is_new = true;
    while (is_new && !is_refuted_ && !Spent()) {
      is_new = false;
      std::int64_t without = 0;
      for (const Trial& trial : Ranked()) {
        if (relations_.AreOrdered(trial.before, trial.after)) continue;
        if (is_refuted_ || Spent() || without > kManyTrials) break;
        ++without;
        if (!IsWrong(trial.before, trial.after)) continue;
        is_new = true;
        without = 0;
        Add(trial.after, trial.before);
        Settle();
      }
    }
  }

  // Per pair of operators (before, after): about the least hill of either where they run in that
  // order, as a sum.
  class HillsOfPairs {
   public:
    explicit HillsOfPairs(OpIndex num_ops) : ops_(static_cast<std::size_t>(num_ops)) {
      hills_.assign(ops_ * ops_, 0);
    }
    std::int64_t& Of(std::size_t before, std::size_t after) {
      return hills_[before * ops_ + after];
    }
    std::size_t ops() const { return ops_; }

   private:
    std::size_t ops_;
    std::vector<std::int64_t> hills_;
  };

  // Of the downsets that are known: no cuts are computed for it.
  void AddHills(Place& place, HillsOfPairs* hills) {
    std::vector<std::int64_t> inside(hills->ops(), budget_);
    std::vector<std::int64_t> outside(hills->ops(), budget_);
    for (std::size_t d = 0; d < place.holds.size(); ++d) {
      if (place.holds[d] == 0) continue;
      const Word* downset = Downset(place, d);
      for (std::size_t other = 0; other < hills->ops(); ++other) {
        auto& side = TestBit(downset, static_cast<OpIndex>(other)) ? inside : outside;
        side[other] = std::min(side[other], place.hills[d]);
      }
    }
    for (std::size_t other = 0; other < hills->ops(); ++other) {
      hills->Of(other, At(place.op)) += inside[other];
      hills->Of(At(place.op), other) += outside[other];
    }
  }

  // The dearest first.
  std::vector<Trial> Ranked() {
    HillsOfPairs hills(instance_.num_ops());
    for (Place& place : places_) AddHills(place, &hills);
    inference_.cuts += static_cast<std::int64_t>(kept_ * hills.ops() / kStepsPerCut);
    std::vector<Trial> trials;
    for (OpIndex before = 0; before < instance_.num_ops(); ++before) {
      for (OpIndex after = 0; after < instance_.num_ops(); ++after) {
        if (before == after || relations_.AreOrdered(before, after)) continue;
        trials.push_back({hills.Of(At(before), At(after)), before, after});
      }
    }
    std::stable_sort(trials.begin(), trials.end(),
                     [](const Trial& a, const Trial& b) { return a.hill > b.hill; });
    return trials;
  }

  // With this precedence, nothing stays within the budget. Leaves no trace but downsets.
  bool IsWrong(OpIndex before, OpIndex after) {
    DropSome();
    ++inference_.trials;
    relations_.Remember();
    is_trial_ = true;
    Add(before, after);
    Settle();
    const bool is_wrong = is_refuted_;
    is_trial_ = false;
    is_refuted_ = false;
    relations_.TakeBack();
    for (const auto& [at, d] : split_) {
      places_[at].holds[d] = 1;
      ++places_[at].num_holding;
    }
    split_.clear();
    for (const std::size_t at : waiting_) places_[at].is_waiting = false;
    waiting_.clear();
    return is_wrong;
  }

  // Downsets that show nothing that later ones do not show, where there are many.
  void DropSome() {
    if (kept_ <= std::max(kKeptPerPlace * places_.size(), 2 * needed_)) return;
    kept_ = 0;
    for (Place& place : places_) {
      std::vector<std::size_t> picked;
      Missing shown{std::vector<Word>(words_, ~Word{0}), std::vector<Word>(words_, ~Word{0})};
      for (std::size_t d = place.holds.size(); d-- > 0;) {
        if (place.holds[d] == 0) continue;
        const Missing before = shown;
        Cover(Downset(place, d), &shown);
        const bool shows_more = shown.inside != before.inside || shown.outside != before.outside;
        if (shows_more || picked.size() < kFewDownsets) picked.push_back(d);
      }
      Place rest;
      for (std::size_t i = picked.size(); i-- > 0;) {
        const Word* downset = Downset(place, picked[i]);
        rest.downsets.insert(rest.downsets.end(), downset, downset + words_);
        rest.hills.push_back(place.hills[picked[i]]);
      }
      place.downsets = std::move(rest.downsets);
      place.hills = std::move(rest.hills);
      place.holds.assign(picked.size(), 1);
      place.num_holding = picked.size();
      kept_ += picked.size();
    }
    needed_ = kept_;
  }

  bool Spent() {
    if (inference_.cuts % 64 == 0) stopper_->Look();
    return inference_.cuts >= limits_.max_cuts || stopper_->stopped();
  }

  Instance instance_;
  Relations relations_;
  CutFinder cuts_;
  std::size_t words_;
  std::int64_t budget_;
  InferenceLimits limits_;
  Stopper* stopper_;
  Inference inference_;
  std::vector<Place> places_;
  std::deque<std::size_t> waiting_;
  std::size_t kept_ = 0;    // downsets
  std::size_t needed_ = 0;  // of them, when some were dropped last
  bool is_refuted_ = false;
  bool is_trial_ = false;
  std::vector<std::pair<std::size_t, std::size_t>> split_;  // (place, downset) in this trial
};

}  // namespace

Inference InferPrecedences(const Problem& problem, const Instance::Stages& stages,
                           std::int64_t unit, std::int64_t budget, const InferenceLimits& limits,
                           Stopper* stopper) {
  return Inferrer(problem, stages, unit, budget, limits, stopper).Run();
}

}  // namespace neap::schedule
