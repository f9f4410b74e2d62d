// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/csv.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace neap::arena {
namespace {

constexpr std::size_t kMaxGapChecks = 20'000'000;  // pairs of which one has gaps
constexpr std::size_t kMaxShown = 40;              // characters of a field in an error

struct Interval {  // half-open
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// A buffer with its steps as the file has them.
struct Row {
  Buffer buffer;
  Interval live;
  std::vector<Interval> gaps;  // sorted, disjoint, inside `live`
};

struct Columns {
  int id = -1;
  int lower = -1;
  int upper = -1;
  int size = -1;
  int alignment = -1;
  int gaps = -1;
  int offset = -1;
  int count = 0;
  bool last_step_included = false;  // the column is `end`
};

Diagnostic At(std::size_t line, std::string message) {
  return BadInput("line " + std::to_string(line) + ": " + std::move(message));
}

std::string Quoted(std::string_view field) {
  const bool long_one = field.size() > kMaxShown;
  return "'" + std::string(field.substr(0, kMaxShown)) + (long_one ? "...'" : "'");
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

int* ColumnNamed(Columns& columns, std::string_view name, int& ignored) {
  if (name == "id" || name == "buffer" || name == "buffer_id") return &columns.id;
  if (name == "lower" || name == "start" || name == "begin") return &columns.lower;
  if (name == "upper" || name == "end") return &columns.upper;
  if (name == "size") return &columns.size;
  if (name == "alignment") return &columns.alignment;
  if (name == "gaps") return &columns.gaps;
  if (name == "offset") return &columns.offset;
  return name == "hint" ? &ignored : nullptr;
}

Result<Columns> ParseHeader(std::string_view header) {
  Columns columns;
  int hint = -1;
  for (const std::string_view field : Split(header, ',')) {
    const std::string_view name = Trim(field);
    int* const column = ColumnNamed(columns, name, hint);
    if (column == nullptr) {
      return Fail(
          At(1, "found column " + Quoted(name) +
                    ", expected id,lower,upper,size and perhaps alignment,hint,gaps,offset"));
    }
    if (*column >= 0) return Fail(At(1, "found a second column " + Quoted(name)));
    *column = columns.count++;
    if (name == "end") columns.last_step_included = true;
  }
  const std::pair<int, const char*> needed[] = {{columns.id, "id"},
                                                {columns.lower, "lower"},
                                                {columns.upper, "upper"},
                                                {columns.size, "size"}};
  for (const auto& [column, name] : needed) {
    if (column < 0) return Fail(At(1, std::string("found no column '") + name + "'"));
  }
  return columns;
}

Result<std::int64_t> ParseNumber(std::string_view field, std::size_t line, const char* column) {
  if (const auto value = Number(Trim(field))) return *value;
  return Fail(At(line, std::string(column) + ": found " + Quoted(Trim(field)) +
                           ", expected a whole number of at most 64 bits"));
}

// "10-20 30-35"
Result<std::vector<Interval>> ParseGaps(std::string_view field, std::size_t line,
                                        const Columns& columns, const Interval& live) {
  std::vector<Interval> gaps;
  for (const std::string_view part : Split(field, ' ')) {
    if (Trim(part).empty()) continue;
    if (part.find('@') != std::string_view::npos) {
      return Fail(At(line, "gaps: found " + Quoted(part) +
                               ", a gap of a part of the buffer, which is not supported"));
    }
    const std::size_t dash = part.find('-', 1);  // a step may be negative
    const auto first = Number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? std::nullopt : Number(part.substr(dash + 1));
    if (!first || !last || *first > *last || *last == std::numeric_limits<std::int64_t>::max()) {
      return Fail(At(line, "gaps: found " + Quoted(part) + ", expected FIRST-LAST"));
    }
    const std::int64_t end = columns.last_step_included ? *last + 1 : *last;
    const Interval gap{std::max(*first, live.first), std::min(end, live.last)};
    if (gap.first < gap.last) gaps.push_back(gap);
  }
  std::sort(gaps.begin(), gaps.end(),
            [](const Interval& a, const Interval& b) { return a.first < b.first; });
  return gaps;
}

Result<Row> ParseRow(std::string_view text, std::size_t line, const Columns& columns) {
  const auto fields = Split(text, ',');
  if (fields.size() != static_cast<std::size_t>(columns.count)) {
    return Fail(At(line, "found " + std::to_string(fields.size()) + " fields, expected " +
                             std::to_string(columns.count)));
  }
  const auto field = [&](int column) { return fields[static_cast<std::size_t>(column)]; };
  Row row;
  NEAP_TRY(row.live.first, ParseNumber(field(columns.lower), line, "lower"));
  NEAP_TRY(row.live.last, ParseNumber(field(columns.upper), line, "upper"));
  NEAP_TRY(row.buffer.bytes, ParseNumber(field(columns.size), line, "size"));
  if (row.live.last == std::numeric_limits<std::int64_t>::max()) {
    return Fail(At(line, "upper: found " + Quoted(field(columns.upper)) + ", too large"));
  }
  if (columns.last_step_included) ++row.live.last;
  if (row.live.first > row.live.last) {
    return Fail(At(line, "found lower " + std::to_string(row.live.first) + " above upper " +
                             std::to_string(row.live.last)));
  }
  if (columns.alignment >= 0) {
    NEAP_TRY(row.buffer.alignment, ParseNumber(field(columns.alignment), line, "alignment"));
  }
  if (columns.gaps >= 0) {
    NEAP_TRY(row.gaps, ParseGaps(field(columns.gaps), line, columns, row.live));
  }
  if (columns.offset >= 0 && !Trim(field(columns.offset)).empty()) {
    NEAP_TRY(row.buffer.fixed_offset, ParseNumber(field(columns.offset), line, "offset"));
  }
  return row;
}

// A step of `a` outside its gaps is a step of `b` outside its gaps.
bool EverLiveTogether(const Row& a, const Row& b) {
  std::int64_t step = std::max(a.live.first, b.live.first);
  const std::int64_t last = std::min(a.live.last, b.live.last);
  auto next_a = a.gaps.begin();
  auto next_b = b.gaps.begin();
  while (step < last) {
    const std::int64_t before = step;
    for (; next_a != a.gaps.end() && next_a->first <= step; ++next_a) {
      step = std::max(step, next_a->last);
    }
    for (; next_b != b.gaps.end() && next_b->first <= step; ++next_b) {
      step = std::max(step, next_b->last);
    }
    if (step == before) return true;
  }
  return false;
}

Status AddGapRules(const std::vector<Row>& rows, Problem& problem) {
  const auto with_gaps = static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !row.gaps.empty(); }));
  if (with_gaps > 0 && rows.size() > kMaxGapChecks / with_gaps) {
    return Fail(BadInput("found " + std::to_string(with_gaps) + " buffers with gaps among " +
                         std::to_string(rows.size()) + ", too many"));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].gaps.empty()) continue;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if (j == i || (j < i && !rows[j].gaps.empty())) continue;
      const bool meet = std::max(rows[i].live.first, rows[j].live.first) <
                        std::min(rows[i].live.last, rows[j].live.last);
      if (!meet || EverLiveTogether(rows[i], rows[j])) continue;
      problem.pairs.push_back(Unrelated(static_cast<BufferIndex>(i), static_cast<BufferIndex>(j)));
    }
  }
  return {};
}

