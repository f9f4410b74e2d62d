// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/traffic/check.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace neap::traffic {
namespace {

std::nullopt_t Refuse(std::string* why, std::string text) {
  if (why != nullptr) *why = std::move(text);
  return std::nullopt;
}

std::string Name(TensorIndex tensor) { return "tensor " + std::to_string(tensor); }

// Ranges in order.
bool Holds(std::span<const Residency> ranges, Step step) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), step,
                       [](Step at, const Residency& range) { return at < range.first; });
  return after != ranges.begin() && step < (after - 1)->last;
}

// Whether somebody still needs the value from the beginning of `step` on.
bool NeededFrom(const Tensor& tensor, Step step) {
  return tensor.end != End::kDead || (!tensor.accesses.empty() && tensor.accesses.back() >= step);
}

// The steps in which something can happen to a tensor, once each.
std::vector<Step> EventsOf(const Problem& problem, const Tensor& tensor,
                           std::span<const Residency> ranges) {
  std::vector<Step> events = tensor.accesses;
  if (problem.num_steps > 0) events.push_back(0);
  for (const Residency& range : ranges) {
    events.push_back(range.first);
    if (range.last < problem.num_steps) events.push_back(range.last);
  }
  std::sort(events.begin(), events.end());
  events.erase(std::unique(events.begin(), events.end()), events.end());
  return events;
}

// Walks through the life of one tensor and adds what it moves.
std::optional<std::string> CountTensor(const Problem& problem, const Tensor& tensor,
                                       std::span<const Residency> ranges, Counts* counts) {
  bool copied = tensor.begin == Begin::kOffChip;  // there is a copy outside
  const auto write = [&] {
    if (copied) return;
    copied = true;
    counts->written_bytes += tensor.bytes;
  };
  bool held = false;
  if (tensor.begin == Begin::kOnChip) {
    held = Holds(ranges, 0);
    if (!held && NeededFrom(tensor, 0)) write();
  }
  for (const Step step : EventsOf(problem, tensor, ranges)) {
    const bool accessed = std::binary_search(tensor.accesses.begin(), tensor.accesses.end(), step);
    const bool written =
        accessed && tensor.begin == Begin::kWritten && step == tensor.accesses.front();
    const bool hold = Holds(ranges, step);
    if (held && !hold && NeededFrom(tensor, step)) write();
    if (hold && !held && !accessed) return "is resident again without an access";
    if (accessed && !written && !(held && hold)) {
      if (!copied) return "is read, but it is neither resident nor in external memory";
      ++counts->misses;
      counts->read_bytes += tensor.bytes;
    }
    if (written && !hold) write();
    held = hold;
  }
  if (tensor.end == End::kOffChip || (tensor.end == End::kAnywhere && !held)) write();
  return std::nullopt;
}

// The bytes used at every step by ranges and scratch; scratch that is larger than the memory fills
// it.
std::vector<std::int64_t> UsedBytes(const Problem& problem, std::int64_t on_chip_bytes,
                                    std::span<const Residency> residencies) {
  std::vector<std::int64_t> used(static_cast<std::size_t>(problem.num_steps) + 1, 0);
  for (const Residency& range : residencies) {
    const std::int64_t bytes = problem.tensors[static_cast<std::size_t>(range.tensor)].bytes;
    used[static_cast<std::size_t>(range.first)] += bytes;
    used[static_cast<std::size_t>(range.last)] -= bytes;
  }
  for (std::size_t step = 1; step < used.size(); ++step) used[step] += used[step - 1];
  used.pop_back();
  for (std::size_t step = 0; step < problem.scratch_bytes.size(); ++step) {
    used[step] += std::min(problem.scratch_bytes[step], on_chip_bytes);
  }
  return used;
}

class BlockReplay {
 public:
  BlockReplay(const Problem& problem, const BlockMemory& memory,
              std::span<const Eviction> evictions)
      : problem_(problem), memory_(memory), evictions_(evictions) {}

