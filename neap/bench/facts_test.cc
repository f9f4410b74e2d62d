// SPDX-License-Identifier: Apache-2.0
#include "neap/bench/facts.h"

#include <gtest/gtest.h>

#include "neap/bench/cells.h"

namespace neap::bench {
namespace {

Result<Cell> CellA() {
  NEAP_TRY(const std::vector<Cell> cells, SerenityCells());
  return cells[1];
}

// Cell A of SwiftNet, whose numbers others have published or are proven.
TEST(Facts, OrdersOfCellA) {
  const auto cell = CellA();
  ASSERT_TRUE(cell) << cell.error().ToString();
  const auto file = Measure(cell->graph, "file", {}, 0);
  const auto planned = Measure(cell->graph, "exact", {}, 0);
  ASSERT_TRUE(file && planned);
  EXPECT_EQ(file->peak_bytes, 351'232);
  EXPECT_EQ(planned->peak_bytes, 275'968);
  EXPECT_TRUE(planned->optimal());
  EXPECT_EQ(planned->operators, 28);
  EXPECT_GE(planned->tflite_arena_bytes, planned->arena_bytes);
  const auto searched = SearchOrder(cell->graph, "exact", {}, 0);
  ASSERT_TRUE(searched);
  EXPECT_EQ(searched->peak_bytes, planned->peak_bytes);
  EXPECT_TRUE(searched->proven);
  EXPECT_FALSE(SearchOrder(cell->graph, "nosuch", {}, 0));
}

TEST(Facts, RewritingReachesWhatThePaperCounts) {
  const auto cell = CellA();
  ASSERT_TRUE(cell);
  const auto rewritten = Rewrite(*cell, {});
  ASSERT_TRUE(rewritten && *rewritten);
  EXPECT_EQ((*rewritten)->measured.peak_bytes, 188'160);
  EXPECT_EQ((*rewritten)->lower_bound_bytes, 188'160);
  EXPECT_GT((*rewritten)->applications, 0);
}

TEST(Facts, WhereNothingAppliesThereIsNoRewrittenCell) {
  const auto cells = SerenityCells();
  ASSERT_TRUE(cells);
  RunOptions quick;
  quick.quick = true;
  const auto none = Rewrite(cells->back(), quick);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

}  // namespace
}  // namespace neap::bench
