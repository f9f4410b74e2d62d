// SPDX-License-Identifier: Apache-2.0
//
// Sizes of the structs that TensorFlow Lite Micro parses options into and that its reference
// kernels declare as their data. Those of kHost64 were measured on the wheel tflite-micro
// 0.dev20261023182759, an operator at a time. Those of kCortexM follow from the same members with
// pointers of four bytes, enumerations of one byte (the rule of the ARM ABI for bare metal) and no
// members for compressed weights; docs/memory-model.md says what they were held against.
#include "neap/compile/tflm_kernels.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "neap/base/bytes.h"

namespace neap::compile {
namespace {

struct Layout {
  std::int64_t bytes = 0;
  std::int64_t alignment = 1;
};

struct Kernel {
  std::string_view type;
  Layout options_host;
  Layout options_cortex;
  std::int64_t data_host = 0;
  std::int64_t data_cortex = 0;
};

constexpr std::array kKernels = {
    Kernel{"ADD", {8, 4}, {2, 1}, 60, 60},
    Kernel{"ARG_MAX", {4, 4}, {1, 1}},
    Kernel{"ARG_MIN", {4, 4}, {1, 1}},
    Kernel{"AVERAGE_POOL_2D", {40, 4}, {40, 4}, 32, 32},
    Kernel{"CAST", {8, 4}, {2, 1}},
    Kernel{"CONCATENATION", {8, 4}, {8, 4}, 80, 24},
    Kernel{"CONV_2D", {28, 4}, {28, 4}, 80, 56},
    Kernel{"COS", {}, {}},
    Kernel{"DEPTHWISE_CONV_2D", {28, 4}, {28, 4}, 80, 56},
    Kernel{"DEPTH_TO_SPACE", {4, 4}, {4, 4}, 20, 20},
    Kernel{"DEQUANTIZE", {}, {}, 32, 32},
    Kernel{"DIV", {4, 4}, {1, 1}, 28, 28},
    Kernel{"EQUAL", {}, {}, 32, 32},
    Kernel{"EXP", {}, {}},
    Kernel{"FULLY_CONNECTED", {32, 8}, {16, 4}, 72, 48},
    Kernel{"GATHER", {8, 4}, {8, 4}, 12, 12},
    Kernel{"HARD_SWISH", {}, {}, 20, 20},
    Kernel{"IF", {8, 4}, {8, 4}, 8, 8},
    Kernel{"LEAKY_RELU", {4, 4}, {4, 4}, 24, 24},
    Kernel{"LOGISTIC", {}, {}, 16, 16},
    Kernel{"MAXIMUM", {}, {}},
    Kernel{"MAX_POOL_2D", {40, 4}, {40, 4}, 32, 32},
    Kernel{"MEAN", {1, 1}, {1, 1}, 44, 44},
    Kernel{"MINIMUM", {}, {}},
    Kernel{"MUL", {4, 4}, {1, 1}, 36, 36},
    Kernel{"PACK", {8, 4}, {8, 4}},
    Kernel{"PAD", {}, {}, 56, 56},
    Kernel{"PADV2", {}, {}, 56, 56},
    Kernel{"PRELU", {}, {}, 28, 28},
    Kernel{"QUANTIZE", {}, {}, 32, 32},
    Kernel{"RELU", {}, {}, 28, 28},
    Kernel{"RELU6", {}, {}, 8, 8},
    Kernel{"RESHAPE", {36, 4}, {36, 4}},
    Kernel{"RESIZE_BILINEAR", {2, 1}, {2, 1}},
    Kernel{"RESIZE_NEAREST_NEIGHBOR", {2, 1}, {2, 1}},
    Kernel{"SHAPE", {4, 4}, {1, 1}},
    Kernel{"SIN", {}, {}},
    Kernel{"SLICE", {}, {}},
    Kernel{"SOFTMAX", {4, 4}, {4, 4}, 80, 56},
    Kernel{"SPLIT", {4, 4}, {4, 4}},
    Kernel{"SPLIT_V", {4, 4}, {4, 4}},
    Kernel{"STRIDED_SLICE", {24, 4}, {24, 4}, 84, 84},
    Kernel{"SUB", {8, 4}, {2, 1}, 52, 52},
    Kernel{"TANH", {}, {}, 16, 16},
    Kernel{"TRANSPOSE", {}, {}},
    Kernel{"TRANSPOSE_CONV", {20, 4}, {16, 4}, 88, 72},
    Kernel{"UNPACK", {8, 4}, {8, 4}},
    Kernel{"WHILE", {8, 4}, {8, 4}, 8, 8},
};

// Kernels that ask for no scratch, though what they keep is not in the table.
constexpr std::array<std::string_view, 35> kWithoutScratch = {"ABS",
                                                              "ASSIGN_VARIABLE",
                                                              "BATCH_MATMUL",
                                                              "BROADCAST_TO",
                                                              "CALL_ONCE",
                                                              "CEIL",
                                                              "ELU",
                                                              "EXPAND_DIMS",
                                                              "FILL",
                                                              "FLOOR",
                                                              "FLOOR_DIV",
                                                              "FLOOR_MOD",
                                                              "GATHER_ND",
                                                              "GREATER",
                                                              "GREATER_EQUAL",
                                                              "LESS",
                                                              "LESS_EQUAL",
                                                              "LOG",
                                                              "LOGICAL_AND",
                                                              "LOGICAL_NOT",
                                                              "LOGICAL_OR",
                                                              "MIRROR_PAD",
                                                              "NEG",
                                                              "NOT_EQUAL",
                                                              "READ_VARIABLE",
                                                              "ROUND",
                                                              "RSQRT",
                                                              "SELECT_V2",
                                                              "SPACE_TO_DEPTH",
                                                              "SQRT",
                                                              "SQUARE",
                                                              "SQUARED_DIFFERENCE",
                                                              "SQUEEZE",
                                                              "VAR_HANDLE",
                                                              "ZEROS_LIKE"};

const graph::Tensor* OutputOf(const graph::Subgraph& subgraph, const graph::Op& op) {
  return graph::Operand(subgraph, op.outputs, 0);
}

std::optional<std::int64_t> ElementsOf(const graph::Tensor* tensor) {
  if (tensor == nullptr || !tensor->shape) return std::nullopt;
  std::int64_t elements = 1;
  for (const std::int64_t size : *tensor->shape) {
    const auto product = CheckedMultiply(elements, size);
    if (size < 0 || !product || *product > kMostBytes / 16) return std::nullopt;
    elements = *product;
  }
  return elements;
}

// Multipliers and shifts of convolutions: two lists of 32-bit words, one for each output channel.
bool AddChannels(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t dimension,
                 KernelMemory* memory) {
  const graph::Tensor* weights = graph::Operand(subgraph, op.inputs, 1);
  if (weights == nullptr || !weights->shape || weights->shape->size() != 4) return false;
  const std::int64_t channels = (*weights->shape)[dimension];
  constexpr std::int64_t kMostChannels = std::int64_t{1} << 40;
  if (channels < 0 || channels > kMostChannels) return false;
  memory->channel_bytes.assign(2, 4 * channels);
  return true;
}

// Kernels that unpack weights of four bits ask for a buffer that holds them unpacked.
bool AddUnpackedWeights(const graph::Subgraph& subgraph, const graph::Op& op,
                        KernelMemory* memory) {
  const graph::Tensor* weights = graph::Operand(subgraph, op.inputs, 1);
  if (weights == nullptr || weights->type != graph::ElementType::kInt4) return true;
  const auto elements = ElementsOf(weights);
  if (elements) memory->scratch_bytes.push_back(*elements);
  return elements.has_value();
}

bool AddMeanScratch(const graph::Subgraph& subgraph, const graph::Op& op, KernelMemory* memory) {
  const graph::Tensor* input = graph::Operand(subgraph, op.inputs, 0);
  const auto axes = ElementsOf(graph::Operand(subgraph, op.inputs, 1));
  const auto elements = ElementsOf(OutputOf(subgraph, op));
  if (input == nullptr || !input->shape || !axes || !elements) return false;
  memory->scratch_bytes = {4 * static_cast<std::int64_t>(input->shape->size()), 4 * *axes};
  if (input->type != graph::ElementType::kFloat32) memory->scratch_bytes.push_back(4 * *elements);
  return true;
}

// Sums of products, before they are scaled.
bool AddTransposeConvScratch(const graph::Subgraph& subgraph, const graph::Op& op,
                             KernelMemory* memory) {
  const graph::Tensor* input = graph::Operand(subgraph, op.inputs, 2);
  const auto elements = ElementsOf(OutputOf(subgraph, op));
  if (input == nullptr || !elements) return false;
  if (input->type == graph::ElementType::kFloat32) return true;
  if (input->type != graph::ElementType::kInt8) return false;
  memory->scratch_bytes = {4 * *elements};
  return true;
}

bool AddShapes(const graph::Subgraph& subgraph, const graph::Op& op, KernelMemory* memory) {
  if (op.type == "CONV_2D") {
    return AddChannels(subgraph, op, 0, memory) && AddUnpackedWeights(subgraph, op, memory);
  }
  if (op.type == "DEPTHWISE_CONV_2D") {
    return AddChannels(subgraph, op, 3, memory) && AddUnpackedWeights(subgraph, op, memory);
  }
  if (op.type == "TRANSPOSE_CONV") {
    return AddChannels(subgraph, op, 0, memory) && AddTransposeConvScratch(subgraph, op, memory);
  }
  if (op.type == "MEAN") return AddMeanScratch(subgraph, op, memory);
  if (op.type == "FULLY_CONNECTED") {
    const graph::Tensor* weights = graph::Operand(subgraph, op.inputs, 1);
    if (weights == nullptr) return false;
    // Weights with a scale of their own for each output: two more lists.
    if (weights->quantization && weights->quantization->scales.size() > 1) {
      const auto channels = static_cast<std::int64_t>(weights->quantization->scales.size());
      memory->channel_bytes.assign(2, 4 * channels);
    }
    return AddUnpackedWeights(subgraph, op, memory);
  }
  if (op.type == "SOFTMAX") {
    const graph::Tensor* input = graph::Operand(subgraph, op.inputs, 0);
    if (input == nullptr) return false;
    constexpr std::int64_t kTableBytes = std::int64_t{513} * 2;
    if (input->type == graph::ElementType::kInt16) memory->channel_bytes.assign(2, kTableBytes);
  }
  return true;
}

}  // namespace

std::optional<KernelMemory> KernelMemoryOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                           TflmTarget target) {
  const auto* kernel = std::find_if(kKernels.begin(), kKernels.end(),
                                    [&](const Kernel& row) { return row.type == op.type; });
  if (op.domain != "tflite" || kernel == kKernels.end()) return std::nullopt;
  const bool host = target == TflmTarget::kHost64;
  const Layout& options = host ? kernel->options_host : kernel->options_cortex;
  KernelMemory memory;
  memory.options_bytes = options.bytes;
  memory.options_alignment = options.alignment;
  memory.data_bytes = host ? kernel->data_host : kernel->data_cortex;
  if (!AddShapes(subgraph, op, &memory)) return std::nullopt;
  return memory;
}

bool ScratchIsKnown(const graph::Subgraph& subgraph, const graph::Op& op) {
  if (KernelMemoryOf(subgraph, op, TflmTarget::kCortexM)) return true;
  return op.domain == "tflite" && std::find(kWithoutScratch.begin(), kWithoutScratch.end(),
                                            op.type) != kWithoutScratch.end();
}

}  // namespace neap::compile
