// SPDX-License-Identifier: Apache-2.0
#include "neap/show/picture/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include "neap/show/picture/page.h"
#include "neap/show/picture/plot.h"
#include "neap/show/picture/svg.h"
#include "neap/show/report/text.h"

namespace neap::picture {
namespace {

constexpr double kFileWidth = 860;
constexpr double kAlwaysFits = 300;  // pixels of a page on a telephone
constexpr std::size_t kColors = 8;

std::string Number(double value) {
  const double size = std::fabs(value);
  if (value == std::floor(value) && size < 1e6) return fmt::format("{:.0f}", value);
  if (size != 0 && (size >= 1e6 || size < 1e-3)) return fmt::format("{:.0e}", value);
  return fmt::format("{:.3g}", value);
}

// The colours of the page (page.cc) by day, for files that no page surrounds.
constexpr const char* kFileStyle =
    "<style>text{font:12px sans-serif;fill:#222}.axis{stroke:#ccc;stroke-width:1}"
    ".curve{fill:none;stroke-width:2}.thin{vector-effect:non-scaling-stroke}";
constexpr const char* kFileColors[kColors] = {"#33608f", "#d9622b", "#2f8f63", "#a68a00",
                                              "#8a3f72", "#1f95bd", "#7a5a3f", "#5f6873"};

// From values to a height between 0 and 1, and the values that get a line.
class Scale {
 public:
  Scale(double low, double high, bool logarithmic) : logarithmic_(logarithmic) {
    if (!(high > 0)) high = 1;
    if (!(low <= high)) low = high;
    if (logarithmic) {
      low_ = std::floor(std::log10(std::max(low, 1e-12)));
      high_ = std::ceil(std::log10(std::max(high, 1e-12)));
      if (high_ <= low_) high_ = low_ + 1;
      const double step = std::max(1.0, std::ceil((high_ - low_) / 7));
      for (double at = low_; at <= high_; at += step) ticks_.push_back(std::pow(10.0, at));
      return;
    }
    low_ = 0;
    high_ = high > 0 ? high : 1;
    const double magnitude = std::pow(10.0, std::floor(std::log10(high_)));
    double step = magnitude / 5;
    for (const double factor : {0.2, 0.5, 1.0, 2.0}) {
      step = magnitude * factor;
      if (high_ / step <= 6) break;
    }
    for (double at = 0; at < high_ + step; at += step) ticks_.push_back(at);
    high_ = ticks_.back();
  }
  double At(double value) const {
    const double on = logarithmic_ ? std::log10(std::max(value, 1e-12)) : value;
    return std::clamp((on - low_) / (high_ - low_), 0.0, 1.0);
  }
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  bool logarithmic_;
  double low_ = 0;
  double high_ = 1;
  std::vector<double> ticks_;
};

std::string Key(const std::vector<std::string>& names) {
  std::string out = "<div class=\"key\">";
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += fmt::format("<span><i class=\"c{}\"></i>{}</span>", i % kColors, Escaped(names[i]));
  }
  return out + "</div>";
}

// A drawing without its frame: `marks` are in the coordinates of `plot`.
struct Drawing {
  Plot plot;
  double min_width = 0;  // below it the page scrolls the drawing; 0: any width is enough
  std::string label;     // the text alternative
  std::string marks;
};

std::string OnPage(const Drawing& drawing) {
  const std::string label = Escaped(drawing.label);
  std::string chart = OpenPlot(drawing.plot, label) + drawing.marks + ClosePlot();
  if (drawing.min_width <= kAlwaysFits) return chart;
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Chart\"><div "
      "style=\"min-width:{}px\">{}</div></div>",
      Px(drawing.min_width), chart);
}

