// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/place.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "neap/arena/arena.h"
#include "neap/arena/check.h"
#include "neap/arena/memories.h"
#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/compile/placement_memo.h"

namespace neap::compile {
namespace {

using graph::SubgraphId;
using graph::TensorId;

class Placer {
 public:
  Placer(const graph::Graph& graph, const Timeline& timeline, const AllSizes& sizes,
         const plan::Profile& profile)
      : timeline_(timeline), sizes_(sizes), profile_(profile) {
    for (const graph::Subgraph& subgraph : graph.subgraphs) {
      index_.push_back(IdVector<TensorId, std::int32_t>(subgraph.tensors.size(), -1));
    }
    CollectTensors();
    MakeBuffers();
  }

  // Lets the pairs share bytes; those that the addresses make no use of cost nothing.
  void Allow(const std::vector<plan::Overlap>& overlaps) {
    // What a call allows every call does: the rule is told once.
    std::set<std::pair<arena::BufferIndex, arena::BufferIndex>> known;
    for (const plan::Overlap& overlap : overlaps) {
      const arena::BufferIndex input = BufferOf(overlap.subgraph, overlap.input);
      const arena::BufferIndex output = BufferOf(overlap.subgraph, overlap.output);
      if (input < 0 || output < 0 || input == output || !MayShare(overlap)) continue;
      allowed_.push_back(overlap);
      if (IsCalledAgain(input) && !known.emplace(input, output).second) continue;
      if (overlap.kind == plan::OverlapKind::kHoldsInput) {
        arena::AddExactlyAt(problem_, output, input, overlap.bytes);
      } else if (overlap.kind == plan::OverlapKind::kHoldsOutput) {
        arena::AddExactlyAt(problem_, input, output, overlap.bytes);
      } else if (overlap.kind == plan::OverlapKind::kDeadPart) {
        // The output ends where the input is still read, at most, or is above it.
        const auto at = [&](arena::BufferIndex buffer) {
          return problem_.buffers[static_cast<std::size_t>(buffer)].bytes;
        };
        problem_.pairs.push_back({input, output, overlap.bytes - at(output), at(input)});
      } else if (overlap.kind == plan::OverlapKind::kCopiedIn) {
        problem_.pairs.push_back(arena::Unrelated(input, output));
      } else {
        problem_.pairs.push_back(arena::StartsBelow(problem_, input, output, overlap.bytes));
      }
    }
  }

  std::optional<Placed> Solve(const PlaceEffort& effort) const {
    arena::SolveOptions options;
    options.limits = effort.limits;
    const auto solve = [&] {
      return effort.memo != nullptr ? effort.memo->Solve(problem_, options)
                                    : arena::Solve(problem_, options);
    };
    if (!effort.of_use) return Verified(solve());
    const std::int64_t least = AlignUp(arena::LoadLowerBound(problem_), profile_.alignment);
    if (!effort.of_use(least)) return std::nullopt;
    const std::int64_t side_by_side = SideBySide();
    if (!effort.aims || effort.of_use(side_by_side)) return Verified(solve());
    options.goal_bytes = MostOfUse(effort, least, side_by_side);
    arena::Outcome outcome = solve();
    if (outcome.placement.height_bytes > *options.goal_bytes || outcome.optimal()) {
      return Verified(outcome);
    }
    // It is of use: how little it needs counts.
    options.goal_bytes.reset();
    arena::Outcome lower = solve();
    if (lower.placement.height_bytes < outcome.placement.height_bytes) outcome = std::move(lower);
    return Verified(outcome);
  }

  // More than any placement takes.
  std::int64_t SideBySide() const {
    std::int64_t bytes = 0;
    for (const arena::Buffer& buffer : problem_.buffers) {
      bytes += AlignUp(buffer.bytes, profile_.alignment);
    }
    return bytes;
  }

