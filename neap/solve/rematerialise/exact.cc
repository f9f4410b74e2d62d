// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/rematerialise/exact.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "neap/base/index.h"
#include "neap/base/topological_order.h"
#include "neap/base/work.h"

namespace neap::rematerialise {
namespace {

constexpr std::size_t kMaskBits = 64;
// About nanoseconds that a state costs.
constexpr std::int64_t kWorkOfState = 10'000;

constexpr std::uint64_t BitOf(std::size_t index) { return std::uint64_t{1} << index; }

template <typename Visit>
void ForEachBit(std::uint64_t mask, Visit visit) {
  while (mask != 0) {
    visit(static_cast<std::size_t>(std::countr_zero(mask)));
    mask &= mask - 1;
  }
}

}  // namespace

bool ExactSearch::Accepts(const Problem& problem) {
  return problem.ops.size() <= kMaskBits && problem.values.size() <= kMaskBits;
}

ExactSearch::ExactSearch(const Problem& problem)
    : problem_(problem),
      reads_(problem.ops.size(), 0),
      writes_(problem.ops.size(), 0),
      before_(problem.ops.size(), 0),
      readers_(problem.values.size(), 0) {
  std::vector<std::vector<OpIndex>> successors(problem.ops.size());
  for (std::size_t value = 0; value < problem.values.size(); ++value) {
    const Value& is = problem.values[value];
    const Mask bit = BitOf(value);
    if (is.live_at_end) ends_ |= bit;
    if (is.writer == kNoWriter) {
      inputs_ |= bit;
    } else {
      writes_[At(is.writer)] |= bit;
      if (problem.ops[At(is.writer)].repeatable) recomputable_ |= bit;
    }
    for (const OpIndex reader : is.readers) {
      readers_[value] |= BitOf(At(reader));
      reads_[At(reader)] |= bit;
      if (is.writer != kNoWriter) successors[At(is.writer)].push_back(reader);
    }
  }
  for (const auto& [before, after] : problem.precedences) {
    before_[At(after)] |= BitOf(At(before));
    successors[At(before)].push_back(after);
  }
  order_ = TopologicalOrder(successors);
  for (std::size_t op = 0; op < problem.ops.size(); ++op) all_ops_ |= BitOf(op);
}

ExactSearch::Mask ExactSearch::UsefulValues(Mask done) const {
  Mask useful = ends_;
  Mask running = all_ops_ & ~done;  // operators that may still run
  const auto add_read = [&](std::size_t op) { useful |= reads_[op]; };
  ForEachBit(running, add_read);
  for (std::size_t at = order_.size(); at-- > 0;) {
    const std::size_t op = At(order_[at]);
    if ((running & BitOf(op)) != 0 || !problem_.ops[op].repeatable) continue;
    if ((writes_[op] & useful) == 0) continue;
    running |= BitOf(op);
    add_read(op);
  }
  return useful;
}

std::int64_t ExactSearch::BytesOf(Mask values) const {
  std::int64_t bytes = 0;
  ForEachBit(values, [&](std::size_t value) { bytes += problem_.values[value].bytes; });
  return bytes;
}

std::int64_t ExactSearch::CostToGo(Mask done, Mask live) const {
  Mask wanted = ends_;
  ForEachBit(all_ops_ & ~done, [&](std::size_t op) { wanted |= reads_[op]; });
  std::int64_t cost = 0;
  Mask seen = live;
  while ((wanted & ~seen) != 0) {
    const auto value = static_cast<std::size_t>(std::countr_zero(wanted & ~seen));
    seen |= BitOf(value);
    const OpIndex writer = problem_.values[value].writer;
    if (writer == kNoWriter) return -1;
    if ((done & BitOf(At(writer))) == 0) continue;  // its first run is still to come
    if (!problem_.ops[At(writer)].repeatable) return -1;
    seen |= writes_[At(writer)];
    cost += problem_.ops[At(writer)].cost;
    wanted |= reads_[At(writer)];
  }
  return cost;
}

class ExactRun {
 public:
  using Mask = ExactSearch::Mask;

  ExactRun(const ExactSearch& search, std::int64_t peak_bytes, std::int64_t max_extra)
      : search_(search), peak_bytes_(peak_bytes), max_extra_(max_extra) {}

  Answer Run(std::int64_t max_states, const Limits& limits, std::int64_t* states) {
    Add(0, search_.inputs_, 0, -1, -1);
    std::int64_t own = 0;
    const std::int64_t first = *states;
    while (!open_.empty()) {
      const std::size_t index = std::get<2>(open_.top());
      open_.pop();
      if (nodes_[index].dominated) continue;
      if (nodes_[index].done == search_.all_ops_ && (search_.ends_ & ~nodes_[index].live) == 0) {
        return {Answer::Kind::kFound, SequenceOf(index)};
      }
      if (*states >= max_states) return {};
      if (own % 256 == 0) {
        ChargeWork(own == 0 ? 0 : 256 * kWorkOfState);
        if (IsOver(limits)) return {};
      }
      ++own;
      Expand(index);
      *states = first + own + subsets_ / 8;
    }
    return {Answer::Kind::kNone, {}};
  }

