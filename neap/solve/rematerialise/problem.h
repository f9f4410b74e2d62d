// SPDX-License-Identifier: Apache-2.0
//
// The problem of rematerialisation, independent of neural networks: find a sequence of operators of
// small peak in which operators may run again, so that a value need not stay in memory between two
// distant uses. A sequence costs the sum of the costs of its steps.
//
// Meaning of a sequence. Every operator occurs at least once; only repeatable ones occur again.
// Each run of an operator writes a new copy of each of its values. A step reads the last copy that
// was written before it. A copy is live from the step that writes it to the last step that reads it
// (at least in its own step); the last copy of a value that is live at the end, to the end. A value
// without a writer is an input: its only copy is live from the first step. The live bytes of a step
// are those of the copies live in it and the scratch of its operator; the peak is the most over all
// steps. Without repetitions this is the peak of an order (neap/solve/schedule/problem.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace neap::rematerialise {

using OpIndex = std::int32_t;
using ValueIndex = std::int32_t;

inline constexpr OpIndex kNoWriter = -1;

struct Value {
  std::int64_t bytes = 0;
  OpIndex writer = kNoWriter;
  std::vector<OpIndex> readers;  // strictly increasing
  bool live_at_end = false;
};

struct Op {
  std::int64_t cost = 0;
  std::int64_t scratch_bytes = 0;
  bool repeatable = false;
};

struct Problem {
  std::vector<Op> ops;
  std::vector<Value> values;
  // (before, after) beside those of the values; about the first runs.
  std::vector<std::pair<OpIndex, OpIndex>> precedences;
};

// The sum of the costs of all operators, each once.
std::int64_t BaseCost(const Problem& problem);

// The error of a malformed problem (out of range, unsorted, cyclic, negative or too large sizes and
// costs), in one line; nullopt when it is well-formed. O(size).
std::optional<std::string> Validate(const Problem& problem);

}  // namespace neap::rematerialise
