// SPDX-License-Identifier: Apache-2.0
//
// Single-shot detectors of the TensorFlow Object Detection API on COCO, 300x300: Liu et al. 2016
// (arXiv 1512.02325) over MobileNetV1 (Howard et al. 2017, section 4.6) and MobileNetV2 (Sandler et
// al. 2018, section 6.2). Sizes are those of the API's sample configurations
// ssd_mobilenet_v1_quantized_300x300_coco14_sync and ssd_mobilenet_v2_quantized_300x300_coco: six
// feature maps, predictors of one 1x1 convolution each, three default boxes per place of the first
// map and six of the others, 90 classes and the background. Operators are named as there, in the
// order of the API's converter: feature maps, then predictors. The custom operator of the converted
// file is left out: decoding boxes and non-maximum suppression (TFLite_Detection_PostProcess).
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "lab/zoo/builder.h"
#include "lab/zoo/family.h"

namespace neap::zoo {
namespace {

using graph::TensorId;

constexpr std::int64_t kSize = 300;
constexpr std::int64_t kCodes = 4;  // numbers of a box
constexpr std::int64_t kClasses = 91;

ConvSpec Normalised(std::int64_t channels, std::int64_t kernel = 1, std::int64_t stride = 1) {
  return {.channels = channels,
          .kernel = kernel,
          .stride = stride,
          .batch_norm = true,
          .padding = Padding::kSame};
}

TensorId Conv(Builder* b, const std::string& name, TensorId x, const ConvSpec& spec) {
  return b->Relu6(name + "/Relu6", b->Conv(name, x, spec));
}

TensorId Depthwise(Builder* b, const std::string& name, TensorId x, std::int64_t stride) {
  return b->Relu6(name + "/Relu6", b->DepthwiseConv(name, x, Normalised(0, 3, stride)));
}

// Four more maps, each half as large: a 1x1 convolution and one that strides.
void AddMaps(Builder* b, const std::string& prefix, std::vector<TensorId>* maps) {
  constexpr std::array<std::int64_t, 4> kChannels = {512, 256, 256, 128};
  TensorId x = maps->back();
  for (std::size_t i = 0; i < kChannels.size(); ++i) {
    const std::int64_t channels = kChannels[i];
    const std::string number = std::to_string(i + 2);
    x = Conv(b, prefix + "_1_Conv2d_" + number + "_1x1_" + std::to_string(channels / 2), x,
             Normalised(channels / 2));
    x = Conv(b, prefix + "_2_Conv2d_" + number + "_3x3_s2_" + std::to_string(channels), x,
             Normalised(channels, 3, 2));
    maps->push_back(x);
  }
}

// The predictions of a map, as rows of `numbers` for each of its boxes.
TensorId Predict(Builder* b, const std::string& name, TensorId map, std::int64_t boxes,
                 std::int64_t numbers) {
  const std::int64_t places = b->ShapeOf(map)[2] * b->ShapeOf(map)[3];
  const TensorId x = b->Conv(name, map, {.channels = boxes * numbers, .bias = true});
  return b->Reshape(name + "/rows", b->Transpose(name + "/channels_last", x, {0, 2, 3, 1}),
                    {1, places * boxes, numbers});
}

Network Detect(Builder* b, const std::vector<TensorId>& maps) {
  std::vector<TensorId> codes;
  std::vector<TensorId> classes;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const std::string name = "BoxPredictor_" + std::to_string(i);
    const std::int64_t boxes = i == 0 ? 3 : 6;
    codes.push_back(Predict(b, name + "/BoxEncodingPredictor", maps[i], boxes, kCodes));
    classes.push_back(Predict(b, name + "/ClassPredictor", maps[i], boxes, kClasses));
  }
  b->Output(b->Concat("box_encodings", codes));
  b->Output(b->Sigmoid("convert_scores", b->Concat("class_predictions", classes)));
  return b->Finish();
}

Result<Network> BuildV1(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  Builder b("ssd-mobilenet-v1", options.seed, options.weights);
  TensorId x = b.Input("normalized_input_image_tensor", {1, 3, kSize, kSize});
  x = Conv(&b, "Conv2d_0", x, Normalised(32, 3, 2));
  std::vector<TensorId> maps;
  for (std::size_t i = 0; i < std::size(kMobilenetV1Blocks); ++i) {
    const std::string name = "Conv2d_" + std::to_string(i + 1);
    x = Depthwise(&b, name + "_depthwise", x, kMobilenetV1Blocks[i].stride);
    x = Conv(&b, name + "_pointwise", x, Normalised(kMobilenetV1Blocks[i].channels));
    if (i == 10 || i == 12) maps.push_back(x);
  }
  AddMaps(&b, "Conv2d_13_pointwise", &maps);
  return Detect(&b, maps);
}

Result<Network> BuildV2(const ZooOptions& options) {
  NEAP_CHECK_OK(RefuseSizes(options));
  struct Stage {
    std::int64_t expansion;
    std::int64_t channels;
    int repeats;
    std::int64_t stride;
  };
  constexpr std::array<Stage, 7> kStages = {{{1, 16, 1, 1},
                                             {6, 24, 2, 2},
                                             {6, 32, 3, 2},
                                             {6, 64, 4, 2},
                                             {6, 96, 3, 1},
                                             {6, 160, 3, 2},
                                             {6, 320, 1, 1}}};
  constexpr int kFirstMap = 13;  // its expansion, before the stride
  Builder b("ssd-mobilenet-v2", options.seed, options.weights);
  TensorId x = b.Input("normalized_input_image_tensor", {1, 3, kSize, kSize});
  x = Conv(&b, "Conv", x, Normalised(32, 3, 2));
  std::vector<TensorId> maps;
  int block = 0;
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.repeats; ++i, ++block) {
      const std::string name =
          block == 0 ? "expanded_conv" : "expanded_conv_" + std::to_string(block);
      const std::int64_t stride = i == 0 ? stage.stride : 1;
      TensorId y = x;
      if (stage.expansion > 1) {
        y = Conv(&b, name + "/expand", y, Normalised(stage.expansion * b.Channels(x)));
      }
      if (block == kFirstMap) maps.push_back(y);
      y = Depthwise(&b, name + "/depthwise", y, stride);
      y = b.Conv(name + "/project", y, Normalised(stage.channels));
      const bool residual = stride == 1 && b.Channels(x) == stage.channels;
      x = residual ? b.Add(name + "/add", y, x) : y;
    }
  }
  x = Conv(&b, "Conv_1", x, Normalised(1280));
  maps.push_back(x);
  AddMaps(&b, "layer_19", &maps);
  return Detect(&b, maps);
}

constexpr Entry kEntries[] = {
    {{"ssd-mobilenet-v1",
      "SSD over MobileNetV1, COCO, 300x300, without post-processing (Howard et al. 2017, table "
      "13)"},
     BuildV1},
    {{"ssd-mobilenet-v2",
      "SSD over MobileNetV2, COCO, 300x300, without post-processing (Sandler et al. 2018, "
      "section 6.2)"},
     BuildV2},
};

}  // namespace

std::span<const Entry> SsdEntries() { return kEntries; }

}  // namespace neap::zoo
