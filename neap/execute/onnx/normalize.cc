// SPDX-License-Identifier: Apache-2.0
//
// Softmax and LogSoftmax, normalisations.
#include <algorithm>
#include <cmath>
#include <utility>

#include "neap/execute/families.h"
#include "neap/execute/loops/strided.h"
#include "neap/execute/onnx/common.h"

namespace neap::execute::onnx {
namespace {

using enum graph::ElementType;

Status RequireSame(const Node& node) {
  NEAP_CHECK_OK(RequireType(node.Out(), node.In(0).type));
  return RequireShape(node.Out(), node.In(0).shape);
}

// Until version 12 all dimensions from the axis on are one row, later the axis alone.
template <bool kLog>
Result<RunKernel> SoftmaxKernel(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireSame(node));
  const graph::Shape& shape = node.In(0).shape;
  const bool flattens = VersionOf(*node.op) < 13;
  NEAP_TRY(const std::size_t axis,
           NormalAxis(IntOr(*node.op, "axis", flattens ? 1 : -1), shape.size()));
  const std::int64_t outer = Elements(shape, 0, axis);
  const std::int64_t length = flattens ? Elements(shape, axis, shape.size()) : shape[axis];
  const std::int64_t inner = flattens ? 1 : Elements(shape, axis + 1, shape.size());
  return ForType(FloatTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      for (std::int64_t row = 0; length > 0 && row < outer * inner; ++row) {
        const std::int64_t begin = row / inner * inner * length + row % inner;
        const auto* const in = Input<T>(arguments, 0) + begin;
        auto* const out = Output<T>(arguments) + begin;
        T most = in[0].value;
        for (std::int64_t i = 1; i < length; ++i) most = std::max(most, T{in[i * inner].value});
        T sum = 0;
        for (std::int64_t i = 0; i < length; ++i) sum += std::exp(in[i * inner].value - most);
        const T shift = most + std::log(sum);
        for (std::int64_t i = 0; i < length; ++i) {
          const T value = in[i * inner].value;
          out[i * inner].value = kLog ? value - shift : std::exp(value - most) / sum;
        }
      }
      return {};
    });
  });
}

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, one of each a channel.
Result<RunKernel> PrepareBatchNormalization(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 5, 5, node.outputs.size()));
  NEAP_CHECK_OK(RequireSame(node));
  const graph::Shape& shape = node.In(0).shape;
  NEAP_CHECK_OK(Require(
      shape.size() >= 2 && IntOr(*node.op, "training_mode", 0) == 0 && node.outputs.size() == 1,
      "has no kernel for training"));
  const std::int64_t channels = shape[1];
  const std::int64_t inner = Elements(shape, 2, shape.size());
  for (std::size_t i = 1; i < 5; ++i) {
    NEAP_CHECK_OK(RequireType(node.In(i), node.In(0).type));
    NEAP_CHECK_OK(Require(node.In(i).elements == channels, "expected one number for each channel"));
  }
  const double epsilon = RealOr(*node.op, "epsilon", 1e-5);
  const std::int64_t rows = shape[0] * channels;
  return ForType(FloatTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      const auto* in = Input<T>(arguments, 0);
      auto* out = Output<T>(arguments);
      for (std::int64_t row = 0; row < rows; ++row, in += inner, out += inner) {
        const std::int64_t c = row % channels;
        const T factor = Input<T>(arguments, 1)[c].value /
                         std::sqrt(Input<T>(arguments, 4)[c].value + static_cast<T>(epsilon));
        const T mean = Input<T>(arguments, 3)[c].value;
        const T bias = Input<T>(arguments, 2)[c].value;
        for (std::int64_t i = 0; i < inner; ++i) {
          out[i].value = (in[i].value - mean) * factor + bias;
        }
      }
      return {};
    });
  });
}

