// SPDX-License-Identifier: Apache-2.0
//
// RandWire: Xie, Kirillov, Girshick, He, "Exploring Randomly Wired Neural Networks for Image
// Recognition", 2019 (arXiv 1904.01569): section 3.2 (nodes, stages), section 3.3 (generator WS),
// table 1 (small computation regime, C = 78).
//
// A node adds up its inputs and runs a ReLU-convolution-normalisation triplet, whose convolution is
// depthwise 3x3, then pointwise. Node index is a topological order, and the order written here.
// Nodes without predecessors read the stage's input, with stride 2; the stage's output is the
// unweighted average of the nodes without successors. The paper's sum is weighted by sigmoids of
// learned numbers; the names without "-weighted" have the plain sum, the form in which the wiring
// is usually studied.
#include <cstddef>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/zoo/builder.h"
#include "neap/zoo/family.h"
#include "neap/zoo/wiring.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

constexpr int kNeighbours = 4;
constexpr Probability kRewire = {3, 4};
constexpr Range kWidth = {78, 2, 256, 2};
constexpr Range kNodes = {32, kNeighbours + 1, 256, 1};

enum class Aggregation { kSum, kWeightedSum };

// One random cell after another; wirings and weights have random streams of their own, so that a
// wiring does not depend on how many weights were drawn before it.
class Randwire {
 public:
  Randwire(std::string name, std::uint64_t seed, int nodes, Aggregation aggregation)
      : seeds_(seed),
        wirings_(seeds_.Next()),
        builder_(std::move(name), seeds_.Next()),
        nodes_(nodes),
        aggregation_(aggregation) {}

  Builder& Target() { return builder_; }

  TensorId Stage(const std::string& name, TensorId input, std::int64_t channels) {
    const Wiring wiring =
        DirectByIndex(nodes_, WattsStrogatz(nodes_, kNeighbours, kRewire, &wirings_));
    std::vector<TensorId> values;
    std::vector<TensorId> ends;
    for (std::size_t node = 0; node < wiring.predecessors.size(); ++node) {
      const std::string prefix = name + "/node" + std::to_string(node);
      const auto& predecessors = wiring.predecessors[node];
      const TensorId sum = predecessors.empty() ? input : Aggregate(prefix, predecessors, values);
      values.push_back(Triplet(prefix, sum, channels, predecessors.empty() ? 2 : 1));
      if (!wiring.has_successor[node]) ends.push_back(values.back());
    }
    if (ends.size() == 1) return ends.front();
    const TensorId sum = builder_.Sum(name + "/sum", ends);
    return builder_.Scale(name + "/average", sum, 1.0F / static_cast<float>(ends.size()));
  }

 private:
  TensorId Aggregate(const std::string& prefix, const std::vector<int>& predecessors,
                     const std::vector<TensorId>& values) {
    std::vector<TensorId> terms;
    terms.reserve(predecessors.size());
    for (const int predecessor : predecessors) {
      terms.push_back(values[static_cast<std::size_t>(predecessor)]);
    }
    // A lone weight is positive, passes through the ReLU and is part of the convolution.
    if (terms.size() == 1) return terms.front();
    if (aggregation_ == Aggregation::kWeightedSum) {
      for (std::size_t i = 0; i < terms.size(); ++i) {
        terms[i] = builder_.Gate(prefix + "/gate" + std::to_string(predecessors[i]), terms[i]);
      }
    }
    return builder_.Sum(prefix + "/sum", terms);
  }

  TensorId Triplet(const std::string& prefix, TensorId input, std::int64_t channels,
                   std::int64_t stride) {
    const TensorId relu = builder_.Relu(prefix + "/relu", input);
    const TensorId depthwise =
        builder_.DepthwiseConv(prefix + "/depthwise", relu, {.kernel = 3, .stride = stride});
    return builder_.Conv(prefix + "/pointwise", depthwise,
                         {.channels = channels, .batch_norm = true});
  }

  Random seeds_;
  Random wirings_;
  Builder builder_;
  int nodes_;
  Aggregation aggregation_;
};

struct Sizes {
  std::int64_t width;
  int nodes;
};
Result<Sizes> PickSizes(const ZooOptions& options) {
  NEAP_TRY(const std::int64_t width, PickOption("width", options.width, kWidth));
  NEAP_TRY(const std::int64_t nodes, PickOption("nodes", options.nodes, kNodes));
  return Sizes{width, static_cast<int>(nodes)};
}

Result<Network> BuildCell(const ZooOptions& options) {
  NEAP_TRY(const Sizes sizes, PickSizes(options));
  Randwire randwire("randwire-cell-ws", options.seed, sizes.nodes, Aggregation::kSum);
  Builder& b = randwire.Target();
  const TensorId input = b.Input("input", {1, sizes.width, 56, 56});
  b.Output(randwire.Stage("conv3", input, sizes.width));
  return b.Finish();
}

Result<Network> BuildSmall(const char* name, const ZooOptions& options, Aggregation aggregation) {
  NEAP_TRY(const Sizes sizes, PickSizes(options));
  const std::int64_t width = sizes.width;
  Randwire randwire(name, options.seed, sizes.nodes, aggregation);
  Builder& b = randwire.Target();
  const auto conv = [&](const std::string& stage, TensorId input, const ConvSpec& spec) {
    return b.Conv(stage + "/conv", b.Relu(stage + "/relu", input), spec);
  };
  TensorId x = b.Input("input", {1, 3, 224, 224});
  x = b.Conv("conv1/conv", x,
             {.channels = width / 2, .kernel = 3, .stride = 2, .batch_norm = true});
  x = conv("conv2", x, {.channels = width, .kernel = 3, .stride = 2, .batch_norm = true});
  x = randwire.Stage("conv3", x, width);
  x = randwire.Stage("conv4", x, 2 * width);
  x = randwire.Stage("conv5", x, 4 * width);
  x = conv("classifier", x, {.channels = 1280, .batch_norm = true});
  x = b.GlobalAveragePool("classifier/pool", x);
  x = b.Flatten("classifier/flat", x);
  x = b.Gemm("classifier/fc", x, 1000);
  b.Output(b.Softmax("probabilities", x));
  return b.Finish();
}

Result<Network> BuildSum(const ZooOptions& options) {
  return BuildSmall("randwire-ws", options, Aggregation::kSum);
}

Result<Network> BuildWeighted(const ZooOptions& options) {
  return BuildSmall("randwire-ws-weighted", options, Aggregation::kWeightedSum);
}

constexpr Entry kEntries[] = {
    {{"randwire-ws",
      "RandWire, small regime, three stages WS(32, 4, 0.75), nodes add up their inputs (Xie et al. "
      "2019, table 1)"},
     BuildSum},
    {{"randwire-ws-weighted",
      "the same with the learned weights of the paper's sums kept as multiplications (section "
      "3.2)"},
     BuildWeighted},
    {{"randwire-cell-ws", "the first stage of randwire-ws alone, input 1x78x56x56"}, BuildCell},
};

}  // namespace

std::span<const Entry> RandwireEntries() { return kEntries; }

}  // namespace neap::zoo
