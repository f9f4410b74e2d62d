// SPDX-License-Identifier: Apache-2.0
//
// Sizes of the structs that TensorFlow Lite Micro parses options into and that its reference
// kernels declare as their data. Those of kHost64 were measured on the wheel tflite-micro
// 0.dev20261023182759, an operator at a time. Those of kCortexM follow from the same members with
// pointers of four bytes, enumerations of one byte (the rule of the ARM ABI for bare metal) and no
// members for compressed weights, and are at most that for the signal library and LSTM;
// docs/memory-model.md says what they were held against.
#include "neap/compile/tflm_kernels.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "neap/base/bytes.h"
#include "neap/ops/tflm_scratch.h"

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
    Kernel{"ABS", {}, {}, 28, 20},
    Kernel{"ADD", {8, 4}, {2, 1}, 60, 60},
    Kernel{"ADD_N", {}, {}},
    Kernel{"ARG_MAX", {4, 4}, {1, 1}},
    Kernel{"ARG_MIN", {4, 4}, {1, 1}},
    Kernel{"AVERAGE_POOL_2D", {40, 4}, {40, 4}, 32, 32},
    Kernel{"BATCH_MATMUL", {3, 1}, {3, 1}, 32, 16},
    Kernel{"BATCH_TO_SPACE_ND", {}, {}},
    Kernel{"BROADCAST_ARGS", {}, {}},
    Kernel{"BROADCAST_TO", {}, {}},
    Kernel{"CAST", {8, 4}, {2, 1}},
    Kernel{"CEIL", {}, {}},
    Kernel{"CONCATENATION", {8, 4}, {8, 4}, 80, 24},
    Kernel{"CONV_2D", {28, 4}, {28, 4}, 80, 56},
    Kernel{"COS", {}, {}},
    Kernel{"CUMSUM", {2, 1}, {2, 1}},
    Kernel{"DEPTHWISE_CONV_2D", {28, 4}, {28, 4}, 80, 56},
    Kernel{"DEPTH_TO_SPACE", {4, 4}, {4, 4}, 20, 20},
    Kernel{"DEQUANTIZE", {}, {}, 32, 32},
    Kernel{"DIV", {4, 4}, {1, 1}, 28, 28},
    Kernel{"DYNAMIC_UPDATE_SLICE", {}, {}},
    Kernel{"ELU", {}, {}, 256, 256},
    Kernel{"EMBEDDING_LOOKUP", {}, {}},
    Kernel{"EQUAL", {}, {}, 32, 32},
    Kernel{"EXP", {}, {}},
    Kernel{"EXPAND_DIMS", {}, {}},
    Kernel{"FILL", {}, {}},
    Kernel{"FLOOR", {}, {}},
    Kernel{"FLOOR_DIV", {}, {}},
    Kernel{"FLOOR_MOD", {}, {}},
    Kernel{"FULLY_CONNECTED", {32, 8}, {16, 4}, 72, 48},
    Kernel{"GATHER", {8, 4}, {8, 4}},
    Kernel{"GATHER_ND", {}, {}},
    Kernel{"GREATER", {}, {}, 32, 32},
    Kernel{"GREATER_EQUAL", {}, {}, 32, 32},
    Kernel{"HARD_SWISH", {}, {}, 20, 20},
    Kernel{"IF", {8, 4}, {8, 4}, 8, 8},
    Kernel{"L2_NORMALIZATION", {4, 4}, {1, 1}, 4, 4},
    Kernel{"L2_POOL_2D", {40, 4}, {40, 4}, 20, 20},
    Kernel{"LEAKY_RELU", {4, 4}, {4, 4}, 24, 24},
    Kernel{"LESS", {}, {}, 32, 32},
    Kernel{"LESS_EQUAL", {}, {}, 32, 32},
    Kernel{"LOG", {}, {}},
    Kernel{"LOGICAL_AND", {}, {}},
    Kernel{"LOGICAL_NOT", {}, {}},
    Kernel{"LOGICAL_OR", {}, {}},
    Kernel{"LOGISTIC", {}, {}, 16, 16},
    Kernel{"LOG_SOFTMAX", {}, {}},
    Kernel{"MAXIMUM", {}, {}},
    Kernel{"MAX_POOL_2D", {40, 4}, {40, 4}, 32, 32},
    Kernel{"MEAN", {1, 1}, {1, 1}, 44, 44},
    Kernel{"MINIMUM", {}, {}},
    Kernel{"MIRROR_PAD", {4, 4}, {1, 1}, 20, 20},
    Kernel{"MUL", {4, 4}, {1, 1}, 36, 36},
    Kernel{"NEG", {}, {}},
    Kernel{"NOT_EQUAL", {}, {}, 32, 32},
    Kernel{"PACK", {8, 4}, {8, 4}},
    Kernel{"PAD", {}, {}, 56, 56},
    Kernel{"PADV2", {}, {}, 56, 56},
    Kernel{"PRELU", {}, {}, 28, 28},
    Kernel{"QUANTIZE", {}, {}, 32, 32},
    Kernel{"REDUCE_ALL", {1, 1}, {1, 1}, 44, 44},
    Kernel{"REDUCE_MAX", {1, 1}, {1, 1}, 44, 44},
    Kernel{"REDUCE_MIN", {1, 1}, {1, 1}, 44, 44},
    Kernel{"RELU", {}, {}, 28, 28},
    Kernel{"RELU6", {}, {}, 8, 8},
    Kernel{"RESHAPE", {36, 4}, {36, 4}},
    Kernel{"RESIZE_BILINEAR", {2, 1}, {2, 1}},
    Kernel{"RESIZE_NEAREST_NEIGHBOR", {2, 1}, {2, 1}},
    Kernel{"REVERSE_V2", {}, {}},
    Kernel{"ROUND", {}, {}},
    Kernel{"RSQRT", {}, {}, 28, 20},
    Kernel{"SELECT_V2", {}, {}, 1, 1},
    Kernel{"SHAPE", {4, 4}, {1, 1}},
    Kernel{"SIN", {}, {}},
    Kernel{"SLICE", {}, {}},
    Kernel{"SOFTMAX", {4, 4}, {4, 4}, 80, 56},
    Kernel{"SPACE_TO_BATCH_ND", {}, {}, 4, 4},
    Kernel{"SPACE_TO_DEPTH", {4, 4}, {4, 4}, 20, 20},
    Kernel{"SPLIT", {4, 4}, {4, 4}},
    Kernel{"SPLIT_V", {4, 4}, {4, 4}},
    Kernel{"SQRT", {}, {}},
    Kernel{"SQUARE", {}, {}},
    Kernel{"SQUARED_DIFFERENCE", {}, {}, 112, 112},
    Kernel{"SQUEEZE", {36, 4}, {36, 4}},
    Kernel{"STRIDED_SLICE", {24, 4}, {24, 4}, 84, 84},
    Kernel{"SUB", {8, 4}, {2, 1}, 52, 52},
    Kernel{"SUM", {1, 1}, {1, 1}, 44, 44},
    Kernel{"SVDF", {12, 4}, {8, 4}, 36, 36},
    Kernel{"TANH", {}, {}, 16, 16},
    Kernel{"TRANSPOSE", {}, {}},
    Kernel{"TRANSPOSE_CONV", {20, 4}, {16, 4}, 88, 72},
    Kernel{"UNIDIRECTIONAL_SEQUENCE_LSTM", {16, 4}, {16, 4}, 688, 688},
    Kernel{"UNPACK", {8, 4}, {8, 4}},
    Kernel{"WHILE", {8, 4}, {8, 4}, 8, 8},
    Kernel{"ZEROS_LIKE", {}, {}},
};

