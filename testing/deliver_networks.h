// SPDX-License-Identifier: Apache-2.0
//
// Small models as .tflite, for the tests of this module.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neap/formats/formats.h"
#include "neap/graph/graph.h"
#include "testing/flex_map.h"

namespace neap::deliver {

class ModelBuilder {
 protected:
  explicit ModelBuilder(graph::ElementType type) : type_(type) { graph_.subgraphs.push_back({}); }

  formats::SourceModel Built(const std::string& name) const {
    const auto bytes = formats::ExportTflite(graph_, name);
    EXPECT_TRUE(bytes) << bytes.error().ToString();
    auto model = formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(*bytes),
                                    "folder/" + name + ".tflite", {});
    EXPECT_TRUE(model) << model.error().ToString();
    return *std::move(model);
  }

  graph::Subgraph& Main() { return graph_.subgraphs[graph::SubgraphId(0)]; }

  graph::TensorId Add(std::string name, graph::Shape shape) {
    graph::Tensor tensor;
    tensor.name = std::move(name);
    tensor.type = type_;
    tensor.shape = std::move(shape);
    if (type_ == graph::ElementType::kInt8) {
      tensor.quantization = graph::Quantization{{0.1F}, {0}, 0};
    }
    return Main().tensors.push_back(std::move(tensor));
  }

  template <typename T>
  graph::TensorId AddWeights(const graph::Shape& shape, T value) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    const std::vector<T> values(count, value);
    auto bytes = std::make_shared<std::vector<std::byte>>(count * sizeof(T));
    std::memcpy(bytes->data(), values.data(), bytes->size());
    const graph::TensorId id = Add("weights" + std::to_string(Main().tensors.size()), shape);
    Main().tensors[id].constant = true;
    Main().tensors[id].data = graph::ConstantData{bytes, *bytes};
    return id;
  }

  graph::TensorId Convolve(graph::TensorId input, graph::TensorId weights,
                           const graph::Shape& shape) {
    return Run("CONV_2D", {input, weights, graph::TensorId()}, shape,
               {{"padding", std::int64_t{0}},
                {"stride_h", std::int64_t{1}},
                {"stride_w", std::int64_t{1}},
                {"dilation_h_factor", std::int64_t{1}},
                {"dilation_w_factor", std::int64_t{1}}});
  }

  // The largest element of every square of 4 by 4.
  graph::TensorId Pool(graph::TensorId input, const graph::Shape& shape) {
    return Run("MAX_POOL_2D", {input}, shape,
               {{"padding", std::int64_t{1}},
                {"stride_h", std::int64_t{4}},
                {"stride_w", std::int64_t{4}},
                {"filter_height", std::int64_t{4}},
                {"filter_width", std::int64_t{4}}});
  }

  graph::TensorId Run(const std::string& type, std::vector<graph::TensorId> inputs,
                      const graph::Shape& shape, std::map<std::string, graph::Attribute> with) {
    graph::Op op;
    op.type = type;
    op.domain = "tflite";
    op.inputs = std::move(inputs);
    op.outputs = {Add(type + "_out" + std::to_string(Main().ops.size()), shape)};
    op.attributes = std::move(with);
    Main().ops.push_back(op);
    return op.outputs[0];
  }

 private:
  graph::ElementType type_;
  graph::Graph graph_;
};

// A convolution with many output channels, an activation, and a pool that shrinks them.
class WideModel : private ModelBuilder {
 public:
  static formats::SourceModel Make() { return WideModel().Built("wide"); }

 private:
  WideModel() : ModelBuilder(graph::ElementType::kInt8) {
    const auto in = Add("in", {1, 16, 16, 2});
    Main().inputs = {in};
    const auto weights = AddWeights<std::int8_t>({16, 3, 3, 2}, 3);
    const auto wide = Convolve(in, weights, {1, 16, 16, 16});
    Main().outputs = {Pool(Run("RELU", {wide}, {1, 16, 16, 16}, {}), {1, 4, 4, 16})};
  }
};

// Two convolutions of floats, the second one wide, and a pool. The second can be a sum over the
// pieces of the first (inexact), or computed in pieces itself (exact in Neap's executor), not both.
class TwoConvolutions : private ModelBuilder {
 public:
  static formats::SourceModel Make() { return TwoConvolutions().Built("two"); }

 private:
  TwoConvolutions() : ModelBuilder(graph::ElementType::kFloat32) {
    const auto in = Add("in", {1, 8, 8, 4});
    Main().inputs = {in};
    const auto first = Convolve(in, AddWeights({16, 1, 1, 4}, 0.5F), {1, 8, 8, 16});
    const auto second = Convolve(first, AddWeights({64, 1, 1, 16}, 0.25F), {1, 8, 8, 64});
    Main().outputs = {Pool(second, {1, 2, 2, 64})};
  }
};

// A wide convolution with weights of half precision, which a DEQUANTIZE unpacks, and a pool.
class HalfWeights : private ModelBuilder {
 public:
  static formats::SourceModel Make() { return HalfWeights().Built("half"); }

 private:
  HalfWeights() : ModelBuilder(graph::ElementType::kFloat32) {
    const auto in = Add("in", {1, 8, 8, 2});
    Main().inputs = {in};
    const graph::Shape shape = {64, 3, 3, 2};
    const auto packed = AddWeights<std::uint16_t>(shape, 0x3800);  // a half
    Main().tensors[packed].type = graph::ElementType::kFloat16;
    const auto wide = Convolve(in, Run("DEQUANTIZE", {packed}, shape, {}), {1, 8, 8, 64});
    Main().outputs = {Pool(wide, {1, 2, 2, 64})};
  }
};

// A wide image, boxes and scores of its places, and their detections, whose shapes the file leaves
// out.
class Detector : private ModelBuilder {
 public:
  static formats::SourceModel Make() { return Detector().Built("detector"); }
  static constexpr std::int64_t kPlaces = 6;  // three detections of two classes

 private:
  Detector() : ModelBuilder(graph::ElementType::kFloat32) {
    const auto in = Add("in", {1, 8, 8, 2});
    Main().inputs = {in};
    const auto wide = Convolve(in, AddWeights({64, 3, 3, 2}, 0.5F), {1, 8, 8, 64});
    const auto boxes = Run("RESHAPE", {Pool(wide, {1, 2, 2, 64})}, {1, 64, 4}, {});
    const auto scores = Run("RESHAPE", {Convolve(in, AddWeights({2, 1, 1, 2}, 0.1F), {1, 8, 8, 2})},
                            {1, 64, 2}, {});
    const auto bytes = std::make_shared<std::vector<std::byte>>(
        property::FlexMap({{"h_scale", 5.0F},
                           {"max_classes_per_detection", 2},
                           {"max_detections", 3},
                           {"nms_iou_threshold", 0.4F},
                           {"nms_score_threshold", -0.5F},
                           {"num_classes", 2},
                           {"w_scale", 5.0F},
                           {"x_scale", 10.0F},
                           {"y_scale", 10.0F}}));
    graph::Op op;
    op.type = "TFLite_Detection_PostProcess";
    op.domain = "custom";
    op.inputs = {boxes, scores, AddWeights({64, 4}, 0.5F)};
    for (const char* name : {"boxes", "classes", "scores", "count"}) {
      op.outputs.push_back(Add(name, {}));
    }
    op.attributes = {{"custom_options", graph::ConstantData{bytes, *bytes}}};
    Main().outputs = op.outputs;
    Main().ops.push_back(op);
  }
};

}  // namespace neap::deliver
