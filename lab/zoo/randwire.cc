// SPDX-License-Identifier: Apache-2.0
//
// RandWire: Xie, Kirillov, Girshick, He, "Exploring Randomly Wired Neural Networks for Image
// Recognition", 2019 (arXiv 1904.01569): section 3.2 (nodes, stages), section 3.3 (generators ER,
// BA, WS), table 1 (small computation regime, C = 78). For CIFAR no paper prints the network; the
// one here keeps nodes and widths, has a stem of one convolution on 32x32, two random stages for
// CIFAR-10 and three for CIFAR-100, which comes within a tenth of the sizes in table 1 of Ahn et
// al. 2020 (arXiv 2003.02369).
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

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"
#include "lab/zoo/wiring.h"
#include "neap/base/random.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

constexpr int kNeighbours = 4;
constexpr Probability kRewire = {3, 4};
constexpr Probability kJoin = {1, 5};
constexpr int kLinks = 5;
constexpr Range kWidth = {78, 2, 256, 2};
constexpr Range kNodes = {32, kNeighbours + 1, 256, 1};
constexpr Range kNodesOfLinks = {32, kLinks + 1, 256, 1};

enum class Generator { kWattsStrogatz, kErdosRenyi, kBarabasiAlbert };
enum class Aggregation { kSum, kWeightedSum };

struct Kind {
  const char* name;
  Generator generator = Generator::kWattsStrogatz;
  Aggregation aggregation = Aggregation::kSum;
};

Edges Draw(Generator generator, int nodes, Random* random) {
  switch (generator) {
    case Generator::kWattsStrogatz:
      return WattsStrogatz(nodes, kNeighbours, kRewire, random);
    case Generator::kErdosRenyi:
      return ErdosRenyi(nodes, kJoin, random);
    case Generator::kBarabasiAlbert:
      return BarabasiAlbert(nodes, kLinks, random);
  }
  return {};
}

// One random cell after another; wirings and weights have random streams of their own, so that a
// wiring does not depend on how many weights were drawn before it.
class Randwire {
 public:
  Randwire(const Kind& kind, const ZooOptions& options, int nodes)
      : seeds_(options.seed),
        wirings_(seeds_.Next()),
        builder_(kind.name, seeds_.Next(), options.weights),
        nodes_(nodes),
        kind_(kind) {}

  Builder& Target() { return builder_; }