constexpr std::array kCustomKernels = {
    Kernel{"CIRCULAR_BUFFER", {}, {}, 8, 8},
    Kernel{"SignalDelay", {}, {}, 32, 20},
    Kernel{"SignalEnergy", {}, {}, 8, 8},
    Kernel{"SignalFftAutoScale", {}, {}},
    Kernel{"SignalFilterBank", {}, {}, 64, 64},
    Kernel{"SignalFilterBankLog", {}, {}, 8, 8},
    Kernel{"SignalFilterBankSpectralSubtraction", {}, {}, 56, 56},
    Kernel{"SignalFilterBankSquareRoot", {}, {}},
    Kernel{"SignalFramer", {}, {}, 40, 40},
    Kernel{"SignalIrfft", {}, {}, 32, 32},
    Kernel{"SignalOverlapAdd", {}, {}, 32, 32},
    Kernel{"SignalPCAN", {}, {}, 4, 4},
    Kernel{"SignalRfft", {}, {}, 48, 48},
    Kernel{"SignalStacker", {}, {}, 56, 56},
    Kernel{"SignalWindow", {}, {}, 8, 8},
    Kernel{"TFLite_Detection_PostProcess", {}, {}, 112, 112},
};

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

bool IsFloat(const graph::Tensor& tensor) { return tensor.type == graph::ElementType::kFloat32; }

// What a kernel keeps beside its data, list by list. False: its shapes or options are not known.
class Lists {
 public:
  Lists(const graph::Subgraph& subgraph, const graph::Op& op, TflmTarget target,
        std::vector<std::int64_t>* lists)
      : subgraph_(subgraph),
        op_(op),
        word_(target == TflmTarget::kHost64 ? 8 : 4),
        lists_(*lists) {}

