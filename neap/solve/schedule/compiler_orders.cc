// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/compiler_orders.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "neap/base/work.h"
#include "neap/solve/schedule/baselines.h"
#include "neap/solve/schedule/closure.h"
#include "neap/solve/schedule/frontier.h"

namespace neap::schedule {
namespace {

template <typename Entry>
using MinHeap = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

class LeastPeakFirst {
 public:
  LeastPeakFirst(const FlatProblem& flat, const std::vector<OpIndex>& file_order,
                 const Limits& limits)
      : frontier_(flat, false), places_(PositionsIn(file_order)), limits_(limits) {
    peak_ = frontier_.live();
    for (const OpIndex op : file_order) Consider(op);
  }

  std::vector<OpIndex> Run() {
    std::vector<OpIndex> order;
    while (true) {
      const OpIndex op = Next();
      if (op < 0) return order;
      peak_ = std::max(peak_, frontier_.live() + frontier_.Need(op));
      changed_.clear();
      frontier_.Run(op, &changed_);
      order.push_back(op);
      for (const OpIndex other : changed_) Consider(other);
      if (IsOver(limits_)) return {};
    }
  }

 private:
  // (bytes, bytes, place in the file order, operator), least first.
  using Entry = std::tuple<std::int64_t, std::int64_t, OpIndex, OpIndex>;

  bool Fits(OpIndex op) const { return frontier_.live() + frontier_.Need(op) <= peak_; }

  void Consider(OpIndex op) {
    if (!frontier_.IsReady(op)) return;
    ChargeWork(kHeapWork);
    const std::int64_t need = frontier_.Need(op);
    const std::int64_t change = frontier_.Change(op);
    if (Fits(op)) {
      fitting_.emplace(change, 0, places_[At(op)], op);
    } else {
      waiting_.emplace(need, change, places_[At(op)], op);
    }
  }

  // An entry that is out of date has larger numbers than the one that replaced it.
  OpIndex Next() {
    while (!waiting_.empty()) {
      const OpIndex op = std::get<3>(waiting_.top());
      if (!frontier_.HasRun(op) && !Fits(op)) break;
      waiting_.pop();
      Consider(op);
    }
    while (!fitting_.empty()) {
      const OpIndex op = std::get<3>(fitting_.top());
      fitting_.pop();
      if (frontier_.HasRun(op)) continue;
      if (Fits(op)) return op;
      Consider(op);
    }
    // Nothing fits: the heap by needed bytes contains every ready operator.
    while (!waiting_.empty()) {
      const OpIndex op = std::get<3>(waiting_.top());
      waiting_.pop();
      if (!frontier_.HasRun(op)) return op;
    }
    return -1;
  }

  static constexpr std::int64_t kHeapWork = 150;  // in about nanoseconds

  Frontier frontier_;
  std::vector<OpIndex> places_;
  const Limits& limits_;
  std::int64_t peak_ = 0;
  MinHeap<Entry> fitting_;  // by the change of live bytes
  MinHeap<Entry> waiting_;  // by needed bytes
  std::vector<OpIndex> changed_;
};

}  // namespace

std::vector<OpIndex> XlaListOrder(const FlatProblem& flat, const std::vector<OpIndex>& file_order,
                                  const Limits& limits) {
  if (!Affords(limits, PassWork(flat))) return {};
  ChargeWork(PassWork(flat));
  Frontier frontier(flat, false);
  // (change of live bytes, consumers, age, operator): ages fall, so that the latest comes first.
  MinHeap<std::tuple<std::int64_t, std::int64_t, std::int64_t, OpIndex>> ready;
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> change_of(file_order.size(), kNone);
  std::int64_t age = 0;
  const auto consider = [&](OpIndex op) {
    const std::int64_t change = frontier.Change(op);
    if (!frontier.IsReady(op) || change_of[At(op)] == change) return;
    change_of[At(op)] = change;
    ready.emplace(change, -static_cast<std::int64_t>(flat.Successors(op).size()), --age, op);
  };
  for (const OpIndex op : file_order) consider(op);
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
  return order;
}

std::vector<OpIndex> LeastPeakFirstOrder(const FlatProblem& flat,
                                         const std::vector<OpIndex>& file_order,
                                         const Limits& limits) {
  if (!Affords(limits, PassWork(flat))) return {};
  ChargeWork(PassWork(flat));
  return LeastPeakFirst(flat, file_order, limits).Run();
}

}  // namespace neap::schedule
