// SPDX-License-Identifier: Apache-2.0
//
// Checks a certificate from the definition of the problem alone.
#include "neap/solve/partition/certificate.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "neap/base/index.h"
#include "neap/solve/partition/contraction.h"

namespace neap::partition {
namespace {

using Text = std::optional<std::string>;

// Follows every cheap stage after every listed downset.
class Closure {
 public:
  Closure(const Problem& problem, const Certificate& certificate, const Contraction& contraction,
          std::int64_t max_steps)
      : problem_(problem), certificate_(certificate), max_steps_(max_steps) {
    const std::vector<OpIndex>& leaders = contraction.leaders();
    std::vector<OpIndex> class_of(contraction.nodes().size(), -1);
    for (std::size_t c = 0; c < leaders.size(); ++c) {
      class_of[At(leaders[c])] = static_cast<OpIndex>(c);
    }
    for (const OpIndex leader : leaders) {
      const Contraction::Node& node = contraction.nodes()[At(leader)];
      Class item{node.compute,
                 node.own_parameters,
                 {node.reads.begin(), node.reads.end()},
                 {node.makes.begin(), node.makes.end()},
                 {node.shares.begin(), node.shares.end()},
                 {},
                 0};
      std::set<OpIndex> after = node.after;
      for (const TensorIndex tensor : node.makes) {
        const auto& consumers = contraction.ConsumersOf(tensor);
        after.insert(consumers.begin(), consumers.end());
      }
      for (const OpIndex next : after) item.after.push_back(class_of[At(next)]);
      total_compute_ += item.compute;
      total_parameters_ += item.own_parameters;
      classes_.push_back(std::move(item));
    }
    for (const Class& item : classes_) {
      for (const OpIndex next : item.after) ++classes_[At(next)].predecessors;
    }
    for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
      readers_.push_back(
          static_cast<std::int32_t>(contraction.ConsumersOf(static_cast<TensorIndex>(t)).size()));
    }
    ListForbidden();
    unread_.assign(problem.tensors.size(), 0);
    entered_.assign(problem.tensors.size(), 0);
    shared_.assign(problem.shared.size(), 0);
  }

  Text Run() {
    if (HasCycle()) return "the classes have a cycle";
    const std::size_t words = (classes_.size() + 63) / 64;
    if (certificate_.layers.size() != At(problem_.num_stages)) return "not every stage is listed";
    for (const auto& layer : certificate_.layers) {
      listed_.emplace_back();
      for (const Listed& item : layer) {
        if (item.set.size() != words) return "a downset has the wrong size";
        if (item.link_cost < 0 || item.link_cost > kMaxCost) return "a cost is out of range";
        const auto [known, added] = listed_.back().emplace(item.set, item.link_cost);
        if (!added) known->second = std::min(known->second, item.link_cost);
      }
    }
    const bool starts = classes_.empty() || IsListed(0, Downset(words, 0), 0);
    if (!starts && RestFits(0, 0, problem_.num_stages)) return "the start is not listed";
    for (Stage done = 0; done < problem_.num_stages; ++done) {
      for (const auto& [set, link_cost] : listed_[At(done)]) {
        before_link_ = link_cost;
        if (Text flaw = Follow(set, done)) return flaw;
      }
    }
    return std::nullopt;
  }

 private:
  struct Class {
    std::int64_t compute;
    std::int64_t own_parameters;
    std::vector<TensorIndex> reads;
    std::vector<TensorIndex> makes;
    std::vector<std::int32_t> shares;
    std::vector<OpIndex> after;
    std::int32_t predecessors;
  };
  struct Choice {
    std::size_t position;
    std::size_t ready;
  };

  // With a cost of the link that is no higher.
  bool IsListed(Stage done, const Downset& set, std::int64_t link_cost) const {
    const auto found = listed_[At(done)].find(set);
    return found != listed_[At(done)].end() && found->second <= link_cost;
  }

  // As sets of classes: a stage that is none of them consists of whole classes as well.
  void ListForbidden() {
    std::vector<std::size_t> members(classes_.size(), 0);
    const auto class_of = [&](std::size_t op) {
      return At(certificate_.class_of[At(certificate_.group_of[op])]);
    };
    for (std::size_t op = 0; op < At(problem_.num_ops); ++op) ++members[class_of(op)];
    for (const auto& stage : problem_.forbidden) {
      Downset set((classes_.size() + 63) / 64, 0);
      std::size_t whole = 0;
      for (const OpIndex op : stage) {
        const std::size_t c = class_of(At(op));
        if (!Holds(set, c)) whole += members[c];
        set[c / 64] |= std::uint64_t{1} << (c % 64);
      }
      if (whole == stage.size()) forbidden_.insert(std::move(set));
    }
  }

