// SPDX-License-Identifier: Apache-2.0
//
// Random attention, for the tests of the rule key-blocks: heads, scales, masks, keys in both
// layouts, both formats. The files contain everything that a stock runtime requires.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "testing/sketch.h"

namespace neap::rewrite {

struct AttentionSizes {
  std::int64_t keys = 8;
  std::int64_t queries = 1;
  std::int64_t width = 4;  // of a token
  std::int64_t heads = 1;
  std::int64_t depth = 4;  // of a head
  bool scale = false;
  bool mask = false;
  bool own_tokens = false;  // queries are tokens, too
  bool turned = false;      // keys are transposed by an operator
  bool relu = false;        // tokens are computed
  std::int32_t opset = 17;  // of .onnx
};

struct AttentionCase {
  graph::Graph graph;
  AttentionSizes sizes;
  graph::TensorId products;  // of queries and keys
  graph::TensorId values;
};

class AttentionMaker {
 public:
  AttentionMaker(bool tflite, Random* random) : tflite_(tflite), random_(random) {}

  static AttentionSizes AnySizes(Random* random) {
    AttentionSizes sizes;
    sizes.keys = random->Between(4, 40);
    sizes.queries = random->Between(1, 3);
    sizes.width = random->Between(1, 9);
    sizes.heads = random->Between(1, 3);
    sizes.depth = random->Between(1, 6);
    sizes.scale = random->Below(2) == 0;
    sizes.mask = random->Below(2) == 0;
    sizes.own_tokens = random->Below(4) == 0;
    if (sizes.own_tokens) sizes.queries = sizes.keys;
    sizes.turned = random->Below(2) == 0;
    sizes.relu = random->Below(2) == 0;
    sizes.opset = std::array<std::int32_t, 4>{11, 13, 17, 18}[random->Below(4)];
    return sizes;
  }

  AttentionCase Make(const AttentionSizes& sizes) {
    AttentionCase made;
    made.sizes = sizes;
    s_ = sizes;
    graph::TensorId tokens = maker_.Input(kFloat, {1, s_.keys, s_.width});
    if (s_.relu) tokens = Unary("RELU", "Relu", tokens);
    const graph::TensorId asked =
        s_.own_tokens ? tokens : maker_.Input(kFloat, {1, s_.queries, s_.width});
    const graph::TensorId query = Heads(asked, s_.queries, false);
    // TensorFlow Lite transposes keys within the product as well.
    const bool turned = s_.turned || !tflite_;
    const graph::TensorId key = Heads(tokens, s_.keys, turned);
    graph::TensorId scores = Product(query, key, {1, s_.heads, s_.queries, s_.keys}, !turned);
    made.products = scores;
    if (s_.scale) scores = Binary("MUL", "Mul", scores, Floats({1}, {0.5F}));
    if (s_.mask) scores = Binary("ADD", "Add", scores, Mask());
    const graph::TensorId weights = maker_.Tensor(kFloat, ShapeOf(scores));
    tflite_ ? Op("SOFTMAX", {scores}, weights, {{"beta", 1.0}})
            : Op("Softmax", {scores}, weights, {{"axis", std::int64_t{3}}});
    made.values = Heads(tokens, s_.keys, false);
    const graph::TensorId mixed =
        Product(weights, made.values, {1, s_.heads, s_.queries, s_.depth}, false);
    const graph::TensorId turned_back = Transposed(mixed, {0, 2, 1, 3});
    maker_.Output(Reshaped(turned_back, {1, s_.queries, s_.heads * s_.depth}));
    for (graph::Op& op : maker_.Main().ops) op.version = tflite_ ? 0 : s_.opset;
    made.graph = std::move(maker_.graph());
    return made;
  }

 private:
  using Integers = std::vector<std::int64_t>;
  using Attributes = std::map<std::string, graph::Attribute>;
  static constexpr graph::ElementType kFloat = graph::ElementType::kFloat32;

