// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/stock_kernels.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace neap::ops {
namespace {

using graph::ElementType;

constexpr int kNoInput = -1;
constexpr int kFirstOutput = -2;

struct StockKernel {
  std::string_view type;
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
    {"ABS", "float32 int8 int16"},
    {"ADD", "float32 int8 int16 int32"},
    {"ADD_N", "float32 int8"},
    {"ARG_MAX", "float32 int8"},
    {"ARG_MIN", "float32 int8"},
    {"ATAN2", ""},
    {"AVERAGE_POOL_2D", "float32 int8 int16"},
    {"BATCH_MATMUL", "float32/float32 int8/int8 int16/int16", 0, 1},
    {"BATCH_TO_SPACE_ND", "float32 int8"},
    {"BITWISE_XOR", ""},
    {"BROADCAST_TO", "*"},
    {"CAST", kCasts, 0, kFirstOutput},
    {"CEIL", "float32"},
    {"CONCATENATION", "float32 int8 int16 int32 int64 bool", 0, kNoInput, 6, 10},
    {"CONV_2D", "float32/float32 int8/int8 int16/int8", 0, 1},
    {"COS", "float32"},
    {"CUMSUM", "float32 int8"},
    {"DEPTHWISE_CONV_2D", "float32/float32 int8/int8 int16/int8", 0, 1},
    {"DEPTH_TO_SPACE", "float32 int8"},
    {"DEQUANTIZE", "int8/float32 uint8/float32 int16/float32", 0, kFirstOutput},
    {"DIV", "float32 int8 int32"},
    {"ELU", "float32 int8"},
    {"EMBEDDING_LOOKUP", "float32 int8", 1},
    {"EQUAL", "float32 int8 int32 int64 bool"},
    {"EXP", "float32"},
    {"EXPAND_DIMS", "float32 int8 int16"},
    {"FILL", "float32 int8 int32", 1},
    {"FLOOR", "float32"},
    {"FLOOR_DIV", "float32"},
    {"FLOOR_MOD", "float32"},
    {"FULLY_CONNECTED", "float32/float32 int8/int8 int16/int8", 0, 1},
    {"GATHER", "float32 int8"},
    {"GATHER_ND", "float32 int8"},
    {"GELU", ""},
    {"GREATER", "float32 int8 int16 int32 int64"},
    {"GREATER_EQUAL", "float32 int8 int32 int64"},
    {"HARD_SWISH", "float32 int8"},
    {"IF", "*", 1},
    {"L2_NORMALIZATION", "float32 int8"},
    {"L2_POOL_2D", "float32"},
    {"LEAKY_RELU", "float32 int8 int16"},
    {"LESS", "float32 int8 int32 int64"},
    {"LESS_EQUAL", "float32 int8 int32 int64"},
    {"LOCAL_RESPONSE_NORMALIZATION", ""},
    {"LOG", "float32"},
    {"LOGICAL_AND", "*"},
    {"LOGICAL_NOT", "bool"},
    {"LOGICAL_OR", "*"},
    {"LOGISTIC", "float32 int8 int16"},
    {"LOG_SOFTMAX", "float32 int8"},
    {"MAXIMUM", "float32 int8 int16 int32 int64"},
    {"MAX_POOL_2D", "float32 int8 int16"},
    {"MEAN", "float32 int8 int16"},
    {"MINIMUM", "float32 int8 int16 int32 int64"},
    {"MIRROR_PAD", "float32 int8"},
    {"MUL", "float32 int8 int16 int32"},
    {"NEG", "float32"},
    {"NOT_EQUAL", "float32 int8 int32 int64 bool"},
    {"PACK", "float32 int8 int16 int32 int64"},
    {"PAD", "float32 int8 int16 int32", 0, kNoInput, 5},
    {"PADV2", "float32 int8 int16 int32", 0, kNoInput, 5},
    {"POW", ""},
    {"PRELU", "float32 int8"},
    {"QUANTIZE", kQuantizations, 0, kFirstOutput},
    {"REDUCE_ALL", "bool"},
    {"REDUCE_ANY", ""},
    {"REDUCE_MAX", "float32 int8"},
    {"REDUCE_MIN", "float32 int8"},
    {"REDUCE_PROD", ""},
    {"RELU", "float32 int8 int16"},
    {"RELU6", "float32 int8 int16"},
    {"RELU_0_TO_1", ""},
    {"RELU_N1_TO_1", ""},
    {"RESHAPE", "*"},
    {"RESIZE_BILINEAR", "float32 int8"},
    {"RESIZE_NEAREST_NEIGHBOR", "float32 int8 int16"},
    {"REVERSE_V2", "float32 int8 uint8 int16 int32 int64 bool"},
    {"RIGHT_SHIFT", ""},
    {"ROUND", "float32"},
    {"RSQRT", "float32 int8 int16"},
    {"SELECT", ""},
    {"SELECT_V2", "float32 int8 int16", 1},
    {"SHAPE", "*"},
    {"SIGN", ""},
    {"SIN", "float32"},
    {"SLICE", "float32 int8 int16 int32 bool", 0, kNoInput, 5},
    {"SOFTMAX", "float32 int8 int16"},
    {"SPACE_TO_BATCH_ND", "float32 int8"},
    {"SPACE_TO_DEPTH", "float32 int8"},
    {"SPLIT", "float32 int8 int16 int32", 1},
    {"SPLIT_V", "float32 int8 int16 int32"},
    {"SQRT", "float32"},
    {"SQUARE", "float32"},
    {"SQUARED_DIFFERENCE", "float32 int8 int16 int32"},
    {"SQUEEZE", "*"},
    {"STRIDED_SLICE", "float32 int8 int16 int32 bool", 0, kNoInput, 4},
    {"SUB", "float32 int8 int16 int32"},
    {"SUM", "float32 int8 int16"},
    {"TANH", "float32 int8 int16"},
    {"TILE", ""},
    {"TRANSPOSE", "float32 int8 int16"},
    {"TRANSPOSE_CONV", "float32/float32 int8/int8 int16/int8 int16/int16", 2, 1},
    {"UNPACK", "float32 int8 int16 int32"},
    {"ZEROS_LIKE", "float32 int8 int32 int64"},
});

