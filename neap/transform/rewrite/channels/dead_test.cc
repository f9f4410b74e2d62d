// SPDX-License-Identifier: Apache-2.0
//
// Networks with and without their dead channels, in Neap's executor.
#include "neap/transform/rewrite/channels/dead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "neap/check/channel_check.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/transform/rewrite/rewrite.h"
#include "testing/cases.h"
#include "testing/dead_networks.h"

namespace neap::rewrite {
namespace {

using execute::Kernels;
using execute::Value;
using graph::Graph;
using graph::Int8Layers;
using graph::SubgraphId;

constexpr SubgraphId kMain(0);
constexpr std::int64_t kMemory = std::int64_t{1} << 28;

std::vector<std::vector<std::byte>> Outputs(const Graph& graph, const std::vector<Value>& inputs,
                                            Kernels kernels) {
  execute::EvaluateOptions options;
  options.kernels = kernels;
  const auto outputs = execute::Evaluate(graph, kMain, inputs, options);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().ToString());
  std::vector<std::vector<std::byte>> bytes;
  for (std::size_t i = 0; outputs && i < outputs->size(); ++i) bytes.push_back((*outputs)[i].bytes);
  return bytes;
}

std::int64_t CountOf(const std::vector<plan::Rewrite>& applications) {
  return std::accumulate(applications.begin(), applications.end(), std::int64_t{0},
                         [](std::int64_t sum, const plan::Rewrite& rewrite) {
                           return sum + static_cast<std::int64_t>(rewrite.parameters.size());
                         });
}

// Every input at its lowest or highest, or random.
std::vector<Value> InputsOf(const Graph& graph, int kind) {
  auto inputs =
      execute::RandomInputs(graph.subgraphs[kMain], static_cast<std::uint64_t>(kind), kMemory);
  EXPECT_TRUE(inputs);
  if (kind < 2) {
    for (Value& value : *inputs) {
      std::fill(value.bytes.begin(), value.bytes.end(),
                kind == 0 ? std::byte{128} : std::byte{127});
    }
  }
  return std::move(*inputs);
}

TEST(DeadChannels, OutputsOfThousandsOfNetworksStayTheSame) {
  Random random(7);
  int narrowed_networks = 0;
  std::int64_t channels = 0;
  const int cases = Cases(4000);
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
    const Graph graph = graph::RandomDeadNetwork(&random);
    ASSERT_TRUE(graph::Verify(graph)) << i;
    const Narrowed narrowed = RemoveDeadChannels(graph);
    if (narrowed.applications.empty()) continue;
    ++narrowed_networks;
    channels += CountOf(narrowed.applications);
    const auto valid = graph::Verify(narrowed.graph);
    ASSERT_TRUE(valid) << i << ": " << valid.error().ToString();
    EXPECT_EQ(check::FindWrongChannels(graph, narrowed.graph, narrowed.applications), "") << i;
    for (int kind = 0; kind < 4; ++kind) {
      const auto inputs = InputsOf(graph, kind);
      for (const Kernels kernels : {Kernels::kTflm, Kernels::kLitert}) {
        EXPECT_EQ(Outputs(graph, inputs, kernels), Outputs(narrowed.graph, inputs, kernels)) << i;
      }
    }
    const auto again = ApplyDeadChannels(graph, narrowed.applications);
    ASSERT_TRUE(again) << i << ": " << again.error().ToString();
    EXPECT_EQ(check::FindWrongChannels(graph, *again, narrowed.applications), "") << i;
    EXPECT_EQ(Outputs(*again, InputsOf(graph, 2), Kernels::kTflm),
              Outputs(narrowed.graph, InputsOf(graph, 2), Kernels::kTflm));
  }
  EXPECT_GT(narrowed_networks, cases / 4);
  EXPECT_GT(channels, cases / 2);
}

