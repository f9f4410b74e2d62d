// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/loops/elementwise.h"

#include <vector>

namespace neap::execute {
namespace {

// How two operands are walked together: the last dimension is a run with steps 0 or 1 in each.
struct Broadcast {
  graph::Shape outer;
  Strides a;
  Strides b;
  std::int64_t runs = 0;
  std::int64_t run = 0;
  std::int64_t a_step = 0;
  std::int64_t b_step = 0;
};

// `out` is their broadcast shape; fails otherwise.
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

}  // namespace

RunKernel WalkMap(MapElements map, std::shared_ptr<const void> state, std::int64_t elements) {
  return [map, state = std::move(state), elements](const Arguments& arguments) -> Status {
    map(state.get(), arguments.inputs[0].data(), arguments.outputs[0].data(), elements);
    return {};
  };
}

Result<RunKernel> WalkBinary(const Node& node, CombineElements combine,
                             std::shared_ptr<const void> state, std::size_t a_bytes,
                             std::size_t b_bytes, std::size_t out_bytes) {
  NEAP_TRY(Broadcast plan, MakeBroadcast(node.In(0).shape, node.In(1).shape, node.Out().shape));
  return RunKernel([plan = std::move(plan), combine, state = std::move(state), a_bytes, b_bytes,
                    out_bytes](const Arguments& arguments) -> Status {
    const std::byte* const a = arguments.inputs[0].data();
    const std::byte* const b = arguments.inputs[1].data();
    std::byte* out = arguments.outputs[0].data();
    Odometer<2> at(plan.outer, {&plan.a, &plan.b});
    for (std::int64_t r = 0; r < plan.runs; ++r, at.Next()) {
      combine(state.get(), a + static_cast<std::size_t>(at.Offset(0)) * a_bytes, plan.a_step,
              b + static_cast<std::size_t>(at.Offset(1)) * b_bytes, plan.b_step, out, plan.run);
      out += static_cast<std::size_t>(plan.run) * out_bytes;
    }
    return {};
  });
}

Result<RunKernel> WalkFold(const Node& node, FoldElements fold, std::size_t bytes) {
  const graph::Shape shape = node.Out().shape;
  std::vector<Strides> strides;
  for (const Operand& input : node.inputs) {
    NEAP_TRY(Strides steps, BroadcastStrides(input.shape, shape));
    strides.push_back(std::move(steps));
  }
  return RunKernel([=, strides = std::move(strides),
                    dense = DenseStrides(shape)](const Arguments& arguments) -> Status {
    Odometer<1> at(shape, {&dense});
    std::vector<const std::byte*> elements(strides.size());
    const std::int64_t count = Elements(shape);
    for (std::int64_t i = 0; i < count; ++i, at.Next()) {
      for (std::size_t n = 0; n < strides.size(); ++n) {
        std::int64_t from = 0;
        for (std::size_t d = 0; d < shape.size(); ++d) from += at.index()[d] * strides[n][d];
        elements[n] = arguments.inputs[n].data() + static_cast<std::size_t>(from) * bytes;
      }
      fold(elements.data(), elements.size(),
           arguments.outputs[0].data() + static_cast<std::size_t>(i) * bytes);
    }
    return {};
  });
}

}  // namespace neap::execute
