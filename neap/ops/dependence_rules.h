// SPDX-License-Identifier: Apache-2.0
//
// The operator as a dependence rule sees it, and the rules by family. Private to neap/ops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"
#include "neap/ops/op_kind.h"

namespace neap::ops::dependence {

using Integers = std::vector<std::int64_t>;

// Dimensions and parameters beyond this are refused: nothing that follows can overflow.
inline constexpr std::int64_t kMaxIndex = std::int64_t{1} << 31;

// One operator, one input, one box of one output; shapes are known and within kMaxIndex.
struct Subject {
  const graph::Subgraph& subgraph;
  const graph::Op& op;
  OpKind kind;
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

// The same intervals, clipped to the input; the clipped rest is the padding.
Need Clipped(const graph::Shape& in, const Box& wanted);
// All of the input.
Need Whole(const graph::Shape& in);

// Of a hybrid operator (IsHybrid()), all activations that share a scale with those in the box.
void WidenToScale(const Subject& subject, Need* need);

// nullopt: the rule does not know. The table of operators refers to these rules.
using Rule = MaybeNeed(const Subject&);
// Convolution, pooling, resampling: dependence_window.cc.
Rule OnnxConv;
Rule OnnxFusedConv;
Rule OnnxPool;
Rule OnnxResize;
Rule OnnxTransposeConv;
Rule TfliteResize;
Rule TfliteTransposeConv;
Rule TfliteWindow;
// Moves of data: dependence_move.cc.
Rule Concatenation;
Rule Gather;
Rule OnnxPad;
Rule OnnxSlice;
Rule Reshape;
Rule SpaceDepth;
Rule Split;
Rule StridedSlice;
Rule TflitePad;
Rule TfliteSlice;
Rule Tile;
Rule Transpose;
// Element-wise operators, reductions, products, normalisation: dependence_mix.cc.
Rule BatchMatMul;
Rule Elementwise;
Rule Expand;
Rule FullyConnected;
Rule Gemm;
Rule GlobalPool;
Rule MixesAxis;
Rule MixesChannels;
Rule MixesFromAxis;
Rule MixesImages;
Rule MixesLast;
Rule OnnxMatMul;
Rule OnnxSoftmax;
Rule Reduction;

}  // namespace neap::ops::dependence
