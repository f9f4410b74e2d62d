// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/op_version.h"

#include <algorithm>
#include <variant>

#include "neap/ops/op_table.h"

namespace neap::formats::tflite {
namespace {

using graph::ElementType;
using ops::OpKind;

// The operator as the rules see it.
class Facts {
 public:
  Facts(const graph::Subgraph& subgraph, const graph::Op& op) : subgraph_(subgraph), op_(op) {}

  bool HasInput(std::size_t index) const {
    return index < op_.inputs.size() && op_.inputs[index].valid();
  }
  ElementType Input(std::size_t index) const {
    return HasInput(index) ? subgraph_.tensors[op_.inputs[index]].type : ElementType::kUnknown;
  }
  ElementType Output() const {
    const bool has = !op_.outputs.empty() && op_.outputs[0].valid();
    return has ? subgraph_.tensors[op_.outputs[0]].type : ElementType::kUnknown;
  }
  std::size_t RankOfInput(std::size_t index) const {
    if (!HasInput(index)) return 0;
    const auto& shape = subgraph_.tensors[op_.inputs[index]].shape;
    return shape ? shape->size() : 0;
  }
  std::int64_t Dimension(std::size_t input, std::size_t axis) const {
    return axis < RankOfInput(input) ? (*subgraph_.tensors[op_.inputs[input]].shape)[axis] : 0;
  }
  bool ManyScales(std::size_t input) const {
    if (!HasInput(input)) return false;
    const auto& quantization = subgraph_.tensors[op_.inputs[input]].quantization;
    return quantization && quantization->scales.size() > 1;
  }
  bool Same(std::size_t a, std::size_t b) const {
    const auto shape = [&](std::size_t i) { return subgraph_.tensors[op_.inputs[i]].shape; };
    return !HasInput(a) || !HasInput(b) || shape(a) == shape(b);
  }
  std::int64_t Option(const char* name, std::int64_t absent = 0) const {
    const auto found = op_.attributes.find(name);
    if (found == op_.attributes.end()) return absent;
    const auto* value = std::get_if<std::int64_t>(&found->second);
    return value == nullptr ? absent : *value;
  }