// `drawing` as a file: white ground, the key in lines of its own above the plane.
std::string File(const Drawing& drawing, const std::vector<std::string>& names) {
  constexpr double kEachKey = 210;
  constexpr double kKeyLine = 20;
  const Plot& plot = drawing.plot;
  const double wide = kFileWidth - plot.left - plot.right;
  const auto in_line = static_cast<std::size_t>(wide / kEachKey);
  const std::size_t lines = (names.size() + in_line - 1) / in_line;
  const double key = kKeyLine * static_cast<double>(lines) + 6;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" aria-label=\"{2}\">{3}",
      Px(kFileWidth), Px(plot.Total() + key), Escaped(drawing.label), kFileStyle);
  for (std::size_t i = 0; i < kColors; ++i) {
    out += fmt::format(".c{0}{{fill:{1}}}.l{0}{{stroke:{1}}}", i, kFileColors[i]);
  }
  out += "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double x = plot.left + kEachKey * static_cast<double>(i % in_line);
    const std::size_t line = i / in_line;
    const double y = 4 + kKeyLine * static_cast<double>(line);
    out += fmt::format(
        "<rect class=\"c{}\" x=\"{}\" y=\"{}\" width=\"12\" height=\"12\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text>",
        i % kColors, Px(x), Px(y + 2), Px(x + 17), Px(y + 12), Escaped(names[i], 30));
  }
  return out + fmt::format("\n<g transform=\"translate(0 {})\">{}{}</svg></g></svg>\n", Px(key),
                           OpenPlane(plot, fmt::format("x=\"{}\" y=\"{}\" width=\"{}\"",
                                                       Px(plot.left), Px(plot.top), Px(wide))),
                           drawing.marks);
}

std::string HorizontalLines(const Scale& scale, double height, const std::string& unit) {
  std::string out;
  for (const double tick : scale.ticks()) {
    const double y = height * (1 - scale.At(tick));
    out += fmt::format(
        "<line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>"
        "<text x=\"-6\" y=\"{1}\" text-anchor=\"end\">{2}</text>",
        Px(y), Px(y + 4), Number(tick) + (unit.empty() ? "" : " " + Escaped(unit)));
  }
  return out;
}

// The values of a drawing with few of them, series by series; else the range of each series.
std::string BarLabel(const Bars& bars) {
  constexpr std::size_t kMaxValues = 40;
  const bool all = bars.groups.size() * bars.series.size() <= kMaxValues;
  const std::string unit = bars.unit.empty() ? "" : " " + bars.unit;
  std::string out = bars.label;
  for (std::size_t s = 0; s < bars.series.size(); ++s) {
    std::string values;
    double low = HUGE_VAL;
    double high = -HUGE_VAL;
    for (std::size_t g = 0; g < bars.values.size(); ++g) {
      if (s >= bars.values[g].size() || std::isnan(bars.values[g][s])) continue;
      const double value = bars.values[g][s];
      low = std::min(low, value);
      high = std::max(high, value);
      values +=
          fmt::format("{}{} {}{}", values.empty() ? "" : ", ", bars.groups[g], Number(value), unit);
    }
    if (values.empty()) continue;
    if (!all) values = fmt::format("{} to {}{}", Number(low), Number(high), unit);
    out += fmt::format("{} {}: {}", out.empty() ? "" : ".", bars.series[s], values);
  }
  return out + ".";
}

// Names below the axis are written upwards to the right: this much space for each column of text.
constexpr double kDegrees = 50;
constexpr double kColumnDown = 5.9;
constexpr double kColumnLeft = 5.0;
constexpr std::size_t kMaxGroupColumns = 20;

