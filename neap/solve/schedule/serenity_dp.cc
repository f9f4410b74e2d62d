// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/serenity_dp.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/solve/schedule/bit_index.h"

namespace neap::schedule {
namespace {

class Dp {
 public:
  Dp(const Instance& instance, const DpBudget& budget, std::int64_t max_memory_bytes,
     Stopper* stopper)
      : instance_(instance),
        budget_(budget),
        max_memory_bytes_(max_memory_bytes),
        stopper_(stopper),
        current_(instance.words()),
        next_(instance.words()),
        executed_(instance.words()),
        ready_(instance.words()) {}

  DpResult Run() {
    DpResult result;
    result.end = Steps();
    result.transitions = transitions_;
    if (result.end != DpEnd::kSolution) return result;
    result.peak = current_.peaks.front();
    for (std::uint32_t at = current_.first_trace; traces_[at].op >= 0; at = traces_[at].parent) {
      result.order.push_back(traces_[at].op);
    }
    std::reverse(result.order.begin(), result.order.end());
    return result;
  }

 private:
  // M_i: schedules by signature. Entry e is traces_[first_trace + e].
  struct Step {
    explicit Step(std::size_t words) : signatures(words) {}
    BitIndex signatures;
    std::vector<std::int64_t> live;
    std::vector<std::int64_t> peaks;
    std::uint32_t first_trace = 0;
  };
  struct Trace {
    std::uint32_t parent;
    OpIndex op;  // -1: the empty schedule
  };

  DpEnd Steps() {
    for (OpIndex op = 0; op < instance_.num_ops(); ++op) {
      if (instance_.Predecessors(op).empty()) SetBit(ready_.data(), op);
    }
    current_.signatures.Insert(ready_.data());
    current_.live = {instance_.start_live()};
    current_.peaks = {0};
    traces_.push_back({0, -1});
    for (OpIndex step = 0; step < instance_.num_ops(); ++step) {
      next_.signatures.Clear();
      next_.live.clear();
      next_.peaks.clear();
      next_.first_trace = static_cast<std::uint32_t>(traces_.size());
      for (std::size_t entry = 0; entry < current_.peaks.size(); ++entry) {
        if (stopper_->Count()) return DpEnd::kStopped;
        if (const auto end = Expand(entry); end != DpEnd::kSolution) return end;
      }
      if (next_.peaks.empty()) return DpEnd::kNoSolution;
      std::swap(current_, next_);
    }
    return DpEnd::kSolution;
  }

  // kSolution: go on.
  DpEnd Expand(std::size_t entry) {
    const std::size_t words = instance_.words();
    SetExecuted(current_.signatures.Row(entry));
    const std::int64_t live = current_.live[entry];
    const std::int64_t peak = current_.peaks[entry];
    DpEnd end = DpEnd::kSolution;
    ForEachBit(current_.signatures.Row(entry), words, [&](OpIndex op) {
      if (end != DpEnd::kSolution) return;
      ++transitions_;
      const Effect effect = instance_.EffectOf(executed_.data(), live, op);
      const std::int64_t new_peak = std::max(peak, effect.hill);
      if (new_peak > budget_.budget) return;
      const Word* signature = current_.signatures.Row(entry);
      std::copy(signature, signature + words, ready_.begin());
      ClearBit(ready_.data(), op);
      SetBit(executed_.data(), op);
      for (const OpIndex after : instance_.Successors(op)) {
        if (instance_.IsReady(executed_.data(), after)) SetBit(ready_.data(), after);
      }
      ClearBit(executed_.data(), op);
      end = Memoise({current_.first_trace + static_cast<std::uint32_t>(entry), op}, effect.live,
                    new_peak);
    });
    return end;
  }

  // All operators but the zero-indegree set and its descendants.
  void SetExecuted(const Word* signature) {
    std::fill(executed_.begin(), executed_.end(), ~Word{0});
    ForEachBit(signature, instance_.words(), [&](OpIndex op) {
      ClearBit(executed_.data(), op);
      const Word* after = instance_.Descendants(op);
      for (std::size_t w = 0; w < executed_.size(); ++w) executed_[w] &= ~after[w];
    });
  }

  // Keeps the schedule with the minimum peak for the signature in ready_; of equal ones the last,
  // as Algorithm 1 has it (line 21).
  DpEnd Memoise(Trace trace, std::int64_t live, std::int64_t peak) {
    const std::size_t entry = next_.signatures.Insert(ready_.data());
    if (entry < next_.peaks.size()) {
      if (peak <= next_.peaks[entry]) {
        next_.peaks[entry] = peak;
        traces_[next_.first_trace + entry] = trace;
      }
      return DpEnd::kSolution;
    }
    next_.live.push_back(live);
    next_.peaks.push_back(peak);
    traces_.push_back(trace);
    if (budget_.step_states > 0 &&
        static_cast<std::int64_t>(next_.peaks.size()) > budget_.step_states) {
      return DpEnd::kTimeout;
    }
    return HasRoom() ? DpEnd::kSolution : DpEnd::kStopped;
  }

  // Vectors may occupy twice the bytes of their elements.
  bool HasRoom() const {
    const std::int64_t entry_bytes =
        BitIndex::BytesPerKey(instance_.words()) + 4 * static_cast<std::int64_t>(sizeof(Effect));
    const auto entries = static_cast<std::int64_t>(current_.peaks.size() + next_.peaks.size());
    const auto trace_bytes = static_cast<std::int64_t>(2 * traces_.size() * sizeof(Trace));
    return traces_.size() < BitIndex::kMaxKeys &&
           entries <= (max_memory_bytes_ - trace_bytes) / entry_bytes;
  }

  const Instance& instance_;
  DpBudget budget_;
  std::int64_t max_memory_bytes_;
  Stopper* stopper_;
  Step current_;
  Step next_;
  std::vector<Trace> traces_;
  std::vector<Word> executed_;
  std::vector<Word> ready_;
  std::int64_t transitions_ = 0;
};

}  // namespace

DpResult RunSerenityDp(const Instance& instance, const DpBudget& budget,
                       std::int64_t max_memory_bytes, Stopper* stopper) {
  return Dp(instance, budget, max_memory_bytes, stopper).Run();
}

}  // namespace neap::schedule
