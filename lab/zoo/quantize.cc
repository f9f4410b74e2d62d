// SPDX-License-Identifier: Apache-2.0
#include "lab/zoo/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lab/zoo/tflite_constants.h"
#include "neap/base/check.h"

namespace neap::zoo {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Quantization;
using graph::Shape;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;

constexpr int kLowest = -128;
constexpr int kHighest = 127;
constexpr double kSteps = kHighest - kLowest;
constexpr double kMargin = 1.0 / 8;
constexpr float kProbabilityScale = 1.0F / 256;

// How int8 kernels treat an operator.
enum class Kind : std::uint8_t {
  kWeighted,     // weights at 1, a bias at 2
  kTransposed,   // weights at 1, the input at 2, a bias at 3
  kConnected,    // as kWeighted, with one scale for all weights
  kComputes,     // parameters of its own
  kProbability,  // the parameters of a probability
  kMoves,        // inputs and output share parameters: nothing is computed, or only cut off
};

struct Rule {
  std::string_view type;
  Kind kind;
};
constexpr Rule kRules[] = {
    {"ADD", Kind::kComputes},
    {"AVERAGE_POOL_2D", Kind::kMoves},
    {"CONCATENATION", Kind::kMoves},
    {"CONV_2D", Kind::kWeighted},
    {"DEPTHWISE_CONV_2D", Kind::kWeighted},
    {"FULLY_CONNECTED", Kind::kConnected},
    {"HARD_SWISH", Kind::kComputes},
    {"LOGISTIC", Kind::kProbability},
    {"MAX_POOL_2D", Kind::kMoves},
    {"MEAN", Kind::kComputes},
    {"MUL", Kind::kComputes},
    {"PAD", Kind::kMoves},
    {"PADV2", Kind::kMoves},
    {"RELU", Kind::kMoves},
    {"RELU6", Kind::kMoves},
    {"RESHAPE", Kind::kMoves},
    {"SLICE", Kind::kMoves},
    {"SOFTMAX", Kind::kProbability},
    {"SPLIT", Kind::kMoves},
    {"TRANSPOSE", Kind::kMoves},
    {"TRANSPOSE_CONV", Kind::kTransposed},
};

std::optional<Kind> KindOf(const Op& op) {
  for (const Rule& rule : kRules) {
    if (rule.type == op.type) return rule.kind;
  }
  return std::nullopt;
}

// A value on a grid of `scale`, halves away from zero.
template <typename T>
T Rounded(double value, double scale, T low, T high) {
  const double steps = std::round(value / scale);
  return static_cast<T>(std::clamp(steps, static_cast<double>(low), static_cast<double>(high)));
}

// The smallest scale of few digits that is at least `scale`: the product of two such scales is
// exact in a float, so that it does not matter in what precision a runtime multiplies them.
float RoundedUp(double scale) {
  constexpr int kDigits = 12;
  int exponent = 0;
  const double fraction = std::frexp(scale, &exponent);
  return static_cast<float>(
      std::ldexp(std::ceil(std::ldexp(fraction, kDigits)), exponent - kDigits));
}

// The parameters under which [low, high], widened to contain zero, fills the 256 values, and zero
// is one of them.
Quantization Asymmetric(const ValueRange& range) {
  const double low = std::min(0.0F, range.low);
  const double high = std::max(0.0F, range.high);
  if (low == high) return {{1.0F}, {0}, 0};
  const float scale = RoundedUp((high - low) / kSteps);
  const double zero = std::round(kLowest - low / scale);
  return {{scale}, {static_cast<std::int64_t>(std::clamp<double>(zero, kLowest, kHighest))}, 0};
}

class Quantizer {
 public:
  Quantizer(const graph::Graph& graph, IdVector<TensorId, ValueRange> ranges)
      : graph_(graph),
        main_(graph_.subgraphs[SubgraphId(0)]),
        ranges_(std::move(ranges)),
        group_(main_.tensors.size()) {}

  Result<graph::Graph> Run();

 private:
  bool IsActivation(TensorId id) const {
    return !main_.tensors[id].constant && main_.tensors[id].type == ElementType::kFloat32;
  }
  TensorId GroupOf(TensorId id);
  void Join(TensorId a, TensorId b) { group_[GroupOf(a)] = GroupOf(b); }
  Status FindGroups();
  void WidenRanges();
  Status ChooseParameters();
  void QuantizeConstants(const Op& op);
  void QuantizeWeights(const Op& op, std::size_t input, std::size_t weights, bool one_scale);
  void QuantizeBias(TensorId bias, double input_scale, const std::vector<float>& scales);
  void QuantizeOperand(TensorId id);
  void Replace(TensorId id, ElementType type, Quantization quantization, graph::ConstantData data);

