// SPDX-License-Identifier: Apache-2.0
//
// SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION.
#include <algorithm>
#include <cmath>

#include "neap/execute/families.h"
#include "neap/execute/tflite/quantized.h"

namespace neap::execute::tflite {
namespace {

using enum graph::ElementType;

struct Rows {
  std::int64_t count = 0;
  std::int64_t length = 0;
};

Result<Rows> RowsOf(const Node& node) {
  NEAP_CHECK_OK(RequireOperands(node, 1, 1));
  NEAP_CHECK_OK(RequireShape(node.Out(), node.In(0).shape));
  NEAP_CHECK_OK(Require(node.In(0).Rank() >= 1, "expected at least one dimension"));
  const std::int64_t length = node.In(0).shape.back();
  return Rows{length == 0 ? 0 : node.In(0).elements / length, length};
}

bool IsFloat(const Node& node) {
  return node.In(0).type == kFloat32 && node.Out().type == kFloat32;
}

template <typename F>
Result<RunKernel> RowKernel(const Rows& rows, F f) {
  return RunKernel([rows, f](const Arguments& arguments) -> Status {
    for (std::int64_t r = 0; r < rows.count; ++r) {
      f(Input<float>(arguments, 0) + r * rows.length, Output<float>(arguments) + r * rows.length,
        rows.length);
    }
    return {};
  });
}

float MaximumOf(const Cell<float>* in, std::int64_t length) {
  float most = in[0].value;
  for (std::int64_t i = 1; i < length; ++i) most = std::max(most, float{in[i].value});
  return most;
}

// A row is read whole before it is written.
Result<RunKernel> PrepareSoftmax(const Node& node) {
  NEAP_TRY(const Rows rows, RowsOf(node));
  if (IsQuantizedType(node.In(0).type)) return QuantizedSoftmax(node, rows.count, rows.length);
  if (!IsFloat(node)) return UnsupportedType(node);
  const auto beta = static_cast<float>(RealOr(*node.op, "beta", 1));
  return RowKernel(rows, [beta](const Cell<float>* in, Cell<float>* out, std::int64_t length) {
    const float most = MaximumOf(in, length);
    float sum = 0;
    for (std::int64_t i = 0; i < length; ++i) sum += std::exp((in[i].value - most) * beta);
    for (std::int64_t i = 0; i < length; ++i) {
      out[i].value = std::exp((in[i].value - most) * beta) / sum;
    }
  });
}

Result<RunKernel> PrepareLogSoftmax(const Node& node) {
  NEAP_TRY(const Rows rows, RowsOf(node));
  if (!IsFloat(node)) return UnsupportedType(node);
  return RowKernel(rows, [](const Cell<float>* in, Cell<float>* out, std::int64_t length) {
    const float most = MaximumOf(in, length);
    float sum = 0;
    for (std::int64_t i = 0; i < length; ++i) sum += std::exp(in[i].value - most);
    const float shift = most + std::log(sum);
    for (std::int64_t i = 0; i < length; ++i) out[i].value = in[i].value - shift;
  });
}

Result<RunKernel> PrepareL2Normalization(const Node& node) {
  NEAP_TRY(const Rows rows, RowsOf(node));
  if (!IsFloat(node)) return UnsupportedType(node);
  return RowKernel(rows, [](const Cell<float>* in, Cell<float>* out, std::int64_t length) {
    float sum = 0;
    for (std::int64_t i = 0; i < length; ++i) sum += in[i].value * in[i].value;
    const float norm = std::max(std::sqrt(sum), 1e-6F);
    for (std::int64_t i = 0; i < length; ++i) out[i].value = in[i].value / norm;
  });
}

constexpr KernelEntry kSoftmaxKernels[] = {
    {"SOFTMAX", PrepareSoftmax},
    {"LOG_SOFTMAX", PrepareLogSoftmax},
    {"L2_NORMALIZATION", PrepareL2Normalization},
};

}  // namespace

std::span<const KernelEntry> SoftmaxKernels() { return kSoftmaxKernels; }

}  // namespace neap::execute::tflite
