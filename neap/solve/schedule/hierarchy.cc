// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/hierarchy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "neap/base/check.h"
#include "neap/base/index.h"
#include "neap/base/topological_order.h"
#include "neap/base/work.h"
#include "neap/solve/schedule/baselines.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/closure.h"
#include "neap/solve/schedule/flat_problem.h"
#include "neap/solve/schedule/order_state.h"
#include "neap/solve/schedule/serenity.h"
#include "neap/solve/schedule/windows.h"

namespace neap::schedule {
namespace {

constexpr std::size_t kPredecessorsOfCell = 3;
constexpr std::int64_t kStepStates = 10'000;

enum class GroupKind : std::uint8_t { kCell, kSequence, kOp };

// Of every operator the last operator of its group: all arcs that leave a group begin there, so
// that the graph of groups has no cycle.
class Grouping {
 public:
  Grouping(const FlatProblem& flat, std::vector<OpIndex> file_order)
      : flat_(flat),
        file_order_(std::move(file_order)),
        end_of_(file_order_.size(), -1),
        kind_(file_order_.size(), GroupKind::kOp) {
    for (auto op = file_order_.rbegin(); op != file_order_.rend(); ++op) {
      if (flat.Predecessors(*op).size() >= kPredecessorsOfCell) {
        Set(*op, *op, GroupKind::kCell);
      } else {
        const OpIndex end = CellOfSuccessors(*op);
        if (end >= 0) Set(*op, end, GroupKind::kCell);
      }
    }
    for (auto op = file_order_.rbegin(); op != file_order_.rend(); ++op) {
      if (end_of_[At(*op)] < 0) JoinSequence(*op);
    }
  }

  OpIndex EndOf(OpIndex op) const { return end_of_[At(op)]; }

  // False: it is a single operator.
  bool Dissolve(OpIndex end) {
    std::vector<OpIndex> ops;  // from the last to the first
    for (auto op = file_order_.rbegin(); op != file_order_.rend(); ++op) {
      if (end_of_[At(*op)] == end) ops.push_back(*op);
    }
    if (ops.size() == 1) return false;
    const bool is_cell = kind_[At(end)] == GroupKind::kCell;
    for (const OpIndex op : ops) end_of_[At(op)] = -1;
    for (const OpIndex op : ops) {
      if (is_cell) {
        JoinSequence(op);
      } else {
        Set(op, op, GroupKind::kOp);
      }
    }
    return true;
  }

 private:
  void Set(OpIndex op, OpIndex end, GroupKind kind) {
    end_of_[At(op)] = end;
    kind_[At(op)] = kind;
  }

  // The cell that all successors are in; -1: there is none.
  OpIndex CellOfSuccessors(OpIndex op) const {
    const auto successors = flat_.Successors(op);
    if (successors.empty()) return -1;
    const OpIndex end = end_of_[At(successors.front())];
    const bool same = std::all_of(successors.begin(), successors.end(),
                                  [&](OpIndex next) { return end_of_[At(next)] == end; });
    return same ? end : -1;
  }

  // Before its only successor, of which it is the only predecessor.
  void JoinSequence(OpIndex op) {
    const auto successors = flat_.Successors(op);
    const bool joins = successors.size() == 1 &&
                       flat_.Predecessors(successors.front()).size() == 1 &&
                       end_of_[At(successors.front())] >= 0 &&
                       kind_[At(successors.front())] == GroupKind::kSequence;
    Set(op, joins ? end_of_[At(successors.front())] : op, GroupKind::kSequence);
  }

  const FlatProblem& flat_;
  std::vector<OpIndex> file_order_;
  std::vector<OpIndex> end_of_;  // per operator; -1: of no group yet
  std::vector<GroupKind> kind_;  // per operator
};

class Hierarchy {
 public:
  Hierarchy(const Problem& problem, const Limits& limits, const std::vector<OpIndex>& file_order)
      : problem_(problem), limits_(limits), flat_(problem), grouping_(flat_, file_order) {
    best_ = SingleOpOutcome(problem);
    best_.order = file_order;
    best_.peak_bytes = PeakOfOrder(problem, file_order);
    limits_.deadline = limits.EndOfSearch(LimitNow());
    if (!limits.HasTimeLimit()) limits_.deadline.reset();
    limits_.max_seconds = 0;
  }

