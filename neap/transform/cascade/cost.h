// SPDX-License-Identifier: Apache-2.0
//
// The cost of a region in tiles, before it is realised: live bytes, MACs, and the data that a
// runtime keeps for every operator. Private to neap/transform/cascade.
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
  // The runtime that must have kernels for slices and concatenations.
  ops::StockRuntime runtime = ops::StockRuntime::kNone;
};

struct Cost {
  std::int64_t bytes = 0;       // most live at once
  std::int64_t macs = 0;        // multiplications with weights
  std::int64_t kept_bytes = 0;  // beyond the need of the uncut operators
  friend bool operator==(const Cost&, const Cost&) = default;
};

// `a` is no worse in any respect.
bool Dominates(const Cost& a, const Cost& b);

// Bytes of a tensor, rounded up by the rules; 0 for constants and unknown sizes.
std::int64_t CountedBytes(const graph::Tensor& tensor, const Rules& rules);

// Multiplications with weights for one element of the output.
std::int64_t MacsPerElement(const graph::Subgraph& subgraph, const graph::Op& op);
// Of a whole operator; of all operators.
std::int64_t MacsOf(const graph::Subgraph& subgraph, const graph::Op& op);
std::int64_t MacsOf(const graph::Subgraph& subgraph);

// Bytes by which the output of `op` may overlap its input `input` under the rules: the two need no
// more than bytes(input) + bytes(output) minus this.
std::int64_t SavedInside(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input,
                         const Rules& rules);

// Of the region run tile by tile, slices just before they are read. `dies[i]`: border input i has
// no consumer after the region. Inputs and output of the region are counted, other live tensors are
// not. A lower bound of a placement of that order, except for overlaps inside operators, which are
// counted by rows.
Cost CostOf(const graph::Subgraph& subgraph, const RegionPlan& plan, const std::vector<Tile>& tiles,
            const std::vector<bool>& dies, const Rules& rules);
// The same; nullopt as soon as the cost reaches `too_many` bytes.
std::optional<Cost> CostBelow(std::int64_t too_many, const graph::Subgraph& subgraph,
                              const RegionPlan& plan, const Border& border,
                              const std::vector<Tile>& tiles, const std::vector<bool>& dies,
                              const Rules& rules);

// A lower bound of the bytes of every grid of this region that has this tile, computes
// `elements_before` elements of the output before it, and has a tile behind it or not.
// O(operators^2).
std::int64_t LeastBytesWith(const Tile& tile, std::int64_t elements_before, bool has_next,
                            const graph::Subgraph& subgraph, const RegionPlan& plan,
                            const Border& border, const std::vector<bool>& dies,
                            const Rules& rules);

}  // namespace neap::cascade
