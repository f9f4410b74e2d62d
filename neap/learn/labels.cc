// SPDX-License-Identifier: Apache-2.0
#include "neap/learn/labels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace neap::learn {
namespace {

constexpr double kMinNorm = 1e-6;  // the document's epsilon

Dag Reversed(const Dag& dag) {
  Dag reversed;
  reversed.parents = ChildrenOf(dag);
  reversed.weights = dag.weights;
  return reversed;
}

Labels Sorted(const Labels& labels) {
  Labels sorted = labels;
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

Labels AsapLabels(const Dag& dag, std::int64_t cap) {
  const auto children = ChildrenOf(dag);
  const auto heights = HeightsOf(dag);
  Labels labels(dag.parents.size(), 0);
  std::vector<std::size_t> missing(dag.parents.size());
  std::vector<Node> ready;
  for (Node node = 0; node < dag.NumNodes(); ++node) {
    const auto at = static_cast<std::size_t>(node);
    missing[at] = dag.parents[at].size();
    if (missing[at] == 0) ready.push_back(node);
  }
  for (std::int32_t step = 1; !ready.empty(); ++step) {
    std::sort(ready.begin(), ready.end(), [&](Node a, Node b) {
      const auto height_a = heights[static_cast<std::size_t>(a)];
      const auto height_b = heights[static_cast<std::size_t>(b)];
      return height_a != height_b ? height_a > height_b : a < b;
    });
    std::vector<Node> later;
    std::vector<Node> taken;
    std::int64_t used = 0;
    for (const Node node : ready) {
      const auto at = static_cast<std::size_t>(node);
      const std::int64_t weight = dag.weights[0].empty() ? 0 : dag.weights[0][at];
      const bool fits = taken.empty() || weight <= cap - used;
      (fits ? taken : later).push_back(node);
      if (fits) used = std::min(cap, used + std::min(weight, cap));
    }
    for (const Node node : taken) {
      labels[static_cast<std::size_t>(node)] = step;
      for (const Node child : children[static_cast<std::size_t>(node)]) {
        if (--missing[static_cast<std::size_t>(child)] == 0) later.push_back(child);
      }
    }
    ready = std::move(later);
  }
  return labels;
}

Labels AlapLabels(const Dag& dag, std::int64_t cap) {
  Labels labels = AsapLabels(Reversed(dag), cap);
  const std::int32_t last = labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end());
  for (std::int32_t& label : labels) label = last + 1 - label;
  return labels;
}

Labels LabelsOfOrder(std::span<const Node> order) {
  Labels labels(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    labels[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i) + 1;
  }
  return labels;
}

std::vector<Node> OrderOfLabels(const Labels& labels) {
  std::vector<Node> order(labels.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Node a, Node b) {
    return labels[static_cast<std::size_t>(a)] < labels[static_cast<std::size_t>(b)];
  });
  return order;
}

double CosineReward(const Labels& labels, std::span<const Node> order) {
  const Labels sorted = Sorted(labels);
  double product = 0;
  double square = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double label = labels[static_cast<std::size_t>(order[i])];
    product += label * sorted[i];
    square += label * label;
  }
  // Both sequences contain the same numbers, so their norms are equal.
  return product / std::max(square, kMinNorm);
}

std::int32_t Mismatch(const Labels& labels, std::span<const Node> order) {
  const Labels sorted = Sorted(labels);
  std::int32_t count = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (labels[static_cast<std::size_t>(order[i])] != sorted[i]) ++count;
  }
  return count;
}

}  // namespace neap::learn
