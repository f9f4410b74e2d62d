// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/stock_kernels.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "neap/ops/op_table.h"

namespace neap::ops {
namespace {

using enum OpKind;
using graph::ElementType;

constexpr int kNoInput = -1;
constexpr int kFirstOutput = -2;

struct StockKernel {
  OpKind kind = kUnknown;
  // Element types that it accepts, "*": all that were measured, "": it has no kernel. Of two that
  // decide together "input/second".
  std::string_view accepts;
  int data = 0;                // the input whose type decides
  int second = kNoInput;       // another input that does, or kFirstOutput
  std::size_t max_rank = 0;    // 0: no limit was met up to rank 7
  std::size_t max_inputs = 0;  // 0: no limit was met
};

constexpr std::string_view kMeasured =
    "bool float16 float32 float64 int16 int32 int64 int8 uint32 uint64 uint8";

constexpr std::string_view kCasts =
    "bool/bool bool/float32 bool/int16 bool/int32 bool/int8 bool/uint32 float32/bool "
    "float32/float32 float32/int16 float32/int32 float32/int8 float32/uint32 int16/bool "
    "int16/float32 int16/int16 int16/int32 int16/int8 int16/uint32 int32/bool int32/float32 "
    "int32/int16 int32/int32 int32/int8 int32/uint32 int8/bool int8/float32 int8/int16 int8/int32 "
    "int8/int8 int8/uint32 uint32/bool uint32/float32 uint32/int16 uint32/int32 uint32/int8 "
    "uint32/uint32";
constexpr std::string_view kQuantizations =
    "float32/int16 float32/int8 int16/int16 int16/int8 int32/int16 int32/int8 int8/int16 int8/int8 "
    "int8/uint8 uint8/int8";

constexpr auto kTflmKernels = std::to_array<StockKernel>({
    {kAbs, "float32 int8 int16"},
    {kAdd, "float32 int8 int16 int32"},
    {kAddN, "float32 int8"},
    {kArgMax, "float32 int8"},
    {kArgMin, "float32 int8"},
    {kAtan2, ""},
    {kAveragePool2d, "float32 int8 int16"},
    {kBatchMatmul, "float32/float32 int8/int8 int16/int16", 0, 1},
    {kBatchToSpaceNd, "float32 int8"},
    {kBitwiseXor, ""},
    {kBroadcastTo, "*"},
    {kCast, kCasts, 0, kFirstOutput},
    {kCeil, "float32"},
    {kConcatenation, "float32 int8 int16 int32 int64 bool", 0, kNoInput, 6, 10},
    {kConv2d, "float32/float32 int8/int8 int16/int8", 0, 1},
    {kCos, "float32"},
    {kCumsum, "float32 int8"},
    {kDepthwiseConv2d, "float32/float32 int8/int8 int16/int8", 0, 1},
    {kDepthToSpace, "float32 int8"},
    {kDequantize, "int8/float32 uint8/float32 int16/float32", 0, kFirstOutput},
    {kDiv, "float32 int8 int32"},
    {kElu, "float32 int8"},
    {kEmbeddingLookup, "float32 int8", 1},
    {kEqual, "float32 int8 int32 int64 bool"},
    {kExp, "float32"},
    {kExpandDims, "float32 int8 int16"},
    {kFill, "float32 int8 int32", 1},
    {kFloor, "float32"},
    {kFloorDiv, "float32"},
    {kFloorMod, "float32"},
    {kFullyConnected, "float32/float32 int8/int8 int16/int8", 0, 1},
    {kGather, "float32 int8"},
    {kGatherNd, "float32 int8"},
    {kGelu, ""},
    {kGreater, "float32 int8 int16 int32 int64"},
    {kGreaterEqual, "float32 int8 int32 int64"},
    {kHardSwish, "float32 int8"},
    {kIf, "*", 1},
    {kL2Normalization, "float32 int8"},
    {kL2Pool2d, "float32"},
    {kLeakyRelu, "float32 int8 int16"},
    {kLess, "float32 int8 int32 int64"},
    {kLessEqual, "float32 int8 int32 int64"},
    {kLocalResponseNormalization, ""},
    {kLog, "float32"},
    {kLogicalAnd, "*"},
    {kLogicalNot, "bool"},
    {kLogicalOr, "*"},
    {kLogistic, "float32 int8 int16"},
    {kLogSoftmax, "float32 int8"},
    {kMaximum, "float32 int8 int16 int32 int64"},
    {kMaxPool2d, "float32 int8 int16"},
    {kMean, "float32 int8 int16"},
    {kMinimum, "float32 int8 int16 int32 int64"},
    {kMirrorPad, "float32 int8"},
    {kMul, "float32 int8 int16 int32"},
    {kNeg, "float32"},
    {kNotEqual, "float32 int8 int32 int64 bool"},
    {kPack, "float32 int8 int16 int32 int64"},
    {kPad, "float32 int8 int16 int32", 0, kNoInput, 5},
    {kPadv2, "float32 int8 int16 int32", 0, kNoInput, 5},
    {kPow, ""},
    {kPrelu, "float32 int8"},
    {kQuantize, kQuantizations, 0, kFirstOutput},
    {kReduceAll, "bool"},
    {kReduceAny, ""},
    {kReduceMax, "float32 int8"},
    {kReduceMin, "float32 int8"},
    {kReduceProd, ""},
    {kRelu, "float32 int8 int16"},
    {kRelu6, "float32 int8 int16"},
    {kRelu0To1, ""},
    {kReluN1To1, ""},
    {kReshape, "*"},
    {kResizeBilinear, "float32 int8"},
    {kResizeNearestNeighbor, "float32 int8 int16"},
    {kReverseV2, "float32 int8 uint8 int16 int32 int64 bool"},
    {kRightShift, ""},
    {kRound, "float32"},
    {kRsqrt, "float32 int8 int16"},
    {kSelect, ""},
    {kSelectV2, "float32 int8 int16", 1},
    {kShape, "*"},
    {kSign, ""},
    {kSin, "float32"},
    {kSlice, "float32 int8 int16 int32 bool", 0, kNoInput, 5},
    {kSoftmax, "float32 int8 int16"},
    {kSpaceToBatchNd, "float32 int8"},
    {kSpaceToDepth, "float32 int8"},
    {kSplit, "float32 int8 int16 int32", 1},
    {kSplitV, "float32 int8 int16 int32"},
    {kSqrt, "float32"},
    {kSquare, "float32"},
    {kSquaredDifference, "float32 int8 int16 int32"},
    {kSqueeze, "*"},
    {kStridedSlice, "float32 int8 int16 int32 bool", 0, kNoInput, 4},
    {kSub, "float32 int8 int16 int32"},
    {kSum, "float32 int8 int16"},
    {kTanh, "float32 int8 int16"},
    {kTile, ""},
    {kTranspose, "float32 int8 int16"},
    {kTransposeConv, "float32/float32 int8/int8 int16/int8 int16/int16", 2, 1},
    {kUnpack, "float32 int8 int16 int32"},
    {kZerosLike, "float32 int8 int32 int64"},
});

// Those that Neap adds.
constexpr auto kLitertKernels = std::to_array<StockKernel>({
    {kAdd, "float32 float16 int8 uint8 int16 int32 int64"},
    {kConcatenation, "float32 float16 int8 uint8 int16 int32 uint32 int64 bool"},
    {kPad, "float32 float16 int8 uint8 int16 int32 int64 bool", 0, kNoInput, 5},
    {kPadv2, "float32 float16 int8 uint8 int16 int32 int64 bool", 0, kNoInput, 5},
    {kReshape, "*"},
    {kSlice, "*"},
});

std::span<const StockKernel> KernelsOf(StockRuntime runtime) {
  if (runtime == StockRuntime::kTflm) return kTflmKernels;
  if (runtime == StockRuntime::kLitert) return kLitertKernels;
  return {};
}

const StockKernel* KernelOf(OpKind kind, StockRuntime runtime) {
  const auto kernels = KernelsOf(runtime);
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const StockKernel& kernel) { return kernel.kind == kind; });
  return found == kernels.end() ? nullptr : &*found;
}

