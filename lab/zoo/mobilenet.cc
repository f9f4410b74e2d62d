// SPDX-License-Identifier: Apache-2.0
//
// MobileNetV1: Howard et al. 2017 (arXiv 1704.04861), table 1. MobileNetV2: Sandler et al. 2018
// (arXiv 1801.04381), table 2. MobileNetV3: Howard et al. 2019 (arXiv 1905.02244), tables 1 and 2.
// EfficientNet-lite0: the EfficientNet-B0 of Tan and Le 2019 (arXiv 1905.11946), table 1, without
// squeeze-and-excitation and with ReLU6. All normalisations fold.
#include <algorithm>
#include <iterator>
#include <span>
#include <string>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

enum class Activation { kRelu, kRelu6, kHardSwish };

TensorId Activate(Builder* b, const std::string& name, Activation activation, TensorId x) {
  switch (activation) {
    case Activation::kRelu:
      return b->Relu(name, x);
    case Activation::kRelu6:
      return b->Relu6(name, x);
    case Activation::kHardSwish:
      return b->HardSwish(name, x);
  }
  return x;
}

constexpr std::int64_t kWhole = 1000;

// Channel counts are multiples of 8 that lose at most a tenth of channels * thousandths / 1000.
std::int64_t Rounded(std::int64_t channels, std::int64_t thousandths = kWhole) {
  const std::int64_t exact = channels * thousandths;
  const std::int64_t rounded = std::max<std::int64_t>(8, (exact + 4 * kWhole) / (8 * kWhole) * 8);
  return 10 * rounded * kWhole < 9 * exact ? rounded + 8 : rounded;
}

// The parameters of a network, and its paper's numbers.
struct Scale {
  std::int64_t thousandths = kWhole;
  std::int64_t size = 224;
};
Result<Scale> PickScale(const ZooOptions& options, const Scale& published) {
  Scale scale;
  NEAP_TRY(scale.thousandths,
           PickOption("width multiplier in thousandths", options.width_thousandths,
                      {.published = published.thousandths, .low = 10, .high = 10 * kWhole}));
  NEAP_TRY(scale.size, PickOption("resolution", options.resolution,
                                  {.published = published.size, .low = 32, .high = 2048}));
  return scale;
}

// Padded as in Keras, folded.
ConvSpec Normalised(std::int64_t channels, std::int64_t kernel = 1, std::int64_t stride = 1) {
  return {.channels = channels,
          .kernel = kernel,
          .stride = stride,
          .batch_norm = true,
          .padding = Padding::kSame};
}

TensorId ConvNorm(Builder* b, const std::string& name, TensorId x, Activation activation,
                  const ConvSpec& spec) {
  return Activate(b, name + "/act", activation, b->Conv(name + "/conv", x, spec));
}

TensorId DepthwiseNorm(Builder* b, const std::string& name, TensorId x, Activation activation,
                       ConvSpec spec) {
  // Keras writes the padding of a strided one as a layer of its own.
  spec.extra_layers = spec.stride == 2 ? 1 : 0;
  return Activate(b, name + "/act", activation, b->DepthwiseConv(name + "/conv", x, spec));
}

TensorId Pooled(Builder* b, TensorId x) {
  b->EndBody(x);
  return b->GlobalAveragePool("pool", x);
}

// An inverted residual (MobileNetV2, figure 4b), with squeeze-and-excitation for MobileNetV3.
struct Inverted {
  std::int64_t kernel = 3;
  std::int64_t expanded = 0;  // equal to the channels of the input: no expansion
  std::int64_t channels = 0;
  std::int64_t stride = 1;
  bool squeeze = false;
  Activation activation = Activation::kRelu6;
};

TensorId SqueezeExcite(Builder* b, const std::string& name, TensorId x) {
  const std::int64_t channels = b->Channels(x);
  TensorId s = b->GlobalAveragePool(name + "/pool", x);
  s = b->Conv(name + "/reduce", s, {.channels = Rounded(channels / 4), .bias = true});
  s = b->Conv(name + "/expand", b->Relu(name + "/relu", s), {.channels = channels, .bias = true});
  return b->Mul(name + "/scaled", x, b->HardSigmoid(name + "/gate", s));
}

