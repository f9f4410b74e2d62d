// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/rematerialise/trace.h"

#include <algorithm>

#include "neap/base/index.h"

namespace neap::rematerialise {

Access::Access(const Problem& problem)
    : problem_(problem), reads_(problem.ops.size()), writes_(problem.ops.size()) {
  size_ = static_cast<std::int64_t>(problem.ops.size() + problem.values.size());
  for (std::size_t value = 0; value < problem.values.size(); ++value) {
    const Value& is = problem.values[value];
    const auto index = static_cast<ValueIndex>(value);
    if (is.writer != kNoWriter) writes_[At(is.writer)].push_back(index);
    for (const OpIndex reader : is.readers) reads_[At(reader)].push_back(index);
    size_ += static_cast<std::int64_t>(is.readers.size());
  }
}

std::int32_t Trace::CopyBefore(ValueIndex value, StepIndex step) const {
  const std::vector<std::int32_t>& own = copies_of[At(value)];
  for (std::size_t at = own.size(); at-- > 0;) {
    if (copies[At(own[at])].first < step) return own[at];
  }
  return -1;
}

Trace TraceOf(const Access& access, std::span<const OpIndex> sequence) {
  const Problem& problem = access.problem();
  Trace trace;
  trace.copies_of.resize(problem.values.size());
  const auto add = [&](ValueIndex value, StepIndex first, StepIndex last) {
    trace.copies_of[At(value)].push_back(static_cast<std::int32_t>(trace.copies.size()));
    trace.copies.push_back({value, first, last});
    trace.reads.emplace_back();
  };
  for (std::size_t value = 0; value < problem.values.size(); ++value) {
    // Before the first step: no operator has read it.
    if (problem.values[value].writer == kNoWriter) add(static_cast<ValueIndex>(value), -1, -1);
  }
  const auto steps = static_cast<StepIndex>(sequence.size());
  for (StepIndex step = 0; step < steps; ++step) {
    const OpIndex op = sequence[At(step)];
    trace.cost += problem.ops[At(op)].cost;
    for (const ValueIndex value : access.ReadsOf(op)) {
      const std::int32_t copy = trace.copies_of[At(value)].back();
      trace.copies[At(copy)].last = step;
      trace.reads[At(copy)].push_back(step);
    }
    for (const ValueIndex value : access.WritesOf(op)) add(value, step, step);
  }
  std::vector<std::int64_t> change(sequence.size() + 1, 0);
  for (std::size_t value = 0; value < problem.values.size(); ++value) {
    if (problem.values[value].live_at_end) {
      trace.copies[At(trace.copies_of[value].back())].last = steps - 1;
    }
  }
  for (const Copy& copy : trace.copies) {
    if (copy.last < 0) continue;
    const std::int64_t bytes = problem.values[At(copy.value)].bytes;
    change[At(std::max<StepIndex>(copy.first, 0))] += bytes;
    change[At(copy.last) + 1] -= bytes;
  }
  trace.live_bytes.resize(sequence.size());
  std::int64_t live = 0;
  for (StepIndex step = 0; step < steps; ++step) {
    live += change[At(step)];
    const std::int64_t bytes = live + problem.ops[At(sequence[At(step)])].scratch_bytes;
    trace.live_bytes[At(step)] = bytes;
    trace.peak_bytes = std::max(trace.peak_bytes, bytes);
  }
  return trace;
}

}  // namespace neap::rematerialise