// As they are where they fit, else by rank.
void SetSteps(const std::vector<Row>& rows, Problem& problem) {
  constexpr std::int64_t kMin = std::numeric_limits<Step>::min();
  constexpr std::int64_t kMax = std::numeric_limits<Step>::max();
  std::vector<std::int64_t> steps;
  for (const Row& row : rows) {
    steps.push_back(row.live.first);
    steps.push_back(row.live.last);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  const bool fit = steps.empty() || (steps.front() >= kMin && steps.back() <= kMax);
  const auto step_of = [&](std::int64_t value) {
    if (fit) return static_cast<Step>(value);
    return static_cast<Step>(std::lower_bound(steps.begin(), steps.end(), value) - steps.begin());
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    problem.buffers[i].first = step_of(rows[i].live.first);
    problem.buffers[i].last = step_of(rows[i].live.last);
  }
}

}  // namespace

Result<CsvProblem> ParseCsv(std::string_view text) {
  CsvProblem csv;
  std::optional<Columns> columns;
  std::vector<Row> rows;
  std::vector<std::size_t> lines;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    std::string_view content = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!content.empty() && content.back() == '\r') content.remove_suffix(1);
    if (Trim(content).empty()) break;
    if (!columns) {
      NEAP_TRY(columns, ParseHeader(content));
      csv.header = content;
      csv.offset_column = columns->offset;
      continue;
    }
    NEAP_TRY(Row row, ParseRow(content, line, *columns));
    rows.push_back(std::move(row));
    csv.rows.emplace_back(content);
    // One at a time, so that an error names its line.
    if (auto wrong = Validate({{rows.back().buffer}, {}})) {
      constexpr std::string_view kName = "buffer #0: ";
      if (wrong->starts_with(kName)) wrong->erase(0, kName.size());
      return Fail(At(line, *wrong));
    }
  }
  if (!columns) return Fail(At(1, "found no header, expected id,lower,upper,size"));
  for (const Row& row : rows) csv.problem.buffers.push_back(row.buffer);
  SetSteps(rows, csv.problem);
  NEAP_CHECK_OK(AddGapRules(rows, csv.problem));
  if (const auto wrong = Validate(csv.problem)) return Fail(BadInput(*wrong));
  return csv;
}

std::string FormatCsv(const CsvProblem& csv, std::span<const std::int64_t> offsets) {
  std::string out = csv.header + (csv.offset_column < 0 ? ",offset\n" : "\n");
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    const std::string offset = std::to_string(offsets[i]);
    if (csv.offset_column < 0) {
      out += csv.rows[i] + "," + offset + "\n";
      continue;
    }
    const auto fields = Split(csv.rows[i], ',');
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (f > 0) out += ",";
      out += static_cast<int>(f) == csv.offset_column ? offset : std::string(fields[f]);
    }
    out += "\n";
  }
  return out;
}

}  // namespace neap::arena
