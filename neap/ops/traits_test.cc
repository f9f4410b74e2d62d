// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/traits.h"

#include <gtest/gtest.h>

#include <string>

namespace neap::ops {
namespace {

graph::Op Operator(std::string domain, std::string type) {
  graph::Op op;
  op.domain = std::move(domain);
  op.type = std::move(type);
  return op;
}

// First, a middle one and the last of each list: a list out of order loses some of them.
TEST(Traits, KnowsElementwise) {
  for (const char* type : {"Abs", "Add", "Clip", "PRelu", "Quant", "Relu", "Where", "Xor", "iGELU",
                           "iHardswish", "LeakyRelu", "Sum"}) {
    EXPECT_TRUE(IsElementwise(Operator("", type))) << type;
  }
  for (const char* type : {"ABS", "ADD", "LOGISTIC", "RELU6", "SQUARED_DIFFERENCE", "ZEROS_LIKE",
                           "HARD_SWISH", "QUANTIZE", "TANH"}) {
    EXPECT_TRUE(IsElementwise(Operator("tflite", type))) << type;
  }
  for (const char* type : {"Conv", "Softmax", "Reshape", "MatMul", "Concat", "CumSum", ""}) {
    EXPECT_FALSE(IsElementwise(Operator("", type))) << type;
  }
  EXPECT_FALSE(IsElementwise(Operator("tflite", "Add")));
  EXPECT_FALSE(IsElementwise(Operator("", "ADD")));
}

TEST(Traits, ANameMeansNothingInAStrangersDomain) {
  for (const char* domain : {"json", "custom", "my.domain"}) {
    EXPECT_FALSE(IsElementwise(Operator(domain, "Add"))) << domain;
    EXPECT_FALSE(IsReshapeLike(Operator(domain, "Reshape"))) << domain;
    EXPECT_FALSE(IsElementwise(Operator(domain, "ADD"))) << domain;
  }
  EXPECT_TRUE(IsElementwise(Operator("com.microsoft", "QLinearAdd")));
}

TEST(Traits, KnowsReshapes) {
  for (const char* type : {"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"}) {
    EXPECT_TRUE(IsReshapeLike(Operator("", type))) << type;
  }
  for (const char* type : {"EXPAND_DIMS", "RESHAPE", "SQUEEZE"}) {
    EXPECT_TRUE(IsReshapeLike(Operator("tflite", type))) << type;
  }
  EXPECT_FALSE(IsReshapeLike(Operator("", "Transpose")));
  EXPECT_FALSE(IsReshapeLike(Operator("tflite", "TRANSPOSE")));
}

// Four floats beside sixteen truth values: as many bytes, read four times each.
TEST(Traits, WritesOverNoInputThatIsBroadcast) {
  graph::Subgraph subgraph;
  const auto tensor = [&](graph::ElementType type, graph::Shape shape) {
    graph::Tensor made;
    made.type = type;
    made.shape = std::move(shape);
    return subgraph.tensors.push_back(made);
  };
  const graph::TensorId row = tensor(graph::ElementType::kFloat32, {4});
  const graph::TensorId image = tensor(graph::ElementType::kFloat32, {4, 4});
  const graph::TensorId truth = tensor(graph::ElementType::kBool, {4, 4});
  const graph::TensorId sum = tensor(graph::ElementType::kFloat32, {4, 4});
  const auto over = [&](const char* type, graph::TensorId a, graph::TensorId b,
                        graph::TensorId out) {
    graph::Op op = Operator("tflite", type);
    op.inputs = {a, b};
    op.outputs = {out};
    return WritesOverFirstInput(subgraph, op);
  };
  EXPECT_FALSE(over("EQUAL", row, image, truth));
  EXPECT_FALSE(over("ADD", row, image, sum));
  EXPECT_TRUE(over("ADD", image, row, sum));
  EXPECT_TRUE(over("EQUAL", image, row, truth));
}

TEST(Traits, KnowsState) {
  for (const char* type : {"ASSIGN_VARIABLE", "CALL_ONCE", "HASHTABLE_FIND", "MULTINOMIAL",
                           "RANDOM_UNIFORM", "READ_VARIABLE", "VAR_HANDLE"}) {
    EXPECT_TRUE(IsStatefulType("tflite", type)) << type;
  }
  for (const char* type : {"Bernoulli", "RandomNormal", "RandomUniformLike"}) {
    EXPECT_TRUE(IsStatefulType("", type)) << type;
  }
  EXPECT_TRUE(IsStatefulType("custom", "anything"));
  EXPECT_TRUE(IsStatefulType("custom", "SignalDelay"));
  EXPECT_FALSE(IsStatefulType("custom", "TFLite_Detection_PostProcess"));
  EXPECT_TRUE(IsStatefulType("tflite", "BUILTIN_999"));  // an operator of a newer schema
  EXPECT_FALSE(IsStatefulType("tflite", "ADD"));
  EXPECT_FALSE(IsStatefulType("", "Add"));
  EXPECT_FALSE(IsStatefulType("my.domain", "Anything"));
  EXPECT_FALSE(IsStatefulType("json", "VAR_HANDLE"));
}

}  // namespace
}  // namespace neap::ops
