// SPDX-License-Identifier: Apache-2.0
#include "lab/train/settings.h"

#include <fmt/format.h>

#include "neap/base/random.h"

namespace neap::train {
namespace {

std::string Describe(const learn::SamplerOptions& sampler) {
  return fmt::format("nodes={} degree={} levels={}-{} weight={}", sampler.nodes, sampler.degree,
                     sampler.min_levels, sampler.max_levels, sampler.max_weight);
}

}  // namespace

std::string Settings::Fingerprint() const {
  const auto number = [](auto value) { return static_cast<int>(value); };
  return fmt::format(
      "task={} encoder={} decoder={} embedding={} queue={} mask={} hidden={} labels={} reward={} "
      "train[{} graphs={}] test[{} graphs={}] stages={} batch={} supervised={}@{} policy={}@{} "
      "epoch={} seed={} test_every={} initial={}{}",
      number(model.task), number(model.encoder), number(model.decoder), number(model.embedding),
      number(model.queue), number(model.mask), model.hidden, number(labels), number(reward),
      Describe(sampler), graphs, Describe(test_sampler), test_graphs, stages, batch,
      supervised_steps, supervised_rate, policy_steps, policy_rate, epoch_steps, seed, test_every,
      initial, step_cap == learn::kStepCap ? "" : fmt::format(" step_cap={}", step_cap));
}

std::uint64_t SeedOf(std::uint64_t seed, std::uint64_t stream, std::uint64_t step) {
  Random mix(seed * 0x9e3779b97f4a7c15U + stream);
  return mix.Next() ^ (step * 0xd1342543de82ef95U);
}

}  // namespace neap::train
