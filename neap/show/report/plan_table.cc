// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/plan_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/show/report/proof_text.h"

namespace neap::report {
namespace {

struct Row {
  std::string label;
  std::array<std::optional<std::int64_t>, 3> bytes;  // plan, lower bound, file order
};

std::string RowsText(std::vector<Row> rows) {
  constexpr std::array<std::string_view, 3> kHeads = {"plan", "lower bound", "file order"};
  for (Row& row : rows) {
    if (row.bytes[1] == 0) row.bytes[1].reset();  // proves nothing
  }
  std::size_t label_columns = 5;
  std::array<std::size_t, 3> columns{};
  for (std::size_t at = 0; at < 3; ++at) columns.at(at) = kHeads.at(at).size();
  for (const Row& row : rows) {
    label_columns = std::max(label_columns, row.label.size());
    for (std::size_t at = 0; at < 3; ++at) {
      if (const auto bytes = row.bytes.at(at)) {
        columns.at(at) = std::max(columns.at(at), FormatCount(*bytes).size());
      }
    }
  }
  std::string out = fmt::format("  {:<{}}", "bytes", label_columns);
  for (std::size_t at = 0; at < 3; ++at) {
    out += fmt::format("  {:>{}}", kHeads.at(at), columns.at(at));
  }
  out += "\n";
  for (const Row& row : rows) {
    std::string line = fmt::format("  {:<{}}", row.label, label_columns);
    for (std::size_t at = 0; at < 3; ++at) {
      const auto bytes = row.bytes.at(at);
      line += fmt::format("  {:>{}}", bytes ? FormatCount(*bytes) : "", columns.at(at));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

// The plan's own arena and the stock runtime's, in one row if they are equal: one number, one row.
void AddArenas(const PlanReport& report, std::vector<Row>* rows) {
  const compile::Compiled& compiled = *report.compiled;
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  const std::int64_t bound = entry.arena_lower_bound_bytes;
  const std::int64_t strongest = StrongestBound(entry, bound).bytes;
  const bool stock = compiled.delivered_arena_bytes >= 0;
  const std::int64_t file_order = compiled.file_order.arena_bytes;
  const std::string in_runtime =
      fmt::format("arena in {}", StockRuntimeName(compiled.plan.runtime));
  if (!stock) {
    rows->push_back({"arena", {entry.arena_bytes, strongest, file_order}});
  } else if (compiled.delivered_arena_bytes == entry.arena_bytes) {
    rows->push_back({in_runtime, {entry.arena_bytes, strongest, file_order}});
  } else {
    rows->push_back({"arena of the plan", {entry.arena_bytes, strongest, std::nullopt}});
  }
  if (strongest > bound) rows->push_back({"arena, any plan", {std::nullopt, bound, std::nullopt}});
  if (entry.arena_given_order_lower_bound_bytes > bound) {
    rows->push_back({"arena, this order",
                     {std::nullopt, entry.arena_given_order_lower_bound_bytes, std::nullopt}});
  }
  if (stock && compiled.delivered_arena_bytes != entry.arena_bytes) {
    rows->push_back({in_runtime, {compiled.delivered_arena_bytes, std::nullopt, file_order}});
  }
}

}  // namespace

std::optional<FullestSlot> SharingOf(const PlanReport& report) {
  const plan::Plan& plan = report.compiled->plan;
  const plan::EntryPlan& entry = plan::LargestEntry(plan);
  if (!report.placed || entry.arena_bytes >= entry.peak_bytes) return std::nullopt;
  return FindFullestSlot(plan, entry);
}

std::string TableText(const PlanReport& report, const std::optional<FullestSlot>& sharing) {
  const compile::Compiled& compiled = *report.compiled;
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  std::vector<Row> rows = {
      {"live bytes at the peak",
       {entry.peak_bytes, StrongestBound(entry, entry.peak_lower_bound_bytes).bytes,
        compiled.file_order.peak_bytes}}};
  if (sharing) {
    rows.push_back({"bytes in use, maximum", {sharing->in_use_bytes, std::nullopt, std::nullopt}});
  }
  if (report.placed) AddArenas(report, &rows);
  const compile::TflmTotal* total = TotalOf(compiled);
  if (report.placed && total != nullptr && total->missing.empty() &&
      compiled.delivered_arena_bytes >= 0) {
    rows.push_back({"total arena, " + std::string(total->target->title),
                    {total->total_arena_bytes, std::nullopt, std::nullopt}});
  }
  std::string out = RowsText(std::move(rows));
  const compile::FileOrder& file = compiled.file_order;
  const bool file_shares = report.placed && file.arena_bytes < file.peak_bytes;
  if (sharing || file_shares) {
    out += "  live bytes count each tensor in full; the rows below count shared bytes once\n";
  }
  return out;
}

}  // namespace neap::report
