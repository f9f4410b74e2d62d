// SPDX-License-Identifier: Apache-2.0
//
// Sizes of the structs that TensorFlow Lite Micro parses options into and that its kernels declare
// as their data. Those of the host were measured on the wheel tflite-micro 0.dev20261023182759, an
// operator at a time. Those of Cortex-M follow from the same members with pointers of four bytes,
// enumerations of one byte (the rule of the ARM ABI for bare metal) and no members for compressed
// weights. Those of the signal library, LSTM and TFLM_DECODE were measured on TFLM for wasm32
// (tests/conformance/test_wasm_arena.py); docs/reference/memory-model.md has the comparison. Where
// enumerations have four bytes, options have the host's size, but for pointers, and data those of
// Cortex-M, but for enumerations.
#include "neap/compile/tflm_kernels.h"

#include <algorithm>
#include <array>

#include "neap/base/bytes.h"
#include "neap/ops/op_table.h"
#include "neap/ops/tflm_scratch.h"
#include "neap/target/cmsis_nn.h"

namespace neap::compile {
namespace {

using ops::Is;
using ops::OpKind;

struct StructSize {
  std::int64_t bytes = 0;
  std::int64_t alignment = 1;
};

struct Kernel {
  OpKind op = OpKind::kUnknown;
  StructSize options_host;
  StructSize options_cortex;
  std::int64_t data_host = 0;
  std::int64_t data_cortex = 0;
};

constexpr std::array kKernels = {
    Kernel{OpKind::kAbs, {}, {}, 28, 20},
    Kernel{OpKind::kAdd, {8, 4}, {2, 1}, 60, 60},
    Kernel{OpKind::kAddN, {}, {}},
    Kernel{OpKind::kArgMax, {4, 4}, {1, 1}},
    Kernel{OpKind::kArgMin, {4, 4}, {1, 1}},
    Kernel{OpKind::kAveragePool2d, {40, 4}, {40, 4}, 32, 32},
    Kernel{OpKind::kBatchMatmul, {3, 1}, {3, 1}, 32, 16},
    Kernel{OpKind::kBatchToSpaceNd, {}, {}},
    Kernel{OpKind::kBroadcastArgs, {}, {}},
    Kernel{OpKind::kBroadcastTo, {}, {}},
    Kernel{OpKind::kCast, {8, 4}, {2, 1}},
    Kernel{OpKind::kCeil, {}, {}},
    Kernel{OpKind::kConcatenation, {8, 4}, {8, 4}, 80, 24},
    Kernel{OpKind::kConv2d, {28, 4}, {28, 4}, 80, 56},
    Kernel{OpKind::kCos, {}, {}},
    Kernel{OpKind::kCumsum, {2, 1}, {2, 1}},
    Kernel{OpKind::kDepthwiseConv2d, {28, 4}, {28, 4}, 80, 56},
    Kernel{OpKind::kDepthToSpace, {4, 4}, {4, 4}, 20, 20},
    Kernel{OpKind::kDequantize, {}, {}, 32, 32},
    Kernel{OpKind::kDiv, {4, 4}, {1, 1}, 28, 28},
    Kernel{OpKind::kDynamicUpdateSlice, {}, {}},
    Kernel{OpKind::kElu, {}, {}, 256, 256},
    Kernel{OpKind::kEmbeddingLookup, {}, {}},
    Kernel{OpKind::kEqual, {}, {}, 32, 32},
    Kernel{OpKind::kExp, {}, {}},
    Kernel{OpKind::kExpandDims, {}, {}},
    Kernel{OpKind::kFill, {}, {}},
    Kernel{OpKind::kFloor, {}, {}},
    Kernel{OpKind::kFloorDiv, {}, {}},
    Kernel{OpKind::kFloorMod, {}, {}},
    Kernel{OpKind::kFullyConnected, {32, 8}, {16, 4}, 72, 48},
    Kernel{OpKind::kGather, {8, 4}, {8, 4}},
    Kernel{OpKind::kGatherNd, {}, {}},
    Kernel{OpKind::kGreater, {}, {}, 32, 32},
    Kernel{OpKind::kGreaterEqual, {}, {}, 32, 32},
    Kernel{OpKind::kHardSwish, {}, {}, 20, 20},
    Kernel{OpKind::kIf, {8, 4}, {8, 4}, 8, 8},
    Kernel{OpKind::kL2Normalization, {4, 4}, {1, 1}, 4, 4},
    Kernel{OpKind::kL2Pool2d, {40, 4}, {40, 4}, 20, 20},
    Kernel{OpKind::kLeakyRelu, {4, 4}, {4, 4}, 24, 24},
    Kernel{OpKind::kLess, {}, {}, 32, 32},
    Kernel{OpKind::kLessEqual, {}, {}, 32, 32},
    Kernel{OpKind::kLog, {}, {}},
    Kernel{OpKind::kLogicalAnd, {}, {}},
    Kernel{OpKind::kLogicalNot, {}, {}},
    Kernel{OpKind::kLogicalOr, {}, {}},
    Kernel{OpKind::kLogistic, {}, {}, 16, 16},
    Kernel{OpKind::kLogSoftmax, {}, {}},
    Kernel{OpKind::kMaximum, {}, {}},
    Kernel{OpKind::kMaxPool2d, {40, 4}, {40, 4}, 32, 32},
    Kernel{OpKind::kMean, {1, 1}, {1, 1}, 44, 44},
    Kernel{OpKind::kMinimum, {}, {}},
    Kernel{OpKind::kMirrorPad, {4, 4}, {1, 1}, 20, 20},
    Kernel{OpKind::kMul, {4, 4}, {1, 1}, 36, 36},
    Kernel{OpKind::kNeg, {}, {}},
    Kernel{OpKind::kNotEqual, {}, {}, 32, 32},
    Kernel{OpKind::kPack, {8, 4}, {8, 4}},
    Kernel{OpKind::kPad, {}, {}, 56, 56},
    Kernel{OpKind::kPadv2, {}, {}, 56, 56},
    Kernel{OpKind::kPrelu, {}, {}, 28, 28},
    Kernel{OpKind::kQuantize, {}, {}, 32, 32},
    Kernel{OpKind::kReduceAll, {1, 1}, {1, 1}, 44, 44},
    Kernel{OpKind::kReduceMax, {1, 1}, {1, 1}, 44, 44},
    Kernel{OpKind::kReduceMin, {1, 1}, {1, 1}, 44, 44},
    Kernel{OpKind::kRelu, {}, {}, 28, 28},
    Kernel{OpKind::kRelu6, {}, {}, 8, 8},
    Kernel{OpKind::kReshape, {36, 4}, {36, 4}},
    Kernel{OpKind::kResizeBilinear, {2, 1}, {2, 1}},
    Kernel{OpKind::kResizeNearestNeighbor, {2, 1}, {2, 1}},
    Kernel{OpKind::kReverseV2, {}, {}},
    Kernel{OpKind::kRound, {}, {}},
    Kernel{OpKind::kRsqrt, {}, {}, 28, 20},
    Kernel{OpKind::kSelectV2, {}, {}, 1, 1},
    Kernel{OpKind::kShape, {4, 4}, {1, 1}},
    Kernel{OpKind::kSin, {}, {}},
    Kernel{OpKind::kSlice, {}, {}},
    Kernel{OpKind::kSoftmax, {4, 4}, {4, 4}, 80, 56},
    Kernel{OpKind::kSpaceToBatchNd, {}, {}, 4, 4},
    Kernel{OpKind::kSpaceToDepth, {4, 4}, {4, 4}, 20, 20},
    Kernel{OpKind::kSplit, {4, 4}, {4, 4}},
    Kernel{OpKind::kSplitV, {4, 4}, {4, 4}},
    Kernel{OpKind::kSqrt, {}, {}},
    Kernel{OpKind::kSquare, {}, {}},
    Kernel{OpKind::kSquaredDifference, {}, {}, 112, 112},
    Kernel{OpKind::kSqueeze, {36, 4}, {36, 4}},
    Kernel{OpKind::kStridedSlice, {24, 4}, {24, 4}, 84, 84},
    Kernel{OpKind::kSub, {8, 4}, {2, 1}, 52, 52},
    Kernel{OpKind::kSum, {1, 1}, {1, 1}, 44, 44},
    Kernel{OpKind::kSvdf, {12, 4}, {8, 4}, 36, 36},
    Kernel{OpKind::kTanh, {}, {}, 16, 16},
    Kernel{OpKind::kTranspose, {}, {}},
    Kernel{OpKind::kTransposeConv, {20, 4}, {16, 4}, 88, 72},
    Kernel{OpKind::kUnidirectionalSequenceLstm, {16, 4}, {16, 4}, 688, 688},
    Kernel{OpKind::kUnpack, {8, 4}, {8, 4}},
    Kernel{OpKind::kWhile, {8, 4}, {8, 4}, 8, 8},
    Kernel{OpKind::kZerosLike, {}, {}},
    // Custom ones.
    Kernel{OpKind::kCircularBuffer, {}, {}, 8, 8},
    Kernel{OpKind::kSignalDelay, {}, {}, 32, 20},
    Kernel{OpKind::kSignalEnergy, {}, {}, 8, 8},
    Kernel{OpKind::kSignalFftAutoScale, {}, {}},
    Kernel{OpKind::kSignalFilterBank, {}, {}, 64, 36},
    Kernel{OpKind::kSignalFilterBankLog, {}, {}, 8, 8},
    Kernel{OpKind::kSignalFilterBankSpectralSubtraction, {}, {}, 56, 44},
    Kernel{OpKind::kSignalFilterBankSquareRoot, {}, {}},
    Kernel{OpKind::kSignalFramer, {}, {}, 40, 28},
    Kernel{OpKind::kSignalIrfft, {}, {}, 32, 24},
    Kernel{OpKind::kSignalOverlapAdd, {}, {}, 32, 24},
    Kernel{OpKind::kSignalPCAN, {}, {}, 4, 4},
    Kernel{OpKind::kSignalRfft, {}, {}, 48, 32},
    Kernel{OpKind::kSignalStacker, {}, {}, 56, 36},
    Kernel{OpKind::kSignalWindow, {}, {}, 8, 8},
    Kernel{OpKind::kDetectionPostprocess, {}, {}, 112, 112},
    Kernel{OpKind::kTflmDecode, {}, {}},
};

// Kernels of a library that keep other data than the reference kernels on a 32-bit machine: those
// and an index of scratch, or what follows from their sources.
struct LibraryData {
  target::Kernels library = target::Kernels::kReference;
  OpKind op = OpKind::kUnknown;
  std::int64_t data = 0;
};

constexpr std::array kLibraryData = {
    LibraryData{target::Kernels::kCmsisNn, OpKind::kAveragePool2d, 36},
    LibraryData{target::Kernels::kCmsisNn, OpKind::kBatchMatmul, 36},
    LibraryData{target::Kernels::kCmsisNn, OpKind::kConv2d, 60},
    LibraryData{target::Kernels::kCmsisNn, OpKind::kDepthwiseConv2d, 60},
    LibraryData{target::Kernels::kCmsisNn, OpKind::kFullyConnected, 72},
    LibraryData{target::Kernels::kCmsisNn, OpKind::kMaxPool2d, 36},
    LibraryData{target::Kernels::kCmsisNn, OpKind::kSoftmax, 64},
    LibraryData{target::Kernels::kCmsisNn, OpKind::kSvdf, 40},
    LibraryData{target::Kernels::kCmsisNn, OpKind::kTransposeConv, 76},
    LibraryData{target::Kernels::kEspNn, OpKind::kConv2d, 60},
    LibraryData{target::Kernels::kEspNn, OpKind::kDepthwiseConv2d, 60},
    LibraryData{target::Kernels::kEspNn, OpKind::kSoftmax, 60},
};

StructSize OptionsOf(const Kernel& kernel, const target::Target& target) {
  if (target.has_short_enums) return kernel.options_cortex;
  constexpr StructSize kFullyConnected32 = {24, 4};
  const bool has_pointers = kernel.op == OpKind::kFullyConnected;
  return target.structs.word == 4 && has_pointers ? kFullyConnected32 : kernel.options_host;
}

std::int64_t DataOf(const Kernel& kernel, const target::Target& target) {
  if (target.has_compression) return kernel.data_host;
  for (const LibraryData& row : kLibraryData) {
    if (row.library == target.kernels && row.op == kernel.op) return row.data;
  }
  const bool has_enums = kernel.op == OpKind::kAbs || kernel.op == OpKind::kRsqrt;
  return has_enums && !target.has_short_enums ? kernel.data_host : kernel.data_cortex;
}

std::optional<std::int64_t> ElementsOf(const graph::Tensor* tensor) {
  if (tensor == nullptr || !tensor->shape) return std::nullopt;
  std::int64_t elements = 1;
  for (const std::int64_t size : *tensor->shape) {
    const auto product = CheckedMultiply(elements, size);
    if (size < 0 || !product || *product > kMaxBytes / 16) return std::nullopt;
    elements = *product;
  }
  return elements;
}

bool IsInt8(const graph::Tensor* tensor) {
  return tensor != nullptr && tensor->type == graph::ElementType::kInt8;
}

bool IsFloat(const graph::Tensor& tensor) { return tensor.type == graph::ElementType::kFloat32; }

// A kernel's allocations beside its data, list by list. False: its shapes or options are not known.
class Lists {
 public:
  Lists(const graph::Subgraph& subgraph, const graph::Op& op, const target::Target& target,
        std::vector<std::int64_t>* lists)
      : subgraph_(subgraph), op_(op), target_(target), word_(target.structs.word), lists_(*lists) {}

