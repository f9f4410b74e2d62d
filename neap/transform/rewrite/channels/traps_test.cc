// SPDX-License-Identifier: Apache-2.0
//
// One network for each place where a channel looks dead and is not, beside one where it is.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "neap/check/channel_check.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/transform/rewrite/channels/dead.h"
#include "testing/dead_networks.h"

namespace neap::rewrite {
namespace {

using graph::Graph;
using graph::Int8Layers;
using graph::SubgraphId;
using graph::TensorId;

constexpr SubgraphId kMain(0);
using Channels = std::vector<std::int64_t>;

constexpr std::int32_t kFar = 2'000'000;  // saturates every output of these networks
constexpr std::int32_t kRelu = 1;

Int8Layers::Window Kernel(std::int64_t size, bool same = true) {
  Int8Layers::Window w;
  w.kernel = size;
  w.same = same;
  return w;
}

class Trap : public testing::Test {
 protected:
  // Three channels, the second of which is saturated: at the zero point, or at 127.
  TensorId Planted(TensorId in, bool at_zero, std::int32_t zero) {
    return net_.Conv(in, {10, at_zero ? -kFar : kFar, -10},
                     net_.RandomWeights(3 * net_.ShapeOf(in).back(), 20), Kernel(1), zero);
  }
  TensorId Conv(TensorId in, std::int64_t outs, const Int8Layers::Window& w) {
    return net_.Conv(in, std::vector<std::int32_t>(static_cast<std::size_t>(outs), 5),
                     net_.RandomWeights(outs * w.kernel * w.kernel * net_.ShapeOf(in).back(), 20),
                     w, -20);
  }
  // The channels that are removed of operator 0, after the outputs have been compared.
  Channels RemovedOf(TensorId output) {
    net_.Output(output);
    graph_ = net_.Take();
    EXPECT_TRUE(graph::Verify(graph_));
    const Narrowed narrowed = RemoveDeadChannels(graph_);
    EXPECT_EQ(check::FindWrongChannels(graph_, narrowed.graph, narrowed.applications), "");
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto inputs = execute::RandomInputs(graph_.subgraphs[kMain], seed, 1 << 24);
      const auto a = execute::Evaluate(graph_, kMain, *inputs, {});
      const auto b = execute::Evaluate(narrowed.graph, kMain, *inputs, {});
      EXPECT_TRUE(a && b && (*a)[0].bytes == (*b)[0].bytes);
    }
    for (const plan::Rewrite& rewrite : narrowed.applications) {
      if (rewrite.op == graph::OpId(0)) return rewrite.parameters;
    }
    return {};
  }

