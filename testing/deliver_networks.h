// SPDX-License-Identifier: Apache-2.0
//
// A small model as a .tflite, for the tests of this module: a convolution that makes many channels,
// an activation and a pool that shrinks them.
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

namespace neap::deliver {

class WideModel {
 public:
  static formats::SourceModel Make() {
    const auto bytes = formats::ExportTflite(WideModel().graph_, "wide");
    EXPECT_TRUE(bytes) << bytes.error().ToString();
    auto model = formats::LoadBytes(std::make_shared<const std::vector<std::byte>>(*bytes),
                                    "folder/wide.tflite", {});
    EXPECT_TRUE(model) << model.error().ToString();
    return *std::move(model);
  }

 private:
  WideModel() {
    graph_.subgraphs.push_back({});
    const auto in = Add("in", {1, 16, 16, 2}, {});
    const auto weights = Add("weights", {16, 3, 3, 2}, std::vector<std::int8_t>(288, 3));
    Main().inputs = {in};
    const auto wide = Run("CONV_2D", {in, weights, graph::TensorId()}, {1, 16, 16, 16},
                          {{"padding", std::int64_t{0}},
                           {"stride_h", std::int64_t{1}},
                           {"stride_w", std::int64_t{1}},
                           {"dilation_h_factor", std::int64_t{1}},
                           {"dilation_w_factor", std::int64_t{1}}});
    const auto active = Run("RELU", {wide}, {1, 16, 16, 16}, {});
    Main().outputs = {Run("MAX_POOL_2D", {active}, {1, 4, 4, 16},
                          {{"padding", std::int64_t{1}},
                           {"stride_h", std::int64_t{4}},
                           {"stride_w", std::int64_t{4}},
                           {"filter_height", std::int64_t{4}},
                           {"filter_width", std::int64_t{4}}})};
  }

  graph::Subgraph& Main() { return graph_.subgraphs[graph::SubgraphId(0)]; }

  graph::TensorId Add(std::string name, graph::Shape shape,
                      const std::vector<std::int8_t>& values) {
    graph::Tensor tensor;
    tensor.name = std::move(name);
    tensor.type = graph::ElementType::kInt8;
    tensor.shape = std::move(shape);
    tensor.quantization = graph::Quantization{{0.1F}, {0}, 0};
    if (!values.empty()) {
      auto bytes = std::make_shared<std::vector<std::byte>>(values.size());
      std::memcpy(bytes->data(), values.data(), values.size());
      tensor.constant = true;
      tensor.data = graph::ConstantData{bytes, *bytes};
    }
    return Main().tensors.push_back(std::move(tensor));
  }

  graph::TensorId Run(const std::string& type, std::vector<graph::TensorId> inputs,
                      const graph::Shape& shape, std::map<std::string, graph::Attribute> with) {
    graph::Op op;
    op.type = type;
    op.domain = "tflite";
    op.inputs = std::move(inputs);
    op.outputs = {Add(type + "_out", shape, {})};
    op.attributes = std::move(with);
    Main().ops.push_back(op);
    return op.outputs[0];
  }

  graph::Graph graph_;
};

}  // namespace neap::deliver
