// SPDX-License-Identifier: Apache-2.0
//
// Plots of tables: groups of bars, and lines. SVG as markup, readable without script.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace neap::picture {

struct Bars {
  std::string label;                        // for those who do not see it
  std::vector<std::string> series;          // the key
  std::vector<std::string> groups;          // below the axis
  std::vector<std::vector<double>> values;  // [group][series]; NaN: none
  std::string unit;                         // "x", "KB"
  bool logarithmic = false;                 // of positive values
};
std::string BarChart(const Bars& bars);
std::string BarSvg(const Bars& bars);  // a file of its own, with colours and the key in it

struct Curve {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
};
struct Lines {
  std::string label;
  std::vector<Curve> curves;
  std::string x_title;
  std::string y_title;
  bool steps = false;          // a value applies until the next one
  bool logarithmic_y = false;  // of positive values
};
std::string LineChart(const Lines& lines);
std::string LineSvg(const Lines& lines);  // a file of its own

// The page of a report: markup for the body, JSON for scripts and tests.
std::string ReportPage(const std::string& title, const std::string& body, const std::string& json);

// `text` escaped for the body.
std::string Escape(const std::string& text);

}  // namespace neap::picture
