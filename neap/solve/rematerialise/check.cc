// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/rematerialise/check.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace neap::rematerialise {
namespace {

struct LastCopy {
  std::int64_t written = -1;    // step; of an input 0
  std::int64_t last_read = -1;  // step
};

// Values that operators read and write.
struct Accesses {
  explicit Accesses(const Problem& problem)
      : reads(problem.ops.size()), writes(problem.ops.size()) {
    for (std::size_t value = 0; value < problem.values.size(); ++value) {
      const Value& is = problem.values[value];
      if (is.writer != kNoWriter) writes[static_cast<std::size_t>(is.writer)].push_back(value);
      for (const OpIndex reader : is.readers) {
        reads[static_cast<std::size_t>(reader)].push_back(value);
      }
    }
  }
  std::vector<std::vector<std::size_t>> reads;
  std::vector<std::vector<std::size_t>> writes;
};

}  // namespace

std::optional<Replay> ReplaySequence(const Problem& problem, std::span<const OpIndex> sequence,
                                     std::string* why) {
  const auto refuse = [&](std::string reason) {
    if (why != nullptr) *why = std::move(reason);
    return std::nullopt;
  };
  const std::size_t num_ops = problem.ops.size();
  const Accesses accesses(problem);
  std::vector<LastCopy> copies(problem.values.size());
  for (std::size_t value = 0; value < problem.values.size(); ++value) {
    if (problem.values[value].writer == kNoWriter) copies[value].written = 0;
  }
  Replay replay;
  const auto steps = static_cast<std::int64_t>(sequence.size());
  std::vector<std::int64_t> change(sequence.size() + 1, 0);
  // The copy is live in the closed range of steps.
  const auto count = [&](std::int64_t bytes, std::int64_t first, std::int64_t last) {
    if (first > last) return;
    change[static_cast<std::size_t>(first)] += bytes;
    change[static_cast<std::size_t>(last) + 1] -= bytes;
  };
  std::vector<std::int64_t> first_run(num_ops, -1);
  for (std::int64_t step = 0; step < steps; ++step) {
    const OpIndex named = sequence[static_cast<std::size_t>(step)];
    const std::string at = "step " + std::to_string(step) + ": operator " + std::to_string(named);
    if (named < 0 || static_cast<std::size_t>(named) >= num_ops) return refuse(at + " is unknown");
    const auto op = static_cast<std::size_t>(named);
    if (first_run[op] < 0) {
      first_run[op] = step;
    } else if (!problem.ops[op].repeatable) {
      return refuse(at + " runs again, but is not repeatable");
    } else {
      ++replay.repetitions;
    }
    replay.cost += problem.ops[op].cost;
    for (const std::size_t value : accesses.reads[op]) {
      if (copies[value].written < 0) {
        return refuse(at + " reads value " + std::to_string(value) + " before it is written");
      }
      copies[value].last_read = step;
    }
    for (const std::size_t value : accesses.writes[op]) {
      LastCopy& copy = copies[value];
      if (copy.written >= 0) {
        count(problem.values[value].bytes, copy.written, std::max(copy.written, copy.last_read));
      }
      copy = {step, -1};
    }
  }
  for (std::size_t op = 0; op < num_ops; ++op) {
    if (first_run[op] < 0) return refuse("operator " + std::to_string(op) + " does not run");
  }
  for (const auto& [before, after] : problem.precedences) {
    if (first_run[static_cast<std::size_t>(before)] < first_run[static_cast<std::size_t>(after)]) {
      continue;
    }
    return refuse("operator " + std::to_string(after) + " runs before operator " +
                  std::to_string(before) + ", which has to come first");
  }
  for (std::size_t value = 0; value < problem.values.size(); ++value) {
    const Value& is = problem.values[value];
    const LastCopy& copy = copies[value];
    std::int64_t last = copy.last_read;
    if (is.writer != kNoWriter) last = std::max(last, copy.written);
    if (is.live_at_end) last = steps - 1;
    count(is.bytes, copy.written, last);
  }
  std::int64_t live = 0;
  replay.live_bytes.reserve(sequence.size());
  for (std::size_t step = 0; step < sequence.size(); ++step) {
    live += change[step];
    const auto op = static_cast<std::size_t>(sequence[step]);
    replay.live_bytes.push_back(live + problem.ops[op].scratch_bytes);
    replay.peak_bytes = std::max(replay.peak_bytes, replay.live_bytes.back());
  }
  return replay;
}

}  // namespace neap::rematerialise
