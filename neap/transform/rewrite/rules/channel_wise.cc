// SPDX-License-Identifier: Apache-2.0
//
// channel-wise: a convolution over a concatenation is the sum of convolutions over its pieces, each
// run as soon as its piece exists. Source: SERENITY, equations 3 to 6.
//
// Pattern: value in pieces along the channels -> CONV_2D / Conv of one group with constant weights.
// Conditions: input, weights and output float32; or, where sums are in place, 8-bit integers with
//   one scale for the input.
// Memory, sums in place: the accumulator from the first part on, and one piece at a time, in place
//   of the concatenation and the output: max over i of (x_i) + y in place of sum of x_i + y. The
//   accumulator has the bytes of the output for floats, 4 or 1 byte an element for 8-bit integers;
//   with 4 the result is computed from it at the end. Sums as tensors: every partial sum is a
//   tensor of the size of the output, and an Add needs two and its result.
// Exactness: integers with accumulators of 4 bytes: Bitwise, in Neap's executor. The sum of
//   (x - zx) (w - zw) over all channels is the sum of those over the pieces, in 32-bit integers
//   that wrap; bias, scale and activation come after it as before. Everything else Reassociates.
//   Floats: sums of K products in another order differ by at most 2 K u / (1 - K u) times the sum
//   of |x w| + |bias|, u = 2^-24. Accumulators of 1 byte: channel c is held in steps of
//   s_c = s_x s_w[c] (sum of |w - zw| max |x - zx| + |bias|) / 127, which no partial sum exceeds,
//   so that n parts are off by at most (n - 1) s_c / 2 before the result is rounded.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/ops/op_table.h"
#include "neap/transform/rewrite/rules/accumulate.h"
#include "neap/transform/rewrite/rules/common.h"
#include "neap/transform/rewrite/rules/rules.h"
#include "neap/transform/rewrite/slice.h"

