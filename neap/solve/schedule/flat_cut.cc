// SPDX-License-Identifier: Apache-2.0
//
// The network is that of cut.cc, with one stage for every operator: what it touches is live while
// it runs, less what it may write over.
#include "neap/solve/schedule/flat_cut.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/base/work.h"
#include "neap/solve/schedule/baselines.h"

namespace neap::schedule {
namespace {

constexpr int kFree = -1;

}  // namespace

FlatCut::FlatCut(const FlatProblem& flat, const std::vector<OpIndex>& order)
    : flat_(flat), node_of_(order.size(), kFree), before_(order.size(), 0) {
  const std::vector<OpIndex> place = PositionsIn(order);
  for (const Buffer& buffer : flat.problem().buffers) {
    first_.push_back(-1);
    if (buffer.live_at_start || buffer.users.empty()) continue;
    const OpIndex first =
        *std::min_element(buffer.users.begin(), buffer.users.end(),
                          [&](OpIndex a, OpIndex b) { return place[At(a)] < place[At(b)]; });
    const auto after = flat.Successors(first);
    const bool directly = std::all_of(buffer.users.begin(), buffer.users.end(), [&](OpIndex user) {
      return user == first || std::binary_search(after.begin(), after.end(), user);
    });
    if (directly) first_.back() = first;
  }
}

// `op` and all before (after) it within steps [begin, end) of the state have run (are waiting).
void FlatCut::Mark(OpIndex op, int node, std::int32_t begin, std::int32_t end) {
  queue_.assign(1, op);
  while (!queue_.empty()) {
    const OpIndex at = queue_.back();
    queue_.pop_back();
    for (const OpIndex next : node == kExecuted ? flat_.Predecessors(at) : flat_.Successors(at)) {
      if (node_of_[At(next)] != kFree) continue;
      if (state_ != nullptr && (state_->Place(next) < begin || state_->Place(next) >= end))
        continue;
      node_of_[At(next)] = node;
      queue_.push_back(next);
    }
  }
}

std::int64_t FlatCut::LeastHill(OpIndex op, std::int64_t enough) {
  state_ = nullptr;
  std::fill(node_of_.begin(), node_of_.end(), int{kFree});
  node_of_[At(op)] = kWaiting;
  Mark(op, kExecuted, 0, flat_.num_ops());
  Mark(op, kWaiting, 0, flat_.num_ops());
  return Solve(op, enough);
}

std::int64_t FlatCut::LeastHillBetween(OpIndex op, const OrderState& state, std::int32_t begin,
                                       std::int32_t end) {
  state_ = &state;
  for (OpIndex other = 0; other < flat_.num_ops(); ++other) {
    const std::int32_t place = state.Place(other);
    node_of_[At(other)] = place < begin ? int{kExecuted} : place >= end ? int{kWaiting} : kFree;
  }
  node_of_[At(op)] = kWaiting;
  Mark(op, kExecuted, begin, end);
  Mark(op, kWaiting, begin, end);
  return Solve(op, MaxFlow::kInfinite);
}

int FlatCut::TouchedNode(BufferIndex index) {
  const Buffer& buffer = flat_.BufferAt(index);
  if (buffer.live_at_start) return kExecuted;
  if (first_[At(index)] >= 0) return node_of_[At(first_[At(index)])];
  for (const OpIndex user : buffer.users) {
    if (node_of_[At(user)] == kExecuted) return kExecuted;
  }
  int touched = kWaiting;
  for (const OpIndex user : buffer.users) {
    const int node = node_of_[At(user)];
    if (node == kWaiting) continue;
    if (touched == kWaiting) touched = flow_.AddNode();
    flow_.AddEdge(node, touched, MaxFlow::kInfinite);
  }
  return touched;
}

int FlatCut::FinishedNode(BufferIndex index, OpIndex skip) {
  const Buffer& buffer = flat_.BufferAt(index);
  if (buffer.live_at_end) return kWaiting;
  int only = kExecuted;
  int count = 0;
  for (const OpIndex user : buffer.users) {
    const int node = node_of_[At(user)];
    if (user == skip || node == kExecuted) continue;
    if (node == kWaiting) return kWaiting;
    only = node;
    ++count;
  }
  if (count <= 1) return only;
  const int finished = flow_.AddNode();
  for (const OpIndex user : buffer.users) {
    const int node = node_of_[At(user)];
    if (user != skip && node != kExecuted) flow_.AddEdge(finished, node, MaxFlow::kInfinite);
  }
  return finished;
}

std::int64_t FlatCut::Solve(OpIndex op, std::int64_t enough) {
  constexpr std::int64_t kWorkOfEntry = 4;
  constexpr std::int64_t kWorkOfNode = 120;  // with its edges, and a few searches for paths
  flow_.Clear();
  free_ops_.clear();
  for (OpIndex other = 0; other < flat_.num_ops(); ++other) {
    if (node_of_[At(other)] != kFree) continue;
    free_ops_.push_back(other);
    node_of_[At(other)] = flow_.AddNode();
  }
  work_ = flat_.Size() * kWorkOfEntry + static_cast<std::int64_t>(free_ops_.size()) * kWorkOfNode;
  ChargeWork(work_);
  for (const OpIndex other : free_ops_) {
    for (const OpIndex before : flat_.Predecessors(other)) {
      const int node = node_of_[At(before)];
      if (node != kExecuted) flow_.AddEdge(node_of_[At(other)], node, MaxFlow::kInfinite);
    }
  }
  std::int64_t constant = flat_.Scratch(op);
  const auto add = [&](BufferIndex index, int touched, int finished) {
    const std::int64_t bytes = flat_.BufferAt(index).bytes;
    if (touched == kWaiting || finished == kExecuted) return;
    if (touched == kExecuted && finished == kWaiting) {
      constant += bytes;
    } else {
      flow_.AddEdge(touched, finished, bytes, index);
    }
  };
  const InPlace* pair = flat_.InPlaceOf(op);
  const TakeOver* part = flat_.TakeOverOf(op);
  for (const BufferIndex index : flat_.BuffersOf(op)) {
    if (pair != nullptr && index == pair->input) {
      add(index, kExecuted, FinishedNode(index, op));
    } else {
      constant += flat_.BufferAt(index).bytes;
    }
  }
  if (part != nullptr) {
    std::int64_t freed = 0;
    std::int64_t written = 0;
    for (const BufferIndex input : part->inputs) freed += flat_.BufferAt(input).bytes;
    for (const BufferIndex output : part->outputs) written += flat_.BufferAt(output).bytes;
    constant -= std::min(freed, written);
  }
  const auto own = flat_.BuffersOf(op);
  for (std::size_t b = 0; b < flat_.problem().buffers.size(); ++b) {
    const auto index = static_cast<BufferIndex>(b);
    const Buffer& buffer = flat_.BufferAt(index);
    if (buffer.bytes == 0 || std::binary_search(own.begin(), own.end(), index)) continue;
    if (buffer.users.empty()) {
      if (buffer.live_at_start && buffer.live_at_end) constant += buffer.bytes;
      continue;
    }
    const int finished = FinishedNode(index, -1);
    if (finished != kExecuted) add(index, TouchedNode(index), finished);
  }
  if (constant >= enough) return constant;
  return constant + flow_.Run(enough - constant);
}

void FlatCut::FindBefore(Extreme extreme) {
  const std::vector<char>& source_side =
      extreme == Extreme::kLargest ? flow_.LargestSourceSide() : flow_.SmallestSourceSide();
  for (OpIndex op = 0; op < flat_.num_ops(); ++op) {
    const int node = node_of_[At(op)];
    before_[At(op)] = node == kExecuted || (node != kWaiting && source_side[At(node)] != 0) ? 1 : 0;
  }
}

std::vector<CutPath> FlatCut::Witness(OpIndex op, std::int64_t* hill) {
  *hill = LeastHill(op, MaxFlow::kInfinite);
  std::vector<OpIndex> op_of_node;
  for (const OpIndex free_op : free_ops_) {
    const auto node = At(node_of_[At(free_op)]);
    if (op_of_node.size() <= node) op_of_node.resize(node + 1, -1);
    op_of_node[node] = free_op;
  }
  std::vector<CutPath> paths;
  for (const MaxFlow::Path& flow : flow_.TakePaths()) {
    CutPath path;
    path.bytes = flow.amount;
    for (const MaxFlow::Path::Item& item : flow.items) {
      if (item.is_edge) {
        path.buffers.push_back(item.id);
        path.through.emplace_back();
      } else if (At(item.id) < op_of_node.size() && op_of_node[At(item.id)] >= 0) {
        path.through.back().push_back(op_of_node[At(item.id)]);
      }
    }
    path.through.pop_back();  // after the last buffer comes the sink
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace neap::schedule