  TensorId Stage(const std::string& name, TensorId input, std::int64_t channels) {
    const Wiring wiring = DirectByIndex(nodes_, Draw(kind_.generator, nodes_, &wirings_));
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
    if (kind_.aggregation == Aggregation::kWeightedSum) {
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
  Kind kind_;
};

struct Sizes {
  std::int64_t width;
  int nodes;
};
Result<Sizes> PickSizes(const Kind& kind, const ZooOptions& options) {
  const bool linked = kind.generator == Generator::kBarabasiAlbert;
  NEAP_TRY(const std::int64_t width, PickOption("width", options.width, kWidth));
  NEAP_TRY(const std::int64_t nodes,
           PickOption("nodes", options.nodes, linked ? kNodesOfLinks : kNodes));
  return Sizes{width, static_cast<int>(nodes)};
}

Result<Network> BuildCell(const ZooOptions& options, const Kind& kind) {
  NEAP_TRY(const Sizes sizes, PickSizes(kind, options));
  Randwire randwire(kind, options, sizes.nodes);
  Builder& b = randwire.Target();
  const TensorId input = b.Input("input", {1, sizes.width, 56, 56});
  b.Output(randwire.Stage("conv3", input, sizes.width));
  return b.Finish();
}

Network Classified(Builder* b, TensorId x, std::int64_t classes) {
  x = b->Relu("classifier/relu", x);
  x = b->Conv("classifier/conv", x, {.channels = 1280, .batch_norm = true});
  x = b->Flatten("classifier/flat", b->GlobalAveragePool("classifier/pool", x));
  b->Output(b->Softmax("probabilities", b->Gemm("classifier/fc", x, classes)));
  return b->Finish();
}

Result<Network> BuildSmall(const ZooOptions& options, const Kind& kind) {
  NEAP_TRY(const Sizes sizes, PickSizes(kind, options));
  const std::int64_t width = sizes.width;
  Randwire randwire(kind, options, sizes.nodes);
  Builder& b = randwire.Target();
  TensorId x = b.Input("input", {1, 3, 224, 224});
  x = b.Conv("conv1/conv", x,
             {.channels = width / 2, .kernel = 3, .stride = 2, .batch_norm = true});
  x = b.Conv("conv2/conv", b.Relu("conv2/relu", x),
             {.channels = width, .kernel = 3, .stride = 2, .batch_norm = true});
  x = randwire.Stage("conv3", x, width);
  x = randwire.Stage("conv4", x, 2 * width);
  return Classified(&b, randwire.Stage("conv5", x, 4 * width), 1000);
}

Result<Network> BuildCifar(const ZooOptions& options, const Kind& kind, int stages,
                           std::int64_t classes) {
  NEAP_TRY(const Sizes sizes, PickSizes(kind, options));
  Randwire randwire(kind, options, sizes.nodes);
  Builder& b = randwire.Target();
  TensorId x = b.Conv("conv1/conv", b.Input("input", {1, 3, 32, 32}),
                      {.channels = sizes.width, .kernel = 3, .batch_norm = true});
  for (int stage = 0; stage < stages; ++stage) {
    x = randwire.Stage("conv" + std::to_string(stage + 2), x, sizes.width << stage);
  }
  return Classified(&b, x, classes);
}

constexpr Entry kEntries[] = {
    {{"randwire-ws",
      "RandWire, small regime, three stages WS(32, 4, 0.75), every node sums its inputs (Xie et "
      "al. "
      "2019, table "
      "1)"},
     [](const ZooOptions& o) {
       return BuildSmall(o, {"randwire-ws", Generator::kWattsStrogatz});
     }},
    {{"randwire-ws-weighted",
      "the same with the learned weights of the paper's sums kept as multiplications (section "
      "3.2)"},
     [](const ZooOptions& o) {
       return BuildSmall(
           o, {"randwire-ws-weighted", Generator::kWattsStrogatz, Aggregation::kWeightedSum});
     }},
    {{"randwire-ws-cifar10",
      "RandWire on 32x32, two stages WS(32, 4, 0.75) (sizes as in Ahn et al. 2020)"},
     [](const ZooOptions& o) {
       return BuildCifar(o, {"randwire-ws-cifar10", Generator::kWattsStrogatz}, 2, 10);
     }},
    {{"randwire-ws-cifar100",
      "RandWire on 32x32, three stages WS(32, 4, 0.75) (sizes as in Ahn et al. 2020)"},
     [](const ZooOptions& o) {
       return BuildCifar(o, {"randwire-ws-cifar100", Generator::kWattsStrogatz}, 3, 100);
     }},
    {{"randwire-cell-ws", "the first stage of randwire-ws alone, input 1x78x56x56"},
     [](const ZooOptions& o) {
       return BuildCell(o, {"randwire-cell-ws", Generator::kWattsStrogatz});
     }},
    {{"randwire-er",
      "RandWire, small regime, three stages ER(32, 0.2), every node sums its inputs (Xie et al. "
      "2019, table "
      "1)"},
     [](const ZooOptions& o) {
       return BuildSmall(o, {"randwire-er", Generator::kErdosRenyi});
     }},
    {{"randwire-er-weighted",
      "the same with the learned weights of the paper's sums kept as multiplications (section "
      "3.2)"},
     [](const ZooOptions& o) {
       return BuildSmall(
           o, {"randwire-er-weighted", Generator::kErdosRenyi, Aggregation::kWeightedSum});
     }},
    {{"randwire-er-cifar10",
      "RandWire on 32x32, two stages ER(32, 0.2) (sizes as in Ahn et al. 2020)"},
     [](const ZooOptions& o) {
       return BuildCifar(o, {"randwire-er-cifar10", Generator::kErdosRenyi}, 2, 10);
     }},
    {{"randwire-er-cifar100",
      "RandWire on 32x32, three stages ER(32, 0.2) (sizes as in Ahn et al. 2020)"},
     [](const ZooOptions& o) {
       return BuildCifar(o, {"randwire-er-cifar100", Generator::kErdosRenyi}, 3, 100);
     }},
    {{"randwire-cell-er", "the first stage of randwire-er alone, input 1x78x56x56"},
     [](const ZooOptions& o) {
       return BuildCell(o, {"randwire-cell-er", Generator::kErdosRenyi});
     }},
    {{"randwire-ba",
      "RandWire, small regime, three stages BA(32, 5), every node sums its inputs (Xie et al. "
      "2019, "
      "table "
      "1)"},
     [](const ZooOptions& o) {
       return BuildSmall(o, {"randwire-ba", Generator::kBarabasiAlbert});
     }},
    {{"randwire-ba-weighted",
      "the same with the learned weights of the paper's sums kept as multiplications (section "
      "3.2)"},
     [](const ZooOptions& o) {
       return BuildSmall(
           o, {"randwire-ba-weighted", Generator::kBarabasiAlbert, Aggregation::kWeightedSum});
     }},
    {{"randwire-ba-cifar10",
      "RandWire on 32x32, two stages BA(32, 5) (sizes as in Ahn et al. 2020)"},
     [](const ZooOptions& o) {
       return BuildCifar(o, {"randwire-ba-cifar10", Generator::kBarabasiAlbert}, 2, 10);
     }},
    {{"randwire-ba-cifar100",
      "RandWire on 32x32, three stages BA(32, 5) (sizes as in Ahn et al. 2020)"},
     [](const ZooOptions& o) {
       return BuildCifar(o, {"randwire-ba-cifar100", Generator::kBarabasiAlbert}, 3, 100);
     }},
    {{"randwire-cell-ba", "the first stage of randwire-ba alone, input 1x78x56x56"},
     [](const ZooOptions& o) {
       return BuildCell(o, {"randwire-cell-ba", Generator::kBarabasiAlbert});
     }},
};

}  // namespace

std::span<const Entry> RandwireEntries() { return kEntries; }

}  // namespace neap::zoo
