// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/slow_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "neap/plan/stream_weights.h"

namespace neap::stream {
namespace {

using graph::TensorId;

// Segments, both included; -1: before the first one.
struct Life {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;
  TensorId tensor;
};

class Counter {
 public:
  Counter(const graph::Subgraph& subgraph, const Network& network, const plan::Stream& stream)
      : subgraph_(subgraph), images_(plan::ImagesOf(subgraph)), stream_(stream) {
    const auto after = static_cast<std::int64_t>(stream.segments.size());
    for (const Image& image : network.images) {
      if (!image.slow) continue;
      Life life{image.is_input ? -1 : after, -1, image.shape.bytes(), 0, image.tensor};
      if (image.is_output) life.last = after;
      lives_[image.tensor] = life;
    }
  }

  plan::SlowMemory Count() {
    for (std::size_t s = 0; s < stream_.segments.size(); ++s) {
      for (const plan::StreamOp& step : stream_.segments[s].ops) {
        See(static_cast<std::int64_t>(s), stream_.segments[s].whole, step);
      }
      for (const plan::StreamWeights& weights : stream_.segments[s].weights) {
        CountWeights(stream_.segments[s], weights);
      }
    }
    slow_.read_bytes += weight_bytes_;
    Place();
    return std::move(slow_);
  }

  std::int64_t weight_bytes() const { return weight_bytes_; }

 private:
  void See(std::int64_t segment, bool whole, const plan::StreamOp& step) {
    if (!step.op.valid()) {
      Life& life = lives_.at(step.fed);
      life.last = std::max(life.last, segment);
      const std::int64_t bytes = BoxBytes(step, step.fed);
      slow_.read_bytes += bytes;
      slow_.ahead_bytes += step.ahead ? bytes : 0;
      return;
    }
    const graph::Op& op = subgraph_.ops[step.op];
    const std::set<TensorId> inputs(op.inputs.begin(), op.inputs.end());
    for (const TensorId tensor : inputs) {
      const auto at = lives_.find(tensor);
      if (!whole || at == lives_.end()) continue;
      at->second.last = std::max(at->second.last, segment);
      slow_.read_bytes += at->second.bytes;
    }
    for (const TensorId tensor : plan::OutputsOf(subgraph_, step)) {
      const auto at = lives_.find(tensor);
      if (at == lives_.end()) continue;
      at->second.first = std::min(at->second.first, segment);
      at->second.last = std::max(at->second.last, segment);
      slow_.written_bytes += whole || step.sums ? at->second.bytes : BoxBytes(step, tensor);
    }
  }

  // That are read in a segment.
  void CountWeights(const plan::StreamSegment& segment, const plan::StreamWeights& weights) {
    const std::int64_t first = plan::FirstCopy(subgraph_, weights).copied_bytes;
    if (weights.block == 0) {
      weight_bytes_ += first;
      slow_.ahead_bytes += weights.after.valid() ? first : 0;
      return;
    }
    const auto blocks = plan::BlocksOf(subgraph_, weights);
    const std::int64_t boxes = plan::BoxesOf(segment, weights.op);
    const std::int64_t all = blocks ? blocks->copied_bytes : 0;
    weight_bytes_ += weights.kept == 0 ? boxes * all : first + boxes * (all - first);
    if (weights.second) slow_.ahead_bytes += boxes * (all - first);
    if (weights.after.valid()) slow_.ahead_bytes += boxes * first;
  }

  std::int64_t BoxBytes(const plan::StreamOp& step, TensorId tensor) const {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    for (const plan::StreamRange& range : step.rows) rows += range.size();
    for (const plan::StreamRange& range : step.columns) columns += range.size();
    return rows * columns * images_[tensor].pixel_bytes;
  }