std::string BarMarks(const Bars& bars, const Plot& plot) {
  double low = HUGE_VAL;
  double high = 0;
  for (const auto& group : bars.values) {
    for (const double value : group) {
      if (std::isnan(value)) continue;
      if (value > 0) low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const Scale scale(low, high, bars.logarithmic);
  std::string out = HorizontalLines(scale, plot.height, bars.unit);
  const double bar = 0.8 / static_cast<double>(std::max<std::size_t>(bars.series.size(), 1));
  for (std::size_t g = 0; g < bars.groups.size(); ++g) {
    const auto x = static_cast<double>(g);
    for (std::size_t s = 0; s < bars.values[g].size(); ++s) {
      const double value = bars.values[g][s];
      if (std::isnan(value)) continue;
      const double tall = plot.height * scale.At(value);
      out += fmt::format(
          "<rect class=\"c{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}, {}: {} {}"
          "</title></rect>",
          s % kColors, plot.X(x + 0.1 + bar * static_cast<double>(s)), Px(plot.height - tall),
          plot.X(bar * 0.92), Px(std::max(tall, 0.6)), Escaped(bars.groups[g]),
          Escaped(bars.series[s]), Number(value), Escaped(bars.unit));
    }
    out += fmt::format(
        "<svg x=\"{}\" y=\"{}\" overflow=\"visible\"><text class=\"group\" text-anchor=\"end\" "
        "transform=\"rotate(-{})\">{}<title>{}</title></text></svg>",
        plot.X(x + 0.5), Px(plot.height + 14), kDegrees, Escaped(bars.groups[g], kMaxGroupColumns),
        Escaped(bars.groups[g]));
  }
  return out;
}

Drawing DrawingOf(const Bars& bars) {
  std::size_t columns = 0;
  for (const std::string& group : bars.groups) {
    columns = std::max(columns, report::ColumnsOf(report::Printable(group, kMaxGroupColumns)));
  }
  Drawing out;
  out.plot.columns = static_cast<std::int64_t>(bars.groups.size());
  out.plot.height = 218;
  out.plot.top = 14;
  out.plot.left = std::max(64.0, kColumnLeft * static_cast<double>(columns) - 6);
  out.plot.bottom = 28 + kColumnDown * static_cast<double>(columns);
  const double each = std::max(28.0, 5.0 * static_cast<double>(bars.series.size()));
  out.min_width = out.plot.left + out.plot.right + each * static_cast<double>(bars.groups.size());
  out.label = BarLabel(bars);
  out.marks = BarMarks(bars, out.plot);
  return out;
}

std::vector<std::string> NamesOf(const Lines& lines) {
  std::vector<std::string> names;
  names.reserve(lines.curves.size());
  for (const Curve& curve : lines.curves) names.push_back(curve.name);
  return names;
}

std::string LineLabel(const Lines& lines) {
  std::string out = lines.label;
  for (const Curve& curve : lines.curves) {
    if (curve.x.empty()) continue;
    out += fmt::format("{} {}: {} points, from {} at {} to {} at {}", out.empty() ? "" : ".",
                       curve.name, curve.x.size(), Number(curve.y.front()), Number(curve.x.front()),
                       Number(curve.y.back()), Number(curve.x.back()));
  }
  return out + fmt::format(". Across: {}; up: {}.", lines.x_title, lines.y_title);
}

std::string PathOf(const Curve& curve, bool steps, const std::function<double(double)>& px,
                   const std::function<double(double)>& py) {
  std::string path;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    const std::string x = Px(px(curve.x[i]));
    const std::string y = Px(py(curve.y[i]));
    if (i == 0) {
      path = fmt::format("M{} {}", x, y);
    } else {
      path += steps ? fmt::format("H{}V{}", x, y) : fmt::format("L{} {}", x, y);
    }
  }
  return path;
}

std::string LineMarks(const Lines& lines, const Plot& plot) {
  double low = HUGE_VAL;
  double high = 0;
  double right = 0;
  for (const Curve& curve : lines.curves) {
    for (const double value : curve.y) {
      if (value > 0) low = std::min(low, value);
      high = std::max(high, value);
    }
    for (const double value : curve.x) right = std::max(right, value);
  }
  const Scale scale(low, high, lines.logarithmic_y);
  const Scale across(0, right, false);
  const auto px = [&](double value) {
    return static_cast<double>(plot.columns) * across.At(value);
  };
  const auto py = [&](double value) { return plot.height * (1 - scale.At(value)); };
  std::string out = HorizontalLines(scale, plot.height, "");
  for (const double tick : across.ticks()) {
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", plot.X(px(tick)),
                       Px(plot.height + 16), Number(tick));
  }
  out += OpenPaths(plot);
  for (std::size_t c = 0; c < lines.curves.size(); ++c) {
    out += fmt::format("<path class=\"curve thin l{}\" d=\"{}\"/>", c % kColors,
                       PathOf(lines.curves[c], lines.steps, px, py));
  }
  return out + fmt::format(
                   "</svg><text x=\"100%\" y=\"{}\" text-anchor=\"end\">{}</text>"
                   "<text x=\"0\" y=\"-8\">{}</text>",
                   Px(plot.height + 34), Escaped(lines.x_title), Escaped(lines.y_title));
}

Drawing DrawingOf(const Lines& lines) {
  Drawing out;
  out.plot.columns = 1000;  // of the paths: tenths of them are drawn
  out.plot.height = 230;
  out.plot.right = 26;
  out.label = LineLabel(lines);
  out.marks = LineMarks(lines, out.plot);
  return out;
}

}  // namespace

std::string BarChart(const Bars& bars) { return Key(bars.series) + OnPage(DrawingOf(bars)); }

std::string BarSvg(const Bars& bars) { return File(DrawingOf(bars), bars.series); }

std::string LineChart(const Lines& lines) { return Key(NamesOf(lines)) + OnPage(DrawingOf(lines)); }

std::string LineSvg(const Lines& lines) { return File(DrawingOf(lines), NamesOf(lines)); }

std::string ReportPage(const std::string& title, const std::string& body, const std::string& json) {
  return Page({Escaped(title), body, json, ""});
}

std::string Escape(const std::string& text) { return Escaped(text); }

}  // namespace neap::picture
