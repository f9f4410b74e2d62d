// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements without looking at them. Private to neap/execute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neap/execute/kernel.h"
#include "neap/graph/graph.h"

namespace neap::execute {

// Whole bytes of an element; fails for types of less than a byte or without a size.
Result<std::size_t> ElementBytes(graph::ElementType type);

// For every dimension of the output, which index of the same dimension of the input each of its
// indices takes; -1: none, the fill value. Padding, slicing, tiling, mirroring, nearest-neighbour
// resizing are such maps.
using IndexMap = std::vector<std::int64_t>;
IndexMap Identity(std::int64_t size);
// count indices from `begin` in steps of `step`.
IndexMap Stepped(std::int64_t begin, std::int64_t step, std::int64_t count);

// out[i0, i1, ...] = in[maps[0][i0], maps[1][i1], ...]. Indices are inside `shape`. `fill` is one
// element. O(elements of the output).
void Take(const graph::Shape& shape, const std::vector<IndexMap>& maps, std::size_t element_bytes,
          const std::byte* in, std::span<const std::byte> fill, std::byte* out);

// The maps and the shape of the input, of images, cut to a part: rows are dimension `row_axis`.
Status CutMaps(const Within& within, std::size_t row_axis, std::vector<IndexMap>* maps,
               graph::Shape* shape);

// The same as a kernel: of input 0, with a fill of zero bits or, of one element, input `fill_input`
// where the node has that. Fails when the maps do not give the shape of the output.
Result<RunKernel> TakeKernel(const Node& node, std::vector<IndexMap> maps);

// output 0 = the bytes of input `input`.
Result<RunKernel> CopyKernel(const Node& node, std::size_t input = 0);

// Output dimension d is input dimension order[d].
Result<RunKernel> TransposeKernel(const Node& node, const std::vector<std::int64_t>& order);

// Present inputs [first, ...) side by side along `axis`.
Result<RunKernel> ConcatKernel(const Node& node, std::int64_t axis);
// Input `input`, cut along `axis` into the outputs.
Result<RunKernel> SplitKernel(const Node& node, std::size_t input, std::int64_t axis);

// out[.., i.., ..] = data[.., indices[i..], ..] along `axis`, after `batch_dims` dimensions that
// both have. Indices below 0 count from the end where `wraps`. Inputs 0 and 1.
Result<RunKernel> GatherKernel(const Node& node, std::int64_t axis, std::int64_t batch_dims,
                               bool wraps);

}  // namespace neap::execute
