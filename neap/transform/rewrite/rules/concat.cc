// SPDX-License-Identifier: Apache-2.0
//
// concat: the pieces of a concatenation are its value; it is computed only where an operator needs
// it in one piece. By itself this flattens concatenations of concatenations and removes those that
// no operator reads whole; the rules for partitioned operators use it.
//
// Pattern: CONCATENATION / Concat.
// Conditions: no fused activation; every part has the type, scale and zero point of the result (a
//   kernel rescales parts that differ).
// Memory: between the concatenation and its first reader the parts are held in place of their
//   copy, as many bytes; an inner concatenation costs nothing any more. A part that others read
//   later is not held twice meanwhile.
// Exactness: Bitwise. Concatenation is associative.
#include "neap/ops/op_table.h"
#include "neap/transform/rewrite/rules/common.h"
#include "neap/transform/rewrite/rules/rules.h"

namespace neap::rewrite {
namespace {

using graph::Op;
using graph::OpId;
using graph::TensorId;
using ops::OpKind;

std::optional<plan::Exactness> Match(const Draft& draft, OpId id) {
  const Op& op = draft.SourceOp(id);
  if (!IsType(op, OpKind::kConcatenation, OpKind::kOnnxConcat) ||
      op.inputs.size() > draft.settings().max_concat_inputs) {
    return std::nullopt;
  }
  if (op.outputs.size() != 1 || IntOr(op, "fused_activation_function", 0) != 0) return std::nullopt;
  const TensorId out = op.outputs.front();
  const graph::Shape* shape = ShapeOf(draft, out);
  if (shape == nullptr || op.inputs.size() < 2) return std::nullopt;
  const auto axis = AxisOf(IntOr(op, "axis", 0), shape->size());
  if (!axis) return std::nullopt;
  for (const TensorId input : op.inputs) {
    const graph::Shape* part = ShapeOf(draft, input);
    if (part == nullptr || part->size() != shape->size() || (*part)[*axis] <= 0) {
      return std::nullopt;
    }
    if (!SameNumbers(draft.TensorOf(input), draft.TensorOf(out))) return std::nullopt;
  }
  return plan::Exactness::kBitwise;
}

bool Apply(Draft* draft, OpId id, const Parameters& parameters) {
  if (!parameters.empty()) return false;
  const Op& op = draft->SourceOp(id);
  const TensorId out = op.outputs.front();
  Pieces value;
  value.axis = *AxisOf(IntOr(op, "axis", 0), draft->Rank(out));
  // A chain of concatenations would have as many pieces as all of its links together.
  const std::size_t most = draft->settings().max_concat_inputs;
  std::size_t left = op.inputs.size();
  for (const TensorId input : op.inputs) {
    --left;
    // Whether or not the part is needed whole as well: the pieces of a value depend on the choices
    // alone.
    const Pieces* pieces = draft->PiecesOf(input);
    const bool has_axis = pieces != nullptr && pieces->axis == value.axis;
    const bool few = value.pieces.size() + (has_axis ? pieces->pieces.size() : 1) + left <= most;
    if (has_axis && !few) draft->NoteLimit();
    if (has_axis && (few || draft->relaxed())) {
      value.pieces.insert(value.pieces.end(), pieces->pieces.begin(), pieces->pieces.end());
      continue;
    }
    const TensorId tensor = draft->Whole(input);
    value.pieces.push_back({tensor, (*draft->TensorOf(tensor).shape)[value.axis]});
  }
  draft->SetPieces(out, std::move(value), false);
  return true;
}

}  // namespace

Rule ConcatRule() {
  return {{"concat", "flatten concatenations; keep one only where a consumer reads it as a whole",
           true},
          Match,
          Apply};
}

}  // namespace neap::rewrite
