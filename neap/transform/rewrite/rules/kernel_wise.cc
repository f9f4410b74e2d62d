// SPDX-License-Identifier: Apache-2.0
//
// kernel-wise: an operator that treats every channel apart runs on the pieces of its input, and its
// output is in pieces, too. Source: SERENITY, equations 7 and 8.
//
// Pattern: value in pieces -> depthwise or grouped convolution, pooling, padding, element-wise
//   operator (with constants, with operands in the same pieces or the same for all channels),
//   quantisation, batch normalisation.
// Conditions: no channel needs another one (per_channel.h), which excludes convolutions of float
//   activations with integer weights: they have one scale for all channels. Pieces are whole
//   groups. Element-wise operators work along any axis.
// Memory: the input need not exist in one piece, and a piece of it is freed when its part has run.
//   Where the output is wanted whole, a concatenation of it replaces that of the input.
// Exactness: Bitwise. f(concat(x1, x2)) = concat(f(x1), f(x2)), every element by the same
//   arithmetic.
#include "neap/ops/op_table.h"
#include "neap/transform/rewrite/rules/common.h"
#include "neap/transform/rewrite/rules/per_channel.h"
#include "neap/transform/rewrite/rules/rules.h"

namespace neap::rewrite {
namespace {

using graph::Op;
using graph::OpId;
using graph::TensorId;
using Kind = ChannelCut::Kind;
using ops::OpKind;

struct Seams {
  ChannelCut cut;
  Pieces data;
};

// The pieces of the data and how everything else is cut for them; nullopt: it does not fit.
std::optional<Seams> SeamsOf(const Draft& draft, OpId id) {
  const Op& op = draft.SourceOp(id);
  const Pieces* data = nullptr;
  for (const TensorId input : op.inputs) {
    if (!input.valid() || draft.PiecesOf(input) == nullptr) continue;
    data = draft.PiecesOf(input);
    break;
  }
  if (data == nullptr || data->pieces.size() < 2) return std::nullopt;
  const auto cut = CutOf(draft, id, data->axis);
  if (!cut) return std::nullopt;
  for (const Piece& piece : data->pieces) {
    if (piece.size % cut->granularity != 0) return std::nullopt;
  }
  for (std::size_t i = 0; i < cut->inputs.size(); ++i) {
    if (cut->inputs[i].kind != Kind::kPiece) continue;
    const Pieces* other = draft.PiecesOf(op.inputs[i]);
    if (other == nullptr || other->axis != data->axis ||
        other->pieces.size() != data->pieces.size()) {
      return std::nullopt;
    }
    for (std::size_t k = 0; k < data->pieces.size(); ++k) {
      if (other->pieces[k].size != data->pieces[k].size) return std::nullopt;
    }
  }
  return Seams{*cut, *data};
}

std::optional<plan::Exactness> Match(const Draft& draft, OpId id) {
  if (!SeamsOf(draft, id)) return std::nullopt;
  const TensorId out = draft.SourceOp(id).outputs.front();
  if (!MayAdd(draft, OpKind::kConcatenation, OpKind::kOnnxConcat, out)) return std::nullopt;
  return plan::Exactness::kBitwise;
}

void Partition(Draft* draft, OpId id, bool free) {
  const Op& op = draft->SourceOp(id);
  const Seams seams = *SeamsOf(*draft, id);
  const ChannelCut& cut = seams.cut;
  const TensorId out = op.outputs.front();
  Pieces made{seams.data.axis, {}};
  std::int64_t begin = 0;
  for (std::size_t k = 0; k < seams.data.pieces.size(); ++k) {
    const std::int64_t size = seams.data.pieces[k].size;
    const std::string suffix = "/part" + std::to_string(k);
    Op part = draft->Like(id, suffix);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const ChannelCut::Input& input = cut.inputs[i];
      if (!op.inputs[i].valid()) {
        part.inputs.push_back(TensorId());
      } else if (input.kind == Kind::kPiece) {
        part.inputs.push_back(draft->PiecesOf(op.inputs[i])->pieces[k].tensor);
      } else if (input.kind == Kind::kConstant) {
        part.inputs.push_back(
            draft->Slice(op.inputs[i], input.axis, begin * input.factor, size * input.factor));
      } else {
        for (const TensorId shared : draft->Readable(op.inputs[i])) part.inputs.push_back(shared);
      }
    }
    if (cut.groups_attribute != nullptr) {
      part.attributes[cut.groups_attribute] = size / cut.group_channels;
    }
    const TensorId tensor = draft->NewTensor(out, suffix);
    Resize(&draft->Edit(tensor), made.axis, size * cut.out_factor);
    part.outputs = {tensor};
    draft->Emit(std::move(part));
    made.pieces.push_back({tensor, size * cut.out_factor});
    begin += size;
  }
  draft->SetPieces(out, std::move(made), free);
}

bool Apply(Draft* draft, OpId id, const Parameters& parameters) {
  if (!parameters.empty()) return false;
  Partition(draft, id, false);
  return true;
}

void Relax(Draft* draft, OpId id) { Partition(draft, id, true); }

}  // namespace

Rule KernelWiseRule() {
  return {{"kernel-wise",
           "apply depthwise and other per-channel operators to the pieces of a "
           "concatenation",
           false},
          Match,
          Apply,
          Relax};
}

}  // namespace neap::rewrite
