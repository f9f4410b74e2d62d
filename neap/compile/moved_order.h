// SPDX-License-Identifier: Apache-2.0
//
// Order, addresses and moves together: the fewest moved bytes with which some order runs within a
// capacity. Source: "Execution order in constrained memory", which weighs a defragmentation at
// every transition from one set of executed operators to the next. Private to neap/compile.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/base/limits.h"

namespace neap::compile {

// Sizes, offsets and the capacity are in units of which every size is a multiple. Offsets that are
// multiples of a unit lose nothing: rounding all offsets down to units keeps tensors apart.
struct MovedOrderProblem {
  static constexpr std::size_t kMaxOps = 64;
  struct Tensor {
    std::int64_t units = 0;       // 0: it has no place
    std::int64_t move_bytes = 0;  // what a move of it costs
    bool at_start = false;        // exists before the first operator
    bool at_end = false;          // exists after the last one
  };
  struct Op {
    std::uint64_t before = 0;          // operators that come first, as bits
    std::vector<std::size_t> inputs;   // tensors, each once
    std::vector<std::size_t> outputs;  // likewise
    std::int64_t scratch_units = 0;
  };
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  std::int64_t capacity_units = 0;
  bool disjoint = false;  // source and destination of a move share no unit
};

struct MovedOrder {
  // An operator with the offsets of its outputs, or a move of a tensor to an offset.
  struct Step {
    bool is_move = false;
    std::size_t subject = 0;            // an operator, or a tensor
    std::vector<std::int64_t> offsets;  // of the outputs, or of the tensor
    std::int64_t scratch_offset = 0;
  };
  std::vector<std::int64_t> start_offsets;  // by tensor, of those that exist at the start
  std::vector<Step> steps;
  std::int64_t moved_bytes = 0;
};

struct MovedOrderOutcome {
  std::optional<MovedOrder> best;  // moves fewer bytes than the limit
  // No order and no placement moves fewer bytes than `best`, or than the limit where there is none.
  bool complete = false;
};

// Moves fewer than `fewer_than` bytes (negative: any number). First with offsets next to other
// tensors and the ends of the arena alone, then with all offsets, each up to a number of states.
// Least cost first, then the most operators executed. Deterministic. O(states x units x tensors);
// tables of at most limits.max_memory_bytes and 256 MiB.
// At most kMaxOps operators; for more, nothing is found.
MovedOrderOutcome SearchMovedOrder(const MovedOrderProblem& problem, std::int64_t fewer_than,
                                   const Limits& limits);

}  // namespace neap::compile
