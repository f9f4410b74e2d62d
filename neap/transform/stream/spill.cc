// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/spill.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "neap/transform/stream/assemble.h"
#include "neap/transform/stream/moments.h"
#include "neap/transform/stream/placement.h"
#include "neap/transform/stream/slow_memory.h"
#include "neap/transform/stream/spill_single.h"
#include "neap/transform/stream/spill_ways.h"

namespace neap::stream {
namespace {

constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::size_t kMaxStates = 4096;  // sets of tensors in fast memory before one node
constexpr int kMaxAssemblies = 8;
constexpr std::size_t kMaxAhead = 16;  // segments that may read ahead

// The best plan up to a node that leaves `fast` in fast memory.
struct State {
  std::int64_t traffic = kInfinite;
  std::int64_t cycles = 0;
  const std::vector<int>* from = nullptr;  // the key of the state before `way`
  const Way* way = nullptr;
};
using States = std::map<std::vector<int>, State>;

class Spiller {
 public:
  Spiller(const graph::Subgraph& subgraph, Network network, const SearchOptions& options,
          std::int64_t fast_bytes)
      : network_(std::move(network)), options_(options), fast_bytes_(fast_bytes) {
    if (options.slow_weights) weights_.emplace(subgraph, network_, options.emits);
    for (Image& image : network_.images) {
      image.slow = image.is_input || image.is_output || !image.readers.empty();
    }
  }

  Candidate Run(const graph::Subgraph& subgraph) {
    Ways ways(network_, options_, fast_bytes_, weights_ ? &*weights_ : nullptr);
    ways.Find();
    cut_short_ = ways.cut_short();
    ways_ = &ways;
    std::int64_t most = std::max(fast_bytes_, Floor());
    const std::int64_t limit = most;
    std::optional<Made> best;
    bool is_stacked = false;  // plans that are stacked may be better
    // Copies between segments may need more than the segments.
    for (int tries = 0; tries < kMaxAssemblies; ++tries) {
      const auto path = Shortest(ways.by_first(), most, tries + 1 < kMaxAssemblies);
      if (path.empty()) break;
      Made found = Make(subgraph, path);
      const std::int64_t over = found.plan.arena_bytes - limit;
      const auto rank = [&](const Candidate& candidate) {
        const bool fits = candidate.arena_bytes <= limit;
        return std::make_tuple(
            !fits, fits ? candidate.stream.slow->TrafficBytes() : candidate.arena_bytes);
      };
      if (!best || rank(found.plan) < rank(best->plan)) best = std::move(found);
      if (over <= 0) break;
      is_stacked = true;
      most -= std::max<std::int64_t>(over, limit / 64);
    }
    if (!best || best->plan.arena_bytes > limit) {
      best = Make(subgraph, Shortest(ways.by_first(), limit, false));
    }
    if (options_.prefetch) {
      ReadAhead(subgraph, std::min(limit, std::max(fast_bytes_, best->plan.arena_bytes)), &*best);
    }
    if (!is_stacked) return std::move(best->plan);
    std::vector<std::vector<Way>> single = SingleWays(network_);
    for (std::vector<Way>& of_node : single) {
      for (Way& way : of_node) {
        if (weights_) way.weights = weights_->FrontOf({{way.choice.first, 1}});
      }
    }
    const auto path = Shortest(single, limit, true);
    if (path.empty()) return std::move(best->plan);
    Candidate stacked = MakeStacked(subgraph, path);
    const bool better =
        best->plan.arena_bytes > limit ||
        stacked.stream.slow->TrafficBytes() < best->plan.stream.slow->TrafficBytes();
    return better ? std::move(stacked) : std::move(best->plan);
  }

  bool cut_short() const { return cut_short_; }

  // A bound of the traffic that depends on the limit.
  void AddMoments(const graph::Subgraph& subgraph, plan::SlowMemory* slow) const {
    if (slow->TrafficBytes() == slow->traffic_lower_bound_bytes) return;
    Moments moments = FindMoments(subgraph, network_, slow->fast_bytes);
    slow->traffic_lower_bound_bytes += moments.bytes;
    slow->moments = std::move(moments.moments);
  }

 private:
  // The smallest arena of a plan with everything in slow memory.
  std::int64_t Floor() const {
    std::vector<std::int64_t> peaks(network_.nodes.size() + 1, kInfinite);
    peaks[0] = 0;
    for (std::size_t at = 0; at < network_.nodes.size(); ++at) {
      for (const Way& way : ways_->by_first()[at]) {
        if (!way.fast_in.empty() || !way.fast_out.empty()) continue;
        auto& to = peaks[static_cast<std::size_t>(way.choice.last)];
        to = std::min(to, std::max(peaks[at], way.MinBytes()));
      }
    }
    return peaks.back();
  }

