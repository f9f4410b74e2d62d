// SPDX-License-Identifier: Apache-2.0
#include "neap/show/picture/plot.h"

#include <fmt/format.h>

#include <algorithm>

#include "neap/show/picture/svg.h"

namespace neap::picture {

std::string Plot::X(double column) const {
  const double share = column / static_cast<double>(std::max<std::int64_t>(columns, 1));
  return fmt::format("{:.3f}%", share * 100);
}

double Plot::Y(std::int64_t bytes) const {
  const double share =
      static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(max_bytes, 1));
  return height * (1 - share);
}

std::string OpenPlane(const Plot& plot, const std::string& attributes) {
  return fmt::format(
      "<svg class=\"plane\" {} height=\"{}\" overflow=\"visible\" data-height=\"{}\" "
      "data-max=\"{}\" data-columns=\"{}\">",
      attributes, Px(plot.height), Px(plot.height), plot.max_bytes, plot.columns);
}

std::string OpenPlot(const Plot& plot, const std::string& label) {
  return fmt::format(
             "<div class=\"chart\" role=\"img\" aria-label=\"{}\" "
             "style=\"padding:{}px {}px {}px {}px\">",
             label, Px(plot.top), Px(plot.right), Px(plot.bottom), Px(plot.left)) +
         OpenPlane(plot, "width=\"100%\"");
}

std::string ClosePlot() { return "</svg></div>"; }

std::string OpenPaths(const Plot& plot) {
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" width=\"100%\" height=\"{}\" preserveAspectRatio=\"none\" "
      "overflow=\"visible\">",
      std::max<std::int64_t>(plot.columns, 1), Px(plot.height), Px(plot.height));
}

std::string ByteAxis(const Plot& plot) {
  std::string out;
  for (const std::int64_t tick : Ticks(plot.max_bytes)) {
    if (tick > plot.max_bytes) break;
    const double y = plot.Y(tick);
    out += fmt::format(
        "<line class=\"axis\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>"
        "<text x=\"-6\" y=\"{1}\" text-anchor=\"end\">{2}</text>",
        Px(y), Px(y + 4), ShortBytes(tick));
  }
  return out;
}

std::string ColumnAxis(const Plot& plot, const std::string& name) {
  std::string out;
  for (const std::int64_t tick : Ticks(plot.columns * plot.numbers)) {
    const std::int64_t column = tick / plot.numbers;
    if (column >= plot.columns) break;
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                       plot.X(static_cast<double>(column) + 0.5), Px(plot.height + 16), tick);
  }
  // On a line of its own: beside the numbers it would meet the last of them.
  return out + fmt::format("<text x=\"100%\" y=\"{}\" text-anchor=\"end\">{}</text>",
                           Px(plot.height + 32), Escaped(name));
}

}  // namespace neap::picture
