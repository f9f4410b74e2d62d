// SPDX-License-Identifier: Apache-2.0
//
// Moves as operators that TensorFlow Lite Micro has: a RESHAPE to the same shape is a memcpy.
// Private to neap/compile.
#pragma once

#include <optional>

#include "neap/compile/timeline.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/plan/profile.h"
#include "neap/solve/arena/arena.h"

namespace neap::compile {

// True if a step of `plan` is a move.
bool HasMoves(const plan::Plan& plan);

// An edited graph as formats::WriteEdited() takes it, its operators in the planned order, and where
// the tensors go.
struct MovedModel {
  graph::Graph graph;
  Orders orders;   // the operators in their present order
  AllSizes sizes;  // of every tensor, referred to or not
  graph::TensorOffsets offsets;
  arena::Placement placement;  // TFLM's allocation for the offsets
};

// `plan` has moves, `orders` is the order of its operators. Each stretch of a tensor becomes a
// tensor of its own, and each move a RESHAPE from one to the next. An input of the model keeps its
// first stretch, every other tensor its last one, so that inputs and outputs stay what they are.
// nullopt: the graph is not TensorFlow Lite's, a tensor that moves is input and output of the
// model, or an offset does not fit.
std::optional<MovedModel> MovesAsOperators(const graph::Graph& graph, const plan::Plan& plan,
                                           const Orders& orders, const plan::Profile& profile);

// Sizes of every tensor that is neither constant nor variable, also of those that no operator uses:
// TFLM allocates them as well. Tensors of unknown size count nothing.
AllSizes SizesOfEverything(const graph::Graph& graph, const AllSizes& sizes,
                           const plan::Profile& profile);

}  // namespace neap::compile
