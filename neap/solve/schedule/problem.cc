// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/schedule/problem.h"

#include <algorithm>
#include <cstddef>

#include "neap/base/bytes.h"

namespace neap::schedule {
namespace {

std::optional<std::string> ValidateBuffers(const Problem& problem) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    const std::string name = "buffer " + std::to_string(i);
    if (buffer.bytes < 0) return name + " has a negative size";
    const auto sum = CheckedAdd(total, buffer.bytes);
    if (!sum || *sum > kMaxBytes) return "the sizes of all buffers together are out of range";
    total = *sum;
    OpIndex previous = -1;
    for (const OpIndex user : buffer.users) {
      if (user <= previous || user >= problem.num_ops) {
        return name + " has users out of range or out of order";
      }
      previous = user;
    }
  }
  if (!problem.scratch_bytes.empty() &&
      problem.scratch_bytes.size() != static_cast<std::size_t>(problem.num_ops)) {
    return "there must be one scratch size per operator, or none at all";
  }
  for (const std::int64_t bytes : problem.scratch_bytes) {
    if (bytes < 0 || bytes > kMaxBytes - total) return "a scratch size is out of range";
  }
  return std::nullopt;
}

bool Uses(const Buffer& buffer, OpIndex op) {
  for (const OpIndex user : buffer.users) {
    if (user == op) return true;
  }
  return false;
}

std::optional<std::string> ValidateInPlace(const Problem& problem) {
  std::vector<char> seen(static_cast<std::size_t>(problem.num_ops), 0);
  const auto buffers = static_cast<BufferIndex>(problem.buffers.size());
  for (const InPlace& pair : problem.in_place) {
    if (pair.op < 0 || pair.op >= problem.num_ops || pair.input < 0 || pair.input >= buffers ||
        pair.output < 0 || pair.output >= buffers || pair.input == pair.output) {
      return "an in-place pair is out of range";
    }
    const Buffer& input = problem.buffers[static_cast<std::size_t>(pair.input)];
    const Buffer& output = problem.buffers[static_cast<std::size_t>(pair.output)];
    if (!Uses(input, pair.op) || !Uses(output, pair.op) || input.bytes != output.bytes ||
        input.live_at_end || output.live_at_start) {
      return "an in-place pair of operator " + std::to_string(pair.op) + " does not fit together";
    }
    if (seen[static_cast<std::size_t>(pair.op)] != 0) {
      return "operator " + std::to_string(pair.op) + " has two in-place pairs";
    }
    seen[static_cast<std::size_t>(pair.op)] = 1;
  }
  return std::nullopt;
}

// Strictly increasing, in range, and all of them used by `op`.
bool AreOf(const Problem& problem, OpIndex op, const std::vector<BufferIndex>& list) {
  BufferIndex previous = -1;
  for (const BufferIndex index : list) {
    if (index <= previous || index >= static_cast<BufferIndex>(problem.buffers.size())) {
      return false;
    }
    if (!Uses(problem.buffers[static_cast<std::size_t>(index)], op)) return false;
    previous = index;
  }
  return true;
}

std::optional<std::string> ValidateTakeOver(const Problem& problem) {
  if (problem.take_over.empty()) return std::nullopt;
  std::vector<char> seen(static_cast<std::size_t>(problem.num_ops), 0);
  for (const InPlace& pair : problem.in_place) seen[static_cast<std::size_t>(pair.op)] = 1;
  std::vector<std::pair<OpIndex, OpIndex>> stated = problem.precedences;
  std::sort(stated.begin(), stated.end());
  for (const TakeOver& part : problem.take_over) {
    if (part.op < 0 || part.op >= problem.num_ops || !AreOf(problem, part.op, part.inputs) ||
        !AreOf(problem, part.op, part.outputs)) {
      return "a buffer that an operator takes over is out of range, out of order or not its own";
    }
    const std::string name = "operator " + std::to_string(part.op);
    if (seen[static_cast<std::size_t>(part.op)] != 0) return name + " takes over twice";
    seen[static_cast<std::size_t>(part.op)] = 1;
    for (const BufferIndex index : part.inputs) {
      const bool both = std::binary_search(part.outputs.begin(), part.outputs.end(), index);
      if (both || problem.buffers[static_cast<std::size_t>(index)].live_at_end) {
        return name + " takes over buffer " + std::to_string(index) + ", which is not freed there";
      }
    }
    for (const BufferIndex index : part.outputs) {
      const Buffer& output = problem.buffers[static_cast<std::size_t>(index)];
      const bool begins =
          !output.live_at_start &&
          std::all_of(output.users.begin(), output.users.end(), [&](OpIndex user) {
            return user == part.op ||
                   std::binary_search(stated.begin(), stated.end(), std::pair(part.op, user));
          });
      if (!begins) return name + " does not begin buffer " + std::to_string(index);
    }
  }
  return std::nullopt;
}

bool IsAcyclic(const Problem& problem) {
  const auto ops = static_cast<std::size_t>(problem.num_ops);
  std::vector<std::vector<OpIndex>> successors(ops);
  std::vector<std::int32_t> missing(ops, 0);
  for (const auto& [before, after] : problem.precedences) {
    successors[static_cast<std::size_t>(before)].push_back(after);
    ++missing[static_cast<std::size_t>(after)];
  }
  std::vector<OpIndex> ready;
  for (std::size_t op = 0; op < ops; ++op) {
    if (missing[op] == 0) ready.push_back(static_cast<OpIndex>(op));
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const OpIndex op = ready.back();
    ready.pop_back();
    ++done;
    for (const OpIndex next : successors[static_cast<std::size_t>(op)]) {
      if (--missing[static_cast<std::size_t>(next)] == 0) ready.push_back(next);
    }
  }
  return done == ops;
}

}  // namespace

std::optional<std::string> Validate(const Problem& problem) {
  if (problem.num_ops < 0) return "the number of operators is negative";
  for (const auto& [before, after] : problem.precedences) {
    if (before < 0 || before >= problem.num_ops || after < 0 || after >= problem.num_ops) {
      return "a precedence names an operator out of range";
    }
  }
  if (auto wrong = ValidateBuffers(problem)) return wrong;
  if (auto wrong = ValidateInPlace(problem)) return wrong;
  if (auto wrong = ValidateTakeOver(problem)) return wrong;
  if (!IsAcyclic(problem)) return "the precedences have a cycle";
  return std::nullopt;
}

}  // namespace neap::schedule