template <typename T>
struct Moments {
  T mean = 0;
  T inverse = 0;  // 1 / sqrt(variance + epsilon)
};
template <typename T>
Moments<T> MomentsOf(const Cell<T>* in, std::int64_t count, double epsilon) {
  Moments<T> moments;
  T sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += in[i].value;
  moments.mean = sum / static_cast<T>(count);
  T squares = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    squares += (in[i].value - moments.mean) * (in[i].value - moments.mean);
  }
  moments.inverse = 1 / std::sqrt(squares / static_cast<T>(count) + static_cast<T>(epsilon));
  return moments;
}

Result<RunKernel> PrepareInstanceNormalization(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 3, 3));
  NEAP_CHECK_OK(RequireSame(node));
  const graph::Shape& shape = node.In(0).shape;
  NEAP_CHECK_OK(Require(shape.size() >= 3, "expected a batch, channels and space"));
  for (std::size_t i = 1; i < 3; ++i) {
    NEAP_CHECK_OK(RequireType(node.In(i), node.In(0).type));
    NEAP_CHECK_OK(Require(node.In(i).elements == shape[1], "expected one number for each channel"));
  }
  const std::int64_t channels = shape[1];
  const std::int64_t rows = shape[0] * channels;
  const std::int64_t inner = Elements(shape, 2, shape.size());
  const double epsilon = RealOr(*node.op, "epsilon", 1e-5);
  return ForType(FloatTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      for (std::int64_t row = 0; row < rows; ++row) {
        const auto* const in = Input<T>(arguments, 0) + row * inner;
        const Moments<T> m = MomentsOf(in, inner, epsilon);
        const T scale = Input<T>(arguments, 1)[row % channels].value;
        const T bias = Input<T>(arguments, 2)[row % channels].value;
        for (std::int64_t i = 0; i < inner; ++i) {
          Output<T>(arguments)[row * inner + i].value =
              (in[i].value - m.mean) * m.inverse * scale + bias;
        }
      }
      return {};
    });
  });
}

// Over all dimensions from the axis on; the optional outputs are mean and inverse deviation.
Result<RunKernel> PrepareLayerNormalization(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 3, node.outputs.size()));
  NEAP_CHECK_OK(Require(!node.outputs.empty() && node.outputs.size() <= 3, "has no outputs"));
  NEAP_CHECK_OK(RequireSame(node));
  const graph::Shape& shape = node.In(0).shape;
  NEAP_TRY(const std::size_t axis, NormalAxis(IntOr(*node.op, "axis", -1), shape.size()));
  const std::int64_t rows = Elements(shape, 0, axis);
  const std::int64_t length = Elements(shape, axis, shape.size());
  const graph::Shape inner(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end());
  NEAP_CHECK_OK(RequireType(node.In(1), node.In(0).type));
  const bool has_bias = node.Has(2);
  for (std::size_t i = 1; i < (has_bias ? 3U : 2U); ++i) {
    NEAP_CHECK_OK(Require(node.In(i).elements == length && node.In(i).type == node.In(0).type,
                          "expected one number for each element of a row"));
  }
  const std::size_t outputs = node.outputs.size();
  for (std::size_t i = 1; i < outputs; ++i) {
    NEAP_CHECK_OK(Require(node.Out(i).elements == rows && node.Out(i).type == node.In(0).type,
                          "expected one mean for each row"));
  }
  const double epsilon = RealOr(*node.op, "epsilon", 1e-5);
  return ForType(FloatTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      for (std::int64_t row = 0; length > 0 && row < rows; ++row) {
        const auto* const in = Input<T>(arguments, 0) + row * length;
        const Moments<T> m = MomentsOf(in, length, epsilon);
        for (std::int64_t i = 0; i < length; ++i) {
          const T bias = has_bias ? Input<T>(arguments, 2)[i].value : T{0};
          Output<T>(arguments)[row * length + i].value =
              (in[i].value - m.mean) * m.inverse * Input<T>(arguments, 1)[i].value + bias;
        }
        if (outputs > 1) Output<T>(arguments, 1)[row].value = m.mean;
        if (outputs > 2) Output<T>(arguments, 2)[row].value = m.inverse;
      }
      return {};
    });
  });
}