namespace neap::rewrite {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Tensor;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

bool IsByte(ElementType type) { return type == ElementType::kInt8 || type == ElementType::kUint8; }

// Along which axis the weights have the input channels and the output channels.
struct Axes {
  std::size_t data = 0;
  std::size_t in = 0;
  std::size_t out = 0;
};

Axes AxesOf(const Op& op) { return IsTflite(op) ? Axes{3, 3, 0} : Axes{1, 1, 0}; }

bool TypesFit(const Draft& draft, const Op& op) {
  const Tensor& x = draft.TensorOf(op.inputs[0]);
  const Tensor& w = draft.TensorOf(op.inputs[1]);
  const Tensor& y = draft.TensorOf(op.outputs[0]);
  if (x.type == ElementType::kFloat32) {
    return w.type == ElementType::kFloat32 && y.type == ElementType::kFloat32;
  }
  if (!IsTflite(op) || draft.settings().sums != Sums::kInPlace) return false;
  const TensorId bias = InputOf(op, 2);
  return IsByte(x.type) && w.type == x.type && y.type == x.type && x.quantization &&
         y.quantization && w.quantization && HasOneScale(x) && HasOneScale(y) &&
         (!bias.valid() || draft.TensorOf(bias).type == ElementType::kInt32);
}

std::optional<plan::Exactness> Match(const Draft& draft, OpId id) {
  const Op& op = draft.SourceOp(id);
  if (!IsType(op, OpKind::kConv2d, OpKind::kOnnxConv) || op.inputs.size() < 2 ||
      op.outputs.size() != 1) {
    return std::nullopt;
  }
  const Pieces* pieces = op.inputs[0].valid() ? draft.PiecesOf(op.inputs[0]) : nullptr;
  const graph::Shape* filter = ShapeOf(draft, op.inputs[1]);
  const Axes axes = AxesOf(op);
  if (pieces == nullptr || pieces->pieces.size() < 2 || pieces->axis != axes.data) {
    return std::nullopt;
  }
  if (filter == nullptr || filter->size() <= axes.in || IntOr(op, "group", 1) != 1 ||
      (*filter)[axes.in] != SizeOf(*pieces) || !TypesFit(draft, op) ||
      !CanSlice(draft.TensorOf(op.inputs[1]), axes.in)) {
    return std::nullopt;
  }
  const TensorId bias = InputOf(op, 2);
  if (bias.valid() && !draft.TensorOf(bias).constant) return std::nullopt;
  const bool adds = draft.settings().sums == Sums::kTensors;
  if (adds && !MayAdd(draft, OpKind::kAdd, OpKind::kOnnxAdd, op.outputs[0])) return std::nullopt;
  const bool bytes = IsByte(draft.TensorOf(op.inputs[0]).type);
  return bytes && draft.settings().accumulator_bytes == 4 ? plan::Exactness::kBitwise
                                                          : plan::Exactness::kReassociates;
}

std::int64_t At(const Tensor& tensor, std::size_t index) {
  if (tensor.type == ElementType::kInt32) {
    std::int32_t value = 0;
    std::memcpy(&value, tensor.data->bytes.data() + index * 4, sizeof(value));
    return value;
  }
  const auto value = std::to_integer<std::uint8_t>(tensor.data->bytes[index]);
  return tensor.type == ElementType::kUint8 ? value : static_cast<std::int8_t>(value);
}

// The steps in which each channel of a one-byte accumulator is held: the header has the formula.
// 1 where the weights' data is not there, which an order does not need.
graph::Quantization StepsOf(const Draft& draft, const Op& op) {
  const Tensor& x = draft.TensorOf(op.inputs[0]);
  const Tensor& w = draft.TensorOf(op.inputs[1]);
  const auto channels = static_cast<std::size_t>(w.shape->front());
  graph::Quantization steps{std::vector<float>(channels, 1), std::vector<std::int64_t>(channels, 0),
                            3};
  const TensorId bias = InputOf(op, 2);
  if (!w.data || (bias.valid() && !draft.TensorOf(bias).data)) return steps;
  const std::int64_t lowest = x.type == ElementType::kUint8 ? 0 : -128;
  const std::int64_t zero = x.quantization->zero_points.front();
  const std::int64_t furthest = std::max(lowest + 255 - zero, zero - lowest);
  const std::size_t taps = channels == 0 ? 0 : w.data->bytes.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const std::size_t of = w.quantization->scales.size() == 1 ? 0 : c;
    std::int64_t sum = bias.valid() ? std::abs(At(draft.TensorOf(bias), c)) : 0;
    for (std::size_t k = 0; k < taps; ++k) {
      sum += std::abs(At(w, c * taps + k) - w.quantization->zero_points[of]) * furthest;
    }
    const double step = static_cast<double>(x.quantization->scales.front()) *
                        static_cast<double>(w.quantization->scales[of]) *
                        static_cast<double>(std::max<std::int64_t>(sum, 1)) / 127.0;
    // Not below the exact one: nothing may saturate.
    steps.scales[c] = std::nextafter(static_cast<float>(step), INFINITY);
  }
  return steps;
}

// A tensor for partial sums; the output itself where its type suffices.
TensorId Accumulator(Draft* draft, const Op& op, const std::string& suffix) {
  const TensorId made = draft->NewTensor(op.outputs[0], suffix);
  Tensor& tensor = draft->Edit(made);
  if (!IsByte(tensor.type)) return made;
  if (draft->settings().accumulator_bytes == 1) {
    tensor.type = ElementType::kInt8;
    tensor.quantization = StepsOf(*draft, op);
  } else {
    tensor.type = ElementType::kInt32;
    tensor.quantization.reset();
  }
  return made;
}

struct Part {
  TensorId data;
  TensorId weights;
};

