// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/traffic/blocks.h"

#include <cstddef>
#include <limits>
#include <set>
#include <utility>

#include "neap/solve/traffic/trace.h"

namespace neap::traffic {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

class BlockRun {
 public:
  BlockRun(BlockPolicy policy, const Problem& problem, const BlockMemory& memory,
           bool list_evictions)
      : policy_(policy),
        problem_(problem),
        memory_(memory),
        list_evictions_(list_evictions),
        trace_(problem) {
    std::int64_t blocks = 0;
    for (const Tensor& tensor : problem.tensors) {
      first_block_.push_back(blocks);
      number_.push_back((tensor.bytes + memory.block_bytes - 1) / memory.block_bytes);
      blocks += number_.back();
    }
    state_.resize(static_cast<std::size_t>(blocks));
    rank_.resize(static_cast<std::size_t>(blocks), 0);
    FindPositions();
  }

  BlockCounts Go() {
    Start();
    std::vector<std::size_t> done(problem_.tensors.size(), 0);
    for (Step step = 0; step < problem_.num_steps; ++step) {
      for (const TensorIndex tensor : trace_.AccessedIn(step)) {
        const auto i = static_cast<std::size_t>(tensor);
        ++done[i];
        const std::int64_t next = done[i] < positions_[i].size() ? positions_[i][done[i]] : kNever;
        for (std::int64_t block = 0; block < number_[i]; ++block) {
          Access(tensor, block, trace_.IsWrite(tensor, step),
                 next == kNever ? kNever : next + block);
        }
      }
    }
    Finish();
    return std::move(out_);
  }

 private:
  struct State {
    bool held = false;
    bool copied = false;
    bool dead = false;
  };

  // Where the blocks of each access of a tensor begin in the trace.
  void FindPositions() {
    positions_.resize(problem_.tensors.size());
    std::int64_t position = 0;
    for (Step step = 0; step < problem_.num_steps; ++step) {
      for (const TensorIndex tensor : trace_.AccessedIn(step)) {
        positions_[static_cast<std::size_t>(tensor)].push_back(position);
        position += number_[static_cast<std::size_t>(tensor)];
      }
    }
  }

  std::size_t Id(TensorIndex tensor, std::int64_t block) const {
    return static_cast<std::size_t>(first_block_[static_cast<std::size_t>(tensor)] + block);
  }

  void Start() {
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i) {
      const Tensor& tensor = problem_.tensors[i];
      const bool needed = !tensor.accesses.empty() || tensor.end != End::kDead;
      for (std::int64_t block = 0; block < number_[i]; ++block) {
        const std::size_t id = Id(static_cast<TensorIndex>(i), block);
        state_[id].copied = tensor.begin == Begin::kOffChip;
        if (tensor.begin != Begin::kOnChip || !needed) continue;
        const std::int64_t next = positions_[i].empty() ? kNever : positions_[i].front() + block;
        Hold(id, static_cast<TensorIndex>(i), policy_ == BlockPolicy::kBelady ? next : 0);
      }
    }
    position_ = -1;
    while (static_cast<std::int64_t>(held_.size()) > memory_.blocks) Evict();
    position_ = 0;
  }

  void Hold(std::size_t id, TensorIndex tensor, std::int64_t rank) {
    state_[id].held = true;
    rank_[id] = policy_ == BlockPolicy::kBelady ? rank : -rank;
    held_.insert({rank_[id], {id, tensor}});
  }
  void Release(std::size_t id, TensorIndex tensor) {
    state_[id].held = false;
    held_.erase({rank_[id], {id, tensor}});
  }
  void Write(std::size_t id) {
    if (state_[id].copied) return;
    state_[id].copied = true;
    out_.counts.written_bytes += memory_.block_bytes;
  }

  void Access(TensorIndex tensor, std::int64_t block, bool writes, std::int64_t next) {
    const std::size_t id = Id(tensor, block);
    State& state = state_[id];
    if (!state.held && !writes) {
      ++out_.counts.misses;
      out_.counts.read_bytes += memory_.block_bytes;
    }
    if (state.held) Release(id, tensor);
    if (memory_.blocks == 0) {
      if (writes) Write(id);
    } else {
      if (static_cast<std::int64_t>(held_.size()) >= memory_.blocks) Evict();
      if (next != kNever || problem_.tensors[static_cast<std::size_t>(tensor)].end != End::kDead) {
        Hold(id, tensor, policy_ == BlockPolicy::kBelady ? next : position_ + 1);
      }
    }
    ++position_;
  }

  void Evict() {
    const auto victim = *held_.rbegin();
    const auto [id, tensor] = victim.second;
    Release(id, tensor);
    Write(id);
    if (!list_evictions_) return;
    const std::int64_t block =
        static_cast<std::int64_t>(id) - first_block_[static_cast<std::size_t>(tensor)];
    out_.evictions.push_back({position_, tensor, block});
  }

  void Finish() {
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i) {
      const End end = problem_.tensors[i].end;
      for (std::int64_t block = 0; block < number_[i]; ++block) {
        const std::size_t id = Id(static_cast<TensorIndex>(i), block);
        if (end == End::kOffChip || (end == End::kAnywhere && !state_[id].held)) Write(id);
      }
    }
  }

  const BlockPolicy policy_;
  const Problem& problem_;
  const BlockMemory memory_;
  const bool list_evictions_;
  const Trace trace_;
  std::vector<std::int64_t> first_block_;
  std::vector<std::int64_t> number_;
  std::vector<std::vector<std::int64_t>> positions_;
  std::vector<State> state_;
  std::vector<std::int64_t> rank_;
  // The last one goes first.
  std::set<std::pair<std::int64_t, std::pair<std::size_t, TensorIndex>>> held_;
  std::int64_t position_ = 0;
  BlockCounts out_;
};

}  // namespace

std::string_view NameOf(BlockPolicy policy) {
  return policy == BlockPolicy::kBelady ? "belady" : "lru";
}

std::int64_t BlockAccesses(const Problem& problem, std::int64_t block_bytes) {
  std::int64_t accesses = 0;
  for (const Tensor& tensor : problem.tensors) {
    const std::int64_t blocks = (tensor.bytes + block_bytes - 1) / block_bytes;
    accesses += blocks * static_cast<std::int64_t>(tensor.accesses.size() + 1);
  }
  return accesses;
}

BlockCounts ApplyToBlocks(BlockPolicy policy, const Problem& problem, const BlockMemory& memory,
                          bool list_evictions) {
  return BlockRun(policy, problem, memory, list_evictions).Go();
}

}  // namespace neap::traffic
