// SPDX-License-Identifier: Apache-2.0
//
// A sequence with its copies and live bytes, for the search by moves. Private to
// neap/rematerialise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neap/solve/rematerialise/problem.h"

namespace neap::rematerialise {

// The values that each operator reads and writes. Built once.
class Access {
 public:
  // `problem` outlives this.
  explicit Access(const Problem& problem);

  std::span<const ValueIndex> ReadsOf(OpIndex op) const { return Part(reads_, op); }
  std::span<const ValueIndex> WritesOf(OpIndex op) const { return Part(writes_, op); }
  const Problem& problem() const { return problem_; }
  // Operators, values and reads together.
  std::int64_t size() const { return size_; }

 private:
  static std::span<const ValueIndex> Part(const std::vector<std::vector<ValueIndex>>& parts,
                                          OpIndex op) {
    return parts[static_cast<std::size_t>(op)];
  }

  const Problem& problem_;
  std::vector<std::vector<ValueIndex>> reads_;
  std::vector<std::vector<ValueIndex>> writes_;
  std::int64_t size_ = 0;
};

using StepIndex = std::int32_t;

// Live in the closed range of steps.
struct Copy {
  ValueIndex value = 0;
  StepIndex first = 0;
  StepIndex last = 0;
};

struct Trace {
  std::vector<Copy> copies;                          // in the order of `first`; inputs before all
  std::vector<std::vector<StepIndex>> reads;         // per copy, increasing
  std::vector<std::vector<std::int32_t>> copies_of;  // per value, in the order of time
  std::vector<std::int64_t> live_bytes;              // per step
  std::int64_t peak_bytes = 0;
  std::int64_t cost = 0;

  // The last copy that is written before `step`, -1: none.
  std::int32_t CopyBefore(ValueIndex value, StepIndex step) const;
};

// Of a valid sequence.
Trace TraceOf(const Access& access, std::span<const OpIndex> sequence);

}  // namespace neap::rematerialise
