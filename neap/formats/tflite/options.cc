// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/options.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace neap::formats::tflite {
namespace {

using enum OptionType;

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

using KindOfType = std::pair<std::string_view, std::uint8_t>;

// By name. Operators that are not here carry no options, or options that are subgraphs.
constexpr KindOfType kKinds[] = {
    {"ABS", 78},
    {"ADD", 11},
    {"ADD_N", 82},
    {"ARG_MAX", 40},
    {"ARG_MIN", 57},
    {"ASSIGN_VARIABLE", 113},
    {"ATAN2", 122},
    {"AVERAGE_POOL_2D", 5},
    {"BATCH_MATMUL", 101},
    {"BATCH_TO_SPACE_ND", 24},
    {"BIDIRECTIONAL_SEQUENCE_LSTM", 69},
    {"BIDIRECTIONAL_SEQUENCE_RNN", 70},
    {"BITCAST", 124},
    {"BITWISE_XOR", 125},
    {"BROADCAST_TO", 104},
    {"BUCKETIZE", 115},
    {"CAST", 37},
    {"CONCATENATION", 10},
    {"CONCAT_EMBEDDINGS", 3},
    {"CONV_2D", 1},
    {"CONV_3D", 106},
    {"CONV_3D_TRANSPOSE", 106},
    {"COS", 84},
    {"CUMSUM", 102},
    {"DENSIFY", 99},
    {"DEPTHWISE_CONV_2D", 2},
    {"DEPTH_TO_SPACE", 94},
    {"DEQUANTIZE", 38},
    {"DIV", 29},
    {"DYNAMIC_UPDATE_SLICE", 117},
    {"EMBEDDING_LOOKUP_SPARSE", 20},
    {"EQUAL", 53},
    {"EXP", 33},
    {"EXPAND_DIMS", 52},
    {"FAKE_QUANT", 58},
    {"FILL", 68},
    {"FLOOR_DIV", 65},
    {"FLOOR_MOD", 72},
    {"FULLY_CONNECTED", 8},
    {"GATHER", 23},
    {"GATHER_ND", 83},
    {"GELU", 116},
    {"GREATER", 44},
    {"GREATER_EQUAL", 45},
    {"HARD_SWISH", 91},
    {"HASHTABLE", 107},
    {"HASHTABLE_FIND", 108},
    {"HASHTABLE_IMPORT", 109},
    {"HASHTABLE_SIZE", 110},
    {"L2_NORMALIZATION", 12},
    {"L2_POOL_2D", 5},
    {"LEAKY_RELU", 75},
    {"LESS", 41},
    {"LESS_EQUAL", 46},
    {"LOCAL_RESPONSE_NORMALIZATION", 13},
    {"LOGICAL_AND", 62},
    {"LOGICAL_NOT", 63},
    {"LOGICAL_OR", 60},
    {"LOG_SOFTMAX", 36},
    {"LSH_PROJECTION", 4},
    {"LSTM", 14},
    {"MATRIX_DIAG", 88},
    {"MATRIX_SET_DIAG", 90},
    {"MAXIMUM", 39},
    {"MAX_POOL_2D", 5},
    {"MEAN", 27},
    {"MINIMUM", 39},
    {"MIRROR_PAD", 77},
    {"MUL", 21},
    {"MULTINOMIAL", 114},
    {"NEG", 42},
    {"NON_MAX_SUPPRESSION_V4", 95},
    {"NON_MAX_SUPPRESSION_V5", 96},
    {"NOT_EQUAL", 54},
    {"ONE_HOT", 61},
    {"PACK", 59},
    {"PAD", 22},
    {"PADV2", 43},
    {"POW", 56},
    {"QUANTIZE", 89},
    {"RANDOM_STANDARD_NORMAL", 114},
    {"RANDOM_UNIFORM", 114},
    {"RANGE", 73},
    {"RANK", 86},
    {"READ_VARIABLE", 112},
    {"REDUCE_ALL", 27},
    {"REDUCE_ANY", 27},
    {"REDUCE_MAX", 27},
    {"REDUCE_MIN", 27},
    {"REDUCE_PROD", 27},
    {"RESHAPE", 17},
    {"RESIZE_BILINEAR", 15},
    {"RESIZE_NEAREST_NEIGHBOR", 74},
    {"REVERSE_SEQUENCE", 87},
    {"REVERSE_V2", 81},
    {"RFFT2D", 105},
    {"RIGHT_SHIFT", 126},
    {"RNN", 7},
    {"SCATTER_ND", 97},
    {"SEGMENT_SUM", 100},
    {"SELECT", 47},
    {"SELECT_V2", 98},
    {"SHAPE", 55},
    {"SIGN", 123},
    {"SKIP_GRAM", 18},
    {"SLICE", 48},
    {"SOFTMAX", 9},
    {"SPACE_TO_BATCH_ND", 25},
    {"SPACE_TO_DEPTH", 19},
    {"SPARSE_TO_DENSE", 50},
    {"SPLIT", 35},
    {"SPLIT_V", 79},
    {"SQUARE", 66},
    {"SQUARED_DIFFERENCE", 76},
    {"SQUEEZE", 30},
    {"STRIDED_SLICE", 32},
    {"SUB", 28},
    {"SUM", 27},
    {"SVDF", 6},
    {"TILE", 51},
    {"TOPK_V2", 34},
    {"TRANSPOSE", 26},
    {"TRANSPOSE_CONV", 49},
    {"UNIDIRECTIONAL_SEQUENCE_LSTM", 71},
    {"UNIDIRECTIONAL_SEQUENCE_RNN", 31},
    {"UNIQUE", 80},
    {"UNPACK", 64},
    {"UNSORTED_SEGMENT_MAX", 119},
    {"UNSORTED_SEGMENT_MIN", 120},
    {"UNSORTED_SEGMENT_PROD", 118},
    {"UNSORTED_SEGMENT_SUM", 121},
    {"VAR_HANDLE", 111},
    {"WHERE", 85},
    {"ZEROS_LIKE", 67},
};

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

std::uint8_t OptionsKindOf(std::string_view op_type) {
  const auto* found =
      std::lower_bound(std::begin(kKinds), std::end(kKinds), op_type,
                       [](const KindOfType& entry, std::string_view t) { return entry.first < t; });
  return found != std::end(kKinds) && found->first == op_type ? found->second : 0;
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
