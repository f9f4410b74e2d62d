// SPDX-License-Identifier: Apache-2.0
//
// Figures 10 and 15 (peaks) and 12 (one cell over time).
#include <fmt/format.h>

#include <algorithm>

#include "lab/bench/serenity_parts.h"
#include "neap/base/bytes.h"

namespace neap::bench {
namespace {

struct Ratios {
  std::vector<double> paper_order, paper_rewritten;
  std::vector<double> order, from_random, from_kahn, exact, narrow;
  std::vector<double> arena, neap_arena, arena_exact, arena_narrow;
};

// SERENITY's second bar: rewritten where that is less.
std::int64_t LeastOf(const CellRun& run, const std::optional<RewrittenCell>& rewritten,
                     std::int64_t Measured::*what) {
  const std::int64_t planned = run.planned.*what;
  return rewritten ? std::min(planned, rewritten->measured.*what) : planned;
}

// In figure 10 a bar is TensorFlow Lite's arena over that of the schedule in the same allocator.
Ratios RatiosOf(const std::vector<CellRun>& cells) {
  Ratios ratios;
  for (const CellRun& run : cells) {
    const PaperPeaks& paper = run.cell.paper;
    const OrderPeaks& orders = run.in_operators;
    ratios.paper_order.push_back(Ratio(paper.tflite_kb, paper.scheduled_kb));
    ratios.paper_rewritten.push_back(Ratio(paper.tflite_kb, paper.rewritten_kb));
    ratios.order.push_back(Ratio(orders.file, orders.planned));
    ratios.from_random.push_back(Ratio(orders.random_median, orders.planned));
    ratios.from_kahn.push_back(Ratio(orders.breadth_first, orders.planned));
    ratios.arena.push_back(Ratio(run.file.tflite_arena_bytes, run.planned.tflite_arena_bytes));
    ratios.neap_arena.push_back(Ratio(run.file.tflite_arena_bytes, run.planned.arena_bytes));
    for (const bool exact : {true, false}) {
      const auto& rewritten = exact ? run.exact : run.narrow;
      (exact ? ratios.exact : ratios.narrow)
          .push_back(Ratio(run.file.peak_bytes, LeastOf(run, rewritten, &Measured::peak_bytes)));
      (exact ? ratios.arena_exact : ratios.arena_narrow)
          .push_back(
              Ratio(run.file.tflite_arena_bytes, LeastOf(run, rewritten, &Measured::arena_bytes)));
    }
  }
  return ratios;
}

Table RatioTable(const std::vector<CellRun>& cells, const Ratios& ratios) {
  Table table;
  table.id = "reductions";
  table.title = "Figure 10: reduction against TensorFlow Lite, as factors";
  table.columns = {{"cell", "cell"},
                   {"paper_order", "paper: order"},
                   {"paper_rewritten", "paper: + rewriting"},
                   {"peak_order", "peak: order"},
                   {"peak_random", "peak: against the median random order"},
                   {"peak_kahn", "peak: against breadth first (Kahn)"},
                   {"peak_exact", "peak: + exact rewriting"},
                   {"peak_narrow", "peak: + rewriting, 1-byte sums (not exact)"},
                   {"arena_order", "arena: order, TFLite's allocator"},
                   {"arena_neap", "arena: order, Neap's addresses"},
                   {"arena_exact", "arena: + exact rewriting"},
                   {"arena_narrow", "arena: + rewriting, 1-byte sums (not exact)"}};
  const auto row = [&](std::string name, std::size_t i) {
    const auto at = [&](const std::vector<double>& list) {
      return Real(i < list.size() ? list[i] : GeometricMean(list));
    };
    return std::vector<Value>{
        Text(std::move(name)), at(ratios.paper_order), at(ratios.paper_rewritten),
        at(ratios.order),      at(ratios.from_random), at(ratios.from_kahn),
        at(ratios.exact),      at(ratios.narrow),      at(ratios.arena),
        at(ratios.neap_arena), at(ratios.arena_exact), at(ratios.arena_narrow)};
  };
  for (std::size_t i = 0; i < cells.size(); ++i) table.rows.push_back(row(cells[i].cell.name, i));
  table.rows.push_back(row("geometric mean", cells.size()));
  return table;
}

Table RawTable(const std::vector<CellRun>& cells) {
  Table table;
  table.id = "peaks";
  table.title = "Figure 15: peaks and arenas in bytes";
  table.columns = {{"cell", "cell"},
                   {"operators", "operators"},
                   {"paper_tflite_kb", "paper: TFLite, KB"},
                   {"paper_scheduled_kb", "paper: scheduled, KB"},
                   {"paper_rewritten_kb", "paper: + rewriting, KB"},
                   {"tflite_arena_bytes", "file order, TFLite's allocator"},
                   {"file_peak_bytes", "file order, peak"},
                   {"random_peak_bytes", "median random order, peak"},
                   {"random", "random orders"},
                   {"kahn_peak_bytes", "breadth first (Kahn), peak"},
                   {"peak_bytes", "planned, peak"},
                   {"bound_bytes", "proven bound"},
                   {"planned_tflite_arena_bytes", "planned, TFLite's allocator"},
                   {"arena_bytes", "planned, Neap's addresses"}};
  for (const CellRun& run : cells) {
    table.rows.push_back({Text(run.cell.name), Count(run.planned.operators),
                          Count(run.cell.paper.tflite_kb), Count(run.cell.paper.scheduled_kb),
                          Count(run.cell.paper.rewritten_kb), Count(run.file.tflite_arena_bytes),
                          Count(run.file.peak_bytes), Count(run.in_operators.random_median),
                          Text(run.in_operators.random_method),
                          Count(run.in_operators.breadth_first), Count(run.planned.peak_bytes),
                          Count(run.planned.bound_bytes), Count(run.planned.tflite_arena_bytes),
                          Count(run.planned.arena_bytes)});
  }
  return table;
}

std::vector<double> Kilobytes(const std::vector<std::int64_t>& bytes) {
  std::vector<double> out;
  out.reserve(bytes.size());
  for (const std::int64_t value : bytes) out.push_back(static_cast<double>(value) / 1000);
  return out;
}

picture::Curve CurveOf(std::string name, const std::vector<std::int64_t>& bytes) {
  picture::Curve curve{std::move(name), {}, Kilobytes(bytes)};
  for (std::size_t i = 0; i < bytes.size(); ++i) curve.x.push_back(static_cast<double>(i));
  return curve;
}

Result<std::vector<std::int64_t>> LiveOf(const graph::Graph& graph, const Measured& measured) {
  NEAP_TRY(const compile::EntryMemory memory,
           compile::MemoryOf(graph, graph::SubgraphId(0), measured.compiled.order,
                             measured.compiled.plan.runtime));
  return memory.live_bytes;
}

// The highest byte in use at every step.
std::vector<std::int64_t> TopOf(const Measured& measured) {
  const plan::EntryPlan& entry = plan::LargestEntry(measured.compiled.plan);
  std::vector<std::int64_t> top(entry.steps.size(), 0);
  for (const plan::TensorPlacement& placed : entry.tensors) {
    for (std::int32_t slot = placed.first; slot < placed.last; ++slot) {
      auto& at = top[static_cast<std::size_t>(slot)];
      at = std::max(at, placed.offset + placed.bytes);
    }
  }
  return top;
}

}  // namespace

namespace {

// Figure 15, and for SwiftNet cell A figure 12 without the allocator as well.
std::string PaperScheduled(const Cell& cell) {
  const std::string text = FormatCount(cell.paper.scheduled_kb);
  return cell.id == "swiftnet-a" ? text + " (200.7 without allocator)" : text;
}

}  // namespace

Section Granularity(const std::vector<CellRun>& cells) {
  Section section;
  section.id = "granularity";
  section.title = "Orders at the paper's granularity";
  Table table;
  table.id = "nodes";
  table.title = "Peaks of orders of nodes, and their ratios to the optimum";
  table.columns = {{"cell", "cell"},
                   {"operators", "operators"},
                   {"nodes", "nodes"},
                   {"file_peak_bytes", "file order"},
                   {"kahn_peak_bytes", "breadth first (Kahn)"},
                   {"random_peak_bytes", "median random order"},
                   {"random", "random orders"},
                   {"paper_scheduled", "paper: scheduled, KB"},
                   {"peak_bytes", "planned"},
                   {"bound_bytes", "proven bound"},
                   {"from_file", "file / planned"},
                   {"from_kahn", "breadth first / planned"},
                   {"from_random", "random / planned"}};
  std::vector<double> file, kahn, random;
  for (const CellRun& run : cells) {
    const OrderPeaks& nodes = run.in_nodes;
    file.push_back(Ratio(nodes.file, nodes.planned));
    kahn.push_back(Ratio(nodes.breadth_first, nodes.planned));
    random.push_back(Ratio(nodes.random_median, nodes.planned));
    table.rows.push_back({Text(run.cell.name), Count(run.in_operators.operators),
                          Count(nodes.operators), Count(nodes.file), Count(nodes.breadth_first),
                          Count(nodes.random_median), Text(nodes.random_method),
                          Text(PaperScheduled(run.cell)), Count(nodes.planned), Count(nodes.bound),
                          Real(file.back()), Real(kahn.back()), Real(random.back())});
  }
  table.rows.push_back({Text("geometric mean"), None(), None(), None(), None(), None(), None(),
                        None(), None(), None(), Real(GeometricMean(file)),
                        Real(GeometricMean(kahn)), Real(GeometricMean(random))});
  section.text = {
      "RandWire defines a node as the sum of its inputs, a rectifier and a separable convolution. "
      "In TensorFlow Lite this is four or more operators, each with an output tensor. The paper "
      "counts nodes with one activation each (SwiftNet: 62 nodes, 86 operators here). This section "
      "groups operators as the paper does. A chain of ADD, RELU, DEPTHWISE_CONV_2D and 1x1 "
      "CONV_2D, in which each operator is the only consumer of the one before it, is one node. "
      "Tensors inside a node are not counted. A concatenation with one consumer is part of that "
      "consumer's node, as in the paper's figure 9.",
      "At this granularity the three cells of SwiftNet need 200,704, 81,536 and 32,536 bytes. The "
      "paper has 200.7 KB (figure 12), 82 and 33 KB. In operators, with the concatenations and the "
      "tensors inside separable convolutions counted, no order needs less than 275,968, 122,304 "
      "and 53,900 bytes. The section on rewriting explains DARTS.",
      fmt::format("Geometric means over the nine cells: at this granularity the file order needs "
                  "{:.2f} times the optimum, the median random order {:.2f} times and breadth "
                  "first {:.2f} times; in operators {:.2f}, {:.2f} and {:.2f}.",
                  GeometricMean(file), GeometricMean(random), GeometricMean(kahn),
                  GeometricMean(RatiosOf(cells).order), GeometricMean(RatiosOf(cells).from_random),
                  GeometricMean(RatiosOf(cells).from_kahn))};
  section.tables.push_back(std::move(table));
  return section;
}

Section Peaks(const std::vector<CellRun>& cells) {
  const Ratios ratios = RatiosOf(cells);
  Section section;
  section.id = "figure-10";
  section.title = "Figures 10 and 15: peak against TensorFlow Lite";
  section.text = {
      fmt::format("The paper reports 1.68 for scheduling and 1.86 with rewriting. Its bars are "
                  "read from figure 15, because the text does not list them; their geometric means "
                  "are {:.2f} and {:.2f}. Neap's results over the same nine cells, in live bytes: "
                  "{:.2f} against the file order and {:.2f} against the median random order. With "
                  "TensorFlow Lite's own allocator before and after: {:.2f}.",
                  GeometricMean(ratios.paper_order), GeometricMean(ratios.paper_rewritten),
                  GeometricMean(ratios.order), GeometricMean(ratios.from_random),
                  GeometricMean(ratios.arena)),
      fmt::format(
          "Rewriting has two rows, because SERENITY's accounting is not exact in 8 bits. The paper "
          "calls its rewriting an identity and counts a partial sum with the size of the output: "
          "one byte per element. Exact partial sums of an 8-bit convolution need four bytes. Exact "
          "rewriting, every output byte unchanged: {:.2f} in live bytes, {:.2f} from TensorFlow "
          "Lite's arena to Neap's. One-byte sums, which round every partial sum and change "
          "outputs: {:.2f} and {:.2f}. Where no rule applies or helps, the planned order counts. "
          "The section on rewriting shows both with their exactness.",
          GeometricMean(ratios.exact), GeometricMean(ratios.arena_exact),
          GeometricMean(ratios.narrow), GeometricMean(ratios.arena_narrow)),
      fmt::format(
          "Why the orders differ from the paper's: the paper does not report TensorFlow Lite's "
          "operator order, and its graphs are different. The baseline here, the order of "
          "construction, goes branch by branch in DARTS and SwiftNet and is already good. In "
          "breadth-first order (Kahn's algorithm) the same cells need {:.2f} times the optimum. "
          "Where a peak equals its bound, no order of these graphs is better.",
          GeometricMean(ratios.from_kahn)),
      "TFLite's allocator is LiteRT's, reimplemented and compared with the real one by tests: "
      "inputs stay for the whole run, and offsets are multiples of 64. The two columns of arenas "
      "after rewriting are for Neap's executor, whose element-wise operators also work in place. "
      "That alone, without any rewriting, is the gain of DARTS there."};
  picture::Bars bars;
  bars.label = "Reduction of the peak by cell";
  bars.series = {"paper: order", "paper: + rewriting", "ours: order", "ours: against random order"};
  bars.series.emplace_back("ours: + exact rewriting");
  bars.series.emplace_back("ours: + 1-byte sums (not exact)");
  bars.unit = "x";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    bars.groups.push_back(cells[i].cell.name);
    std::vector<double> values = {ratios.paper_order[i], ratios.paper_rewritten[i], ratios.order[i],
                                  ratios.from_random[i]};
    values.push_back(ratios.exact[i]);
    values.push_back(ratios.narrow[i]);
    bars.values.push_back(std::move(values));
  }
  section.plots.push_back({"reductions-plot", "Figure 10: reduction of the peak", std::move(bars)});
  section.tables.push_back(RatioTable(cells, ratios));
  section.tables.push_back(RawTable(cells));
  return section;
}

