// SPDX-License-Identifier: Apache-2.0
//
// Converts a network to operators of TensorFlow Lite, with one handler for each ONNX operator;
// tflite.h lists the counterparts. Windows and padding are in tflite_windows.cc, all else in
// tflite_convert.cc.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/zoo/tflite.h"
#include "neap/graph/graph.h"

namespace neap::zoo::tflite {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::Tensor;
using graph::TensorId;
using Attributes = std::map<std::string, graph::Attribute>;
using Integers = std::vector<std::int64_t>;

// Numbers of the format's enumerations.
enum Padding : std::int64_t { kPaddingSame = 0, kPaddingValid = 1 };
enum Fused : std::int64_t { kFusedNone = 0, kFusedRelu = 1, kFusedRelu6 = 3 };
// NCHW to NHWC: where the dimensions of the result come from, and where those of the source go.
inline const std::vector<std::size_t> kChannelsLast = {0, 2, 3, 1};
inline constexpr std::array<std::int64_t, 4> kAxisOf = {0, 3, 1, 2};

inline Shape Moved(const Shape& shape) {
  return shape.size() == 4 ? Shape{shape[0], shape[2], shape[3], shape[1]} : shape;
}

// One dimension of a window over one dimension of its input.
struct Window {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;
  std::int64_t after = 0;
};

struct Windows {
  Window rows;
  Window columns;
};

class Converter {
 public:
  explicit Converter(const Subgraph& source)
      : source_(source),
        producer_(graph::Producers(source)),
        reader_(source.tensors.size()),
        readers_(source.tensors.size(), 0),
        made_(source.tensors.size()),
        fused_(source.ops.size(), 0) {}

  Result<Subgraph> Run();

 private:
  using Handler = Status (Converter::*)(const Op& op);
  static const std::map<std::string_view, Handler>& Handlers();

  Status Conv(const Op& op);
  Status ConvTranspose(const Op& op);
  Status MaxPool(const Op& op);
  Status AveragePool(const Op& op);
  Status GlobalAveragePool(const Op& op);
  Status BatchNormalization(const Op& op);
  Status Gemm(const Op& op);
  Status MatMul(const Op& op);
  Status Rectifier(const Op& op);
  Status HardSwish(const Op& op);
  Status HardSigmoid(const Op& op);
  Status Sigmoid(const Op& op);
  Status Add(const Op& op);
  Status Sum(const Op& op);
  Status Mul(const Op& op);
  Status Softmax(const Op& op);
  Status Concat(const Op& op);
  Status Slice(const Op& op);
  Status Split(const Op& op);
  Status Pad(const Op& op);
  Status Flatten(const Op& op);
  Status Transpose(const Op& op);
  Status Reshape(const Op& op);
  Status EmitReshape(const Op& op, TensorId input);

  static Diagnostic Refusal(const Op& op, const std::string& why);
  void CountReaders();
  std::optional<Fused> RectifierOf(const Op& op) const;
  // The rectifier that can be part of the operator, and the tensor that it leaves.
  std::pair<Fused, TensorId> Fuse(const Op& op);

  const Tensor& Source(TensorId id) const { return source_.tensors[id]; }
  const Shape& SourceShape(TensorId id) const { return *source_.tensors[id].shape; }
  const Shape& ShapeOf(TensorId made) const { return *out_.tensors[made].shape; }
  Integers SourceIntegers(const Op& op, std::size_t input) const {
    return ValuesOf<std::int64_t>(Source(op.inputs[input]));
  }
  // The counterpart of a tensor of the source; a constant is copied unchanged, at its first use.
  TensorId Operand(TensorId source);
  TensorId Constant(const std::string& name, ElementType type, Shape shape,
                    std::optional<graph::ConstantData> data);
  TensorId Indices(const std::string& name, const std::vector<std::int32_t>& values);
  TensorId Floats(const std::string& name, Shape shape, std::vector<float> values);
  // Weights with their dimensions in a new order.
  TensorId Weights(TensorId source, const std::vector<std::size_t>& order);
  TensorId AddTensor(const std::string& name, ElementType type, Shape shape);
  void Emit(const std::string& type, const std::string& name, std::vector<TensorId> inputs,
            TensorId output, Attributes attributes);
  // The tensor of the source that the next operator makes, in its new layout.
  TensorId Make(TensorId source);
  void EmitPad(const char* type, const std::string& name, TensorId input, const Windows& w,
               TensorId output, std::optional<float> value);
  TensorId Padded(const Op& op, TensorId input, const Windows& w, std::optional<float> value);
  Windows WindowsOf(const Op& op) const;
  static Attributes PoolAttributes(const Windows& w, Padding padding);
  void EmitChain(const Op& op, const std::string& type);

  const Subgraph& source_;
  IdVector<TensorId, OpId> producer_;
  IdVector<TensorId, OpId> reader_;  // the last one
  IdVector<TensorId, int> readers_;  // graph outputs are read, too
  IdVector<TensorId, TensorId> made_;
  IdVector<OpId, char> fused_;
  Subgraph out_;
};

}  // namespace neap::zoo::tflite
