// SPDX-License-Identifier: Apache-2.0
//
// Reductions over any dimensions. Private to neap/execute.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "neap/execute/kernel.h"
#include "neap/execute/loops/strided.h"

namespace neap::execute {

struct Reduction {
  graph::Shape kept;     // dimensions of the output, in order
  graph::Shape reduced;  // the others
  Strides kept_strides;  // of the input
  Strides reduced_strides;
  std::int64_t outputs = 0;
  std::int64_t folded = 0;  // elements that go into one output
};

// `axes` in [-rank, rank), any number of times each.
Result<Reduction> MakeReduction(const graph::Shape& shape, const std::vector<std::int64_t>& axes);

// out[o] = finish(fold of all its elements from `start`, how many).
template <typename In, typename Out, typename Acc, typename Fold, typename Finish>
void Reduce(const Reduction& plan, const Cell<In>* in, Cell<Out>* out, Acc start, const Fold& fold,
            const Finish& finish) {
  Odometer<1> at(plan.kept, {&plan.kept_strides});
  graph::Shape rows = plan.reduced;
  std::int64_t run = 1;
  std::int64_t step = 0;
  if (!rows.empty()) {
    run = rows.back();
    step = plan.reduced_strides.back();
    rows.pop_back();
  }
  for (std::int64_t o = 0; o < plan.outputs; ++o, at.Next()) {
    Acc sum = start;
    Odometer<1> inner(rows, {&plan.reduced_strides});
    const std::int64_t count = run == 0 ? 0 : plan.folded / run;
    for (std::int64_t r = 0; r < count; ++r, inner.Next()) {
      const Cell<In>* const from = in + at.Offset(0) + inner.Offset(0);
      for (std::int64_t i = 0; i < run; ++i) sum = fold(sum, from[i * step].value);
    }
    out[o].value = finish(sum, plan.folded);
  }
}

}  // namespace neap::execute