std::vector<Part> PartsOf(Draft* draft, const Op& op, const std::vector<std::size_t>& order) {
  const Pieces pieces = *draft->PiecesOf(op.inputs[0]);
  std::vector<std::int64_t> begins;
  begins.reserve(pieces.pieces.size());
  std::int64_t begin = 0;
  for (const Piece& piece : pieces.pieces) {
    begins.push_back(begin);
    begin += piece.size;
  }
  std::vector<Part> parts;
  parts.reserve(order.size());
  for (const std::size_t k : order) {
    parts.push_back({pieces.pieces[k].tensor,
                     draft->Slice(op.inputs[1], AxesOf(op).in, begins[k], pieces.pieces[k].size)});
  }
  return parts;
}

bool IsWide(const Draft& draft, const Op& op) {
  return IsByte(draft.TensorOf(op.outputs[0]).type) && draft.settings().accumulator_bytes != 1;
}

void ApplyInPlace(Draft* draft, OpId id, const std::vector<std::size_t>& order) {
  const Op& op = draft->SourceOp(id);
  const TensorId out = op.outputs[0];
  const std::vector<Part> parts = PartsOf(draft, op, order);
  const bool wide = IsWide(*draft, op);
  TensorId sum;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const bool last = !wide && k + 1 == parts.size();
    Op part = draft->Like(id, "/part" + std::to_string(order[k]));
    ops::SetKind(&part, OpKind::kNeapAccumulate);
    part.attributes["layout"] = std::string(IsTflite(op) ? "channels last" : "channels first");
    part.attributes["last"] = std::int64_t{last ? 1 : 0};
    part.inputs = {sum, parts[k].data, parts[k].weights, last ? InputOf(op, 2) : TensorId()};
    sum = last ? out : Accumulator(draft, op, "/sum" + std::to_string(k));
    part.outputs = {sum};
    draft->Emit(std::move(part));
  }
  if (!wide) return;
  Op end = draft->Like(id, "/result");
  ops::SetKind(&end, OpKind::kNeapRequantize);
  end.attributes["input_scale"] =
      static_cast<double>(draft->TensorOf(op.inputs[0]).quantization->scales.front());
  end.inputs = {sum, parts.front().weights, InputOf(op, 2)};
  end.outputs = {out};
  draft->Emit(std::move(end));
}

// A bias of zeros: LiteRT loads no float CONV_2D without one.
TensorId ZeroBias(Draft* draft, const Op& op) {
  const TensorId made = draft->NewTensor(InputOf(op, 2), "/zero");
  Tensor& tensor = draft->Edit(made);
  const auto bytes = graph::TensorBytes(tensor);
  auto zeros =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes.value_or(0)));
  tensor.constant = true;
  tensor.data = graph::ConstantData{zeros, *zeros};
  return made;
}

// The bias is added with the first part, the activation is applied to the last sum.
void ApplyTensors(Draft* draft, OpId id, const std::vector<std::size_t>& order) {
  const Op& op = draft->SourceOp(id);
  const bool tflite = IsTflite(op);
  const TensorId out = op.outputs[0];
  const std::vector<Part> parts = PartsOf(draft, op, order);
  std::vector<Draft::Term> terms;
  for (const Piece& piece : draft->PiecesOf(op.inputs[0])->pieces) terms.push_back({piece.tensor});
  draft->NoteTerms(id, std::move(terms));
  const TensorId zero = tflite && InputOf(op, 2).valid() ? ZeroBias(draft, op) : TensorId();
  TensorId sum;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::string suffix = "/part" + std::to_string(order[k]);
    Op part = draft->Like(id, suffix);
    part.inputs = {parts[k].data, parts[k].weights};
    if (tflite) part.attributes["fused_activation_function"] = std::int64_t{0};
    const TensorId bias = k == 0 ? InputOf(op, 2) : zero;
    if (bias.valid()) part.inputs.push_back(bias);
    const TensorId made = draft->NewTensor(out, suffix);
    part.outputs = {made};
    draft->Emit(std::move(part));
    if (k == 0) {
      sum = made;
      continue;
    }
    const bool last = k + 1 == parts.size();
    Op add;
    ops::SetKind(&add, tflite ? OpKind::kAdd : OpKind::kOnnxAdd);
    add.domain = op.domain;
    add.version = op.version;
    if (!op.name.empty()) add.name = op.name + "/sum" + std::to_string(k);
    if (tflite) {
      add.attributes["fused_activation_function"] =
          last ? IntOr(op, "fused_activation_function", 0) : 0;
    }
    add.inputs = {sum, made};
    sum = last ? out : draft->NewTensor(out, "/sum" + std::to_string(k));
    add.outputs = {sum};
    draft->Emit(std::move(add));
  }
}