Result<Section> OverTime(const CellRun& run) {
  Section section;
  section.id = "figure-12";
  section.title = "Figure 12: SwiftNet cell A over time";
  section.text = {
      "The paper: 551.0 KB (TensorFlow Lite) to 250.9 KB (scheduled) to 225.8 KB (rewritten) with "
      "the memory allocator, 200.7 KB to 188.2 KB without. Neap's placement equals the peak here, "
      "so its numbers with and without allocator are the same.",
      fmt::format("The curves count operators; no order of them needs less than {} bytes (proven). "
                  "The cell has {} operators and {} nodes here, and 21 nodes in the paper. Counted "
                  "in nodes it needs {} bytes, the paper's 200.7 KB.{}",
                  FormatCount(run.planned.bound_bytes), run.planned.operators,
                  run.in_nodes.operators, FormatCount(run.in_nodes.planned),
                  run.narrow ? fmt::format(" Rewritten with one-byte sums, which is not exact, it "
                                           "needs {} bytes, the paper's 188.2 KB.",
                                           FormatCount(run.narrow->measured.peak_bytes))
                             : std::string())};
  Table table;
  table.id = "swiftnet-a";
  table.title = "Peaks in bytes";
  table.columns = {{"what", "what"}, {"paper_kb", "paper, KB"}, {"bytes", "ours, bytes"}};
  const auto rewritten = [&](std::int64_t Measured::*what) {
    return run.narrow ? Count(run.narrow->measured.*what) : Text("nothing applies");
  };
  table.rows = {
      {Text("file order, TFLite's allocator"), Real(551.0, 1), Count(run.file.tflite_arena_bytes)},
      {Text("planned, TFLite's allocator"), Real(250.9, 1), Count(run.planned.tflite_arena_bytes)},
      {Text("planned, Neap's addresses"), None(), Count(run.planned.arena_bytes)},
      {Text("rewritten, 1-byte sums, with allocator (ours: Neap's addresses)"), Real(225.8, 1),
       rewritten(&Measured::arena_bytes)},
      {Text("file order, live bytes"), None(), Count(run.file.peak_bytes)},
      {Text("planned, live bytes"), Real(200.7, 1), Count(run.planned.peak_bytes)},
      {Text("rewritten, 1-byte sums, live bytes"), Real(188.2, 1),
       rewritten(&Measured::peak_bytes)},
      {Text("rewritten exactly, live bytes"), None(),
       run.exact ? Count(run.exact->measured.peak_bytes) : Text("nothing applies")}};
  section.tables.push_back(std::move(table));
  NEAP_TRY(const auto file, LiveOf(run.cell.graph, run.file));
  NEAP_TRY(const auto planned, LiveOf(run.cell.graph, run.planned));
  picture::Lines lines;
  lines.label = "Live bytes of SwiftNet cell A over its steps";
  lines.steps = true;
  lines.x_title = "step";
  lines.y_title = "KB";
  lines.curves = {CurveOf("file order, live", file), CurveOf("planned, live", planned),
                  CurveOf("planned, highest address in use", TopOf(run.planned))};
  if (run.narrow) {
    NEAP_TRY(const auto live, LiveOf(run.narrow->graph, run.narrow->measured));
    lines.curves.push_back(CurveOf("rewritten, 1-byte sums, live", live));
  }
  section.plots.push_back({"swiftnet-a-plot", "Memory while the cell runs", std::move(lines)});
  return section;
}

}  // namespace neap::bench
