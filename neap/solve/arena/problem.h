// SPDX-License-Identifier: Apache-2.0
//
// The placement problem (dynamic storage allocation), independent of neural networks: assign every
// buffer an offset so that no two buffers that are live at the same step share a byte, except as
// far as pair rules allow it, and the arena is as low as possible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace neap::arena {

using BufferIndex = std::int32_t;
using Step = std::int32_t;

// Live in the half-open range of steps [first, last). An empty range overlaps nothing in time, but
// the arena still has to be tall enough for it.
struct Buffer {
  std::int64_t bytes = 0;
  Step first = 0;
  Step last = 0;
  std::int64_t alignment = 1;                // >= 1
  std::optional<std::int64_t> fixed_offset;  // must be placed exactly here

  // Whether it takes bytes at some step.
  bool occupies() const { return bytes > 0 && first < last; }
};

// offset(b) - offset(a) must not be in the *open* interval (low, high), whose ends may have any
// value. A pair that is live at one step and has no rule has the interval (-bytes(b), bytes(a)):
// the two are disjoint. One or more rules for a pair replace that interval by the union of theirs;
// (a, b, low, high) is equivalent to (b, a, -high, -low). low == high forbids nothing. Rules for
// pairs that are never live together, or where one has no bytes, have no effect.
//
// A view that is *always* at a fixed place inside another buffer is not a pair: the caller merges
// the two into one buffer with both lifetimes. Rules are for buffers that may share bytes, where
// this helps.
struct PairRule {
  BufferIndex a = 0;
  BufferIndex b = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct Problem {
  std::vector<Buffer> buffers = {};
  std::vector<PairRule> pairs = {};
};

// An operator that reads each byte of `input` before it overwrites it: `output` starts at least
// `distance` (>= 0) bytes below the input, or at or above its end. Distance 0: the same address is
// allowed, and any below.
PairRule StartsBelow(const Problem& problem, BufferIndex input, BufferIndex output,
                     std::int64_t distance);
// `part` starts exactly `at` bytes above the start of `whole`, or the two are disjoint: an operator
// that overwrites its input at the same address only (at = 0), a copy that an input already in its
// place makes unnecessary (concatenation). Adds two rules.
void AddExactlyAt(Problem& problem, BufferIndex whole, BufferIndex part, std::int64_t at);
// The two may share any byte.
PairRule Unrelated(BufferIndex a, BufferIndex b);

struct Placement {
  std::vector<std::int64_t> offsets;  // one per buffer
  std::int64_t height_bytes = 0;      // max of offset + bytes
};

// The error of a malformed problem, in one line; nullopt when it is well-formed. A problem whose
// fixed buffers break the rule of their pair is malformed.
std::optional<std::string> Validate(const Problem& problem);

}  // namespace neap::arena
