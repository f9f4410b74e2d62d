// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/stream.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "neap/check/check.h"
#include "neap/ops/recurrence.h"
#include "neap/transform/stream/assemble.h"
#include "neap/transform/stream/bound.h"
#include "neap/transform/stream/instructions.h"
#include "neap/transform/stream/recompute.h"
#include "neap/transform/stream/search.h"

namespace neap::stream {
namespace {

constexpr std::int64_t kLayerwise = 1000;  // permille
constexpr std::size_t kMaxGateSets = 8;    // that take two passes together

std::int64_t CostOf(const plan::Stream& stream, Objective objective) {
  return objective == Objective::kMacs ? stream.macs : stream.cycles;
}

// Overflow is out of reach: images have at most 2^28 bytes, pixels at most 2^40 products.
std::int64_t MostThousands(std::int64_t layerwise, std::int64_t permille) {
  return (layerwise / 1000 * permille + layerwise % 1000) / 1000;
}

bool Allowed(const Candidate& candidate, const Options& options) {
  const plan::Stream& stream = candidate.stream;
  return stream.macs / 1000 <= MostThousands(stream.layerwise_macs, options.max_macs_permille);
}

// Within what executor and checker accept.
bool IsExecutable(const Assembled& assembled) {
  std::int64_t boxes = 0;
  for (const plan::StreamSegment& segment : assembled.stream.segments) {
    for (const plan::StreamOp& op : segment.ops) {
      boxes += static_cast<std::int64_t>(op.rows.size() * op.columns.size());
    }
  }
  return boxes <= plan::kMaxStreamBoxes && assembled.arena_bytes <= plan::kMaxStreamBytes;
}

// Variables are behind everything else, in the same place in every segment.
void AddVariables(const graph::Subgraph& subgraph, const Network& network, Assembled* assembled) {
  const plan::StreamImages images = plan::ImagesOf(subgraph);
  for (const graph::TensorId tensor : network.variables) {
    const plan::StreamImage& image = images[tensor];
    for (plan::StreamSegment& segment : assembled->stream.segments) {
      segment.areas.push_back({tensor, {{assembled->arena_bytes, image.height * image.width}}});
    }
    assembled->arena_bytes += image.bytes();
  }
}

// A plan, and the parameters of its bound.
struct Found {
  Candidate candidate;
  std::vector<std::int64_t> heights;  // most rows of a block of each image
};

// Those that no other one beats in both; by arena.
std::vector<const Found*> Undominated(const std::vector<Found>& all, Objective objective) {
  const auto cost = [&](const Found* found) { return CostOf(found->candidate.stream, objective); };
  std::vector<const Found*> sorted;
  sorted.reserve(all.size());
  for (const Found& found : all) sorted.push_back(&found);
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Found* a, const Found* b) {
    if (a->candidate.arena_bytes != b->candidate.arena_bytes) {
      return a->candidate.arena_bytes < b->candidate.arena_bytes;
    }
    if (cost(a) != cost(b)) return cost(a) < cost(b);
    // Of equal ones the one that is better otherwise.
    const Objective other = objective == Objective::kMacs ? Objective::kCycles : Objective::kMacs;
    return CostOf(a->candidate.stream, other) < CostOf(b->candidate.stream, other);
  });
  std::vector<const Found*> front;
  for (const Found* found : sorted) {
    if (front.empty() || cost(front.back()) > cost(found)) front.push_back(found);
  }
  return front;
}

template <typename IsAllowed>
std::size_t Choose(const std::vector<Candidate>& front, const Options& options,
                   const IsAllowed& is_allowed) {
  // The front goes from few bytes and much work to many bytes and little work.
  std::size_t min_work = front.size() - 1;
  if (options.budget_bytes > 0) {
    for (std::size_t i = front.size(); i-- > 0;) {
      const bool fits = front[i].arena_bytes <= options.budget_bytes;
      if (fits && is_allowed(front[i])) return i;
    }
  }
  for (std::size_t i = 0; i < front.size(); ++i) {
    if (is_allowed(front[i])) return i;
  }
  return min_work;
}

// Most rows of a block of each image, whichever time it is computed.
std::vector<std::int64_t> HeightsOf(const Network& network, const Network& searched,
                                    const Assembled& assembled) {
  std::vector<std::int64_t> heights(network.images.size(), 1);
  std::map<graph::TensorId, std::size_t> index;
  for (std::size_t i = 0; i < network.images.size(); ++i) index[network.images[i].tensor] = i;
  for (std::size_t i = 0; i < searched.images.size(); ++i) {
    if (!searched.images[i].tensor.valid()) continue;
    std::int64_t& height = heights[index.at(searched.images[i].tensor)];
    height = std::max(height, assembled.heights[i]);
  }
  return heights;
}