TensorId InvertedResidual(Builder* b, const std::string& name, TensorId input,
                          const Inverted& block) {
  TensorId x = input;
  if (block.expanded != b->Channels(input)) {
    x = ConvNorm(b, name + "/expand", x, block.activation, Normalised(block.expanded));
  }
  x = DepthwiseNorm(b, name + "/depthwise", x, block.activation,
                    Normalised(0, block.kernel, block.stride));
  if (block.squeeze) x = SqueezeExcite(b, name + "/se", x);
  x = b->Conv(name + "/project", x, {.channels = block.channels, .batch_norm = true});
  const bool residual = block.stride == 1 && b->Channels(input) == block.channels;
  return residual ? b->Add(name + "/add", input, x) : x;
}

struct V1Shape {
  const char* name;
  Scale scale;
  std::int64_t classes;
  bool tiny;  // as in MLPerf Tiny: biases beside normalisations, a fully connected classifier
};

Result<Network> BuildV1(const ZooOptions& options, const V1Shape& shape) {
  NEAP_CHECK_OK(RefuseSizes(options));
  NEAP_TRY(const Scale scale, PickScale(options, shape.scale));
  Builder b(shape.name, options.seed, options.weights);
  const auto spec = [&](std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
    const std::int64_t scaled = std::max<std::int64_t>(8, channels * scale.thousandths / kWhole);
    ConvSpec conv = Normalised(scaled, kernel, stride);
    conv.bias = shape.tiny;
    return conv;
  };
  TensorId x = ConvNorm(&b, "conv1", b.Input("input", {1, 3, scale.size, scale.size}),
                        Activation::kRelu6, spec(32, 3, 2));
  for (std::size_t i = 0; i < std::size(kMobilenetV1Blocks); ++i) {
    const std::string name = "block" + std::to_string(i + 1);
    x = DepthwiseNorm(&b, name + "/depthwise", x, Activation::kRelu6,
                      spec(0, 3, kMobilenetV1Blocks[i].stride));
    x = ConvNorm(&b, name + "/pointwise", x, Activation::kRelu6,
                 spec(kMobilenetV1Blocks[i].channels, 1, 1));
  }
  x = Pooled(&b, x);
  if (!shape.tiny) {
    x = b.Conv("logits", x, {.channels = shape.classes, .bias = true, .classifier = true});
    x = b.Flatten("flat", x);
  } else {
    x = b.Gemm("logits", b.Flatten("flat", x), shape.classes);
  }
  b.Output(b.Softmax("probabilities", x));
  return b.Finish();
}

// `repeats` inverted residuals of which the first one strides.
struct Stage {
  std::int64_t kernel;
  std::int64_t expansion;
  std::int64_t channels;
  int repeats;
  std::int64_t stride;
};

Result<Network> BuildStaged(const char* name, const ZooOptions& options,
                            std::span<const Stage> stages) {
  NEAP_CHECK_OK(RefuseSizes(options));
  NEAP_TRY(const Scale scale, PickScale(options, {}));
  Builder b(name, options.seed, options.weights);
  TensorId x = ConvNorm(&b, "stem", b.Input("input", {1, 3, scale.size, scale.size}),
                        Activation::kRelu6, Normalised(Rounded(32, scale.thousandths), 3, 2));
  int block = 0;
  for (const Stage& stage : stages) {
    for (int i = 0; i < stage.repeats; ++i) {
      x = InvertedResidual(&b, "block" + std::to_string(block++), x,
                           {.kernel = stage.kernel,
                            .expanded = stage.expansion * b.Channels(x),
                            .channels = Rounded(stage.channels, scale.thousandths),
                            .stride = i == 0 ? stage.stride : 1});
    }
  }
  // Narrower networks keep the width of the last layer.
  const std::int64_t last = Rounded(1280, std::max(scale.thousandths, kWhole));
  x = Pooled(&b, ConvNorm(&b, "last", x, Activation::kRelu6, Normalised(last)));
  b.Output(b.Softmax("probabilities", b.Gemm("logits", b.Flatten("flat", x), 1000)));
  return b.Finish();
}

constexpr Stage kV2Stages[] = {{3, 1, 16, 1, 1}, {3, 6, 24, 2, 2}, {3, 6, 32, 3, 2},
                               {3, 6, 64, 4, 2}, {3, 6, 96, 3, 1}, {3, 6, 160, 3, 2},
                               {3, 6, 320, 1, 1}};
constexpr Stage kLite0Stages[] = {{3, 1, 16, 1, 1}, {3, 6, 24, 2, 2},  {5, 6, 40, 2, 2},
                                  {3, 6, 80, 3, 2}, {5, 6, 112, 3, 1}, {5, 6, 192, 4, 2},
                                  {3, 6, 320, 1, 1}};

