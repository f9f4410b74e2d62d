// SPDX-License-Identifier: Apache-2.0
//
// What a walk along a kernel notes: reads of an input and writes of the output. Private to
// neap/check.
#pragma once

#include <algorithm>
#include <cstdint>

namespace neap::check {

// The bytes of an input with an output over it. Bytes of the output may be written in any order;
// what counts is the end of the highest one, since the output may start anywhere below.
class Tape {
 public:
  // Distances above `max_distance` are of no interest: a walk may stop when one is needed.
  explicit Tape(std::int64_t max_distance) : max_distance_(max_distance) {}

  // The kernel reads bytes [begin, end) of the input: all that is written so far must be below.
  void Read(std::int64_t begin, std::int64_t end) {
    if (begin < end && written_ > 0) distance_ = std::max(distance_, written_ - begin);
  }
  // The kernel writes the next `bytes` of the output, in ascending order without a gap.
  void Write(std::int64_t bytes) { written_ += bytes; }
  // The kernel writes bytes of the output up to `end`.
  void WriteUpTo(std::int64_t end) { written_ = std::max(written_, end); }
  bool Intact() const { return distance_ <= max_distance_; }
  // How far below the input the output has to start.
  std::int64_t distance() const { return distance_; }

 private:
  std::int64_t max_distance_;
  std::int64_t written_ = 0;
  std::int64_t distance_ = 0;
};

}  // namespace neap::check
