// SPDX-License-Identifier: Apache-2.0
//
// Element by element, with broadcasting. Private to neap/execute.
#pragma once

#include <cstdint>
#include <utility>

#include "neap/execute/kernel.h"
#include "neap/execute/loops/strided.h"

namespace neap::execute {

// out[i] = f(in[i]); as many elements.
template <typename In, typename Out, typename F>
Result<RunKernel> MapKernel(std::int64_t elements, F f) {
  return RunKernel([elements, f](const Arguments& arguments) -> Status {
    const Cell<In>* const in = Input<In>(arguments, 0);
    Cell<Out>* const out = Output<Out>(arguments);
    for (std::int64_t i = 0; i < elements; ++i) out[i].value = f(in[i].value);
    return {};
  });
}

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
                                const graph::Shape& out);

// out[i] = f(a[i], b[i]).
template <typename A, typename B, typename Out, typename F>
void RunBroadcast(const Broadcast& plan, const Cell<A>* a, const Cell<B>* b, Cell<Out>* out,
                  const F& f) {
  Odometer<2> at(plan.outer, {&plan.a, &plan.b});
  for (std::int64_t r = 0; r < plan.runs; ++r, at.Next()) {
    const Cell<A>* const from_a = a + at.Offset(0);
    const Cell<B>* const from_b = b + at.Offset(1);
    if (plan.a_step == 1 && plan.b_step == 1) {
      for (std::int64_t i = 0; i < plan.run; ++i)
        out[i].value = f(from_a[i].value, from_b[i].value);
    } else if (plan.a_step == 1) {
      for (std::int64_t i = 0; i < plan.run; ++i) out[i].value = f(from_a[i].value, from_b->value);
    } else {
      for (std::int64_t i = 0; i < plan.run; ++i) {
        out[i].value = f(from_a->value, from_b[i * plan.b_step].value);
      }
    }
    out += plan.run;
  }
}

template <typename A, typename B, typename Out, typename F>
Result<RunKernel> BinaryKernel(const Node& node, F f) {
  NEAP_TRY(Broadcast plan, MakeBroadcast(node.In(0).shape, node.In(1).shape, node.Out().shape));
  return RunKernel([plan = std::move(plan), f](const Arguments& arguments) -> Status {
    RunBroadcast(plan, Input<A>(arguments, 0), Input<B>(arguments, 1), Output<Out>(arguments), f);
    return {};
  });
}

}  // namespace neap::execute