  graph::Graph graph_;
  Subgraph& main_;
  IdVector<TensorId, ValueRange> ranges_;
  IdVector<TensorId, TensorId> group_;  // a forest: tensors that share parameters
};

TensorId Quantizer::GroupOf(TensorId id) {
  while (group_[id] != id) {
    group_[id] = group_[group_[id]];
    id = group_[id];
  }
  return id;
}

Status Quantizer::FindGroups() {
  for (const TensorId id : main_.tensors.Ids()) group_[id] = id;
  for (const graph::OpId id : main_.ops.Ids()) {
    const Op& op = main_.ops[id];
    const auto kind = KindOf(op);
    if (!kind) {
      Diagnostic unknown = UsageError("has no rule for int8");
      unknown.op = graph::Describe(id, op);
      return Fail(std::move(unknown));
    }
    if (*kind != Kind::kMoves) continue;
    for (const TensorId input : op.inputs) {
      if (IsActivation(input)) Join(input, op.outputs[0]);
    }
  }
  return {};
}

// Only for computed tensors: moved ones stay within their range, and inputs are given.
void Quantizer::WidenRanges() {
  constexpr std::int64_t kFusedRelu6 = 3;
  for (const Op& op : main_.ops) {
    if (KindOf(op) == Kind::kMoves) continue;
    ValueRange& range = ranges_[op.outputs[0]];
    range.low = static_cast<float>(range.low * (1 + kMargin));
    range.high = static_cast<float>(range.high * (1 + kMargin));
    const auto fused = op.attributes.find("fused_activation_function");
    const bool ends_at_6 =
        fused != op.attributes.end() && std::get<std::int64_t>(fused->second) == kFusedRelu6;
    if (ends_at_6) range.high = std::min(range.high, 6.0F);
  }
}

Status Quantizer::ChooseParameters() {
  IdVector<TensorId, ValueRange> joint(main_.tensors.size());
  IdVector<TensorId, char> ignored(main_.tensors.size(), 0);
  // Its padding value is below all values.
  for (const Op& op : main_.ops) {
    if (op.type == "PADV2") ignored[op.outputs[0]] = 1;
  }
  for (const TensorId id : main_.tensors.Ids()) {
    if (!IsActivation(id) || ignored[id] != 0) continue;
    ValueRange& range = joint[GroupOf(id)];
    range.low = std::min(range.low, ranges_[id].low);
    range.high = std::max(range.high, ranges_[id].high);
  }
  for (const TensorId id : main_.tensors.Ids()) {
    if (IsActivation(id)) main_.tensors[id].quantization = Asymmetric(joint[GroupOf(id)]);
  }
  for (const Op& op : main_.ops) {
    if (KindOf(op) != Kind::kProbability) continue;
    const TensorId output = op.outputs[0];
    for (const TensorId id : main_.tensors.Ids()) {
      if (id == output || !IsActivation(id) || GroupOf(id) != GroupOf(output)) continue;
      Diagnostic shared = UsageError("its probabilities would share parameters with " +
                                     graph::Describe(id, main_.tensors[id]));
      shared.op = "'" + op.type + "' (" + op.name + ")";
      return Fail(std::move(shared));
    }
    main_.tensors[output].quantization = Quantization{{kProbabilityScale}, {kLowest}, 0};
  }
  return {};
}

void Quantizer::Replace(TensorId id, ElementType type, Quantization quantization,
                        graph::ConstantData data) {
  Tensor& tensor = main_.tensors[id];
  tensor.type = type;
  tensor.quantization = std::move(quantization);
  tensor.data = std::move(data);
}

void Quantizer::QuantizeBias(TensorId bias, double input_scale, const std::vector<float>& scales) {
  const std::vector<float> values = ValuesOf<float>(main_.tensors[bias]);
  Quantization quantization{{}, std::vector<std::int64_t>(scales.size(), 0), 0};
  for (const float scale : scales) {
    quantization.scales.push_back(static_cast<float>(input_scale * scale));
  }
  std::vector<std::int32_t> quantized;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float scale = quantization.scales[scales.size() == 1 ? 0 : i];
    quantized.push_back(Rounded(values[i], scale, std::numeric_limits<std::int32_t>::min(),
                                std::numeric_limits<std::int32_t>::max()));
  }
  Replace(bias, ElementType::kInt32, std::move(quantization), DataOf(std::move(quantized)));
}

