// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/check.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace neap::schedule {
namespace {

constexpr OpIndex kNoStep = -1;

// The closed range of steps in which a buffer is live.
struct LiveSteps {
  OpIndex first;
  OpIndex last;
};

// "" and the step of each operator, or why the order is none.
std::string FindSteps(const Problem& problem, std::span<const OpIndex> order,
                      std::vector<OpIndex>* step_of) {
  const auto ops = static_cast<std::size_t>(problem.num_ops);
  if (order.size() != ops) {
    return "the order has " + std::to_string(order.size()) + " steps, expected " +
           std::to_string(ops);
  }
  step_of->assign(ops, kNoStep);
  for (std::size_t step = 0; step < ops; ++step) {
    const OpIndex op = order[step];
    if (op < 0 || op >= problem.num_ops || (*step_of)[static_cast<std::size_t>(op)] != kNoStep) {
      return "step " + std::to_string(step) + " names operator " + std::to_string(op) +
             ", which is out of range or comes twice";
    }
    (*step_of)[static_cast<std::size_t>(op)] = static_cast<OpIndex>(step);
  }
  for (const auto& [before, after] : problem.precedences) {
    if ((*step_of)[static_cast<std::size_t>(before)] >=
        (*step_of)[static_cast<std::size_t>(after)]) {
      return "operator " + std::to_string(after) + " runs before operator " +
             std::to_string(before) + ", which it needs";
    }
  }
  return "";
}

// From its first to its last user; first > last: never.
LiveSteps LiveStepsOf(const Problem& problem, const Buffer& buffer,
                      std::span<const OpIndex> step_of) {
  LiveSteps range{problem.num_ops, -1};
  for (const OpIndex user : buffer.users) {
    range.first = std::min(range.first, step_of[static_cast<std::size_t>(user)]);
    range.last = std::max(range.last, step_of[static_cast<std::size_t>(user)]);
  }
  if (buffer.live_at_start) range.first = 0;
  if (buffer.live_at_end) {
    range.last = problem.num_ops - 1;
    if (buffer.users.empty() && !buffer.live_at_start) range.first = problem.num_ops;
  }
  return range;
}

}  // namespace

std::optional<Replay> ReplayOrder(const Problem& problem, std::span<const OpIndex> order,
                                  std::string* why) {
  const auto ops = static_cast<std::size_t>(problem.num_ops);
  std::vector<OpIndex> step_of;
  if (std::string wrong = FindSteps(problem, order, &step_of); !wrong.empty()) {
    if (why != nullptr) *why = std::move(wrong);
    return std::nullopt;
  }
  std::vector<LiveSteps> ranges;
  ranges.reserve(problem.buffers.size());
  Replay replay;
  replay.live_bytes.assign(ops, 0);
  std::vector<std::int64_t> change(ops + 1, 0);
  for (const Buffer& buffer : problem.buffers) {
    const LiveSteps range = LiveStepsOf(problem, buffer, step_of);
    ranges.push_back(range);
    if (range.first > range.last) continue;
    change[static_cast<std::size_t>(range.first)] += buffer.bytes;
    change[static_cast<std::size_t>(range.last) + 1] -= buffer.bytes;
  }
  std::int64_t live = 0;
  for (std::size_t step = 0; step < ops; ++step) {
    live += change[step];
    replay.live_bytes[step] = live;
  }
  for (std::size_t op = 0; op < problem.scratch_bytes.size() && op < ops; ++op) {
    replay.live_bytes[static_cast<std::size_t>(step_of[op])] += problem.scratch_bytes[op];
  }
  for (const InPlace& pair : problem.in_place) {
    const OpIndex step = step_of[static_cast<std::size_t>(pair.op)];
    const LiveSteps& input = ranges[static_cast<std::size_t>(pair.input)];
    const LiveSteps& output = ranges[static_cast<std::size_t>(pair.output)];
    if (input.last == step && output.first == step) {
      replay.live_bytes[static_cast<std::size_t>(step)] -=
          problem.buffers[static_cast<std::size_t>(pair.output)].bytes;
    }
  }
  for (const TakeOver& part : problem.take_over) {
    const OpIndex step = step_of[static_cast<std::size_t>(part.op)];
    std::int64_t written = 0;
    std::int64_t dying = 0;
    for (const BufferIndex output : part.outputs) {
      written += problem.buffers[static_cast<std::size_t>(output)].bytes;
    }
    for (const BufferIndex input : part.inputs) {
      if (ranges[static_cast<std::size_t>(input)].last != step) continue;
      dying += problem.buffers[static_cast<std::size_t>(input)].bytes;
    }
    replay.live_bytes[static_cast<std::size_t>(step)] -= std::min(written, dying);
  }
  for (std::size_t step = 0; step < ops; ++step) {
    if (replay.live_bytes[step] > replay.peak_bytes) {
      replay.peak_bytes = replay.live_bytes[step];
      replay.peak_step = static_cast<OpIndex>(step);
    }
  }
  return replay;
}

}  // namespace neap::schedule
