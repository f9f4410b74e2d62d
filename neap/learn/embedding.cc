// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/embedding.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace neap::learn {
namespace {

// The divisors of the publication's numbers.
constexpr float kLevelUnit = 16;
constexpr float kNumberUnit = 16;
constexpr float kMemoryUnit = 2'500;  // half of the document's largest, in thousandths

constexpr float kMaxOverMean = 4;  // weights far above the mean are cut to this

float Ratio(double value, double of) { return of > 0 ? static_cast<float>(value / of) : 0.0F; }

struct Channel {
  double sum = 0;
  double most = 0;
};

class Embedder {
 public:
  Embedder(const Dag& dag, Queue queue)
      : dag_(dag), size_(dag.parents.size()), levels_(LevelsOf(dag)), heights_(HeightsOf(dag)) {
    rows_.node_of.resize(size_);
    std::iota(rows_.node_of.begin(), rows_.node_of.end(), 0);
    if (queue == Queue::kLevel) {
      std::stable_sort(rows_.node_of.begin(), rows_.node_of.end(),
                       [&](Node a, Node b) { return Level(a) < Level(b); });
    }
    rows_.row.resize(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      rows_.row[static_cast<std::size_t>(rows_.node_of[i])] = i;
    }
    rows_.parents.resize(size_);
    seen_.resize(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      const auto& parents = dag.parents[static_cast<std::size_t>(rows_.node_of[i])];
      for (const Node parent : parents) {
        rows_.parents[i].push_back(rows_.row[static_cast<std::size_t>(parent)]);
      }
      seen_[i] = parents;
      std::stable_sort(seen_[i].begin(), seen_[i].end(),
                       [&](Node a, Node b) { return Level(a) > Level(b); });
      if (seen_[i].size() > kParentsSeen) seen_[i].resize(kParentsSeen);
    }
  }

  Rows Document() {
    rows_.features = kDocumentFeatures;
    for (std::size_t i = 0; i < size_; ++i) {
      const Node node = rows_.node_of[i];
      Push(static_cast<float>(Level(node) + 1) / kLevelUnit);
      for (std::size_t k = 0; k < kParentsSeen; ++k) {
        const bool there = k < seen_[i].size();
        Push(there ? static_cast<float>(Level(seen_[i][k]) + 1) / kLevelUnit : 0.0F);
      }
      for (std::size_t k = 0; k < kParentsSeen; ++k) {
        const bool there = k < seen_[i].size();
        Push(there ? static_cast<float>(seen_[i][k]) / kNumberUnit : -1.0F / kNumberUnit);
      }
      Push(static_cast<float>(node) / kNumberUnit);
      Push(static_cast<float>(Weight(0, node)) / kMemoryUnit);
    }
    return std::move(rows_);
  }

  Rows Relative() {
    rows_.features = kRelativeFeatures;
    Measure();
    std::array<double, 2> before = {0, 0};
    for (std::size_t i = 0; i < size_; ++i) {
      const Node node = rows_.node_of[i];
      PushCoordinates(i);
      for (std::size_t channel = 0; channel < kChannels; ++channel) {
        const auto weight = static_cast<double>(Weight(channel, node));
        const double mean = channels_[channel].sum / static_cast<double>(size_);
        Push(Ratio(weight, channels_[channel].most));
        Push(std::min(Ratio(weight, mean), kMaxOverMean) / kMaxOverMean);
      }
      const auto at = static_cast<std::size_t>(node);
      Push(std::min(Ratio(static_cast<double>(dag_.parents[at].size()), kParentsSeen), 2.0F));
      Push(std::min(Ratio(static_cast<double>(children_[at]), kParentsSeen), 2.0F));
      for (std::size_t channel = 0; channel < before.size(); ++channel) {
        Push(Ratio(before[channel], channels_[channel].sum));
        before[channel] += static_cast<double>(Weight(channel, node));
      }
    }
    return std::move(rows_);
  }

 private:
  std::int32_t Level(Node node) const { return levels_[static_cast<std::size_t>(node)]; }
  std::int64_t Weight(std::size_t channel, Node node) const {
    const auto& weights = dag_.weights[channel];
    return weights.empty() ? 0 : weights[static_cast<std::size_t>(node)];
  }
  void Push(float value) { rows_.values.push_back(value); }

  void Measure() {
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      for (Node node = 0; node < dag_.NumNodes(); ++node) {
        const auto weight = static_cast<double>(Weight(channel, node));
        channels_[channel].sum += weight;
        channels_[channel].most = std::max(channels_[channel].most, weight);
      }
    }
    children_.assign(size_, 0);
    for (const auto& parents : dag_.parents) {
      for (const Node parent : parents) ++children_[static_cast<std::size_t>(parent)];
    }
    depth_ = size_ == 0 ? 0 : *std::max_element(levels_.begin(), levels_.end());
  }

  void PushCoordinates(std::size_t i) {
    const Node node = rows_.node_of[i];
    Push(Ratio(Level(node), depth_));
    Push(Ratio(heights_[static_cast<std::size_t>(node)], depth_));
    // How far up the parent is: near ones matter most at every depth.
    for (std::size_t k = 0; k < kParentsSeen; ++k) {
      const bool there = k < seen_[i].size();
      Push(there ? 1.0F / static_cast<float>(Level(node) - Level(seen_[i][k])) : 0.0F);
    }
    for (std::size_t k = 0; k < kParentsSeen; ++k) {
      const bool there = k < seen_[i].size();
      Push(there ? Ratio(static_cast<double>(rows_.row[static_cast<std::size_t>(seen_[i][k])]),
                         static_cast<double>(size_))
                 : -1.0F);
    }
    Push(Ratio(static_cast<double>(i), static_cast<double>(size_)));
  }

  const Dag& dag_;
  std::size_t size_;
  std::vector<std::int32_t> levels_;
  std::vector<std::int32_t> heights_;
  std::vector<std::vector<Node>> seen_;
  std::vector<std::size_t> children_;
  std::array<Channel, kChannels> channels_;
  double depth_ = 0;
  Rows rows_;
};

}  // namespace

std::size_t FeaturesOf(Embedding embedding) {
  return embedding == Embedding::kDocument ? kDocumentFeatures : kRelativeFeatures;
}

Rows Embed(const Dag& dag, Embedding embedding, Queue queue) {
  Embedder embedder(dag, queue);
  return embedding == Embedding::kDocument ? embedder.Document() : embedder.Relative();
}

}  // namespace neap::learn
