// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/traffic_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "neap/base/bytes.h"

namespace neap::report {
namespace {

using nlohmann::ordered_json;

ordered_json RowsJson(const OrderTraffic& order) {
  ordered_json rows = ordered_json::array();
  for (const traffic::Row& row : order.rows) {
    ordered_json out;
    out["bytes"] = row.on_chip_bytes;
    out["policy"] = row.policy;
    out["granularity"] = row.granularity;
    out["misses"] = row.counts.misses;
    out["read_bytes"] = row.counts.read_bytes;
    out["written_bytes"] = row.counts.written_bytes;
    out["total_bytes"] = row.counts.total();
    out["lower_bound_bytes"] = row.lower_bound_bytes;
    out["status"] = row.optimal ? "optimal" : "bounded";
    rows.push_back(std::move(out));
  }
  return rows;
}

ordered_json SummaryJson(const OrderTraffic& order) {
  ordered_json out;
  out["peak_bytes"] = order.peak_bytes;
  out["without_traffic_bytes"] = order.without_traffic_bytes;
  out["compulsory_bytes"] = order.compulsory_bytes;
  return out;
}

const traffic::Row* Find(const OrderTraffic& order, const traffic::Row& like) {
  const auto found =
      std::find_if(order.rows.begin(), order.rows.end(), [&](const traffic::Row& row) {
        return row.on_chip_bytes == like.on_chip_bytes && row.policy == like.policy &&
               row.granularity == like.granularity;
      });
  return found == order.rows.end() ? nullptr : &*found;
}

// "1.76x", computed in hundredths with integers; "none" if the plan has no traffic.
std::string Ratio(std::int64_t before, std::int64_t after) {
  if (before == 0 && after == 0) return "-";
  if (after == 0) return "none";
  __extension__ using Wide = __int128;
  const auto hundredths =
      static_cast<std::int64_t>((static_cast<Wide>(before) * 200 + after) / (2 * Wide{after}));
  return fmt::format("{}.{:02}x", hundredths / 100, hundredths % 100);
}

}  // namespace

std::string TrafficText(const TrafficReport& report, const Style& style) {
  std::string out =
      fmt::format("{}: off-chip bytes, {}\n", Printable(report.model, 4096),
                  report.ends_on_chip ? "inputs on chip at the start, outputs may stay on chip"
                                      : "inputs off chip at the start, outputs at the end");
  out = Wrapped(out, 100);
  out += Paint(style, Ink::kBold,
               Wrapped(fmt::format("no traffic from {} on-chip memory; in file order from {}\n",
                                   FormatBytes(report.planned.without_traffic_bytes),
                                   FormatBytes(report.file_order.without_traffic_bytes)),
                       100));
  if (report.planned.compulsory_bytes > 0) {
    out += fmt::format("(except the inputs and outputs, {})\n",
                       FormatBytes(report.planned.compulsory_bytes));
  }
  out += fmt::format("\n{:>12}  {:<26}  {:>15}  {:>15}  {:>7}  {:>15}\n", "on-chip B", "rule",
                     "file order", "planned order", "less", "lower bound");
  for (const traffic::Row& row : report.planned.rows) {
    const traffic::Row* file = Find(report.file_order, row);
    const std::string rule =
        row.granularity == "block"
            ? fmt::format("{}, blocks of {}", row.policy, FormatCount(report.block_bytes))
            : fmt::format("{}, tensors", row.policy);
    out += fmt::format(
        "{:>12}  {:<26}  {:>15}  {:>15}  {:>7}  {:>15}\n", FormatCount(row.on_chip_bytes), rule,
        file == nullptr ? "-" : FormatCount(file->counts.total()), FormatCount(row.counts.total()),
        file == nullptr ? "-" : Ratio(file->counts.total(), row.counts.total()),
        FormatCount(row.lower_bound_bytes));
  }
  out +=
      "\nLower bound: for tensors, the least traffic of any decisions in the planned order;\nfor "
      "blocks, the bytes that every rule has to read.\n";
  out += Wrapped(NotesText(report.notes, ""), 100);
  return out;
}

std::string TrafficJson(const TrafficReport& report) {
  ordered_json out;
  out["schema_version"] = 1;
  out["model"] = report.model;
  out["model_sha256"] = report.model_sha256;
  out["runtime"] = report.runtime;
  out["plan"] = report.plan_file.empty() ? ordered_json(nullptr) : ordered_json(report.plan_file);
  out["order"] = "planned";
  out["order_status"] = report.order_status;
  out["ends"] = report.ends_on_chip ? "on-chip" : "off-chip";
  out["block_bytes"] = report.block_bytes;
  out.update(SummaryJson(report.planned));
  out["on_chip"] = RowsJson(report.planned);
  ordered_json file = SummaryJson(report.file_order);
  file["on_chip"] = RowsJson(report.file_order);
  out["file_order"] = std::move(file);
  out["notes"] = report.notes;
  constexpr double kMicro = 1e6;
  out["seconds"] = std::round(report.seconds * kMicro) / kMicro;
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace neap::report
