// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/onnx_shapes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>

#include "neap/ops/onnx_rules.h"

namespace neap::ops {
namespace {

using graph::Attribute;
using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Tensor;
using graph::TensorId;
using Ints = std::vector<std::int64_t>;

// A subgraph that is built operator by operator.
class Net {
 public:
  TensorId Input(Shape shape, ElementType type = ElementType::kFloat32) {
    Tensor tensor;
    tensor.type = type;
    tensor.shape = std::move(shape);
    const TensorId id = subgraph.tensors.push_back(std::move(tensor));
    subgraph.inputs.push_back(id);
    return id;
  }
  TensorId Weight(Shape shape, ElementType type = ElementType::kFloat32) {
    Tensor tensor;
    tensor.type = type;
    tensor.shape = std::move(shape);
    tensor.constant = true;
    return subgraph.tensors.push_back(std::move(tensor));
  }
  TensorId Constant(const Ints& values) {
    return Data(values.data(), values.size(), ElementType::kInt64);
  }
  TensorId Floats(const std::vector<float>& values) {
    return Data(values.data(), values.size(), ElementType::kFloat32);
  }
  TensorId Add(const std::string& type, std::vector<TensorId> inputs,
               std::map<std::string, Attribute> attributes = {}, std::size_t outputs = 1,
               const std::string& domain = "") {
    Op op;
    op.type = type;
    op.domain = domain;
    op.inputs = std::move(inputs);
    op.attributes = std::move(attributes);
    for (std::size_t i = 0; i < outputs; ++i) {
      op.outputs.push_back(subgraph.tensors.push_back(Tensor()));
    }
    const TensorId first = op.outputs[0];
    subgraph.ops.push_back(std::move(op));
    return first;
  }
  void Infer(int opset = 17) {
    OnnxInference options;
    options.opset = opset;
    InferOnnxShapes(&subgraph, options, &notes);
  }
  Shape ShapeOf(TensorId id) { return subgraph.tensors[id].shape.value_or(Shape{-99}); }
  ElementType TypeOf(TensorId id) { return subgraph.tensors[id].type; }

  graph::Subgraph subgraph;
  std::vector<std::string> notes;

