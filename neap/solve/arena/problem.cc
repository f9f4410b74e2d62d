// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/problem.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "neap/solve/arena/pair_table.h"

#include "neap/base/bytes.h"

namespace neap::arena {
namespace {

template <typename Index>
std::string Name(Index index) {
  return "buffer #" + std::to_string(index);
}

std::optional<std::string> ValidateBuffer(const Buffer& buffer, const std::string& name) {
  if (buffer.bytes < 0) return name + ": found " + std::to_string(buffer.bytes) + " bytes";
  if (buffer.bytes > kMaxBytes) return name + ": too large";
  if (buffer.first > buffer.last) {
    return name + ": found first step " + std::to_string(buffer.first) + " after its last " +
           std::to_string(buffer.last);
  }
  if (buffer.alignment < 1 || buffer.alignment > kMaxBytes) {
    return name + ": found alignment " + std::to_string(buffer.alignment) + ", expected at least 1";
  }
  if (!buffer.fixed_offset) return std::nullopt;
  const std::int64_t offset = *buffer.fixed_offset;
  if (offset < 0 || offset > kMaxBytes) {
    return name + ": found fixed offset " + std::to_string(offset);
  }
  if (offset % buffer.alignment != 0) {
    return name + ": found fixed offset " + std::to_string(offset) + ", expected a multiple of " +
           std::to_string(buffer.alignment);
  }
  return std::nullopt;
}

std::optional<std::string> ValidatePair(const Problem& problem, const PairRule& rule,
                                        std::size_t index) {
  const std::string name = "pair rule #" + std::to_string(index);
  for (const BufferIndex i : {rule.a, rule.b}) {
    if (i < 0 || static_cast<std::size_t>(i) >= problem.buffers.size()) {
      return name + ": found buffer #" + std::to_string(i) + ", expected less than " +
             std::to_string(problem.buffers.size());
    }
  }
  if (rule.a == rule.b) return name + ": found " + Name(rule.a) + " twice";
  if (rule.low > rule.high) {
    return name + ": found its low end " + std::to_string(rule.low) + " above its high end " +
           std::to_string(rule.high);
  }
  if (rule.low < -kMaxBytes || rule.high > kMaxBytes) return name + ": reaches too far";
  return std::nullopt;
}

// In every order of placing, lowest first, no offset is above the highest fixed buffer
// plus all others with their padding and the reach of their rules: when that fits, no sum in the
// solvers overflows.
std::optional<std::string> ValidateSum(const Problem& problem) {
  std::int64_t highest_fixed = 0;
  std::int64_t total = 0;
  for (const Buffer& buffer : problem.buffers) {
    const auto padded = CheckedAdd(buffer.bytes, buffer.alignment - 1);
    const auto sum = padded ? CheckedAdd(total, *padded) : std::nullopt;
    const auto end = CheckedAdd(buffer.fixed_offset.value_or(0), buffer.bytes);
    if (!sum || !end) return "the buffers together are too large";
    total = *sum;
    highest_fixed = std::max(highest_fixed, *end);
  }
  for (const PairRule& rule : problem.pairs) {
    const auto sum = CheckedAdd(total, std::max({rule.high, -rule.low, std::int64_t{0}}));
    if (!sum) return "the pair rules together reach too far";
    total = *sum;
  }
  const auto most = CheckedAdd(total, highest_fixed);
  if (!most || *most > kMaxBytes) return "the buffers together are too large";
  return std::nullopt;
}

bool IsFixedAndOccupies(const Buffer& buffer) { return buffer.fixed_offset && buffer.occupies(); }

// Every fixed buffer that has rules against all other fixed ones.
std::optional<std::string> ValidateFixedWithRules(const Problem& problem, const PairTable& table) {
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& a = problem.buffers[i];
    const auto index = static_cast<BufferIndex>(i);
    if (!IsFixedAndOccupies(a) || table.Of(index).empty()) continue;
    for (std::size_t j = 0; j < problem.buffers.size(); ++j) {
      const Buffer& b = problem.buffers[j];
      if (i == j || !IsFixedAndOccupies(b) || b.last <= a.first || a.last <= b.first) continue;
      const std::int64_t apart = *a.fixed_offset - *b.fixed_offset;
      if (table.Forbids(problem, index, static_cast<BufferIndex>(j), apart)) {
        return Name(i) + ": its fixed place breaks the rule with that of " + Name(j);
      }
    }
  }
  return std::nullopt;
}

// Those without rules: a sweep over time with the live fixed buffers sorted by offset: a new one
// can only collide with the one below it and the one above.
std::optional<std::string> ValidateFixed(const Problem& problem, const PairTable& table) {
  std::vector<std::size_t> fixed;
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (!table.Of(static_cast<BufferIndex>(i)).empty()) continue;
    if (IsFixedAndOccupies(problem.buffers[i])) fixed.push_back(i);
  }
  std::vector<std::size_t> by_last = fixed;
  const auto& buffers = problem.buffers;
  std::stable_sort(fixed.begin(), fixed.end(), [&](std::size_t a, std::size_t b) {
    return buffers[a].first < buffers[b].first;
  });
  std::stable_sort(by_last.begin(), by_last.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].last < buffers[b].last; });
  std::map<std::int64_t, std::size_t> live;  // offset -> buffer
  auto next_end = by_last.begin();
  for (const std::size_t i : fixed) {
    for (; buffers[*next_end].last <= buffers[i].first; ++next_end) {
      live.erase(*buffers[*next_end].fixed_offset);
    }
    const std::int64_t offset = *buffers[i].fixed_offset;
    const auto above = live.lower_bound(offset);
    if (above != live.end() && above->first < offset + buffers[i].bytes) {
      return Name(i) + ": its fixed place overlaps that of " + Name(above->second);
    }
    if (above != live.begin()) {
      const auto below = std::prev(above);
      if (below->first + buffers[below->second].bytes > offset) {
        return Name(i) + ": its fixed place overlaps that of " + Name(below->second);
      }
    }
    live.emplace(offset, i);
  }
  return std::nullopt;
}

}  // namespace

