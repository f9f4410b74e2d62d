// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/order.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/compile/lower.h"
#include "neap/learn/peak.h"
#include "neap/solve/schedule/check.h"
#include "neap/solve/schedule/question.h"
#include "neap/solve/schedule/schedule.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;

// Of an exact search for the bound of a known order: less than a second of most graphs.
constexpr std::int64_t kStatesOfABound = 20'000;

// Bodies before their callers. Graph::Verify has refused cycles.
std::vector<SubgraphId> BodiesFirst(const Graph& graph) {
  IdVector<SubgraphId, char> done(graph.subgraphs.size(), 0);
  std::vector<SubgraphId> order;
  std::vector<std::pair<SubgraphId, bool>> stack;
  for (const SubgraphId root : graph.subgraphs.Ids()) stack.emplace_back(root, false);
  std::reverse(stack.begin(), stack.end());
  while (!stack.empty()) {
    const auto [id, entered] = stack.back();
    stack.pop_back();
    if (done[id] != 0) continue;
    if (entered) {
      done[id] = 1;
      order.push_back(id);
      continue;
    }
    stack.emplace_back(id, true);
    for (const Op& op : graph.subgraphs[id].ops) {
      for (const SubgraphId body : op.bodies) {
        if (done[body] == 0) stack.emplace_back(body, false);
      }
    }
  }
  return order;
}

void SetCertificate(const Subgraph& subgraph, const schedule::Outcome& outcome,
                    const Lowered& lowered, OrderProof* proof) {
  if (outcome.bound_op < 0) return;
  plan::Certificate& certificate = proof->certificate;
  certificate.op = lowered.ops[static_cast<std::size_t>(outcome.bound_op)];
  // The checker does not see inside an operator: only a search proves bounds of bodies.
  const bool plain = subgraph.ops[certificate.op].bodies.empty();
  certificate.kind = plan::CertificateKind::kSearch;
  if (plain && outcome.proof == schedule::Proof::kSingleOp)
    certificate.kind = plan::CertificateKind::kSingleOperator;
  if (plain && outcome.proof == schedule::Proof::kMinCut) {
    certificate.kind = plan::CertificateKind::kCut;
    for (const schedule::CutPath& path : outcome.witness) {
      plan::CertificatePath out;
      out.bytes = path.bytes;
      for (const schedule::BufferIndex buffer : path.buffers) {
        out.tensors.push_back(lowered.tensors[static_cast<std::size_t>(buffer)]);
      }
      for (const auto& ops : path.through) {
        auto& link = out.through.emplace_back();
        for (const schedule::OpIndex op : ops) {
          link.push_back(lowered.ops[static_cast<std::size_t>(op)]);
        }
      }
      certificate.flow.push_back(std::move(out));
    }
  }
  if (certificate.kind == plan::CertificateKind::kSearch) {
    certificate.states = outcome.states;
    certificate.reversed = outcome.reversed;
  }
}

class SubgraphOrdering {
 public:
  SubgraphOrdering(const Graph& graph, const AllSizes& sizes, const Orders& file_orders,
                   const plan::Profile& profile, const Options& options, std::int64_t below_bytes)
      : graph_(graph),
        sizes_(sizes),
        file_orders_(file_orders),
        profile_(profile),
        options_(options),
        below_(graph.subgraphs.size() == 1 ? below_bytes : 0) {}

  Result<SubgraphOrders> Run() {
    found_.orders = Orders(graph_.subgraphs.size());
    found_.proofs = IdVector<SubgraphId, OrderProof>(graph_.subgraphs.size());
    for (const SubgraphId id : BodiesFirst(graph_)) NEAP_CHECK_OK(OrderOne(id));
    return std::move(found_);
  }

 private:
  // Working memory of every operator: its own, and the most that one of its bodies needs.
  IdVector<OpId, std::int64_t> ScratchOf(const Subgraph& subgraph, bool lower_bounds) const {
    IdVector<OpId, std::int64_t> scratch(subgraph.ops.size(), 0);
    for (const OpId id : subgraph.ops.Ids()) {
      const Op& op = subgraph.ops[id];
      std::int64_t body_bytes = 0;
      for (const SubgraphId body : op.bodies) {
        const OrderProof& proof = found_.proofs[body];
        body_bytes =
            std::max(body_bytes, lower_bounds ? proof.lower_bound_bytes : proof.peak_bytes);
      }
      scratch[id] = AlignUp(op.scratch_bytes, profile_.alignment) + body_bytes;
    }
    return scratch;
  }

  schedule::StrategyOptions StrategyOf(SubgraphId id, const Lowered& lowered) const {
    schedule::StrategyOptions strategy;
    strategy.seed = options_.seed;
    strategy.slack_bytes = options_.slack_bytes;
    strategy.step_states = options_.step_states;
    strategy.soft_budget_bytes = options_.soft_budget_bytes;
    strategy.forced = options_.forced;
    IdVector<OpId, schedule::OpIndex> index_of(graph_.subgraphs[id].ops.size(), -1);
    for (std::size_t i = 0; i < lowered.ops.size(); ++i) {
      index_of[lowered.ops[i]] = static_cast<schedule::OpIndex>(i);
    }
    for (const OpId op : file_orders_[id]) strategy.file_order.push_back(index_of[op]);
    return strategy;
  }

