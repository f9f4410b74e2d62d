// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "lab/bench/bench.h"
#include "lab/bench/value.h"
#include "neap/show/picture/chart.h"

namespace neap::bench {
namespace {

using nlohmann::ordered_json;

ordered_json JsonOf(double number) {
  return std::isfinite(number) ? ordered_json(number) : ordered_json(nullptr);
}

ordered_json JsonOf(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (const auto* count = std::get_if<std::int64_t>(&value.value)) return *count;
  if (const auto* real = std::get_if<double>(&value.value)) return JsonOf(*real);
  return nullptr;
}

ordered_json JsonOf(const Table& table) {
  ordered_json out;
  out["id"] = table.id;
  out["title"] = table.title;
  out["columns"] = ordered_json::array();
  for (const Column& column : table.columns) {
    out["columns"].push_back({{"key", column.key}, {"title", column.title}});
  }
  out["rows"] = ordered_json::array();
  for (const auto& row : table.rows) {
    ordered_json cells = ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) cells[table.columns[i].key] = JsonOf(row[i]);
    out["rows"].push_back(std::move(cells));
  }
  return out;
}

ordered_json JsonOf(const Plot& plot) {
  ordered_json out;
  out["id"] = plot.id;
  out["title"] = plot.title;
  const auto numbers = [](const std::vector<double>& from) {
    ordered_json list = ordered_json::array();
    for (const double number : from) list.push_back(JsonOf(number));
    return list;
  };
  if (const auto* bars = std::get_if<picture::Bars>(&plot.drawing)) {
    out["series"] = bars->series;
    out["groups"] = bars->groups;
    out["values"] = ordered_json::array();
    for (const auto& group : bars->values) out["values"].push_back(numbers(group));
    return out;
  }
  out["curves"] = ordered_json::array();
  for (const picture::Curve& curve : std::get<picture::Lines>(plot.drawing).curves) {
    out["curves"].push_back(
        {{"name", curve.name}, {"x", numbers(curve.x)}, {"y", numbers(curve.y)}});
  }
  return out;
}

std::string StampLine(const Stamp& stamp) {
  return fmt::format("neap {}, {}, {}, load {:.1f} at the start, {:.0f} s in all{}",
                     stamp.neap_version, stamp.date, stamp.machine, stamp.load, stamp.seconds,
                     stamp.quick ? ", the short form (--quick)" : "");
}

std::string MarkdownCell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

void AddMarkdown(const Table& table, std::string* out) {
  if (!table.title.empty()) *out += "**" + table.title + "**\n\n";
  *out += "|";
  for (const Column& column : table.columns) *out += " " + MarkdownCell(column.title) + " |";
  *out += "\n|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    bool number = false;
    for (const auto& row : table.rows) number = number || IsNumber(row[i]);
    *out += number ? "---:|" : "---|";
  }
  *out += "\n";
  for (const auto& row : table.rows) {
    *out += "|";
    for (const Value& value : row) *out += " " + MarkdownCell(Shown(value)) + " |";
    *out += "\n";
  }
  *out += "\n";
}

void AddHtml(const Table& table, std::string* out) {
  const std::string title = picture::Escape(table.title);
  *out += "<h3>" + title +
          "</h3><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + title +
          "\"><table id=\"" + picture::Escape(table.id) + "\"><tr>";
  std::vector<bool> is_number(table.columns.size(), false);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    for (const auto& row : table.rows) is_number[i] = is_number[i] || IsNumber(row[i]);
    *out += std::string(is_number[i] ? "<th class=\"n\">" : "<th>") +
            picture::Escape(table.columns[i].title) + "</th>";
  }
  *out += "</tr>";
  for (const auto& row : table.rows) {
    *out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      // A missing value is aligned as the numbers around it.
      const std::string shown = Shown(row[i]);
      const bool right = IsNumber(row[i]) || (is_number[i] && shown.size() <= 1);
      *out += std::string(right ? "<td class=\"n\">" : "<td>") + picture::Escape(shown) + "</td>";
    }
    *out += "</tr>";
  }
  *out += "</table></div>";
}

