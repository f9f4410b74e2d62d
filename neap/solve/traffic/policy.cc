// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/traffic/policy.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "neap/solve/traffic/trace.h"

namespace neap::traffic {
namespace {

class Run {
 public:
  Run(Policy policy, const Problem& problem, std::int64_t on_chip_bytes)
      : policy_(policy), problem_(problem), capacity_(on_chip_bytes), trace_(problem) {
    states_.resize(problem.tensors.size());
    for (std::size_t i = 0; i < states_.size(); ++i) {
      states_[i].copied = problem.tensors[i].begin == Begin::kOffChip;
    }
  }

  Decisions Go() {
    Start();
    for (Step step = 0; step < problem_.num_steps; ++step) {
      room_ = capacity_ - std::min(capacity_, trace_.ScratchOf(step)) - held_bytes_;
      for (const TensorIndex tensor : trace_.AccessedIn(step)) at(tensor).touched = step;
      Shrink(step);
      for (const TensorIndex tensor : trace_.AccessedIn(step)) Access(tensor, step);
      for (const TensorIndex tensor : trace_.AccessedIn(step)) {
        State& state = at(tensor);
        if (state.held && !IsNeededAfter(tensor)) Release(tensor, step + 1);
      }
    }
    Finish();
    return std::move(decisions_);
  }

 private:
  struct State {
    bool held = false;
    bool copied = false;
    Step since = 0;
    Step touched = -1;
    Step dropped = -1;     // for lack of space beside the scratch of this step
    std::size_t next = 0;  // index of the next access
  };
  State& at(TensorIndex tensor) { return states_[static_cast<std::size_t>(tensor)]; }
  const Tensor& TensorAt(TensorIndex tensor) const {
    return problem_.tensors[static_cast<std::size_t>(tensor)];
  }

  void Start() {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const auto tensor = static_cast<TensorIndex>(i);
      if (TensorAt(tensor).begin != Begin::kOnChip || !IsNeededAfter(tensor)) continue;
      if (held_bytes_ + TensorAt(tensor).bytes <= capacity_) {
        Hold(tensor, 0);
      } else {
        Write(tensor);
        at(tensor).dropped = 0;  // in the first step it could only have stayed
      }
    }
  }

  bool IsNeededAfter(TensorIndex tensor) {
    return at(tensor).next < TensorAt(tensor).accesses.size() || TensorAt(tensor).end != End::kDead;
  }

  void Hold(TensorIndex tensor, Step step) {
    at(tensor).held = true;
    at(tensor).since = step;
    held_bytes_ += TensorAt(tensor).bytes;
    room_ -= TensorAt(tensor).bytes;
    held_.push_back(tensor);
  }
  void Release(TensorIndex tensor, Step end) {
    State& state = at(tensor);
    state.held = false;
    held_bytes_ -= TensorAt(tensor).bytes;
    room_ += TensorAt(tensor).bytes;
    held_.erase(std::find(held_.begin(), held_.end(), tensor));
    if (state.since < end) decisions_.residencies.push_back({tensor, state.since, end});
  }
  void Write(TensorIndex tensor) {
    State& state = at(tensor);
    if (state.copied) return;
    state.copied = true;
    decisions_.counts.written_bytes += TensorAt(tensor).bytes;
  }
  void Evict(TensorIndex tensor, Step step) {
    Release(tensor, step);
    if (IsNeededAfter(tensor)) Write(tensor);
  }

  // The resident tensors may not fit beside the scratch of this step.
  void Shrink(Step step) {
    while (room_ < 0) {
      TensorIndex victim = Victim(step);
      if (victim < 0) {
        victim = held_.back();
        at(victim).dropped = step;
      }
      Evict(victim, step);
    }
  }

  // Of those that the step does not touch; -1: none is left.
  TensorIndex Victim(Step step) {
    TensorIndex best = -1;
    for (const TensorIndex tensor : held_) {
      if (at(tensor).touched == step) continue;
      if (best < 0 || Rank(tensor) > Rank(best)) best = tensor;
    }
    return best;
  }
  // Larger goes first; ties: more bytes, then the smaller index.
  std::tuple<std::int64_t, std::int64_t, TensorIndex> Rank(TensorIndex tensor) {
    const State& state = at(tensor);
    const auto& accesses = TensorAt(tensor).accesses;
    const std::int64_t next_use =
        state.next < accesses.size() ? accesses[state.next] : problem_.num_steps;
    return {policy_ == Policy::kFurthestNextUse ? next_use : -state.touched, TensorAt(tensor).bytes,
            -tensor};
  }

  void Access(TensorIndex tensor, Step step) {
    State& state = at(tensor);
    const bool writes = trace_.IsWrite(tensor, step);
    if (!writes && !state.held) {
      ++decisions_.counts.misses;
      decisions_.counts.read_bytes += TensorAt(tensor).bytes;
    }
    ++state.next;
    if (state.held) return;
    const std::int64_t bytes = TensorAt(tensor).bytes;
    while (bytes > room_ && state.dropped != step && bytes <= RoomWithout(step))
      Evict(Victim(step), step);
    if (bytes <= room_ && state.dropped != step) {
      Hold(tensor, step);
    } else if (writes) {
      Write(tensor);
    }
  }

  // If all went that the step does not touch.
  std::int64_t RoomWithout(Step step) {
    std::int64_t room = room_;
    for (const TensorIndex tensor : held_) {
      if (at(tensor).touched != step) room += TensorAt(tensor).bytes;
    }
    return room;
  }

  void Finish() {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const auto tensor = static_cast<TensorIndex>(i);
      const End end = TensorAt(tensor).end;
      if (end == End::kOffChip || (end == End::kAnywhere && !at(tensor).held)) Write(tensor);
      if (at(tensor).held) Release(tensor, problem_.num_steps);
    }
    std::sort(decisions_.residencies.begin(), decisions_.residencies.end(),
              [](const Residency& a, const Residency& b) {
                return std::pair(a.tensor, a.first) < std::pair(b.tensor, b.first);
              });
  }

  const Policy policy_;
  const Problem& problem_;
  const std::int64_t capacity_;
  const Trace trace_;
  std::vector<State> states_;
  std::vector<TensorIndex> held_;
  std::int64_t held_bytes_ = 0;
  std::int64_t room_ = 0;
  Decisions decisions_;
};

}  // namespace

std::string_view NameOf(Policy policy) {
  return policy == Policy::kFurthestNextUse ? "furthest-next-use" : "lru";
}

Decisions Apply(Policy policy, const Problem& problem, std::int64_t on_chip_bytes) {
  return Run(policy, problem, on_chip_bytes).Go();
}

}  // namespace neap::traffic
