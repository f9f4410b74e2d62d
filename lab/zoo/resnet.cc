// SPDX-License-Identifier: Apache-2.0
//
// ResNet v1: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition", 2016 (arXiv
// 1512.03385), table 1. ResNet v2: the same authors, "Identity Mappings in Deep Residual Networks",
// 2016 (arXiv 1603.05027). Both as keras.applications defines them: v1 strides in the first
// convolution of a stage and has biases beside its normalisations; v2 strides in the last block.
#include <array>
#include <string>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

constexpr std::int64_t kWidth = 64;

// Blocks of the four stages.
using Stages = std::array<int, 4>;
constexpr Stages kStages50 = {3, 4, 6, 3};
constexpr Stages kStages101 = {3, 4, 23, 3};
constexpr Stages kStages152 = {3, 8, 36, 3};

struct Block {
  std::int64_t filters = 0;
  std::int64_t stride = 1;
  bool convolved_shortcut = false;
};

TensorId BlockV1(Builder* b, const std::string& name, TensorId x, const Block& block) {
  const auto conv = [&](const std::string& part, TensorId in, std::int64_t channels,
                        std::int64_t kernel, std::int64_t stride) {
    return b->Conv(name + part, in,
                   {.channels = channels,
                    .kernel = kernel,
                    .stride = stride,
                    .batch_norm = true,
                    .bias = true});
  };
  const TensorId shortcut =
      block.convolved_shortcut ? conv("/shortcut", x, 4 * block.filters, 1, block.stride) : x;
  x = b->Relu(name + "/relu1", conv("/conv1", x, block.filters, 1, block.stride));
  x = b->Relu(name + "/relu2", conv("/conv2", x, block.filters, 3, 1));
  x = conv("/conv3", x, 4 * block.filters, 1, 1);
  return b->Relu(name + "/out", b->Add(name + "/add", shortcut, x));
}

TensorId BlockV2(Builder* b, const std::string& name, TensorId x, const Block& block) {
  const TensorId active = b->Relu(name + "/preact/relu", b->BatchNorm(name + "/preact/norm", x));
  TensorId shortcut = x;
  if (block.convolved_shortcut) {
    shortcut = b->Conv(name + "/shortcut", active,
                       {.channels = 4 * block.filters, .stride = block.stride, .bias = true});
  } else if (block.stride != 1) {
    shortcut = b->MaxPool(name + "/shortcut", x, {.kernel = 1, .stride = block.stride});
  }
  x = b->Conv(name + "/conv1", active, {.channels = block.filters, .batch_norm = true});
  x = b->Conv(name + "/conv2", b->Relu(name + "/relu1", x),
              {.channels = block.filters,
               .kernel = 3,
               .stride = block.stride,
               .batch_norm = true,
               .extra_layers = 1});
  x = b->Conv(name + "/conv3", b->Relu(name + "/relu2", x),
              {.channels = 4 * block.filters, .bias = true});
  return b->Add(name + "/out", shortcut, x);
}

std::string BlockName(std::size_t stage, int block) {
  return "conv" + std::to_string(stage + 2) + "/block" + std::to_string(block + 1);
}

TensorId StemPool(Builder* b, TensorId x) {
  return b->MaxPool("pool1", x, {.kernel = 3, .stride = 2, .extra_layers = 1});
}

Network Classified(Builder* b, TensorId features) {
  b->EndBody(features);
  const TensorId pooled = b->Flatten("flat", b->GlobalAveragePool("pool", features));
  b->Output(b->Softmax("probabilities", b->Gemm("logits", pooled, 1000)));
  return b->Finish();
}

Result<Network> BuildV1(const char* name, const ZooOptions& options, const Stages& stages) {
  NEAP_CHECK_OK(RefuseSizes(options));
  Builder b(name, options.seed, options.weights);
  TensorId x = b.Conv("conv1", b.Input("input", {1, 3, 224, 224}),
                      {.channels = kWidth,
                       .kernel = 7,
                       .stride = 2,
                       .batch_norm = true,
                       .bias = true,
                       .extra_layers = 1});
  x = StemPool(&b, b.Relu("relu1", x));
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (int i = 0; i < stages[stage]; ++i) {
      const bool first = i == 0;
      x = BlockV1(&b, BlockName(stage, i), x, {kWidth << stage, first && stage > 0 ? 2 : 1, first});
    }
  }
  return Classified(&b, x);
}

Result<Network> BuildV2(const char* name, const ZooOptions& options, const Stages& stages) {
  NEAP_CHECK_OK(RefuseSizes(options));
  Builder b(name, options.seed, options.weights);
  TensorId x =
      b.Conv("conv1", b.Input("input", {1, 3, 224, 224}),
             {.channels = kWidth, .kernel = 7, .stride = 2, .bias = true, .extra_layers = 1});
  x = StemPool(&b, x);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (int i = 0; i < stages[stage]; ++i) {
      const bool strided = i + 1 == stages[stage] && stage + 1 < stages.size();
      x = BlockV2(&b, BlockName(stage, i), x, {kWidth << stage, strided ? 2 : 1, i == 0});
    }
  }
  return Classified(&b, b.Relu("post/relu", b.BatchNorm("post/norm", x)));
}

constexpr Entry kEntries[] = {
    {{"resnet-50", "ResNet-50 v1 (He et al. 2016, table 1)"},
     [](const ZooOptions& o) { return BuildV1("resnet-50", o, kStages50); }},
    {{"resnet-101", "ResNet-101 v1 (He et al. 2016, table 1)"},
     [](const ZooOptions& o) { return BuildV1("resnet-101", o, kStages101); }},
    {{"resnet-152", "ResNet-152 v1 (He et al. 2016, table 1)"},
     [](const ZooOptions& o) { return BuildV1("resnet-152", o, kStages152); }},
    {{"resnet-50-v2", "ResNet-50 v2, normalisation first (He et al. 2016, identity mappings)"},
     [](const ZooOptions& o) { return BuildV2("resnet-50-v2", o, kStages50); }},
    {{"resnet-101-v2", "ResNet-101 v2 (He et al. 2016, identity mappings)"},
     [](const ZooOptions& o) { return BuildV2("resnet-101-v2", o, kStages101); }},
    {{"resnet-152-v2", "ResNet-152 v2 (He et al. 2016, identity mappings)"},
     [](const ZooOptions& o) { return BuildV2("resnet-152-v2", o, kStages152); }},
};

}  // namespace

std::span<const Entry> ResnetEntries() { return kEntries; }

}  // namespace neap::zoo
