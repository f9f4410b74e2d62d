// SPDX-License-Identifier: Apache-2.0
//
// DARTS: Liu, Simonyan, Yang, "DARTS: Differentiable Architecture Search", 2019 (arXiv 1806.09055):
// the cells of figures 4 and 5 (second order; called DARTS_V2) and those of the first order search
// (DARTS_V1, released with the code), the CIFAR-10 network of 20 cells and the mobile ImageNet
// network of 14. Every convolution is ReLU-convolution-normalisation; a
// cell writes its two preprocessed inputs, then its nodes one after the other, each as left
// operation, right operation, sum. Auxiliary heads exist in training only.
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

constexpr Range kImageNetWidth = {48, 2, 256, 2};
constexpr Range kCifarWidth = {36, 2, 256, 2};
constexpr int kImageNetCells = 14;
constexpr int kCifarCells = 20;

enum class Operation { kSepConv3x3, kDilConv3x3, kMaxPool3x3, kAvgPool3x3, kSkipConnect };

// Operations and their input states: 0 and 1 are the inputs of the cell, 2 ... 5 its nodes.
struct Edge {
  Operation operation;
  std::size_t state;
};
// Two edges a node.
using CellEdges = std::array<Edge, 8>;
struct Genotype {
  CellEdges normal;
  CellEdges reduction;
};

constexpr Genotype kSecondOrder = {{{{Operation::kSepConv3x3, 0},
                                     {Operation::kSepConv3x3, 1},
                                     {Operation::kSepConv3x3, 0},
                                     {Operation::kSepConv3x3, 1},
                                     {Operation::kSepConv3x3, 1},
                                     {Operation::kSkipConnect, 0},
                                     {Operation::kSkipConnect, 0},
                                     {Operation::kDilConv3x3, 2}}},
                                   {{{Operation::kMaxPool3x3, 0},
                                     {Operation::kMaxPool3x3, 1},
                                     {Operation::kSkipConnect, 2},
                                     {Operation::kMaxPool3x3, 1},
                                     {Operation::kMaxPool3x3, 0},
                                     {Operation::kSkipConnect, 2},
                                     {Operation::kSkipConnect, 2},
                                     {Operation::kMaxPool3x3, 1}}}};
constexpr Genotype kFirstOrder = {{{{Operation::kSepConv3x3, 1},
                                    {Operation::kSepConv3x3, 0},
                                    {Operation::kSkipConnect, 0},
                                    {Operation::kSepConv3x3, 1},
                                    {Operation::kSkipConnect, 0},
                                    {Operation::kSepConv3x3, 1},
                                    {Operation::kSepConv3x3, 0},
                                    {Operation::kSkipConnect, 2}}},
                                  {{{Operation::kMaxPool3x3, 0},
                                    {Operation::kMaxPool3x3, 1},
                                    {Operation::kSkipConnect, 2},
                                    {Operation::kMaxPool3x3, 0},
                                    {Operation::kMaxPool3x3, 0},
                                    {Operation::kSkipConnect, 2},
                                    {Operation::kSkipConnect, 2},
                                    {Operation::kAvgPool3x3, 0}}}};

TensorId ReluConv(Builder* b, const std::string& name, TensorId x, std::int64_t channels) {
  x = b->Relu(name + "/relu", x);
  return b->Conv(name + "/conv", x, {.channels = channels, .batch_norm = true});
}

// Halves height and width: two 1x1 convolutions of stride 2, the second one pixel further down and
// right, give half of the channels each.
TensorId FactorizedReduce(Builder* b, const std::string& name, TensorId x, std::int64_t channels) {
  const ConvSpec half = {.channels = channels / 2, .stride = 2, .batch_norm = true};
  x = b->Relu(name + "/relu", x);
  const TensorId even = b->Conv(name + "/even", x, half);
  const TensorId odd = b->Conv(name + "/odd", b->Crop(name + "/crop", x, 1), half);
  return b->Concat(name + "/concat", {even, odd});
}

// ReLU, depthwise, pointwise.
TensorId SeparableConv(Builder* b, const std::string& name, TensorId x, std::int64_t stride,
                       std::int64_t dilation) {
  const std::int64_t channels = b->Channels(x);
  x = b->Relu(name + "/relu", x);
  x = b->DepthwiseConv(name + "/depthwise", x,
                       {.kernel = 3, .stride = stride, .dilation = dilation});
  return b->Conv(name + "/pointwise", x, {.channels = channels, .batch_norm = true});
}

TensorId Apply(Builder* b, const std::string& name, Operation operation, TensorId x,
               std::int64_t stride) {
  switch (operation) {
    case Operation::kSepConv3x3:
      x = SeparableConv(b, name + "/first", x, stride, 1);
      return SeparableConv(b, name + "/second", x, 1, 1);
    case Operation::kDilConv3x3:
      return SeparableConv(b, name, x, stride, 2);
    case Operation::kMaxPool3x3:
      return b->MaxPool(name, x, {.kernel = 3, .stride = stride});
    case Operation::kAvgPool3x3:
      return b->AveragePool(name, x, {.kernel = 3, .stride = stride});
    case Operation::kSkipConnect:
      return stride == 1 ? x : FactorizedReduce(b, name, x, b->Channels(x));
  }
  return x;
}

struct CellSpec {
  const Genotype* genotype = nullptr;
  std::int64_t channels = 0;
  bool reduction = false;
  bool after_reduction = false;  // the input before the last is twice as high and wide
};

