// SPDX-License-Identifier: Apache-2.0
//
// Which operators of ONNX run on parts of their tensors, and with which attributes. Private to
// neap/cascade.
#pragma once

#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"
#include "neap/ops/stock_kernels.h"
#include "neap/transform/cascade/cut_axes.h"
#include "neap/transform/cascade/region.h"

namespace neap::cascade {

// True if the operator, given the parts that a part of its output needs, computes that part; with
// explicit padding (PadExplicitly), where it has any.
bool RunsOnParts(const graph::Op& op);

// True for an operator of ONNX over time whose state goes from one tile to the next (LSTM, GRU):
// tiles are some of its steps, adjacent ones adjacent. It begins with constants or zeros.
bool RunsInSteps(const graph::Subgraph& subgraph, const graph::Op& op);

// True if the output has the shape of the input although each of its elements needs whole rows of
// that: a part that reads more than it writes is no such operator.
bool WritesWhatItReads(const graph::Op& op);

// True if the operator writes as many elements as it reads, wherever they are: a part that reads
// more than it writes is no such operator.
bool KeepsElements(const graph::Op& op);

// Whether the kernels of a runtime (kNone: of any but LiteRT) compute some columns of a product,
// one that has ColumnsOf(), as they compute all of them: integers, and floats where that was
// measured (docs/algorithms/tiles.md).
bool CutsColumns(const graph::Subgraph& subgraph, const graph::Op& op, ops::StockRuntime runtime);

// Of Pad in a mode that repeats the input, where `part` of its output reaches into the padding: the
// need with all rows from there to that border, as the kernel counts from it.
void WidenToBorders(const graph::Subgraph& subgraph, const graph::Op& op, const ops::Box& part,
                    ops::Need* need);

// True if an attribute of the operator is a tensor whose data is not known: it has a type alone.
bool LacksAttribute(const graph::Op& op);

// True if PadExplicitly() or PlaceExplicitly() may set something or refuse a part.
bool HasParameters(const graph::Op& op);

// Sets the padding of a window to the padding in `need`; nothing for other operators. False: the
// operator's attributes cannot express it.
bool PadExplicitly(const graph::Op& op, const ops::Need& need, TileStep* step);

// Sets the parameters of a slice (SLICE, STRIDED_SLICE, Slice) that reads `in` and writes `out`.
void TakePart(const graph::Op& op, const std::vector<SliceStep>& steps, const ops::Box& in,
              const ops::Box& out, TileStep* step);

// Sets parameters of operators of ONNX that place their input (Slice, Pad, Resize, ConvTranspose,
// Tile, the groups of Conv) such that they read `need` and write `computed`. Resize and Pad may
// write more: `computed` becomes what they write. False: the operator cannot run on the part.
bool PlaceExplicitly(const graph::Subgraph& subgraph, const graph::Op& op, const ops::Need& need,
                     ops::Box* computed, TileStep* step);

}  // namespace neap::cascade