std::string FileOf(const Report& report, const Plot& plot) {
  return report.suite + "-" + plot.id + ".svg";
}

}  // namespace

std::string ToJson(const Report& report, const Stamp& stamp) {
  ordered_json out;
  out["schema_version"] = 1;
  out["suite"] = report.suite;
  out["title"] = report.title;
  out["stamp"] = {{"neap_version", stamp.neap_version}, {"date", stamp.date},
                  {"machine", stamp.machine},           {"load", stamp.load},
                  {"seconds", stamp.seconds},           {"quick", stamp.quick}};
  out["intro"] = report.intro;
  out["sections"] = ordered_json::array();
  for (const Section& section : report.sections) {
    ordered_json one;
    one["id"] = section.id;
    one["title"] = section.title;
    one["text"] = section.text;
    one["tables"] = ordered_json::array();
    for (const Table& table : section.tables) one["tables"].push_back(JsonOf(table));
    one["plots"] = ordered_json::array();
    for (const Plot& plot : section.plots) one["plots"].push_back(JsonOf(plot));
    out["sections"].push_back(std::move(one));
  }
  out["qualities"] = ordered_json::object();
  for (const Quality& quality : report.qualities) out["qualities"][quality.name] = quality.value;
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::vector<Drawing> Drawings(const Report& report) {
  std::vector<Drawing> drawings;
  for (const Section& section : report.sections) {
    for (const Plot& plot : section.plots) {
      const auto* bars = std::get_if<picture::Bars>(&plot.drawing);
      drawings.push_back(
          {FileOf(report, plot), bars != nullptr
                                     ? picture::BarSvg(*bars)
                                     : picture::LineSvg(std::get<picture::Lines>(plot.drawing))});
    }
  }
  return drawings;
}

std::string ToMarkdown(const Report& report, const Stamp& stamp, const std::string& images) {
  std::string out = "# " + report.title + "\n\nMade by `neap bench " + report.suite +
                    (stamp.quick ? " --quick" : "") + "`: " + StampLine(stamp) + ".\n\n";
  for (const std::string& paragraph : report.intro) out += paragraph + "\n\n";
  for (const Section& section : report.sections) {
    out += "## " + section.title + "\n\n";
    for (const std::string& paragraph : section.text) out += paragraph + "\n\n";
    for (const Plot& plot : section.plots) {
      if (images.empty()) break;
      out += "![" + plot.title + "](" + images + "/" + FileOf(report, plot) + ")\n\n";
    }
    for (const Table& table : section.tables) AddMarkdown(table, &out);
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::string ToHtml(const Report& report, const Stamp& stamp) {
  std::string body = "<h1>" + picture::Escape(report.title) + "</h1><p class=\"soft\">" +
                     picture::Escape(StampLine(stamp)) + "</p>";
  for (const std::string& paragraph : report.intro) {
    body += "<p>" + picture::Escape(paragraph) + "</p>";
  }
  body += "<nav>";
  for (const Section& section : report.sections) {
    body += "<a href=\"#" + picture::Escape(section.id) + "\">" + picture::Escape(section.title) +
            "</a>";
  }
  body += "</nav><main>";
  for (const Section& section : report.sections) {
    body += "<section id=\"" + picture::Escape(section.id) + "\"><h2>" +
            picture::Escape(section.title) + "</h2>";
    for (const std::string& paragraph : section.text) {
      body += "<p>" + picture::Escape(paragraph) + "</p>";
    }
    for (const Plot& plot : section.plots) {
      body += "<figure><figcaption>" + picture::Escape(plot.title) + "</figcaption>";
      if (const auto* bars = std::get_if<picture::Bars>(&plot.drawing)) {
        body += picture::BarChart(*bars);
      } else {
        body += picture::LineChart(std::get<picture::Lines>(plot.drawing));
      }
      body += "</figure>";
    }
    for (const Table& table : section.tables) AddHtml(table, &body);
    body += "</section>";
  }
  body += "</main>";
  return picture::ReportPage("Neap: " + report.title, body, ToJson(report, stamp));
}

}  // namespace neap::bench
