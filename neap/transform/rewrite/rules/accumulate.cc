// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/rewrite/rules/accumulate.h"

#include <numeric>
#include <utility>

#include "neap/ops/op_table.h"

namespace neap::rewrite {

using graph::Op;
using graph::OpId;
using graph::TensorId;
using ops::OpKind;

std::vector<std::size_t> OrderOfParts(const Parameters& parameters, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (parameters.empty()) return order;
  if (parameters.size() != count) return {};
  std::vector<bool> seen(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t part = parameters[i];
    if (part < 0 || part >= static_cast<std::int64_t>(count)) return {};
    order[i] = static_cast<std::size_t>(part);
    if (seen[order[i]]) return {};
    seen[order[i]] = true;
  }
  return order;
}

namespace {

Op Make(OpId id, OpKind kind) {
  Op op;
  ops::SetKind(&op, kind);
  op.name = std::to_string(id.value());
  return op;
}

std::vector<OpId> AddParts(Draft* draft, OpId id, const std::vector<TensorId>& pieces,
                           TensorId accumulator) {
  Op start = Make(id, OpKind::kNeapStart);
  start.outputs = {accumulator};
  draft->Emit(std::move(start));
  std::vector<OpId> parts;
  std::vector<Draft::Term> terms;
  for (const TensorId piece : pieces) {
    Op part = Make(id, OpKind::kNeapPart);
    part.inputs = {accumulator, piece};
    parts.push_back(draft->Emit(std::move(part)));
    terms.push_back({piece, parts.back()});
  }
  draft->NoteTerms(id, std::move(terms));
  return parts;
}

}  // namespace

void RelaxSum(Draft* draft, OpId id, const std::vector<TensorId>& pieces, TensorId out,
              std::int64_t scratch_bytes) {
  const std::vector<OpId> parts = AddParts(draft, id, pieces, out);
  Op end = Make(id, OpKind::kNeapEnd);
  end.inputs = {out};
  end.scratch_bytes = scratch_bytes;
  const OpId ended = draft->Emit(std::move(end));
  for (const OpId part : parts) draft->Edge(part, ended);
  draft->ReadAfter(out, ended);
}

void OrderAnyWay(Draft* draft, OpId id, const std::vector<TensorId>& pieces, TensorId accumulator,
                 TensorId out) {
  const std::vector<OpId> parts = AddParts(draft, id, pieces, accumulator);
  if (accumulator == out) {
    for (const OpId part : parts) draft->ReadAfter(out, part);
    return;
  }
  Op end = Make(id, OpKind::kNeapEnd);
  end.inputs = {accumulator};
  end.outputs = {out};
  const OpId ended = draft->Emit(std::move(end));
  for (const OpId part : parts) draft->Edge(part, ended);
}

}  // namespace neap::rewrite