  // The largest arena that is of use, in steps of the alignment; `least` is, `most` is not.
  std::int64_t MostOfUse(const PlaceEffort& effort, std::int64_t least, std::int64_t most) const {
    std::int64_t low = least / profile_.alignment;
    std::int64_t high = most / profile_.alignment;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (effort.of_use(middle * profile_.alignment)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low * profile_.alignment;
  }

  Placed Verified(const arena::Outcome& outcome) const {
    const auto violation = arena::FindViolation(problem_, outcome.placement);
    NEAP_CHECK(!violation, "the placement is wrong: " + violation.value_or(""));
    Placed placed = Told(outcome.placement.offsets, {});
    placed.arena_bytes = outcome.placement.height_bytes;
    // All heights are multiples of the alignment.
    placed.lower_bound_bytes = AlignUp(outcome.lower_bound_bytes, profile_.alignment);
    return placed;
  }

  Result<Placed> SolveInMemories(const graph::Graph& graph,
                                 const std::vector<plan::Memory>& memories,
                                 const Limits& limits) const {
    arena::MemoryProblem problem;
    problem.problem = problem_;
    constexpr std::int64_t kMostUnit = 1'000'000'000'000;
    // In units in which a byte takes a whole number in every memory.
    std::int64_t unit = 1;
    for (const plan::Memory& memory : memories) {
      problem.capacities_bytes.push_back(memory.capacity_bytes);
      const std::int64_t shared = std::gcd(unit, memory.bytes_per_kilocycle);
      const auto both = CheckedMultiply(unit, memory.bytes_per_kilocycle / shared);
      if (!both || *both > kMostUnit) {
        return Fail(UsageError("the bandwidths of the memories are too fine to be compared"));
      }
      unit = *both;
    }
    for (const std::int64_t accessed : AccessedBytes(graph)) {
      for (const plan::Memory& memory : memories) {
        const auto cost = CheckedMultiply(accessed, unit / memory.bytes_per_kilocycle);
        if (!cost || *cost > kMostBytes / static_cast<std::int64_t>(problem_.buffers.size() + 1)) {
          return Fail(BadInput("the bytes that operators access are out of range"));
        }
        problem.costs.push_back(*cost);
      }
    }
    if (const auto wrong = arena::Validate(problem)) return Fail(BadInput(*wrong));
    const arena::MemoryOutcome outcome = arena::SolveMemories(problem, limits);
    if (!outcome.best) {
      return Fail(OverBudget(outcome.impossible
                                 ? "no placement fits into the memories"
                                 : "no placement that fits into the memories was found"));
    }
    const auto violation = arena::FindViolation(problem, *outcome.best);
    NEAP_CHECK(!violation, "the placement is wrong: " + violation.value_or(""));
    Placed placed = Told(outcome.best->offsets, outcome.best->memories);
    placed.memory_bytes = outcome.best->heights_bytes;
    placed.arena_bytes =
        std::accumulate(placed.memory_bytes.begin(), placed.memory_bytes.end(), std::int64_t{0});
    placed.lower_bound_bytes =
        std::min(placed.arena_bytes, AlignUp(arena::LoadLowerBound(problem_), profile_.alignment));
    const auto cycles = [&](std::int64_t cost) {
      constexpr std::int64_t kKilo = 1000;
      return cost / unit * kKilo + (cost % unit * kKilo + unit - 1) / unit;
    };
    placed.access_cycles = cycles(outcome.best->cost);
    placed.access_cycles_lower_bound = cycles(outcome.lower_bound_cost);
    return placed;
  }

 private:
  Placed Told(const std::vector<std::int64_t>& offsets,
              const std::vector<arena::MemoryIndex>& memories) const {
    const auto memory = [&](arena::BufferIndex buffer) {
      return memories.empty() ? 0 : memories[static_cast<std::size_t>(buffer)];
    };
    Placed placed;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const LiveTensor& live = tensors_[i];
      placed.tensors.push_back(
          {live.subgraph, live.tensor, offsets[static_cast<std::size_t>(buffer_[i])],
           sizes_[live.subgraph].exact[live.tensor], live.first, live.last, memory(buffer_[i])});
    }
    for (std::size_t i = 0; i < timeline_.scratch.size(); ++i) {
      placed.scratch.push_back({timeline_.scratch[i].first,
                                offsets[static_cast<std::size_t>(scratch_[i])],
                                timeline_.scratch[i].bytes, memory(scratch_[i])});
    }
    for (const plan::Overlap& overlap : allowed_) {
      if (memory(BufferOf(overlap.subgraph, overlap.input)) ==
              memory(BufferOf(overlap.subgraph, overlap.output)) &&
          Share(overlap, offsets)) {
        placed.overlaps.push_back(overlap);
      }
    }
    return placed;
  }

