// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/dominance.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>

#include "neap/base/index.h"
#include "neap/solve/partition/load.h"

namespace neap::partition {
namespace {

// The merges of one problem that do not touch each other.
class Round {
 public:
  explicit Round(const Problem& problem)
      : problem_(problem), relations_(problem), lists_(problem), touched_(At(problem.num_ops)) {}

  std::vector<Merge> Run() {
    std::vector<Merge> merges;
    for (OpIndex op = 0; op < problem_.num_ops; ++op) {
      if (touched_[At(op)] || !IsFree(op)) continue;
      std::optional<OpIndex> into = IntoPredecessor(op);
      if (!into) into = IntoSuccessor(op);
      if (!into || touched_[At(*into)]) continue;
      touched_[At(op)] = true;
      touched_[At(*into)] = true;
      merges.push_back({op, *into});
    }
    return merges;
  }

 private:
  // Costs nothing but its tensors and parameters, and may take the latter to another stage.
  bool IsFree(OpIndex op) const {
    const bool limited = problem_.machine.parameter_limit_bytes >= 0;
    return problem_.compute_cost[At(op)] == 0 && lists_.Shares(op).empty() &&
           (!limited || problem_.parameter_bytes[At(op)] == 0);
  }

  std::int64_t StreamCost(OpIndex op) const {
    return problem_.machine.stream_cost_per_byte * problem_.parameter_bytes[At(op)];
  }

  const Tensor& Of(TensorIndex tensor) const { return problem_.tensors[At(tensor)]; }

  std::int64_t LinkCost(std::span<const TensorIndex> tensors) const {
    std::int64_t bytes = 0;
    for (const TensorIndex tensor : tensors) bytes += Of(tensor).bytes;
    return problem_.machine.link_cost_per_byte * bytes;
  }

  std::optional<OpIndex> IntoPredecessor(OpIndex op) const {
    const auto reads = lists_.Reads(op);
    if (reads.size() != 1 || relations_.before[At(op)].size() != 1) return std::nullopt;
    const Tensor& between = Of(reads[0]);
    if (between.producer == kOutside || between.output || between.consumers.size() != 1) {
      return std::nullopt;
    }
    if (LinkCost(lists_.Makes(op)) + StreamCost(op) > LinkCost(reads)) return std::nullopt;
    return between.producer;
  }

  std::optional<OpIndex> IntoSuccessor(OpIndex op) const {
    const auto makes = lists_.Makes(op);
    if (makes.size() != 1 || relations_.after[At(op)].size() != 1) return std::nullopt;
    const Tensor& between = Of(makes[0]);
    if (between.output || between.consumers.size() != 1) return std::nullopt;
    if (LinkCost(lists_.Reads(op)) + StreamCost(op) > LinkCost(makes)) return std::nullopt;
    return between.consumers[0];
  }

  const Problem& problem_;
  Relations relations_;
  ByOperator lists_;
  std::vector<bool> touched_;
};

}  // namespace

Dominance FindDominance(const Problem& problem) {
  Dominance found;
  found.count = problem.num_ops;
  found.class_of.resize(At(problem.num_ops));
  std::iota(found.class_of.begin(), found.class_of.end(), OpIndex{0});
  std::vector<OpIndex> name = found.class_of;  // of a class: the operator that others went into
  Problem current = problem;
  while (true) {
    const std::vector<Merge> merges = Round(current).Run();
    if (merges.empty()) return found;
    std::vector<OpIndex> next(At(current.num_ops), 0);
    for (const Merge& merge : merges) {
      found.merges.push_back({name[At(merge.op)], name[At(merge.into)]});
      next[At(merge.op)] = -1;
    }
    OpIndex count = 0;
    for (std::size_t op = 0; op < next.size(); ++op) {
      if (next[op] < 0) continue;
      name[At(count)] = name[op];
      next[op] = count++;
    }
    for (const Merge& merge : merges) next[At(merge.op)] = next[At(merge.into)];
    for (OpIndex& number : found.class_of) number = next[At(number)];
    found.count = count;
    current = Merged(current, next, count);
  }
}

}  // namespace neap::partition
