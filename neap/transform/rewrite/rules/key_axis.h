// SPDX-License-Identifier: Apache-2.0
//
// How a part of an operator's output along one axis follows from parts of its inputs. Private to
// neap/transform/rewrite.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/transform/rewrite/draft.h"

namespace neap::rewrite {

// For one input: the axis whose indices are those of the output's axis; nullopt: read whole.
using InputAxis = std::optional<std::size_t>;

struct AxisStep {
  std::vector<InputAxis> inputs;
  bool new_shape = false;  // input 1 is the shape of the output
};

// The step from a part of the output of `id` along `axis` to its inputs: an index of the output is
// a function of the same index of the inputs that have the axis. Products of floats (with constants
// or the second matrix), sums, products and differences of elements, ReLUs, changes of shape,
// transposes, normalisation of rows. nullopt: another operator or axis, or a constant that cannot
// be cut. Constants of element-wise operators must have known, finite values.
std::optional<AxisStep> StepThrough(const Draft& draft, graph::OpId id, std::size_t axis);

// Whether all values of a constant of floats are known and finite. An infinite mask leaves a block
// without a finite score: the difference of its maximum to itself is not a number.
bool IsFinite(const graph::Tensor& constant);

// Input 1 of a product of two activations is cut there.
bool IsProductOfActivations(const Draft& draft, graph::OpId id);

}  // namespace neap::rewrite