  // Of every buffer, the bytes that operators read and write; scratch is written and read once.
  std::vector<std::int64_t> AccessedBytes(const graph::Graph& graph) const {
    std::vector<std::int64_t> accessed(problem_.buffers.size(), 0);
    for (const plan::Step& step : timeline_.steps) {
      if (!step.op.valid()) continue;
      const graph::Op& op = graph.subgraphs[step.subgraph].ops[step.op];
      for (const auto* list : {&op.inputs, &op.captures, &op.outputs}) {
        for (const TensorId tensor : *list) {
          if (!tensor.valid()) continue;
          const arena::BufferIndex buffer = BufferOf(step.subgraph, tensor);
          if (buffer < 0) continue;
          accessed[static_cast<std::size_t>(buffer)] += sizes_[step.subgraph].exact[tensor];
        }
      }
    }
    for (std::size_t i = 0; i < scratch_.size(); ++i) {
      accessed[static_cast<std::size_t>(scratch_[i])] += 2 * timeline_.scratch[i].bytes;
    }
    return accessed;
  }

  // Each tensor once, with the hull of its calls.
  void CollectTensors() {
    for (const LiveTensor& live : timeline_.tensors) {
      std::int32_t& at = index_[live.subgraph][live.tensor];
      if (at < 0) {
        at = static_cast<std::int32_t>(tensors_.size());
        tensors_.push_back(live);
        in_first_call_.push_back({live.first, live.last});
      } else {
        LiveTensor& known = tensors_[static_cast<std::size_t>(at)];
        known.first = std::min(known.first, live.first);
        known.last = std::max(known.last, live.last);
      }
    }
  }

  void MakeBuffers() {
    // In-place overlaps form forests: every tensor is the output of at most one and the input of at
    // most one.
    std::vector<std::int32_t> root(tensors_.size());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](std::int32_t i) {
      while (root[static_cast<std::size_t>(i)] != i) i = root[static_cast<std::size_t>(i)];
      return i;
    };
    for (const plan::Overlap& overlap : timeline_.overlaps) {
      const std::int32_t a = find(index_[overlap.subgraph][overlap.input]);
      const std::int32_t b = find(index_[overlap.subgraph][overlap.output]);
      root[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
    buffer_.assign(tensors_.size(), -1);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const LiveTensor& live = tensors_[i];
      const auto r = static_cast<std::size_t>(find(static_cast<std::int32_t>(i)));
      if (r == i) {
        buffer_[i] = Add(sizes_[live.subgraph].counted[live.tensor], live.first, live.last);
        calls_.push_back({live.subgraph, in_first_call_[i]});
        members_.push_back({static_cast<std::int32_t>(i)});
      } else {
        buffer_[i] = buffer_[r];
        members_[static_cast<std::size_t>(buffer_[r])].push_back(static_cast<std::int32_t>(i));
        arena::Buffer& shared = problem_.buffers[static_cast<std::size_t>(buffer_[r])];
        shared.first = std::min(shared.first, live.first);
        shared.last = std::max(shared.last, live.last);
        Span& span = calls_[static_cast<std::size_t>(buffer_[r])].in_first_call;
        span.first = std::min(span.first, in_first_call_[i].first);
        span.last = std::max(span.last, in_first_call_[i].last);
      }
    }
    LetTurnsShare();
    for (const LiveScratch& scratch : timeline_.scratch) {
      scratch_.push_back(
          Add(AlignUp(scratch.bytes, profile_.alignment), scratch.first, scratch.last));
    }
  }

  // Tensors of a body that is called several times keep their places from the first call to the
  // last, but they hold values in one call at a time: what never lives together in a call may share
  // bytes.
  void LetTurnsShare() {
    constexpr std::size_t kMostPairs = 200'000;
    std::vector<std::vector<arena::BufferIndex>> of_subgraph(sizes_.size());
    for (std::size_t b = 0; b < calls_.size(); ++b) {
      const auto buffer = static_cast<arena::BufferIndex>(b);
      if (IsCalledAgain(buffer)) of_subgraph[calls_[b].subgraph.index()].push_back(buffer);
    }
    for (const auto& buffers : of_subgraph) {
      if (buffers.size() * buffers.size() / 2 > kMostPairs) continue;
      for (const arena::BufferIndex a : buffers) {
        for (const arena::BufferIndex b : buffers) {
          if (b >= a) break;
          if (!Meet(calls_[static_cast<std::size_t>(a)].in_first_call,
                    calls_[static_cast<std::size_t>(b)].in_first_call)) {
            problem_.pairs.push_back(arena::Unrelated(a, b));
          }
        }
      }
    }
  }

  // Whether it is a tensor's, of a body that is called more than once.
  bool IsCalledAgain(arena::BufferIndex buffer) const {
    const auto b = static_cast<std::size_t>(buffer);
    const arena::Buffer& hull = problem_.buffers[b];
    const Span& span = calls_[b].in_first_call;
    return hull.first != span.first || hull.last != span.last;
  }

