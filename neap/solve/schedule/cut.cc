// SPDX-License-Identifier: Apache-2.0
//
// Network. Source side = executed. Operator nodes; precedence u -> v becomes an infinite edge from
// v to u (v executed implies u executed). A buffer costs its bytes when it is touched (some user
// executed, or live at start) and not finished (some user waiting, or live at end):
//   touched node a: infinite edges user -> a;  finished node b: infinite edges b -> user;
//   edge a -> b with the bytes as capacity.
// Where one user precedes all others that user is its own touched node.
#include "neap/solve/schedule/cut.h"

#include <algorithm>

namespace neap::schedule {

CutFinder::CutFinder(const Instance& instance)
    : instance_(instance),
      node_of_(static_cast<std::size_t>(instance.num_ops()), kWaiting),
      seen_(instance.buffers().size(), 0) {}

CutFinder::CutFinder(const Instance& instance, const Relations& relations) : CutFinder(instance) {
  relations_ = &relations;
}

void CutFinder::AddFreeOps(const std::vector<OpIndex>& free_ops) {
  for (const OpIndex op : free_ops) node_of_[static_cast<std::size_t>(op)] = flow_.AddNode();
  for (const OpIndex op : free_ops) {
    for (const OpIndex before : Predecessors(op)) {
      const int node = node_of_[static_cast<std::size_t>(before)];
      if (node != kExecuted) {
        flow_.AddEdge(node_of_[static_cast<std::size_t>(op)], node, MaxFlow::kInfinite);
      }
    }
  }
}

int CutFinder::TouchedNode(const Instance::CompiledBuffer& buffer, bool at_start, OpIndex skip) {
  if (at_start) return kExecuted;
  if (buffer.first >= 0 && buffer.first != skip) {
    return node_of_[static_cast<std::size_t>(buffer.first)];
  }
  int aux = kWaiting;
  for (const OpIndex user : buffer.users) {
    if (user != skip && node_of_[static_cast<std::size_t>(user)] == kExecuted) return kExecuted;
  }
  for (const OpIndex user : buffer.users) {
    const int node = node_of_[static_cast<std::size_t>(user)];
    if (user == skip || node == kWaiting) continue;
    if (aux == kWaiting) aux = flow_.AddNode();
    flow_.AddEdge(node, aux, MaxFlow::kInfinite);
  }
  return aux;
}

int CutFinder::FinishedNode(const Instance::CompiledBuffer& buffer, bool at_end, OpIndex skip) {
  if (at_end) return kWaiting;
  int only = kExecuted;
  int count = 0;
  for (const OpIndex user : buffer.users) {
    if (user == skip) continue;
    const int node = node_of_[static_cast<std::size_t>(user)];
    if (node == kWaiting) return kWaiting;
    if (node != kExecuted) {
      only = node;
      ++count;
    }
  }
  if (count <= 1) return only;
  const int aux = flow_.AddNode();
  for (const OpIndex user : buffer.users) {
    const int node = node_of_[static_cast<std::size_t>(user)];
    if (user != skip && node != kExecuted) flow_.AddEdge(aux, node, MaxFlow::kInfinite);
  }
  return aux;
}

void CutFinder::ExecutedAtCut(Word* out) { ReadSide(flow_.LargestSourceSide(waiting_), out); }

void CutFinder::FewestAtCut(Word* out) { ReadSide(flow_.SmallestSourceSide(executed_), out); }

void CutFinder::ReadSide(const std::vector<char>& source_side, Word* out) const {
  std::fill(out, out + instance_.words(), 0);
  for (OpIndex op = 0; op < instance_.num_ops(); ++op) {
    const int node = node_of_[static_cast<std::size_t>(op)];
    if (node == kExecuted ||
        (node != kWaiting && source_side[static_cast<std::size_t>(node)] != 0)) {
      SetBit(out, op);
    }
  }
}

std::int64_t CutFinder::LeastHill(OpIndex op, std::int64_t enough) {
  const std::vector<Instance::Stage> stages = instance_.StagesOf(op);
  const InPlace& pair = instance_.InPlaceOf(op);
  std::int64_t most = 0;
  for (std::size_t s = 0; s < stages.size() && most < enough; ++s) {
    // Where an in-place operator hands memory over it is no higher than in its other stage.
    if (pair.op >= 0 && stages.size() == 2 && s == (instance_.reversed() ? 1U : 0U)) continue;
    most = std::max(most, StageHill(op, stages, s, enough));
  }
  return most;
}

std::int64_t CutFinder::LeastStageHill(OpIndex op, std::size_t stage, std::int64_t enough) {
  const std::int64_t hill = StageHill(op, instance_.StagesOf(op), stage, enough);
  flow_.Remember();
  return hill;
}

std::int64_t CutFinder::LeastStageHillWith(OpIndex forced, bool executed, std::int64_t enough) {
  flow_.Return();
  const int node = node_of_[static_cast<std::size_t>(forced)];
  executed_ = executed ? node : kExecuted;
  waiting_ = executed ? kWaiting : node;
  return constant_ + flow_.Run(executed_, waiting_, enough - constant_);
}

// Which operators have run for certain when `op` runs, which have not, and nodes for the others.
void CutFinder::Classify(OpIndex op) {
  flow_.Clear();
  free_ops_.clear();
  const Word* ancestors = Ancestors(op);
  const Word* descendants = Descendants(op);
  for (OpIndex other = 0; other < instance_.num_ops(); ++other) {
    int& node = node_of_[static_cast<std::size_t>(other)];
    if (TestBit(ancestors, other)) {
      node = kExecuted;
    } else if (other == op || TestBit(descendants, other)) {
      node = kWaiting;
    } else {
      free_ops_.push_back(other);
    }
  }
  AddFreeOps(free_ops_);
}

// Adds what buffer `index` costs: bytes where it is touched and not finished.
void CutFinder::AddCost(BufferIndex index, int touched, int finished, std::int64_t* constant) {
  const std::int64_t bytes = instance_.buffers()[static_cast<std::size_t>(index)].bytes;
  if (bytes == 0 || touched == kWaiting || finished == kExecuted) return;
  if (touched == kExecuted && finished == kWaiting) {
    *constant += bytes;
  } else {
    flow_.AddEdge(touched, finished, bytes, index);
  }
}

// The hill of one stage: the buffers that `op` touches up to there are live, except those freed in
// an earlier stage, which is the case unless another user has not run. Buffers that it touches
// later are live if another user has run.
std::int64_t CutFinder::StageHill(OpIndex op, const std::vector<Instance::Stage>& stages,
                                  std::size_t stage, std::int64_t enough) {
  Classify(op);
  std::int64_t constant = stages[stage].peak;
  const auto see = [&](BufferIndex index) -> const Instance::CompiledBuffer* {
    char& seen = seen_[static_cast<std::size_t>(index)];
    if (seen != 0) return nullptr;
    seen = 1;
    return &instance_.buffers()[static_cast<std::size_t>(index)];
  };
  for (std::size_t s = 0; s < stage; ++s) {
    for (const BufferIndex index : stages[s].freed) {
      if (const auto* buffer = see(index)) {
        AddCost(index, kExecuted, FinishedNode(*buffer, buffer->at_end, op), &constant);
      }
    }
  }
  for (std::size_t s = stages.size() - 1; s > stage; --s) {
    for (const BufferIndex index : stages[s].touched) {
      if (const auto* buffer = see(index)) {
        AddCost(index, TouchedNode(*buffer, buffer->at_start, op), kWaiting, &constant);
      }
    }
  }
  for (const BufferIndex index : instance_.BuffersOf(op)) {
    if (const auto* buffer = see(index)) constant += buffer->bytes;
  }
  // An in-place pair that fits into no stages: at best its buffers count once.
  if (!instance_.IsStaged(op)) {
    constant -= instance_.buffers()[static_cast<std::size_t>(instance_.InPlaceOf(op).output)].bytes;
  }
  for (std::size_t index = 0; index < instance_.buffers().size(); ++index) {
    if (seen_[index] != 0) continue;
    const auto& buffer = instance_.buffers()[index];
    if (buffer.bytes == 0) continue;
    if (buffer.users.empty()) {
      if (buffer.at_start && buffer.at_end) constant += buffer.bytes;
      continue;
    }
    const int finished = FinishedNode(buffer, buffer.at_end, -1);
    if (finished == kExecuted) continue;
    AddCost(static_cast<BufferIndex>(index), TouchedNode(buffer, buffer.at_start, -1), finished,
            &constant);
  }
  for (const BufferIndex index : instance_.BuffersOf(op)) {
    seen_[static_cast<std::size_t>(index)] = 0;
  }
  constant_ = constant;
  executed_ = kExecuted;
  waiting_ = kWaiting;
  if (constant >= enough) return constant;
  return constant + flow_.Run(enough - constant);
}

std::vector<CutFinder::Path> CutFinder::Witness(OpIndex op, std::int64_t* hill) {
  *hill = LeastHill(op, MaxFlow::kInfinite);
  std::vector<OpIndex> op_of_node;
  for (const OpIndex free_op : free_ops_) {
    const auto node = static_cast<std::size_t>(node_of_[static_cast<std::size_t>(free_op)]);
    if (op_of_node.size() <= node) op_of_node.resize(node + 1, -1);
    op_of_node[node] = free_op;
  }
  std::vector<Path> paths;
  for (const MaxFlow::Path& flow : flow_.TakePaths()) {
    Path path;
    path.bytes = flow.amount;
    for (const MaxFlow::Path::Item& item : flow.items) {
      if (item.is_edge) {
        path.buffers.push_back(item.id);
        path.through.emplace_back();
      } else if (static_cast<std::size_t>(item.id) < op_of_node.size() &&
                 op_of_node[static_cast<std::size_t>(item.id)] >= 0) {
        path.through.back().push_back(op_of_node[static_cast<std::size_t>(item.id)]);
      }
    }
    path.through.pop_back();  // after the last buffer comes the sink
    paths.push_back(std::move(path));
  }
  return paths;
}

// The operators of `to` without `from`, and the state of their neighbours: no others matter.
void CutFinder::ClassifyBetween(const Word* from, const Word* to) {
  flow_.Clear();
  free_ops_.clear();
  touched_buffers_.clear();
  for (std::size_t w = 0; w < instance_.words(); ++w) {
    for (Word rest = to[w] & ~from[w]; rest != 0; rest &= rest - 1) {
      free_ops_.push_back(
          static_cast<OpIndex>(w * 64 + static_cast<std::size_t>(std::countr_zero(rest))));
    }
  }
  const auto set_fixed = [&](OpIndex op) {
    if (TestBit(from, op)) {
      node_of_[static_cast<std::size_t>(op)] = kExecuted;
    } else if (!TestBit(to, op)) {
      node_of_[static_cast<std::size_t>(op)] = kWaiting;
    }
  };
  for (const OpIndex op : free_ops_) {
    for (const OpIndex before : instance_.Predecessors(op)) set_fixed(before);
    for (const BufferIndex index : instance_.BuffersOf(op)) {
      if (seen_[static_cast<std::size_t>(index)] != 0) continue;
      seen_[static_cast<std::size_t>(index)] = 1;
      touched_buffers_.push_back(index);
      for (const OpIndex user : instance_.buffers()[static_cast<std::size_t>(index)].users) {
        set_fixed(user);
      }
    }
  }
  AddFreeOps(free_ops_);
}

std::int64_t CutFinder::LargestMinimiser(const Word* from, std::int64_t from_live, const Word* to,
                                         Word* out) {
  ClassifyBetween(from, to);
  // Only buffers that a free operator touches change; live(F) = from_live - the cost of these at
  // `from` + the cut.
  std::int64_t at_from = 0;
  std::int64_t constant = 0;
  for (const BufferIndex index : touched_buffers_) {
    seen_[static_cast<std::size_t>(index)] = 0;
    const auto& buffer = instance_.buffers()[static_cast<std::size_t>(index)];
    if (buffer.bytes == 0) continue;
    const bool live_before =
        buffer.at_start || Intersects(instance_.Users(index), from, instance_.words());
    // A free user is not executed at `from`, so the buffer is not finished there.
    if (live_before) at_from += buffer.bytes;
    const int finished = FinishedNode(buffer, buffer.at_end, -1);
    AddCost(index, TouchedNode(buffer, buffer.at_start, -1), finished, &constant);
  }
  const std::int64_t cut = flow_.Run();
  const std::vector<char>& source_side = flow_.LargestSourceSide();
  std::copy(from, from + instance_.words(), out);
  for (const OpIndex op : free_ops_) {
    if (source_side[static_cast<std::size_t>(node_of_[static_cast<std::size_t>(op)])] != 0) {
      SetBit(out, op);
    }
  }
  return from_live - at_from + constant + cut;
}

}  // namespace neap::schedule
