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
#include "neap/report/proof_text.h"
#include "neap/report/report.h"

namespace neap::report {
namespace {

constexpr std::size_t kMostRows = 60;       // a longer chart is cut down to what matters
constexpr std::size_t kRowsAroundPeak = 8;  // on either side
constexpr std::size_t kLargestRows = 20;

std::string StepLabel(const graph::Graph& graph, graph::SubgraphId entry,
                      const compile::StepMemory& step) {
  const std::string where =
      step.subgraph == entry ? "" : fmt::format("in #{}: ", step.subgraph.value());
  if (!step.op.valid()) return where + "(empty body)";
  return fmt::format("{}#{} {}", where, step.op.value(),
                     Printable(graph.subgraphs[step.subgraph].ops[step.op].type, 24));
}

// `bytes` of `most` as a bar of at most `columns` columns; anything above nothing is visible.
std::string Bar(std::int64_t bytes, std::int64_t most, std::size_t columns, bool ascii) {
  if (bytes <= 0 || most <= 0 || columns == 0) return "";
  constexpr std::array<std::string_view, 8> kPartial = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  __extension__ using Wide = unsigned __int128;
  const std::size_t units = ascii ? columns : columns * 8;
  const auto scaled =
      static_cast<std::size_t>(static_cast<Wide>(bytes) * units / static_cast<Wide>(most));
  const std::size_t filled = std::max<std::size_t>(scaled, 1);
  if (ascii) return std::string(filled, '#');
  std::string out;
  for (std::size_t at = 0; at < filled / 8; ++at) out += "█";
  return out + std::string(kPartial.at(filled % 8));
}

// Which steps to show: all of them, or the ends, the surroundings of the peak and the largest.
std::vector<char> ShownSteps(const std::vector<compile::StepMemory>& steps, std::size_t peak,
                             bool all) {
  std::vector<char> shown(steps.size(), all || steps.size() <= kMostRows ? 1 : 0);
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
  // A line that says "1 more" is no shorter than the one it stands for.
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
      std::int64_t most = 0;
      std::size_t end = at;
      for (; end < steps.size() && shown[end] == 0; ++end) {
        most = std::max(most, steps[end].live_bytes);
      }
      out += Paint(style, Ink::kDim,
                   fmt::format("  ... {} more, at most {}", end - at, FormatCount(most))) +
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
  for (const SizedTensor& sized : largest) {
    const graph::Subgraph& subgraph = graph.subgraphs[sized.subgraph];
    const graph::Tensor& tensor = subgraph.tensors[sized.tensor];
    out += fmt::format("  {:>{}}  {:<{}}  #{}", FormatCount(sized.bytes), bytes_columns,
                       TypeText(tensor), type_columns, sized.tensor.value());
    if (!tensor.name.empty()) out += fmt::format(" '{}'", Printable(tensor.name));
    auto& known = producers[sized.subgraph];
    if (known.empty()) known = graph::Producers(subgraph);
    const graph::OpId producer = known[sized.tensor];
    out += producer.valid() ? " of " + OpText(graph, sized.subgraph, producer) : ", input";
    out += "\n";
  }
  return out;
}

// "Carries an offline memory plan for TFLM: ..."
std::string MemoryPlanText(const MemoryPlanReport& plan, const Style& style) {
  std::string out = "Carries an offline memory plan for TFLM: ";
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
    return out +
           fmt::format("; right under the kernels of {} alone, where its tensors share bytes.\n",
                       Printable(plan.kernels));
  }
  const bool invalid = status == "invalid";
  const auto& lines = invalid ? plan.verdict.problems : plan.verdict.inside_operators;
  out += "; ";
  out += invalid ? Paint(style, Ink::kBad, "invalid") + " because "
                 : "right only with kernels that read ahead of what they write: ";
  out += Printable(lines.front(), 4096);
  if (lines.size() > 1) out += fmt::format(" (and {} more)", lines.size() - 1);
  return out + ".\n";
}

// What became of a bound.
std::string WordOn(const CheckReport& report, const plan::Certificate& certificate) {
  if (certificate.kind != "search") return "verified";
  if (!report.replayed) return "the planner's word (a search; --replay searches again)";
  if (!report.replayed->unfinished.empty()) {
    return "not confirmed: " + report.replayed->unfinished.front();
  }
  return fmt::format("confirmed by a search of its own ({} states)",
                     FormatCount(report.replayed->states));
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
  out += " in file order." + (cause.empty() ? "" : " " + cause) + "\n";
  if (const std::string unknown = PrintableScratch(report.unknown_kernels); !unknown.empty()) {
    out += "What TFLM needs is unknown: " + unknown + ".\n";
  }
  out += fmt::format("  {}, runtime {}: {} operators, {} tensors\n", report.format,
                     plan::ProfileOf(report.runtime).name, FormatCount(counts.operators),
                     FormatCount(counts.tensors));
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
  return out + NotesText(report.notes, "");
}

std::string CheckText(const CheckReport& report, const Style& style) {
  const plan::EntryPlan& entry = plan::LargestEntry(*report.plan);
  std::size_t steps = 0;
  std::size_t tensors = 0;
  for (const plan::EntryPlan& each : report.plan->entries) {
    steps += each.steps.size();
    tensors += each.tensors.size();
  }
  const bool placed = entry.arena_bytes > 0;
  std::string bound = "the lower bound of the peak is " + WordOn(report, entry.certificate);
  if (entry.arena_certificate.kind != "none") {
    bound += ", that of the arena " + WordOn(report, entry.arena_certificate);
  }
  return Paint(style, Ink::kGood, "ok") +
         fmt::format(
             ": peak {} B{}; verified for runtime {}: the model's hash, {} steps in a valid "
             "order, {}; {}\n",
             FormatCount(entry.peak_bytes),
             placed ? fmt::format(", arena {} B", FormatCount(entry.arena_bytes)) : "",
             plan::ProfileOf(report.plan->runtime).name, steps,
             placed ? fmt::format("{} placements without a shared byte, both numbers", tensors)
                    : "the number (no addresses: an order alone)",
             bound);
}

}  // namespace neap::report