  Result<schedule::Outcome> Search(const schedule::Problem& problem,
                                   const schedule::StrategyOptions& strategy) const {
    if (options_.order.learned) {
      if (!learn::HasBuiltinModels()) {
        return Fail(UsageError("order learned is not supported: this build has no weights for it"));
      }
      if (problem.num_ops > learn::kMaxLearnedNodes) {
        return Fail(UsageError("order learned supports at most " +
                               std::to_string(learn::kMaxLearnedNodes) + " operators, found " +
                               std::to_string(problem.num_ops)));
      }
      const learn::Network network(learn::BuiltinModel(learn::Task::kPeak));
      return learn::LearnedOrder(network, problem, options_.limits);
    }
    if (below_ > 0) return schedule::SolveBelow(problem, options_.limits, below_);
    return schedule::Run(options_.order.method, problem, options_.limits, strategy);
  }

  // The outcome whose bound counts: that of the search itself, or of an exact one.
  schedule::Outcome BoundOf(const schedule::Problem& problem,
                            const schedule::Outcome& searched) const {
    if (options_.order != kFileOrder || !options_.proves_file_order || searched.optimal()) {
      return searched;
    }
    Limits limits = options_.limits;
    limits.max_states =
        limits.max_states > 0 ? std::min(limits.max_states, kStatesOfABound) : kStatesOfABound;
    return schedule::Solve(problem, limits);
  }

  // Of two orders with the same peak the file's own is better: nothing moves.
  void TakeOrder(SubgraphId id, const Lowered& lowered, const schedule::Outcome& outcome,
                 const std::vector<schedule::OpIndex>& file_order) {
    const auto of_file = schedule::ReplayOrder(lowered.problem, file_order);
    const auto of_plan = schedule::ReplayOrder(lowered.problem, outcome.order);
    NEAP_CHECK(of_file && of_plan && of_plan->peak_bytes == outcome.peak_bytes,
               "the order search returned a wrong order");
    const bool keep_file =
        options_.order == kExactOrder && of_file->peak_bytes <= outcome.peak_bytes;
    for (const schedule::OpIndex index : keep_file ? file_order : outcome.order) {
      found_.orders[id].push_back(lowered.ops[static_cast<std::size_t>(index)]);
    }
  }

  Status OrderOne(SubgraphId id) {
    const Subgraph& subgraph = graph_.subgraphs[id];
    const auto upper_scratch = ScratchOf(subgraph, false);
    const auto lower_scratch = ScratchOf(subgraph, true);
    Lowered lowered = LowerOrder(subgraph, sizes_[id], upper_scratch, profile_);
    if (const auto wrong = schedule::Validate(lowered.problem)) return Fail(BadInput(*wrong));
    const schedule::StrategyOptions strategy = StrategyOf(id, lowered);
    NEAP_TRY(const schedule::Outcome outcome, Search(lowered.problem, strategy));
    TakeOrder(id, lowered, outcome, strategy.file_order);
    const schedule::Outcome of_bound = BoundOf(lowered.problem, outcome);
    OrderProof& proof = found_.proofs[id];
    // A body also counts at its entry and exit, where no operator runs: read it off its timeline.
    NEAP_TRY(const Timeline timeline, BuildTimeline(graph_, id, found_.orders, profile_));
    proof.peak_bytes = Largest(LiveBytes(timeline, sizes_, profile_));
    proof.lower_bound_bytes = of_bound.lower_bound_bytes;
    proof.states = of_bound.states;
    if (lower_scratch.Items() != upper_scratch.Items()) {
      // A body without a proven order: this subgraph's bound must not depend on the body's upper
      // bound.
      lowered = LowerOrder(subgraph, sizes_[id], lower_scratch, profile_);
      NEAP_TRY(const schedule::Outcome searched, Search(lowered.problem, strategy));
      const schedule::Outcome bound = BoundOf(lowered.problem, searched);
      proof.lower_bound_bytes = bound.lower_bound_bytes;
      proof.states += bound.states;
    }
    if (lowered.ops.empty()) proof.lower_bound_bytes = proof.peak_bytes;
    proof.lower_bound_bytes = std::min(proof.lower_bound_bytes, proof.peak_bytes);
    SetCertificate(subgraph, of_bound, lowered, &proof);
    return {};
  }

  const Graph& graph_;
  const AllSizes& sizes_;
  const Orders& file_orders_;
  const plan::Profile& profile_;
  const Options& options_;
  std::int64_t below_;
  SubgraphOrders found_;
};

}  // namespace

Result<SubgraphOrders> OrderSubgraphs(const Graph& graph, const AllSizes& sizes,
                                      const Orders& file_orders, const plan::Profile& profile,
                                      const Options& options, std::int64_t below_bytes) {
  return SubgraphOrdering(graph, sizes, file_orders, profile, options, below_bytes).Run();
}

std::int64_t Largest(const std::vector<std::int64_t>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

}  // namespace neap::compile
