// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/repetition.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "neap/base/check.h"
#include "neap/compile/lower.h"
#include "neap/compile/measured.h"
#include "neap/compile/runtime_graph.h"
#include "neap/ops/macs.h"
#include "neap/plan/profile.h"
#include "neap/solve/rematerialise/problem.h"
#include "neap/solve/rematerialise/rematerialise.h"

namespace neap::compile {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

struct LoweredRepetition {
  rematerialise::Problem problem;
  std::vector<OpId> ops;  // problem index -> operator; folded operators are left out
  IdVector<OpId, rematerialise::OpIndex> index_of;
};

LoweredRepetition LowerRepetition(const Subgraph& subgraph, const TensorSizes& sizes,
                                  const IdVector<OpId, char>& repeatable) {
  LoweredRepetition lowered;
  lowered.index_of = IdVector<OpId, rematerialise::OpIndex>(subgraph.ops.size(), -1);
  // The costs of all operators together fit.
  const auto most = (std::int64_t{1} << 58) / static_cast<std::int64_t>(subgraph.ops.size() + 1);
  for (const OpId id : subgraph.ops.Ids()) {
    if (subgraph.ops[id].folded) continue;
    lowered.index_of[id] = static_cast<rematerialise::OpIndex>(lowered.ops.size());
    lowered.ops.push_back(id);
    rematerialise::Op op;
    op.cost = std::min(ops::CostOf(subgraph, subgraph.ops[id]), most);
    op.scratch_bytes = subgraph.ops[id].scratch_bytes;
    op.repeatable = repeatable[id] != 0;
    lowered.problem.ops.push_back(op);
  }
  IdVector<TensorId, std::int32_t> value_of(subgraph.tensors.size(), -1);
  const auto value = [&](TensorId id) -> rematerialise::Value& {
    std::int32_t& index = value_of[id];
    if (index < 0) {
      index = static_cast<std::int32_t>(lowered.problem.values.size());
      lowered.problem.values.emplace_back();
      lowered.problem.values.back().bytes = sizes.counted[id];
    }
    return lowered.problem.values[static_cast<std::size_t>(index)];
  };
  const auto counts = [&](TensorId id) { return id.valid() && IsPlanned(subgraph.tensors[id]); };
  for (const OpId id : lowered.ops) {
    const Op& op = subgraph.ops[id];
    const rematerialise::OpIndex index = lowered.index_of[id];
    for (const TensorId output : op.outputs) {
      if (counts(output)) value(output).writer = index;
    }
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId input : *list) {
        if (!counts(input)) continue;
        auto& readers = value(input).readers;
        if (readers.empty() || readers.back() != index) readers.push_back(index);
      }
    }
  }
  for (const TensorId id : subgraph.outputs) {
    if (counts(id)) value(id).live_at_end = true;
  }
  for (const auto& [before, after] : PrecedencesOf(subgraph)) {
    lowered.problem.precedences.emplace_back(lowered.index_of[before], lowered.index_of[after]);
  }
  return lowered;
}

}  // namespace

Result<Repetitions> FindRepetitions(const graph::Graph& graph, const Options& options,
                                    const IdVector<OpId, char>& repeatable,
                                    std::int64_t max_cost_permille) {
  const plan::Profile profile = plan::ProfileOf(options.runtime, *options.target);
  NEAP_TRY(const Measured measured, Measure(graph, profile));
  NEAP_TRY(const PeakOfOrder best, FindPeak(graph, options, false));
  const SubgraphId main(0);
  // Outputs that the runtime puts over inputs count apart: which of them can depends on the order.
  const Subgraph& subgraph = measured.runtime_graph.apart().subgraphs[main];
  NEAP_TRY(const TensorSizes sizes, SizesOf(subgraph, profile));
  const LoweredRepetition lowered = LowerRepetition(subgraph, sizes, repeatable);
  const auto error = rematerialise::Validate(lowered.problem);
  NEAP_CHECK(!error, "the problem of repetitions is malformed: " + error.value_or(""));
  std::vector<rematerialise::OpIndex> start;
  start.reserve(best.order.size());
  for (const OpId id : best.order) start.push_back(lowered.index_of[id]);
  Repetitions found;
  found.base_cost = rematerialise::BaseCost(lowered.problem);
  rematerialise::Effort effort;
  effort.limits = options.limits;
  // Thousandths of a large cost.
  const std::int64_t max_cost = found.base_cost / 1000 * max_cost_permille +
                                found.base_cost % 1000 * max_cost_permille / 1000;
  const rematerialise::Outcome outcome =
      rematerialise::Solve(lowered.problem, start, max_cost, effort);
  for (const rematerialise::Point& point : outcome.points) {
    Repetition one;
    for (const rematerialise::OpIndex op : point.sequence) {
      one.sequence.push_back(lowered.ops[static_cast<std::size_t>(op)]);
    }
    one.peak_bytes = point.peak_bytes;
    one.cost = point.cost;
    one.least_cost = point.least_cost;
    found.points.push_back(std::move(one));
  }
  const bool is_modelled = !profile.in_place && !profile.shares_as_litert &&
                           profile.kernels == ops::KernelLibrary::kNone &&
                           options.kernels == ops::KernelLibrary::kNone;
  if (is_modelled) found.lower_bound_bytes = outcome.lower_bound_bytes;
  found.states = outcome.states;
  found.moves = outcome.moves;
  return found;
}

}  // namespace neap::compile
