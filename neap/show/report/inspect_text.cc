// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>

#include "neap/base/bytes.h"
#include "neap/graph/element_type.h"
#include "neap/plan/profile.h"
#include "neap/show/report/names.h"
#include "neap/show/report/proof_text.h"
#include "neap/show/report/report.h"

namespace neap::report {
namespace {

constexpr std::size_t kMaxRows = 60;        // of a chart; a longer one shows the largest
constexpr std::size_t kRowsAroundPeak = 8;  // on either side
constexpr std::size_t kLargestRows = 20;

std::string StepLabel(const graph::Graph& graph, graph::SubgraphId entry,
                      const compile::StepMemory& step) {
  const std::string where =
      step.subgraph == entry ? "" : fmt::format("in #{}: ", step.subgraph.value());
  if (!step.op.valid()) return where + "(no operator)";
  return fmt::format("{}#{} {}", where, step.op.value(),
                     Printable(graph.subgraphs[step.subgraph].ops[step.op].type, 24));
}

// `bytes` of `max` as a bar of at most `columns` columns; every number above 0 is visible.
std::string Bar(std::int64_t bytes, std::int64_t max, std::size_t columns, bool ascii) {
  if (bytes <= 0 || max <= 0 || columns == 0) return "";
  constexpr std::array<std::string_view, 8> kPartial = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  __extension__ using Wide = unsigned __int128;
  const std::size_t units = ascii ? columns : columns * 8;
  const auto scaled =
      static_cast<std::size_t>(static_cast<Wide>(bytes) * units / static_cast<Wide>(max));
  const std::size_t filled = std::max<std::size_t>(scaled, 1);
  if (ascii) return std::string(filled, '#');
  std::string out;
  for (std::size_t at = 0; at < filled / 8; ++at) out += "█";
  return out + std::string(kPartial.at(filled % 8));
}

// The steps to show: all, or the ends, the neighbours of the peak and the largest.
std::vector<char> ShownSteps(const std::vector<compile::StepMemory>& steps, std::size_t peak,
                             bool all) {
  std::vector<char> shown(steps.size(), all || steps.size() <= kMaxRows ? 1 : 0);
  if (shown.empty() || shown[0] != 0) return shown;
  shown.front() = 1;
  shown.back() = 1;
  const std::size_t begin = peak < kRowsAroundPeak ? 0 : peak - kRowsAroundPeak;
  const std::size_t end = std::min(steps.size(), peak + kRowsAroundPeak + 1);
  std::fill(shown.begin() + static_cast<std::ptrdiff_t>(begin),
            shown.begin() + static_cast<std::ptrdiff_t>(end), 1);
  std::vector<std::size_t> by_bytes(steps.size());
  std::iota(by_bytes.begin(), by_bytes.end(), 0);
  std::stable_sort(by_bytes.begin(), by_bytes.end(), [&](std::size_t a, std::size_t b) {
    return steps[a].live_bytes > steps[b].live_bytes;
  });
  for (std::size_t at = 0; at < kLargestRows; ++at) shown[by_bytes[at]] = 1;
  // A line "1 more" is no shorter than the line that it replaces.
  for (std::size_t at = 1; at + 1 < shown.size(); ++at) {
    if (shown[at - 1] != 0 && shown[at + 1] != 0) shown[at] = 1;
  }
  return shown;
}

std::string ChartText(const graph::Graph& graph, const compile::Inspection& inspection, bool all,
                      const Style& style) {
  const std::vector<compile::StepMemory>& steps = inspection.steps;
  if (steps.empty()) return "  no operators\n";
  std::size_t peak = 0;
  for (std::size_t at = 1; at < steps.size(); ++at) {
    if (steps[at].live_bytes > steps[peak].live_bytes) peak = at;
  }
  const std::vector<char> shown = ShownSteps(steps, peak, all);
  const std::size_t bytes_columns = FormatCount(steps[peak].live_bytes).size();
  std::size_t label_columns = 0;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    if (shown[at] == 0) continue;
    label_columns =
        std::max(label_columns, ColumnsOf(StepLabel(graph, inspection.subgraph, steps[at])));
  }
  // "> label  123,456  bar"
  const std::size_t taken = 2 + label_columns + 2 + bytes_columns + 2;
  const auto columns = static_cast<std::size_t>(style.columns);
  const std::size_t bar_columns = columns > taken + 10 ? columns - taken : 10;
  std::string out;
  for (std::size_t at = 0; at < steps.size();) {
    if (shown[at] == 0) {
      std::int64_t max = 0;
      std::size_t end = at;
      for (; end < steps.size() && shown[end] == 0; ++end) {
        max = std::max(max, steps[end].live_bytes);
      }
      out += Paint(style, Ink::kDim,
                   fmt::format("  ... {} more, at most {}", end - at, FormatCount(max))) +
             "\n";
      at = end;
      continue;
    }
    const std::string label = StepLabel(graph, inspection.subgraph, steps[at]);
    std::string line = fmt::format(
        "{} {}{}  {:>{}}  {}", at == peak ? ">" : " ", label,
        std::string(label_columns - ColumnsOf(label), ' '), FormatCount(steps[at].live_bytes),
        bytes_columns, Bar(steps[at].live_bytes, steps[peak].live_bytes, bar_columns, style.ascii));
    line.erase(line.find_last_not_of(' ') + 1);
    out += (at == peak ? Paint(style, Ink::kBad, line) : line) + "\n";
    ++at;
  }
  return out;
}

std::string TypeText(const graph::Tensor& tensor) {
  std::string out(graph::NameOf(tensor.type));
  if (!tensor.shape) return out;
  out += "[";
  for (std::size_t at = 0; at < tensor.shape->size(); ++at) {
    out += (at == 0 ? "" : "x") + std::to_string((*tensor.shape)[at]);
  }
  return out + "]";
}

std::string LargestText(const InspectReport& report) {
  const std::vector<SizedTensor> largest = LargestTensors(report);
  if (largest.empty()) return "";
  const graph::Graph& graph = *report.graph;
  std::size_t bytes_columns = 5;
  std::size_t type_columns = 4;
  for (const SizedTensor& sized : largest) {
    bytes_columns = std::max(bytes_columns, FormatCount(sized.bytes).size());
    type_columns = std::max(type_columns,
                            TypeText(graph.subgraphs[sized.subgraph].tensors[sized.tensor]).size());
  }
  IdVector<graph::SubgraphId, IdVector<graph::TensorId, graph::OpId>> producers(
      graph.subgraphs.size());
  std::string out = "\nLargest tensors\n";
  out += fmt::format("  {:>{}}  {:<{}}  tensor\n", "bytes", bytes_columns, "type", type_columns);
  std::vector<std::string> names;
  names.reserve(largest.size());
  const ShortNames short_names = ShortNames::OfTensors(graph);
  for (const SizedTensor& sized : largest) {
    names.push_back(short_names.Of(graph.subgraphs[sized.subgraph].tensors[sized.tensor].name));
  }
  for (std::size_t at = 0; at < largest.size(); ++at) {
    const SizedTensor& sized = largest[at];
    const graph::Subgraph& subgraph = graph.subgraphs[sized.subgraph];
    const graph::Tensor& tensor = subgraph.tensors[sized.tensor];
    std::string row = fmt::format("  {:>{}}  {:<{}}  #{}", FormatCount(sized.bytes), bytes_columns,
                                  TypeText(tensor), type_columns, sized.tensor.value());
    if (!names[at].empty()) row += fmt::format(" '{}'", names[at]);
    auto& known = producers[sized.subgraph];
    if (known.empty()) known = graph::Producers(subgraph);
    const graph::OpId producer = known[sized.tensor];
    row += producer.valid() ? " of " + OpText(graph, sized.subgraph, producer) : ", input";
    out += ColumnsOf(row) > 100 ? Wrapped(row + "\n", 100) : row + "\n";
  }
  return out;
}

// "Contains an offline memory plan for TFLM: ..."
std::string MemoryPlanText(const MemoryPlanReport& plan, const Style& style) {
  std::string out = "Contains an offline memory plan for TFLM: ";
  const std::string_view status = StatusOf(plan);
  if (status == "unreadable") {
    return out + Paint(style, Ink::kBad, "unreadable") + ": " + Printable(plan.problem, 4096) +
           ".\n";
  }
  out += fmt::format("{}, {} tensors placed", FormatBytes(plan.verdict.arena_bytes),
                     FormatCount(plan.verdict.placed));
  if (plan.verdict.online > 0) {
    out += fmt::format(", {} left to TFLM", FormatCount(plan.verdict.online));
  }
  if (status == "valid") return out + "; " + Paint(style, Ink::kGood, "valid") + ".\n";
  if (!plan.kernels.empty()) {
    return out + fmt::format("; tensors share bytes: valid only with {} kernels.\n",
                             Printable(plan.kernels));
  }
  const bool invalid = status == "invalid";
  const auto& lines = invalid ? plan.verdict.problems : plan.verdict.inside_operators;
  out += "; ";
  out += invalid ? Paint(style, Ink::kBad, "invalid") + " because "
                 : "valid only with kernels that read each byte before they overwrite it: ";
  out += Printable(lines.front(), 4096);
  if (lines.size() > 1) out += fmt::format(" (and {} more)", lines.size() - 1);
  return out + ".\n";
}

std::string PlannedText(const InspectReport& report) {
  const Headline& headline = report.planned->headline;
  std::string out = fmt::format("  planned, {}: {} {}", report.planned->kind,
                                report.unknown_kernels.empty() ? "arena" : "arena of the plan",
                                FormatBytes(headline.bytes));
  if (headline.bytes < headline.file_order_bytes) {
    out +=
        fmt::format(", {} below the {} of file order",
                    Percent(headline.file_order_bytes - headline.bytes, headline.file_order_bytes),
                    FormatBytes(headline.file_order_bytes));
  }
  return out + "\n";
}

// How a bound was verified.
std::string BoundText(const CheckReport& report, const plan::Certificate& certificate) {
  if (certificate.kind != plan::CertificateKind::kSearch) return "verified";
  if (!report.replayed) return "not verified (result of a search; --replay searches again)";
  if (!report.replayed->unfinished.empty()) {
    return "not confirmed: " + report.replayed->unfinished.front();
  }
  return fmt::format("confirmed by an independent search ({})",
                     CountText(report.replayed->states, "state"));
}

// The verified statement about addresses: which live tensors share bytes.
std::string PlacementsText(const plan::Plan& plan) {
  std::size_t tensors = 0;
  std::size_t overlaps = 0;
  std::size_t segments = 0;
  for (const plan::EntryPlan& each : plan.entries) {
    tensors += each.tensors.size();
    overlaps += each.overlaps.size();
    if (each.stream) segments += each.stream->segments.size();
  }
  const auto count = [](std::size_t number, std::string_view noun) {
    return CountText(static_cast<std::int64_t>(number), noun);
  };
  if (segments > 0) return "addresses of " + count(segments, "segment") + ", peak, arena";
  std::string sharing = "no two live tensors share a byte";
  if (plan::ProfileOf(plan.runtime).shares_as_litert) {
    sharing = "live tensors share bytes only where LiteRT's operators work in place";
  } else if (overlaps > 0) {
    sharing = "live tensors share bytes only as " + count(overlaps, "overlap") +
              (overlaps == 1 ? " allows" : " allow");
  }
  return count(tensors, "placement") + " (" + sharing + "), peak, arena";
}

}  // namespace