  Random random_{5};
  Int8Layers net_{&random_};
  TensorId in_ = net_.Input({1, 4, 4, 2});
  Graph graph_;
};

TEST_F(Trap, AConstantIsFoldedWhereNoPositionReadsPadding) {
  EXPECT_EQ(RemovedOf(Conv(Planted(in_, false, -20), 2, Kernel(1))), Channels{1});
}
TEST_F(Trap, AConstantIsFoldedIntoAValidKernel) {
  EXPECT_EQ(RemovedOf(Conv(Planted(in_, false, -20), 2, Kernel(3, false))), Channels{1});
}
TEST_F(Trap, AConstantBesidePaddingStays) {
  EXPECT_EQ(RemovedOf(Conv(Planted(in_, false, -20), 2, Kernel(3))), Channels());
}
TEST_F(Trap, AZeroPointBesidePaddingGoes) {
  EXPECT_EQ(RemovedOf(Conv(Planted(in_, true, -20), 2, Kernel(3))), Channels{1});
}
TEST_F(Trap, ADepthwiseConvolutionOfAConstantBesidePaddingStays) {
  const TensorId planted = Planted(in_, false, -20);
  const TensorId deep =
      net_.Depthwise(planted, {5, 5, 5}, net_.RandomWeights(27, 2), Kernel(3), -20);
  EXPECT_EQ(RemovedOf(Conv(deep, 2, Kernel(1))), Channels());
}
TEST_F(Trap, ADepthwiseConvolutionOfAConstantWithoutPaddingGoes) {
  const TensorId planted = Planted(in_, false, -20);
  const TensorId deep =
      net_.Depthwise(planted, {5, 5, 5}, net_.RandomWeights(27, 2), Kernel(3, false), -20);
  EXPECT_EQ(RemovedOf(Conv(deep, 2, Kernel(1))), Channels{1});
}
TEST_F(Trap, ADepthwiseConvolutionSaturatedAtEveryBorderGoes) {
  const TensorId planted = Planted(in_, false, -20);
  const TensorId deep =
      net_.Depthwise(planted, {5, -kFar, 5}, net_.RandomWeights(27, 20), Kernel(3), -20);
  EXPECT_EQ(RemovedOf(Conv(deep, 2, Kernel(3))), Channels{1});
}
// No value of the first convolution matters where the second one is saturated.
TEST_F(Trap, ALiveChannelThatADeadOneReadsGoes) {
  const TensorId live = net_.Conv(in_, {10, 20, 30}, net_.RandomWeights(6, 20), Kernel(1), -20);
  const TensorId deep =
      net_.Depthwise(live, {5, 5, -kFar}, net_.RandomWeights(27, 2), Kernel(3), -20);
  EXPECT_EQ(RemovedOf(Conv(deep, 2, Kernel(1))), Channels{2});
}
TEST_F(Trap, PaddingOfAnotherOperatorIsSeen) {
  EXPECT_EQ(RemovedOf(Conv(net_.Pad(Planted(in_, false, -20)), 2, Kernel(1))), Channels());
}
TEST_F(Trap, PaddingOfAZeroPointIsTheSame) {
  EXPECT_EQ(RemovedOf(Conv(net_.Pad(Planted(in_, true, -20)), 2, Kernel(3, false))), Channels{1});
}
TEST_F(Trap, OutputsOfTheModelStay) {
  const TensorId planted = Planted(in_, true, -128);
  net_.Output(planted);
  EXPECT_EQ(RemovedOf(Conv(planted, 2, Kernel(1))), Channels());
}
TEST_F(Trap, EveryReaderHasToDropAChannel) {
  const TensorId planted = Planted(in_, false, -20);
  const TensorId first = Conv(planted, 3, Kernel(1));
  const TensorId second = Conv(planted, 3, Kernel(3));  // beside padding
  EXPECT_EQ(RemovedOf(net_.Add(first, second, kRelu, -20)), Channels());
}
TEST_F(Trap, TwoReadersThatCanDropAChannelDo) {
  const TensorId planted = Planted(in_, true, -20);
  const TensorId first = Conv(planted, 3, Kernel(1));
  const TensorId second = Conv(planted, 3, Kernel(3));
  EXPECT_EQ(RemovedOf(net_.Add(first, second, kRelu, -20)), Channels{1});
}
TEST_F(Trap, BothBranchesOfASumHaveTheConstant) {
  const TensorId first = Planted(in_, true, -20);
  const TensorId second = Planted(in_, true, -20);
  EXPECT_EQ(RemovedOf(Conv(net_.Add(first, second, kRelu, -20), 2, Kernel(3))), Channels{1});
}
TEST_F(Trap, OneBranchOfASumIsNotEnough) {
  const TensorId first = Planted(in_, true, -20);
  const TensorId second = net_.Conv(in_, {10, 20, 30}, net_.RandomWeights(6, 20), Kernel(1), -20);
  EXPECT_EQ(RemovedOf(Conv(net_.Add(first, second, kRelu, -20), 2, Kernel(1))), Channels());
}
TEST_F(Trap, OneChannelIsKept) {
  const TensorId all =
      net_.Conv(in_, {-kFar, -kFar, kFar}, net_.RandomWeights(6, 20), Kernel(1), -20);
  EXPECT_EQ(RemovedOf(Conv(all, 2, Kernel(1))), (Channels{1, 2}));
}
// The sums of these may overflow: nothing is known about the channels, and nothing is folded.
TEST_F(Trap, BiasesNearTheLimitStay) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  const TensorId all = net_.Conv(in_, {10, -kMost, 20}, net_.RandomWeights(6, 20), Kernel(1), -20);
  EXPECT_EQ(RemovedOf(Conv(all, 2, Kernel(1))), Channels());
}
TEST_F(Trap, NothingIsFoldedIntoABiasNearTheLimit) {
  const TensorId planted = Planted(in_, false, -20);
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(RemovedOf(net_.Conv(planted, {kMost, 5}, net_.RandomWeights(6, 20), Kernel(1), -20)),
            Channels());
}
TEST_F(Trap, WeightsOfZeroDoNotRead) {
  const TensorId live = net_.Conv(in_, {10, 20, 30}, net_.RandomWeights(6, 20), Kernel(1), -20);
  EXPECT_EQ(RemovedOf(net_.Conv(live, {1, 2}, {3, 0, 5, -7, 0, 9}, Kernel(1), -20)), Channels{1});
}
TEST_F(Trap, PoolingMeansAndMatricesFollow) {
  const TensorId planted = Planted(in_, true, -20);
  const TensorId pooled = net_.Pool(net_.Pool(planted, true, Kernel(2)), false, Kernel(2, false));
  const TensorId mean = net_.Mean(pooled);
  EXPECT_EQ(RemovedOf(net_.Matrix(mean, {1, 2}, net_.RandomWeights(6, 20), 0, 0)), Channels{1});
}
TEST_F(Trap, ReshapesFollow) {
  const TensorId planted = Planted(in_, false, -20);
  const TensorId flat = net_.Flatten(planted, false);
  EXPECT_EQ(RemovedOf(net_.Matrix(flat, {1, 2}, net_.RandomWeights(6, 20), 0, 0)), Channels{1});
}
TEST_F(Trap, ReshapesThatComputeTheirLastSizeFollow) {
  const TensorId planted = Planted(in_, false, -20);
  const TensorId flat = net_.Flatten(planted, true);
  EXPECT_EQ(RemovedOf(net_.Matrix(flat, {1, 2}, net_.RandomWeights(6, 20), 0, 0)), Channels{1});
}
// One of 48 channels is too little, one of 31 is not.
TEST_F(Trap, TooFewChannelsAreNotWorthTheirBytes) {
  for (const std::int64_t live : {47, 30}) {
    Int8Layers net(&random_);
    const TensorId in = net.Input({1, 1, 1, 1});
    std::vector<std::int32_t> bias(static_cast<std::size_t>(live), 5);
    bias.push_back(-kFar);
    const std::vector<std::int8_t> weights(bias.size(), 3);
    const TensorId wide = net.Conv(in, bias, weights, Kernel(1), -20);
    net.Output(net.Conv(wide, {1}, weights, Kernel(1), 0));
    const Graph graph = net.Take();
    const Narrowed narrowed = RemoveDeadChannels(graph);
    ASSERT_FALSE(narrowed.applications.empty());
    EXPECT_EQ(IsWorthwhile(graph, narrowed.graph), live == 30);
  }
}
TEST_F(Trap, UnknownWeightsChangeNothing) {
  net_.Output(Conv(Planted(in_, false, -20), 2, Kernel(1)));
  Graph graph = net_.Take();
  for (graph::Tensor& tensor : graph.subgraphs[kMain].tensors) tensor.data.reset();
  EXPECT_TRUE(RemoveDeadChannels(graph).applications.empty());
}

}  // namespace
}  // namespace neap::rewrite
