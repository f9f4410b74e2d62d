// SPDX-License-Identifier: Apache-2.0
//
// Kernels for parts of operators that place elements by their number in the whole. Private to
// BoxKernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neap/execute/kernel.h"
#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"

namespace neap::execute {

// A part of the output of a reshape or, with an `order`, of a transpose (output dimension d is
// input dimension order[d]), from a part of its input that has every needed element: both are boxes
// of their tensors. O(elements of the part).
Result<RunKernel> MovedPart(const graph::Tensor& in, const ops::Box& in_box,
                            const graph::Tensor& out, const ops::Box& out_box,
                            const std::vector<std::size_t>& order);

// Copies the elements of `wanted`, in order, from input `input` to output `output`. The input is
// the part `have` of its tensor, which contains them. O(elements of `wanted`).
Result<RunKernel> PieceOf(const graph::Tensor& in, const ops::Box& have, const ops::Box& wanted,
                          std::size_t input, std::size_t output);

// `kernel` with `bytes` bytes of input 1 from `from` on in place of all of it.
RunKernel WithPartOfIndices(RunKernel kernel, std::int64_t from, std::int64_t bytes);

}  // namespace neap::execute