const compile::Inspection& LargestInspection(const InspectReport& report) {
  return *std::max_element(report.inspections->begin(), report.inspections->end(),
                           [](const compile::Inspection& a, const compile::Inspection& b) {
                             return a.peak_bytes < b.peak_bytes;
                           });
}

std::vector<SizedTensor> LargestTensors(const InspectReport& report) {
  const graph::Graph& graph = *report.graph;
  IdVector<graph::SubgraphId, char> visited(graph.subgraphs.size(), 0);
  for (const compile::Inspection& inspection : *report.inspections) {
    visited[inspection.subgraph] = 1;
    for (const compile::StepMemory& step : inspection.steps) visited[step.subgraph] = 1;
  }
  std::vector<SizedTensor> out;
  for (const graph::SubgraphId subgraph : graph.subgraphs.Ids()) {
    if (visited[subgraph] == 0) continue;
    for (const graph::TensorId id : graph.subgraphs[subgraph].tensors.Ids()) {
      const graph::Tensor& tensor = graph.subgraphs[subgraph].tensors[id];
      if (tensor.constant || tensor.variable) continue;
      const auto bytes = graph::TensorBytes(tensor);
      if (bytes) out.push_back({subgraph, id, *bytes});
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const SizedTensor& a, const SizedTensor& b) { return a.bytes > b.bytes; });
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(report.top, 0));
  if (out.size() > most) out.resize(most);
  return out;
}

