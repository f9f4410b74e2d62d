// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/partition/problem.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "neap/base/bytes.h"
#include "neap/base/index.h"
#include "neap/base/topological_order.h"

namespace neap::partition {
namespace {

void SortUnique(std::vector<OpIndex>* list) {
  std::sort(list->begin(), list->end());
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

// Adds up what a stage could cost at most; false when that is too much.
class Total {
 public:
  void Add(std::int64_t count, std::int64_t each) {
    const auto product = CheckedMultiply(count, each);
    const auto sum = product ? CheckedAdd(total_, *product) : std::nullopt;
    if (!sum || *sum > kMaxCost) good_ = false;
    total_ = good_ ? *sum : kMaxCost;
  }
  bool good() const { return good_; }

 private:
  std::int64_t total_ = 0;
  bool good_ = true;
};

bool IsSortedList(const std::vector<OpIndex>& list, OpIndex num_ops) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] < 0 || list[i] >= num_ops || (i > 0 && list[i - 1] >= list[i])) return false;
  }
  return true;
}

std::optional<std::string> CheckParts(const Problem& problem) {
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    const Tensor& tensor = problem.tensors[t];
    const std::string name = "tensor " + std::to_string(t);
    if (tensor.bytes < 0) return name + " has negative bytes";
    if (tensor.producer < kOutside || tensor.producer >= problem.num_ops) {
      return name + " has a producer out of range";
    }
    if (!IsSortedList(tensor.consumers, problem.num_ops)) {
      return name + " has consumers out of range or not strictly increasing";
    }
    if (std::binary_search(tensor.consumers.begin(), tensor.consumers.end(), tensor.producer)) {
      return name + " is read by its producer";
    }
  }
  for (const SharedParameters& shared : problem.shared) {
    if (shared.bytes < 0 || !IsSortedList(shared.users, problem.num_ops)) {
      return "shared parameters have negative bytes, or users that are not strictly increasing";
    }
  }
  for (const auto* lists : {&problem.together, &problem.forbidden}) {
    for (const auto& list : *lists) {
      if (!IsSortedList(list, problem.num_ops)) return "a group is not strictly increasing";
    }
  }
  for (const auto& [before, after] : problem.precedences) {
    if (before < 0 || after < 0 || before >= problem.num_ops || after >= problem.num_ops) {
      return "a precedence is out of range";
    }
  }
  return std::nullopt;
}

std::optional<std::string> CheckNumbers(const Problem& problem) {
  const Machine& machine = problem.machine;
  if (machine.fixed_cost < 0 || machine.cache_bytes < 0 || machine.stream_cost_per_byte < 0 ||
      machine.link_cost_per_byte < 0 || machine.parameter_limit_bytes < -1) {
    return "the machine has a negative number";
  }
  Total total;
  total.Add(1, machine.cache_bytes);
  total.Add(problem.num_stages, machine.cache_bytes);
  for (Stage stage = 0; stage < problem.num_stages; ++stage) total.Add(1, machine.fixed_cost);
  for (const std::int64_t cost : problem.compute_cost) {
    if (cost < 0) return "an operator has a negative cost";
    total.Add(1, cost);
  }
  const std::int64_t stream = std::max<std::int64_t>(machine.stream_cost_per_byte, 1);
  for (const std::int64_t bytes : problem.parameter_bytes) {
    if (bytes < 0) return "an operator has negative parameter bytes";
    total.Add(bytes, stream);
  }
  for (const SharedParameters& shared : problem.shared) total.Add(shared.bytes, stream);
  const std::int64_t link = std::max<std::int64_t>(machine.link_cost_per_byte, 1);
  for (const Tensor& tensor : problem.tensors) {
    total.Add(tensor.bytes, link);
    total.Add(tensor.bytes, link);
  }
  if (machine.shared_link) {
    // A tensor may enter as many stages as it has consumers; so may what they share.
    const auto stages = At(problem.num_stages);
    for (const Tensor& tensor : problem.tensors) {
      for (std::size_t i = 0; i < std::min(tensor.consumers.size(), stages); ++i) {
        total.Add(tensor.bytes, link);
      }
    }
    for (const SharedParameters& shared : problem.shared) {
      for (std::size_t i = 0; i < std::min(shared.users.size(), stages); ++i) {
        total.Add(shared.bytes, stream);
      }
    }
  }
  if (!total.good()) return "the costs add up to more than 2^61";
  return std::nullopt;
}