  Outcome Run() {
    for (bool solved = true; solved && MayGoOn();) {
      GroupInOrder();
      OrderState state(flat_, OrderOfGroups());
      solved = ScheduleGroups(&state);
      solved = Place(state, ScheduleGraphOfGroups(state)) && solved;
      const auto replay = ReplayOrder(problem_, order_);
      NEAP_CHECK(replay.has_value(), "groups of operators wait for each other");
      if (replay->peak_bytes < best_.peak_bytes) {
        best_.peak_bytes = replay->peak_bytes;
        best_.order = order_;
      }
      const OpIndex highest = order_[At(replay->peak_step)];
      if (!grouping_.Dissolve(grouping_.EndOf(highest))) break;
    }
    best_.interrupted = limits_.Interrupted() || (limits_.deadline && IsOver(limits_));
    return std::move(best_);
  }

 private:
  bool MayGoOn() const {
    return Affords(limits_, 3 * PassWork(flat_)) &&
           (limits_.max_states == 0 || best_.states < limits_.max_states);
  }

  // Numbers the groups in an order of the graph of groups.
  void GroupInOrder() {
    ChargeWork(3 * PassWork(flat_));
    group_of_.assign(At(problem_.num_ops), -1);
    std::vector<OpIndex> number(At(problem_.num_ops), -1);  // per last operator of a group
    OpIndex count = 0;
    for (const OpIndex op : best_.order) {
      OpIndex& group = number[At(grouping_.EndOf(op))];
      if (group < 0) group = count++;
    }
    std::vector<std::vector<OpIndex>> successors(At(count));
    for (const auto& [before, after] : problem_.precedences) {
      const OpIndex from = number[At(grouping_.EndOf(before))];
      const OpIndex to = number[At(grouping_.EndOf(after))];
      if (from != to) successors[At(from)].push_back(to);
    }
    for (auto& list : successors) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    const std::vector<OpIndex> position = PositionsIn(TopologicalOrder(successors));
    groups_.assign(At(count), {});
    for (const OpIndex op : best_.order) {
      const OpIndex group = position[At(number[At(grouping_.EndOf(op))])];
      group_of_[At(op)] = group;
      groups_[At(group)].push_back(op);
    }
  }

  std::vector<OpIndex> OrderOfGroups() const {
    std::vector<OpIndex> order;
    for (const auto& ops : groups_) order.insert(order.end(), ops.begin(), ops.end());
    return order;
  }

  // True: the dynamic program solved the problem. False: a limit ended it, and the order is a
  // simple one.
  bool Solve(const Problem& problem, const std::vector<OpIndex>& file_order,
             std::vector<OpIndex>* order) {
    Limits limits = limits_;
    if (limits.max_states > 0) {
      limits.max_states = std::max<std::int64_t>(limits.max_states - best_.states, 1);
    }
    Outcome outcome = Serenity(problem, limits, file_order, {true, kStepStates, 0});
    best_.states += outcome.states;
    best_.transitions += outcome.transitions;
    *order = std::move(outcome.order);
    return outcome.optimal();
  }

  // Every group of several operators alone, where it is.
  bool ScheduleGroups(OrderState* state) {
    WindowMaker maker(flat_);
    std::int32_t begin = 0;
    for (const auto& ops : groups_) {
      const std::int32_t end = begin + static_cast<std::int32_t>(ops.size());
      if (ops.size() > 1) {
        if (IsOver(limits_)) return false;
        const Window window = maker.Make(*state, begin, end);
        std::vector<OpIndex> order;
        if (!Solve(window.problem, FileOrder(window.problem, {}), &order)) return false;
        for (OpIndex& op : order) op = window.ops[At(op)];
        state->Replace(begin, order);
      }
      begin = end;
    }
    return true;
  }

