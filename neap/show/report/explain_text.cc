// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/plan/profile.h"
#include "neap/show/report/explain_report.h"
#include "neap/show/report/proof_text.h"
#include "neap/show/report/report.h"

namespace neap::report {
namespace {

using deliver::Explanation;
using deliver::Feature;
using deliver::FeatureState;

std::string_view RuntimeText(plan::Runtime runtime) {
  switch (runtime) {
    case plan::Runtime::kIdeal:
      return "an ideal runtime";
    case plan::Runtime::kIdealInPlace:
      return "an ideal in-place runtime";
    case plan::Runtime::kTflm:
      return "stock TFLM";
    case plan::Runtime::kLitert:
      return "LiteRT";
    case plan::Runtime::kOnnxRuntime:
      return "ONNX Runtime";
    case plan::Runtime::kNeap:
      return "Neap's executor";
  }
  return "";
}

// Lines of at most kExplainColumns, broken where `separator` starts with a space in the text; all
// but the first start with `indent`, all but the last end with `break_mark`.
std::vector<std::string> Wrapped(std::string_view text, std::string_view indent,
                                 std::string_view break_mark = "",
                                 std::string_view separator = " ") {
  std::vector<std::string> lines;
  std::string line;
  const std::size_t most = kExplainColumns - break_mark.size();
  bool has_word = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator, 1), text.size());
    const std::string_view word = text.substr(0, end);  // with the space before it
    if (has_word && ColumnsOf(line) + ColumnsOf(word) > most) {
      lines.push_back(line + std::string(break_mark));
      line = std::string(indent);
      line += word.substr(1);
    } else {
      line += word;
    }
    has_word = true;
    text.remove_prefix(end);
  }
  lines.push_back(std::move(line));
  return lines;
}

// "operator #12 'CONV_2D' (input 'x' 150,528 + output 'y' 150,528)"
std::string CauseText(const graph::Graph& graph, const compile::PeakCause& cause) {
  constexpr std::size_t kMaxNamed = 3;
  const std::string terms = TermsText(graph, cause, kMaxNamed);
  return fmt::format("operator {}{}", OpText(graph, cause.subgraph, cause.op),
                     terms.empty() ? "" : " (" + terms + ")");
}

// "351,232 B are live at ... ; gaps between tensors take 25,088 B more."
std::string NeedText(const graph::Graph& graph, const compile::PeakCause& cause,
                     std::int64_t peak_bytes, std::int64_t arena_bytes) {
  if (!cause.op.valid()) return "no operator runs.";
  std::string out =
      fmt::format("{} B are live at {}", FormatCount(peak_bytes), CauseText(graph, cause));
  if (arena_bytes > peak_bytes) {
    out += fmt::format("; gaps between tensors add {} B", FormatCount(arena_bytes - peak_bytes));
  } else if (arena_bytes < peak_bytes) {
    out += fmt::format("; {} B of them share addresses", FormatCount(peak_bytes - arena_bytes));
  }
  return out + ".";
}

