// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/kernel.h"

#include <gtest/gtest.h>

#include "neap/execute/families.h"
#include "neap/ops/op_table.h"

namespace neap::execute {
namespace {

void ExpectKnown(ops::Dialect dialect, std::span<const KernelEntry> entries) {
  EXPECT_FALSE(entries.empty());
  for (const KernelEntry& entry : entries) {
    EXPECT_NE(ops::KindNamed(dialect, entry.type), ops::OpKind::kUnknown) << entry.type;
  }
}

TEST(KernelTest, EveryKernelIsOfAnOperatorOfTheTable) {
  for (const KernelFamily family : TfliteFamilies()) ExpectKnown(ops::Dialect::kTflite, family());
  for (const KernelFamily family : OnnxFamilies()) ExpectKnown(ops::Dialect::kOnnx, family());
  ExpectKnown(ops::Dialect::kNeap, NeapKernels());
}

}  // namespace
}  // namespace neap::execute
