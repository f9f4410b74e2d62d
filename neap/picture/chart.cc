// SPDX-License-Identifier: Apache-2.0
#include "neap/picture/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "neap/picture/page.h"
#include "neap/picture/svg.h"

namespace neap::picture {
namespace {

constexpr double kWidth = 860;
constexpr double kLeft = 64;
constexpr double kRight = 850;
constexpr double kTop = 14;
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
    ".curve{fill:none;stroke-width:2}";
constexpr const char* kFileColors[kColors] = {"#4477aa", "#ee8866", "#44aa77", "#ccbb44",
                                              "#aa5588", "#66ccee", "#99785c", "#8a93a0"};

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

std::string Open(double height, const std::string& label) {
  return fmt::format(
      "<div class=\"draw\"><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", Px(kWidth),
      Px(height), Escaped(label));
}

// `marks` as a file: white ground, the key in lines of its own above them.
std::string File(double height, const std::string& label, const std::vector<std::string>& names,
                 const std::string& marks) {
  constexpr double kEachKey = 210;
  constexpr double kKeyLine = 20;
  const std::size_t in_line = static_cast<std::size_t>((kRight - kLeft) / kEachKey);
  const std::size_t lines = (names.size() + in_line - 1) / in_line;
  const double key = kKeyLine * static_cast<double>(lines) + 6;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" aria-label=\"{2}\">{3}",
      Px(kWidth), Px(height + key), Escaped(label), kFileStyle);
  for (std::size_t i = 0; i < kColors; ++i) {
    out += fmt::format(".c{0}{{fill:{1}}}.l{0}{{stroke:{1}}}", i, kFileColors[i]);
  }
  out += "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double x = kLeft + kEachKey * static_cast<double>(i % in_line);
    const std::size_t line = i / in_line;
    const double y = 4 + kKeyLine * static_cast<double>(line);
    out += fmt::format(
        "<rect class=\"c{}\" x=\"{}\" y=\"{}\" width=\"12\" height=\"12\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text>",
        i % kColors, Px(x), Px(y + 2), Px(x + 17), Px(y + 12), Escaped(names[i], 30));
  }
  return out + fmt::format("\n<g transform=\"translate(0 {})\">{}</g></svg>\n", Px(key), marks);
}

std::string HorizontalLines(const Scale& scale, double bottom, const std::string& unit) {
  std::string out;
  for (const double tick : scale.ticks()) {
    const double y = bottom - (bottom - kTop) * scale.At(tick);
    out += fmt::format(
        "<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>"
        "<text x=\"{3}\" y=\"{4}\" text-anchor=\"end\">{5}</text>",
        Px(kLeft), Px(kRight), Px(y), Px(kLeft - 6), Px(y + 4),
        Number(tick) + (unit.empty() ? "" : " " + Escaped(unit)));
  }
  return out;
}

constexpr double kBarHeight = 310;
constexpr double kLineHeight = 300;

std::string BarMarks(const Bars& bars) {
  constexpr double kBottom = 232;
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
  std::string out = HorizontalLines(scale, kBottom, bars.unit);
  const double wide =
      (kRight - kLeft) / static_cast<double>(std::max<std::size_t>(bars.groups.size(), 1));
  const double bar = wide * 0.8 / static_cast<double>(std::max<std::size_t>(bars.series.size(), 1));
  for (std::size_t g = 0; g < bars.groups.size(); ++g) {
    const double x = kLeft + wide * (static_cast<double>(g) + 0.1);
    for (std::size_t s = 0; s < bars.values[g].size(); ++s) {
      const double value = bars.values[g][s];
      if (std::isnan(value)) continue;
      const double top = kBottom - (kBottom - kTop) * scale.At(value);
      out += fmt::format(
          "<rect class=\"c{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}, {}: {} {}"
          "</title></rect>",
          s % kColors, Px(x + bar * static_cast<double>(s)), Px(top), Px(bar * 0.92),
          Px(std::max(kBottom - top, 0.6)), Escaped(bars.groups[g]), Escaped(bars.series[s]),
          Number(value), Escaped(bars.unit));
    }
    const double middle = x + wide * 0.4;
    out += fmt::format(
        "<text x=\"{0}\" y=\"{1}\" text-anchor=\"end\" transform=\"rotate(-28 {0} "
        "{1})\">{2}</text>",
        Px(middle), Px(kBottom + 16), Escaped(bars.groups[g], 20));
  }
  return out;
}

std::vector<std::string> NamesOf(const Lines& lines) {
  std::vector<std::string> names;
  names.reserve(lines.curves.size());
  for (const Curve& curve : lines.curves) names.push_back(curve.name);
  return names;
}

std::string LineMarks(const Lines& lines) {
  constexpr double kBottom = 250;
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
  const auto px = [&](double value) { return kLeft + (kRight - kLeft) * across.At(value); };
  const auto py = [&](double value) { return kBottom - (kBottom - kTop) * scale.At(value); };
  std::string out = HorizontalLines(scale, kBottom, "");
  for (const double tick : across.ticks()) {
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", Px(px(tick)),
                       Px(kBottom + 16), Number(tick));
  }
  for (std::size_t c = 0; c < lines.curves.size(); ++c) {
    const Curve& curve = lines.curves[c];
    std::string path;
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      if (i == 0) {
        path = fmt::format("M{} {}", Px(px(curve.x[i])), Px(py(curve.y[i])));
      } else if (lines.steps) {
        path += fmt::format("H{}V{}", Px(px(curve.x[i])), Px(py(curve.y[i])));
      } else {
        path += fmt::format("L{} {}", Px(px(curve.x[i])), Px(py(curve.y[i])));
      }
    }
    out += fmt::format("<path class=\"curve l{}\" d=\"{}\"/>", c % kColors, path);
  }
  out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", Px(kRight),
                     Px(kLineHeight - 6), Escaped(lines.x_title));
  out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", Px(kLeft + 6), Px(kTop + 12),
                     Escaped(lines.y_title));
  return out;
}

}  // namespace

std::string BarChart(const Bars& bars) {
  return Key(bars.series) + Open(kBarHeight, bars.label) + BarMarks(bars) + "</svg></div>";
}

std::string BarSvg(const Bars& bars) {
  return File(kBarHeight, bars.label, bars.series, BarMarks(bars));
}

std::string LineChart(const Lines& lines) {
  return Key(NamesOf(lines)) + Open(kLineHeight, lines.label) + LineMarks(lines) + "</svg></div>";
}

std::string LineSvg(const Lines& lines) {
  return File(kLineHeight, lines.label, NamesOf(lines), LineMarks(lines));
}

std::string ReportPage(const std::string& title, const std::string& body, const std::string& json) {
  return Page({Escaped(title), body, json, ""});
}

std::string Escape(const std::string& text) { return Escaped(text); }

}  // namespace neap::picture