// Plans of one subgraph. Parts that do not depend on the objective are computed once: the networks,
// the costs of their segments, and bounds.
class Planner {
 public:
  Planner(const graph::Graph& graph, graph::SubgraphId subgraph, const Options& options,
          Network network)
      : graph_(graph),
        subgraph_(subgraph),
        options_(options),
        network_(std::move(network)),
        most_macs_(MostThousands(network_.macs, options.max_macs_permille) * 1000 + 999),
        bounds_(network_, options.search.input) {}

  // For each objective, a search for the other objective may find one that is better.
  Status SearchAll() {
    const bool recompute = options_.search.recompute;
    for (const Objective objective : {Objective::kMacs, Objective::kCycles}) {
      options_.search.objective = objective;
      // Faster plans that compute rows again, which are not allowed, would beat others.
      options_.search.recompute =
          recompute && (objective == Objective::kMacs || options_.max_macs_permille > kLayerwise ||
                        options_.search.processor == Processor::kCortexM7);
      found_from_ = all_.size();
      if (!Add(network_, &prices_[{}])) {
        return Fail(BadInput(
            cut_short_
                ? "cannot be streamed: a limit ended the search for segments of an input's rows"
                : "cannot be streamed: an input that is passed row by row is read as a whole"));
      }
      if (options_.max_macs_permille > kLayerwise) NEAP_CHECK_OK(AddTwoPasses());
    }
    if (all_.empty()) return Fail(BadInput("cannot be streamed: the plan would be too large"));
    return {};
  }

  Planned PlanFor(Objective objective) {
    Planned planned;
    planned.cut_short = cut_short_;
    const std::vector<const Found*> front = Undominated(all_, objective);
    for (const Found* found : front) {
      planned.front.push_back(found->candidate);
      planned.front.back().stream.lower_bound_bytes =
          bounds_.For(found->heights) + network_.variable_bytes;
    }
    planned.chosen = Choose(planned.front, options_, [&](const Candidate& one) {
      return Allowed(one, options_) && IsFast(one);
    });
    // The better bound takes longer: of the chosen plan and of the smallest, of those that compute
    // every pixel once.
    bool first = true;
    for (std::size_t i = 0; i < front.size(); ++i) {
      plan::Stream& stream = planned.front[i].stream;
      if (stream.macs != stream.layerwise_macs || (!first && i != planned.chosen)) continue;
      first = false;
      const std::int64_t variables = network_.variable_bytes;
      stream.lower_bound_bytes =
          bounds_.ByMoments(front[i]->heights, planned.front[i].arena_bytes - variables) +
          variables;
    }
    return planned;
  }

 private:
  bool IsFast(const Candidate& candidate) const {
    if (options_.max_instructions == 0) return true;
    plan::EntryPlan entry;
    entry.subgraph = subgraph_;
    entry.stream = candidate.stream;
    return InstructionsOfEntry(options_.search.processor, graph_, entry) <=
           options_.max_instructions;
  }

  // False: nothing was found.
  bool Add(const Network& searched, Prices* prices) {
    const Front found = Search(searched, options_.search, most_macs_, prices);
    cut_short_ = cut_short_ || found.cut_short;
    for (const Point& point : found.points) {
      Assembled assembled = Assemble(searched, point.segments, options_.search.input);
      AddVariables(graph_.subgraphs[subgraph_], searched, &assembled);
      if (!IsExecutable(assembled)) continue;
      std::vector<std::int64_t> heights = HeightsOf(network_, searched, assembled);
      all_.push_back({{std::move(assembled.stream), assembled.arena_bytes}, std::move(heights)});
    }
    return !found.points.empty();
  }

  // Of the search for this objective.
  std::int64_t LeastBytes() const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = found_from_; i < all_.size(); ++i) {
      least = std::min(least, all_[i].candidate.arena_bytes);
    }
    return least;
  }

  // Plans with gates in two passes: first all gates that prevent a smaller arena; then, because
  // each costs extra work, only those with more bytes than some size, down to the size reached
  // before.
  Status AddTwoPasses() {
    const std::int64_t before = LeastBytes();
    const std::vector<Gate> gates = FindGates(network_);
    std::set<std::size_t> tried = {0};
    const auto with = [&](std::int64_t bytes) -> Status {
      std::vector<Gate> some;
      std::vector<int> products;
      for (const Gate& gate : gates) {
        if (gate.held_bytes <= bytes) continue;
        some.push_back(gate);
        products.push_back(gate.product);
      }
      if (!tried.insert(some.size()).second) return {};
      NEAP_TRY(const Network recomputed,
               MakeNetwork(graph_, subgraph_, OrderWithRecomputedBodies(network_, some),
                           options_.search.emits, true, options_.search.processor));
      Add(recomputed, &prices_[products]);
      return {};
    };
    if (gates.empty() || gates[0].held_bytes < before / 2) return {};
    NEAP_CHECK_OK(with(before / 4));
    const std::int64_t after = LeastBytes();
    if (after >= before) return {};
    NEAP_CHECK_OK(with(after));
    for (std::size_t g = 0; g < gates.size() && tried.size() <= kMaxGateSets; ++g) {
      if (gates[g].held_bytes > after) NEAP_CHECK_OK(with(gates[g].held_bytes - 1));
    }
    return {};
  }

  const graph::Graph& graph_;
  graph::SubgraphId subgraph_;
  Options options_;
  Network network_;
  std::int64_t most_macs_;                     // of a plan that is allowed
  std::map<std::vector<int>, Prices> prices_;  // by the products whose gates take two passes
  Bounds bounds_;
  std::vector<Found> all_;
  std::size_t found_from_ = 0;  // of `all_`, by the search for this objective
  bool cut_short_ = false;
};

}  // namespace

