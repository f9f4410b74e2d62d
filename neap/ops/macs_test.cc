// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/macs.h"

#include <gtest/gtest.h>

#include <string>

namespace neap::ops {
namespace {

using graph::Op;
using graph::Shape;
using graph::Subgraph;

// An operator of the last shape as output and all others as inputs.
std::int64_t MacsOf(const char* domain, const char* type, const std::vector<Shape>& shapes,
                    const std::map<std::string, graph::Attribute>& attributes = {}) {
  Subgraph subgraph;
  Op op;
  op.domain = domain;
  op.type = type;
  op.attributes = attributes;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    graph::Tensor tensor;
    tensor.shape = shapes[i];
    tensor.constant = i > 0 && i + 1 < shapes.size();
    const auto id = subgraph.tensors.push_back(tensor);
    (i + 1 < shapes.size() ? op.inputs : op.outputs).push_back(id);
  }
  return MultiplyAccumulates(subgraph, op);
}

TEST(Macs, OfOnnx) {
  EXPECT_EQ(MacsOf("", "Conv", {{1, 4, 9, 9}, {8, 2, 3, 3}, {1, 8, 7, 7}}), 8 * 49 * 2 * 9);
  EXPECT_EQ(MacsOf("", "ConvTranspose", {{1, 4, 5, 5}, {4, 3, 2, 2}, {1, 3, 10, 10}}),
            25 * 4 * 3 * 4);
  EXPECT_EQ(MacsOf("", "Gemm", {{2, 30}, {5, 30}, {5}, {2, 5}}), 2 * 5 * 30);
  EXPECT_EQ(MacsOf("", "MatMul", {{6, 2, 30}, {30, 5}, {6, 2, 5}}), 6 * 2 * 5 * 30);
  EXPECT_EQ(MacsOf("", "LSTM", {{7, 1, 3}, {1, 16, 3}, {1, 16, 4}, {1, 32}, {7, 1, 1, 4}}),
            7 * 16 * (3 + 4));
  EXPECT_EQ(MacsOf("", "Relu", {{1, 4}, {1, 4}}), 0);
}

TEST(Macs, OfTflite) {
  EXPECT_EQ(MacsOf("tflite", "CONV_2D", {{1, 9, 9, 4}, {8, 3, 3, 4}, {8}, {1, 7, 7, 8}}),
            49 * 8 * 36);
  EXPECT_EQ(MacsOf("tflite", "DEPTHWISE_CONV_2D", {{1, 9, 9, 4}, {1, 3, 3, 4}, {4}, {1, 7, 7, 4}}),
            49 * 4 * 9);
  EXPECT_EQ(MacsOf("tflite", "FULLY_CONNECTED", {{2, 30}, {5, 30}, {5}, {2, 5}}), 2 * 5 * 30);
  EXPECT_EQ(MacsOf("tflite", "TRANSPOSE_CONV", {{4}, {3, 2, 2, 4}, {1, 5, 5, 4}, {1, 10, 10, 3}}),
            25 * 4 * 12);
  EXPECT_EQ(MacsOf("tflite", "BATCH_MATMUL", {{2, 3, 30}, {2, 30, 5}, {2, 3, 5}}), 2 * 3 * 5 * 30);
}

TEST(Macs, OfLayersAndOfWhatIsNotKnown) {
  EXPECT_EQ(MacsOf("layer", "Conv", {{1}, {1}}, {{"multiply_accumulates", std::int64_t{12}}}), 12);
  EXPECT_EQ(MacsOf("", "Conv", {{1, 4, -1, 9}, {8, 4, 3, 3}, {1, 8, -1, 7}}), 0);
  EXPECT_EQ(MacsOf("", "Conv", {}), 0);
  EXPECT_EQ(MacsOf("", "Conv", {{1}, {0, 4, 3, 3}, {1, 8, 7, 7}}), 0);
  const std::int64_t huge = std::int64_t{1} << 60;
  EXPECT_EQ(MacsOf("", "MatMul", {{huge, 8}, {8, 2}, {huge, 2}}), std::int64_t{1} << 62);
}

}  // namespace
}  // namespace neap::ops
