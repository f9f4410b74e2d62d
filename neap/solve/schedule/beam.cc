// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/beam.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/solve/schedule/expander.h"

namespace neap::schedule {
namespace {

class Beam {
 public:
  Beam(const Instance& instance, Expander* expander, std::int64_t budget, std::size_t width,
       Stopper* stopper)
      : instance_(instance),
        expander_(*expander),
        budget_(budget),
        width_(width),
        stopper_(stopper),
        levels_(static_cast<std::size_t>(instance.num_ops()) + 1) {}

  std::vector<OpIndex> Run() {
    if (instance_.num_ops() == 0) return {};
    Node root;
    root.state = expander_.Start();
    if (root.state.live > budget_) return {};
    Enter(std::move(root), true);
    for (std::size_t count = 0; count + 1 < levels_.size(); ++count) {
      auto level = std::move(levels_[count]);
      if (level.empty()) continue;
      if (!ExpandLevel(count, std::move(level))) return {};
    }
    auto& last = levels_.back();
    if (last.empty()) return {};
    std::vector<OpIndex> order = last.front().tail;
    for (std::int32_t at = last.front().parent; at >= 0;) {
      const Trace& trace = traces_[static_cast<std::size_t>(at)];
      order.insert(order.end(), trace.tail.rbegin(), trace.tail.rend());
      at = trace.parent;
    }
    // The first node's own tail was appended in forward order: turn it, then everything.
    std::reverse(order.begin(),
                 order.begin() + static_cast<std::ptrdiff_t>(last.front().tail.size()));
    std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  struct Node {
    State state;
    std::int32_t parent = -1;   // in traces_
    std::vector<OpIndex> tail;  // operators since the parent
    bool closed = false;
  };
  struct Trace {
    std::int32_t parent;
    std::vector<OpIndex> tail;
  };

  void Enter(Node node, bool close) {
    if (close) {
      expander_.Close(&node.state, budget_, &node.tail);
      node.closed = true;
    }
    const auto count =
        static_cast<std::size_t>(CountBits(node.state.executed.data(), instance_.words()));
    levels_[count].push_back(std::move(node));
  }

  // Keeps the best of a level, closing states only once they are chosen. False: stopped.
  bool ExpandLevel(std::size_t count, std::vector<Node> level) {
    std::sort(level.begin(), level.end(), [](const Node& a, const Node& b) {
      if (a.state.live != b.state.live) return a.state.live < b.state.live;
      return a.state.executed < b.state.executed;
    });
    std::size_t kept = 0;
    const std::vector<Word>* previous = nullptr;
    for (Node& node : level) {
      if (kept >= width_) break;
      if (previous != nullptr && *previous == node.state.executed) continue;
      previous = &node.state.executed;
      if (!node.closed) {
        Node closed = node;
        expander_.Close(&closed.state, budget_, &closed.tail);
        closed.closed = true;
        if (static_cast<std::size_t>(CountBits(closed.state.executed.data(), instance_.words())) !=
            count) {
          Enter(std::move(closed), false);
          ++kept;
          continue;
        }
      }
      ++kept;
      if (stopper_->Count()) return false;
      traces_.push_back({node.parent, node.tail});
      const auto self = static_cast<std::int32_t>(traces_.size() - 1);
      expander_.FindMoves(node.state, budget_, &moves_);
      stopper_->WorkBeyondState(expander_.find_work());
      if (moves_.list.size() > width_ + 4) moves_.list.resize(width_ + 4);
      // A child costs about a copy of its rows, and its share of sorting.
      stopper_->Work(static_cast<std::int64_t>(moves_.list.size() * (120 + instance_.words())));
      for (const Move& move : moves_.list) {
        Node child;
        child.state = node.state;
        child.parent = self;
        expander_.Apply(moves_, move, &child.state, &child.tail);
        Enter(std::move(child), width_ == 1);
        if (width_ == 1) break;
      }
    }
    return true;
  }

  const Instance& instance_;
  Expander& expander_;
  std::int64_t budget_;
  std::size_t width_;
  Stopper* stopper_;
  std::vector<std::vector<Node>> levels_;
  std::vector<Trace> traces_;
  Moves moves_;
};

}  // namespace

std::vector<OpIndex> BeamSearch(const Instance& instance, Expander* expander, std::int64_t budget,
                                std::size_t width, Stopper* stopper) {
  return Beam(instance, expander, budget, width, stopper).Run();
}

}  // namespace neap::schedule
