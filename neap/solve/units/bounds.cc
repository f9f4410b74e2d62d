// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>

#include "neap/base/topological_order.h"
#include "neap/solve/units/instance.h"

namespace neap::units {
namespace {

__extension__ using Wide = __int128;

std::int64_t CeilOf(Wide value, std::int64_t divisor) {
  const Wide result = (value + divisor - 1) / divisor;
  return static_cast<std::int64_t>(
      std::min<Wide>(result, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

Instance MakeInstance(const Problem& problem) {
  Instance out;
  out.problem = &problem;
  const std::size_t count = out.size();
  out.before.resize(count);
  out.after.resize(count);
  auto pairs = problem.graph.precedences;
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  for (const auto& [a, b] : pairs) {
    out.after[At(a)].push_back(b);
    out.before[At(b)].push_back(a);
  }
  out.topological = TopologicalOrder(out.after);
  out.head.assign(count, 0);
  out.tail.assign(count, 0);
  for (const OpIndex op : out.topological) {
    for (const OpIndex next : out.after[At(op)]) {
      out.head[At(next)] =
          std::max(out.head[At(next)], out.head[At(op)] + problem.durations[At(op)]);
    }
  }
  for (auto op = out.topological.rbegin(); op != out.topological.rend(); ++op) {
    for (const OpIndex next : out.after[At(*op)]) {
      out.tail[At(*op)] =
          std::max(out.tail[At(*op)], out.tail[At(next)] + problem.durations[At(next)]);
    }
  }
  out.buffers_of.resize(count);
  for (std::size_t b = 0; b < problem.graph.buffers.size(); ++b) {
    for (const OpIndex user : problem.graph.buffers[b].users) {
      out.buffers_of[At(user)].push_back(b);
    }
  }
  return out;
}

std::int64_t MakespanBound(const Instance& instance, std::int64_t peak_limit) {
  const Problem& problem = *instance.problem;
  std::int64_t bound = 0;
  Wide work = 0;
  Wide byte_time = 0;
  for (std::size_t op = 0; op < instance.size(); ++op) {
    const std::int64_t duration = problem.durations[op];
    bound = std::max(bound, instance.head[op] + duration + instance.tail[op]);
    work += duration;
    if (!problem.graph.scratch_bytes.empty()) {
      byte_time += static_cast<Wide>(problem.graph.scratch_bytes[op]) * duration;
    }
  }
  bound = std::max(bound, CeilOf(work, problem.units));
  if (peak_limit <= 0) return bound;
  // Every buffer is live at least as long as the longest of its users, and as two of them of which
  // one precedes the other.
  for (const schedule::Buffer& buffer : problem.graph.buffers) {
    std::int64_t length = 0;
    for (const OpIndex user : buffer.users) {
      length = std::max(length, problem.durations[At(user)]);
      for (const OpIndex before : instance.before[At(user)]) {
        if (std::binary_search(buffer.users.begin(), buffer.users.end(), before)) {
          length = std::max(length, problem.durations[At(user)] + problem.durations[At(before)]);
        }
      }
    }
    byte_time += static_cast<Wide>(buffer.bytes) * length;
  }
  return std::max(bound, CeilOf(byte_time, peak_limit));
}

std::int64_t CompulsoryPeak(const Instance& instance, const std::vector<std::int64_t>& earliest,
                            const std::vector<std::int64_t>& latest, std::int64_t from) {
  const Problem& problem = *instance.problem;
  std::map<std::int64_t, std::int64_t> change;
  const auto add = [&](std::int64_t first, std::int64_t last, std::int64_t bytes) {
    first = std::max(first, from);
    if (first >= last || bytes == 0) return;
    change[first] += bytes;
    change[last] -= bytes;
  };
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  std::int64_t finish = 0;
  for (std::size_t op = 0; op < instance.size(); ++op) {
    finish = std::max(finish, earliest[op] + problem.durations[op]);
  }
  for (const schedule::Buffer& buffer : problem.graph.buffers) {
    std::int64_t first = kEnd;
    std::int64_t last = 0;
    for (const OpIndex user : buffer.users) {
      first = std::min(first, latest[At(user)]);
      last = std::max(last, earliest[At(user)] + problem.durations[At(user)]);
    }
    if (buffer.live_at_start) first = 0;
    // To the end of the last operator, which is not before this one.
    if (buffer.live_at_end) last = std::max(last, finish);
    add(first, last, buffer.bytes);
  }
  for (std::size_t op = 0; op < problem.graph.scratch_bytes.size(); ++op) {
    add(latest[op], earliest[op] + problem.durations[op], problem.graph.scratch_bytes[op]);
  }
  std::int64_t live = 0;
  std::int64_t most = 0;
  for (const auto& [time, bytes] : change) {
    live += bytes;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace neap::units
