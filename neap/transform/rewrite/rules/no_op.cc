// SPDX-License-Identifier: Apache-2.0
//
// no-op: an operator whose output is its input, byte for byte, is taken out.
//
// Pattern: Identity and Dropout that only copies, a SPLIT into one, a CONCATENATION or ONNX Sum of
// one
//   (ADD_N adds to a zero, which makes 0 of -0),
//   RESHAPE-like, TRANSPOSE, SLICE, PAD, TILE and Cast that change nothing, and the second of two
//   RESHAPEs or TRANSPOSEs that undo each other.
// Conditions: input and output have the same type, shape, scale and zero point. An output of the
//   graph keeps its name, so its input has to be written by an operator and must have no other
//   consumer.
// Memory: consumers of the output read the input. In every order the remaining steps have a
//   subset of their earlier live tensors.
// Exactness: Bitwise. y = x.
#include <algorithm>
#include <numeric>

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

using Integers = std::vector<std::int64_t>;

bool IsIdentityOrder(const Integers& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

std::size_t InputsOf(const Op& op) {
  return static_cast<std::size_t>(
      std::count_if(op.inputs.begin(), op.inputs.end(), [](TensorId id) { return id.valid(); }));
}

bool IsReshape(const Op& op) {
  return Is(op, OpKind::kReshape, OpKind::kSqueeze, OpKind::kExpandDims, OpKind::kOnnxReshape,
            OpKind::kOnnxSqueeze, OpKind::kOnnxUnsqueeze, OpKind::kOnnxFlatten);
}
bool IsTranspose(const Op& op) { return IsType(op, OpKind::kTranspose, OpKind::kOnnxTranspose); }

std::optional<Integers> OrderOf(const Draft& draft, const Op& op) {
  const graph::Shape* shape = ShapeOf(draft, InputOf(op, 0));
  if (shape == nullptr) return std::nullopt;
  Integers order;
  if (IsTflite(op)) {
    const TensorId given = InputOf(op, 1);
    if (!given.valid()) return std::nullopt;
    const auto values = IntegersOf(draft.TensorOf(given));
    if (!values) return std::nullopt;
    order = *values;
  } else {
    order = IntsOr(op, "perm");
    if (order.empty()) {
      order.resize(shape->size());
      std::iota(order.rbegin(), order.rend(), 0);
    }
  }
  Integers sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (order.size() != shape->size() || !IsIdentityOrder(sorted)) return std::nullopt;
  return order;
}

bool AllZero(const Draft& draft, const Op& op) {
  const TensorId given = InputOf(op, 1);
  const auto values = given.valid() ? IntegersOf(draft.TensorOf(given)) : std::nullopt;
  return values && std::all_of(values->begin(), values->end(), [](auto v) { return v == 0; });
}

// Types that copy whenever the shape stays the same.
bool CopiesSameShape(const Op& op) {
  return Is(op, OpKind::kReshape, OpKind::kSqueeze, OpKind::kExpandDims, OpKind::kSlice,
            OpKind::kSplit, OpKind::kSplitV, OpKind::kTile, OpKind::kBroadcastTo, OpKind::kCast,
            OpKind::kOnnxIdentity, OpKind::kOnnxReshape, OpKind::kOnnxSqueeze,
            OpKind::kOnnxUnsqueeze, OpKind::kOnnxFlatten, OpKind::kOnnxSlice, OpKind::kOnnxSplit,
            OpKind::kOnnxTile, OpKind::kOnnxExpand, OpKind::kOnnxCast);
}

// A Slice of the whole may go backwards.
bool GoesForward(const Draft& draft, const Op& op) {
  if (!IsOnnx(op) || !Is(op, OpKind::kOnnxSlice)) return true;
  const TensorId steps = InputOf(op, 4);
  if (!steps.valid()) return true;
  const auto values = IntegersOf(draft.TensorOf(steps));
  return values && std::all_of(values->begin(), values->end(), [](auto v) { return v == 1; });
}

bool CopiesItsInput(const Draft& draft, const Op& op) {
  const TensorId in = op.inputs.front();
  const TensorId out = op.outputs.front();
  const graph::Shape* from = ShapeOf(draft, in);
  const graph::Shape* to = ShapeOf(draft, out);
  if (from == nullptr || to == nullptr || *from != *to) return false;
  if (CopiesSameShape(op)) return GoesForward(draft, op);
  if (IsTranspose(op)) {
    const auto order = OrderOf(draft, op);
    return order && IsIdentityOrder(*order);
  }
  if (IsType(op, OpKind::kPad, OpKind::kPadv2)) return AllZero(draft, op);
  if (IsType(op, OpKind::kConcatenation, OpKind::kOnnxConcat, OpKind::kOnnxSum, OpKind::kOnnxMax,
             OpKind::kOnnxMin)) {
    return InputsOf(op) == 1 && IntOr(op, "fused_activation_function", 0) == 0;
  }
  // Without a training mode that is switched on.
  return IsType(op, OpKind::kOnnxDropout) && InputsOf(op) < 3 && op.version >= 7;
}

// The data input of SPLIT is its second one.
TensorId DataOf(const Op& op) { return Is(op, OpKind::kSplit) ? InputOf(op, 1) : InputOf(op, 0); }

// The source of the copy: its input, or the input of an operator that this one undoes.
TensorId SourceOf(const Draft& draft, OpId id) {
  const Op& op = draft.SourceOp(id);
  const TensorId in = DataOf(op);
  if (!in.valid() || draft.TensorOf(in).constant) return TensorId();
  Op plain = op;
  plain.inputs.front() = in;
  if (!Is(op, OpKind::kSplit)) plain.inputs = op.inputs;
  if (CopiesItsInput(draft, plain)) return in;
  const OpId before = draft.ProducerOf(in);
  if (!before.valid() || !draft.IsPlain(before)) return TensorId();
  const Op& first = draft.SourceOp(before);
  const TensorId start = InputOf(first, 0);
  const graph::Shape* from = ShapeOf(draft, start);
  const graph::Shape* to = ShapeOf(draft, op.outputs.front());
  if (from == nullptr || to == nullptr || *from != *to || draft.TensorOf(start).constant) {
    return TensorId();
  }
  if (IsReshape(op) && IsReshape(first) && op.domain == first.domain) return start;
  if (!IsTranspose(op) || !IsTranspose(first)) return TensorId();
  const auto a = OrderOf(draft, first);
  const auto b = OrderOf(draft, op);
  if (!a || !b || a->size() != b->size()) return TensorId();
  Integers both;
  for (const std::int64_t i : *b) both.push_back((*a)[static_cast<std::size_t>(i)]);
  return IsIdentityOrder(both) ? start : TensorId();
}

std::optional<plan::Exactness> Match(const Draft& draft, OpId id) {
  const Op& op = draft.SourceOp(id);
  if (!IsTflite(op) && !IsOnnx(op)) return std::nullopt;
  if (op.outputs.size() != 1 || op.inputs.empty() || !op.inputs.front().valid()) {
    return std::nullopt;
  }
  const TensorId source = SourceOf(draft, id);
  const TensorId out = op.outputs.front();
  if (!source.valid() || !SameNumbers(draft.TensorOf(source), draft.TensorOf(out))) {
    return std::nullopt;
  }
  if (draft.IsOutput(out)) {
    const OpId writer = draft.ProducerOf(source);
    const bool ours = writer.valid() && draft.IsPlain(writer) && !draft.IsOutput(source) &&
                      !draft.IsInput(source) && draft.ReadersOf(source).size() == 1 &&
                      draft.PiecesOf(source) == nullptr && draft.TensorFor(source) == source;
    if (!ours) return std::nullopt;
  }
  return plan::Exactness::kBitwise;
}

bool Apply(Draft* draft, OpId id, const Parameters& parameters) {
  if (!parameters.empty()) return false;
  draft->SetSame(draft->SourceOp(id).outputs.front(), SourceOf(*draft, id));
  return true;
}

}  // namespace

Rule NoOpRule() {
  return {{"no-op", "remove operators whose output equals their input", true}, Match, Apply};
}

}  // namespace neap::rewrite