bool HasWord(std::string_view list, std::string_view word) {
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

bool WasMeasured(ElementType type) { return HasWord(kMeasured, graph::NameOf(type)); }

Support Refused(std::string* why, std::string what) {
  if (why != nullptr) *why = std::move(what);
  return Support::kRefuses;
}

Support TooMany(std::string* why, std::size_t found, std::size_t most, const char* what) {
  return Refused(why, "found " + std::to_string(found) + " " + what +
                          ", the kernel takes at most " + std::to_string(most));
}

Support TypeSupport(const StockKernel& kernel, ElementType data, const ElementType* second,
                    std::string* why) {
  if (kernel.accepts.empty()) return Refused(why, "there is no kernel for this operator");
  if (!WasMeasured(data) || (second != nullptr && !WasMeasured(*second))) return Support::kUnknown;
  std::string types(graph::NameOf(data));
  if (second != nullptr) types += "/" + std::string(graph::NameOf(*second));
  if (kernel.accepts == "*" || HasWord(kernel.accepts, types)) return Support::kAccepts;
  if (second == nullptr) return Refused(why, "there is no kernel for " + types);
  return Refused(why, "there is no kernel for " + std::string(graph::NameOf(data)) +
                          (kernel.second == kFirstOutput ? " to " : " with weights of ") +
                          std::string(graph::NameOf(*second)));
}

struct OnnxForm {
  OpKind kind = kUnknown;
  std::int32_t since = 1;
  std::string_view elements;  // "*": all
};
// The last that fits counts.
constexpr auto kOnnxForms = std::to_array<OnnxForm>({
    {kOnnxAdd, 1, "float16 float32 float64"},
    {kOnnxAdd, 6, "float16 float32 float64 int32 int64 uint32 uint64"},
    {kOnnxAdd, 14, "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64"},
    {kOnnxConcat, 1, "float16 float32 float64"},
    {kOnnxConcat, 4, "*"},
    {kOnnxSlice, 1, "*"},
});

bool IsOnnxForm(OpKind kind) {
  return std::any_of(kOnnxForms.begin(), kOnnxForms.end(),
                     [&](const OnnxForm& form) { return form.kind == kind; });
}

}  // namespace

