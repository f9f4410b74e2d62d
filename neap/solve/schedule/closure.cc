// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/closure.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "neap/base/work.h"
#include "neap/solve/schedule/baselines.h"
#include "neap/solve/schedule/frontier.h"

namespace neap::schedule {
namespace {

// (number to be least, place in an order, operator), least first.
template <typename... Key>
using LeastFirst =
    std::priority_queue<std::tuple<Key..., OpIndex, OpIndex>,
                        std::vector<std::tuple<Key..., OpIndex, OpIndex>>, std::greater<>>;

class ClosingPass {
 public:
  ClosingPass(const FlatProblem& flat, std::vector<OpIndex> order, std::int64_t budget,
              bool reversed)
      : frontier_(flat, reversed),
        order_(std::move(order)),
        places_(PositionsIn(order_)),
        budget_(budget) {}

  std::vector<OpIndex> Run() {
    for (const OpIndex op : order_) Consider(op);
    for (const OpIndex op : order_) {
      RunForced();
      if (!frontier_.HasRun(op)) RunOne(op);
    }
    return std::move(closed_);
  }

 private:
  void Consider(OpIndex op) {
    if (!frontier_.IsReady(op) || frontier_.Change(op) > 0) return;
    forced_.emplace(frontier_.Need(op), places_[At(op)], op);
  }

  void RunOne(OpIndex op) {
    changed_.clear();
    frontier_.Run(op, &changed_);
    closed_.push_back(op);
    for (const OpIndex other : changed_) Consider(other);
  }

  void RunForced() {
    while (!forced_.empty()) {
      const auto [need, place, op] = forced_.top();
      // An entry that is out of date is too large, so nothing else fits either.
      if (!frontier_.HasRun(op) && frontier_.live() + need > budget_) return;
      forced_.pop();
      if (!frontier_.HasRun(op)) RunOne(op);
    }
  }

  Frontier frontier_;
  std::vector<OpIndex> order_;
  std::vector<OpIndex> places_;
  std::int64_t budget_;
  LeastFirst<std::int64_t> forced_;
  std::vector<OpIndex> changed_;
  std::vector<OpIndex> closed_;
};

// What depth first needs to know of an operator with all that it alone visits.
struct Label {
  std::int64_t needs = 0;   // maximum of the live bytes
  std::int64_t leaves = 0;  // bytes live afterwards
};

// Labels as if every operator had the predecessors to itself; its predecessors in the order of the
// rule.
class Labels {
 public:
  Labels(const FlatProblem& flat, const std::vector<OpIndex>& file_order)
      : flat_(flat), places_(PositionsIn(file_order)), labels_(file_order.size()) {
    for (const OpIndex op : file_order) {
      std::int64_t live = 0;
      Label& label = labels_[At(op)];
      for (const OpIndex before : Sorted(op)) {
        label.needs = std::max(label.needs, live + labels_[At(before)].needs);
        live += labels_[At(before)].leaves;
      }
      label.leaves = LeavesOf(op);
      label.needs = std::max(label.needs, live + label.leaves + flat_.Scratch(op));
    }
  }

  std::vector<OpIndex> Sorted(OpIndex op) const {
    const auto row = flat_.Predecessors(op);
    std::vector<OpIndex> sorted(row.begin(), row.end());
    std::sort(sorted.begin(), sorted.end(), [&](OpIndex a, OpIndex b) {
      return std::pair(-Spare(a), places_[At(a)]) < std::pair(-Spare(b), places_[At(b)]);
    });
    return sorted;
  }

 private:
  std::int64_t Spare(OpIndex op) const { return labels_[At(op)].needs - labels_[At(op)].leaves; }

  std::int64_t LeavesOf(OpIndex op) const {
    std::int64_t bytes = 0;
    for (const BufferIndex index : flat_.BuffersOf(op)) {
      const Buffer& buffer = flat_.BufferAt(index);
      if (buffer.live_at_start || buffer.users.size() < 2) continue;
      const bool first = std::all_of(buffer.users.begin(), buffer.users.end(), [&](OpIndex user) {
        return places_[At(user)] >= places_[At(op)];
      });
      if (first) bytes += buffer.bytes;
    }
    return bytes;
  }

