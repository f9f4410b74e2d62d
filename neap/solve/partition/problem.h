// SPDX-License-Identifier: Apache-2.0
//
// The stage assignment problem, independent of neural networks: assign each of `num_ops` operators
// one of `num_stages` stages, never an earlier one than an operator before it, so that the cost of
// the most expensive stage is minimal. Costs are integers in one unit of the caller's choice
// (picoseconds, bytes); no float decides. The cost of a stage that has an operator:
//
//   fixed + sum of compute + stream * max(0, P - cache) + link * (in + out)
//
// P: bytes of parameters that its operators use, each once; in: bytes of tensors that come from
// outside or an earlier stage and are read here; out: bytes of tensors made here that are outputs
// or read by a later stage. A stage may stay empty and costs nothing then. With zero for all of a
// machine but stream = 1 the cost is the parameter memory of the stage.
//
// Where all stages share one link, it carries for every item what all stages stream and transfer,
// the sum of stream * max(0, P - cache) + link * (in + out): the bottleneck is then the larger of
// this sum and the costliest stage. No pipeline of this machine passes items faster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace neap::partition {

using OpIndex = std::int32_t;
using TensorIndex = std::int32_t;
using Stage = std::int32_t;

inline constexpr OpIndex kOutside = -1;
// So that the dynamic programs over positions end in seconds.
inline constexpr OpIndex kMaxOps = 20'000;
inline constexpr Stage kMaxStages = 64;
// No sum of costs may be larger.
inline constexpr std::int64_t kMaxCost = std::int64_t{1} << 61;

struct Tensor {
  std::int64_t bytes = 0;
  OpIndex producer = kOutside;     // kOutside: an input of the network
  std::vector<OpIndex> consumers;  // strictly increasing, without the producer
  bool output = false;             // of the network: leaves the stage that makes it
};

// Parameters that several operators use.
struct SharedParameters {
  std::int64_t bytes = 0;
  std::vector<OpIndex> users;  // strictly increasing
};

struct Machine {
  std::int64_t fixed_cost = 0;
  std::int64_t cache_bytes = 0;
  std::int64_t stream_cost_per_byte = 0;
  std::int64_t link_cost_per_byte = 0;
  std::int64_t parameter_limit_bytes = -1;  // no stage may have more; -1: no limit
  bool shared_link = false;                 // streams and transfers of all stages use one link
};

struct Problem {
  OpIndex num_ops = 0;
  std::vector<std::int64_t> compute_cost;     // one per op
  std::vector<std::int64_t> parameter_bytes;  // one per op: its own parameters
  std::vector<SharedParameters> shared;
  std::vector<Tensor> tensors;
  // (before, after) for reasons that no tensor shows; a tensor implies producer before consumer.
  std::vector<std::pair<OpIndex, OpIndex>> precedences;
  // Operators of a group must be in one stage.
  std::vector<std::vector<OpIndex>> together;
  // No stage may consist of exactly these operators.
  std::vector<std::vector<OpIndex>> forbidden;
  Machine machine;
  Stage num_stages = 1;
};

// The error of a malformed problem (out of range, unsorted, cyclic, negative, sums too large), in
// one line; nullopt when it is well-formed. O(size).
std::optional<std::string> Validate(const Problem& problem);

// A stage for every operator. `bottleneck` is the cost of the costliest stage or, where it is
// larger, that of the link that all share.
struct Assignment {
  std::vector<Stage> stage_of;
  std::int64_t bottleneck = 0;
};

// Direct predecessors and successors of every operator, by tensors and precedences: sorted, each
// once.
struct Relations {
  explicit Relations(const Problem& problem);
  std::vector<std::vector<OpIndex>> before;
  std::vector<std::vector<OpIndex>> after;
};

// The problem in which all operators of a class are one. `class_of` maps operators onto
// 0..num_classes-1; classes of a cycle among classes are the caller's mistake (the result fails
// Validate). `together` is empty in the result when no group is split between classes; groups that
// are become groups of classes. A forbidden stage that is no union of classes is none. O(size log
// size).
Problem Merged(const Problem& problem, const std::vector<OpIndex>& class_of, OpIndex num_classes);

// The classes that `together` requires: every group in one, together with all operators on paths
// between two members of a class. Numbered in a topological order. O(size log size).
struct Classes {
  std::vector<OpIndex> class_of;
  OpIndex count = 0;
};
Classes ClassesOf(const Problem& problem);

}  // namespace neap::partition