  // First fit, the largest first.
  void Place() {
    std::vector<Life*> order;
    order.reserve(lives_.size());
    for (auto& [tensor, life] : lives_) order.push_back(&life);
    std::stable_sort(order.begin(), order.end(),
                     [](const Life* a, const Life* b) { return a->bytes > b->bytes; });
    std::vector<const Life*> placed;  // by offset
    for (Life* life : order) {
      for (const Life* other : placed) {
        if (other->last < life->first || life->last < other->first) continue;
        if (life->offset + life->bytes <= other->offset) break;
        life->offset = std::max(life->offset, other->offset + other->bytes);
      }
      slow_.bytes = std::max(slow_.bytes, life->offset + life->bytes);
      placed.insert(
          std::upper_bound(placed.begin(), placed.end(), life,
                           [](const Life* a, const Life* b) { return a->offset < b->offset; }),
          life);
    }
    for (const auto& [tensor, life] : lives_) slow_.tensors.push_back({tensor, life.offset});
  }

  const graph::Subgraph& subgraph_;
  const plan::StreamImages images_;
  const plan::Stream& stream_;
  std::map<TensorId, Life> lives_;
  plan::SlowMemory slow_;
  std::int64_t weight_bytes_ = 0;
};

// Indices of an axis of size `in` that outputs of size `out` need.
std::int64_t Needed(const AxisMap& map, std::int64_t out, std::int64_t in) {
  std::set<std::int64_t> needed;
  for (std::int64_t y = 0; y < out; ++y) {
    const plan::StreamRange need = map.Need(y, y + 1, in);
    for (std::int64_t i = need.first; i < need.last; ++i) needed.insert(i);
  }
  return static_cast<std::int64_t>(needed.size());
}

// Every weight has to be read, as far as one of its operators needs it.
std::int64_t CompulsoryWeights(const graph::Subgraph& subgraph) {
  std::map<TensorId, std::int64_t> needed;
  for (const graph::Op& op : subgraph.ops) {
    for (std::size_t i = 0; i < op.inputs.size() && !op.folded; ++i) {
      if (!plan::IsWeight(subgraph, op, i)) continue;
      std::int64_t& bytes = needed[op.inputs[i]];
      bytes = std::max(bytes, plan::NeededWeightBytes(subgraph, op, i));
    }
  }
  std::int64_t bytes = 0;
  for (const auto& [tensor, count] : needed) bytes += count;
  return bytes;
}

// Every input has to be read, as far as one of its consumers needs it, and every output written.
std::int64_t Compulsory(const Network& network) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < network.images.size(); ++i) {
    const Image& image = network.images[i];
    if (image.is_output && !image.is_input) bytes += image.shape.bytes();
    if (!image.is_input) continue;
    std::int64_t most = 0;
    for (const int n : image.readers) {
      const Node& node = network.node(n);
      for (const Read& read : node.reads) {
        if (read.image != static_cast<int>(i)) continue;
        std::int64_t pixels = image.shape.height * image.shape.width;
        if (node.streams && !node.sums && read.rows.scale != 0 && read.columns.scale != 0) {
          const plan::StreamImage& out = network.image(node.outputs[0]).shape;
          pixels = Needed(read.rows, out.height, image.shape.height) *
                   Needed(read.columns, out.width, image.shape.width);
        }
        most = std::max(most, pixels * image.shape.pixel_bytes);
      }
    }
    bytes += most;
  }
  return bytes;
}

}  // namespace

plan::SlowMemory SlowMemoryOf(const graph::Subgraph& subgraph, const Network& network,
                              const plan::Stream& stream, std::int64_t fast_bytes,
                              bool slow_weights) {
  Counter counter(subgraph, network, stream);
  plan::SlowMemory slow = counter.Count();
  slow.fast_bytes = fast_bytes;
  slow.traffic_lower_bound_bytes = Compulsory(network);
  if (slow_weights) {
    slow.weight_bytes = counter.weight_bytes();
    slow.traffic_lower_bound_bytes += CompulsoryWeights(subgraph);
  }
  return slow;
}

}  // namespace neap::stream