 private:
  const graph::Subgraph& subgraph_;
  const graph::Op& op_;
};

bool IsHybrid(const Facts& op) {
  const ElementType weights = op.Input(1);
  return op.Input(0) == ElementType::kFloat32 &&
         (weights == ElementType::kInt8 || weights == ElementType::kUint8 ||
          weights == ElementType::kInt4);
}

std::int32_t Conv2d(const Facts& op) {
  if (op.Input(1) == ElementType::kInt4) return 7;
  const std::int64_t depth = op.Dimension(1, 3);
  if (depth != 0 && op.Dimension(0, 3) != depth) return 6;  // groups
  if (op.Input(0) == ElementType::kInt16) return 4;
  if (op.Input(0) == ElementType::kInt8) return 3;
  if (IsHybrid(op)) return op.ManyScales(1) ? 5 : 2;
  return 1;
}

std::int32_t DepthwiseConv2d(const Facts& op) {
  if (op.Input(1) == ElementType::kInt4) return 7;
  if (op.Input(0) == ElementType::kInt16) return 5;
  if (IsHybrid(op)) return op.ManyScales(1) ? 6 : 4;
  if (op.Input(0) == ElementType::kInt8) return 3;
  const bool dilated =
      op.Option("dilation_w_factor", 1) != 1 || op.Option("dilation_h_factor", 1) != 1;
  return dilated ? 2 : 1;
}

std::int32_t FullyConnected(const Facts& op) {
  constexpr std::int64_t kShuffled = 1;
  if (op.ManyScales(1)) return 12;
  if (op.Input(1) == ElementType::kInt4) return 10;
  if (op.Option("asymmetric_quantize_inputs") != 0) return 9;
  if (op.Input(0) == ElementType::kInt16) return 7;
  if (!op.HasInput(2)) return 6;
  if (op.Option("keep_num_dims") != 0) return 5;
  if (op.Input(0) == ElementType::kInt8) return 4;
  if (IsHybrid(op)) return 3;
  return op.Option("weights_format") == kShuffled ? 2 : 1;
}

std::int32_t TransposeConv(const Facts& op) {
  if (op.Option("fused_activation_function") != 0) return 4;
  if (op.HasInput(3)) return 3;
  return op.Input(2) == ElementType::kInt8 ? 2 : 1;
}

std::int32_t Cast(const Facts& op) {
  const auto newer = [](ElementType type) {
    return type == ElementType::kInt16 || type == ElementType::kUint16 ||
           type == ElementType::kInt8 || type == ElementType::kUint32;
  };
  return newer(op.Input(0)) || newer(op.Output()) ? 3 : 1;
}

std::int32_t Dequantize(const Facts& op) {
  if (op.ManyScales(0)) return 5;
  if (op.Input(0) == ElementType::kInt16 || op.Input(0) == ElementType::kFloat16) return 3;
  return op.Input(0) == ElementType::kInt8 ? 2 : 1;
}

std::int32_t Quantize(const Facts& op) {
  if (op.Output() == ElementType::kInt16) return 2;
  return op.Input(0) == ElementType::kInt8 || op.Output() == ElementType::kInt8 ? 2 : 1;
}

std::int32_t Split(const Facts& op) {
  if (op.Input(1) == ElementType::kInt16) return 4;
  if (op.Input(1) == ElementType::kInt32) return 3;
  return op.Input(1) == ElementType::kInt8 ? 2 : 1;
}

std::int32_t Resize(const Facts& op) {
  if (op.Input(0) == ElementType::kInt16) return 4;
  if (op.Option("half_pixel_centers") != 0) return 3;
  return op.Input(0) == ElementType::kInt8 ? 2 : 1;
}

std::int32_t AddOrSub(const Facts& op) {
  if (!op.Same(0, 1) && std::max(op.RankOfInput(0), op.RankOfInput(1)) > 4) return 3;
  return op.Input(0) == ElementType::kInt8 ? 2 : 1;
}

std::int32_t Transpose(const Facts& op) {
  if (op.RankOfInput(0) > 5) return 6;
  if (op.RankOfInput(0) > 4) return 4;
  return op.Input(0) == ElementType::kInt8 ? 2 : 1;
}

using Rule = std::int32_t (*)(const Facts&);
struct Entry {
  OpKind op;
  Rule rule;
};
constexpr Entry kRules[] = {
    {OpKind::kAdd, AddOrSub},
    {OpKind::kCast, Cast},
    {OpKind::kConv2d, Conv2d},
    {OpKind::kDepthwiseConv2d, DepthwiseConv2d},
    {OpKind::kDequantize, Dequantize},
    {OpKind::kFullyConnected, FullyConnected},
    {OpKind::kQuantize, Quantize},
    {OpKind::kResizeBilinear, Resize},
    {OpKind::kResizeNearestNeighbor, Resize},
    {OpKind::kSplit, Split},
    {OpKind::kSub, AddOrSub},
    {OpKind::kTranspose, Transpose},
    {OpKind::kTransposeConv, TransposeConv},
};

// Operators whose second version brought int8, and whose third brought int16 where stated.
struct Ladder {
  OpKind op;
  std::int32_t int16 = 2;
};
constexpr Ladder kLadders[] = {
    {OpKind::kArgMax},
    {OpKind::kArgMin},
    {OpKind::kAveragePool2d, 3},
    {OpKind::kBatchMatmul},
    {OpKind::kBatchToSpaceNd},
    {OpKind::kConcatenation, 3},
    {OpKind::kDepthToSpace},
    {OpKind::kEqual},
    {OpKind::kExp},
    {OpKind::kGather},
    {OpKind::kGreater},
    {OpKind::kGreaterEqual},
    {OpKind::kL2Normalization},
    {OpKind::kLeakyRelu},
    {OpKind::kLess},
    {OpKind::kLessEqual},
    {OpKind::kLogistic, 3},
    {OpKind::kLogSoftmax},
    {OpKind::kMaximum},
    {OpKind::kMaxPool2d, 3},
    {OpKind::kMean, 3},
    {OpKind::kMinimum},
    {OpKind::kMirrorPad},
    {OpKind::kMul, 4},
    {OpKind::kNotEqual},
    {OpKind::kPack, 3},
    {OpKind::kPad},
    {OpKind::kPadv2},
    {OpKind::kReduceMax, 3},
    {OpKind::kReduceMin, 3},
    {OpKind::kRelu, 3},
    {OpKind::kRelu6, 3},
    {OpKind::kSelect},
    {OpKind::kSlice, 4},
    {OpKind::kSoftmax, 3},
    {OpKind::kSpaceToBatchNd},
    {OpKind::kSpaceToDepth},
    {OpKind::kSparseToDense},
    {OpKind::kSplitV},
    {OpKind::kSquaredDifference},
    {OpKind::kStridedSlice, 4},
    {OpKind::kSum, 3},
    {OpKind::kSvdf},
    {OpKind::kTanh, 3},
    {OpKind::kTopkV2},
    {OpKind::kUnpack},
};

}  // namespace

std::int32_t OpVersion(const graph::Subgraph& subgraph, const graph::Op& op) {
  const OpKind kind = ops::KindOf(op);
  const Facts facts(subgraph, op);
  for (const Entry& entry : kRules) {
    if (entry.op == kind) return entry.rule(facts);
  }
  // Of lookups and selections, the first operand is an index or a condition.
  const ElementType type = kind == OpKind::kSelect ? facts.Input(1) : facts.Input(0);
  for (const Ladder& ladder : kLadders) {
    if (ladder.op != kind) continue;
    if (type == ElementType::kInt16) return ladder.int16;
    return type == ElementType::kInt8 ? 2 : 1;
  }
  return 1;
}

}  // namespace neap::formats::tflite
