// SPDX-License-Identifier: Apache-2.0
//
// What a plan costs beside its memory, compared with the model as given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/compile/compile.h"
#include "neap/formats/formats.h"
#include "neap/graph/graph.h"
#include "neap/ops/overlap.h"

namespace neap::deliver {

struct Price {
  // Multiply-accumulates of one run, of the plan and of the model as given.
  std::int64_t macs = 0;
  std::int64_t model_macs = 0;
  std::int64_t added_operators = 0;  // that run; negative: fewer
  std::int64_t growth_bytes = 0;  // of the model file, which flash holds, without its memory plan
  std::int64_t moved_bytes = 0;   // copies of live tensors in one run
  // Operator types that the model as given lacks, sorted. Under TFLM the firmware registers them.
  std::vector<std::string> new_types;
  // The only kernels under which the plan is right; kNone: any.
  ops::KernelLibrary kernels = ops::KernelLibrary::kNone;
};

// `planned`: the model that `compiled` is a plan of, an edited `given`. O(graph).
Price PriceOf(const formats::SourceModel& given, const formats::SourceModel& planned,
              const compile::Compiled& compiled);

// Of the main subgraph, and of the bodies of tiles at every call. A count too large for 63 bits is
// no count.
std::int64_t MacsOf(const graph::Graph& graph);

// Operator types that run in `planned` and not in `given`, sorted.
std::vector<std::string> NewTypes(const graph::Graph& given, const graph::Graph& planned);

// Operators of all subgraphs that are not folded.
std::int64_t OperatorsOf(const graph::Graph& graph);

}  // namespace neap::deliver