// Channels are the first dimension, of depthwise convolutions the last one.
void Quantizer::QuantizeWeights(const Op& op, std::size_t input, std::size_t weights,
                                bool one_scale) {
  const TensorId id = op.inputs[weights];
  const Shape shape = *main_.tensors[id].shape;
  const std::vector<float> values = ValuesOf<float>(main_.tensors[id]);
  const bool last = op.type == "DEPTHWISE_CONV_2D";
  const auto channels = static_cast<std::size_t>(last ? shape.back() : shape.front());
  const std::size_t run = last ? 1 : values.size() / channels;
  const auto channel_of = [&](std::size_t i) { return one_scale ? 0 : i / run % channels; };
  std::vector<float> scales(one_scale ? 1 : channels, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& most = scales[channel_of(i)];
    most = std::max(most, std::fabs(values[i]));
  }
  for (float& scale : scales) scale = scale == 0 ? 1 : RoundedUp(scale / kHighest);
  std::vector<std::int8_t> quantized;
  quantized.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    quantized.push_back(
        Rounded<std::int8_t>(values[i], scales[channel_of(i)], -kHighest, kHighest));
  }
  const double input_scale = main_.tensors[op.inputs[input]].quantization->scales[0];
  const std::size_t bias = std::max(input, weights) + 1;
  if (bias < op.inputs.size()) QuantizeBias(op.inputs[bias], input_scale, scales);
  Quantization quantization{scales, std::vector<std::int64_t>(scales.size(), 0),
                            last && !one_scale ? 3 : 0};
  Replace(id, ElementType::kInt8, std::move(quantization), DataOf(std::move(quantized)));
}

// A constant operand of a sum or product. Of the scales that use at least half of the values, the
// first that hits all numbers exactly, if there is one: factors are often simple fractions.
void Quantizer::QuantizeOperand(TensorId id) {
  const std::vector<float> values = ValuesOf<float>(main_.tensors[id]);
  double most = 0;
  for (const float value : values) most = std::max<double>(most, std::fabs(value));
  const auto exact = [&](double scale) {
    return std::all_of(values.begin(), values.end(), [&](float value) {
      const double steps = value / scale;
      return std::fabs(steps - std::round(steps)) < 1e-4;
    });
  };
  float scale = most == 0 ? 1 : static_cast<float>(most / kHighest);
  for (int steps = kHighest; most != 0 && steps > kHighest / 2; --steps) {
    const auto candidate = static_cast<float>(most / steps);
    if (!exact(candidate)) continue;
    scale = candidate;
    break;
  }
  std::vector<std::int8_t> quantized;
  quantized.reserve(values.size());
  for (const float value : values) {
    quantized.push_back(Rounded<std::int8_t>(value, scale, -kHighest, kHighest));
  }
  Replace(id, ElementType::kInt8, {{scale}, {0}, 0}, DataOf(std::move(quantized)));
}

void Quantizer::QuantizeConstants(const Op& op) {
  switch (*KindOf(op)) {
    case Kind::kWeighted:
      return QuantizeWeights(op, 0, 1, false);
    case Kind::kTransposed:
      return QuantizeWeights(op, 2, 1, false);
    case Kind::kConnected:
      return QuantizeWeights(op, 0, 1, true);
    default:
      break;
  }
  for (const TensorId id : op.inputs) {
    const Tensor& tensor = main_.tensors[id];
    if (!tensor.constant || tensor.type != ElementType::kFloat32) continue;
    if (op.type == "PADV2") {
      Replace(id, ElementType::kInt8, *main_.tensors[op.outputs[0]].quantization,
              DataOf(std::vector<std::int8_t>{kLowest}));
    } else {
      QuantizeOperand(id);
    }
  }
}

Result<graph::Graph> Quantizer::Run() {
  NEAP_CHECK_OK(FindGroups());
  WidenRanges();
  NEAP_CHECK_OK(ChooseParameters());
  // Each constant of these graphs is read once.
  for (const Op& op : main_.ops) QuantizeConstants(op);
  for (Tensor& tensor : main_.tensors) {
    if (!tensor.constant && tensor.type == ElementType::kFloat32) tensor.type = ElementType::kInt8;
  }
  return std::move(graph_);
}

}  // namespace

Result<graph::Graph> QuantizeToInt8(const graph::Graph& graph, const CalibrationOptions& options) {
  NEAP_TRY(auto ranges, Calibrate(graph, options));
  return Quantizer(graph, std::move(ranges)).Run();
}

}  // namespace neap::zoo