  std::optional<Counts> Run(std::string* why) {
    Start();
    Evict();
    position_ = 0;
    // The reads and writes of every step.
    const auto steps = static_cast<std::size_t>(problem_.num_steps);
    std::vector<std::vector<TensorIndex>> reads(steps);
    std::vector<std::vector<TensorIndex>> writes(steps);
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i) {
      const Tensor& tensor = problem_.tensors[i];
      for (std::size_t a = 0; a < tensor.accesses.size(); ++a) {
        const bool is_write = a == 0 && tensor.begin == Begin::kWritten;
        auto& lists = is_write ? writes : reads;
        lists[static_cast<std::size_t>(tensor.accesses[a])].push_back(static_cast<TensorIndex>(i));
      }
    }
    for (std::size_t step = 0; step < steps; ++step) {
      for (const TensorIndex tensor : reads[step]) AccessAll(tensor, false);
      for (const TensorIndex tensor : writes[step]) AccessAll(tensor, true);
    }
    for (auto& [name, state] : blocks_) {
      const End end = problem_.tensors[static_cast<std::size_t>(name.first)].end;
      if (end == End::kOffChip || (end == End::kAnywhere && !state.held)) Write(&state);
    }
    if (next_ != evictions_.size()) wrong_ = "evictions out of order";
    if (!wrong_.empty()) return Refuse(why, wrong_);
    return counts_;
  }

 private:
  struct State {
    bool held = false;
    bool copied = false;
    std::size_t uses_left = 0;
  };

  void Start() {
    for (std::size_t i = 0; i < problem_.tensors.size(); ++i) {
      const Tensor& tensor = problem_.tensors[i];
      for (std::int64_t at = 0; at * memory_.block_bytes < tensor.bytes; ++at) {
        State state{false, tensor.begin == Begin::kOffChip, tensor.accesses.size()};
        if (tensor.begin == Begin::kOnChip && NeededFrom(tensor, 0)) {
          state.held = true;
          ++held_;
        }
        blocks_[{static_cast<TensorIndex>(i), at}] = state;
      }
    }
  }

  void Write(State* state) {
    if (!state->copied) counts_.written_bytes += memory_.block_bytes;
    state->copied = true;
  }

  // Those of this position.
  void Evict() {
    for (; next_ < evictions_.size() && evictions_[next_].position == position_; ++next_) {
      const Eviction& eviction = evictions_[next_];
      const auto victim = blocks_.find({eviction.tensor, eviction.block});
      if (victim == blocks_.end() || !victim->second.held) {
        wrong_ = "an evicted block is not resident";
        continue;
      }
      victim->second.held = false;
      --held_;
      const End end = problem_.tensors[static_cast<std::size_t>(eviction.tensor)].end;
      if (victim->second.uses_left > 0 || end != End::kDead) Write(&victim->second);
    }
    if (position_ < 0 && held_ > memory_.blocks) wrong_ = "more blocks than the memory has";
  }

  void AccessAll(TensorIndex tensor, bool is_write) {
    const std::int64_t bytes = problem_.tensors[static_cast<std::size_t>(tensor)].bytes;
    for (std::int64_t at = 0; at * memory_.block_bytes < bytes; ++at) {
      Access(&blocks_[{tensor, at}], tensor, is_write);
    }
  }

  void Access(State* state, TensorIndex tensor, bool is_write) {
    Evict();
    if (!state->held && !is_write) {
      if (!state->copied)
        wrong_ = "a block is read, but it is neither resident nor in external memory";
      ++counts_.misses;
      counts_.read_bytes += memory_.block_bytes;
    }
    if (!state->held && memory_.blocks > 0) {
      state->held = true;
      ++held_;
    }
    if (memory_.blocks == 0 && is_write) Write(state);
    if (held_ > memory_.blocks) wrong_ = "more blocks than the memory has";
    --state->uses_left;
    const bool dead = problem_.tensors[static_cast<std::size_t>(tensor)].end == End::kDead;
    if (state->uses_left == 0 && state->held && dead) {
      state->held = false;
      --held_;
    }
    ++position_;
  }

  const Problem& problem_;
  const BlockMemory memory_;
  const std::span<const Eviction> evictions_;
  std::map<std::pair<TensorIndex, std::int64_t>, State> blocks_;
  Counts counts_;
  std::int64_t held_ = 0;
  std::size_t next_ = 0;
  std::int64_t position_ = -1;
  std::string wrong_;
};

}  // namespace

std::optional<Counts> Replay(const Problem& problem, std::int64_t on_chip_bytes,
                             std::span<const Residency> residencies, std::string* why) {
  for (std::size_t i = 0; i < residencies.size(); ++i) {
    const Residency& range = residencies[i];
    if (range.tensor < 0 || static_cast<std::size_t>(range.tensor) >= problem.tensors.size()) {
      return Refuse(why, "there is no " + Name(range.tensor));
    }
    if (range.first < 0 || range.first >= range.last || range.last > problem.num_steps) {
      return Refuse(why, Name(range.tensor) + " is resident in an empty or unknown range of steps");
    }
    if (i > 0 && std::pair(residencies[i - 1].tensor, residencies[i - 1].last) >=
                     std::pair(range.tensor, range.first)) {
      return Refuse(why, "the ranges of " + Name(range.tensor) + " are not in order");
    }
  }
  const std::vector<std::int64_t> used = UsedBytes(problem, on_chip_bytes, residencies);
  for (std::size_t step = 0; step < used.size(); ++step) {
    if (used[step] > on_chip_bytes) {
      return Refuse(why, "step " + std::to_string(step) + " has " + std::to_string(used[step]) +
                             " resident bytes, the memory has " + std::to_string(on_chip_bytes));
    }
  }
  Counts counts;
  std::size_t from = 0;
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    std::size_t to = from;
    while (to < residencies.size() && static_cast<std::size_t>(residencies[to].tensor) == i) ++to;
    const auto wrong =
        CountTensor(problem, problem.tensors[i], residencies.subspan(from, to - from), &counts);
    if (wrong) return Refuse(why, Name(static_cast<TensorIndex>(i)) + " " + *wrong);
    from = to;
  }
  return counts;
}

std::optional<Counts> ReplayBlocks(const Problem& problem, const BlockMemory& memory,
                                   std::span<const Eviction> evictions, std::string* why) {
  return BlockReplay(problem, memory, evictions).Run(why);
}

}  // namespace neap::traffic