 private:
  template <typename T>
  TensorId Data(const T* values, std::size_t count, ElementType type) {
    const TensorId id = Weight({static_cast<std::int64_t>(count)}, type);
    auto bytes = std::make_shared<std::vector<std::byte>>(count * sizeof(T));
    if (count != 0) std::memcpy(bytes->data(), values, bytes->size());
    graph::ConstantData data;
    data.bytes = *bytes;
    data.owner = std::move(bytes);
    subgraph.tensors[id].data = std::move(data);
    return id;
  }
};

// The shape that one operator makes of its inputs.
Shape One(Net* net, const std::string& type, std::vector<TensorId> inputs,
          std::map<std::string, Attribute> attributes = {}, int opset = 17) {
  const TensorId out = net->Add(type, std::move(inputs), std::move(attributes));
  net->Infer(opset);
  return net->ShapeOf(out);
}

TEST(OnnxShapes, Convolution) {
  const auto conv = [](std::map<std::string, Attribute> attributes) {
    Net net;
    const TensorId x = net.Input({1, 3, 32, 31});
    const TensorId w = net.Weight({8, 3, 3, 3});
    return One(&net, "Conv", {x, w}, std::move(attributes));
  };
  EXPECT_EQ(conv({}), (Shape{1, 8, 30, 29}));
  EXPECT_EQ(conv({{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}), (Shape{1, 8, 16, 16}));
  EXPECT_EQ(conv({{"dilations", Ints{2, 2}}}), (Shape{1, 8, 28, 27}));
  EXPECT_EQ(conv({{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}),
            (Shape{1, 8, 16, 16}));
  // Attributes that make no sense leave the size open.
  EXPECT_EQ(conv({{"strides", Ints{0, 0}}}), (Shape{1, 8, -1, -1}));
  EXPECT_EQ(conv({{"kernel_shape", Ints{40, 40}}}), (Shape{1, 8, -1, -1}));
  EXPECT_EQ(conv({{"pads", Ints{1}}}), (Shape{1, 8, -1, -1}));
}

TEST(OnnxShapes, TransposedConvolutionAndPools) {
  Net net;
  const TensorId x = net.Input({1, 4, 5, 5});
  const TensorId w = net.Weight({4, 6, 3, 3});
  const TensorId up = net.Add("ConvTranspose", {x, w},
                              {{"strides", Ints{2, 2}},
                               {"output_padding", Ints{1, 1}},
                               {"group", std::int64_t{2}},
                               {"pads", Ints{1, 1, 1, 1}}});
  const std::map<std::string, Attribute> window = {{"kernel_shape", Ints{3, 3}},
                                                   {"strides", Ints{2, 2}}};
  auto ceil = window;
  ceil["ceil_mode"] = std::int64_t{1};
  const TensorId y = net.Input({1, 4, 6, 6});
  const TensorId floor_pool = net.Add("AveragePool", {y}, window);
  const TensorId ceil_pool = net.Add("MaxPool", {y}, ceil, 2);
  // The last window would start in the padding: it is left out.
  const TensorId cut = net.Add("MaxPool", {net.Input({1, 1, 2})},
                               {{"kernel_shape", Ints{1}},
                                {"strides", Ints{2}},
                                {"pads", Ints{0, 1}},
                                {"ceil_mode", std::int64_t{1}}});
  const TensorId global = net.Add("GlobalAveragePool", {y});
  net.Infer();
  EXPECT_EQ(net.ShapeOf(up), (Shape{1, 12, 10, 10}));
  EXPECT_EQ(net.ShapeOf(floor_pool), (Shape{1, 4, 2, 2}));
  EXPECT_EQ(net.ShapeOf(ceil_pool), (Shape{1, 4, 3, 3}));
  EXPECT_EQ(net.TypeOf(TensorId(ceil_pool.value() + 1)), ElementType::kInt64);
  EXPECT_EQ(net.ShapeOf(cut), (Shape{1, 1, 1}));
  EXPECT_EQ(net.ShapeOf(global), (Shape{1, 4, 1, 1}));
}

TEST(OnnxShapes, MatrixProducts) {
  Net net;
  const TensorId a = net.Input({5, 1, 2, 3});
  const TensorId mm = net.Add("MatMul", {a, net.Input({4, 3, 7})});
  const TensorId vector = net.Add("MatMul", {a, net.Input({3})});
  const TensorId gemm = net.Add("Gemm", {net.Input({3, 2}), net.Input({5, 3})},
                                {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}});
  const TensorId whole = net.Add("MatMulInteger", {net.Input({2, 3}, ElementType::kUint8),
                                                   net.Input({3, 4}, ElementType::kInt8)});
  const TensorId einsum = net.Add("Einsum", {net.Input({2, 3, 4}), net.Input({2, 4, 5})},
                                  {{"equation", std::string("bij, bjk -> bik")}});
  net.Infer();
  EXPECT_EQ(net.ShapeOf(mm), (Shape{5, 4, 2, 7}));
  EXPECT_EQ(net.ShapeOf(vector), (Shape{5, 1, 2}));
  EXPECT_EQ(net.ShapeOf(gemm), (Shape{2, 5}));
  EXPECT_EQ(net.TypeOf(whole), ElementType::kInt32);
  EXPECT_EQ(net.ShapeOf(einsum), (Shape{2, 3, 5}));
}

TEST(OnnxShapes, Reshapes) {
  const auto reshape = [](Shape from, const Ints& to, std::int64_t allow_zero = 0) {
    Net net;
    const TensorId x = net.Input(std::move(from));
    return One(&net, "Reshape", {x, net.Constant(to)}, {{"allowzero", allow_zero}});
  };
  EXPECT_EQ(reshape({2, 3, 4}, {0, -1}), (Shape{2, 12}));
  EXPECT_EQ(reshape({2, 3, 4}, {4, -1, 3}), (Shape{4, 2, 3}));
  EXPECT_EQ(reshape({0, 3, 4}, {3, 4, 0}, 1), (Shape{3, 4, 0}));
  EXPECT_EQ(reshape({-1, 3, 4}, {0, -1}), (Shape{-1, 12}));  // an open batch cancels out
  EXPECT_EQ(reshape({-1, 3, 4}, {-1, 12}), (Shape{-1, 12}));
  EXPECT_EQ(reshape({2, 3}, {4, -1}), (Shape{4, -1}));  // does not fit: left open
  Net net;
  const TensorId x = net.Input({1, 2, 1, 3});
  const TensorId all = net.Add("Squeeze", {x});
  const TensorId one = net.Add("Squeeze", {x, net.Constant({-2})});
  const TensorId more = net.Add("Unsqueeze", {x}, {{"axes", Ints{0, -1}}});
  const TensorId flat = net.Add("Flatten", {x}, {{"axis", std::int64_t{2}}});
  const TensorId turned = net.Add("Transpose", {x}, {{"perm", Ints{0, 2, 3, 1}}});
  net.Infer();
  EXPECT_EQ(net.ShapeOf(all), (Shape{2, 3}));
  EXPECT_EQ(net.ShapeOf(one), (Shape{1, 2, 3}));
  EXPECT_EQ(net.ShapeOf(more), (Shape{1, 1, 2, 1, 3, 1}));
  EXPECT_EQ(net.ShapeOf(flat), (Shape{2, 3}));
  EXPECT_EQ(net.ShapeOf(turned), (Shape{1, 1, 3, 2}));
}

TEST(OnnxShapes, Slices) {
  const auto slice = [](const Ints& starts, const Ints& ends, const Ints& axes, const Ints& steps) {
    Net net;
    const TensorId x = net.Input({20, 10, 5});
    return One(
        &net, "Slice",
        {x, net.Constant(starts), net.Constant(ends), net.Constant(axes), net.Constant(steps)});
  };
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(slice({0, 0}, {3, 10}, {0, 1}, {1, 1}), (Shape{3, 10, 5}));
  EXPECT_EQ(slice({20, 10, 4}, {0, 0, 1}, {0, 1, 2}, {-1, -3, -2}), (Shape{19, 3, 2}));
  EXPECT_EQ(slice({-1}, {-kFar}, {0}, {-1}), (Shape{20, 10, 5}));
  EXPECT_EQ(slice({1000}, {kFar}, {1}, {1}), (Shape{20, 0, 5}));
  EXPECT_EQ(slice({0}, {-1}, {-2}, {1}), (Shape{20, 9, 5}));
  EXPECT_EQ(slice({0}, {kFar}, {0}, {std::numeric_limits<std::int64_t>::min()}), (Shape{0, 10, 5}));
  EXPECT_EQ(slice({0}, {kFar}, {0}, {0}), (Shape{-1, 10, 5}));
}

TEST(OnnxShapes, ConcatSplitPadResize) {
  Net net;
  const TensorId x = net.Input({1, 4, 6, 6});
  const TensorId y = net.Input({1, 5, 6, 6});
  const TensorId joined = net.Add("Concat", {x, y}, {{"axis", std::int64_t{-3}}});
  const TensorId part = net.Add("Split", {joined}, {{"axis", std::int64_t{1}}}, 2);
  const TensorId padded = net.Add("Pad", {x, net.Constant({0, 0, 1, 2, 0, 0, 3, 4})});
  const TensorId scaled = net.Add("Resize", {x, TensorId(), net.Floats({1.0F, 1.0F, 2.5F, 0.6F})});
  const TensorId sized =
      net.Add("Resize", {x, TensorId(), TensorId(), net.Constant({9, 12})},
              {{"axes", Ints{2, 3}}, {"keep_aspect_ratio_policy", std::string("not_larger")}});
  const TensorId depth = net.Add("DepthToSpace", {x}, {{"blocksize", std::int64_t{2}}});
  net.Infer();
  EXPECT_EQ(net.ShapeOf(joined), (Shape{1, 9, 6, 6}));
  EXPECT_EQ(net.ShapeOf(part), (Shape{1, 5, 6, 6}));
  EXPECT_EQ(net.ShapeOf(TensorId(part.value() + 1)), (Shape{1, 4, 6, 6}));
  EXPECT_EQ(net.ShapeOf(padded), (Shape{1, 4, 10, 12}));
  EXPECT_EQ(net.ShapeOf(scaled), (Shape{1, 4, 15, 3}));
  EXPECT_EQ(net.ShapeOf(sized), (Shape{1, 4, 9, 9}));
  EXPECT_EQ(net.ShapeOf(depth), (Shape{1, 1, 12, 12}));
}

TEST(OnnxShapes, ReductionsAndChoices) {
  Net net;
  const TensorId x = net.Input({2, 3, 4});
  const TensorId mean = net.Add("ReduceMean", {x}, {{"axes", Ints{-1}}});
  const TensorId sum =
      net.Add("ReduceSum", {x, net.Constant({0, 2})}, {{"keepdims", std::int64_t{0}}});
  const TensorId all = net.Add("ReduceMax", {x}, {{"keepdims", std::int64_t{0}}});
  const TensorId best = net.Add("ArgMax", {x}, {{"axis", std::int64_t{1}}});
  const TensorId top = net.Add("TopK", {x, net.Constant({2})}, {}, 2);
  const TensorId open = net.Add("NonZero", {x});
  // An exporter's list of one, written as a number.
  const TensorId deeploy = net.Add(
      "IntegerMean", {x}, {{"axes", std::int64_t{2}}, {"keepdims", std::int64_t{0}}}, 1, "PACTOps");
  net.Infer();
  EXPECT_EQ(net.ShapeOf(mean), (Shape{2, 3, 1}));
  EXPECT_EQ(net.ShapeOf(sum), (Shape{3}));
  EXPECT_EQ(net.ShapeOf(all), (Shape{}));
  EXPECT_EQ(net.ShapeOf(best), (Shape{2, 1, 4}));
  EXPECT_EQ(net.TypeOf(best), ElementType::kInt64);
  EXPECT_EQ(net.ShapeOf(top), (Shape{2, 3, 2}));
  EXPECT_EQ(net.ShapeOf(open), (Shape{3, -1}));
  EXPECT_EQ(net.ShapeOf(deeploy), (Shape{2, 3}));
}

TEST(OnnxShapes, RecurrentAndQuantised) {
  Net net;
  const TensorId x = net.Input({7, 2, 3});
  const TensorId lstm = net.Add("LSTM", {x, net.Weight({2, 20, 3}), net.Weight({2, 20, 5})},
                                {{"direction", std::string("bidirectional")}}, 3);
  const TensorId zero = net.Weight({}, ElementType::kInt8);
  const TensorId quantised = net.Add("QuantizeLinear", {x, net.Weight({}), zero});
  const TensorId dynamic = net.Add("DynamicQuantizeLinear", {x}, {}, 3);
  const TensorId normal = net.Add("LayerNormalization", {x, net.Weight({3})}, {}, 3);
  net.Infer();
  EXPECT_EQ(net.ShapeOf(lstm), (Shape{7, 2, 2, 5}));
  EXPECT_EQ(net.ShapeOf(TensorId(lstm.value() + 2)), (Shape{2, 2, 5}));
  EXPECT_EQ(net.TypeOf(quantised), ElementType::kInt8);
  EXPECT_EQ(net.TypeOf(dynamic), ElementType::kUint8);
  EXPECT_EQ(net.ShapeOf(TensorId(dynamic.value() + 1)), (Shape{}));
  EXPECT_EQ(net.ShapeOf(TensorId(normal.value() + 1)), (Shape{7, 2, 1}));
}

TEST(OnnxShapes, BroadcastsFromOpset7On) {
  Net net;
  const TensorId out = net.Add("Add", {net.Input({4, 1}), net.Input({3, 1, 5})});
  net.Infer();
  EXPECT_EQ(net.ShapeOf(out), (Shape{3, 4, 5}));
  Net old;
  const TensorId kept = old.Add("Add", {old.Input({1, 4, 5, 5}), old.Input({4})});
  old.Infer(6);
  EXPECT_EQ(old.ShapeOf(kept), (Shape{1, 4, 5, 5}));
}

// x -> Shape -> Gather(0) -> Mul 2 -> Concat(.., -1) -> Reshape(x, ..)
TEST(OnnxShapes, FollowsShapeArithmetic) {
  Net net;
  const TensorId x = net.Input({6, 4, 5});
  const TensorId shape = net.Add("Shape", {x});
  const TensorId rows = net.Add("Gather", {shape, net.Constant({0})});
  const TensorId twice = net.Add("Mul", {rows, net.Constant({2})});
  const TensorId wanted =
      net.Add("Concat", {twice, net.Constant({-1})}, {{"axis", std::int64_t{0}}});
  const TensorId out = net.Add("Reshape", {x, wanted});
  net.Infer();
  EXPECT_EQ(net.ShapeOf(out), (Shape{12, 10}));
  for (const OpId id : net.subgraph.ops.Ids()) {
    EXPECT_EQ(net.subgraph.ops[id].folded, id.value() < 4) << id.value();
  }
  EXPECT_TRUE(net.subgraph.tensors[wanted].constant);
  ASSERT_TRUE(net.subgraph.tensors[wanted].data.has_value());
  EXPECT_EQ(net.subgraph.tensors[wanted].data->bytes.size(), 16U);
  EXPECT_FALSE(net.subgraph.tensors[out].constant);
}

TEST(OnnxShapes, FollowsValuesInPart) {
  Net net;
  const TensorId x = net.Input({-1, 4, 5});
  const TensorId shape = net.Add("Shape", {x});
  const TensorId width = net.Add("Slice", {shape, net.Constant({1}), net.Constant({2})});
  const TensorId out = net.Add("Expand", {net.Input({1}), width});
  net.Infer();
  EXPECT_EQ(net.ShapeOf(out), (Shape{4}));
  EXPECT_FALSE(net.subgraph.ops[OpId(0)].folded);  // its value is not all known
  EXPECT_TRUE(net.subgraph.ops[OpId(1)].folded);
}

// The pads of an exporter: rows of a matrix in reverse, transposed, flattened.
TEST(OnnxShapes, FollowsMatricesOfValues) {
  Net net;
  const TensorId rows = net.Add("Reshape", {net.Constant({0, 64, 0, 1}), net.Constant({-1, 2})});
  const TensorId back =
      net.Add("Slice", {rows, net.Constant({-1}), net.Constant({-9223372036854775807}),
                        net.Constant({0}), net.Constant({-1})});
  const TensorId turned = net.Add("Transpose", {back}, {{"perm", Ints{1, 0}}});
  const TensorId pads = net.Add("Reshape", {turned, net.Constant({-1})});
  const TensorId out = net.Add("Pad", {net.Input({10, 100}), pads});
  net.Infer();
  EXPECT_EQ(net.ShapeOf(out), (Shape{11, 164}));
}

TEST(OnnxShapes, IntegerArithmeticIsExact) {
  Net net;
  const TensorId seven = net.Constant({7, -7, std::numeric_limits<std::int64_t>::max()});
  const TensorId div = net.Add("Div", {seven, net.Constant({2})});
  const TensorId sub = net.Add("Sub", {seven, net.Constant({3})});
  const TensorId over = net.Add("Add", {seven, net.Constant({1})});
  const TensorId by_zero = net.Add("Div", {seven, net.Constant({0})});
  net.Infer();
  const auto values = [&net](TensorId id) {
    Ints out;
    const auto decoded = onnx::Decode(net.subgraph.tensors[id]);
    if (decoded) {
      for (const onnx::Number& number : *decoded) out.push_back(number.whole);
    }
    return out;
  };
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(values(div), (Ints{3, -3, kMax / 2}));
  EXPECT_EQ(values(sub), (Ints{4, -10, kMax - 3}));
  EXPECT_EQ(values(over), Ints{});
  EXPECT_EQ(values(by_zero), Ints{});
}

TEST(OnnxShapes, FoldsConstantsButNoChance) {
  Net net;
  const TensorId w = net.Weight({3, 3});
  net.Add("Relu", {w});
  net.Add("RandomNormalLike", {w});
  net.subgraph.ops[OpId(1)].stateful = true;
  net.Add("Unheard", {w}, {}, 1, "my.domain");
  net.Add("Relu", {net.Input({2})});
  net.Infer();
  EXPECT_TRUE(net.subgraph.ops[OpId(0)].folded);
  EXPECT_FALSE(net.subgraph.ops[OpId(1)].folded);
  EXPECT_FALSE(net.subgraph.ops[OpId(2)].folded);
  EXPECT_FALSE(net.subgraph.ops[OpId(3)].folded);
}

TEST(OnnxShapes, DeclaredShapesCountUnlessOptionsDisableThem) {
  for (const bool declared_wins : {true, false}) {
    Net net;
    const TensorId out = net.Add("Conv", {net.Input({1, 3, 8, 8}), net.Weight({4, 3, 3, 3})});
    net.subgraph.tensors[out].shape = Shape{1, 4, 8, 8};
    OnnxInference options;
    options.opset = 17;
    options.declared_shapes_win = declared_wins;
    InferOnnxShapes(&net.subgraph, options, &net.notes);
    EXPECT_EQ(net.ShapeOf(out), declared_wins ? (Shape{1, 4, 8, 8}) : (Shape{1, 4, 6, 6}));
    ASSERT_EQ(net.notes.size(), 1U);
    EXPECT_NE(net.notes[0].find("[1,4,8,8]"), std::string::npos) << net.notes[0];
    EXPECT_NE(net.notes[0].find("[1,4,6,6]"), std::string::npos) << net.notes[0];
  }
}

TEST(OnnxShapes, CompletesWhatIsDeclaredInPart) {
  Net net;
  const TensorId out = net.Add("Relu", {net.Input({-1, 3})});
  net.subgraph.tensors[out].shape = Shape{5, -1};
  net.Infer();
  EXPECT_EQ(net.ShapeOf(out), (Shape{5, 3}));
  EXPECT_TRUE(net.notes.empty());
}

// Every rule on operators without inputs, attributes or outputs, and on hostile numbers.
TEST(OnnxShapes, RulesSurviveNonsense) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const auto table :
       {onnx::ElementwiseRules(), onnx::ConvolutionRules(), onnx::NetworkRules(), onnx::MoveRules(),
        onnx::IndexRules(), onnx::ReduceRules(), onnx::VendorRules()}) {
    for (const onnx::Rule& rule : table) {
      for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, kMax, -kMax - 1}) {
        for (const std::size_t outputs : {1U, 4U}) {
          Net net;
          const TensorId odd = net.Input({kMax, -1, 0, kMax});
          const TensorId few = net.Constant({number, number, number, number});
          std::map<std::string, Attribute> attributes;
          for (const char* name : {"axis", "k", "group", "blocksize", "start", "end", "batch_dims",
                                   "num_heads", "hidden_size", "ceil_mode", "output_height"}) {
            attributes[name] = number;
          }
          for (const char* name : {"pads", "strides", "dilations", "kernel_shape", "axes", "perm",
                                   "split", "output_shape", "output_padding", "shape"}) {
            attributes[name] = Ints{number, number};
          }
          const std::string type(rule.type);
          const std::string domain(rule.domain);
          net.Add(type, {}, {}, outputs, domain);
          net.Add(type, {TensorId(), TensorId()}, attributes, outputs, domain);
          net.Add(type, {odd, odd, odd}, attributes, outputs, domain);
          net.Add(type, {odd, few, few, few, few}, {}, outputs, domain);
          net.Add(type, {few, few, few, few, few}, attributes, outputs, domain);
          net.Add(type, {few}, attributes, outputs, domain);
          net.Infer();
          for (const Tensor& tensor : net.subgraph.tensors) {
            for (const std::int64_t dim : tensor.shape.value_or(Shape{})) {
              EXPECT_GE(dim, -1) << type;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace neap::ops