Support KernelSupport(const graph::Subgraph& subgraph, const graph::Op& op, StockRuntime runtime,
                      std::string* why) {
  const StockKernel* const kernel = KernelOf(KindOf(op), runtime);
  if (kernel == nullptr) return Support::kUnknown;
  const graph::Tensor* const data =
      graph::Operand(subgraph, op.inputs, static_cast<std::size_t>(kernel->data));
  if (kernel->accepts.empty()) {
    return TypeSupport(*kernel, ElementType::kUnknown, nullptr, why);
  }
  if (data == nullptr) return Support::kUnknown;
  const graph::Tensor* second = nullptr;
  if (kernel->second != kNoInput) {
    second = kernel->second == kFirstOutput
                 ? graph::Operand(subgraph, op.outputs, 0)
                 : graph::Operand(subgraph, op.inputs, static_cast<std::size_t>(kernel->second));
    if (second == nullptr) return Support::kUnknown;
  }
  const Support types =
      TypeSupport(*kernel, data->type, second == nullptr ? nullptr : &second->type, why);
  if (types != Support::kAccepts) return types;
  if (!data->shape) return Support::kUnknown;
  if (kernel->max_rank > 0 && data->shape->size() > kernel->max_rank) {
    return TooMany(why, data->shape->size(), kernel->max_rank, "dimensions");
  }
  if (kernel->max_inputs > 0 && op.inputs.size() > kernel->max_inputs) {
    return TooMany(why, op.inputs.size(), kernel->max_inputs, "inputs");
  }
  return Support::kAccepts;
}

bool MayInsert(OpKind kind, ElementType element, std::size_t rank, StockRuntime runtime) {
  if (runtime == StockRuntime::kNone || runtime == StockRuntime::kOnnxRuntime) return true;
  const StockKernel* const kernel = KernelOf(kind, runtime);
  if (kernel == nullptr || kernel->second != kNoInput) return false;
  return TypeSupport(*kernel, element, nullptr, nullptr) == Support::kAccepts &&
         (kernel->max_rank == 0 || rank <= kernel->max_rank);
}

std::size_t MaxConcatInputs(StockRuntime runtime) {
  constexpr std::size_t kNoLimit = 256;  // more are not worth their operators
  const StockKernel* const kernel = KernelOf(kConcatenation, runtime);
  return kernel == nullptr || kernel->max_inputs == 0 ? kNoLimit : kernel->max_inputs;
}

std::int32_t DefaultOpset(const graph::Subgraph& subgraph) {
  std::int32_t version = 0;
  for (const graph::Op& op : subgraph.ops) {
    if (op.domain.empty()) version = std::max(version, op.version);
  }
  return version;
}

bool MayInsertOnnx(OpKind kind, ElementType element, std::int32_t opset) {
  std::string_view elements;
  for (const OnnxForm& form : kOnnxForms) {
    if (form.kind == kind && opset >= form.since) elements = form.elements;
  }
  return elements == "*" || HasWord(elements, graph::NameOf(element));
}

std::string WrongOnnxForm(const graph::Subgraph& subgraph, const graph::Op& op) {
  const OpKind kind = KindOf(op);
  if (!op.domain.empty() || !IsOnnxForm(kind)) return "";
  const graph::Tensor* const data = graph::Operand(subgraph, op.inputs, 0);
  const std::string version = "version " + std::to_string(op.version) + " of the operator set";
  if (data == nullptr || !MayInsertOnnx(kind, data->type, op.version)) {
    return version + " has no such operator for its element type";
  }
  if (kind == kOnnxConcat && !op.attributes.contains("axis")) return "has no axis";
  if (kind != kOnnxSlice) return "";
  const bool has_attributes = op.attributes.contains("starts") || op.attributes.contains("ends") ||
                              op.attributes.contains("axes");
  const bool by_inputs = op.version >= kSliceWithInputs;
  const bool right = by_inputs ? !has_attributes && op.inputs.size() >= 3
                               : op.inputs.size() == 1 && op.attributes.contains("starts") &&
                                     op.attributes.contains("ends");
  return right ? ""
               : version + " takes the range of Slice as " + (by_inputs ? "inputs" : "attributes");
}

}  // namespace neap::ops
