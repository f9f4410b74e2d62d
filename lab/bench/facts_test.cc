// SPDX-License-Identifier: Apache-2.0
#include "lab/bench/facts.h"

#include <gtest/gtest.h>

#include "lab/bench/cells.h"

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
  const auto file = Measure(cell->graph, compile::kFileOrder, {}, 0);
  const auto planned = Measure(cell->graph, compile::kExactOrder, {}, 0);
  ASSERT_TRUE(file && planned);
  EXPECT_EQ(file->peak_bytes, 351'232);
  EXPECT_EQ(planned->peak_bytes, 275'968);
  EXPECT_TRUE(planned->optimal());
  EXPECT_EQ(planned->operators, 28);
  EXPECT_GE(planned->tflite_arena_bytes, planned->arena_bytes);
  const auto searched = SearchOrder(cell->graph, compile::kExactOrder, {}, 0);
  ASSERT_TRUE(searched);
  EXPECT_EQ(searched->peak_bytes, planned->peak_bytes);
  EXPECT_TRUE(searched->proven);
}

TEST(Facts, OneByteSumsReachWhatThePaperCounts) {
  const auto cell = CellA();
  ASSERT_TRUE(cell);
  const auto narrow = Rewrite(RewritableOf(*cell), Rewriting::kNarrow, {});
  ASSERT_TRUE(narrow && *narrow);
  EXPECT_EQ((*narrow)->measured.peak_bytes, 188'160);
  EXPECT_EQ((*narrow)->lower_bound_bytes, 188'160);
  EXPECT_GT((*narrow)->applications, 0);
  EXPECT_FALSE((*narrow)->bitwise);
}

// Four-byte sums change no output and gain nothing in cell A; one-byte sums change outputs.
TEST(Facts, OnlyFourByteSumsAreAnIdentity) {
  const auto cells = RunnableSwiftnetCells();
  ASSERT_TRUE(cells) << cells.error().ToString();
  ASSERT_EQ(cells->size(), 3);
  const graph::Graph& cell_a = cells->front().graph;
  const auto executor = MeasureInExecutor(cell_a, {});
  const auto exact = Rewrite(cell_a, Rewriting::kExact, {});
  ASSERT_TRUE(executor && exact);
  if (*exact) {
    EXPECT_TRUE((*exact)->bitwise);
    EXPECT_EQ((*exact)->measured.peak_bytes, executor->peak_bytes);
    const auto same = Compare(cell_a, (*exact)->graph, 1);
    ASSERT_TRUE(same) << same.error().ToString();
    EXPECT_EQ(same->different, 0);
  }
  const auto narrow = Rewrite(cell_a, Rewriting::kNarrow, {});
  ASSERT_TRUE(narrow && *narrow);
  const auto other = Compare(cell_a, (*narrow)->graph, 1);
  ASSERT_TRUE(other) << other.error().ToString();
  EXPECT_EQ(other->outputs, 37'632);
  EXPECT_GT(other->different, other->outputs / 2);
}

TEST(Facts, WhereNothingAppliesThereIsNoRewrittenCell) {
  const auto cells = SerenityCells();
  ASSERT_TRUE(cells);
  RunOptions quick;
  quick.quick = true;
  const auto none = Rewrite(RewritableOf(cells->back()), Rewriting::kNarrow, quick);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

}  // namespace
}  // namespace neap::bench