// x / sqrt(mean of squares + epsilon) * scale, over the last dimension.
Result<RunKernel> PrepareRmsNormalization(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 2, 2));
  NEAP_CHECK_OK(RequireSame(node));
  NEAP_CHECK_OK(Require(node.In(0).Rank() >= 1 && node.In(0).shape.back() > 0 &&
                            node.In(1).elements == node.In(0).shape.back() &&
                            node.In(1).type == node.In(0).type,
                        "expected one scale for each element of a row"));
  const std::int64_t length = node.In(0).shape.back();
  const std::int64_t rows = node.In(0).elements / length;
  const double epsilon = RealOr(*node.op, "eps", RealOr(*node.op, "epsilon", 1e-5));
  return ForType(FloatTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      for (std::int64_t row = 0; row < rows; ++row) {
        const auto* const in = Input<T>(arguments, 0) + row * length;
        T squares = 0;
        for (std::int64_t i = 0; i < length; ++i) squares += in[i].value * in[i].value;
        const T factor = 1 / std::sqrt(squares / static_cast<T>(length) + static_cast<T>(epsilon));
        for (std::int64_t i = 0; i < length; ++i) {
          Output<T>(arguments)[row * length + i].value =
              in[i].value * factor * Input<T>(arguments, 1)[i].value;
        }
      }
      return {};
    });
  });
}

// Across channels.
Result<RunKernel> PrepareLrn(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireSame(node));
  const graph::Shape& shape = node.In(0).shape;
  const std::int64_t size = IntOr(*node.op, "size", 0);
  NEAP_CHECK_OK(Require(shape.size() >= 2 && size >= 1, "expected channels and a size"));
  const double alpha = RealOr(*node.op, "alpha", 0.0001) / static_cast<double>(size);
  const double beta = RealOr(*node.op, "beta", 0.75);
  const double bias = RealOr(*node.op, "bias", 1);
  const std::int64_t batches = shape[0];
  const std::int64_t channels = shape[1];
  const std::int64_t inner = Elements(shape, 2, shape.size());
  return ForType(FloatTypes(), node.In(0).type, node, [&](auto tag) -> Result<RunKernel> {
    using T = typename decltype(tag)::Type;
    return RunKernel([=](const Arguments& arguments) -> Status {
      for (std::int64_t at = 0; at < batches * channels * inner; ++at) {
        const std::int64_t c = at / inner % channels;
        const std::int64_t first = std::max<std::int64_t>(0, c - (size - 1) / 2);
        const std::int64_t last = std::min(channels - 1, c + size / 2);
        T squares = 0;
        for (std::int64_t other = first; other <= last; ++other) {
          const T value = Input<T>(arguments, 0)[at + (other - c) * inner].value;
          squares += value * value;
        }
        const T base = static_cast<T>(bias) + static_cast<T>(alpha) * squares;
        Output<T>(arguments)[at].value =
            Input<T>(arguments, 0)[at].value / std::pow(base, static_cast<T>(beta));
      }
      return {};
    });
  });
}

constexpr KernelEntry kNormalizeKernels[] = {
    {"Softmax", SoftmaxKernel<false>},
    {"LogSoftmax", SoftmaxKernel<true>},
    {"BatchNormalization", PrepareBatchNormalization},
    {"InstanceNormalization", PrepareInstanceNormalization},
    {"LayerNormalization", PrepareLayerNormalization},
    {"RMSNorm", PrepareRmsNormalization},
    {"LRN", PrepareLrn},
};

}  // namespace

std::span<const KernelEntry> NormalizeKernels() { return kNormalizeKernels; }

}  // namespace neap::execute::onnx