 private:
  struct Node {
    Mask done = 0;
    Mask live = 0;
    std::int64_t extra = 0;
    std::int64_t parent = -1;
    OpIndex op = -1;
    bool dominated = false;
  };

  void Add(Mask done, Mask live, std::int64_t extra, std::int64_t parent, OpIndex op) {
    auto [family, is_new] = families_.try_emplace(done);
    if (is_new) family->second.useful = search_.UsefulValues(done);
    live &= family->second.useful;
    std::vector<std::size_t>& members = family->second.nodes;
    for (const std::size_t member : members) {
      const Node& other = nodes_[member];
      if ((live & ~other.live) == 0 && other.extra <= extra) return;
    }
    const std::int64_t rest = search_.CostToGo(done, live);
    if (rest < 0 || extra + rest > max_extra_) return;
    std::erase_if(members, [&](std::size_t member) {
      Node& other = nodes_[member];
      other.dominated = (other.live & ~live) == 0 && other.extra >= extra;
      return other.dominated;
    });
    members.push_back(nodes_.size());
    open_.emplace(extra + rest, -std::popcount(done), nodes_.size());
    nodes_.push_back({done, live, extra, parent, op, false});
  }

  void Expand(std::size_t index) {
    const Node node = nodes_[index];
    const Mask useful = families_.at(node.done).useful;
    for (std::size_t op = 0; op < search_.problem_.ops.size(); ++op) {
      if ((search_.reads_[op] & ~node.live) != 0) continue;
      const bool again = (node.done & BitOf(op)) != 0;
      if (again) {
        if (!search_.problem_.ops[op].repeatable) continue;
        if ((search_.writes_[op] & useful & ~node.live) == 0) continue;
      } else if ((search_.before_[op] & ~node.done) != 0) {
        continue;
      }
      RunOp(index, node, op, again);
    }
  }

  void RunOp(std::size_t index, const Node& node, std::size_t op, bool again) {
    const Op& is = search_.problem_.ops[op];
    const Mask after = node.live | search_.writes_[op];
    const std::int64_t over = search_.BytesOf(after) + is.scratch_bytes - peak_bytes_;
    const Mask done = node.done | BitOf(op);
    const std::int64_t extra = node.extra + (again ? is.cost : 0);
    const auto next = [&](Mask live) {
      Add(done, live, extra, static_cast<std::int64_t>(index), static_cast<OpIndex>(op));
    };
    if (over <= 0) return next(after);
    // Values that no later first run needs, and those that can be computed again.
    Mask wanted = search_.ends_;
    ForEachBit(search_.all_ops_ & ~node.done,
               [&](std::size_t other) { wanted |= search_.reads_[other]; });
    const Mask droppable =
        node.live & ~search_.reads_[op] & ~search_.writes_[op] & (search_.recomputable_ | ~wanted);
    if (search_.BytesOf(droppable) < over) return;
    std::vector<std::size_t> values;
    ForEachBit(droppable, [&](std::size_t value) {
      if (search_.problem_.values[value].bytes > 0) values.push_back(value);
    });
    std::stable_sort(values.begin(), values.end(), [&](std::size_t a, std::size_t b) {
      return search_.problem_.values[a].bytes > search_.problem_.values[b].bytes;
    });
    std::vector<std::int64_t> rest(values.size() + 1, 0);
    for (std::size_t at = values.size(); at-- > 0;) {
      rest[at] = rest[at + 1] + search_.problem_.values[values[at]].bytes;
    }
    // Every set of values that is large enough and no longer is without any one of its members.
    // Sizes descend, so the last one taken is the smallest.
    const std::function<void(std::size_t, std::int64_t, Mask)> choose =
        [&](std::size_t at, std::int64_t missing, Mask dropped) {
          ++subsets_;
          if (missing <= 0) return next(after & ~dropped);
          if (at == values.size() || rest[at] < missing) return;
          choose(at + 1, missing - search_.problem_.values[values[at]].bytes,
                 dropped | BitOf(values[at]));
          choose(at + 1, missing, dropped);
        };
    choose(0, over, 0);
  }

  std::vector<OpIndex> SequenceOf(std::size_t index) const {
    std::vector<OpIndex> sequence;
    for (const Node* node = &nodes_[index]; node->op >= 0;
         node = &nodes_[static_cast<std::size_t>(node->parent)]) {
      sequence.push_back(node->op);
    }
    std::reverse(sequence.begin(), sequence.end());
    return sequence;
  }

  struct Family {
    Mask useful = 0;
    std::vector<std::size_t> nodes;  // none dominates another
  };

  const ExactSearch& search_;
  std::int64_t peak_bytes_;
  std::int64_t max_extra_;
  std::int64_t subsets_ = 0;
  std::vector<Node> nodes_;
  std::unordered_map<Mask, Family> families_;
  // By the bound of the cost, then more operators done, then older.
  using Entry = std::tuple<std::int64_t, int, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open_;
};

Answer ExactSearch::Find(std::int64_t peak_bytes, std::int64_t max_extra, std::int64_t max_states,
                         const Limits& limits, std::int64_t* states) const {
  return ExactRun(*this, peak_bytes, max_extra).Run(max_states, limits, states);
}

}  // namespace neap::rematerialise
