// SPDX-License-Identifier: Apache-2.0
//
// sum: a sum of many becomes a chain of Adds, in the order in which its terms arrive.
//
// Pattern: ADD_N / Sum of at least three terms. Conditions: all terms have the shape and type of
// the result; float32, without quantisation. Memory: a term is freed when it has been added: the
// partial sum and one term in place of all terms.
//   In place (profiles that allow it) the partial sum is one tensor's bytes throughout.
// Exactness: Sum in the order of its inputs is Bitwise: runtimes add the terms one after another.
//   In another order, and ADD_N, which threads may share, Reassociates: n terms differ by at most
//   2 n u / (1 - n u) times the sum of |x_i|, u = 2^-24.
#include "neap/ops/op_table.h"
#include "neap/transform/rewrite/rules/accumulate.h"
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
  if (!IsType(op, OpKind::kAddN, OpKind::kOnnxSum) || op.inputs.size() < 3 ||
      op.outputs.size() != 1) {
    return std::nullopt;
  }
  const graph::Tensor& out = draft.TensorOf(op.outputs[0]);
  if (out.type != graph::ElementType::kFloat32 || (IsOnnx(op) && op.version < 8)) {
    return std::nullopt;
  }
  for (const TensorId input : op.inputs) {
    const graph::Shape* shape = ShapeOf(draft, input);
    if (shape == nullptr || *shape != *out.shape || draft.TensorOf(input).type != out.type) {
      return std::nullopt;
    }
  }
  if (!MayAdd(draft, OpKind::kAdd, OpKind::kOnnxAdd, op.outputs[0])) return std::nullopt;
  return IsOnnx(op) && draft.settings().keep_order ? plan::Exactness::kBitwise
                                                   : plan::Exactness::kReassociates;
}

bool Apply(Draft* draft, OpId id, const Parameters& parameters) {
  const Op& op = draft->SourceOp(id);
  const std::vector<std::size_t> order = OrderOfParts(parameters, op.inputs.size());
  if (order.empty()) return false;
  const bool tflite = IsTflite(op);
  if (!draft->settings().keep_order) {
    std::vector<Draft::Term> terms;
    terms.reserve(op.inputs.size());
    for (const TensorId input : op.inputs) {
      terms.push_back({draft->Readable(input).front(), OpId()});
    }
    draft->NoteTerms(id, std::move(terms));
  }
  std::vector<TensorId> sum = draft->Readable(op.inputs[order.front()]);
  for (std::size_t k = 1; k < order.size(); ++k) {
    const std::string suffix = "/sum" + std::to_string(k);
    Op add;
    ops::SetKind(&add, tflite ? OpKind::kAdd : OpKind::kOnnxAdd);
    add.domain = op.domain;
    add.version = op.version;
    if (!op.name.empty()) add.name = op.name + suffix;
    if (tflite) add.attributes["fused_activation_function"] = std::int64_t{0};
    add.inputs = std::move(sum);
    for (const TensorId term : draft->Readable(op.inputs[order[k]])) add.inputs.push_back(term);
    const bool last = k + 1 == order.size();
    sum = {last ? op.outputs[0] : draft->NewTensor(op.outputs[0], suffix)};
    add.outputs = sum;
    draft->Emit(std::move(add));
  }
  return true;
}

// Every term may be freed as soon as it is computed; the storage of the sum meanwhile is not
// counted.
void Relax(Draft* draft, OpId id) {
  const Op& op = draft->SourceOp(id);
  RelaxReads(draft, op.inputs, op.outputs[0]);
}

}  // namespace

Rule SumRule() {
  return {
      {"sum", "add the terms of a sum as soon as they are computed", false}, Match, Apply, Relax};
}

}  // namespace neap::rewrite