Result<std::vector<Planned>> PlanStreams(const graph::Graph& graph, graph::SubgraphId subgraph,
                                         const std::vector<graph::OpId>& order,
                                         const Options& options,
                                         std::span<const Objective> objectives) {
  NEAP_TRY(Network network, MakeNetwork(graph, subgraph, order, options.search.emits, true,
                                        options.search.processor));
  Planner planner(graph, subgraph, options, std::move(network));
  NEAP_CHECK_OK(planner.SearchAll());
  std::vector<Planned> all;
  for (const Objective objective : objectives) all.push_back(planner.PlanFor(objective));
  return all;
}

Result<Planned> PlanStream(const graph::Graph& graph, graph::SubgraphId subgraph,
                           const std::vector<graph::OpId>& order, const Options& options) {
  NEAP_TRY(std::vector<Planned> all,
           PlanStreams(graph, subgraph, order, options, std::span(&options.search.objective, 1)));
  return std::move(all[0]);
}

plan::EntryPlan EntryOf(const graph::Graph& graph, graph::SubgraphId subgraph,
                        const Candidate& candidate) {
  const graph::Subgraph& entry_graph = graph.subgraphs[subgraph];
  plan::EntryPlan entry;
  entry.subgraph = subgraph;
  for (const graph::Signature& signature : graph.signatures) {
    if (signature.subgraph == subgraph) entry.signature = signature.key;
  }
  entry.stream = candidate.stream;
  entry.arena_bytes = entry.peak_bytes = candidate.arena_bytes;
  // Only bounds that the checker also derives, independently, are reported.
  entry.stream->lower_bound_bytes =
      std::min(candidate.stream.lower_bound_bytes, check::CheckedStreamBound(graph, entry));
  IdVector<graph::OpId, bool> seen(entry_graph.ops.size(), false);
  for (const plan::StreamSegment& segment : candidate.stream.segments) {
    for (const plan::StreamOp& op : segment.ops) {
      if (!op.op.valid() || seen[op.op]) continue;
      seen[op.op] = true;
      entry.steps.push_back({subgraph, op.op, {}});
    }
  }
  // In every order and for all blocks: inputs exist before the first of them, outputs after the
  // last.
  std::int64_t in = 0;
  std::int64_t out = 0;
  for (const graph::TensorId tensor : entry_graph.inputs) {
    const bool read = std::any_of(
        candidate.stream.segments[0].areas.begin(), candidate.stream.segments[0].areas.end(),
        [&](const plan::StreamArea& area) { return area.tensor == tensor; });
    if (read) in += graph::TensorBytes(entry_graph.tensors[tensor]).value_or(0);
  }
  if (candidate.stream.input != plan::StreamInput::kResident) in = 0;
  if (entry.stream->slow) {
    plan::SlowMemory& slow = *entry.stream->slow;
    std::int64_t checked = check::CheckedTrafficBound(graph, entry);
    if (checked < slow.traffic_lower_bound_bytes && !slow.moments.empty()) {
      slow.moments.clear();
      checked = check::CheckedTrafficBound(graph, entry);
    }
    slow.traffic_lower_bound_bytes = std::min(slow.traffic_lower_bound_bytes, checked);
  }
  for (const graph::TensorId tensor : entry_graph.outputs) {
    if (entry_graph.tensors[tensor].constant || candidate.stream.slow) continue;
    // An input of the caller's that is an output, too, is never in the arena.
    if (candidate.stream.input == plan::StreamInput::kExternal &&
        std::find(entry_graph.inputs.begin(), entry_graph.inputs.end(), tensor) !=
            entry_graph.inputs.end()) {
      continue;
    }
    out = std::max(out, graph::TensorBytes(entry_graph.tensors[tensor]).value_or(0));
  }
  std::int64_t bound = std::max(in, out);
  for (const graph::Op& op : entry_graph.ops) bound += ops::VariableBytesOf(entry_graph, op);
  entry.peak_lower_bound_bytes = bound;
  entry.arena_lower_bound_bytes = entry.arena_given_order_lower_bound_bytes = bound;
  entry.order_status = entry.arena_status =
      bound == entry.arena_bytes ? plan::BoundStatus::kOptimal : plan::BoundStatus::kBounded;
  return entry;
}

}  // namespace neap::stream
