// SPDX-License-Identifier: Apache-2.0
//
// What the tests of this module share: random problems and the brute-force optimum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "neap/arena/problem.h"
#include "neap/base/random.h"

namespace neap::arena {

struct RandomShape {
  int buffers = 6;
  int steps = 6;
  std::int64_t most_bytes = 9;
  std::vector<std::int64_t> alignments = {1};
  bool whole_alignments = false;  // sizes are multiples of the buffer's alignment
  int fixed_percent = 0;
};

// A valid problem; may have empty buffers and empty live ranges.
inline Problem RandomProblem(Random& random, const RandomShape& shape) {
  Problem problem;
  for (int i = 0; i < shape.buffers; ++i) {
    Buffer buffer;
    buffer.alignment = shape.alignments[random.Below(shape.alignments.size())];
    buffer.bytes = random.Chance(1, 30) ? 0 : random.Between(1, shape.most_bytes);
    if (shape.whole_alignments) buffer.bytes *= buffer.alignment;
    buffer.first = static_cast<Step>(random.Between(0, shape.steps - 1));
    buffer.last = static_cast<Step>(
        random.Between(buffer.first + (random.Chance(1, 30) ? 0 : 1), shape.steps));
    problem.buffers.push_back(buffer);
    if (random.Chance(static_cast<std::uint64_t>(shape.fixed_percent), 100)) {
      Buffer& last = problem.buffers.back();
      last.fixed_offset = random.Between(0, 2 * shape.most_bytes / last.alignment) * last.alignment;
      if (Validate(problem)) last.fixed_offset.reset();
    }
  }
  return problem;
}

namespace testing_detail {

struct Placed {
  const Buffer* buffer;
  std::int64_t offset;
};

inline bool Collides(const Buffer& buffer, std::int64_t offset, const std::vector<Placed>& placed) {
  return std::any_of(placed.begin(), placed.end(), [&](const Placed& other) {
    return buffer.first < other.buffer->last && other.buffer->first < buffer.last &&
           buffer.first < buffer.last && other.buffer->first < other.buffer->last &&
           offset < other.offset + other.buffer->bytes && other.offset < offset + buffer.bytes &&
           buffer.bytes > 0 && other.buffer->bytes > 0;
  });
}

inline void TryAll(std::vector<const Buffer*>& left, std::vector<Placed>& placed,
                   std::int64_t height, std::int64_t& best) {
  if (height >= best) return;
  if (left.empty()) {
    best = height;
    return;
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    const Buffer* buffer = left[i];
    std::int64_t offset = 0;
    while (Collides(*buffer, offset, placed)) offset += buffer->alignment;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    placed.push_back({buffer, offset});
    TryAll(left, placed, std::max(height, offset + buffer->bytes), best);
    placed.pop_back();
    left.insert(left.begin() + static_cast<std::ptrdiff_t>(i), buffer);
  }
}

}  // namespace testing_detail

// The least height over all orders of lowest-fit: some order gives the optimum. n! passes, made
// from the definition and slowly (offset after offset), so for few buffers of few bytes.
inline std::int64_t BruteForceHeight(const Problem& problem) {
  std::vector<const Buffer*> left;
  std::vector<testing_detail::Placed> placed;
  std::int64_t height = 0;
  for (const Buffer& buffer : problem.buffers) {
    if (buffer.fixed_offset) {
      placed.push_back({&buffer, *buffer.fixed_offset});
      height = std::max(height, *buffer.fixed_offset + buffer.bytes);
    } else {
      left.push_back(&buffer);
    }
  }
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  testing_detail::TryAll(left, placed, height, best);
  return best;
}

// `count` columns of exactly `load` bytes at every step, cut at random into buffers: placing them
// at height `load` is a puzzle, which some of them do not allow.
inline Problem RandomFullLoad(Random& random, int steps, std::int64_t load,
                              std::int64_t most_bytes) {
  Problem problem;
  std::vector<std::size_t> live;
  std::int64_t used = 0;
  for (Step step = 0; step < steps; ++step) {
    std::vector<std::size_t> kept;
    for (const std::size_t i : live) {
      Buffer& buffer = problem.buffers[i];
      if (step + 1 < steps && random.Chance(1, 2)) {
        kept.push_back(i);
      } else {
        buffer.last = step;
        used -= buffer.bytes;
      }
    }
    live = kept;
    while (used < load) {
      Buffer buffer;
      buffer.bytes = std::min(load - used, random.Between(1, most_bytes));
      buffer.first = step;
      buffer.last = steps;
      used += buffer.bytes;
      live.push_back(problem.buffers.size());
      problem.buffers.push_back(buffer);
    }
  }
  return problem;
}

}  // namespace neap::arena