std::vector<TensorId> TensorsOf(const Draft& draft, const Op& op) {
  std::vector<TensorId> tensors;
  for (const Piece& piece : draft.PiecesOf(op.inputs[0])->pieces) tensors.push_back(piece.tensor);
  return tensors;
}

void Order(Draft* draft, OpId id) {
  const Op& op = draft->SourceOp(id);
  const TensorId out = op.outputs[0];
  OrderAnyWay(draft, id, TensorsOf(*draft, op),
              IsWide(*draft, op) ? Accumulator(draft, op, "/sum") : out, out);
}

bool Apply(Draft* draft, OpId id, const Parameters& parameters) {
  const std::size_t count = draft->PiecesOf(draft->SourceOp(id).inputs[0])->pieces.size();
  const std::vector<std::size_t> order = OrderOfParts(parameters, count);
  if (order.empty()) return false;
  if (draft->settings().sums == Sums::kTensors) {
    ApplyTensors(draft, id, order);
  } else if (draft->purpose() == Purpose::kOrder) {
    Order(draft, id);
  } else {
    ApplyInPlace(draft, id, order);
  }
  return true;
}

// Bytes of a concatenation that its pieces do not have where others read it after the operator: in
// the relaxed graph the pieces then stay, in place of the whole.
std::int64_t BeyondPieces(const Draft& draft, const Op& op, std::int64_t whole_bytes) {
  const TensorId input = op.inputs[0];
  const OpId made_by = draft.ProducerOf(input);
  const bool is_concat =
      made_by.valid() && Is(draft.SourceOp(made_by), OpKind::kConcatenation, OpKind::kOnnxConcat);
  if (is_concat && draft.ReadersOf(input).size() == 1 && !draft.IsOutput(input)) {
    return whole_bytes;
  }
  const std::vector<TensorId> tensors = TensorsOf(draft, op);
  for (const TensorId piece : std::set<TensorId>(tensors.begin(), tensors.end())) {
    whole_bytes -= graph::TensorBytes(draft.TensorOf(piece)).value_or(whole_bytes);
  }
  return std::max<std::int64_t>(whole_bytes, 0);
}

// Whole, the concatenation is live beside the output; in parts, an accumulator of 4 bytes is live
// beside the result. Every other way needs at least the output and the other live tensors.
void Relax(Draft* draft, OpId id) {
  const Op& op = draft->SourceOp(id);
  const auto whole = graph::TensorBytes(draft->TensorOf(op.inputs[0]));
  const auto out = graph::TensorBytes(draft->TensorOf(op.outputs[0]));
  const bool wide = IsWide(*draft, op) && draft->settings().sums == Sums::kInPlace;
  std::int64_t scratch = 0;
  if (wide && whole && out) {
    const std::int64_t beyond = BeyondPieces(*draft, op, *whole);
    scratch = std::min(beyond, CheckedMultiply(*out, 4).value_or(beyond));
  }
  RelaxSum(draft, id, TensorsOf(*draft, op), op.outputs[0], scratch);
}

}  // namespace

Rule ChannelWiseRule() {
  return {{"channel-wise",
           "replace a convolution over a concatenation by a sum of partial convolutions", false},
          Match,
          Apply,
          Relax};
}

}  // namespace neap::rewrite