// Why no plan with default options needs less, as far as that is proven.
std::string WhyNoLess(const Explanation& explanation, const graph::Graph& graph) {
  const compile::Compiled& compiled = explanation.plan.compiled;
  const Headline headline = HeadlineOf(compiled, true);
  if (headline.bytes > headline.lower_bound_bytes) {
    return fmt::format("Proven lower bound of this graph: {} B, {} less.",
                       FormatCount(headline.lower_bound_bytes),
                       Gap(headline.bytes, headline.lower_bound_bytes));
  }
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  const bool of_peak = entry.arena_lower_bound_bytes <= entry.peak_lower_bound_bytes;
  const plan::Certificate& proof = of_peak ? entry.certificate : entry.arena_certificate;
  std::string out = "No order and no placement needs less";
  if (proof.kind == plan::CertificateKind::kSingleOperator && proof.op.valid()) {
    const compile::PeakCause& cause = compiled.peak_at;
    const bool same = cause.op == proof.op && cause.subgraph == entry.subgraph;
    out +=
        fmt::format(": {} alone needs {} B",
                    same ? "this operator" : "operator " + OpText(graph, entry.subgraph, proof.op),
                    FormatCount(headline.lower_bound_bytes));
  } else if (proof.kind == plan::CertificateKind::kCut && proof.op.valid()) {
    out += fmt::format(": in every order at least {} B are live at operator {}",
                       FormatCount(headline.lower_bound_bytes),
                       OpText(graph, entry.subgraph, proof.op));
  } else if (proof.kind == plan::CertificateKind::kSearch) {
    out += ": a complete search found none";
  }
  out += ".";
  // Where outputs overlap inputs, a bound of the peak does not bound the arena.
  const bool overlaps = compiled.plan.kernels != ops::KernelLibrary::kNone ||
                        plan::ProfileOf(compiled.plan.runtime).kernels != ops::KernelLibrary::kNone;
  const auto& rewriting = explanation.plan.rewriting;
  if (rewriting && !overlaps && rewriting->lower_bound_bytes >= headline.bytes) {
    out += " Nor does any choice of rewrites.";
  }
  return out;
}

std::string SavedText(std::int64_t now, std::int64_t before) {
  if (now == before || before <= 0) return "0.0 %";
  return now < before ? Percent(before - now, before) : "-" + Percent(now - before, before);
}

// Ratio in thousandths, rounded as in the report of `neap plan`: "1.020x". Only equal numbers are
// "1.000x".
std::string MacsText(const Feature& feature) {
  if (feature.model_macs <= 0) return "1.000x";
  __extension__ using Wide = __int128;
  const auto model = static_cast<Wide>(feature.model_macs);
  auto permille =
      static_cast<std::int64_t>((static_cast<Wide>(feature.macs) * 2000 + model) / (2 * model));
  if (feature.macs > feature.model_macs) permille = std::max<std::int64_t>(permille, 1001);
  if (feature.macs < feature.model_macs) permille = std::min<std::int64_t>(permille, 999);
  return fmt::format("{}.{:03}x", FormatCount(permille / 1000), permille % 1000);
}

std::string GrowthText(const Feature& feature) {
  if (!feature.growth_bytes) return "-";
  const std::int64_t growth = *feature.growth_bytes;
  if (growth == 0) return "0";
  return (growth > 0 ? "+" : "-") + FormatCount(growth > 0 ? growth : -growth);
}

// --- the table ---

constexpr std::size_t kColumns = 7;
using Cells = std::array<std::string, kColumns>;

Cells CellsOf(const Feature& feature, std::int64_t file_order_bytes) {
  std::string arena = FormatCount(feature.arena_bytes);
  arena += feature.IsOptimal() ? "*" : feature.state == FeatureState::kUnfinished ? "+" : " ";
  return {std::string(feature.label),
          arena,
          SavedText(feature.arena_bytes, file_order_bytes),
          feature.total_arena_bytes < 0 ? "-" : FormatCount(feature.total_arena_bytes),
          MacsText(feature),
          GrowthText(feature),
          std::string(feature.requires_text)};
}

