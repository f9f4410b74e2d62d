// SPDX-License-Identifier: Apache-2.0
//
// Random problems and the brute-force optimum, for the tests of this module.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "neap/base/limits.h"
#include "neap/base/random.h"
#include "neap/solve/arena/problem.h"
#include "testing/cases.h"

namespace neap::arena {

inline Limits States(std::int64_t states) {
  Limits limits;
  limits.max_states = states;
  return limits;
}

struct RandomShape {
  int buffers = 6;
  int steps = 6;
  std::int64_t max_bytes = 9;
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
    buffer.bytes = random.Chance(1, 30) ? 0 : random.Between(1, shape.max_bytes);
    if (shape.whole_alignments) buffer.bytes *= buffer.alignment;
    buffer.first = static_cast<Step>(random.Between(0, shape.steps - 1));
    buffer.last = static_cast<Step>(
        random.Between(buffer.first + (random.Chance(1, 30) ? 0 : 1), shape.steps));
    problem.buffers.push_back(buffer);
    if (random.Chance(static_cast<std::uint64_t>(shape.fixed_percent), 100)) {
      Buffer& last = problem.buffers.back();
      last.fixed_offset = random.Between(0, 2 * shape.max_bytes / last.alignment) * last.alignment;
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

// The minimum height over all orders of lowest-fit: some order gives the optimum. n! passes,
// directly from the definition (offset after offset), so for few buffers of few bytes.
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

// The minimum height from the definition in problem.h alone, for any pair rules: all offsets of all
// buffers, as bits of a word, without those that a placed buffer forbids. Only for problems of a
// height below 64; `upper` is a height that is known to be possible.
class OffsetPuzzle {
 public:
  explicit OffsetPuzzle(const Problem& problem) : problem_(problem) {
    const std::size_t n = problem.buffers.size();
    allowed_.assign(n, std::vector<std::array<bool, 2 * kMax>>(n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::int64_t apart = -kMax; apart < kMax; ++apart) {
          allowed_[i][j][static_cast<std::size_t>(apart + kMax)] = Allows(i, j, apart);
        }
      }
    }
  }

  bool Fits(std::int64_t height) const {
    std::vector<std::uint64_t> domains;
    for (const Buffer& buffer : problem_.buffers) {
      std::uint64_t domain = 0;
      for (std::int64_t offset = 0; offset + buffer.bytes <= height; offset += buffer.alignment) {
        if (buffer.fixed_offset && *buffer.fixed_offset != offset) continue;
        domain |= std::uint64_t{1} << offset;
      }
      if (domain == 0) return false;
      domains.push_back(domain);
    }
    return Try(domains, std::vector<bool>(domains.size(), false));
  }
  std::int64_t Least(std::int64_t upper) const {
    while (upper > 0 && Fits(upper - 1)) --upper;
    return upper;
  }

 private:
  static constexpr std::int64_t kMax = 64;

  // offset(j) - offset(i) = apart
  bool Allows(std::size_t i, std::size_t j, std::int64_t apart) const {
    const Buffer& a = problem_.buffers[i];
    const Buffer& b = problem_.buffers[j];
    if (i == j || a.bytes == 0 || b.bytes == 0) return true;
    if (std::max(a.first, b.first) >= std::min(a.last, b.last)) return true;
    bool ruled = false;
    for (const PairRule& rule : problem_.pairs) {
      const bool forward =
          static_cast<std::size_t>(rule.a) == i && static_cast<std::size_t>(rule.b) == j;
      const bool backward =
          static_cast<std::size_t>(rule.a) == j && static_cast<std::size_t>(rule.b) == i;
      if (!forward && !backward) continue;
      ruled = true;
      const std::int64_t from_a = forward ? apart : -apart;
      if (rule.low < from_a && from_a < rule.high) return false;
    }
    return ruled || apart <= -b.bytes || apart >= a.bytes;
  }

  bool Try(const std::vector<std::uint64_t>& domains, std::vector<bool> placed) const {
    std::size_t next = domains.size();
    for (std::size_t i = 0; i < domains.size(); ++i) {
      if (placed[i]) continue;
      if (domains[i] == 0) return false;
      if (next == domains.size() || std::popcount(domains[i]) < std::popcount(domains[next])) {
        next = i;
      }
    }
    if (next == domains.size()) return true;
    placed[next] = true;
    for (std::int64_t offset = 0; offset < kMax; ++offset) {
      if ((domains[next] >> offset & 1U) == 0) continue;
      std::vector<std::uint64_t> left = domains;
      for (std::size_t j = 0; j < domains.size(); ++j) {
        if (placed[j]) continue;
        for (std::int64_t other = 0; other < kMax; ++other) {
          const auto apart = static_cast<std::size_t>(other - offset + kMax);
          if (!allowed_[next][j][apart]) left[j] &= ~(std::uint64_t{1} << other);
        }
      }
      if (Try(left, placed)) return true;
    }
    return false;
  }

  const Problem& problem_;
  std::vector<std::vector<std::array<bool, 2 * kMax>>> allowed_;
};

// Adds rules of all kinds to pairs that are live together: the output below its input by some
// distance, the same address or apart, a part in its place, anything; with `wild` also arbitrary
// intervals. Rules that the fixed buffers break are left out.
inline void AddRandomPairs(Random& random, Problem& problem, int percent, bool wild) {
  const auto n = static_cast<BufferIndex>(problem.buffers.size());
  for (BufferIndex i = 0; i < n; ++i) {
    for (BufferIndex j = i + 1; j < n; ++j) {
      if (!random.Chance(static_cast<std::uint64_t>(percent), 100)) continue;
      const BufferIndex a = random.Chance(1, 2) ? i : j;
      const BufferIndex b = a == i ? j : i;
      const std::int64_t a_bytes = problem.buffers[static_cast<std::size_t>(a)].bytes;
      const std::int64_t b_bytes = problem.buffers[static_cast<std::size_t>(b)].bytes;
      const auto before = static_cast<std::ptrdiff_t>(problem.pairs.size());
      const std::uint64_t kind = random.Below(wild ? 8 : 4);
      if (kind <= 2) {
        problem.pairs.push_back(
            StartsBelow(problem, a, b, kind == 0 ? 0 : random.Between(0, b_bytes)));
      } else if (kind == 3) {
        problem.pairs.push_back(Unrelated(a, b));
      } else if (kind == 4) {
        AddExactlyAt(problem, a, b, 0);
      } else if (kind == 5) {
        AddExactlyAt(problem, a, b,
                     random.Between(0, std::max<std::int64_t>(0, a_bytes - b_bytes)));
      } else {
        for (std::uint64_t k = 0; k <= random.Below(2); ++k) {
          const std::int64_t low = random.Between(-a_bytes - b_bytes, a_bytes + b_bytes);
          problem.pairs.push_back({a, b, low, low + random.Between(0, a_bytes + b_bytes)});
        }
      }
      if (Validate(problem))
        problem.pairs.erase(problem.pairs.begin() + before, problem.pairs.end());
    }
  }
}

// Rules of operators whose output may start some bytes below an input that is freed there: buffers
// that end in the step after another one began.
inline void AddOverlaps(Random& random, Problem& problem, int percent) {
  const auto n = static_cast<BufferIndex>(problem.buffers.size());
  for (BufferIndex input = 0; input < n; ++input) {
    for (BufferIndex output = 0; output < n; ++output) {
      const Buffer& from = problem.buffers[static_cast<std::size_t>(input)];
      const Buffer& to = problem.buffers[static_cast<std::size_t>(output)];
      if (from.last != to.first + 1 || from.first >= to.first) continue;
      if (!random.Chance(static_cast<std::uint64_t>(percent), 100)) continue;
      const std::int64_t distance = random.Chance(1, 2) ? 0 : random.Between(0, to.bytes);
      problem.pairs.push_back(StartsBelow(problem, input, output, distance));
    }
  }
}

// `count` columns of exactly `load` bytes at every step, cut at random into buffers: placing them
// at height `load` is a puzzle, which some of them do not allow.
inline Problem RandomFullLoad(Random& random, int steps, std::int64_t load,
                              std::int64_t max_bytes) {
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
      buffer.bytes = std::min(load - used, random.Between(1, max_bytes));
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
