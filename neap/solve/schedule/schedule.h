// SPDX-License-Identifier: Apache-2.0
//
// Orders of minimum peak. Solve() is the exact search; the other strategies are named, documented
// baselines. This module is independent of neural networks. Thread-safe: no global state;
// deterministic: the same problem and the same limits (without max_seconds and stop) give the same
// outcome.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "neap/base/limits.h"
#include "neap/solve/schedule/problem.h"

namespace neap::schedule {

// Why lower_bound_bytes holds.
enum class Proof : std::uint8_t {
  kSingleOp,  // one operator alone needs as much
  kMinCut,    // every order passes `bound_op`, and no downset before it is cheaper (min cut)
  kSearch,    // an exhausted search, or one that refuted every smaller budget
};

// Witness of a min-cut bound (Proof::kMinCut): a flow as paths. Wherever `bound_op` runs, each path
// forces one of its buffers to be live besides what `bound_op` touches: the first is touched before
// it in every order; if it were finished, through[0].front(), a user of it, would have run, and
// with it its predecessors down to through[0].back(), which touches the second buffer; and so on;
// the last has a user that cannot have run, or is live at the end. Each element of through[k] is a
// direct predecessor of the one before it. Paths over one buffer add up to at most its bytes. When
// bound_op is in place its input may come first: live besides the output while another user has not
// run.
struct CutPath {
  std::int64_t bytes = 0;
  std::vector<BufferIndex> buffers;
  std::vector<std::vector<OpIndex>> through;  // one fewer than buffers
};

struct Outcome {
  std::vector<OpIndex> order;  // always a valid order of all operators
  std::int64_t peak_bytes = 0;
  std::int64_t lower_bound_bytes = 0;  // proven: no order of the problem has a smaller peak
  Proof proof = Proof::kSingleOp;
  // kSingleOp, kMinCut: the operator that needs the bytes. kSearch: an operator of the part of the
  // problem, between two hourglasses, whose search was exhausted. -1: a problem without operators.
  OpIndex bound_op = -1;
  std::vector<CutPath> witness;  // of kMinCut, unless the problem has a TakeOver
  bool reversed = false;         // of kSearch: refuted from the end backwards
  std::int64_t states = 0;       // states expanded by the search
  std::int64_t transitions = 0;  // steps from state to state that it considered; 0: not counted
  bool interrupted = false;      // Limits::stop or max_seconds ended it
  bool optimal() const { return peak_bytes == lower_bound_bytes; }
};

// A minimum-peak order, or, when a limit ends the search, the best order found with a proven lower
// bound. `problem` must pass Validate(). Method and proofs: docs/algorithms/order.md.
Outcome Solve(const Problem& problem, const Limits& limits);

// The number of states of kStatesForAFewSeconds.
std::int64_t StatesForAFewSeconds(OpIndex num_ops);

// Which transitions "best-first" takes without looking at the others
// (docs/algorithms/strategies.md).
enum class Forced : std::uint8_t {
  kNone,
  kSingle,   // an operator that raises neither the peak so far nor the live bytes; proven
  kSets,     // also sets of operators, as the document has them; loses the optimum at times
  kProven,   // also sets of operators, repaired; proven
  kRelaxed,  // an operator that raises neither by more than the slack; loses the optimum at times
};
struct ForcedRule {
  Forced forced;
  std::string_view name;
};
std::span<const ForcedRule> ForcedRules();

struct StrategyOptions {
  std::uint64_t seed = 0;             // of "random" and "annealing"
  std::vector<OpIndex> file_order;    // of "file" and as tie-break; empty: 0, 1, 2, ...
  Forced forced = Forced::kSingle;    // of "best-first"
  std::int64_t slack_bytes = 0;       // of Forced::kRelaxed
  std::int64_t step_states = 10'000;  // of "serenity": time-out of a search step; at least 1
  // Of "serenity": one run with this soft budget (tau) and no time-out, in place of the search for
  // one; 0: search.
  std::int64_t soft_budget_bytes = 0;
};

enum class Method : std::uint8_t {
  kExact,
  kSerenityDp,
  kSerenityDc,
  kSerenity,
  kBestFirst,
  kExhaustive,
  kFile,
  kKahn,
  kDepthFirst,
  kGreedy,
  kBeam,
  kRandom,
  kXlaList,
  kLpmf,
  kHmcos,
  kClosure,
  kAnnealing,
};

struct Strategy {
  Method method;
  std::string_view name;
  std::string_view summary;  // one line, with its source where it has one
  // As Run(), which supplies the default limits and a complete StrategyOptions::file_order.
  Outcome (*run)(const Problem& problem, const Limits& limits, const StrategyOptions& options);
};
// In the order of Method.
std::span<const Strategy> Strategies();
// nullptr: no such strategy.
const Strategy* StrategyNamed(std::string_view name);

// A strategy that proves nothing returns the bound of the largest single operator. `file_order`,
// where given, must be a valid order.
Outcome Run(Method method, const Problem& problem, const Limits& limits,
            const StrategyOptions& options);

}  // namespace neap::schedule