// Operators are split into halves, which an odd number of channels has none of: without its dead
// channel the first convolution stays whole.
TEST(DeadChannels, AreKeptWhereThePeakWouldBeHigherWithoutThem) {
  Random random(23);
  Int8Layers net(&random);
  graph::TensorId at = net.Input({1, 16, 16, 2});
  constexpr std::int64_t kChannels = 32;
  std::vector<std::int32_t> bias(kChannels, 0);
  bias.front() = -2'000'000;
  Int8Layers::Window window;
  at = net.Conv(at, bias, net.RandomWeights(kChannels * 2, 20), window, -128);
  at = net.Pad(at);
  window.kernel = 3;
  window.stride = 2;
  window.same = false;
  at = net.Depthwise(at, std::vector<std::int32_t>(kChannels, 0),
                     net.RandomWeights(9 * kChannels, 20), window, -128);
  window = {};
  at = net.Conv(at, std::vector<std::int32_t>(4, 0), net.RandomWeights(4 * kChannels, 20), window,
                -128);
  net.Output(at);
  const Graph graph = net.Take();
  ASSERT_GT(CountOf(RemoveDeadChannels(graph).applications), 0);
  compile::Options compile;
  SearchOptions options;
  const auto without = Search(graph, compile, options);
  ASSERT_TRUE(without);
  options.dead_channels = true;
  const auto with = Search(graph, compile, options);
  ASSERT_TRUE(with);
  EXPECT_EQ(with->peak_bytes, without->peak_bytes);
  EXPECT_LE(with->lower_bound_bytes, with->peak_bytes);
}

TEST(DeadChannels, NeverRaiseThePeakOfASearch) {
  Random random(29);
  for (int i = 0; i < Cases(100); ++i) {
    const Graph graph = graph::RandomDeadNetwork(&random);
    SearchOptions options;
    const auto without = Search(graph, {}, options);
    options.dead_channels = true;
    const auto with = Search(graph, {}, options);
    ASSERT_TRUE(with && without) << i;
    EXPECT_LE(with->peak_bytes, without->peak_bytes) << i;
    EXPECT_LE(with->lower_bound_bytes, with->peak_bytes) << i;
  }
}

// All values of a network with one input: no sample can miss the one that differs.
TEST(DeadChannels, EveryInputOfTinyNetworksHasTheSameOutput) {
  Random random(11);
  int narrowed_networks = 0;
  for (int i = 0; i < Cases(300); ++i) {
    Int8Layers net(&random);
    graph::TensorId at = net.Input({1, 1, 1, 1});
    std::int64_t ins = 1;
    for (int layer = 0; layer < 3; ++layer) {
      const std::int64_t outs = layer == 2 ? 1 : random.Between(2, 5);
      std::vector<std::int32_t> bias;
      for (std::int64_t c = 0; c < outs; ++c) {
        // Many are just saturated or just not.
        bias.push_back(static_cast<std::int32_t>(random.Between(-3000, 600)));
      }
      const auto zero =
          static_cast<std::int32_t>(random.Below(2) == 0 ? -128 : random.Between(-9, 9));
      Int8Layers::Window w;
      w.activation = layer == 2 ? 0 : 1;
      at = net.Conv(at, bias, net.RandomWeights(outs * ins, 12), w, zero);
      ins = outs;
    }
    net.Output(at);
    const Graph graph = net.Take();
    const Narrowed narrowed = RemoveDeadChannels(graph);
    if (narrowed.applications.empty()) continue;
    ++narrowed_networks;
    auto inputs = InputsOf(graph, 2);
    for (int value = 0; value < 256; ++value) {
      inputs[0].bytes[0] = static_cast<std::byte>(value);
      ASSERT_EQ(Outputs(graph, inputs, Kernels::kTflm),
                Outputs(narrowed.graph, inputs, Kernels::kTflm))
          << "network " << i << ", input " << value;
    }
  }
  EXPECT_GT(narrowed_networks, Cases(300) / 8);
}

// The least changes of a narrowed graph, each of which the check has to find.
class Changed {
 public:
  Changed(const Graph& narrowed, std::size_t given_tensors)
      : graph_(narrowed), first_new_(given_tensors) {}

