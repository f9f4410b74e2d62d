// SPDX-License-Identifier: Apache-2.0
//
// First half of the checker: replays the steps of a plan. Reads the steps of an entry as calls of
// subgraphs, checks that each call runs every due operator once and in an allowed order, and
// derives from the steps alone when each tensor is live. Does not read the plan's tensors.
//
// Definitions (as in docs/reference/plan-format.md):
//  - A call of a subgraph runs each of its operators that are not folded, once. After the own slot
//    of an operator come the calls of its bodies, in the order of Op::bodies. A subgraph
//    without operators takes one slot in which nothing runs.
//  - A subgraph has one order: every call of it, in every entry, runs the same steps.
//  - An operator runs after the producers of its inputs (captures count as inputs), also across
//    folded operators, and after the `before` of its control edges, which contain the order of
//    operators that share state (state_order.h).
//  - An operator occupies its own slot and all slots of its bodies.
//  - Constants, variables and outputs of folded operators have no address. Another tensor is live
//      from the own slot of its producer, or without a producer from the first slot of the call, to
//      the end of the slots of its last consumer, at least of its producer; an output of the
//      subgraph to the end of the call.
//  - An input without consumers that is not an output has an address in the first slot of the call,
//    but does not count as live: no step needs it.
//  - A tensor that is neither produced nor an input is treated as one if an operator reads it or it
//    is an output, and has no address otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/diagnostic.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"

namespace neap::check {

// The lines of neap::check::CheckPlan: at most kMax are kept.
class Findings {
 public:
  static constexpr std::size_t kMax = 20;

  // `at` is the entry; `op` and `tensor` are named when they are valid.
  void Add(const graph::Graph& graph, graph::SubgraphId subgraph, graph::OpId op,
           graph::TensorId tensor, std::string message);
  void Add(graph::SubgraphId subgraph, std::string message);
  bool Full() const { return lines_.size() >= kMax; }
  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

// "WHAT is FOUND, expected EXPECTED".
inline std::string Differs(const char* what, std::int64_t found, std::int64_t expected) {
  return std::string(what) + " is " + std::to_string(found) + ", expected " +
         std::to_string(expected);
}

// Half-open.
struct SlotRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
  friend bool operator==(const SlotRange&, const SlotRange&) = default;
};

struct Lifetime {
  graph::TensorId tensor;
  SlotRange range;              // relative to the begin of the call
  std::int64_t bytes = 0;       // exact
  std::int64_t live_bytes = 0;  // rounded as the profile does; 0 for an input without consumers
  bool kept = false;            // an output of the subgraph
};

// One subgraph, run once; slots are relative to the begin of the call.
struct SubgraphReplay {
  struct Call {
    graph::SubgraphId body;
    std::int32_t begin = 0;
  };
  std::int32_t length = 0;
  IdVector<graph::OpId, SlotRange> ops;          // {-1, -1}: folded, occupies nothing
  std::vector<Call> calls;                       // of its own operators' bodies
  std::span<const plan::Step> steps;             // as in the first call, bodies and all
  std::vector<Lifetime> lifetimes;               // by tensor id
  std::map<std::int32_t, std::int64_t> changes;  // of live bytes, own tensors and scratch only
  std::int64_t total_bytes = 0;                  // all tensors and scratch, rounded
  bool sound = true;                             // false: findings were added

  // nullptr: the tensor has no address.
  const Lifetime* Find(graph::TensorId tensor) const;
};

// All calls of one subgraph in one entry.
struct CallSpan {
  std::int32_t count = 0;
  std::int32_t first_begin = 0;
  std::int32_t last_begin = 0;
};

struct EntryReplay {
  std::map<graph::SubgraphId, CallSpan> calls;
  std::vector<std::int64_t> live_bytes;  // per slot, without any overlap
};

class Replayer {
 public:
  // Both outlive the replayer, and so do the plans given to Replay().
  Replayer(const graph::Graph& graph, const plan::Profile& profile, Findings* findings);

  // nullopt: the steps are not a run of the subgraph; findings were added.
  // O(steps + sizes of the subgraphs met for the first time), up to logarithms.
  std::optional<EntryReplay> Replay(const plan::EntryPlan& entry);

  // Of a subgraph that the last replayed entry has called, the entry's own included.
  const SubgraphReplay& ReplayOf(graph::SubgraphId subgraph) const;

 private:
  struct Frame;
  bool ReadSteps(const plan::EntryPlan& entry);
  bool ReadEmpty(const plan::EntryPlan& entry, graph::SubgraphId subgraph, std::size_t slot);
  bool OpenBody(const plan::EntryPlan& entry, std::vector<Frame>& stack, std::size_t& slot);
  bool RunStep(const plan::EntryPlan& entry, Frame& frame, std::size_t slot);
  bool RepeatSteps(const plan::EntryPlan& entry, graph::SubgraphId body, std::size_t slot);
  void Finish(graph::SubgraphId subgraph, SubgraphReplay replay);
  void CheckOrder(graph::SubgraphId subgraph, SubgraphReplay& replay);
  void ComputeLifetimes(graph::SubgraphId subgraph, SubgraphReplay& replay);
  void CountBytes(graph::SubgraphId subgraph, SubgraphReplay& replay);
  std::optional<EntryReplay> ExpandCalls(const plan::EntryPlan& entry);

  const graph::Graph& graph_;
  const plan::Profile& profile_;
  Findings& findings_;
  IdVector<graph::SubgraphId, std::size_t> due_ops_;  // operators that are not folded
  IdVector<graph::SubgraphId, std::optional<SubgraphReplay>> replays_;
};

// (before, after) for every tensor and control edge that makes one operator wait for another.
std::vector<std::pair<graph::OpId, graph::OpId>> Dependencies(const graph::Subgraph& subgraph);

}  // namespace neap::check
