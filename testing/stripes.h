// SPDX-License-Identifier: Apache-2.0
//
// Stripes and how they go through operators, in the affine form of TVM's RFC 0037: for sizes, not
// for places, and without clipping at borders. Exact fractions, no floats. An oracle: the tests
// compare the dependence maps (neap/ops/dependence.h), which plans use, and published numbers of
// TVM with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::cascade {

// A fraction in lowest terms, denominator above 0. Values that do not fit 64 bits are refused:
// Propagate() and its callers return nullopt.
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  friend bool operator==(const Fraction&, const Fraction&) = default;
};
std::optional<Fraction> MakeFraction(std::int64_t numerator, std::int64_t denominator);

// How a tensor is cut into stripes: `count` stripes along each axis, `stride` apart, the first at
// `offset`; `shape` is of one stripe, `extent` of all together. `order` numbers the loops over the
// axes, the outermost is 1; 0: the axis has no loop.
struct StripeConfig {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> extent;
  std::vector<Fraction> strides;
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> count;
  std::vector<std::int64_t> offset;
  friend bool operator==(const StripeConfig&, const StripeConfig&) = default;
};

// The augmented matrix of one input of an operator: size of the input's stripe = matrix * (size of
// the output's stripe, 1). Rows: axes of the input and the last one, columns: axes of the output
// and the constant. `offset`: where the input's first stripe begins, the padding in front.
struct Propagator {
  std::vector<std::vector<Fraction>> matrix;
  std::vector<std::int64_t> offset;  // of each axis of the input

  // The stripes of the input that the stripes of the output need. Sizes are rounded up; strides are
  // not; an axis that only the constant decides is no loop. nullopt: ranks differ, or a number does
  // not fit.
  std::optional<StripeConfig> Propagate(const StripeConfig& output) const;
  // No axis of the input follows an axis of the output: every stripe needs the whole input.
  bool IsConstant() const;
};

// Of input `input` of an operator, with respect to its first output; of both formats. Operators
// that move data otherwise than axis by axis have a constant one. nullopt: shapes are not known.
std::optional<Propagator> PropagatorOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                       std::size_t input);
// Several operators that run as one (a "part" of the RFC): the propagator of `first` behind that of
// `second`, which reads what `first` writes. nullopt: they do not fit.
std::optional<Propagator> Compose(const Propagator& first, const Propagator& second);

// How many stripes have which shape, clipped to [0, extent); empty ones are left out. `sliding`:
// only the part of every stripe that its predecessors along the axis do not contain. O(product of
// counts).
std::map<std::vector<std::int64_t>, std::int64_t> CountStripes(const StripeConfig& config,
                                                               bool sliding);

enum class Buffering : std::uint8_t {
  kFull,       // the whole tensor
  kRecompute,  // one stripe; parts that stripes share are computed again
  kRolling,    // one stripe along the outermost striped axis, whole along the others
  kDouble,     // two stripes: one is filled while the other is read
};

// Bytes of a buffer for a tensor in stripes; `ratio` of compression. nullopt: does not fit.
std::optional<std::int64_t> BufferBytes(const StripeConfig& config,
                                        const std::vector<std::int64_t>& tensor,
                                        std::int64_t element_bytes, Buffering buffering,
                                        Fraction ratio = {1, 1});

struct StripeOptions {
  int factors = 5;                    // an axis is split by 1, 2, 4 ... and to single indices
  bool striping = true;               // false: the whole tensor only
  bool several_axes = false;          // also at once
  std::vector<std::int64_t> quantum;  // stripes are multiples of these; empty: 1
};
// The ways to cut an output of this shape whose inputs have these propagators. Axes on which no
// input depends are not cut. No two are equal.
std::vector<StripeConfig> GenerateStripes(const std::vector<std::int64_t>& shape,
                                          const std::vector<Propagator>& propagators,
                                          const StripeOptions& options);

// Groups of operators that may be cascaded: connected, at most `most` operators, and values
// between them are needed stripe by stripe. In a fixed order.
std::vector<std::vector<graph::OpId>> CascadeGroups(const graph::Subgraph& subgraph,
                                                    std::size_t most);

}  // namespace neap::cascade
