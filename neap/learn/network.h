// SPDX-License-Identifier: Apache-2.0
//
// The pointer network run forward, in plain C++. Encoder and decoder are an LSTM or a Transformer
// each (docs/algorithms/learned.md has the equations); the LSTM decoder has one glimpse.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "neap/learn/embedding.h"
#include "neap/learn/model.h"

namespace neap::learn {

struct Kernels;

// Chooses the next row: `rows` may be pointed at (ascending, at least one), with the logarithms of
// their probabilities. Returns an index into `rows`.
using Chooser = std::function<std::size_t(std::span<const std::size_t> rows,
                                          std::span<const float> log_probabilities)>;

class Network {
 public:
  // `model` is not owned. Finite weights, as ParseModel() promises; no others are safe.
  explicit Network(const Model& model);
  Network(const Model& model, const Kernels& kernels);

  // Rows in the order in which they are pointed at; the most probable one at every step, of several
  // the first. For n rows of width H: LSTM decoder O(n^2 H + n H^2) time, O(n H) memory;
  // Transformer decoder O(n^3 H + n^2 H^2) time: not for large graphs.
  std::vector<std::size_t> Greedy(const Rows& rows) const;
  std::vector<std::size_t> Decode(const Rows& rows, const Chooser& choose) const;

  const ModelConfig& config() const { return model_.config; }

 private:
  friend class Forward;
  const Model& model_;
  const Kernels& kernels_;
  std::vector<TensorSpec> tensors_;
};

// The network's sequence of nodes, as it comes: with Mask::kVisited it may break precedences.
std::vector<Node> GreedyNodes(const Network& network, const Dag& dag);

}  // namespace neap::learn
