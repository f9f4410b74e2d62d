// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/options.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "neap/ops/op_table.h"

namespace neap::formats::tflite {
namespace {

using enum OptionType;
using ops::OpKind;

constexpr OptionField kConv2d[] = {
    {"padding", 0, kByte},
    {"stride_w", 1, kInt},
    {"stride_h", 2, kInt},
    {"fused_activation_function", 3, kByte},
    {"dilation_w_factor", 4, kInt, 1},
    {"dilation_h_factor", 5, kInt, 1},
    {"quantized_bias_type", 6, kByte},
};
constexpr OptionField kDepthwiseConv2d[] = {
    {"padding", 0, kByte},
    {"stride_w", 1, kInt},
    {"stride_h", 2, kInt},
    {"depth_multiplier", 3, kInt},
    {"fused_activation_function", 4, kByte},
    {"dilation_w_factor", 5, kInt, 1},
    {"dilation_h_factor", 6, kInt, 1},
};
constexpr OptionField kConcatEmbeddings[] = {
    {"num_channels", 0, kInt},
    {"num_columns_per_channel", 1, kInts},
    {"embedding_dim_per_channel", 2, kInts},
};
constexpr OptionField kLshProjection[] = {{"type", 0, kByte}};
constexpr OptionField kPool2d[] = {
    {"padding", 0, kByte},     {"stride_w", 1, kInt},      {"stride_h", 2, kInt},
    {"filter_width", 3, kInt}, {"filter_height", 4, kInt}, {"fused_activation_function", 5, kByte},
};
constexpr OptionField kSvdf[] = {
    {"rank", 0, kInt},
    {"fused_activation_function", 1, kByte},
    {"asymmetric_quantize_inputs", 2, kBool},
};
constexpr OptionField kRnn[] = {
    {"fused_activation_function", 0, kByte},
    {"asymmetric_quantize_inputs", 1, kBool},
};
constexpr OptionField kFullyConnected[] = {
    {"fused_activation_function", 0, kByte},
    {"weights_format", 1, kByte},
    {"keep_num_dims", 2, kBool},
    {"asymmetric_quantize_inputs", 3, kBool},
    {"quantized_bias_type", 4, kByte},
};
constexpr OptionField kSoftmax[] = {{"beta", 0, kFloat}};
constexpr OptionField kConcatenation[] = {
    {"axis", 0, kInt},
    {"fused_activation_function", 1, kByte},
};
constexpr OptionField kAddOrSub[] = {
    {"fused_activation_function", 0, kByte},
    {"pot_scale_int16", 1, kBool, 1},
};
// Of L2_NORMALIZATION, MUL and DIV.
constexpr OptionField kActivation[] = {{"fused_activation_function", 0, kByte}};
constexpr OptionField kLocalResponse[] = {
    {"radius", 0, kInt},
    {"bias", 1, kFloat},
    {"alpha", 2, kFloat},
    {"beta", 3, kFloat},
};
constexpr OptionField kLstm[] = {
    {"fused_activation_function", 0, kByte},
    {"cell_clip", 1, kFloat},
    {"proj_clip", 2, kFloat},
    {"kernel_type", 3, kByte},
    {"asymmetric_quantize_inputs", 4, kBool},
};
constexpr OptionField kResizeBilinear[] = {
    {"align_corners", 2, kBool},
    {"half_pixel_centers", 3, kBool},
};
constexpr OptionField kReshape[] = {{"new_shape", 0, kInts}};
constexpr OptionField kSkipGram[] = {
    {"ngram_size", 0, kInt},
    {"max_skip_size", 1, kInt},
    {"include_all_ngrams", 2, kBool},
};
constexpr OptionField kBlockSize[] = {{"block_size", 0, kInt}};
constexpr OptionField kCombiner[] = {{"combiner", 0, kByte}};
constexpr OptionField kGather[] = {{"axis", 0, kInt}, {"batch_dims", 1, kInt}};
constexpr OptionField kReducer[] = {{"keep_dims", 0, kBool}};
constexpr OptionField kSqueeze[] = {{"squeeze_dims", 0, kInts}};
constexpr OptionField kSequenceRnn[] = {
    {"time_major", 0, kBool},
    {"fused_activation_function", 1, kByte},
    {"asymmetric_quantize_inputs", 2, kBool},
};
constexpr OptionField kStridedSlice[] = {
    {"begin_mask", 0, kInt},    {"end_mask", 1, kInt},         {"ellipsis_mask", 2, kInt},
    {"new_axis_mask", 3, kInt}, {"shrink_axis_mask", 4, kInt}, {"offset", 5, kBool},
};
constexpr OptionField kNumSplits[] = {{"num_splits", 0, kInt}};
constexpr OptionField kCast[] = {{"in_data_type", 0, kByte}, {"out_data_type", 1, kByte}};
constexpr OptionField kOutputType[] = {{"output_type", 0, kByte}};
constexpr OptionField kTransposeConv[] = {
    {"padding", 0, kByte},
    {"stride_w", 1, kInt},
    {"stride_h", 2, kInt},
    {"fused_activation_function", 3, kByte},
    {"quantized_bias_type", 4, kByte},
};
constexpr OptionField kSparseToDense[] = {{"validate_indices", 0, kBool}};
constexpr OptionField kShape[] = {{"out_type", 0, kByte}};
constexpr OptionField kFakeQuant[] = {
    {"min", 0, kFloat},
    {"max", 1, kFloat},
    {"num_bits", 2, kInt},
    {"narrow_range", 3, kBool},
};
constexpr OptionField kPack[] = {{"values_count", 0, kInt}, {"axis", 1, kInt}};
constexpr OptionField kOneHot[] = {{"axis", 0, kInt}};
constexpr OptionField kUnpack[] = {{"num", 0, kInt}, {"axis", 1, kInt}};
constexpr OptionField kBidirectionalLstm[] = {
    {"fused_activation_function", 0, kByte},
    {"cell_clip", 1, kFloat},
    {"proj_clip", 2, kFloat},
    {"merge_outputs", 3, kBool},
    {"time_major", 4, kBool, 1},
    {"asymmetric_quantize_inputs", 5, kBool},
};
constexpr OptionField kBidirectionalRnn[] = {
    {"time_major", 0, kBool},
    {"fused_activation_function", 1, kByte},
    {"merge_outputs", 2, kBool},
    {"asymmetric_quantize_inputs", 3, kBool},
};
constexpr OptionField kUnidirectionalLstm[] = {
    {"fused_activation_function", 0, kByte},
    {"cell_clip", 1, kFloat},
    {"proj_clip", 2, kFloat},
    {"time_major", 3, kBool},
    {"asymmetric_quantize_inputs", 4, kBool},
    {"diagonal_recurrent_tensors", 5, kBool},
};
constexpr OptionField kResizeNearest[] = {
    {"align_corners", 0, kBool},
    {"half_pixel_centers", 1, kBool},
};
constexpr OptionField kLeakyRelu[] = {{"alpha", 0, kFloat}};
constexpr OptionField kMirrorPad[] = {{"mode", 0, kByte}};
constexpr OptionField kUnique[] = {{"idx_out_type", 0, kByte, 2}};
constexpr OptionField kReverseSequence[] = {{"seq_dim", 0, kInt}, {"batch_dim", 1, kInt}};
constexpr OptionField kBatchMatMul[] = {
    {"adj_x", 0, kBool},
    {"adj_y", 1, kBool},
    {"asymmetric_quantize_inputs", 2, kBool},
};
constexpr OptionField kCumsum[] = {{"exclusive", 0, kBool}, {"reverse", 1, kBool}};
constexpr OptionField kConv3d[] = {
    {"padding", 0, kByte},
    {"stride_d", 1, kInt},
    {"stride_w", 2, kInt},
    {"stride_h", 3, kInt},
    {"fused_activation_function", 4, kByte},
    {"dilation_d_factor", 5, kInt, 1},
    {"dilation_w_factor", 6, kInt, 1},
    {"dilation_h_factor", 7, kInt, 1},
};
constexpr OptionField kHashtable[] = {
    {"table_id", 0, kInt},
    {"key_dtype", 1, kByte},
    {"value_dtype", 2, kByte},
};
constexpr OptionField kVarHandle[] = {{"container", 0, kText}, {"shared_name", 1, kText}};
constexpr OptionField kRandom[] = {{"seed", 0, kLong}, {"seed2", 1, kLong}};
constexpr OptionField kBucketize[] = {{"boundaries", 0, kFloats}};
constexpr OptionField kGelu[] = {{"approximate", 0, kBool}};

// By kind.
constexpr OptionTable kTables[] = {
    {1, kConv2d},
    {2, kDepthwiseConv2d},
    {3, kConcatEmbeddings},
    {4, kLshProjection},
    {5, kPool2d},
    {6, kSvdf},
    {7, kRnn},
    {8, kFullyConnected},
    {9, kSoftmax},
    {10, kConcatenation},
    {11, kAddOrSub},
    {12, kActivation},
    {13, kLocalResponse},
    {14, kLstm},
    {15, kResizeBilinear},
    {17, kReshape},
    {18, kSkipGram},
    {19, kBlockSize},
    {20, kCombiner},
    {21, kActivation},
    {23, kGather},
    {27, kReducer},
    {28, kAddOrSub},
    {29, kActivation},
    {30, kSqueeze},
    {31, kSequenceRnn},
    {32, kStridedSlice},
    {35, kNumSplits},
    {37, kCast},
    {40, kOutputType},
    {49, kTransposeConv},
    {50, kSparseToDense},
    {55, kShape},
    {57, kOutputType},
    {58, kFakeQuant},
    {59, kPack},
    {61, kOneHot},
    {64, kUnpack},
    {69, kBidirectionalLstm},
    {70, kBidirectionalRnn},
    {71, kUnidirectionalLstm},
    {74, kResizeNearest},
    {75, kLeakyRelu},
    {77, kMirrorPad},
    {79, kNumSplits},
    {80, kUnique},
    {87, kReverseSequence},
    {94, kBlockSize},
    {101, kBatchMatMul},
    {102, kCumsum},
    {106, kConv3d},
    {107, kHashtable},
    {111, kVarHandle},
    {114, kRandom},
    {115, kBucketize},
    {116, kGelu},
};

using KindOfType = std::pair<OpKind, std::uint8_t>;

// By kind. Operators that are not here carry no options, or options that are subgraphs.
constexpr KindOfType kKinds[] = {
    {OpKind::kAbs, 78},
    {OpKind::kAdd, 11},
    {OpKind::kAddN, 82},
    {OpKind::kArgMax, 40},
    {OpKind::kArgMin, 57},
    {OpKind::kAssignVariable, 113},
    {OpKind::kAtan2, 122},
    {OpKind::kAveragePool2d, 5},
    {OpKind::kBatchMatmul, 101},
    {OpKind::kBatchToSpaceNd, 24},
    {OpKind::kBidirectionalSequenceLstm, 69},
    {OpKind::kBidirectionalSequenceRnn, 70},
    {OpKind::kBitcast, 124},
    {OpKind::kBitwiseXor, 125},
    {OpKind::kBroadcastTo, 104},
    {OpKind::kBucketize, 115},
    {OpKind::kCast, 37},
    {OpKind::kConcatenation, 10},
    {OpKind::kConcatEmbeddings, 3},
    {OpKind::kConv2d, 1},
    {OpKind::kConv3d, 106},
    {OpKind::kConv3dTranspose, 106},
    {OpKind::kCos, 84},
    {OpKind::kCumsum, 102},
    {OpKind::kDensify, 99},
    {OpKind::kDepthwiseConv2d, 2},
    {OpKind::kDepthToSpace, 94},
    {OpKind::kDequantize, 38},
    {OpKind::kDiv, 29},
    {OpKind::kDynamicUpdateSlice, 117},
    {OpKind::kEmbeddingLookupSparse, 20},
    {OpKind::kEqual, 53},
    {OpKind::kExp, 33},
    {OpKind::kExpandDims, 52},
    {OpKind::kFakeQuant, 58},
    {OpKind::kFill, 68},
    {OpKind::kFloorDiv, 65},
    {OpKind::kFloorMod, 72},
    {OpKind::kFullyConnected, 8},
    {OpKind::kGather, 23},
    {OpKind::kGatherNd, 83},
    {OpKind::kGelu, 116},
    {OpKind::kGreater, 44},
    {OpKind::kGreaterEqual, 45},
    {OpKind::kHardSwish, 91},
    {OpKind::kHashtable, 107},
    {OpKind::kHashtableFind, 108},
    {OpKind::kHashtableImport, 109},
    {OpKind::kHashtableSize, 110},
    {OpKind::kL2Normalization, 12},
    {OpKind::kL2Pool2d, 5},
    {OpKind::kLeakyRelu, 75},
    {OpKind::kLess, 41},
    {OpKind::kLessEqual, 46},
    {OpKind::kLocalResponseNormalization, 13},
    {OpKind::kLogicalAnd, 62},
    {OpKind::kLogicalNot, 63},
    {OpKind::kLogicalOr, 60},
    {OpKind::kLogSoftmax, 36},
    {OpKind::kLshProjection, 4},
    {OpKind::kLstm, 14},
    {OpKind::kMatrixDiag, 88},
    {OpKind::kMatrixSetDiag, 90},
    {OpKind::kMaximum, 39},
    {OpKind::kMaxPool2d, 5},
    {OpKind::kMean, 27},
    {OpKind::kMinimum, 39},
    {OpKind::kMirrorPad, 77},
    {OpKind::kMul, 21},
    {OpKind::kMultinomial, 114},
    {OpKind::kNeg, 42},
    {OpKind::kNonMaxSuppressionV4, 95},
    {OpKind::kNonMaxSuppressionV5, 96},
    {OpKind::kNotEqual, 54},
    {OpKind::kOneHot, 61},
    {OpKind::kPack, 59},
    {OpKind::kPad, 22},
    {OpKind::kPadv2, 43},
    {OpKind::kPow, 56},
    {OpKind::kQuantize, 89},
    {OpKind::kRandomStandardNormal, 114},
    {OpKind::kRandomUniform, 114},
    {OpKind::kRange, 73},
    {OpKind::kRank, 86},
    {OpKind::kReadVariable, 112},
    {OpKind::kReduceAll, 27},
    {OpKind::kReduceAny, 27},
    {OpKind::kReduceMax, 27},
    {OpKind::kReduceMin, 27},
    {OpKind::kReduceProd, 27},
    {OpKind::kReshape, 17},
    {OpKind::kResizeBilinear, 15},
    {OpKind::kResizeNearestNeighbor, 74},
    {OpKind::kReverseSequence, 87},
    {OpKind::kReverseV2, 81},
    {OpKind::kRfft2d, 105},
    {OpKind::kRightShift, 126},
    {OpKind::kRnn, 7},
    {OpKind::kScatterNd, 97},
    {OpKind::kSegmentSum, 100},
    {OpKind::kSelect, 47},
    {OpKind::kSelectV2, 98},
    {OpKind::kShape, 55},
    {OpKind::kSign, 123},
    {OpKind::kSkipGram, 18},
    {OpKind::kSlice, 48},
    {OpKind::kSoftmax, 9},
    {OpKind::kSpaceToBatchNd, 25},
    {OpKind::kSpaceToDepth, 19},
    {OpKind::kSparseToDense, 50},
    {OpKind::kSplit, 35},
    {OpKind::kSplitV, 79},
    {OpKind::kSquare, 66},
    {OpKind::kSquaredDifference, 76},
    {OpKind::kSqueeze, 30},
    {OpKind::kStridedSlice, 32},
    {OpKind::kSub, 28},
    {OpKind::kSum, 27},
    {OpKind::kSvdf, 6},
    {OpKind::kTile, 51},
    {OpKind::kTopkV2, 34},
    {OpKind::kTranspose, 26},
    {OpKind::kTransposeConv, 49},
    {OpKind::kUnidirectionalSequenceLstm, 71},
    {OpKind::kUnidirectionalSequenceRnn, 31},
    {OpKind::kUnique, 80},
    {OpKind::kUnpack, 64},
    {OpKind::kUnsortedSegmentMax, 119},
    {OpKind::kUnsortedSegmentMin, 120},
    {OpKind::kUnsortedSegmentProd, 118},
    {OpKind::kUnsortedSegmentSum, 121},
    {OpKind::kVarHandle, 111},
    {OpKind::kWhere, 85},
    {OpKind::kZerosLike, 67},
};
static_assert(std::is_sorted(std::begin(kKinds), std::end(kKinds)));

// One table of options, its start verified.
struct OptionsView {
  const flatbuffers::Table& table;
  flatbuffers::Verifier& verifier;
};

template <typename T>
bool ReadNumber(const OptionsView& view, const OptionField& field, graph::Attribute* value) {
  if (!view.table.VerifyField<T>(view.verifier, OffsetOf(field), alignof(T))) return false;
  const T number = view.table.GetField<T>(OffsetOf(field), static_cast<T>(field.default_value));
  if constexpr (std::is_floating_point_v<T>) {
    *value = static_cast<double>(number);
  } else {
    *value = static_cast<std::int64_t>(number);
  }
  return true;
}

template <typename T, typename Wide>
bool ReadNumbers(const OptionsView& view, const OptionField& field, graph::Attribute* value) {
  using List = flatbuffers::Vector<T>;
  if (!view.table.VerifyOffset(view.verifier, OffsetOf(field))) return false;
  const auto* list = view.table.GetPointer<const List*>(OffsetOf(field));
  if (!view.verifier.VerifyVector(list)) return false;
  std::vector<Wide> numbers;
  for (std::uint32_t i = 0; i < SizeOf(list); ++i) numbers.push_back(list->Get(i));
  *value = std::move(numbers);
  return true;
}

bool ReadText(const OptionsView& view, const OptionField& field, graph::Attribute* value) {
  if (!view.table.VerifyOffset(view.verifier, OffsetOf(field))) return false;
  const auto* text = view.table.GetPointer<const flatbuffers::String*>(OffsetOf(field));
  if (!view.verifier.VerifyString(text)) return false;
  *value = TextOf(text);
  return true;
}

bool ReadField(const OptionsView& view, const OptionField& field, graph::Attribute* value) {
  switch (field.type) {
    case kByte:
      return ReadNumber<std::int8_t>(view, field, value);
    case kBool:
      return ReadNumber<std::uint8_t>(view, field, value);
    case kInt:
      return ReadNumber<std::int32_t>(view, field, value);
    case kLong:
      return ReadNumber<std::int64_t>(view, field, value);
    case kFloat:
      return ReadNumber<float>(view, field, value);
    case kInts:
      return ReadNumbers<std::int32_t, std::int64_t>(view, field, value);
    case kFloats:
      return ReadNumbers<float, double>(view, field, value);
    case kText:
      return ReadText(view, field, value);
  }
  return false;
}

}  // namespace

const OptionTable* OptionTableOf(std::uint8_t kind) {
  const auto* found = std::lower_bound(
      std::begin(kTables), std::end(kTables), kind,
      [](const OptionTable& table, std::uint8_t wanted) { return table.kind < wanted; });
  return found != std::end(kTables) && found->kind == kind ? found : nullptr;
}

std::uint8_t OptionsKindOf(OpKind op) {
  const auto* found =
      std::lower_bound(std::begin(kKinds), std::end(kKinds), op,
                       [](const KindOfType& entry, OpKind kind) { return entry.first < kind; });
  return found != std::end(kKinds) && found->first == op ? found->second : 0;
}

Result<std::map<std::string, graph::Attribute>> ReadOptions(std::span<const std::byte> file,
                                                            const schema::Operator& source) {
  std::map<std::string, graph::Attribute> attributes;
  const auto* table = reinterpret_cast<const flatbuffers::Table*>(source.builtin_options());
  const OptionTable* known =
      OptionTableOf(static_cast<std::uint8_t>(source.builtin_options_type()));
  if (table == nullptr || known == nullptr) return attributes;
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(file.data()),
                                 FlatBufferBytes(file));
  bool good = table->VerifyTableStart(verifier);
  for (const OptionField& field : known->fields) {
    graph::Attribute value;
    good = good && ReadField({*table, verifier}, field, &value);
    if (!good) {
      return Fail(BadInput("its option '" + std::string(field.name) + "' is damaged"));
    }
    attributes.emplace(field.name, std::move(value));
  }
  return attributes;
}

}  // namespace neap::formats::tflite
