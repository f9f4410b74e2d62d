// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/op_table.h"

#include <algorithm>
#include <array>

#include "neap/ops/op_rules.h"

namespace neap::ops {
namespace {

constexpr OpRow kNoRow;

std::optional<Dialect> DialectOf(std::string_view domain) {
  if (domain == "tflite") return Dialect::kTflite;
  if (IsOnnxDialect(domain)) return Dialect::kOnnx;
  if (domain == "custom") return Dialect::kCustom;
  if (domain == "neap") return Dialect::kNeap;
  return std::nullopt;
}

constexpr auto kDialects =
    std::to_array({Dialect::kTflite, Dialect::kCustom, Dialect::kNeap, Dialect::kOnnx});

bool Holds(std::span<const OpRow> rows, OpKind kind) {
  return kind >= rows.front().kind && kind <= rows.back().kind;
}

Dialect DialectOf(OpKind kind) {
  return *std::find_if(kDialects.begin(), kDialects.end(),
                       [&](Dialect dialect) { return Holds(RowsOf(dialect), kind); });
}

// Rows by name.
std::vector<const OpRow*> Sorted(Dialect dialect) {
  std::vector<const OpRow*> sorted;
  for (const OpRow& row : RowsOf(dialect)) sorted.push_back(&row);
  std::sort(sorted.begin(), sorted.end(),
            [](const OpRow* a, const OpRow* b) { return a->name < b->name; });
  return sorted;
}

}  // namespace

std::span<const OpRow> RowsOf(Dialect dialect) {
  switch (dialect) {
    case Dialect::kTflite:
      return TfliteRows();
    case Dialect::kCustom:
      return CustomRows();
    case Dialect::kNeap:
      return NeapRows();
    case Dialect::kOnnx:
      return OnnxRows();
  }
  return {};
}

const OpRow& RowOf(OpKind kind) {
  if (kind == OpKind::kUnknown) return kNoRow;
  for (const Dialect dialect : kDialects) {
    const std::span<const OpRow> rows = RowsOf(dialect);
    if (!Holds(rows, kind)) continue;
    return rows[static_cast<std::size_t>(kind) - static_cast<std::size_t>(rows.front().kind)];
  }
  return kNoRow;
}

OpKind KindNamed(Dialect dialect, std::string_view name) {
  static const std::array<std::vector<const OpRow*>, kDialects.size()> kSorted = [] {
    std::array<std::vector<const OpRow*>, kDialects.size()> sorted;
    for (const Dialect each : kDialects) sorted[static_cast<std::size_t>(each)] = Sorted(each);
    return sorted;
  }();
  const auto& rows = kSorted[static_cast<std::size_t>(dialect)];
  const auto found =
      std::lower_bound(rows.begin(), rows.end(), name,
                       [](const OpRow* row, std::string_view other) { return row->name < other; });
  return found == rows.end() || (*found)->name != name ? OpKind::kUnknown : (*found)->kind;
}

OpKind KindOf(const graph::Op& op) {
  const std::optional<Dialect> dialect = DialectOf(op.domain);
  if (!dialect) return OpKind::kUnknown;
  // Renaming an operator does not require setting its kind.
  if (op.kind != OpKind::kUnknown && Holds(RowsOf(*dialect), op.kind) &&
      RowOf(op.kind).name == op.type) {
    return op.kind;
  }
  return KindNamed(*dialect, op.type);
}

void Resolve(graph::Op* op) { op->kind = KindOf(*op); }

void SetKind(graph::Op* op, OpKind kind) {
  constexpr std::array<std::string_view, kDialects.size()> kDomains = {"tflite", "custom", "neap",
                                                                       ""};
  op->type = RowOf(kind).name;
  op->domain = kDomains[static_cast<std::size_t>(DialectOf(kind))];
  op->kind = kind;
}

OpKind KindOfName(const graph::Op& op) {
  OpKind kind = KindOf(op);
  if (kind == OpKind::kUnknown) kind = KindNamed(Dialect::kOnnx, op.type);
  return kind == OpKind::kUnknown ? KindNamed(Dialect::kTflite, op.type) : kind;
}

bool IsDefaultOnnxDomain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

bool IsOnnxDialect(std::string_view domain) {
  return IsDefaultOnnxDomain(domain) || domain == "com.microsoft" || domain == "PACTOps" ||
         domain == "onnx.brevitas" || domain == "qonnx.custom_op.general" ||
         domain == "finn.custom_op.general";
}

}  // namespace neap::ops