  bool Add() {
    if (Is(op_, OpKind::kTflmDecode)) return AddDecoders();
    if (op_.domain == "custom") return AddSignal();
    if (Is(op_, OpKind::kConv2d, OpKind::kTransposeConv)) return AddChannels(0);
    if (Is(op_, OpKind::kDepthwiseConv2d)) return AddChannels(3);
    if (Is(op_, OpKind::kFullyConnected)) return AddWeightScales() && AddColumnSums();
    if (Is(op_, OpKind::kSvdf)) return AddFilterSums();
    if (Is(op_, OpKind::kSoftmax)) return AddTables();
    if (Is(op_, OpKind::kBatchMatmul)) return AddMatrices();
    const bool copies_dimensions =
        Is(op_, OpKind::kGather, OpKind::kGatherNd, OpKind::kEmbeddingLookup);
    if (copies_dimensions && !AddDimensions(Output())) return false;
    if (Is(op_, OpKind::kEmbeddingLookup)) lists_.push_back(16);
    if (Is(op_, OpKind::kAddN, OpKind::kCumsum)) {
      const graph::Tensor* input = Input(0);
      if (input == nullptr) return false;
      if (!IsFloat(*input)) lists_.push_back(Is(op_, OpKind::kAddN) ? 40 : 36);
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
    constexpr std::int64_t kMaxChannels = std::int64_t{1} << 40;
    if (channels < 0 || channels > kMaxChannels) return false;
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

  // CMSIS-NN sums the weights of each output once, when they are constant.
  bool AddColumnSums() {
    if (target_.kernels != target::Kernels::kCmsisNn || !IsInt8(Input(0)) || !IsInt8(Input(1))) {
      return true;
    }
    const auto shape = ops::FullyConnectedOf(subgraph_, op_);
    if (!shape) return false;
    if (shape->is_pointwise || !shape->is_constant) return true;
    AddSum(target::cmsis_nn::FullyConnectedS8(target_.simd, shape->outputs));
    return true;
  }

  bool AddFilterSums() {
    if (target_.kernels != target::Kernels::kCmsisNn || !IsInt8(Input(0))) return true;
    const graph::Tensor* weights = Input(1);
    if (weights == nullptr || !weights->shape || weights->shape->empty()) return false;
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (weights->shape->front() < 0 || weights->shape->front() > kMost) return false;
    AddSum(target::cmsis_nn::SvdfS8(target_.simd, weights->shape->front()));
    return true;
  }

  void AddSum(std::int64_t bytes) {
    if (bytes > 0) lists_.push_back(bytes);
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

  // A list of pointers, and for each output the record of its method, which byte 0 of the second
  // of its two inputs names: a pointer to functions, two to the runtime, and members.
  bool AddDecoders() {
    lists_.push_back(word_ * static_cast<std::int64_t>(op_.outputs.size()));
    for (std::size_t i = 0; i < op_.outputs.size(); ++i) {
      const graph::Tensor* description = Input(2 * i + 1);
      if (description == nullptr || !description->data) return false;
      const std::span<const std::byte> bytes = description->data->bytes;
      constexpr std::byte kTables{0};
      constexpr std::byte kHuffman{1};
      constexpr std::byte kPruned{2};
      if (bytes.empty()) return false;
      if (bytes[0] == kTables) {
        lists_.push_back(9 * word_);
      } else if (bytes[0] == kHuffman) {
        lists_.push_back(7 * word_);
      } else if (bytes[0] == kPruned) {
        lists_.push_back(10 * word_);
      } else {
        return false;
      }
    }
    return true;
  }

  // A ring of 16-bit numbers, each there twice, behind its record.
  bool AddRings(std::int64_t count, std::int64_t numbers) {
    constexpr std::int64_t kMax = std::int64_t{1} << 32;
    if (count < 0 || count > 1 << 16 || numbers < 0 || numbers > kMax) return false;
    lists_.insert(lists_.end(), static_cast<std::size_t>(count), 4 * word_ + 8 + 4 * numbers);
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
    if (Is(op_, OpKind::kSignalDelay, OpKind::kSignalFramer)) return AddRingPerFrame();
    if (Is(op_, OpKind::kSignalOverlapAdd)) {
      const auto frames = Frames(2);
      if (!frames || frames->first > 1 << 16) return false;
      lists_.push_back(word_ * frames->first);
      lists_.insert(lists_.end(), static_cast<std::size_t>(frames->first),
                    frames->second * (IsFloat(*Input(0)) ? 4 : 2));
      return true;
    }
    if (Is(op_, OpKind::kSignalStacker)) {
      const auto channels = ops::CustomOption(op_, "num_channels");
      const auto left = ops::CustomOption(op_, "stacker_left_context");
      const auto right = ops::CustomOption(op_, "stacker_right_context");
      constexpr std::int64_t kMax = 1 << 15;
      if (!channels || !left || !right || *channels > kMax || *left > kMax || *right > kMax) {
        return false;
      }
      return AddRings(1, *channels * (*left + *right + 1));
    }
    if (Is(op_, OpKind::kSignalFilterBank, OpKind::kSignalFilterBankSpectralSubtraction)) {
      const auto channels = ElementsOf(Output());
      if (!channels) return false;
      lists_.push_back(Is(op_, OpKind::kSignalFilterBank) ? 8 * (*channels + 1) : 4 * *channels);
    }
    if (Is(op_, OpKind::kSignalRfft, OpKind::kSignalIrfft)) return AddTransform();
    return true;
  }

  bool AddRingPerFrame() {
    const auto frames = Frames(1);
    constexpr std::int64_t kMax = 1 << 30;
    if (!frames) return false;
    lists_.assign(2, word_ * frames->first);
    if (Is(op_, OpKind::kSignalDelay)) {
      const auto delay = ops::CustomOption(op_, "delay_length");
      return delay && *delay <= kMax && AddRings(frames->first, frames->second + *delay);
    }
    const auto size = ops::CustomOption(op_, "frame_size");
    const auto step = ops::CustomOption(op_, "frame_step");
    if (!size || !step || *size < 0 || *size > kMax || *step < 1 || *step > kMax) return false;
    return AddRings(frames->first, AlignUp(*size, *step));
  }

  // Kiss FFT of half the length, for real numbers: twiddle factors, and as many values between.
  bool AddTransform() {
    const bool inverse = Is(op_, OpKind::kSignalIrfft);
    const graph::Tensor* output = Output();
    if (output == nullptr || !output->shape || output->shape->empty()) return false;
    const std::int64_t length = inverse ? output->shape->back() : output->shape->back() - 2;
    constexpr std::int64_t kMax = std::int64_t{1} << 32;
    if (length < 2 || length > kMax) return false;
    const std::int64_t complex = output->type == graph::ElementType::kInt16 ? 4 : 8;
    constexpr std::int64_t kHeader = 4 + 4 + 256;
    const std::int64_t half = length / 2;
    lists_.push_back(3 * word_ + kHeader + complex * half + complex * (half * 3 / 2) +
                     (inverse && IsFloat(*output) ? 2 * word_ : 0));
    return true;
  }

  const graph::Subgraph& subgraph_;
  const graph::Op& op_;
  const target::Target& target_;
  std::int64_t word_;
  std::vector<std::int64_t>& lists_;
};

const Kernel* Find(const graph::Op& op) {
  const OpKind kind = ops::KindOf(op);
  const auto* const found = std::find_if(kKernels.begin(), kKernels.end(),
                                         [&](const Kernel& row) { return row.op == kind; });
  return found == kKernels.end() ? nullptr : found;
}

}  // namespace

std::optional<KernelMemory> KernelMemoryOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                           const target::Target& target) {
  const Kernel* kernel = Find(op);
  auto requests = ops::TflmScratchRequests(subgraph, op, target);
  if (kernel == nullptr || !requests) return std::nullopt;
  const StructSize options = OptionsOf(*kernel, target);
  KernelMemory memory;
  memory.options_bytes = options.bytes;
  memory.options_alignment = options.alignment;
  memory.data_bytes = DataOf(*kernel, target);
  memory.scratch_bytes = *std::move(requests);
  if (!Lists(subgraph, op, target, &memory.channel_bytes).Add()) return std::nullopt;
  return memory;
}

}  // namespace neap::compile
