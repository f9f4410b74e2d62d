// SPDX-License-Identifier: Apache-2.0
//
// DenseNet-BC: Huang, Liu, van der Maaten, Weinberger, "Densely Connected Convolutional Networks",
// 2017 (arXiv 1608.06993), table 1: growth 32, bottlenecks of 128, transitions that halve. Later
// layers also read the input of a normalisation, so only the one after a bottleneck folds.
#include <array>
#include <string>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

constexpr std::int64_t kGrowth = 32;
using Blocks = std::array<int, 4>;

TensorId NormRelu(Builder* b, const std::string& name, TensorId x) {
  return b->Relu(name + "/relu", b->BatchNorm(name + "/norm", x));
}

TensorId Layer(Builder* b, const std::string& name, TensorId x) {
  TensorId grown =
      b->Conv(name + "/conv1", NormRelu(b, name, x), {.channels = 4 * kGrowth, .batch_norm = true});
  grown =
      b->Conv(name + "/conv2", b->Relu(name + "/relu2", grown), {.channels = kGrowth, .kernel = 3});
  return b->Concat(name + "/concat", {x, grown});
}

Result<Network> BuildDensenet(const char* name, const ZooOptions& options, const Blocks& blocks) {
  NEAP_CHECK_OK(RefuseSizes(options));
  Builder b(name, options.seed, options.weights);
  TensorId x = b.Conv(
      "conv1", b.Input("input", {1, 3, 224, 224}),
      {.channels = 2 * kGrowth, .kernel = 7, .stride = 2, .batch_norm = true, .extra_layers = 1});
  x = b.MaxPool("pool1", b.Relu("relu1", x), {.kernel = 3, .stride = 2, .extra_layers = 1});
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const std::string prefix = "conv" + std::to_string(block + 2);
    for (int i = 0; i < blocks[block]; ++i) {
      x = Layer(&b, prefix + "/block" + std::to_string(i + 1), x);
    }
    if (block + 1 == blocks.size()) break;
    const std::string transition = "pool" + std::to_string(block + 2);
    x = b.Conv(transition + "/conv", NormRelu(&b, transition, x), {.channels = b.Channels(x) / 2});
    x = b.AveragePool(transition + "/pool", x,
                      {.kernel = 2, .stride = 2, .padding = Padding::kValid});
  }
  x = NormRelu(&b, "post", x);
  b.EndBody(x);
  x = b.Flatten("flat", b.GlobalAveragePool("pool", x));
  b.Output(b.Softmax("probabilities", b.Gemm("logits", x, 1000)));
  return b.Finish();
}

constexpr Entry kEntries[] = {
    {{"densenet-121", "DenseNet-121 (Huang et al. 2017, table 1)"},
     [](const ZooOptions& o) {
       return BuildDensenet("densenet-121", o, {6, 12, 24, 16});
     }},
    {{"densenet-169", "DenseNet-169 (Huang et al. 2017, table 1)"},
     [](const ZooOptions& o) {
       return BuildDensenet("densenet-169", o, {6, 12, 32, 32});
     }},
    {{"densenet-201", "DenseNet-201 (Huang et al. 2017, table 1)"},
     [](const ZooOptions& o) {
       return BuildDensenet("densenet-201", o, {6, 12, 48, 32});
     }},
};

}  // namespace

std::span<const Entry> DensenetEntries() { return kEntries; }

}  // namespace neap::zoo
