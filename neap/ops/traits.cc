// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/traits.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "neap/ops/op_table.h"

namespace neap::ops {

bool IsElementwise(const graph::Op& op) { return Has(op, trait::kElementwise); }

bool IsReshapeLike(const graph::Op& op) { return Has(op, trait::kReshapeLike); }

bool WritesOverFirstInput(const graph::Subgraph& subgraph, const graph::Op& op) {
  const graph::Tensor* input = graph::Operand(subgraph, op.inputs, 0);
  const graph::Tensor* output = graph::Operand(subgraph, op.outputs, 0);
  if (input == nullptr || output == nullptr || !input->shape || !output->shape) return false;
  if (Is(op, OpKind::kNeapAccumulate)) {
    return std::count(op.inputs.begin(), op.inputs.end(), op.inputs[0]) == 1;
  }
  const auto elements = [](const graph::Tensor& tensor) {
    return std::accumulate(
        tensor.shape->begin(), tensor.shape->end(), std::uint64_t{1},
        [](std::uint64_t count, std::int64_t d) { return count * static_cast<std::uint64_t>(d); });
  };
  return (IsElementwise(op) || IsReshapeLike(op)) && elements(*input) == elements(*output);
}

bool IsStatefulType(std::string_view domain, std::string_view type) {
  const auto stateful = [&](Dialect dialect) {
    return (RowOf(KindNamed(dialect, type)).traits & trait::kStateful) != 0;
  };
  if (domain == "custom") {
    return KindNamed(Dialect::kCustom, type) == OpKind::kUnknown || stateful(Dialect::kCustom);
  }
  if (domain == "tflite") return stateful(Dialect::kTflite) || type.starts_with("BUILTIN_");
  return IsDefaultOnnxDomain(domain) && stateful(Dialect::kOnnx);
}

}  // namespace neap::ops
