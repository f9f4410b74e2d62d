// SPDX-License-Identifier: Apache-2.0
//
// What a region in tiles costs, before it is realised: the bytes that are live at once, the work,
// and what a runtime keeps for every operator. Private to neap/cascade.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/overlap.h"
#include "neap/ops/stock_kernels.h"
#include "neap/transform/cascade/region.h"

namespace neap::cascade {

// Rules of the runtime that a plan is made for.
struct Rules {
  std::int64_t alignment = 1;
  // kNone: nothing shares bytes. Otherwise slices and concatenations of whole rows are where they
  // belong, and rows that no tile needs any more are free.
  ops::KernelLibrary kernels = ops::KernelLibrary::kNone;
  bool charges_operators = false;  // TensorFlow Lite Micro keeps data for each operator
  TileBodies bodies = TileBodies::kClones;
  // What slices and concatenations must have kernels in.
  ops::StockRuntime runtime = ops::StockRuntime::kNone;
};

struct Cost {
  std::int64_t bytes = 0;       // most live at once
  std::int64_t macs = 0;        // multiplications with weights
  std::int64_t kept_bytes = 0;  // beyond what the operators need when they are not cut
  friend bool operator==(const Cost&, const Cost&) = default;
};

// `a` is no worse in any respect.
bool Dominates(const Cost& a, const Cost& b);

// Bytes of a tensor, rounded up as the rules say; 0 for constants and where they are not known.
std::int64_t CountedBytes(const graph::Tensor& tensor, const Rules& rules);

// Multiplications with weights for one element of the output.
std::int64_t MacsPerElement(const graph::Subgraph& subgraph, const graph::Op& op);
// Of a whole operator; of all operators.
std::int64_t MacsOf(const graph::Subgraph& subgraph, const graph::Op& op);
std::int64_t MacsOf(const graph::Subgraph& subgraph);

// Bytes by which the output of `op` may lie over its input `input`, as far as the rules go: the two
// need at most bytes(input) + bytes(output) less this.
std::int64_t SavedInside(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input,
                         const Rules& rules);

// Of the region run tile by tile, slices just before they are read. `dies[i]`: border input i is
// not needed by anybody behind the region. Inputs and output of the region are counted, what else
// lives beside it is not. A lower bound of what a placement of that order needs, up to overlaps
// inside operators, which are counted by rows.
Cost CostOf(const graph::Subgraph& subgraph, const RegionPlan& plan, const std::vector<Tile>& tiles,
            const std::vector<bool>& dies, const Rules& rules);
// The same; nullopt as soon as the cost reaches `too_many` bytes.
std::optional<Cost> CostBelow(std::int64_t too_many, const graph::Subgraph& subgraph,
                              const RegionPlan& plan, const std::vector<Tile>& tiles,
                              const std::vector<bool>& dies, const Rules& rules);

}  // namespace neap::cascade