  arena::BufferIndex Add(std::int64_t bytes, std::int32_t first, std::int32_t last) {
    problem_.buffers.push_back({bytes, first, last, profile_.alignment, std::nullopt});
    return static_cast<arena::BufferIndex>(problem_.buffers.size()) - 1;
  }

  arena::BufferIndex BufferOf(SubgraphId subgraph, TensorId tensor) const {
    const std::int32_t at = index_[subgraph][tensor];
    return at < 0 ? -1 : buffer_[static_cast<std::size_t>(at)];
  }

  // A rule is about two tensors. Where tensors that are written in place are one buffer it goes for
  // the buffers if no other two of their tensors are ever live together.
  bool MayShare(const plan::Overlap& overlap) const {
    const std::int32_t input = index_[overlap.subgraph][overlap.input];
    const std::int32_t output = index_[overlap.subgraph][overlap.output];
    const arena::BufferIndex reader = buffer_[static_cast<std::size_t>(input)];
    const arena::BufferIndex writer = buffer_[static_cast<std::size_t>(output)];
    const Span& whole = calls_[static_cast<std::size_t>(writer)].in_first_call;
    for (const std::int32_t x : members_[static_cast<std::size_t>(reader)]) {
      if (!Meet(in_first_call_[static_cast<std::size_t>(x)], whole)) continue;
      for (const std::int32_t y : members_[static_cast<std::size_t>(writer)]) {
        if (x == input && y == output) continue;
        if (Meet(in_first_call_[static_cast<std::size_t>(x)],
                 in_first_call_[static_cast<std::size_t>(y)])) {
          return false;
        }
      }
    }
    return true;
  }

  bool Share(const plan::Overlap& overlap, const std::vector<std::int64_t>& offsets) const {
    const auto span = [&](TensorId tensor) {
      const auto at = static_cast<std::size_t>(BufferOf(overlap.subgraph, tensor));
      return std::pair(offsets[at], offsets[at] + problem_.buffers[at].bytes);
    };
    const auto [in_begin, in_end] = span(overlap.input);
    const auto [out_begin, out_end] = span(overlap.output);
    return in_begin < out_end && out_begin < in_end;
  }

  // Half-open.
  struct Span {
    std::int32_t first = 0;
    std::int32_t last = 0;
  };
  static bool Meet(const Span& a, const Span& b) { return a.first < b.last && b.first < a.last; }
  struct Call {
    SubgraphId subgraph;
    Span in_first_call;
  };

  const Timeline& timeline_;
  const AllSizes& sizes_;
  const plan::Profile& profile_;
  arena::Problem problem_;
  std::vector<Span> in_first_call_;                 // of each of tensors_
  std::vector<Call> calls_;                         // of each buffer of tensors
  std::vector<std::vector<std::int32_t>> members_;  // likewise: which of tensors_ are in it
  std::vector<LiveTensor> tensors_;
  IdVector<SubgraphId, IdVector<TensorId, std::int32_t>> index_;  // into tensors_
  std::vector<arena::BufferIndex> buffer_;                        // of each of tensors_
  std::vector<arena::BufferIndex> scratch_;                       // of each LiveScratch
  std::vector<plan::Overlap> allowed_;
};

}  // namespace

std::optional<Placed> PlaceIfOfUse(const graph::Graph& graph, SubgraphId entry,
                                   const Timeline& timeline, const AllSizes& sizes,
                                   const plan::Profile& profile, const OverlapOptions& overlap,
                                   const PlaceEffort& effort) {
  Placer placer(graph, timeline, sizes, profile);
  placer.Allow(AllowedOverlaps(graph, entry, timeline, overlap));
  return placer.Solve(effort);
}

Placed PlaceTimeline(const graph::Graph& graph, SubgraphId entry, const Timeline& timeline,
                     const AllSizes& sizes, const plan::Profile& profile,
                     const OverlapOptions& overlap, const Limits& limits, PlacementMemo* memo) {
  return PlaceIfOfUse(graph, entry, timeline, sizes, profile, overlap, {limits, memo, {}, true})
      .value();
}

Result<Placed> PlaceInMemories(const graph::Graph& graph, SubgraphId entry,
                               const Timeline& timeline, const AllSizes& sizes,
                               const plan::Profile& profile, const OverlapOptions& overlap,
                               const std::vector<plan::Memory>& memories, const Limits& limits) {
  Placer placer(graph, timeline, sizes, profile);
  placer.Allow(AllowedOverlaps(graph, entry, timeline, overlap));
  return placer.SolveInMemories(graph, memories, limits);
}

}  // namespace neap::compile
