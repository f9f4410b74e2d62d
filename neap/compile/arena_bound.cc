// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/arena_bound.h"

#include <algorithm>
#include <cstddef>

#include "neap/base/bytes.h"
#include "neap/base/work.h"
#include "neap/compile/lower.h"
#include "neap/compile/overlap.h"
#include "neap/compile/settings.h"

namespace neap::compile {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;

// Bytes of a tensor that no slice reads any more may be reused: live bytes are no bound there.
bool HasDeadParts(const Subgraph& subgraph) {
  return std::any_of(subgraph.ops.begin(), subgraph.ops.end(), [&](const Op& op) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (ops::FirstByteRead(subgraph, op, i) > 0) return true;
    }
    return false;
  });
}

// For every operator, at most its need in any order.
IdVector<OpId, std::int64_t> LeastScratch(const Measured& measured, const Subgraph& subgraph,
                                          const IdVector<SubgraphId, OrderProof>& proofs,
                                          const OverlapOptions& overlap) {
  IdVector<OpId, std::int64_t> scratch(subgraph.ops.size(), 0);
  for (const OpId op : subgraph.ops.Ids()) {
    std::int64_t body_bytes = 0;
    for (const SubgraphId body : subgraph.ops[op].bodies) {
      // Where tensors of a body overlap, its peak is no bound of its arena.
      if (MayOverlap(measured.merged(), body, overlap)) continue;
      body_bytes = std::max(body_bytes, proofs[body].lower_bound_bytes);
    }
    scratch[op] = AlignUp(subgraph.ops[op].scratch_bytes, measured.profile.alignment) + body_bytes;
  }
  return scratch;
}

std::int64_t LargestTensor(const Timeline& timeline, const AllSizes& sizes) {
  std::int64_t largest = 0;
  for (const LiveTensor& live : timeline.tensors) {
    largest = std::max(largest, sizes[live.subgraph].counted[live.tensor]);
  }
  return largest;
}

}  // namespace

std::optional<ArenaOrder> FindArenaOrder(const Measured& measured, SubgraphId entry,
                                         const std::vector<OpId>& order,
                                         const IdVector<SubgraphId, OrderProof>& proofs,
                                         const Options& options) {
  const Subgraph& subgraph = measured.merged().subgraphs[entry];
  const OverlapOptions overlap = {KernelsOf(options), false};
  if (overlap.kernels == ops::KernelLibrary::kNone || options.order != kExactOrder ||
      !MayOverlap(measured.merged(), entry, overlap) || IsOnlyOrder(subgraph, order) ||
      HasDeadParts(subgraph)) {
    return std::nullopt;
  }
  // Which operators come before which is looked up by pairs.
  constexpr std::int64_t kPairWork = 2;
  const auto operators = static_cast<std::int64_t>(subgraph.ops.size());
  if (!Affords(options.limits, operators * operators * kPairWork)) return std::nullopt;
  const auto scratch = LeastScratch(measured, subgraph, proofs, overlap);
  const WorkScope work(1, 2);
  return SearchArenaOrder(subgraph, measured.sizes[entry], scratch, measured.profile, overlap,
                          WithShareOfTime(options.limits, 1, 2));
}

std::int64_t ArenaBoundSeen(const Measured& measured, SubgraphId entry, const Timeline& timeline,
                            ops::KernelLibrary kernels) {
  const std::int64_t largest = LargestTensor(timeline, measured.sizes);
  if (kernels == ops::KernelLibrary::kNone) return largest;
  return std::max(
      largest, SingleOperatorArenaBound(measured.merged().subgraphs[entry], measured.sizes[entry],
                                        measured.profile, {kernels, false}));
}

std::int64_t ArenaBound(const Measured& measured, SubgraphId entry, const PlacedOrder& placed,
                        const std::optional<ArenaOrder>& searched, std::int64_t peak_bound,
                        ops::KernelLibrary kernels) {
  const std::int64_t seen = ArenaBoundSeen(measured, entry, placed.timeline, kernels);
  if (kernels == ops::KernelLibrary::kNone) return std::max(peak_bound, seen);
  // If there is only one order, its bound is one of all orders.
  const bool only_order = IsOnlyOrder(measured.merged().subgraphs[entry], placed.order);
  return std::max({seen, searched ? searched->lower_bound_bytes : 0,
                   only_order ? placed.placed.lower_bound_bytes : 0,
                   MayOverlap(measured.merged(), entry, {kernels, false}) ? 0 : peak_bound});
}

}  // namespace neap::compile