// Those that Neap adds.
constexpr auto kLitertKernels = std::to_array<StockKernel>({
    {"ADD", "float32 float16 int8 uint8 int16 int32 int64"},
    {"CONCATENATION", "float32 float16 int8 uint8 int16 int32 uint32 int64 bool"},
    {"PAD", "float32 float16 int8 uint8 int16 int32 int64 bool", 0, kNoInput, 5},
    {"PADV2", "float32 float16 int8 uint8 int16 int32 int64 bool", 0, kNoInput, 5},
    {"RESHAPE", "*"},
    {"SLICE", "*"},
});

std::span<const StockKernel> KernelsOf(StockRuntime runtime) {
  if (runtime == StockRuntime::kTflm) return kTflmKernels;
  if (runtime == StockRuntime::kLitert) return kLitertKernels;
  return {};
}

const StockKernel* KernelNamed(std::string_view type, StockRuntime runtime) {
  const auto kernels = KernelsOf(runtime);
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const StockKernel& kernel) { return kernel.type == type; });
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
  std::string_view type;
  std::int32_t since = 1;
  std::string_view elements;  // "*": all
};
// The last that fits counts.
constexpr auto kOnnxForms = std::to_array<OnnxForm>({
    {"Add", 1, "float16 float32 float64"},
    {"Add", 6, "float16 float32 float64 int32 int64 uint32 uint64"},
    {"Add", 14, "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64"},
    {"Concat", 1, "float16 float32 float64"},
    {"Concat", 4, "*"},
    {"Slice", 1, "*"},
});

bool IsOnnxForm(std::string_view type) {
  return std::any_of(kOnnxForms.begin(), kOnnxForms.end(),
                     [&](const OnnxForm& form) { return form.type == type; });
}

}  // namespace

Support KernelSupport(const graph::Subgraph& subgraph, const graph::Op& op, StockRuntime runtime,
                      std::string* why) {
  if (op.domain != "tflite") return Support::kUnknown;
  const StockKernel* const kernel = KernelNamed(op.type, runtime);
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

bool MayInsert(std::string_view type, ElementType element, std::size_t rank, StockRuntime runtime) {
  if (runtime == StockRuntime::kNone || runtime == StockRuntime::kOnnxRuntime) return true;
  const StockKernel* const kernel = KernelNamed(type, runtime);
  if (kernel == nullptr || kernel->second != kNoInput) return false;
  return TypeSupport(*kernel, element, nullptr, nullptr) == Support::kAccepts &&
         (kernel->max_rank == 0 || rank <= kernel->max_rank);
}

std::size_t MaxConcatInputs(StockRuntime runtime) {
  constexpr std::size_t kNoLimit = 256;  // more are not worth their operators
  const StockKernel* const kernel = KernelNamed("CONCATENATION", runtime);
  return kernel == nullptr || kernel->max_inputs == 0 ? kNoLimit : kernel->max_inputs;
}

std::int32_t DefaultOpset(const graph::Subgraph& subgraph) {
  std::int32_t version = 0;
  for (const graph::Op& op : subgraph.ops) {
    if (op.domain.empty()) version = std::max(version, op.version);
  }
  return version;
}

bool MayInsertOnnx(std::string_view type, ElementType element, std::int32_t opset) {
  std::string_view elements;
  for (const OnnxForm& form : kOnnxForms) {
    if (form.type == type && opset >= form.since) elements = form.elements;
  }
  return elements == "*" || HasWord(elements, graph::NameOf(element));
}

std::string WrongOnnxForm(const graph::Subgraph& subgraph, const graph::Op& op) {
  if (!op.domain.empty() || !IsOnnxForm(op.type)) return "";
  const graph::Tensor* const data = graph::Operand(subgraph, op.inputs, 0);
  const std::string version = "version " + std::to_string(op.version) + " of the operator set";
  if (data == nullptr || !MayInsertOnnx(op.type, data->type, op.version)) {
    return version + " has no such operator for its element type";
  }
  if (op.type == "Concat" && !op.attributes.contains("axis")) return "has no axis";
  if (op.type != "Slice") return "";
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
