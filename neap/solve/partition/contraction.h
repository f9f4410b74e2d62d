// SPDX-License-Identifier: Apache-2.0
//
// The groups and merges of a certificate, each justified from the definition of the problem.
// Private to neap/pipeline, and no part of the search.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "neap/solve/partition/certificate.h"
#include "neap/solve/partition/problem.h"

namespace neap::partition {

// The problem after its groups and merges, each of them justified.
class Contraction {
 public:
  // An operator of which others may have become a part, with names of things instead of copies.
  struct Node {
    bool alive = true;
    std::int64_t compute = 0;
    std::int64_t own_parameters = 0;
    std::set<TensorIndex> reads;
    std::set<TensorIndex> makes;
    std::set<std::int32_t> shares;
    std::set<OpIndex> before;  // by precedences
    std::set<OpIndex> after;
  };

  Contraction(const Problem& problem, const Certificate& certificate)
      : problem_(problem), certificate_(certificate) {}

  // Why it cannot be; nullopt: every step is justified.
  std::optional<std::string> Run() {
    if (Text flaw = CheckGroups()) return flaw;
    if (!certificate_.merges.empty() && !problem_.forbidden.empty()) {
      return "a merge could make a forbidden stage";
    }
    Build();
    for (const Merge& merge : certificate_.merges) {
      if (Text flaw = CheckMerge(merge)) return flaw;
      Apply(merge);
    }
    return CheckClasses();
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  // The group that represents a class.
  const std::vector<OpIndex>& leaders() const { return leaders_; }
  OpIndex ProducerOf(TensorIndex tensor) const { return producer_[At(tensor)]; }
  const std::set<OpIndex>& ConsumersOf(TensorIndex tensor) const { return consumers_[At(tensor)]; }

 private:
  using Text = std::optional<std::string>;
  static std::size_t At(std::int32_t index) { return static_cast<std::size_t>(index); }
  bool InRange(OpIndex group) const { return group >= 0 && group < certificate_.num_groups; }

  // Within a group every operator has to be forced to a stage no later, and no earlier, than that
  // of the first: by paths inside the group of precedences, and of rules in both directions.
  Text CheckGroups() const {
    const auto& group_of = certificate_.group_of;
    if (group_of.size() != At(problem_.num_ops)) return "not every operator has a group";
    if (!std::all_of(group_of.begin(), group_of.end(), [&](OpIndex g) { return InRange(g); })) {
      return "a group is out of range";
    }
    std::vector<std::vector<OpIndex>> next(group_of.size());
    std::vector<std::vector<OpIndex>> last(group_of.size());
    const auto link = [&](OpIndex a, OpIndex b) {
      if (group_of[At(a)] != group_of[At(b)]) return;
      next[At(a)].push_back(b);
      last[At(b)].push_back(a);
    };
    for (const auto& [a, b] : problem_.precedences) link(a, b);
    for (const Tensor& tensor : problem_.tensors) {
      for (const OpIndex op : tensor.consumers) {
        if (tensor.producer != kOutside) link(tensor.producer, op);
      }
    }
    for (const auto& together : problem_.together) {
      for (const OpIndex op : together) {
        link(op, together.front());
        link(together.front(), op);
      }
    }
    for (const auto* edges : {&next, &last}) {
      if (!AllMeetTheirFirst(*edges)) return "a group holds operators that may be apart";
    }
    return std::nullopt;
  }

  bool AllMeetTheirFirst(const std::vector<std::vector<OpIndex>>& edges) const {
    const auto& group_of = certificate_.group_of;
    std::vector<bool> started(At(certificate_.num_groups), false);
    std::vector<bool> met(group_of.size(), false);
    std::vector<OpIndex> waiting;
    for (std::size_t op = 0; op < group_of.size(); ++op) {
      if (started[At(group_of[op])]) continue;
      started[At(group_of[op])] = true;
      waiting.push_back(static_cast<OpIndex>(op));
      met[op] = true;
    }
    while (!waiting.empty()) {
      const OpIndex op = waiting.back();
      waiting.pop_back();
      for (const OpIndex other : edges[At(op)]) {
        if (met[At(other)]) continue;
        met[At(other)] = true;
        waiting.push_back(other);
      }
    }
    return std::find(met.begin(), met.end(), false) == met.end();
  }

  void Build() {
    const auto& group_of = certificate_.group_of;
    nodes_.resize(At(certificate_.num_groups));
    for (std::size_t op = 0; op < group_of.size(); ++op) {
      nodes_[At(group_of[op])].compute += problem_.compute_cost[op];
      nodes_[At(group_of[op])].own_parameters += problem_.parameter_bytes[op];
    }
    for (std::size_t s = 0; s < problem_.shared.size(); ++s) {
      std::set<OpIndex> users;
      for (const OpIndex op : problem_.shared[s].users) users.insert(group_of[At(op)]);
      if (users.size() == 1) {
        nodes_[At(*users.begin())].own_parameters += problem_.shared[s].bytes;
        continue;
      }
      for (const OpIndex user : users) {
        nodes_[At(user)].shares.insert(static_cast<std::int32_t>(s));
      }
    }
    for (std::size_t t = 0; t < problem_.tensors.size(); ++t) {
      const Tensor& tensor = problem_.tensors[t];
      const auto index = static_cast<TensorIndex>(t);
      const OpIndex producer =
          tensor.producer == kOutside ? kOutside : group_of[At(tensor.producer)];
      producer_.push_back(producer);
      consumers_.emplace_back();
      for (const OpIndex op : tensor.consumers) {
        if (group_of[At(op)] != producer) consumers_.back().insert(group_of[At(op)]);
      }
      for (const OpIndex group : consumers_.back()) nodes_[At(group)].reads.insert(index);
      if (producer != kOutside && Leaves(index)) nodes_[At(producer)].makes.insert(index);
    }
    for (const auto& [a, b] : problem_.precedences) {
      const OpIndex from = group_of[At(a)];
      const OpIndex to = group_of[At(b)];
      if (from == to) continue;
      nodes_[At(from)].after.insert(to);
      nodes_[At(to)].before.insert(from);
    }
  }

  bool Leaves(TensorIndex tensor) const {
    return problem_.tensors[At(tensor)].output || !consumers_[At(tensor)].empty();
  }
  std::int64_t LinkCost(const std::set<TensorIndex>& tensors) const {
    std::int64_t bytes = 0;
    for (const TensorIndex tensor : tensors) bytes += problem_.tensors[At(tensor)].bytes;
    return problem_.machine.link_cost_per_byte * bytes;
  }
  // The tensor that goes from `from` to `to` and nowhere else.
  bool GoesOnlyThere(TensorIndex tensor, OpIndex from, OpIndex to) const {
    return producer_[At(tensor)] == from && !problem_.tensors[At(tensor)].output &&
           consumers_[At(tensor)] == std::set<OpIndex>{to};
  }
  static bool OnlyHas(const std::set<OpIndex>& set, OpIndex item) {
    return set.empty() || (set.size() == 1 && *set.begin() == item);
  }

  Text CheckMerge(const Merge& merge) const {
    if (!InRange(merge.op) || !InRange(merge.into) || merge.op == merge.into) {
      return "a merge is out of range";
    }
    const Node& op = nodes_[At(merge.op)];
    if (!op.alive || !nodes_[At(merge.into)].alive) return "a merge names what is merged already";
    const Machine& machine = problem_.machine;
    const bool may_move = machine.parameter_limit_bytes < 0 || op.own_parameters == 0;
    if (op.compute != 0 || !op.shares.empty() || !may_move) {
      return "a merged operator costs something by itself";
    }
    // At most, where it comes.
    const std::int64_t brought = machine.stream_cost_per_byte * op.own_parameters;
    const bool backward =
        op.reads.size() == 1 && GoesOnlyThere(*op.reads.begin(), merge.into, merge.op) &&
        OnlyHas(op.before, merge.into) && LinkCost(op.makes) + brought <= LinkCost(op.reads);
    const bool forward =
        op.makes.size() == 1 && GoesOnlyThere(*op.makes.begin(), merge.op, merge.into) &&
        OnlyHas(op.after, merge.into) && LinkCost(op.reads) + brought <= LinkCost(op.makes);
    if (!backward && !forward) return "a merge has no reason";
    return std::nullopt;
  }

  void Apply(const Merge& merge) {
    Node& op = nodes_[At(merge.op)];
    Node& into = nodes_[At(merge.into)];
    for (const TensorIndex tensor : op.reads) {
      consumers_[At(tensor)].erase(merge.op);
      if (producer_[At(tensor)] == merge.into) {
        if (!Leaves(tensor)) into.makes.erase(tensor);
      } else {
        consumers_[At(tensor)].insert(merge.into);
        into.reads.insert(tensor);
      }
    }
    for (const TensorIndex tensor : op.makes) {
      producer_[At(tensor)] = merge.into;
      if (consumers_[At(tensor)].erase(merge.into) != 0) into.reads.erase(tensor);
      if (Leaves(tensor)) into.makes.insert(tensor);
    }
    const auto move = [&](std::set<OpIndex> Node::*list, std::set<OpIndex> Node::*back) {
      for (const OpIndex other : op.*list) {
        (nodes_[At(other)].*back).erase(merge.op);
        if (other == merge.into) continue;
        (nodes_[At(other)].*back).insert(merge.into);
        (into.*list).insert(other);
      }
    };
    move(&Node::before, &Node::after);
    move(&Node::after, &Node::before);
    into.own_parameters += op.own_parameters;
    op = Node();
    op.alive = false;
  }

  // Groups are of one class exactly when merges have joined them.
  Text CheckClasses() {
    const auto& class_of = certificate_.class_of;
    if (class_of.size() != nodes_.size()) return "not every group has a class";
    std::vector<OpIndex> leader(nodes_.size());
    for (std::size_t i = 0; i < leader.size(); ++i) leader[i] = static_cast<OpIndex>(i);
    for (auto merge = certificate_.merges.rbegin(); merge != certificate_.merges.rend(); ++merge) {
      leader[At(merge->op)] = leader[At(merge->into)];
    }
    leaders_.assign(At(std::max(certificate_.num_classes, OpIndex{0})), -1);
    for (std::size_t i = 0; i < leader.size(); ++i) {
      if (class_of[i] < 0 || class_of[i] >= certificate_.num_classes) {
        return "a class is out of range";
      }
      OpIndex& known = leaders_[At(class_of[i])];
      if (known == -1) known = leader[i];
      if (known != leader[i]) return "a class holds groups that were not merged";
    }
    if (std::find(leaders_.begin(), leaders_.end(), -1) != leaders_.end()) return "an empty class";
    std::set<OpIndex> different(leaders_.begin(), leaders_.end());
    if (different.size() != leaders_.size()) return "a merged group is in two classes";
    return std::nullopt;
  }

  const Problem& problem_;
  const Certificate& certificate_;
  std::vector<Node> nodes_;
  std::vector<OpIndex> producer_;
  std::vector<std::set<OpIndex>> consumers_;
  std::vector<OpIndex> leaders_;
};

}  // namespace neap::partition
