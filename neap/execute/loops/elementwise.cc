// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/loops/elementwise.h"

namespace neap::execute {

Result<Broadcast> MakeBroadcast(const graph::Shape& a, const graph::Shape& b,
                                const graph::Shape& out) {
  NEAP_TRY(const graph::Shape together, BroadcastShape(a, b));
  NEAP_CHECK_OK(Require(together == out, "its inputs do not broadcast to the shape of its output"));
  NEAP_TRY(const Strides a_strides, BroadcastStrides(a, out));
  NEAP_TRY(const Strides b_strides, BroadcastStrides(b, out));
  Broadcast plan;
  // Dimensions that both operands walk evenly become one.
  graph::Shape shape;
  Strides steps[2];
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 1) continue;
    if (!shape.empty() && steps[0].back() == a_strides[d] * out[d] &&
        steps[1].back() == b_strides[d] * out[d]) {
      shape.back() *= out[d];
      steps[0].back() = a_strides[d];
      steps[1].back() = b_strides[d];
      continue;
    }
    shape.push_back(out[d]);
    steps[0].push_back(a_strides[d]);
    steps[1].push_back(b_strides[d]);
  }
  if (shape.empty()) {
    shape.push_back(1);
    steps[0].push_back(1);
    steps[1].push_back(1);
  }
  plan.run = shape.back();
  plan.a_step = steps[0].back();
  plan.b_step = steps[1].back();
  shape.pop_back();
  plan.outer = shape;
  plan.a = steps[0];
  plan.b = steps[1];
  plan.runs = plan.run == 0 ? 0 : Elements(shape);
  return plan;
}

}  // namespace neap::execute
