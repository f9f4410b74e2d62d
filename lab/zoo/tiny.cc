// SPDX-License-Identifier: Apache-2.0
//
// Networks of MLPerf Tiny: Banbury et al., "MLPerf Tiny Benchmark", 2021 (arXiv 2106.07597): DS-CNN
// for keywords (after Zhang et al. 2017, arXiv 1711.07128) and the ResNet of one block a stage.
// Their convolutions have biases beside normalisations.
#include <string>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

Network Classified(Builder* b, TensorId x, std::int64_t classes) {
  b->EndBody(x);
  x = b->Flatten("flat", b->GlobalAveragePool("pool", x));
  b->Output(b->Softmax("probabilities", b->Gemm("logits", x, classes)));
  return b->Finish();
}

// Input: 49 frames of 10 coefficients.
Result<Network> BuildDsCnn(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  constexpr std::int64_t kFilters = 64;
  Builder b("ds-cnn", options.seed, options.weights);
  TensorId x = b.Conv("conv", b.Input("input", {1, 1, 49, 10}),
                      {.channels = kFilters,
                       .kernel = 10,
                       .stride = 2,
                       .batch_norm = true,
                       .padding = Padding::kSame,
                       .kernel_width = 4,
                       .bias = true});
  x = b.Relu("relu", x);
  for (int i = 1; i <= 4; ++i) {
    const std::string name = "block" + std::to_string(i);
    x = b.DepthwiseConv(name + "/depthwise", x, {.kernel = 3, .batch_norm = true, .bias = true});
    x = b.Conv(name + "/pointwise", b.Relu(name + "/relu1", x),
               {.channels = kFilters, .batch_norm = true, .bias = true});
    x = b.Relu(name + "/relu2", x);
  }
  return Classified(&b, x, 12);
}

Result<Network> BuildResnet8(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  Builder b("resnet8", options.seed, options.weights);
  const auto conv = [&](const std::string& name, TensorId x, std::int64_t channels,
                        std::int64_t stride) {
    return b.Conv(name, x,
                  {.channels = channels,
                   .kernel = 3,
                   .stride = stride,
                   .batch_norm = true,
                   .padding = Padding::kSame,
                   .bias = true});
  };
  TensorId x = b.Relu("relu", conv("conv", b.Input("input", {1, 3, 32, 32}), 16, 1));
  for (int i = 0; i < 3; ++i) {
    const std::string name = "stack" + std::to_string(i + 1);
    const std::int64_t channels = std::int64_t{16} << i;
    const std::int64_t stride = i == 0 ? 1 : 2;
    TensorId y = b.Relu(name + "/relu1", conv(name + "/conv1", x, channels, stride));
    y = conv(name + "/conv2", y, channels, 1);
    if (i != 0) {
      x = b.Conv(name + "/shortcut", x, {.channels = channels, .stride = stride, .bias = true});
    }
    x = b.Relu(name + "/relu2", b.Add(name + "/add", x, y));
  }
  return Classified(&b, x, 10);
}

constexpr Entry kEntries[] = {
    {{"ds-cnn", "DS-CNN for 12 keywords, of MLPerf Tiny (Banbury et al. 2021)"}, BuildDsCnn},
    {{"resnet8", "ResNet-8 for CIFAR-10, of MLPerf Tiny (Banbury et al. 2021)"}, BuildResnet8},
};

}  // namespace

std::span<const Entry> TinyEntries() { return kEntries; }

}  // namespace neap::zoo