class UnionFind {
 public:
  explicit UnionFind(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), OpIndex{0});
  }
  OpIndex Find(OpIndex op) {
    while (parent_[At(op)] != op) {
      parent_[At(op)] = parent_[At(parent_[At(op)])];
      op = parent_[At(op)];
    }
    return op;
  }
  void Join(OpIndex a, OpIndex b) {
    const OpIndex first = Find(a);
    const OpIndex second = Find(b);
    parent_[At(std::max(first, second))] = std::min(first, second);
  }

 private:
  std::vector<OpIndex> parent_;
};

// Strongly connected components by two walks (Kosaraju), without recursion.
class Components {
 public:
  explicit Components(const Relations& relations) : relations_(relations) {}

  std::vector<OpIndex> Run() {
    const std::size_t size = relations_.before.size();
    std::vector<OpIndex> finished;
    std::vector<bool> seen(size, false);
    for (std::size_t op = 0; op < size; ++op) {
      Walk(relations_.after, static_cast<OpIndex>(op), &seen, &finished);
    }
    std::vector<OpIndex> component(size, 0);
    seen.assign(size, false);
    OpIndex next = 0;
    for (auto at = finished.rbegin(); at != finished.rend(); ++at) {
      std::vector<OpIndex> members;
      Walk(relations_.before, *at, &seen, &members);
      for (const OpIndex member : members) component[At(member)] = next;
      if (!members.empty()) ++next;
    }
    return component;
  }

 private:
  static void Walk(const std::vector<std::vector<OpIndex>>& next, OpIndex start,
                   std::vector<bool>* seen, std::vector<OpIndex>* finished) {
    if ((*seen)[At(start)]) return;
    (*seen)[At(start)] = true;
    std::vector<std::pair<OpIndex, std::size_t>> stack = {{start, 0}};
    while (!stack.empty()) {
      auto& [op, position] = stack.back();
      if (position == next[At(op)].size()) {
        finished->push_back(op);
        stack.pop_back();
        continue;
      }
      const OpIndex to = next[At(op)][position++];
      if ((*seen)[At(to)]) continue;
      (*seen)[At(to)] = true;
      stack.emplace_back(to, 0);
    }
  }

  const Relations& relations_;
};

// The same classes, numbered in a topological order, of equals the one with the least operator
// first.
Classes Numbered(const Problem& problem, const std::vector<OpIndex>& component) {
  std::vector<OpIndex> first(component.size(), -1);
  Classes classes;
  classes.class_of.resize(component.size());
  for (std::size_t op = 0; op < component.size(); ++op) {
    OpIndex& number = first[At(component[op])];
    if (number < 0) number = classes.count++;
    classes.class_of[op] = number;
  }
  const Problem merged = Merged(problem, classes.class_of, classes.count);
  const std::vector<OpIndex> order = TopologicalOrder(Relations(merged).after);
  std::vector<OpIndex> rank(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank[At(order[i])] = static_cast<OpIndex>(i);
  for (OpIndex& number : classes.class_of) number = rank[At(number)];
  return classes;
}

std::vector<OpIndex> Mapped(const std::vector<OpIndex>& list,
                            const std::vector<OpIndex>& class_of) {
  std::vector<OpIndex> mapped;
  mapped.reserve(list.size());
  for (const OpIndex op : list) mapped.push_back(class_of[At(op)]);
  SortUnique(&mapped);
  return mapped;
}

}  // namespace

Relations::Relations(const Problem& problem)
    : before(At(problem.num_ops)), after(At(problem.num_ops)) {
  for (const Tensor& tensor : problem.tensors) {
    if (tensor.producer == kOutside) continue;
    for (const OpIndex consumer : tensor.consumers) {
      after[At(tensor.producer)].push_back(consumer);
    }
  }
  for (const auto& [first, second] : problem.precedences) after[At(first)].push_back(second);
  for (std::size_t op = 0; op < after.size(); ++op) {
    SortUnique(&after[op]);
    for (const OpIndex next : after[op]) before[At(next)].push_back(static_cast<OpIndex>(op));
  }
}

