// SPDX-License-Identifier: Apache-2.0
#include "tools/units_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "neap/base/bytes.h"
#include "neap/base/index.h"
#include "neap/show/picture/chart.h"

namespace neap::tools {
namespace {

using nlohmann::ordered_json;

const char* StatusOf(const units::Outcome& outcome) {
  if (outcome.infeasible) return "infeasible";
  if (!outcome.best) return "unknown";
  return outcome.optimal ? "optimal" : "bounded";
}

bool LeastPeak(const UnitsReport& report) {
  return report.options.objective == units::Objective::kPeak;
}

ordered_json LimitJson(std::int64_t limit) {
  return limit < 0 ? ordered_json(nullptr) : ordered_json(limit);
}

std::string NameOf(const UnitsReport& report, std::size_t op) {
  const graph::OpId id = report.ops[op];
  return graph::Describe(id, report.subgraph->ops[id]);
}

std::int64_t EndOf(const UnitsReport& report, std::size_t op) {
  return report.outcome.best->start[op] + report.problem.durations[op];
}

// By start, then unit.
std::vector<std::size_t> ByStart(const UnitsReport& report) {
  std::vector<std::size_t> out(report.ops.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
  const units::Schedule& best = *report.outcome.best;
  std::sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    if (best.start[a] != best.start[b]) return best.start[a] < best.start[b];
    return best.unit[a] < best.unit[b];
  });
  return out;
}

std::string ResultText(const UnitsReport& report) {
  const units::Outcome& outcome = report.outcome;
  const units::Schedule& best = *outcome.best;
  const std::string peak = fmt::format("peak {} B", FormatCount(best.peak_bytes));
  const std::string makespan = fmt::format("makespan {}", FormatCount(best.makespan));
  const std::string least_peak = fmt::format("{} B", FormatCount(outcome.peak_lower_bound));
  const std::string least_makespan = FormatCount(outcome.makespan_lower_bound);
  std::string text = LeastPeak(report) ? peak : makespan;
  if (outcome.optimal) {
    text += ": optimal, proven\n";
  } else {
    text +=
        fmt::format(": no schedule is below {}\n", LeastPeak(report) ? least_peak : least_makespan);
  }
  text += LeastPeak(report) ? makespan : peak;
  text += outcome.tie_optimal ? ": the least of those, proven\n" : ": the least that was found\n";
  return text;
}

constexpr double kWidth = 960;
constexpr double kRow = 28;
constexpr double kCurve = 160;
constexpr double kLeft = 60;

// One row for each unit, below them the live bytes.
std::string Drawing(const UnitsReport& report) {
  const units::Schedule& best = *report.outcome.best;
  const double rows = kRow * report.problem.units;
  const double scale =
      (kWidth - kLeft) / static_cast<double>(std::max<std::int64_t>(best.makespan, 1));
  const auto x = [&](std::int64_t time) { return kLeft + static_cast<double>(time) * scale; };
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" style=\"max-width:100%\" "
      "aria-label=\"Operators of every unit over time, and the live bytes below\">\n",
      kWidth, rows + kCurve + 40);
  for (std::int32_t unit = 0; unit < report.problem.units; ++unit) {
    svg += fmt::format("<text x=\"0\" y=\"{:.1f}\" fill=\"currentColor\">unit {}</text>\n",
                       kRow * unit + 18, unit);
  }
  for (const std::size_t op : ByStart(report)) {
    svg += fmt::format(
        "<rect class=\"operator\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "fill=\"hsl({} 60% 60%)\" stroke=\"currentColor\" stroke-width=\"0.5\">"
        "<title>{}: {} to {}</title></rect>\n",
        x(best.start[op]), kRow * best.unit[op] + 2,
        static_cast<double>(report.problem.durations[op]) * scale, kRow - 4, (op * 47) % 360,
        picture::Escape(NameOf(report, op)), best.start[op], EndOf(report, op));
  }
  const double bottom = rows + kCurve + 16;
  const auto y = [&](std::int64_t bytes) {
    return bottom - kCurve * static_cast<double>(bytes) /
                        static_cast<double>(std::max<std::int64_t>(best.peak_bytes, 1));
  };
  std::string path = fmt::format("M{:.1f} {:.1f}", x(0), bottom);
  for (std::size_t i = 0; i + 1 < report.live.size(); ++i) {
    path += fmt::format("L{:.1f} {:.1f}L{:.1f} {:.1f}", x(report.live[i].time),
                        y(report.live[i].live_bytes), x(report.live[i + 1].time),
                        y(report.live[i].live_bytes));
  }
  path += fmt::format("L{:.1f} {:.1f}Z", x(best.makespan), bottom);
  svg += fmt::format(
      "<path class=\"live\" d=\"{}\" fill=\"hsl(210 60% 60%)\" stroke=\"currentColor\"/>\n", path);
  svg += fmt::format(
      "<text x=\"0\" y=\"{:.1f}\" fill=\"currentColor\">{} B</text>\n"
      "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"currentColor\">0</text>\n"
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"currentColor\">{}</text>\n",
      rows + 12, FormatCount(best.peak_bytes), kLeft, bottom + 18, kWidth, bottom + 18,
      FormatCount(best.makespan));
  return svg + "</svg>\n";
}

}  // namespace

