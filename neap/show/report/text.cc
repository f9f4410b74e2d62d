// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "neap/base/bytes.h"
#include "neap/show/report/names.h"

namespace neap::report {
namespace {

// Without the escape sequences of colours.
std::size_t PlainColumns(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::size_t escape = std::min(text.find('\x1b'), text.size());
    columns += ColumnsOf(text.substr(0, escape));
    text.remove_prefix(escape);
    const std::size_t end = text.find('m');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return columns;
}

// "1,024 B," is not broken before its unit.
std::size_t EndOfWord(std::string_view line, std::size_t at) {
  const std::size_t end = std::min(line.find(' ', at), line.size());
  const std::size_t next = std::min(line.find(' ', end + 1), line.size());
  const bool unit =
      end + 1 < next && next - end <= 3 && (line[end + 1] == 'B' || line[end + 1] == '%');
  return unit ? next : end;
}

std::string WrappedLine(std::string_view line, std::size_t columns) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  std::string out(line.substr(0, indent));
  std::size_t used = indent;
  bool first = true;
  for (std::size_t at = indent; at < line.size();) {
    const std::size_t end = EndOfWord(line, at);
    const std::string_view word = line.substr(at, end - at);
    const std::size_t width = PlainColumns(word);
    if (!first && used + 1 + width > columns) {
      out += "\n" + std::string(indent + 2, ' ');
      used = indent + 2;
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += width;
    first = false;
    at = end + 1;
  }
  return out;
}

std::string_view RoleOf(const graph::Op& op, const compile::PeakCause& cause,
                        const compile::PeakCause::Live& live) {
  if (live.subgraph != cause.subgraph) return "live";
  const auto in = [&](const std::vector<graph::TensorId>& list) {
    return std::find(list.begin(), list.end(), live.tensor) != list.end();
  };
  if (in(op.outputs)) return "output";
  if (in(op.inputs) || in(op.captures)) return "input";
  return "live";
}

}  // namespace

std::string Paint(const Style& style, Ink ink, std::string_view text) {
  if (!style.color) return std::string(text);
  constexpr std::array<std::string_view, 4> kCodes = {"1", "2", "32", "31"};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes.at(static_cast<std::size_t>(ink)), text);
}

std::string Wrapped(std::string_view text, std::size_t columns) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += WrappedLine(text.substr(0, end), columns);
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string CountText(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", FormatCount(count), noun, count == 1 ? "" : "s");
}

std::string Percent(std::int64_t part, std::int64_t whole) {
  __extension__ using Wide = unsigned __int128;  // 2000 x bytes does not fit in 64 bits
  const auto divisor = static_cast<Wide>(whole) * 2;
  const auto tenths =
      static_cast<std::int64_t>((static_cast<Wide>(part) * 2000 + divisor / 2) / divisor);
  if (tenths == 0 && part > 0) return "under 0.1 %";
  return fmt::format("{}.{} %", FormatCount(tenths / 10), tenths % 10);
}

std::string Gap(std::int64_t upper, std::int64_t lower) {
  if (upper <= lower || upper <= 0) return "0.0 %";
  return Percent(upper - lower, upper);
}

std::string ProgressLine(const Progress& progress, double seconds) {
  if (progress.lower_bound_bytes == 0) {
    return fmt::format("best {}  states {}  {:.1f} s", FormatCount(progress.upper_bound_bytes),
                       FormatCount(progress.states), seconds);
  }
  return fmt::format("upper {}  lower {}  gap {}  states {}  {:.1f} s",
                     FormatCount(progress.upper_bound_bytes),
                     FormatCount(progress.lower_bound_bytes),
                     Gap(progress.upper_bound_bytes, progress.lower_bound_bytes),
                     FormatCount(progress.states), seconds);
}