  // Where `way` leads from `fast` in fast memory.
  struct Step {
    std::vector<int> after;
    std::int64_t traffic = 0;
    std::int64_t cycles = 0;
  };
  // nullopt: it does not begin there.
  std::optional<Step> After(const std::vector<int>& fast, const Way& way, std::int64_t most) const {
    Step step{{}, way.traffic, way.cycles};
    std::vector<int>& after = step.after;
    std::size_t read = 0;
    std::int64_t held = 0;
    for (const int image : fast) {
      if (ways_->Reads(image, way.choice.first, way.choice.last)) {
        if (!std::binary_search(way.fast_in.begin(), way.fast_in.end(), image)) return std::nullopt;
        ++read;
      } else {
        held += network_.image(image).shape.bytes();
      }
      if (network_.image(image).last_use >= way.choice.last) after.push_back(image);
    }
    if (read != way.fast_in.size() || way.bytes + held > most) return std::nullopt;
    after.insert(after.end(), way.fast_out.begin(), way.fast_out.end());
    std::sort(after.begin(), after.end());
    if (way.weights.empty()) return step;
    // The fewest bytes of weights with the memory that is left.
    const std::int64_t left = most - plan::AlignedToWeights(way.bytes + held);
    const auto point =
        std::partition_point(way.weights.begin(), way.weights.end(),
                             [&](const WeightPoint& each) { return each.bytes <= left; });
    if (point == way.weights.begin()) return std::nullopt;
    step.traffic += (point - 1)->read_bytes;
    step.cycles += (point - 1)->read_bytes / kCopyBytesPerCycle;
    return step;
  }

  // The least traffic with at most `most` bytes over `ways`, by their first nodes; empty: there is
  // none. `mixed`: with tensors in fast memory between segments.
  std::vector<const Way*> Shortest(const std::vector<std::vector<Way>>& ways, std::int64_t most,
                                   bool mixed) {
    std::vector<States> states(network_.nodes.size() + 1);
    states[0][{}].traffic = 0;
    for (std::size_t at = 0; at < network_.nodes.size(); ++at) {
      Shrink(&states[at]);
      for (const auto& [fast, state] : states[at]) {
        for (const Way& way : ways[at]) {
          if (!mixed && !way.fast_out.empty()) continue;
          const auto step = After(fast, way, most);
          if (!step) continue;
          State& to = states[static_cast<std::size_t>(way.choice.last)][step->after];
          const std::int64_t traffic = state.traffic + step->traffic;
          const std::int64_t cycles = state.cycles + step->cycles;
          if (std::tie(traffic, cycles) >= std::tie(to.traffic, to.cycles)) continue;
          to = {traffic, cycles, &fast, &way};
        }
      }
    }
    std::vector<const Way*> path;
    if (states.back().empty()) return path;
    const auto last = states.back().begin();
    const State* state = &last->second;
    while (state->way != nullptr) {
      path.push_back(state->way);
      state = &states[static_cast<std::size_t>(state->way->choice.first)].at(*state->from);
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  void Shrink(States* states) {
    if (states->size() <= kMaxStates) return;
    cut_short_ = true;
    std::vector<std::pair<std::int64_t, const std::vector<int>*>> by_traffic;
    for (const auto& [fast, state] : *states) by_traffic.emplace_back(state.traffic, &fast);
    std::stable_sort(by_traffic.begin(), by_traffic.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    States kept;
    for (std::size_t i = 0; i < kMaxStates; ++i) {
      kept[*by_traffic[i].second] = states->at(*by_traffic[i].second);
    }
    *states = std::move(kept);
  }

  // With the homes that `path` gives to tensors between segments.
  Network WithHomes(const std::vector<const Way*>& path) const {
    Network network = network_;
    for (std::size_t i = 0; i < network.images.size(); ++i) {
      Image& image = network.images[i];
      if (image.is_input || image.is_output) continue;
      // Those of a single segment have no home.
      const auto end = std::find_if(path.begin(), path.end(), [&](const Way* way) {
        return image.producer >= way->choice.first && image.producer < way->choice.last;
      });
      image.slow = end != path.end() && image.slow && image.last_use >= (*end)->choice.last &&
                   !std::binary_search((*end)->fast_out.begin(), (*end)->fast_out.end(),
                                       static_cast<int>(i));
    }
    return network;
  }

  Candidate MakeStacked(const graph::Subgraph& subgraph,
                        const std::vector<const Way*>& path) const {
    const Network network = WithHomes(path);
    Assembled assembled = Stacked(network, path);
    return WithSlow(subgraph, network, std::move(assembled));
  }

  // A plan and what it was made of.
  struct Made {
    Network network;  // with homes
    std::vector<SegmentChoice> segments;
    Candidate plan;
  };

  Made Make(const graph::Subgraph& subgraph, const std::vector<const Way*>& path) const {
    Made made{WithHomes(path), {}, {}};
    made.segments.reserve(path.size());
    for (const Way* way : path) made.segments.push_back(way->choice);
    made.plan = PlanOf(subgraph, made);
    return made;
  }

  Candidate PlanOf(const graph::Subgraph& subgraph, const Made& made) const {
    return WithSlow(subgraph, made.network,
                    Assemble(made.network, made.segments, plan::StreamInput::kSlow, !weights_));
  }

  // Segments read ahead where the arena stays within `limit` and fewer modelled cycles are left,
  // those that read the most first. The same bytes are moved.
  void ReadAhead(const graph::Subgraph& subgraph, std::int64_t limit, Made* made) const {
    if (made->plan.arena_bytes > limit) return;
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t s = 0; s < made->segments.size(); ++s) {
      if (made->segments[s].whole) continue;
      const BlockSchedule schedule =
          MakeBlockSchedule(made->network, made->segments[s], plan::StreamInput::kSlow);
      if (schedule.read_bytes > 0) order.emplace_back(-schedule.read_bytes, s);
    }
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), kMaxAhead));
    for (const auto& [bytes, s] : order) {
      for (const Ahead ahead : {Ahead::kColumns, Ahead::kRows}) {
        const SegmentChoice before = made->segments[s];
        made->segments[s].ahead = ahead;
        const BlockSchedule schedule =
            MakeBlockSchedule(made->network, made->segments[s], plan::StreamInput::kSlow);
        const bool may = schedule.valid && PlaceSegment(made->network, schedule).bytes <= limit;
        if (may) {
          Candidate found = PlanOf(subgraph, *made);
          const bool no_more =
              found.stream.slow->TrafficBytes() <= made->plan.stream.slow->TrafficBytes();
          if (found.arena_bytes <= limit && no_more &&
              found.stream.cycles < made->plan.stream.cycles) {
            made->plan = std::move(found);
            continue;
          }
        }
        made->segments[s] = before;
      }
    }
  }