  const FlatProblem& flat_;
  std::vector<OpIndex> places_;
  std::vector<Label> labels_;
};

}  // namespace

std::int64_t PassWork(const FlatProblem& flat) {
  constexpr std::int64_t kEntry = 60;  // in about nanoseconds
  return flat.Size() * kEntry;
}

std::vector<OpIndex> ClosePass(const FlatProblem& flat, const std::vector<OpIndex>& order,
                               std::int64_t budget, bool reversed) {
  if (!reversed) return ClosingPass(flat, order, budget, false).Run();
  std::vector<OpIndex> closed =
      ClosingPass(flat, {order.rbegin(), order.rend()}, budget, true).Run();
  std::reverse(closed.begin(), closed.end());
  return closed;
}

RankedOrder Close(const FlatProblem& flat, RankedOrder start, const Limits& limits) {
  int unchanged = 0;
  for (bool reversed = false; unchanged < 2 && Affords(limits, PassWork(flat));
       reversed = !reversed) {
    ChargeWork(PassWork(flat));
    start.order = ClosePass(flat, start.order, start.peak_bytes, reversed);
    const std::int64_t peak = PeakOfOrder(flat.problem(), start.order);
    unchanged = peak < start.peak_bytes ? 0 : unchanged + 1;
    start.peak_bytes = peak;
  }
  return start;
}

std::vector<OpIndex> ListOrder(const FlatProblem& flat, const std::vector<OpIndex>& preference,
                               bool reversed) {
  const std::vector<OpIndex> places = PositionsIn(preference);
  const auto last = static_cast<OpIndex>(preference.size()) - 1;
  Frontier frontier(flat, reversed);
  LeastFirst<std::int64_t, std::int64_t> ready;
  const auto consider = [&](OpIndex op) {
    if (!frontier.IsReady(op)) return;
    const OpIndex place = reversed ? last - places[At(op)] : places[At(op)];
    ready.emplace(frontier.Change(op), frontier.Need(op), place, op);
  };
  for (const OpIndex op : preference) consider(op);
  std::vector<OpIndex> order;
  std::vector<OpIndex> changed;
  while (!ready.empty()) {
    const OpIndex op = std::get<3>(ready.top());
    ready.pop();
    if (frontier.HasRun(op)) continue;
    changed.clear();
    frontier.Run(op, &changed);
    order.push_back(op);
    for (const OpIndex other : changed) consider(other);
  }
  if (reversed) std::reverse(order.begin(), order.end());
  return order;
}

std::vector<OpIndex> LabelledDepthFirstOrder(const FlatProblem& flat,
                                             const std::vector<OpIndex>& file_order) {
  const Labels labels(flat, file_order);
  struct Visit {
    OpIndex op;
    std::vector<OpIndex> before;
    std::size_t next = 0;
  };
  std::vector<char> entered(file_order.size(), 0);
  std::vector<OpIndex> order;
  std::vector<Visit> stack;
  const auto enter = [&](OpIndex op) {
    if (entered[At(op)] != 0) return;
    entered[At(op)] = 1;
    stack.push_back({op, labels.Sorted(op)});
  };
  for (const OpIndex root : file_order) {
    if (flat.Successors(root).empty()) enter(root);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.before.size()) {
        enter(top.before[top.next++]);
        continue;
      }
      order.push_back(top.op);
      stack.pop_back();
    }
  }
  return order;
}

std::vector<RankedOrder> ClosedOrders(const FlatProblem& flat, RankedOrder given,
                                      const Limits& limits) {
  const std::vector<OpIndex> file_order = given.order;
  std::vector<RankedOrder> closed;
  closed.push_back(Close(flat, std::move(given), limits));
  const std::function<std::vector<OpIndex>()> starts[] = {
      [&] { return FileOrder(flat.problem(), {}); },
      [&] { return ListOrder(flat, file_order, true); },
      [&] { return ListOrder(flat, file_order, false); },
      [&] { return LabelledDepthFirstOrder(flat, file_order); },
      [&] { return DepthFirstOrder(flat.problem(), file_order); },
  };
  for (const auto& start : starts) {
    if (!Affords(limits, 3 * PassWork(flat))) break;
    ChargeWork(PassWork(flat));
    RankedOrder other;
    other.order = start();
    other.peak_bytes = PeakOfOrder(flat.problem(), other.order);
    closed.push_back(Close(flat, std::move(other), limits));
  }
  std::stable_sort(closed.begin(), closed.end(), [](const RankedOrder& a, const RankedOrder& b) {
    return a.peak_bytes < b.peak_bytes;
  });
  return closed;
}

}  // namespace neap::schedule
