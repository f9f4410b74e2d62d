// SPDX-License-Identifier: Apache-2.0
//
// What a dependence rule sees of its operator, and the rules by family. Private to neap/ops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"

namespace neap::ops::dependence {

using Integers = std::vector<std::int64_t>;

// Dimensions and parameters beyond this are refused: nothing that follows can overflow.
inline constexpr std::int64_t kMostIndex = std::int64_t{1} << 31;

// One operator, one input, one box of one output; shapes are known and within kMostIndex.
struct Subject {
  const graph::Subgraph& subgraph;
  const graph::Op& op;
  std::size_t input;
  std::size_t output;
  const graph::Shape& in;
  const graph::Shape& out;
  const Box& box;

  bool tflite() const { return op.domain == "tflite"; }
  std::size_t rank() const { return in.size(); }
  // Shape of another input; nullptr: absent or not known.
  const graph::Shape* ShapeOf(std::size_t other) const;
  std::int64_t Int(const char* name, std::int64_t otherwise) const;
  std::optional<Integers> Ints(const char* name) const;
  std::string_view Text(const char* name, std::string_view otherwise) const;
  // Values of a constant input of integers; nullopt: absent, not constant, or its data is not
  // known.
  std::optional<Integers> Values(std::size_t other) const;
  bool Has(std::size_t other) const;
  // `axis` counted from the front; nullopt: out of range.
  static std::optional<std::size_t> Axis(std::int64_t axis, std::size_t rank);
};

using MaybeNeed = std::optional<Need>;

// The same intervals, clipped to the input, with what was cut off as padding.
Need Clipped(const graph::Shape& in, const Box& wanted);
// All of the input.
Need Whole(const graph::Shape& in);

// Of a hybrid operator (IsHybrid()), all activations that share a scale with those in the box.
void WidenToScale(const Subject& subject, Need* need);

// A rule answers nullopt for what it does not know; the functions that find one answer nullptr for
// operators without one.
using Rule = MaybeNeed (*)(const Subject&);
struct Named {
  std::string_view type;
  Rule rule;
};
// The rule that the table of the operator's format has for its type.
Rule FindRule(const graph::Op& op, std::span<const Named> tflite, std::span<const Named> onnx);
Rule FindWindowRule(const graph::Op& op);  // convolution, pooling, resampling
Rule FindMoveRule(const graph::Op& op);    // pad, slice, concatenate, split, transpose, reshape ...
Rule FindMixRule(const graph::Op& op);     // element-wise, reductions, products, normalisation

}  // namespace neap::ops::dependence