std::string OpText(const graph::Graph& graph, graph::SubgraphId subgraph, graph::OpId op) {
  const graph::Op& known = graph.subgraphs[subgraph].ops[op];
  std::string out = fmt::format("#{} '{}'", op.value(), Printable(known.type));
  if (subgraph.value() != 0) out += fmt::format(" of subgraph #{}", subgraph.value());
  return out;
}

std::string TermsText(const graph::Graph& graph, const compile::PeakCause& cause,
                      std::size_t max_named) {
  const graph::Op& op = graph.subgraphs[cause.subgraph].ops[cause.op];
  std::vector<std::string> names;
  names.reserve(cause.tensors.size());
  const ShortNames short_names = ShortNames::OfTensors(graph);
  for (const compile::PeakCause::Live& live : cause.tensors) {
    names.push_back(short_names.Of(graph.subgraphs[live.subgraph].tensors[live.tensor].name));
  }
  std::vector<std::string> terms;
  std::int64_t more = 0;
  std::int64_t more_bytes = 0;
  for (std::size_t at = 0; at < names.size(); ++at) {
    const compile::PeakCause::Live& live = cause.tensors[at];
    if (live.bytes == 0) continue;
    if (terms.size() == max_named) {
      ++more;
      more_bytes += live.bytes;
      continue;
    }
    const std::string name =
        names[at].empty() ? fmt::format("#{}", live.tensor.value()) : "'" + names[at] + "'";
    terms.push_back(
        fmt::format("{} {} {}", RoleOf(op, cause, live), name, FormatCount(live.bytes)));
  }
  if (more > 0) terms.push_back(fmt::format("{} more {}", more, FormatCount(more_bytes)));
  if (cause.scratch_bytes > 0) terms.push_back("scratch " + FormatCount(cause.scratch_bytes));
  std::string out;
  for (const std::string& term : terms) out += (out.empty() ? "" : " + ") + term;
  return out;
}

std::string LiveTerms(const graph::Graph& graph, const compile::PeakCause& cause) {
  constexpr std::size_t kMaxNamed = 4;
  const std::string terms = TermsText(graph, cause, kMaxNamed);
  return OpText(graph, cause.subgraph, cause.op) + (terms.empty() ? "" : ": ") + terms;
}

std::string PeakSentence(const graph::Graph& graph, const compile::PeakCause& cause) {
  if (!cause.op.valid()) return "";
  std::int64_t bytes = cause.scratch_bytes;
  for (const compile::PeakCause::Live& live : cause.tensors) bytes += live.bytes;
  return fmt::format("Peak at operator {} = {} B.", LiveTerms(graph, cause), FormatCount(bytes));
}

std::string NotesText(const std::vector<std::string>& notes, std::string_view indent) {
  constexpr std::size_t kMaxNotes = 5;
  std::string out;
  for (std::size_t at = 0; at < std::min(notes.size(), kMaxNotes); ++at) {
    out += fmt::format("{}note: {}\n", indent, Printable(notes[at], 400));
  }
  if (notes.size() > kMaxNotes) {
    out += fmt::format("{}note: {} more, see --json\n", indent, notes.size() - kMaxNotes);
  }
  return out;
}

Counts CountOf(const graph::Graph& graph) {
  Counts counts;
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    IdVector<graph::TensorId, char> used(subgraph.tensors.size(), 0);
    const auto use = [&](const std::vector<graph::TensorId>& list) {
      for (const graph::TensorId id : list) {
        if (id.valid()) used[id] = 1;
      }
    };
    use(subgraph.inputs);
    use(subgraph.outputs);
    for (const graph::Op& op : subgraph.ops) {
      if (op.folded) continue;
      ++counts.operators;
      use(op.inputs);
      use(op.captures);
      use(op.outputs);
    }
    for (const graph::TensorId id : subgraph.tensors.Ids()) {
      const graph::Tensor& tensor = subgraph.tensors[id];
      if (used[id] != 0 && !tensor.constant && !tensor.variable) ++counts.tensors;
    }
  }
  return counts;
}

}  // namespace neap::report