  bool Add() {
    if (op_.domain == "custom") return AddSignal();
    if (op_.type == "CONV_2D" || op_.type == "TRANSPOSE_CONV") return AddChannels(0);
    if (op_.type == "DEPTHWISE_CONV_2D") return AddChannels(3);
    if (op_.type == "FULLY_CONNECTED") return AddWeightScales();
    if (op_.type == "SOFTMAX") return AddTables();
    if (op_.type == "BATCH_MATMUL") return AddMatrices();
    const bool copies_dimensions =
        op_.type == "GATHER" || op_.type == "GATHER_ND" || op_.type == "EMBEDDING_LOOKUP";
    if (copies_dimensions && !AddDimensions(Output())) return false;
    if (op_.type == "EMBEDDING_LOOKUP") lists_.push_back(16);
    if (op_.type == "ADD_N" || op_.type == "CUMSUM") {
      const graph::Tensor* input = Input(0);
      if (input == nullptr) return false;
      if (!IsFloat(*input)) lists_.push_back(op_.type == "ADD_N" ? 40 : 36);
    }
    return true;
  }

 private:
  const graph::Tensor* Input(std::size_t at) const {
    return graph::Operand(subgraph_, op_.inputs, at);
  }
  const graph::Tensor* Output() const { return graph::Operand(subgraph_, op_.outputs, 0); }

  // Multipliers and shifts of convolutions: two lists of 32-bit words, one for each output channel.
  bool AddChannels(std::size_t dimension) {
    const graph::Tensor* weights = Input(1);
    if (weights == nullptr || !weights->shape || weights->shape->size() != 4) return false;
    const std::int64_t channels = (*weights->shape)[dimension];
    constexpr std::int64_t kMostChannels = std::int64_t{1} << 40;
    if (channels < 0 || channels > kMostChannels) return false;
    lists_.assign(2, 4 * channels);
    return true;
  }

  // Weights with a scale of their own for each output: two lists.
  bool AddWeightScales() {
    const graph::Tensor* weights = Input(1);
    if (weights == nullptr) return false;
    if (weights->quantization && weights->quantization->scales.size() > 1) {
      const auto channels = static_cast<std::int64_t>(weights->quantization->scales.size());
      lists_.assign(2, 4 * channels);
    }
    return true;
  }

  bool AddTables() {
    constexpr std::int64_t kTableBytes = std::int64_t{513} * 2;
    if (Input(0) == nullptr) return false;
    if (Input(0)->type == graph::ElementType::kInt16) lists_.assign(2, kTableBytes);
    return true;
  }

  bool AddDimensions(const graph::Tensor* tensor) {
    if (tensor == nullptr || !tensor->shape) return false;
    lists_.push_back(4 + 4 * static_cast<std::int64_t>(tensor->shape->size()));
    return true;
  }

  // A tensor with its rows and columns exchanged.
  bool AddTransposed(const graph::Tensor* tensor) {
    if (tensor == nullptr) return false;
    const auto bytes = graph::TensorBytes(*tensor);
    if (!bytes) return false;
    lists_.push_back(3 * word_);
    if (!AddDimensions(tensor)) return false;
    lists_.push_back(*bytes);
    return true;
  }

  bool AddMatrices() {
    if (Input(0) == nullptr) return false;
    constexpr std::int64_t kScaleBytes = 28;
    if (!IsFloat(*Input(0))) lists_.push_back(kScaleBytes);
    const auto is_set = [&](const char* name) {
      const auto found = op_.attributes.find(name);
      if (found == op_.attributes.end()) return false;
      const auto* value = std::get_if<std::int64_t>(&found->second);
      return value != nullptr && *value != 0;
    };
    if (is_set("adj_x") && !AddTransposed(Input(0))) return false;
    if (!is_set("adj_y") && !AddTransposed(Input(1))) return false;
    return AddDimensions(Output());
  }

  // A ring of 16-bit numbers, each there twice, behind its record.
  bool AddRings(std::int64_t count, std::int64_t numbers) {
    constexpr std::int64_t kMost = std::int64_t{1} << 32;
    if (count < 0 || count > 1 << 16 || numbers < 0 || numbers > kMost) return false;
    lists_.insert(lists_.end(), static_cast<std::size_t>(count), 5 * word_ + 4 * numbers);
    return true;
  }

  // Indices of all dimensions but the last `inner`, and the last one.
  std::optional<std::pair<std::int64_t, std::int64_t>> Frames(std::size_t inner) const {
    const graph::Tensor* input = Input(0);
    const auto elements = ElementsOf(input);
    if (!elements || input->shape->size() < inner) return std::nullopt;
    std::int64_t each = 1;
    for (std::size_t i = input->shape->size() - inner; i < input->shape->size(); ++i) {
      each *= (*input->shape)[i];
    }
    if (each <= 0) return std::nullopt;
    return std::pair(*elements / each, input->shape->back());
  }