  Candidate WithSlow(const graph::Subgraph& subgraph, const Network& network,
                     Assembled assembled) const {
    if (weights_) {
      const std::int64_t limit = std::max(fast_bytes_, Floor());
      const std::int64_t without = assembled.arena_bytes;
      assembled.arena_bytes = weights_->AddTo(&assembled.stream, without, limit);
      if (options_.prefetch) {
        assembled.arena_bytes = weights_->Prefetch(
            network_, without, std::max(fast_bytes_, assembled.arena_bytes), &assembled.stream);
      }
    }
    Candidate candidate{std::move(assembled.stream), assembled.arena_bytes};
    candidate.stream.slow =
        SlowMemoryOf(subgraph, network, candidate.stream,
                     std::max(fast_bytes_, candidate.arena_bytes), weights_.has_value());
    return candidate;
  }

  Network network_;
  const SearchOptions& options_;
  std::int64_t fast_bytes_;
  std::optional<SlowWeights> weights_;  // that are in slow memory
  const Ways* ways_ = nullptr;
  bool cut_short_ = false;
};

}  // namespace

Result<Candidate> PlanSpilled(const graph::Graph& graph, graph::SubgraphId subgraph,
                              const std::vector<graph::OpId>& order, const SearchOptions& options,
                              std::int64_t fast_bytes, bool* cut_short) {
  *cut_short = false;
  std::optional<Candidate> best;
  // One output after the other can be streamed; all at once read their input once.
  for (const bool apart : {true, false}) {
    NEAP_TRY(Network network,
             MakeNetwork(graph, subgraph, order, options.emits, apart, options.processor, false));
    const bool splits = std::any_of(network.nodes.begin(), network.nodes.end(),
                                    [](const Node& node) { return node.output.has_value(); });
    for (const Image& image : network.images) {
      if (image.producer < 0 && !image.is_input && !image.readers.empty()) {
        return Fail(BadInput("cannot be planned for two memories: a tensor has no producer"));
      }
    }
    Spiller spiller(graph.subgraphs[subgraph], std::move(network), options, fast_bytes);
    Candidate candidate = spiller.Run(graph.subgraphs[subgraph]);
    spiller.AddMoments(graph.subgraphs[subgraph], &*candidate.stream.slow);
    *cut_short = *cut_short || spiller.cut_short();
    const auto rank = [&](const Candidate& one) {
      return std::tuple(std::max(one.arena_bytes, fast_bytes), one.stream.slow->TrafficBytes(),
                        one.stream.cycles);
    };
    if (!best || rank(candidate) < rank(*best)) best = std::move(candidate);
    if (!splits) break;
  }
  return *std::move(best);
}

}  // namespace neap::stream
