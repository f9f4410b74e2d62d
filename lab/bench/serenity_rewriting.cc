// SPDX-License-Identifier: Apache-2.0
//
// Rewriting: its saving by exactness, and why it does not help the cell of DARTS.
#include <fmt/format.h>

#include <algorithm>

#include "lab/bench/granularity.h"
#include "lab/bench/serenity_parts.h"
#include "neap/base/bytes.h"
#include "neap/base/check.h"

namespace neap::bench {
namespace {

Value PeakOf(const std::optional<RewrittenCell>& rewritten) {
  return rewritten ? Count(rewritten->measured.peak_bytes) : Text("nothing applies");
}
Value BoundOf(const std::optional<RewrittenCell>& rewritten) {
  return rewritten ? Count(rewritten->lower_bound_bytes) : None();
}

Table PeaksTable(const std::vector<CellRun>& cells) {
  Table table;
  table.id = "rewriting";
  table.title = "Peaks before and after rewriting, in bytes";
  table.columns = {{"cell", "cell"},
                   {"planned_bytes", "planned, not rewritten"},
                   {"executor_bytes", "the same, element-wise operators in place"},
                   {"exact_bytes", "exact: 4-byte sums"},
                   {"exact_bound_bytes", "exact: bound over all choices"},
                   {"narrow_bytes", "1-byte sums"},
                   {"narrow_bound_bytes", "1-byte sums: bound over all choices"},
                   {"serenity_operators", "SERENITY's rewriter: operators"},
                   {"serenity_bytes", "SERENITY's rewriter: 1-byte sums"},
                   {"narrow_exactness", "exactness of the 1-byte row"}};
  for (const CellRun& run : cells) {
    const bool changes = run.narrow && !run.narrow->bitwise;
    const char* exactness = !run.narrow     ? "nothing applies"
                            : !changes      ? "bitwise"
                            : run.cell.int8 ? "not exact: partial sums rounded to 8 bits"
                                            : "floats summed in another order";
    table.rows.push_back(
        {Text(run.cell.name), Count(run.planned.peak_bytes), Count(run.executor.peak_bytes),
         PeakOf(run.exact), BoundOf(run.exact), PeakOf(run.narrow), BoundOf(run.narrow),
         run.serenity ? Count(run.serenity->measured.operators) : Text("nothing applies"),
         PeakOf(run.serenity), Text(exactness)});
  }
  return table;
}

// The cells of SwiftNet with weights, run before and after.
Status AddDifferences(const RunOptions& options, Table* table, Report* report) {
  NEAP_TRY(const std::vector<Cell> cells, RunnableSwiftnetCells());
  constexpr std::uint64_t kSeeds = 3;
  for (const Cell& cell : cells) {
    for (const Rewriting how : {Rewriting::kExact, Rewriting::kNarrow, Rewriting::kSerenity}) {
      NEAP_TRY(const auto rewritten, Rewrite(cell.graph, how, options));
      if (!rewritten) continue;
      Difference all;
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        NEAP_TRY(const Difference one, Compare(cell.graph, rewritten->graph, seed));
        all.outputs += one.outputs;
        all.different += one.different;
        all.largest = std::max(all.largest, one.largest);
      }
      const char* name = how == Rewriting::kExact    ? "4-byte sums"
                         : how == Rewriting::kNarrow ? "1-byte sums"
                                                     : "SERENITY's rewriter, 1-byte sums";
      table->rows.push_back({Text(cell.name), Text(name), Count(rewritten->measured.peak_bytes),
                             Count(all.outputs), Count(all.different), Count(all.largest),
                             Text(rewritten->bitwise ? "bitwise" : "not exact")});
      if (how == Rewriting::kExact) {
        report->qualities.push_back(
            {cell.id + ".exactly_rewritten_different_outputs", all.different, false});
      }
    }
  }
  return {};
}

// The operator at the peak of the best order, and the saving of its cell.
Result<std::string> PlaceOfPeak(const graph::Graph& graph, const RunOptions& options) {
  NEAP_TRY(const Measured planned, Measure(graph, compile::kExactOrder, options, 0));
  NEAP_TRY(const compile::EntryMemory memory,
           compile::MemoryOf(graph, graph::SubgraphId(0), planned.compiled.order,
                             plan::Runtime::kIdeal));
  const auto at = std::max_element(memory.live_bytes.begin(), memory.live_bytes.end()) -
                  memory.live_bytes.begin();
  const graph::Subgraph& subgraph = graph.subgraphs[graph::SubgraphId(0)];
  const graph::OpId op = planned.compiled.order[graph::SubgraphId(0)][static_cast<std::size_t>(at)];
  return subgraph.ops[op].type + " " + subgraph.tensors[subgraph.ops[op].outputs.front()].name;
}

Result<Table> DartsTable(const RunOptions& options, Report* report) {
  Table table;
  table.id = "darts";
  table.title = "The normal cell of DARTS, float32, in three cuts";
  table.columns = {{"cut", "cut"},
                   {"operators", "operators"},
                   {"planned_bytes", "planned, operators"},
                   {"peak_at", "operator at that peak"},
                   {"nodes_bytes", "planned, nodes"},
                   {"rewritten_bytes", "rewritten"},
                   {"bound_bytes", "bound over all choices"},
                   {"paper", "paper, KB: scheduled, rewritten"}};
  NEAP_TRY(const std::vector<Variant> variants, DartsVariants());
  for (const Variant& variant : variants) {
    const bool last = &variant == &variants.back();
    NEAP_TRY(const Ordered planned, SearchOrder(variant.graph, compile::kExactOrder, options, 0));
    NEAP_TRY(const Ordered nodes, SearchOrder(InNodes(variant.graph, Concatenations::kFree),
                                              compile::kExactOrder, options, 0));
    NEAP_TRY(const std::string place, PlaceOfPeak(variant.graph, options));
    NEAP_TRY(const auto narrow, Rewrite(variant.graph, Rewriting::kNarrow, options));
    const std::int64_t rewritten =
        narrow ? std::min(narrow->measured.peak_bytes, planned.peak_bytes) : planned.peak_bytes;
    table.rows.push_back(
        {Text(variant.name),
         Count(static_cast<std::int64_t>(variant.graph.subgraphs[graph::SubgraphId(0)].ops.size())),
         Count(planned.peak_bytes), Text(place), Count(nodes.peak_bytes), Count(rewritten),
         BoundOf(narrow), last ? Text("903, 753") : None()});
    if (last) report->qualities.push_back({"darts-nodes.rewritten_peak_bytes", rewritten, false});
  }
  return table;
}

}  // namespace

