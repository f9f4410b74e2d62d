// SPDX-License-Identifier: Apache-2.0
//
// For tests only: random problems and their optimum by brute force. Shares no code with the search.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/solve/schedule/problem.h"
#include "testing/cases.h"

namespace neap::schedule {

struct Shape {
  int max_ops = 9;
  bool aliases = true;
  bool scratch = true;
  bool in_place = true;
  bool take_over = false;
};

inline void AddUser(Buffer* buffer, OpIndex op) {
  const auto at = std::lower_bound(buffer->users.begin(), buffer->users.end(), op);
  if (at == buffer->users.end() || *at != op) buffer->users.insert(at, op);
}

// Parts of operators' outputs may reuse the memory of parts of their inputs. Only buffers with a
// stated first operator.
inline void AddTakeOvers(Random& random, Problem* problem) {
  const auto ops = static_cast<std::size_t>(problem->num_ops);
  std::vector<TakeOver> parts(ops);
  std::vector<char> taken(ops, 0);
  for (const InPlace& pair : problem->in_place) taken[static_cast<std::size_t>(pair.op)] = 1;
  for (std::size_t b = 0; b < problem->buffers.size(); ++b) {
    const Buffer& buffer = problem->buffers[b];
    for (std::size_t u = 0; u < buffer.users.size(); ++u) {
      TakeOver& part = parts[static_cast<std::size_t>(buffer.users[u])];
      const bool writes = !buffer.live_at_start && u == 0;
      if (random.Chance(1, 3)) continue;
      if (writes) {
        part.outputs.push_back(static_cast<BufferIndex>(b));
      } else if (!buffer.live_at_end) {
        part.inputs.push_back(static_cast<BufferIndex>(b));
      }
    }
  }
  for (OpIndex op = 0; op < problem->num_ops; ++op) {
    TakeOver& part = parts[static_cast<std::size_t>(op)];
    if (part.inputs.empty() || part.outputs.empty() || taken[static_cast<std::size_t>(op)] != 0 ||
        random.Chance(1, 3)) {
      continue;
    }
    part.op = op;
    problem->take_over.push_back(std::move(part));
  }
}

// A random problem with everything that the definition allows: several outputs, duplicate edges,
// pinned and zero-byte buffers, aliases (several writers), scratch, in-place pairs.
inline Problem RandomProblem(Random& random, const Shape& shape) {
  Problem problem;
  problem.num_ops = static_cast<OpIndex>(random.Between(1, shape.max_ops));
  const std::int64_t most = random.Chance(1, 3) ? 3 : 40;
  const std::uint64_t density = 1 + random.Below(4);
  for (int i = static_cast<int>(random.Below(3)); i > 0; --i) {
    problem.buffers.push_back({random.Between(0, most), {}, true, random.Chance(1, 8)});
  }
  for (OpIndex op = 0; op < problem.num_ops; ++op) {
    BufferIndex first_input = -1;
    const auto existing = static_cast<BufferIndex>(problem.buffers.size());
    for (BufferIndex b = 0; b < existing; ++b) {
      Buffer& buffer = problem.buffers[static_cast<std::size_t>(b)];
      if (!random.Chance(density, 5 + static_cast<std::uint64_t>(op))) continue;
      if (!buffer.live_at_start && !buffer.users.empty()) {
        problem.precedences.emplace_back(buffer.users.front(), op);
      }
      AddUser(&buffer, op);
      if (first_input < 0) first_input = b;
    }
    for (int i = 1 + static_cast<int>(random.Below(4) == 0 ? 1 : 0); i > 0; --i) {
      problem.buffers.push_back({random.Between(0, most), {op}, false, random.Chance(1, 8)});
    }
    const auto output = static_cast<BufferIndex>(problem.buffers.size() - 1);
    if (shape.in_place && first_input >= 0 && random.Chance(1, 3)) {
      const Buffer& input = problem.buffers[static_cast<std::size_t>(first_input)];
      if (!input.live_at_end) {
        problem.buffers.back().bytes = input.bytes;
        problem.in_place.push_back({op, first_input, output});
      }
    }
    if (op > 0 && random.Chance(1, 10)) {
      problem.precedences.emplace_back(
          static_cast<OpIndex>(random.Below(static_cast<std::uint64_t>(op))), op);
    }
  }
  if (shape.take_over) AddTakeOvers(random, &problem);
  if (shape.aliases && random.Chance(1, 2)) {
    // A buffer with several unordered writers.
    Buffer shared{random.Between(0, most), {}, false, random.Chance(1, 4)};
    for (OpIndex op = 0; op < problem.num_ops; ++op) {
      if (random.Chance(1, 3)) shared.users.push_back(op);
    }
    problem.buffers.push_back(shared);
  }
  if (shape.scratch && random.Chance(1, 2)) {
    for (OpIndex op = 0; op < problem.num_ops; ++op) {
      problem.scratch_bytes.push_back(random.Chance(1, 3) ? random.Between(0, most) : 0);
    }
  }
  return problem;
}

// The same with chains, which fuse: half of the operators read what the one before wrote.
inline Problem ChainedProblem(Random& random, const Shape& shape) {
  Problem problem = RandomProblem(random, shape);
  for (OpIndex op = 1; op < problem.num_ops; ++op) {
    if (!random.Chance(1, 2)) continue;
    for (Buffer& buffer : problem.buffers) {
      if (buffer.users.empty() || buffer.users.front() != op - 1 || buffer.live_at_start) continue;
      AddUser(&buffer, op);
      problem.precedences.emplace_back(op - 1, op);
      break;
    }
  }
  return problem;
}

// Minimum peak over all orders: dynamic programming over executed sets, directly from the
// definition.
inline std::int64_t BruteForcePeak(const Problem& problem) {
  const auto ops = static_cast<std::size_t>(problem.num_ops);
  const std::size_t sets = std::size_t{1} << ops;
  constexpr std::int64_t kNever = std::int64_t{1} << 60;
  std::vector<std::uint32_t> before(ops, 0);
  for (const auto& [a, b] : problem.precedences) {
    before[static_cast<std::size_t>(b)] |= 1U << static_cast<unsigned>(a);
  }
  std::vector<std::uint32_t> users;
  for (const Buffer& buffer : problem.buffers) {
    std::uint32_t mask = 0;
    for (const OpIndex op : buffer.users) mask |= 1U << static_cast<unsigned>(op);
    users.push_back(mask);
  }
  std::vector<std::int64_t> best(sets, kNever);
  best[0] = 0;
  for (std::uint32_t set = 0; set < sets; ++set) {
    if (best[set] == kNever) continue;
    for (std::size_t op = 0; op < ops; ++op) {
      const std::uint32_t bit = 1U << op;
      if ((set & bit) != 0 || (before[op] & ~set) != 0) continue;
      std::int64_t hill = problem.scratch_bytes.empty() ? 0 : problem.scratch_bytes[op];
      for (std::size_t b = 0; b < users.size(); ++b) {
        const Buffer& buffer = problem.buffers[b];
        const bool begun = (users[b] & (set | bit)) != 0 || buffer.live_at_start;
        const bool ended = (users[b] & ~set) == 0 && !buffer.live_at_end;
        if (begun && !ended) hill += buffer.bytes;
      }
      for (const InPlace& pair : problem.in_place) {
        if (static_cast<std::size_t>(pair.op) != op) continue;
        const bool dies = (users[static_cast<std::size_t>(pair.input)] & ~set) == bit;
        const bool starts = (users[static_cast<std::size_t>(pair.output)] & set) == 0;
        if (dies && starts) hill -= problem.buffers[static_cast<std::size_t>(pair.output)].bytes;
      }
      for (const TakeOver& part : problem.take_over) {
        if (static_cast<std::size_t>(part.op) != op) continue;
        std::int64_t dying = 0;
        std::int64_t written = 0;
        for (const BufferIndex b : part.inputs) {
          const auto at = static_cast<std::size_t>(b);
          if ((users[at] & ~set) == bit) dying += problem.buffers[at].bytes;
        }
        for (const BufferIndex b : part.outputs) {
          written += problem.buffers[static_cast<std::size_t>(b)].bytes;
        }
        hill -= std::min(dying, written);
      }
      best[set | bit] = std::min(best[set | bit], std::max(best[set], hill));
    }
  }
  return best[sets - 1];
}

inline std::string Dump(const Problem& problem) {
  std::string out = std::to_string(problem.num_ops) + " ops;";
  for (const auto& [a, b] : problem.precedences) {
    out += " " + std::to_string(a) + "<" + std::to_string(b);
  }
  for (const Buffer& buffer : problem.buffers) {
    out += "\n  " + std::to_string(buffer.bytes) + (buffer.live_at_start ? " start" : "") +
           (buffer.live_at_end ? " end" : "") + ":";
    for (const OpIndex op : buffer.users) out += " " + std::to_string(op);
  }
  for (const std::int64_t bytes : problem.scratch_bytes)
    out += "\n  scratch " + std::to_string(bytes);
  for (const InPlace& pair : problem.in_place) {
    out += "\n  in place " + std::to_string(pair.op) + ": " + std::to_string(pair.input) + " -> " +
           std::to_string(pair.output);
  }
  for (const TakeOver& part : problem.take_over) {
    out += "\n  takes over " + std::to_string(part.op) + ":";
    for (const BufferIndex b : part.inputs) out += " " + std::to_string(b);
    out += " ->";
    for (const BufferIndex b : part.outputs) out += " " + std::to_string(b);
  }
  return out;
}

}  // namespace neap::schedule
