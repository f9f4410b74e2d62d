// SPDX-License-Identifier: Apache-2.0
//
// slice: a part cut out of a concatenation along its own seams is that part.
//
// Pattern: SLICE, SPLIT, SPLIT_V / Slice, Split of a value in pieces, along their axis. Conditions:
// every cut is at a seam; along the other axes everything is taken; steps of one. Memory: saves the
// copy and, if no other operator reads it whole, the concatenation. Exactness: Bitwise.
// slice(concat(a, b, c), seam of b) = b.
#include <algorithm>

#include "neap/ops/op_table.h"
#include "neap/transform/rewrite/rules/common.h"
#include "neap/transform/rewrite/rules/rules.h"

namespace neap::rewrite {
namespace {

using graph::Op;
using graph::OpId;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

struct Range {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

// The pieces of a range; empty where a cut misses the seams.
std::vector<Piece> Cut(const Pieces& pieces, Range range) {
  std::vector<Piece> cut;
  std::int64_t at = 0;
  for (const Piece& piece : pieces.pieces) {
    const std::int64_t end = at + piece.size;
    const bool inside = at >= range.begin && end <= range.begin + range.size;
    const bool outside = end <= range.begin || at >= range.begin + range.size;
    if (!inside && !outside) return {};
    if (inside) cut.push_back(piece);
    at = end;
  }
  return cut;
}

std::optional<std::int64_t> ConstantAt(const Draft& draft, TensorId id, std::size_t index) {
  if (!id.valid()) return std::nullopt;
  const auto values = IntegersOf(draft.TensorOf(id));
  if (!values || index >= values->size()) return std::nullopt;
  return (*values)[index];
}

TensorId DataOf(const Op& op) { return Is(op, OpKind::kSplit) ? InputOf(op, 1) : InputOf(op, 0); }

bool IsSplit(const Op& op) {
  return IsType(op, OpKind::kSplit, OpKind::kSplitV, OpKind::kOnnxSplit);
}

std::optional<std::int64_t> SplitAxis(const Draft& draft, const Op& op) {
  if (IsOnnx(op)) return IntOr(op, "axis", 0);
  return ConstantAt(draft, InputOf(op, Is(op, OpKind::kSplit) ? 0 : 2), 0);
}

// Where a Slice of one output begins along the axis of the pieces.
std::optional<std::int64_t> SliceBegin(const Draft& draft, const Op& op, std::size_t axis,
                                       std::int64_t whole) {
  std::optional<std::int64_t> begin;
  if (IsTflite(op)) {
    begin = ConstantAt(draft, InputOf(op, 1), axis);
  } else {
    // One axis, by the inputs of opset 10 and later.
    if (op.version < 10) return std::nullopt;
    const auto starts = ConstantAt(draft, InputOf(op, 1), 0);
    const auto second = ConstantAt(draft, InputOf(op, 1), 1);
    const TensorId axes = InputOf(op, 3);
    const auto of = axes.valid() ? ConstantAt(draft, axes, 0) : std::optional<std::int64_t>(0);
    const TensorId steps = InputOf(op, 4);
    const auto step = steps.valid() ? ConstantAt(draft, steps, 0) : std::optional<std::int64_t>(1);
    if (second || !starts || !of || step != 1) return std::nullopt;
    const auto index = AxisOf(*of, draft.Rank(op.outputs.front()));
    if (!index || *index != axis) return std::nullopt;
    begin = *starts < 0 ? *starts + whole : *starts;
  }
  if (!begin || *begin < 0) return std::nullopt;
  return begin;
}

// The range of every output; empty: not such an operator.
std::vector<Range> RangesOf(const Draft& draft, const Op& op, const Pieces& pieces) {
  const graph::Shape* in = ShapeOf(draft, DataOf(op));
  std::vector<Range> ranges;
  if (in == nullptr) return {};
  for (const TensorId output : op.outputs) {
    const graph::Shape* out = ShapeOf(draft, output);
    if (out == nullptr || out->size() != in->size()) return {};
    for (std::size_t d = 0; d < in->size(); ++d) {
      if (d != pieces.axis && (*in)[d] != (*out)[d]) return {};
    }
    const std::int64_t begin = ranges.empty() ? 0 : ranges.back().begin + ranges.back().size;
    ranges.push_back({begin, (*out)[pieces.axis]});
  }
  if (IsSplit(op)) {
    const auto axis = SplitAxis(draft, op);
    const auto index = axis ? AxisOf(*axis, in->size()) : std::nullopt;
    return index == pieces.axis ? ranges : std::vector<Range>();
  }
  if (!IsType(op, OpKind::kSlice, OpKind::kOnnxSlice) || ranges.size() != 1) return {};
  const auto begin = SliceBegin(draft, op, pieces.axis, (*in)[pieces.axis]);
  if (!begin) return {};
  ranges.front().begin = *begin;
  return ranges;
}

std::optional<plan::Exactness> Match(const Draft& draft, OpId id) {
  const Op& op = draft.SourceOp(id);
  if (!IsSplit(op) && !IsType(op, OpKind::kSlice, OpKind::kOnnxSlice)) return std::nullopt;
  const TensorId in = DataOf(op);
  const Pieces* pieces = in.valid() ? draft.PiecesOf(in) : nullptr;
  if (pieces == nullptr) return std::nullopt;
  const std::vector<Range> ranges = RangesOf(draft, op, *pieces);
  if (ranges.empty()) return std::nullopt;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool same = SameNumbers(draft.TensorOf(in), draft.TensorOf(op.outputs[i]));
    if (!same || draft.IsOutput(op.outputs[i]) || Cut(*pieces, ranges[i]).empty()) {
      return std::nullopt;
    }
  }
  return plan::Exactness::kBitwise;
}

bool Apply(Draft* draft, OpId id, const Parameters& parameters) {
  if (!parameters.empty()) return false;
  const Op& op = draft->SourceOp(id);
  const Pieces pieces = *draft->PiecesOf(DataOf(op));
  const std::vector<Range> ranges = RangesOf(*draft, op, pieces);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    draft->SetPieces(op.outputs[i], {pieces.axis, Cut(pieces, ranges[i])}, false);
  }
  return true;
}

}  // namespace

Rule SliceRule() {
  return {{"slice", "replace a slice of a concatenation along its seams by the concatenated pieces",
           true},
          Match,
          Apply};
}

}  // namespace neap::rewrite