TensorId Cell(Builder* b, const std::string& name, TensorId before_last, TensorId last,
              const CellSpec& spec) {
  const std::string first = name + "/input0";
  std::vector<TensorId> states = {spec.after_reduction
                                      ? FactorizedReduce(b, first, before_last, spec.channels)
                                      : ReluConv(b, first, before_last, spec.channels)};
  states.push_back(ReluConv(b, name + "/input1", last, spec.channels));
  const CellEdges& edges = spec.reduction ? spec.genotype->reduction : spec.genotype->normal;
  for (std::size_t i = 0; i < edges.size(); i += 2) {
    const std::string node = name + "/node" + std::to_string(states.size());
    const auto side = [&](const char* suffix, const Edge& edge) {
      const std::int64_t stride = spec.reduction && edge.state < 2 ? 2 : 1;
      return Apply(b, node + suffix, edge.operation, states[edge.state], stride);
    };
    const TensorId left = side("/left", edges[i]);
    const TensorId right = side("/right", edges[i + 1]);
    states.push_back(b->Add(node + "/add", left, right));
  }
  return b->Concat(name + "/concat", {states.begin() + 2, states.end()});
}

// The cells, of which those after one and two thirds reduce, then the classifier.
struct Trunk {
  const Genotype* genotype = nullptr;
  int cells = 0;
  std::int64_t width = 0;
  std::int64_t classes = 0;
  bool after_reduction = false;  // the two inputs of the first cell differ in size
};
void CellsAndHead(Builder* b, TensorId before_last, TensorId last, const Trunk& trunk) {
  CellSpec spec = {trunk.genotype, trunk.width, false, trunk.after_reduction};
  for (int i = 0; i < trunk.cells; ++i) {
    spec.reduction = i == trunk.cells / 3 || i == 2 * trunk.cells / 3;
    if (spec.reduction) spec.channels *= 2;
    const TensorId out = Cell(b, "cell" + std::to_string(i), before_last, last, spec);
    before_last = last;
    last = out;
    spec.after_reduction = spec.reduction;
  }
  const TensorId pooled = b->GlobalAveragePool("classifier/pool", last);
  b->Output(b->Gemm("logits", b->Flatten("classifier/flat", pooled), trunk.classes));
}

Result<std::int64_t> PickWidth(const ZooOptions& options, const Range& range) {
  NEAP_CHECK_OK(RefuseNodes(options));
  return PickOption("width", options.width, range);
}

Result<Network> BuildImageNet(const char* name, const ZooOptions& options,
                              const Genotype& genotype) {
  NEAP_TRY(const std::int64_t width, PickWidth(options, kImageNetWidth));
  Builder b(name, options.seed, options.weights);
  const auto stem = [&](const std::string& part, TensorId x, std::int64_t channels) {
    return b.Conv(part, x, {.channels = channels, .kernel = 3, .stride = 2, .batch_norm = true});
  };
  TensorId x = stem("stem0/conv0", b.Input("input", {1, 3, 224, 224}), width / 2);
  const TensorId stem0 = stem("stem0/conv1", b.Relu("stem0/relu", x), width);
  const TensorId stem1 = stem("stem1/conv", b.Relu("stem1/relu", stem0), width);
  CellsAndHead(&b, stem0, stem1, {&genotype, kImageNetCells, width, 1000, true});
  return b.Finish();
}

Result<Network> BuildCifar(const char* name, const ZooOptions& options, const Genotype& genotype) {
  NEAP_TRY(const std::int64_t width, PickWidth(options, kCifarWidth));
  Builder b(name, options.seed, options.weights);
  const TensorId stem = b.Conv("stem/conv", b.Input("input", {1, 3, 32, 32}),
                               {.channels = 3 * width, .kernel = 3, .batch_norm = true});
  CellsAndHead(&b, stem, stem, {&genotype, kCifarCells, width, 10, false});
  return b.Finish();
}

Result<Network> BuildImageNetCell(const ZooOptions& options) {
  NEAP_TRY(const std::int64_t width, PickWidth(options, kImageNetWidth));
  Builder b("darts-imagenet-cell", options.seed, options.weights);
  const TensorId stem0 = b.Input("stem0", {1, width, 56, 56});
  const TensorId stem1 = b.Input("stem1", {1, width, 28, 28});
  b.Output(Cell(&b, "cell0", stem0, stem1, {&kSecondOrder, width, false, true}));
  return b.Finish();
}

constexpr Entry kEntries[] = {
    {{"darts-imagenet",
      "DARTS (second order), mobile ImageNet network of 14 cells (Liu et al. 2019, figures 4 and "
      "5)"},
     [](const ZooOptions& o) { return BuildImageNet("darts-imagenet", o, kSecondOrder); }},
    {{"darts-imagenet-cell", "the first cell of darts-imagenet alone, with both of its inputs"},
     BuildImageNetCell},
    {{"darts-cifar", "DARTS (second order), CIFAR-10 network of 20 cells (Liu et al. 2019)"},
     [](const ZooOptions& o) { return BuildCifar("darts-cifar", o, kSecondOrder); }},
    {{"darts-v1-imagenet", "DARTS (first order), mobile ImageNet network of 14 cells"},
     [](const ZooOptions& o) { return BuildImageNet("darts-v1-imagenet", o, kFirstOrder); }},
    {{"darts-v1-cifar", "DARTS (first order), CIFAR-10 network of 20 cells (Liu et al. 2019)"},
     [](const ZooOptions& o) { return BuildCifar("darts-v1-cifar", o, kFirstOrder); }},
};

}  // namespace

std::span<const Entry> DartsEntries() { return kEntries; }

}  // namespace neap::zoo
