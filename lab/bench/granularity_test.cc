// SPDX-License-Identifier: Apache-2.0
#include "lab/bench/granularity.h"

#include <gtest/gtest.h>

#include "lab/bench/cells.h"
#include "lab/bench/facts.h"

namespace neap::bench {
namespace {

std::int64_t SizeOf(const graph::Graph& graph) {
  return static_cast<std::int64_t>(graph.subgraphs[graph::SubgraphId(0)].ops.size());
}

// A random stage of RandWire has 32 nodes and the mean of its outputs, a sum and a product.
TEST(Granularity, ANodeOfRandwireIsOneOperator) {
  const auto cells = SerenityCells();
  ASSERT_TRUE(cells);
  for (const Cell& cell : *cells) {
    const graph::Graph nodes = InNodes(cell.graph, Concatenations::kFree);
    EXPECT_TRUE(graph::Verify(nodes)) << cell.id;
    EXPECT_LT(SizeOf(nodes), SizeOf(cell.graph)) << cell.id;
    if (cell.id.starts_with("randwire")) {
      EXPECT_GE(SizeOf(nodes), 33) << cell.id;
      EXPECT_LE(SizeOf(nodes), 34) << cell.id;
    }
    const auto merged = SearchOrder(nodes, compile::kExactOrder, {}, 0);
    ASSERT_TRUE(merged);
    EXPECT_TRUE(merged->proven) << cell.id;
    // The algorithm of the paper ends on all cells at the paper's granularity.
    const auto serenity = SearchOrder(nodes, {schedule::Method::kSerenity}, {}, 3'000'000);
    ASSERT_TRUE(serenity);
    EXPECT_TRUE(serenity->proven) << cell.id;
    EXPECT_EQ(serenity->peak_bytes, merged->peak_bytes) << cell.id;
  }
}

// The paper's 200.7, 82 and 33 KB before rewriting are those of nodes whose concatenations are
// free.
TEST(Granularity, SwiftnetNeedsWhatThePaperSchedules) {
  const auto cells = SerenityCells();
  ASSERT_TRUE(cells);
  for (const auto& [at, bytes] :
       {std::pair(1, 200'704), std::pair(2, 81'536), std::pair(3, 32'536)}) {
    const graph::Graph& graph = (*cells)[static_cast<std::size_t>(at)].graph;
    const auto found =
        SearchOrder(InNodes(graph, Concatenations::kFree), {schedule::Method::kSerenity}, {}, 0);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->proven);
    EXPECT_EQ(found->peak_bytes, bytes);
  }
}

// The paper's 903 and 753 KB: the nodes of the cell and the next cell's convolution, alone.
TEST(Granularity, DartsNeedsWhatThePaperSchedulesAndRewrites) {
  const auto variants = DartsVariants();
  ASSERT_TRUE(variants) << variants.error().ToString();
  ASSERT_EQ(variants->size(), 3);
  const graph::Graph& alone = variants->back().graph;
  const auto planned =
      SearchOrder(InNodes(alone, Concatenations::kFree), compile::kExactOrder, {}, 0);
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->peak_bytes, 903'168);
  const auto rewritten = Rewrite(alone, Rewriting::kSerenity, {});
  ASSERT_TRUE(rewritten && *rewritten);
  EXPECT_EQ((*rewritten)->measured.peak_bytes, 752'640);
  // With its inputs' convolutions, or with a second reader of its output, it gains nothing.
  for (std::size_t i = 0; i < 2; ++i) {
    const graph::Graph& graph = (*variants)[i].graph;
    const auto narrow = Rewrite(graph, Rewriting::kNarrow, {});
    const auto as_it_is = MeasureInExecutor(graph, {});
    ASSERT_TRUE(narrow && as_it_is);
    if (*narrow) {
      EXPECT_EQ((*narrow)->measured.peak_bytes, as_it_is->peak_bytes);
    }
  }
}

TEST(Granularity, WhatSeveralOperatorsReadStays) {
  const auto cells = SerenityCells();
  ASSERT_TRUE(cells);
  const graph::Graph& graph = cells->back().graph;
  const graph::Subgraph& before = graph.subgraphs[graph::SubgraphId(0)];
  const graph::Graph merged = InNodes(graph, Concatenations::kOperators);
  const graph::Subgraph& after = merged.subgraphs[graph::SubgraphId(0)];
  IdVector<graph::TensorId, int> readers(before.tensors.size(), 0);
  for (const graph::Op& op : before.ops) {
    for (const graph::TensorId input : op.inputs) {
      if (input.valid()) ++readers[input];
    }
  }
  IdVector<graph::TensorId, int> made(before.tensors.size(), 0);
  for (const graph::Op& op : after.ops) {
    for (const graph::TensorId output : op.outputs) ++made[output];
  }
  for (const graph::Op& op : before.ops) {
    for (const graph::TensorId output : op.outputs) {
      if (readers[output] > 1) {
        EXPECT_EQ(made[output], 1);
      }
    }
  }
  EXPECT_EQ(before.inputs, after.inputs);
  EXPECT_EQ(before.outputs, after.outputs);
}

}  // namespace
}  // namespace neap::bench