  // A copy whose new constant of this type has another value at `at`; nullopt: there is none.
  template <typename T>
  std::optional<Graph> WithOther(graph::ElementType type, std::uint64_t which) const {
    std::vector<graph::TensorId> constants;
    const auto& tensors = graph_.subgraphs[kMain].tensors;
    for (std::size_t i = first_new_; i < tensors.size(); ++i) {
      const graph::Tensor& tensor = tensors[graph::TensorId(i)];
      if (tensor.constant && tensor.type == type) constants.push_back(graph::TensorId(i));
    }
    if (constants.empty()) return std::nullopt;
    Graph changed = graph_;
    graph::Tensor& tensor = changed.subgraphs[kMain].tensors[constants[which % constants.size()]];
    std::vector<T> values(tensor.data->bytes.size() / sizeof(T));
    std::memcpy(values.data(), tensor.data->bytes.data(), tensor.data->bytes.size());
    T& value = values[which / 7 % values.size()];
    value = static_cast<T>(value == 100 ? 99 : value + 1);
    tensor.data = graph::ConstantOf(type, *tensor.shape, values).data;
    return changed;
  }

 private:
  const Graph& graph_;
  std::size_t first_new_;
};

TEST(DeadChannels, TheCheckFindsEveryWrongNumber) {
  Random random(13);
  int found = 0;
  for (int i = 0; i < Cases(600); ++i) {
    const Graph graph = graph::RandomDeadNetwork(&random);
    const Narrowed narrowed = RemoveDeadChannels(graph);
    if (narrowed.applications.empty()) continue;
    const Changed changes(narrowed.graph, graph.subgraphs[kMain].tensors.size());
    const std::uint64_t which = random.Below(1000);
    const auto weight = changes.WithOther<std::int8_t>(graph::ElementType::kInt8, which);
    const auto bias = changes.WithOther<std::int32_t>(graph::ElementType::kInt32, which);
    for (const auto* changed : {&weight, &bias}) {
      if (!*changed) continue;
      EXPECT_NE(check::FindWrongChannels(graph, **changed, narrowed.applications), "") << i;
      ++found;
    }
    // The claim is about other channels.
    auto claims = narrowed.applications;
    claims.front().parameters.front() += 1;
    EXPECT_NE(check::FindWrongChannels(graph, narrowed.graph, claims), "") << i;
    claims.erase(claims.begin());
    EXPECT_NE(check::FindWrongChannels(graph, narrowed.graph, claims), "") << i;
  }
  EXPECT_GT(found, Cases(600) / 4);
}

TEST(DeadChannels, OtherChannelsAreRefused) {
  Random random(17);
  int refused = 0;
  for (int i = 0; i < Cases(600); ++i) {
    const Graph graph = graph::RandomDeadNetwork(&random);
    const Narrowed narrowed = RemoveDeadChannels(graph);
    if (narrowed.applications.empty()) continue;
    auto claims = narrowed.applications;
    auto& channels = claims[random.Below(claims.size())].parameters;
    // The first channel that is not removed: it is live, or the last one that is left.
    std::int64_t other = 0;
    while (std::find(channels.begin(), channels.end(), other) != channels.end()) ++other;
    channels.insert(std::lower_bound(channels.begin(), channels.end(), other), other);
    const auto applied = ApplyDeadChannels(graph, claims);
    EXPECT_FALSE(applied) << i;
    refused += applied ? 0 : 1;
    claims = narrowed.applications;
    claims.front().op = graph::OpId(graph.subgraphs[kMain].ops.size());
    EXPECT_FALSE(ApplyDeadChannels(graph, claims)) << i;
    claims.front().op = narrowed.applications.front().op;
    claims.front().parameters.back() = std::int64_t{1} << 40;
    EXPECT_FALSE(ApplyDeadChannels(graph, claims)) << i;
    claims.front().parameters.back() = -1;
    EXPECT_FALSE(ApplyDeadChannels(graph, claims)) << i;
  }
  EXPECT_GT(refused, Cases(600) / 6);
}

}  // namespace
}  // namespace neap::rewrite