// Text of the first and last column is left-aligned; columns without content are left out.
std::vector<std::string> FeatureTable(const std::vector<Cells>& rows) {
  std::array<std::size_t, kColumns> widths{};
  std::array<bool, kColumns> used{};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t at = 0; at < kColumns; ++at) {
      widths.at(at) = std::max(widths.at(at), rows[row].at(at).size());
      const std::string& cell = rows[row].at(at);
      used.at(at) = used.at(at) || (row > 0 && !cell.empty() && cell != "-");
    }
  }
  std::vector<std::string> lines;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t at = 0; at < kColumns; ++at) {
      if (!used.at(at)) continue;
      const bool left = at == 0 || at + 1 == kColumns;
      line += left ? fmt::format("  {:<{}}", row.at(at), widths.at(at))
                   : fmt::format("  {:>{}}", row.at(at), widths.at(at));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

// The features that the table leaves out, by name.
struct Groups {
  std::vector<const Feature*> shown;
  std::string no_gain;
  std::string no_gain_unfinished;
  std::string not_started;
  std::vector<std::string> not_applicable;  // "moves: reason"
};

void Append(std::string_view label, std::string* list) {
  *list += list->empty() ? "" : ", ";
  *list += label;
}

// Whether a feature needs less than the model in file order and than every row above it with no
// further requirements.
bool Gains(const Feature& feature, const Explanation& explanation, const Groups& groups) {
  if (!deliver::NeedsLess(feature, explanation.FileOrderNeed())) return false;
  return std::none_of(groups.shown.begin(), groups.shown.end(), [&](const Feature* other) {
    const bool asks_no_more = other->is_free || (other->runtime == feature.runtime &&
                                                 other->requires_text == feature.requires_text);
    return asks_no_more && other->arena_bytes <= feature.arena_bytes &&
           !deliver::NeedsLess(feature, *other);
  });
}

Groups GroupsOf(const Explanation& explanation) {
  Groups groups;
  const Feature& base = explanation.features[explanation.default_feature];
  for (const Feature& feature : explanation.features) {
    if (feature.state == FeatureState::kNotStarted) {
      Append(feature.label, &groups.not_started);
    } else if (feature.state == FeatureState::kNotApplicable) {
      groups.not_applicable.push_back(
          fmt::format("{} ({})", feature.label, Printable(feature.reason, 120)));
    } else if (&feature == &base || Gains(feature, explanation, groups)) {
      groups.shown.push_back(&feature);
    } else if (feature.state == FeatureState::kUnfinished) {
      Append(feature.label, &groups.no_gain_unfinished);
    } else {
      Append(feature.label, &groups.no_gain);
    }
  }
  return groups;
}

// --- next steps ---

std::string WhyText(const ExplainReport& report, const NextStep& step) {
  switch (step.why) {
    case NextStep::Why::kFree:
      return step.feature->macs < step.feature->model_macs ? "any kernels, same outputs, fewer MACs"
                                                           : "any kernels, same outputs and MACs";
    case NextStep::Why::kRuntime:
      return fmt::format("fewest bytes on {}", RuntimeText(report.explanation->runtime));
    case NextStep::Why::kAny:
      return "fewest bytes on any runtime";
    case NextStep::Why::kCode:
      return "C code in place of a runtime";
  }
  return "";
}

// Of a plan of `runtime`, after its bytes.
std::string PriceText(const Feature& feature, plan::Runtime runtime) {
  std::string text;
  // By this number TFLM's features are compared.
  if (feature.total_arena_bytes >= 0) {
    text += fmt::format(" (total {} B)", FormatCount(feature.total_arena_bytes));
  }
  if (feature.macs != feature.model_macs) text += fmt::format(", {} MACs", MacsText(feature));
  if (!feature.requires_text.empty()) text += fmt::format(", {}", feature.requires_text);
  if (runtime == plan::Runtime::kTflm && !feature.new_operators.empty()) {
    std::string list;
    for (const std::string& type : feature.new_operators) Append(Printable(type), &list);
    text += ", register " + list;
  }
  if (feature.state == FeatureState::kUnfinished) text += " (unfinished)";
  return text;
}

std::vector<std::string> NextLines(const ExplainReport& report, const std::vector<NextStep>& steps,
                                   const Style& style) {
  std::vector<std::string> lines;
  if (steps.empty()) {
    const Explanation& explanation = *report.explanation;
    const bool proven = explanation.features[explanation.default_feature].IsOptimal();
    lines.emplace_back(proven ? "next: none; this graph needs its proven lower bound"
                              : "next: none; no planned feature needs less");
  }
  for (const NextStep& step : steps) {
    std::string head =
        fmt::format("{}: {} B", WhyText(report, step), FormatCount(step.arena_bytes));
    if (step.feature != nullptr) {
      head += PriceText(*step.feature, report.explanation->runtime);
    } else {
      head += fmt::format(" in all, stack {} B, same MACs", FormatCount(report.code->stack_bytes));
    }
    for (const std::string& line : Wrapped("next, " + head, "  ")) {
      lines.push_back(Paint(style, Ink::kBold, line));
    }
    for (std::string& line : Wrapped("  " + step.command, "      ", " \\", " -")) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

// --- the whole ---

// Need, need with default options, least need.
std::vector<std::string> FirstLines(const ExplainReport& report, const Style& style) {
  const Explanation& explanation = *report.explanation;
  const Feature& base = explanation.features[explanation.default_feature];
  const std::int64_t file_bytes = explanation.file_order.arena_bytes;
  const Feature* best = explanation.Best(
      [&](const Feature& feature) { return feature.runtime == explanation.runtime; });
  const std::string_view path = report.source->path;
  const std::string name =
      Printable(path == "-" ? "the model" : path.substr(path.find_last_of('/') + 1), 30);
  std::vector<std::string> lines;
  for (const std::string& line :
       Wrapped(fmt::format("{} needs an arena of {} in file order on {}.", name,
                           FormatBytes(file_bytes), RuntimeText(explanation.runtime)),
               "  ")) {
    lines.push_back(Paint(style, Ink::kBold, line));
  }
  const auto saves = [&](const Feature& feature) {
    return fmt::format("{} B ({} less)", FormatCount(feature.arena_bytes),
                       SavedText(feature.arena_bytes, file_bytes));
  };
  std::string line = base.arena_bytes < file_bytes ? "Default options need " + saves(base)
                                                   : "Default options need the same";
  if (best == nullptr || !deliver::NeedsLess(*best, base)) {
    line += fmt::format("; no other feature for {} needs less.", RuntimeText(explanation.runtime));
  } else if (best->arena_bytes < base.arena_bytes) {
    line += fmt::format("; {} {}.", best->label, saves(*best));
  } else {
    line += fmt::format("; {} needs the smallest total arena, {} B.", best->label,
                        FormatCount(best->total_arena_bytes));
  }
  for (std::string& one : Wrapped(line, "  ")) lines.push_back(std::move(one));
  return lines;
}

std::vector<std::string> HeadText(const ExplainReport& report, const Style& style) {
  const Explanation& explanation = *report.explanation;
  const compile::Compiled& compiled = explanation.plan.compiled;
  const graph::Graph& planned = explanation.plan.Planned(*report.source).graph;
  const std::int64_t peak_bytes = plan::LargestEntry(compiled.plan).peak_bytes;
  std::vector<std::string> texts;
  if (!explanation.refused.empty()) {
    std::string text =
        fmt::format("{} does not execute this model: {}.", RuntimeText(explanation.runtime),
                    Printable(explanation.refused, 150));
    if (text.front() >= 'a' && text.front() <= 'z') {
      text.front() = static_cast<char>(text.front() - 'a' + 'A');
    }
    texts.push_back(std::move(text));
  }
  if (!compiled.unknown_kernels.empty()) {
    texts.push_back("No number counts unknown scratch: " +
                    Printable(compile::UnknownScratchText(compiled.unknown_kernels), 150) + ".");
  }
  texts.push_back("File order: " + NeedText(report.source->graph, explanation.file_peak,
                                            explanation.file_order.peak_bytes,
                                            explanation.file_order.arena_bytes));
  const bool same = !explanation.plan.edited && compiled.peak_at.op == explanation.file_peak.op &&
                    peak_bytes == explanation.file_order.peak_bytes &&
                    HeadlineOf(compiled, true).bytes == explanation.file_order.arena_bytes;
  const std::string need =
      same ? "the same."
           : NeedText(planned, compiled.peak_at, peak_bytes, HeadlineOf(compiled, true).bytes);
  texts.push_back("Default: " + need + " " + WhyNoLess(explanation, planned));
  std::vector<std::string> lines = FirstLines(report, style);
  for (const std::string& text : texts) {
    for (std::string& line : Wrapped(text, "  ")) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> GroupsText(const Groups& groups, bool interrupted) {
  std::vector<std::string> texts;
  if (!groups.no_gain.empty()) texts.push_back("No gain: " + groups.no_gain + ".");
  if (!groups.no_gain_unfinished.empty()) {
    texts.push_back("No gain yet, unfinished: " + groups.no_gain_unfinished + ".");
  }
  if (!groups.not_started.empty()) {
    texts.push_back(interrupted ? "Not planned, interrupted: " + groups.not_started + "."
                                : "Not planned, the limit was reached: " + groups.not_started +
                                      "; --time-limit sets another limit.");
  }
  if (!groups.not_applicable.empty()) {
    std::string list;
    for (const std::string& one : groups.not_applicable) Append(one, &list);
    texts.push_back("Not applicable: " + list + ".");
  }
  std::vector<std::string> lines;
  for (const std::string& text : texts) {
    for (std::string& line : Wrapped(text, "  ")) lines.push_back(std::move(line));
  }
  return lines;
}

std::string LegendOf(const std::vector<Cells>& cells, std::size_t hidden, bool interrupted) {
  const auto has = [&](char mark) {
    return std::any_of(cells.begin() + 1, cells.end(),
                       [&](const Cells& row) { return row[1].ends_with(mark); });
  };
  std::string out;
  if (has('*')) out = "* optimal over all orders and placements";
  if (has('+')) {
    out += out.empty() ? "" : "; ";
    out += interrupted ? "+ unfinished: interrupted" : "+ unfinished: a limit ended it";
  }
  if (hidden > 0) out += (out.empty() ? "" : "; ") + fmt::format("--json has {} more", hidden);
  return out.empty() ? out : "  " + out + "\n";
}

// Leaves at most `most` rows where that is possible: those of the default options and of the next
// steps stay, and those that need most go first. The number of hidden rows.
std::size_t HideRows(std::size_t most, const Explanation& explanation,
                     const std::vector<NextStep>& steps, std::vector<const Feature*>* rows) {
  const auto stays = [&](const Feature* row) {
    return row == &explanation.features[explanation.default_feature] ||
           std::any_of(steps.begin(), steps.end(),
                       [&](const NextStep& step) { return step.feature == row; });
  };
  std::size_t hidden = 0;
  while (rows->size() > most) {
    auto worst = rows->end();
    for (auto row = rows->begin(); row != rows->end(); ++row) {
      if (stays(*row)) continue;
      if (worst == rows->end() || deliver::NeedsLess(**worst, **row)) worst = row;
    }
    if (worst == rows->end()) break;
    rows->erase(worst);
    ++hidden;
  }
  return hidden;
}

std::string LinesText(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace

std::string ExplainText(const ExplainReport& report, const Style& style) {
  const Explanation& explanation = *report.explanation;
  Groups groups = GroupsOf(explanation);
  const std::vector<NextStep> steps = NextStepsOf(report);
  const std::vector<std::string> head = HeadText(report, style);
  const std::vector<std::string> rest = GroupsText(groups, explanation.interrupted);
  const std::vector<std::string> next = NextLines(report, steps, style);
  const std::size_t fixed = head.size() + rest.size() + next.size() + 2;  // table head and legend
  const std::size_t hidden = HideRows(kExplainLines - std::min<std::size_t>(fixed, kExplainLines),
                                      explanation, steps, &groups.shown);
  std::vector<Cells> cells = {
      {"feature", "arena B ", "saved", "total B", "MACs", "file B", "requires"}};
  for (const Feature* feature : groups.shown) {
    cells.push_back(CellsOf(*feature, explanation.file_order.arena_bytes));
  }
  // Blank lines where the number of lines permits.
  const std::string_view gap = fixed + groups.shown.size() + 2 <= kExplainLines ? "\n" : "";
  std::string out = LinesText(head);
  out += gap;
  out += LinesText(FeatureTable(cells)) + LegendOf(cells, hidden, explanation.interrupted) +
         LinesText(rest);
  if (!next.empty()) out += gap;
  return out + LinesText(next);
}

}  // namespace neap::report
