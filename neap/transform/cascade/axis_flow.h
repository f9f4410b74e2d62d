// SPDX-License-Identifier: Apache-2.0
//
// One tile along one axis, for operators that pad by themselves (TensorFlow Lite): which indices of
// every tensor the tile holds, and which of them are right. Private to neap/cascade.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/id.h"
#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"

namespace neap::cascade {

// The tiles of a region along one axis, one after the other.
class AxisFlow {
 public:
  static constexpr std::size_t kNoAxis = std::numeric_limits<std::size_t>::max();

  // The part of a tensor that a tile has along the axis, and its correct part.
  struct Extent {
    ops::Interval held;
    ops::Interval right;
  };
  // The part of an input that an operator reads: a slice.
  struct Read {
    graph::OpId op;
    std::size_t input = 0;
    ops::Interval part;
  };
  // A window operator along the axis.
  struct Slide {
    std::int64_t in = 0;  // of the whole
    std::int64_t out = 0;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t dilation = 1;
    std::int64_t before = 0;
    bool same = false;
    std::int64_t Span() const { return (kernel - 1) * dilation + 1; }
  };

  // `axes`: the axis of every tensor that is cut (AxesOfRegion()); `inputs`: of the region. The
  // operators are those of AxesOfRegion() and have one output each, or split; producers are first.
  AxisFlow(const graph::Subgraph& subgraph, const std::vector<graph::OpId>& ops,
           const std::vector<graph::TensorId>& inputs,
           const std::map<graph::TensorId, std::size_t>& axes);

  // `needed[t]`: the part along the axis that the consumers of t need, of every tensor that has
  // the axis. Finds the smallest parts of the inputs from which the operators, with the padding
  // that they choose for such sizes, compute all needed parts. False, with the reason in Why(): an
  // operator cannot be cut along the axis, or no slightly larger part is sufficient.
  bool Find(const IdVector<graph::TensorId, ops::Interval>& needed);
  const std::string& Why() const { return why_; }

  // The axis of a tensor, or kNoAxis.
  std::size_t AxisOf(graph::TensorId id) const { return axis_of_[id]; }
  // After Find(): the tensors that are cut, the part of each, and the parts that are read of them.
  bool Has(graph::TensorId id) const;
  const ops::Interval& HeldOf(graph::TensorId id) const { return extents_[id].held; }
  const std::vector<Read>& Reads() const { return reads_; }

 private:
  struct Step {
    ops::OpKind kind = ops::OpKind::kUnknown;
    std::size_t axis = 0;  // of its output
    std::optional<Slide> slide;
    // Of an operator that splits: where each output begins in the input, along the axis.
    std::vector<std::optional<std::int64_t>> starts;
  };

  // With the parts of the inputs in extents_.
  bool Try();
  std::optional<Extent> Refuse(const graph::Op& op, graph::OpId id, const std::string& what);
  std::int64_t SizeOf(graph::TensorId id) const;
  std::optional<Extent> After(graph::OpId id, const graph::Op& op, const Step& step);
  std::optional<Extent> Padded(graph::OpId id, const graph::Op& op);
  std::optional<Extent> IfEnough(const graph::Op& op, const Extent& out) const;
  bool Divide(graph::OpId id, const graph::Op& op, const Step& step);
  std::optional<Extent> ProductOfRows(graph::OpId id, const graph::Op& op);
  std::optional<Extent> ProductOfColumns(graph::OpId id, const graph::Op& op);
  std::optional<Extent> ProductOfMatrices(graph::OpId id, const graph::Op& op);
  std::optional<Extent> Taken(graph::OpId id, const graph::Op& op);
  std::optional<Extent> Spread(graph::OpId id, const graph::Op& op);
  std::optional<Extent> InBlocks(graph::OpId id, const graph::Op& op);
  std::optional<Extent> Resized(graph::OpId id, const graph::Op& op);
  std::optional<Extent> Joined(graph::OpId id, const graph::Op& op);

  const graph::Subgraph& subgraph_;
  const std::vector<graph::OpId>& ops_;
  IdVector<graph::TensorId, std::size_t> axis_of_;
  IdVector<graph::TensorId, bool> has_;  // inputs that are cut, and all outputs
  std::vector<graph::TensorId> inputs_;  // that are cut
  std::vector<Step> steps_;              // of each operator
  std::size_t axis_ = 0;                 // of the output of the operator in question
  const IdVector<graph::TensorId, ops::Interval>* needed_ = nullptr;
  IdVector<graph::TensorId, Extent> extents_;
  std::vector<Read> reads_;
  std::string why_;
  bool hopeless_ = false;  // an operator that no part would do for
};

}  // namespace neap::cascade
