// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/loops/reduce.h"

namespace neap::execute {

Result<Reduction> MakeReduction(const graph::Shape& shape, const std::vector<std::int64_t>& axes) {
  std::vector<bool> goes(shape.size(), false);
  for (const std::int64_t axis : axes) {
    NEAP_TRY(const std::size_t d, NormalAxis(axis, shape.size()));
    goes[d] = true;
  }
  const Strides strides = DenseStrides(shape);
  Reduction plan;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    (goes[d] ? plan.reduced : plan.kept).push_back(shape[d]);
    (goes[d] ? plan.reduced_strides : plan.kept_strides).push_back(strides[d]);
  }
  plan.outputs = Elements(plan.kept);
  plan.folded = Elements(plan.reduced);
  return plan;
}

}  // namespace neap::execute