std::optional<std::string> Validate(const Problem& problem) {
  if (problem.num_ops < 0 || problem.num_ops > kMaxOps) {
    return std::to_string(problem.num_ops) + " operators, expected at most " +
           std::to_string(kMaxOps);
  }
  if (problem.num_stages < 1 || problem.num_stages > kMaxStages) {
    return std::to_string(problem.num_stages) + " stages, expected 1 to " +
           std::to_string(kMaxStages);
  }
  if (problem.compute_cost.size() != At(problem.num_ops) ||
      problem.parameter_bytes.size() != At(problem.num_ops)) {
    return "not every operator has a cost and parameter bytes";
  }
  if (auto wrong = CheckParts(problem)) return wrong;
  if (auto wrong = CheckNumbers(problem)) return wrong;
  if (TopologicalOrder(Relations(problem).after).size() != At(problem.num_ops)) {
    return "the operators have a cycle";
  }
  return std::nullopt;
}

Problem Merged(const Problem& problem, const std::vector<OpIndex>& class_of, OpIndex num_classes) {
  Problem merged;
  merged.num_ops = num_classes;
  merged.machine = problem.machine;
  merged.num_stages = problem.num_stages;
  merged.compute_cost.assign(At(num_classes), 0);
  merged.parameter_bytes.assign(At(num_classes), 0);
  for (std::size_t op = 0; op < class_of.size(); ++op) {
    merged.compute_cost[At(class_of[op])] += problem.compute_cost[op];
    merged.parameter_bytes[At(class_of[op])] += problem.parameter_bytes[op];
  }
  for (const SharedParameters& shared : problem.shared) {
    SharedParameters mapped{shared.bytes, Mapped(shared.users, class_of)};
    if (mapped.users.size() == 1) {
      merged.parameter_bytes[At(mapped.users[0])] += shared.bytes;
    } else if (!mapped.users.empty()) {
      merged.shared.push_back(std::move(mapped));
    }
  }
  for (const Tensor& tensor : problem.tensors) {
    Tensor mapped{tensor.bytes, tensor.producer, Mapped(tensor.consumers, class_of), tensor.output};
    if (mapped.producer != kOutside) {
      mapped.producer = class_of[At(mapped.producer)];
      std::erase(mapped.consumers, mapped.producer);
    }
    if (!mapped.consumers.empty() || mapped.output) merged.tensors.push_back(std::move(mapped));
  }
  for (const auto& [before, after] : problem.precedences) {
    const std::pair mapped(class_of[At(before)], class_of[At(after)]);
    if (mapped.first != mapped.second) merged.precedences.push_back(mapped);
  }
  std::sort(merged.precedences.begin(), merged.precedences.end());
  merged.precedences.erase(std::unique(merged.precedences.begin(), merged.precedences.end()),
                           merged.precedences.end());
  for (const auto& group : problem.together) {
    std::vector<OpIndex> mapped = Mapped(group, class_of);
    if (mapped.size() > 1) merged.together.push_back(std::move(mapped));
  }
  std::vector<std::size_t> members(At(num_classes), 0);
  for (const OpIndex number : class_of) ++members[At(number)];
  for (const auto& stage : problem.forbidden) {
    std::vector<OpIndex> mapped = Mapped(stage, class_of);
    std::size_t all = 0;
    for (const OpIndex number : mapped) all += members[At(number)];
    if (all == stage.size()) merged.forbidden.push_back(std::move(mapped));
  }
  return merged;
}

Classes ClassesOf(const Problem& problem) {
  const std::size_t ops = At(problem.num_ops);
  UnionFind groups(ops);
  for (const auto& group : problem.together) {
    for (const OpIndex op : group) groups.Join(op, group.front());
  }
  // A class and the operators between its members form a cycle of classes.
  std::vector<OpIndex> root(ops);
  for (std::size_t op = 0; op < ops; ++op) root[op] = groups.Find(static_cast<OpIndex>(op));
  const Problem merged = Merged(problem, root, problem.num_ops);
  const std::vector<OpIndex> component = Components(Relations(merged)).Run();
  std::vector<OpIndex> of_op(ops);
  for (std::size_t op = 0; op < ops; ++op) of_op[op] = component[At(root[op])];
  return Numbered(problem, of_op);
}

}  // namespace neap::partition