PairRule StartsBelow(const Problem& problem, BufferIndex input, BufferIndex output,
                     std::int64_t distance) {
  return {input, output, -distance, problem.buffers[static_cast<std::size_t>(input)].bytes};
}

void AddExactlyAt(Problem& problem, BufferIndex whole, BufferIndex part, std::int64_t at) {
  const std::int64_t whole_bytes = problem.buffers[static_cast<std::size_t>(whole)].bytes;
  const std::int64_t part_bytes = problem.buffers[static_cast<std::size_t>(part)].bytes;
  if (at <= -part_bytes || at >= whole_bytes) return;  // disjoint anyway
  problem.pairs.push_back({whole, part, -part_bytes, at});
  problem.pairs.push_back({whole, part, at, whole_bytes});
}

PairRule Unrelated(BufferIndex a, BufferIndex b) { return {a, b, 0, 0}; }

std::optional<std::string> Validate(const Problem& problem) {
  if (problem.buffers.size() > static_cast<std::size_t>(std::numeric_limits<BufferIndex>::max())) {
    return "too many buffers";
  }
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (auto wrong = ValidateBuffer(problem.buffers[i], Name(i))) return wrong;
  }
  for (std::size_t i = 0; i < problem.pairs.size(); ++i) {
    if (auto wrong = ValidatePair(problem, problem.pairs[i], i)) return wrong;
  }
  if (auto wrong = ValidateSum(problem)) return wrong;
  const PairTable table(problem);
  if (auto wrong = ValidateFixedWithRules(problem, table)) return wrong;
  return ValidateFixed(problem, table);
}

}  // namespace neap::arena
