// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/op_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "neap/ops/onnx_rules.h"

namespace neap::ops {
namespace {

constexpr Dialect kDialects[] = {Dialect::kTflite, Dialect::kCustom, Dialect::kNeap,
                                 Dialect::kOnnx};

graph::Op OpOf(std::string domain, std::string type) {
  graph::Op op;
  op.domain = std::move(domain);
  op.type = std::move(type);
  return op;
}

// Across the dialects, too: a kind is of one row.
TEST(OpTable, NamesAndKindsAreUnique) {
  std::set<OpKind> kinds;
  std::size_t rows = 0;
  for (const Dialect dialect : kDialects) {
    std::set<std::string_view> names;
    for (const OpRow& row : RowsOf(dialect)) {
      ++rows;
      EXPECT_FALSE(row.name.empty());
      EXPECT_TRUE(names.insert(row.name).second) << row.name;
      EXPECT_TRUE(kinds.insert(row.kind).second) << row.name;
    }
  }
  EXPECT_EQ(kinds.size(), rows);
  EXPECT_FALSE(kinds.contains(OpKind::kUnknown));
  // No kind is without a row.
  EXPECT_EQ(static_cast<std::size_t>(*kinds.rbegin()), rows);
}

TEST(OpTable, FindsEveryRowByKindAndByName) {
  for (const Dialect dialect : kDialects) {
    for (const OpRow& row : RowsOf(dialect)) {
      EXPECT_EQ(&RowOf(row.kind), &row) << row.name;
      EXPECT_EQ(KindNamed(dialect, row.name), row.kind) << row.name;
      graph::Op op;
      SetKind(&op, row.kind);
      EXPECT_EQ(op.type, row.name);
      EXPECT_EQ(op.kind, row.kind);
      op.kind = {};
      EXPECT_EQ(KindOf(op), row.kind) << row.name;
    }
  }
  EXPECT_EQ(RowOf(OpKind::kUnknown).name, "");
  EXPECT_EQ(KindNamed(Dialect::kTflite, "Conv"), OpKind::kUnknown);
}

TEST(OpTable, ADomainGivesANameItsMeaning) {
  EXPECT_EQ(KindOf(OpOf("tflite", "LSTM")), OpKind::kLstm);
  EXPECT_EQ(KindOf(OpOf("", "LSTM")), OpKind::kOnnxLSTM);
  EXPECT_EQ(KindOf(OpOf("ai.onnx", "Conv")), OpKind::kOnnxConv);
  EXPECT_EQ(KindOf(OpOf("com.microsoft", "Gelu")), OpKind::kOnnxGelu);
  EXPECT_EQ(KindOf(OpOf("custom", "SignalWindow")), OpKind::kSignalWindow);
  EXPECT_EQ(KindOf(OpOf("neap", "ACCUMULATE")), OpKind::kNeapAccumulate);
  for (const char* domain : {"json", "custom", "my.domain"}) {
    EXPECT_EQ(KindOf(OpOf(domain, "Conv")), OpKind::kUnknown) << domain;
    EXPECT_EQ(KindOfName(OpOf(domain, "Conv")), OpKind::kOnnxConv) << domain;
    EXPECT_EQ(KindOfName(OpOf(domain, "CONV_2D")), OpKind::kConv2d) << domain;
  }
}

// Names may change under a kind that was set before, in a copy of an operator, for example.
TEST(OpTable, TheNameIsRightWhereItContradictsTheKind) {
  graph::Op op;
  SetKind(&op, OpKind::kConv2d);
  op.type = "ADD";
  EXPECT_EQ(KindOf(op), OpKind::kAdd);
  Resolve(&op);
  EXPECT_EQ(op.kind, OpKind::kAdd);
  op.domain = "";
  op.type = "Add";
  EXPECT_EQ(KindOf(op), OpKind::kOnnxAdd);
  op.domain = "json";
  EXPECT_EQ(KindOf(op), OpKind::kUnknown);
  EXPECT_TRUE(Is(OpOf("tflite", "PADV2"), OpKind::kPad, OpKind::kPadv2));
  EXPECT_FALSE(Is(op, OpKind::kAdd, OpKind::kOnnxAdd));
}

TEST(OpTable, LitertSharesInputsOfItsOwnOperatorsOnly) {
  int shared = 0;
  for (const Dialect dialect : kDialects) {
    for (const OpRow& row : RowsOf(dialect)) {
      const bool any = row.litert.inputs > 0 || row.litert.keeps_output;
      EXPECT_TRUE(!any || dialect == Dialect::kTflite) << row.name;
      EXPECT_TRUE(!row.litert.keeps_data || row.litert.inputs == 1) << row.name;
      shared += row.litert.inputs > 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(shared, 10);
}

// Their rule follows from the trait.
TEST(OpTable, ElementwiseOperatorsHaveNoOtherDependence) {
  for (const Dialect dialect : kDialects) {
    for (const OpRow& row : RowsOf(dialect)) {
      EXPECT_FALSE((row.traits & trait::kElementwise) != 0 && row.need != nullptr) << row.name;
    }
  }
}

TEST(OpTable, HasEveryOperatorWithAShapeRule) {
  for (const auto rules :
       {onnx::ElementwiseRules(), onnx::ConvolutionRules(), onnx::NetworkRules(), onnx::MoveRules(),
        onnx::IndexRules(), onnx::ReduceRules(), onnx::VendorRules()}) {
    for (const onnx::Rule& rule : rules) {
      EXPECT_NE(KindNamed(Dialect::kOnnx, rule.type), OpKind::kUnknown) << rule.type;
      EXPECT_TRUE(IsOnnxDialect(rule.domain)) << rule.domain;
    }
  }
}

}  // namespace
}  // namespace neap::ops