  graph::Shape ShapeOf(graph::TensorId id) { return *maker_.Main().tensors[id].shape; }
  void Op(const char* type, std::vector<graph::TensorId> inputs, graph::TensorId output,
          Attributes attributes = {}) {
    maker_.Op(tflite_ ? "tflite" : "", type, std::move(inputs), {output}, std::move(attributes));
  }
  graph::TensorId Floats(graph::Shape shape, const std::vector<float>& values) {
    return maker_.Constant(kFloat, std::move(shape), values);
  }
  graph::TensorId List(const Integers& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    if (!tflite_) return maker_.Constant(graph::ElementType::kInt64, {count}, values);
    return maker_.Constant(graph::ElementType::kInt32, {count},
                           std::vector<std::int32_t>(values.begin(), values.end()));
  }
  graph::TensorId Unary(const char* tflite, const char* onnx, graph::TensorId x) {
    const graph::TensorId out = maker_.Tensor(kFloat, ShapeOf(x));
    Op(tflite_ ? tflite : onnx, {x}, out);
    return out;
  }
  graph::TensorId Binary(const char* tflite, const char* onnx, graph::TensorId a,
                         graph::TensorId b) {
    const graph::TensorId out = maker_.Tensor(kFloat, ShapeOf(a));
    Attributes attributes;
    if (tflite_) attributes["fused_activation_function"] = std::int64_t{0};
    Op(tflite_ ? tflite : onnx, {a, b}, out, std::move(attributes));
    return out;
  }
  // Every query sees the first key.
  graph::TensorId Mask() {
    const bool causal = random_->Below(2) == 0;
    const std::int64_t rows = causal ? s_.queries : 1;
    std::vector<float> values;
    for (std::int64_t q = 0; q < rows; ++q) {
      for (std::int64_t k = 0; k < s_.keys; ++k) {
        const bool hidden = k > 0 && (causal ? k > q + 1 : random_->Below(3) == 0);
        values.push_back(hidden ? -1e9F : static_cast<float>(random_->Unit()));
      }
    }
    return Floats({1, 1, rows, s_.keys}, values);
  }
  graph::TensorId Reshaped(graph::TensorId x, const graph::Shape& shape) {
    const graph::TensorId out = maker_.Tensor(kFloat, shape);
    Attributes attributes;
    if (tflite_) attributes["new_shape"] = shape;
    Op(tflite_ ? "RESHAPE" : "Reshape", {x, List(shape)}, out, std::move(attributes));
    return out;
  }
  graph::TensorId Transposed(graph::TensorId x, const Integers& order) {
    graph::Shape shape;
    for (const std::int64_t d : order) shape.push_back(ShapeOf(x)[static_cast<std::size_t>(d)]);
    const graph::TensorId out = maker_.Tensor(kFloat, shape);
    tflite_ ? Op("TRANSPOSE", {x, List(order)}, out) : Op("Transpose", {x}, out, {{"perm", order}});
    return out;
  }
  graph::TensorId Product(graph::TensorId a, graph::TensorId b, graph::Shape shape, bool turns) {
    const graph::TensorId out = maker_.Tensor(kFloat, std::move(shape));
    tflite_ ? Op("BATCH_MATMUL", {a, b}, out,
                 {{"adj_x", std::int64_t{0}}, {"adj_y", std::int64_t{turns ? 1 : 0}}})
            : Op("MatMul", {a, b}, out);
    return out;
  }
  // [1, heads, rows, depth], or with the last two exchanged.
  graph::TensorId Heads(graph::TensorId x, std::int64_t rows, bool turned) {
    const std::int64_t units = s_.heads * s_.depth;
    graph::TensorId projected = maker_.Tensor(kFloat, {1, rows, units});
    if (tflite_) {
      Op("FULLY_CONNECTED",
         {x, maker_.RandomFloats({units, s_.width}, random_),
          maker_.RandomFloats({units}, random_)},
         projected,
         {{"fused_activation_function", std::int64_t{0}}, {"keep_num_dims", std::int64_t{1}}});
    } else {
      Op("MatMul", {x, maker_.RandomFloats({s_.width, units}, random_)}, projected);
      projected = Binary("ADD", "Add", projected, maker_.RandomFloats({units}, random_));
    }
    const graph::TensorId split = Reshaped(projected, {1, rows, s_.heads, s_.depth});
    return Transposed(split, turned ? Integers{0, 2, 3, 1} : Integers{0, 2, 1, 3});
  }

  const bool tflite_;
  Random* random_;
  AttentionSizes s_;
  graph::Sketch maker_;
};

// The product of the weights and the values.
inline graph::OpId LastProductOf(const graph::Graph& graph) {
  const graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
  graph::OpId found;
  for (const graph::OpId id : main.ops.Ids()) {
    const graph::Op& op = main.ops[id];
    const bool multiplies = op.type == "BATCH_MATMUL" || op.type == "MatMul";
    if (multiplies && !main.tensors[op.inputs[1]].constant) found = id;
  }
  return found;
}

// One output of two orders of the sums differs by at most this times the largest |value| of its
// head, where all scores are the same in both (docs/algorithms/rewrite.md).
inline double KeyBlocksBound(std::int64_t keys, std::int64_t blocks) {
  constexpr double kUnit = 1.0 / (1 << 24);
  const double terms = 3.0 * static_cast<double>(keys) + 8.0 * static_cast<double>(blocks) + 8.0;
  return 2 * terms * kUnit;
}

}  // namespace neap::rewrite