std::string_view StatusOf(const MemoryPlanReport& report) {
  if (!report.problem.empty()) return "unreadable";
  if (!report.kernels.empty()) return "kernels";
  if (!report.verdict.problems.empty()) return "invalid";
  return report.verdict.inside_operators.empty() ? "valid" : "kernels";
}

std::string InspectText(const InspectReport& report, const Style& style) {
  const graph::Graph& graph = *report.graph;
  const compile::Inspection& largest = LargestInspection(report);
  const Counts counts = CountOf(graph);
  std::string out = Paint(style, Ink::kBold, "Peak " + FormatBytes(largest.peak_bytes));
  const std::string cause = PeakSentence(graph, largest.peak_at);
  out += " in file order.\n" + (cause.empty() ? "" : cause + "\n");
  if (const std::string unknown = PrintableScratch(report.unknown_kernels); !unknown.empty()) {
    out += "TFLM's own allocation is unknown: " + unknown + ".\n";
  }
  out = Wrapped(out, static_cast<std::size_t>(style.columns));
  out +=
      fmt::format("  {}, runtime {}: {}, {}\n", report.format, plan::ProfileOf(report.runtime).name,
                  CountText(counts.operators, "operator"), CountText(counts.tensors, "tensor"));
  if (report.planned) out += PlannedText(report);
  for (const compile::Inspection& inspection : *report.inspections) {
    out += "\nLive bytes while each operator runs";
    if (report.inspections->size() > 1) {
      out += fmt::format(", subgraph #{}", inspection.subgraph.value());
      const std::string& name = graph.subgraphs[inspection.subgraph].name;
      if (!name.empty()) out += fmt::format(" '{}'", Printable(name));
    }
    out += "\n" + ChartText(graph, inspection, report.all, style);
  }
  out += LargestText(report);
  out += fmt::format("\nConstants {}; variables {}.\n", FormatBytes(largest.constant_bytes),
                     FormatBytes(largest.variable_bytes));
  if (report.memory_plan) out += MemoryPlanText(*report.memory_plan, style);
  return out + Wrapped(NotesText(report.notes, ""), 100);
}

std::string CheckText(const CheckReport& report, const Style& style) {
  const plan::EntryPlan& entry = plan::LargestEntry(*report.plan);
  std::size_t steps = 0;
  for (const plan::EntryPlan& each : report.plan->entries) steps += each.steps.size();
  const bool placed = entry.arena_bytes > 0;
  std::string bounds = "lower bound of the peak: " + BoundText(report, entry.certificate);
  if (entry.arena_certificate.kind != plan::CertificateKind::kNone) {
    bounds += "; of the arena: " + BoundText(report, entry.arena_certificate);
  }
  return Paint(style, Ink::kGood, "ok") +
         Wrapped(
             fmt::format(": the plan is valid for runtime {}: peak {} B{}\n"
                         "  verified: hash of the model, order of {}, {}\n"
                         "  {}\n",
                         plan::ProfileOf(report.plan->runtime).name, FormatCount(entry.peak_bytes),
                         placed ? fmt::format(", arena {} B", FormatCount(entry.arena_bytes)) : "",
                         CountText(static_cast<std::int64_t>(steps), "step"),
                         placed ? PlacementsText(*report.plan) : "peak (the plan has no addresses)",
                         bounds),
             static_cast<std::size_t>(style.columns));
}

}  // namespace neap::report
