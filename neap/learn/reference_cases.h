// SPDX-License-Identifier: Apache-2.0
//
// The cases in which the network of this module is compared with libtorch's: made here, so that the
// program that has libtorch and the test that has not mean the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/learn/embedding.h"
#include "neap/learn/model.h"
#include "neap/learn/network.h"
#include "neap/learn/repair.h"
#include "neap/learn/sampler.h"

namespace neap::learn {

struct VectorCase {
  std::string name;
  Model model;
  Rows rows;
  std::vector<std::size_t> order;  // of rows; breaks no mask
};

inline VectorCase CaseOf(std::string name, Model model, std::int32_t nodes, std::uint64_t seed) {
  VectorCase made{std::move(name), std::move(model), {}, {}};
  Random random(seed);
  SamplerOptions sampler;
  sampler.nodes = nodes;
  const Dag dag = Sample(sampler, &random);
  const ModelConfig& config = made.model.config;
  made.rows = Embed(dag, config.embedding, config.queue);
  std::vector<Node> order(dag.parents.size());
  std::iota(order.begin(), order.end(), 0);
  random.Shuffle(order);
  if (config.mask == Mask::kReady) order = Repair(dag, order);
  for (const Node node : order) made.order.push_back(made.rows.row[static_cast<std::size_t>(node)]);
  return made;
}

// All four configurations with every embedding, queue and mask, untrained, and the built-in
// networks.
inline std::vector<VectorCase> VectorCases() {
  std::vector<VectorCase> cases;
  for (std::uint32_t bits = 0; bits < 32; ++bits) {
    ModelConfig config;
    config.encoder = static_cast<Coder>(bits & 1U);
    config.decoder = static_cast<Coder>((bits >> 1U) & 1U);
    config.embedding = static_cast<Embedding>((bits >> 2U) & 1U);
    config.queue = static_cast<Queue>((bits >> 3U) & 1U);
    config.mask = static_cast<Mask>((bits >> 4U) & 1U);
    config.hidden = bits % 3 == 0 ? 8 : 24;
    cases.push_back(CaseOf("case-" + std::to_string(bits), InitialModel(config, bits), 20, bits));
  }
  cases.push_back(CaseOf("stages", BuiltinModel(Task::kStages), 40, 101));
  cases.push_back(CaseOf("peak", BuiltinModel(Task::kPeak), 40, 102));
  return cases;
}

// The network's probabilities for that order.
inline std::vector<float> ForcedLogProbabilities(const Network& network, const VectorCase& given) {
  std::vector<float> result;
  network.Decode(given.rows, [&](std::span<const std::size_t> rows, std::span<const float> logs) {
    const std::size_t wanted = given.order[result.size()];
    std::size_t at = 0;
    while (rows[at] != wanted) ++at;
    result.push_back(logs[at]);
    return at;
  });
  return result;
}

}  // namespace neap::learn