std::string UnitsText(const UnitsReport& report, const report::Style& style) {
  const units::Schedule& best = *report.outcome.best;
  std::string text =
      fmt::format("{}: {} operators on {} units\n", report::Printable(report.model),
                  FormatCount(static_cast<std::int64_t>(report.ops.size())), report.problem.units);
  text += fmt::format("{:>14}  {:>14}  {:>4}  {}\n", "start", "end", "unit", "operator");
  for (const std::size_t op : ByStart(report)) {
    text += fmt::format("{:>14}  {:>14}  {:>4}  {}\n", FormatCount(best.start[op]),
                        FormatCount(EndOf(report, op)), best.unit[op],
                        report::Printable(NameOf(report, op), 58));
  }
  text += report::Paint(style, report::Ink::kBold, ResultText(report));
  text += fmt::format("arena {} B{}\n", FormatCount(report.arena_bytes),
                      report.arena_bytes == report.arena_lower_bound_bytes
                          ? ": none is smaller for this schedule"
                          : "");
  if (!report.front.empty()) {
    text += fmt::format("{:>14}  {:>14}\n", "makespan", "peak B");
    for (const FrontPoint& point : report.front) {
      text += fmt::format("{:>14}  {:>14}  {}\n", FormatCount(point.makespan),
                          FormatCount(point.peak_bytes),
                          point.optimal && point.tie_optimal ? "proven"
                          : point.optimal                    ? "makespan proven"
                                                             : "found");
    }
    if (report.front_complete) text += "no schedule has a smaller peak\n";
  }
  return text + report::Wrapped(report::NotesText(report.notes, ""), 100);
}

std::string UnitsJson(const UnitsReport& report) {
  const units::Outcome& outcome = report.outcome;
  ordered_json out;
  out["schema_version"] = 1;
  out["model"] = report.model;
  out["model_sha256"] = report.model_sha256;
  out["runtime"] = report.runtime;
  out["units"] = report.problem.units;
  out["objective"] = LeastPeak(report) ? "peak" : "makespan";
  out["makespan_limit"] = LimitJson(report.options.makespan_limit);
  out["budget_bytes"] = LimitJson(report.options.peak_limit);
  out["status"] = StatusOf(outcome);
  out["tie_optimal"] = outcome.tie_optimal;
  out["makespan"] = outcome.best ? ordered_json(outcome.best->makespan) : ordered_json(nullptr);
  out["peak_bytes"] = outcome.best ? ordered_json(outcome.best->peak_bytes) : ordered_json(nullptr);
  out["makespan_lower_bound"] = outcome.makespan_lower_bound;
  out["peak_lower_bound_bytes"] = outcome.peak_lower_bound;
  out["states"] = outcome.states;
  out["arena_bytes"] = outcome.best ? ordered_json(report.arena_bytes) : ordered_json(nullptr);
  out["arena_lower_bound_bytes"] =
      outcome.best ? ordered_json(report.arena_lower_bound_bytes) : ordered_json(nullptr);
  out["operators"] = ordered_json::array();
  out["buffers"] = ordered_json::array();
  out["live"] = ordered_json::array();
  if (outcome.best) {
    for (const std::size_t op : ByStart(report)) {
      out["operators"].push_back({{"operator", report.ops[op].value()},
                                  {"name", NameOf(report, op)},
                                  {"unit", outcome.best->unit[op]},
                                  {"start", outcome.best->start[op]},
                                  {"end", EndOf(report, op)}});
    }
    for (const PlacedBuffer& buffer : report.buffers) {
      ordered_json users = ordered_json::array();
      for (const units::OpIndex user : buffer.users) users.push_back(report.ops[At(user)].value());
      out["buffers"].push_back({{"offset", buffer.offset},
                                {"bytes", buffer.bytes},
                                {"first", buffer.first},
                                {"last", buffer.last},
                                {"operators", users},
                                {"scratch", buffer.scratch}});
    }
    for (const units::Moment& moment : report.live) {
      out["live"].push_back({{"time", moment.time}, {"live_bytes", moment.live_bytes}});
    }
  }
  out["front"] = ordered_json::array();
  for (const FrontPoint& point : report.front) {
    out["front"].push_back({{"makespan", point.makespan},
                            {"peak_bytes", point.peak_bytes},
                            {"makespan_lower_bound", point.makespan_lower_bound},
                            {"optimal", point.optimal},
                            {"tie_optimal", point.tie_optimal}});
  }
  out["front_complete"] = report.front_complete;
  out["seconds"] = report.seconds;
  out["notes"] = report.notes;
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string UnitsPage(const UnitsReport& report) {
  const std::string title = fmt::format("{} on {} units", report.model, report.problem.units);
  std::string body = fmt::format("<h1>{}</h1>\n<p>{}</p>\n", picture::Escape(title),
                                 picture::Escape(ResultText(report)));
  body += Drawing(report);
  UnitsReport same = report;
  same.seconds = 0;  // the same input gives the same page
  return picture::ReportPage(title, body, UnitsJson(same));
}

}  // namespace neap::tools