  bool AddSignal() {
    if (op_.type == "SignalDelay" || op_.type == "SignalFramer") return AddRingPerFrame();
    if (op_.type == "SignalOverlapAdd") {
      const auto frames = Frames(2);
      if (!frames || frames->first > 1 << 16) return false;
      lists_.push_back(word_ * frames->first);
      lists_.insert(lists_.end(), static_cast<std::size_t>(frames->first),
                    frames->second * (IsFloat(*Input(0)) ? 4 : 2));
      return true;
    }
    if (op_.type == "SignalStacker") {
      const auto channels = ops::CustomOption(op_, "num_channels");
      const auto left = ops::CustomOption(op_, "stacker_left_context");
      const auto right = ops::CustomOption(op_, "stacker_right_context");
      constexpr std::int64_t kMost = 1 << 15;
      if (!channels || !left || !right || *channels > kMost || *left > kMost || *right > kMost) {
        return false;
      }
      return AddRings(1, *channels * (*left + *right + 1));
    }
    if (op_.type == "SignalFilterBank" || op_.type == "SignalFilterBankSpectralSubtraction") {
      const auto channels = ElementsOf(Output());
      if (!channels) return false;
      lists_.push_back(op_.type == "SignalFilterBank" ? 8 * (*channels + 1) : 4 * *channels);
    }
    if (op_.type == "SignalRfft" || op_.type == "SignalIrfft") return AddTransform();
    return true;
  }

  bool AddRingPerFrame() {
    const auto frames = Frames(1);
    constexpr std::int64_t kMost = 1 << 30;
    if (!frames) return false;
    lists_.assign(2, word_ * frames->first);
    if (op_.type == "SignalDelay") {
      const auto delay = ops::CustomOption(op_, "delay_length");
      return delay && *delay <= kMost && AddRings(frames->first, frames->second + *delay);
    }
    const auto size = ops::CustomOption(op_, "frame_size");
    const auto step = ops::CustomOption(op_, "frame_step");
    if (!size || !step || *size < 0 || *size > kMost || *step < 1 || *step > kMost) return false;
    return AddRings(frames->first, AlignUp(*size, *step));
  }

  // Kiss FFT of half the length, for real numbers: twiddle factors, and as many values between.
  bool AddTransform() {
    const bool inverse = op_.type == "SignalIrfft";
    const graph::Tensor* output = Output();
    if (output == nullptr || !output->shape || output->shape->empty()) return false;
    const std::int64_t length = inverse ? output->shape->back() : output->shape->back() - 2;
    constexpr std::int64_t kMost = std::int64_t{1} << 32;
    if (length < 2 || length > kMost) return false;
    const std::int64_t complex = output->type == graph::ElementType::kInt16 ? 4 : 8;
    constexpr std::int64_t kHeader = 4 + 4 + 256;
    const std::int64_t half = length / 2;
    lists_.push_back(3 * word_ + kHeader + complex * half + complex * (half * 3 / 2) +
                     (inverse && IsFloat(*output) ? 16 : 0));
    return true;
  }

  const graph::Subgraph& subgraph_;
  const graph::Op& op_;
  std::int64_t word_;
  std::vector<std::int64_t>& lists_;
};

const Kernel* Find(const graph::Op& op) {
  const auto find = [&](const auto& kernels) -> const Kernel* {
    const auto* found = std::find_if(kernels.begin(), kernels.end(),
                                     [&](const Kernel& row) { return row.type == op.type; });
    return found == kernels.end() ? nullptr : found;
  };
  if (op.domain == "tflite") return find(kKernels);
  return op.domain == "custom" ? find(kCustomKernels) : nullptr;
}

}  // namespace

std::optional<KernelMemory> KernelMemoryOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                           TflmTarget target) {
  const Kernel* kernel = Find(op);
  auto requests = ops::TflmScratchRequests(subgraph, op);
  if (kernel == nullptr || !requests) return std::nullopt;
  const bool host = target == TflmTarget::kHost64;
  const Layout& options = host ? kernel->options_host : kernel->options_cortex;
  KernelMemory memory;
  memory.options_bytes = options.bytes;
  memory.options_alignment = options.alignment;
  memory.data_bytes = host ? kernel->data_host : kernel->data_cortex;
  memory.scratch_bytes = *std::move(requests);
  if (!Lists(subgraph, op, target, &memory.channel_bytes).Add()) return std::nullopt;
  return memory;
}

}  // namespace neap::compile