  bool IsForbidden() const {
    Downset stage = now_;
    for (std::size_t i = 0; i < stage.size(); ++i) stage[i] &= ~before_[i];
    return forbidden_.contains(stage);
  }

  bool HasCycle() const {
    std::vector<std::int32_t> missing;
    std::vector<OpIndex> done;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      missing.push_back(classes_[c].predecessors);
      if (missing.back() == 0) done.push_back(static_cast<OpIndex>(c));
    }
    for (std::size_t i = 0; i < done.size(); ++i) {
      for (const OpIndex next : classes_[At(done[i])].after) {
        if (--missing[At(next)] == 0) done.push_back(next);
      }
    }
    return done.size() != classes_.size();
  }

  // The rest after `compute` and `parameters` have been used, spread over `stages` cheap ones.
  bool RestFits(std::int64_t compute, std::int64_t parameters, Stage stages) const {
    const std::int64_t room = certificate_.bound - 1 - problem_.machine.fixed_cost;
    if (stages < 1 || room < 0) return false;
    std::int64_t work = total_compute_ - compute;
    const std::int64_t left = total_parameters_ - parameters;
    const std::int64_t cached = stages * problem_.machine.cache_bytes;
    if (left > cached) work += (left - cached) * problem_.machine.stream_cost_per_byte;
    // work <= stages * capacity, without the product
    return work / stages < room || (work / stages == room && work % stages == 0);
  }

  static bool Holds(const Downset& set, std::size_t c) {
    return ((set[c / 64] >> (c % 64)) & 1U) != 0;
  }

  void Enter(OpIndex c) {
    const Class& item = classes_[At(c)];
    now_[At(c) / 64] |= std::uint64_t{1} << (At(c) % 64);
    compute_ += item.compute;
    parameters_ += item.own_parameters;
    own_parameters_ += item.own_parameters;
    for (const std::int32_t s : item.shares) {
      if (shared_[At(s)]++ == 0) parameters_ += problem_.shared[At(s)].bytes;
    }
    for (const TensorIndex t : item.reads) {
      const Tensor& tensor = problem_.tensors[At(t)];
      if (unread_[At(t)] > 0) {
        if (--unread_[At(t)] == 0 && !tensor.output) out_ -= tensor.bytes;
      } else if (entered_[At(t)]++ == 0) {
        in_ += tensor.bytes;
      }
    }
    // A tensor of this stage without consumers is an output: it stays at 0, and is never read.
    for (const TensorIndex t : item.makes) {
      unread_[At(t)] = readers_[At(t)];
      out_ += problem_.tensors[At(t)].bytes;
    }
  }

  // The removed operator was the last to enter; its tensors have no consumer here any more.
  void Leave(OpIndex c) {
    const Class& item = classes_[At(c)];
    now_[At(c) / 64] &= ~(std::uint64_t{1} << (At(c) % 64));
    compute_ -= item.compute;
    parameters_ -= item.own_parameters;
    own_parameters_ -= item.own_parameters;
    for (const std::int32_t s : item.shares) {
      if (--shared_[At(s)] == 0) parameters_ -= problem_.shared[At(s)].bytes;
    }
    for (const TensorIndex t : item.makes) {
      unread_[At(t)] = 0;
      out_ -= problem_.tensors[At(t)].bytes;
    }
    for (const TensorIndex t : item.reads) {
      const Tensor& tensor = problem_.tensors[At(t)];
      if (entered_[At(t)] > 0) {
        if (--entered_[At(t)] == 0) in_ -= tensor.bytes;
      } else if (unread_[At(t)]++ == 0 && !tensor.output) {
        out_ += tensor.bytes;
      }
    }
  }

  // The cost of the stage without its outgoing tensors: it does not fall with more classes.
  std::int64_t CostWithoutOut() const {
    return problem_.machine.fixed_cost + compute_ + LinkWithoutOut();
  }
  std::int64_t LinkWithoutOut() const {
    const Machine& machine = problem_.machine;
    const std::int64_t streamed = std::max<std::int64_t>(parameters_ - machine.cache_bytes, 0);
    return machine.stream_cost_per_byte * streamed + machine.link_cost_per_byte * in_;
  }