  // Groups as operators. A buffer that only one group uses counts in its scratch.
  Problem GraphOfGroups(const OrderState& state) const {
    Problem graph;
    graph.num_ops = static_cast<OpIndex>(groups_.size());
    for (const auto& [before, after] : problem_.precedences) {
      const std::pair arc(group_of_[At(before)], group_of_[At(after)]);
      if (arc.first != arc.second) graph.precedences.push_back(arc);
    }
    for (const Buffer& buffer : problem_.buffers) {
      Buffer outer = buffer;
      for (OpIndex& user : outer.users) user = group_of_[At(user)];
      std::sort(outer.users.begin(), outer.users.end());
      outer.users.erase(std::unique(outer.users.begin(), outer.users.end()), outer.users.end());
      const bool inner = outer.users.size() == 1 && buffer.users.size() > 1 &&
                         !buffer.live_at_start && !buffer.live_at_end;
      if (inner) outer.bytes = 0;
      graph.buffers.push_back(std::move(outer));
    }
    std::int32_t begin = 0;
    for (const auto& ops : groups_) {
      graph.scratch_bytes.push_back(ScratchOf(state, graph, begin, ops));
      begin += static_cast<std::int32_t>(ops.size());
    }
    const auto is_alone = [&](OpIndex op) { return groups_[At(group_of_[At(op)])].size() == 1; };
    for (InPlace pair : problem_.in_place) {
      if (!is_alone(pair.op)) continue;
      pair.op = group_of_[At(pair.op)];
      graph.in_place.push_back(pair);
    }
    for (TakeOver part : problem_.take_over) {
      if (!is_alone(part.op)) continue;
      part.op = group_of_[At(part.op)];
      graph.take_over.push_back(std::move(part));
    }
    return graph;
  }

  // What the highest step of a group needs beyond the buffers of the graph of groups that begin.
  std::int64_t ScratchOf(const OrderState& state, const Problem& graph, std::int32_t begin,
                         const std::vector<OpIndex>& ops) const {
    if (ops.size() == 1) return flat_.Scratch(ops.front());
    const std::int32_t end = begin + static_cast<std::int32_t>(ops.size());
    std::int64_t highest = 0;
    for (std::int32_t step = begin; step < end; ++step) {
      highest = std::max(highest, state.Hill(step));
    }
    std::vector<BufferIndex> begun;
    for (const OpIndex op : ops) {
      for (const BufferIndex buffer : flat_.BuffersOf(op)) {
        if (state.First(buffer) >= begin) begun.push_back(buffer);
      }
    }
    std::sort(begun.begin(), begun.end());
    begun.erase(std::unique(begun.begin(), begun.end()), begun.end());
    std::int64_t scratch = highest - state.LiveAfter(begin - 1);
    for (const BufferIndex buffer : begun) scratch -= graph.buffers[At(buffer)].bytes;
    return std::max<std::int64_t>(scratch, 0);
  }

  // The order of the groups, empty where a limit ended its search.
  std::vector<OpIndex> ScheduleGraphOfGroups(const OrderState& state) {
    const Problem graph = GraphOfGroups(state);
    std::vector<OpIndex> order;
    const bool solved = Solve(graph, FileOrder(graph, {}), &order);
    if (!solved) order.clear();
    return order;
  }

  // False: there is no order of the groups, and they stay in theirs.
  bool Place(const OrderState& state, const std::vector<OpIndex>& order_of_groups) {
    order_ = state.order();
    if (order_of_groups.empty()) return false;
    std::vector<std::size_t> begin{0};
    for (const auto& ops : groups_) begin.push_back(begin.back() + ops.size());
    std::vector<OpIndex> order;
    for (const OpIndex group : order_of_groups) {
      const auto at = static_cast<std::size_t>(group);
      for (std::size_t step = begin[at]; step < begin[at + 1]; ++step) {
        order.push_back(order_[step]);
      }
    }
    order_ = std::move(order);
    return true;
  }

  const Problem& problem_;
  Limits limits_;
  FlatProblem flat_;
  Grouping grouping_;
  std::vector<OpIndex> group_of_;             // per operator
  std::vector<std::vector<OpIndex>> groups_;  // in an order of the graph of groups
  std::vector<OpIndex> order_;                // of the last round
  Outcome best_;
};

}  // namespace

Outcome Hierarchical(const Problem& problem, const Limits& limits,
                     const std::vector<OpIndex>& file_order) {
  if (problem.num_ops == 0) return {};
  return Hierarchy(problem, limits, file_order).Run();
}

}  // namespace neap::schedule
