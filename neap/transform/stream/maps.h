// SPDX-License-Identifier: Apache-2.0
//
// Which operators are cut, and the rows and columns of their inputs that a row or a column of their
// output needs. Private to the making of a Network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "neap/graph/graph.h"
#include "neap/plan/stream.h"
#include "neap/transform/stream/axis_map.h"

namespace neap::stream {

struct Maps {
  AxisMap rows;
  AxisMap columns;
};

// The shape of an image of four dimensions; nullptr: the tensor is none.
const graph::Shape* ImageShape(const graph::Subgraph& subgraph, graph::TensorId id);

// A subgraph, and the images that its tensors are.
struct Imaged {
  const graph::Subgraph& subgraph;
  const plan::StreamImages& images;
};

// The maps of input `input` of `op`, whose output `output` is cut; nullopt: it does not stream.
// `emits`: SearchOptions::emits.
std::optional<Maps> MapsOf(const Imaged& imaged, const graph::Op& op, std::size_t input,
                           std::size_t output, bool emits);

// Whether `input` is the second matrix of a product, of which every row needs all rows.
bool IsSecondMatrix(const graph::Op& op, std::size_t input);
// Whether the kernel of `op` takes constants as a whole, so that they must be needed as a whole at
// every place; whether constant `input` is not.
bool TakesConstantsWhole(const graph::Subgraph& subgraph, const graph::Op& op);
bool VariesInSpace(const Imaged& imaged, const graph::Op& op, std::size_t input);

// The least map that covers both; nullopt: they do not move alike. `in` and `out` are the sizes of
// the axis.
std::optional<AxisMap> Join(const AxisMap& a, const AxisMap& b, std::int64_t in, std::int64_t out);

}  // namespace neap::stream
