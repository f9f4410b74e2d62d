// SPDX-License-Identifier: Apache-2.0
//
// The network in libtorch, where it is trained: probabilities of given orders, their gradient, and
// Adam. Orders are drawn by learn::Network, so that this has one forward pass only. No type of
// libtorch is seen outside of torch_policy.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "neap/learn/embedding.h"
#include "neap/learn/model.h"

namespace neap::train {

// Graphs of the same size with an order for each.
struct Batch {
  std::int64_t graphs = 0;
  std::int64_t rows = 0;            // per graph
  std::int64_t features = 0;        // per row
  std::vector<float> values;        // graphs x rows x features
  std::vector<std::int64_t> order;  // graphs x rows: the row taken at each step
  std::vector<float> forbidden;     // graphs x steps x rows: 0, or -1e9 where a row is masked

  // `order` may break no mask.
  void Add(const learn::Rows& rows_of_graph, const std::vector<std::size_t>& order_of_graph,
           learn::Mask mask);
};

// Everything that training changes.
struct PolicyState {
  std::vector<float> weights;
  std::vector<float> first_moment;
  std::vector<float> second_moment;
  std::int64_t steps = 0;
};

class Policy {
 public:
  explicit Policy(const learn::Model& initial);
  ~Policy();
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

  // Logarithms of the probability of every step: graphs x rows.
  std::vector<float> LogProbabilities(const Batch& batch) const;

  // One step of Adam down the gradient of the mean over the graphs of
  // -factors[g] * log probability(order of g), its norm clipped to 1. Returns that mean.
  double Step(const Batch& batch, std::span<const float> factors, double learning_rate);

  learn::Model ModelNow() const;
  PolicyState State() const;
  void SetState(const PolicyState& state);

 private:
  struct Torch;
  std::unique_ptr<Torch> torch_;
};

}  // namespace neap::train