Result<Section> RewritingSection(const std::vector<CellRun>& cells, const RunOptions& options,
                                 Report* report) {
  Section section;
  section.id = "rewriting";
  section.title = "Rewriting, exact and as SERENITY counts it";
  Table differences;
  differences.id = "differences";
  differences.title =
      "Outputs of the cells of SwiftNet in int8, before and after, three inputs each";
  differences.columns = {
      {"cell", "cell"},           {"rewriting", "rewriting"},
      {"peak_bytes", "peak"},     {"outputs", "outputs"},
      {"different", "different"}, {"largest", "largest difference, steps of 8 bits"},
      {"exactness", "exactness"}};
  NEAP_CHECK_OK(AddDifferences(options, &differences, report));
  section.text = {
      "Rewriting is Neap's (docs/algorithms/rewrite.md) for Neap's executor, the only one that "
      "adds partial sums in place. The paper's rewriter applies its two rules wherever they fit. "
      "Neap searches for the choice with the smallest peak. Neap's executor also runs element-wise "
      "operators in place; the third column shows what that saves without any rewriting.",
      "The paper calls both rules identities. For channel-wise partitioning this is true of real "
      "numbers. In 8 bits, exact partial sums need four bytes per element. Sums of one byte, which "
      "the paper counts, are rounded.",
      "Why DARTS gains nothing here but 903 to 753 KB in the paper: the peak of the first cell as "
      "published is at the strided reduction of its first input, which reads no concatenation (the "
      "table names the operator). Without the convolutions of its inputs, two later cells still "
      "read the cell's output, so its concatenation has to exist. If the cell is cut to exclude "
      "both, at the paper's granularity, it needs exactly the paper's 903 KB, six tensors of "
      "28x28x48 floats, and rewritten its 753 KB, five of them. Floats are then added in another "
      "order."};
  NEAP_TRY(Table darts, DartsTable(options, report));
  section.tables.push_back(PeaksTable(cells));
  section.tables.push_back(std::move(differences));
  section.tables.push_back(std::move(darts));
  return section;
}

}  // namespace neap::bench