constexpr Activation kRe = Activation::kRelu;
constexpr Activation kHs = Activation::kHardSwish;
constexpr Inverted kV3Large[] = {
    {3, 16, 16, 1, false, kRe},  {3, 64, 24, 2, false, kRe},  {3, 72, 24, 1, false, kRe},
    {5, 72, 40, 2, true, kRe},   {5, 120, 40, 1, true, kRe},  {5, 120, 40, 1, true, kRe},
    {3, 240, 80, 2, false, kHs}, {3, 200, 80, 1, false, kHs}, {3, 184, 80, 1, false, kHs},
    {3, 184, 80, 1, false, kHs}, {3, 480, 112, 1, true, kHs}, {3, 672, 112, 1, true, kHs},
    {5, 672, 160, 2, true, kHs}, {5, 960, 160, 1, true, kHs}, {5, 960, 160, 1, true, kHs}};
constexpr Inverted kV3Small[] = {
    {3, 16, 16, 2, true, kRe},  {3, 72, 24, 2, false, kRe}, {3, 88, 24, 1, false, kRe},
    {5, 96, 40, 2, true, kHs},  {5, 240, 40, 1, true, kHs}, {5, 240, 40, 1, true, kHs},
    {5, 120, 48, 1, true, kHs}, {5, 144, 48, 1, true, kHs}, {5, 288, 96, 2, true, kHs},
    {5, 576, 96, 1, true, kHs}, {5, 576, 96, 1, true, kHs}};

Result<Network> BuildV3(const char* name, const ZooOptions& options,
                        std::span<const Inverted> blocks, std::int64_t hidden) {
  NEAP_CHECK_OK(RefuseSizes(options));
  Builder b(name, options.seed, options.weights);
  TensorId x = ConvNorm(&b, "stem", b.Input("input", {1, 3, 224, 224}), kHs, Normalised(16, 3, 2));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    x = InvertedResidual(&b, "block" + std::to_string(i), x, blocks[i]);
  }
  x = Pooled(&b, ConvNorm(&b, "last", x, kHs, Normalised(blocks.back().expanded)));
  x = b.Conv("hidden", x, {.channels = hidden, .bias = true});
  x = b.Conv("logits", b.HardSwish("hidden/act", x),
             {.channels = 1000, .bias = true, .classifier = true});
  b.Output(b.Softmax("probabilities", b.Flatten("flat", x)));
  return b.Finish();
}

constexpr Entry kEntries[] = {
    {{"mobilenet-v1", "MobileNet 1.0, 224x224 (Howard et al. 2017, table 1)", true},
     [](const ZooOptions& o) {
       return BuildV1(o, {"mobilenet-v1", {}, 1000, false});
     }},
    {{"mobilenet-v1-0.25", "MobileNet 0.25, 224x224 (Howard et al. 2017, section 3.3)"},
     [](const ZooOptions& o) {
       return BuildV1(o, {"mobilenet-v1-0.25", {250, 224}, 1000, false});
     }},
    {{"mobilenet-v1-vww", "MobileNet 0.25, 96x96, persons, of MLPerf Tiny (Banbury et al. 2021)"},
     [](const ZooOptions& o) {
       return BuildV1(o, {"mobilenet-v1-vww", {250, 96}, 2, true});
     }},
    {{"mobilenet-v2", "MobileNetV2 1.0, 224x224 (Sandler et al. 2018, table 2)", true},
     [](const ZooOptions& o) { return BuildStaged("mobilenet-v2", o, kV2Stages); }},
    {{"mobilenet-v3-large", "MobileNetV3-Large 1.0, 224x224 (Howard et al. 2019, table 1)"},
     [](const ZooOptions& o) { return BuildV3("mobilenet-v3-large", o, kV3Large, 1280); }},
    {{"mobilenet-v3-small", "MobileNetV3-Small 1.0, 224x224 (Howard et al. 2019, table 2)"},
     [](const ZooOptions& o) { return BuildV3("mobilenet-v3-small", o, kV3Small, 1024); }},
    {{"efficientnet-lite0", "EfficientNet-lite0, 224x224 (Tan and Le 2019, table 1, lite)"},
     [](const ZooOptions& o) { return BuildStaged("efficientnet-lite0", o, kLite0Stages); }},
};

}  // namespace

std::span<const Entry> MobilenetEntries() { return kEntries; }

}  // namespace neap::zoo