  Text Land(Stage done) {
    const Machine& machine = problem_.machine;
    if (CostWithoutOut() + machine.link_cost_per_byte * out_ >= certificate_.bound) {
      return std::nullopt;
    }
    if (!forbidden_.empty() && IsForbidden()) return std::nullopt;
    std::int64_t link_cost = 0;
    if (machine.shared_link) {
      link_cost = before_link_ + LinkWithoutOut() + machine.link_cost_per_byte * out_;
      if (link_cost >= certificate_.bound) return std::nullopt;
    }
    if (entered_classes_ == classes_.size()) return "cheap stages compute everything";
    if (done + 1 < problem_.num_stages && IsListed(done + 1, now_, link_cost)) return std::nullopt;
    if (!RestFits(before_compute_ + compute_, before_parameters_ + own_parameters_,
                  problem_.num_stages - done - 1)) {
      return std::nullopt;
    }
    return "a cheap stage leads to a downset that is not listed";
  }

  // All downsets that contain `set`, each once: every entry of a list of candidates, to which new
  // candidates are appended, is first taken, then excluded.
  Text Follow(const Downset& set, Stage done) {
    std::vector<OpIndex> ready = Begin(set);
    if (!RestFits(before_compute_, before_parameters_, problem_.num_stages - done)) {
      return std::nullopt;
    }
    const std::int64_t limit = problem_.machine.parameter_limit_bytes;
    std::vector<Choice> taken;
    std::size_t position = 0;
    while (true) {
      if (position == ready.size()) {
        if (taken.empty()) return std::nullopt;
        position = taken.back().position;
        ready.resize(taken.back().ready);
        taken.pop_back();
        for (const OpIndex next : classes_[At(ready[position])].after) ++missing_[At(next)];
        Leave(ready[position++]);
        --entered_classes_;
        continue;
      }
      if (++steps_ > max_steps_ && max_steps_ > 0) return "there are too many steps to check";
      const OpIndex c = ready[position];
      Enter(c);
      if (CostWithoutOut() >= certificate_.bound || (limit >= 0 && parameters_ > limit)) {
        Leave(c);
        ++position;
        continue;
      }
      ++entered_classes_;
      if (Text flaw = Land(done)) return flaw;
      taken.push_back({position, ready.size()});
      for (const OpIndex next : classes_[At(c)].after) {
        if (--missing_[At(next)] == 0) ready.push_back(next);
      }
      ++position;
    }
  }

  std::vector<OpIndex> Begin(const Downset& set) {
    now_ = set;
    before_ = set;
    before_compute_ = 0;
    before_parameters_ = 0;
    entered_classes_ = 0;
    missing_.clear();
    for (const Class& item : classes_) missing_.push_back(item.predecessors);
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (!Holds(set, c)) continue;
      ++entered_classes_;
      before_compute_ += classes_[c].compute;
      before_parameters_ += classes_[c].own_parameters;
      for (const OpIndex next : classes_[c].after) --missing_[At(next)];
    }
    std::vector<OpIndex> ready;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (!Holds(set, c) && missing_[c] <= 0) ready.push_back(static_cast<OpIndex>(c));
    }
    return ready;
  }

  const Problem& problem_;
  const Certificate& certificate_;
  std::int64_t max_steps_;
  std::int64_t steps_ = 0;
  std::vector<Class> classes_;
  std::vector<std::int32_t> readers_;  // of every tensor
  std::int64_t total_compute_ = 0;
  std::int64_t total_parameters_ = 0;
  std::vector<std::map<Downset, std::int64_t>> listed_;
  std::set<Downset> forbidden_;

  // The stage that is being followed.
  std::int64_t before_link_ = 0;  // of the stages before, at least
  Downset before_;
  Downset now_;
  std::size_t entered_classes_ = 0;  // with those of the downset before
  std::vector<std::int32_t> missing_;
  std::int64_t before_compute_ = 0;
  std::int64_t before_parameters_ = 0;
  std::int64_t compute_ = 0;
  std::int64_t parameters_ = 0;
  std::int64_t own_parameters_ = 0;
  std::int64_t in_ = 0;
  std::int64_t out_ = 0;
  std::vector<std::int32_t> unread_;   // of a tensor made in the stage: readers not in it
  std::vector<std::int32_t> entered_;  // of a tensor made elsewhere: readers in the stage
  std::vector<std::int32_t> shared_;
};

}  // namespace

std::optional<std::string> FindFlaw(const Problem& problem, const Certificate& certificate,
                                    std::int64_t max_steps) {
  if (certificate.num_groups < 0 || certificate.num_groups > problem.num_ops ||
      certificate.num_classes < 0 || certificate.num_classes > problem.num_ops) {
    return "more groups or classes than operators";
  }
  Contraction contraction(problem, certificate);
  if (Text flaw = contraction.Run()) return flaw;
  return Closure(problem, certificate, contraction, max_steps).Run();
}

}  // namespace neap::partition
