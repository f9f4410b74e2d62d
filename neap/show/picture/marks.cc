// SPDX-License-Identifier: Apache-2.0
#include "neap/show/picture/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/show/picture/svg.h"
#include "neap/show/report/text.h"

namespace neap::picture {
namespace {

constexpr std::size_t kMaxRects = 6000;
constexpr std::size_t kColors = 8;
// Rectangles one or two pixels wide would be all outline.
constexpr std::size_t kMaxOutlinedSteps = 120;

std::string Ground(const Plot& plot) {
  return fmt::format("<rect class=\"ground\" width=\"100%\" height=\"{}\"/>", Px(plot.height));
}

std::string LivePaths(const Run& run, const Plot& plot) {
  std::string path = fmt::format("M0 {}", Px(plot.height));
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    path += fmt::format("V{}H{}", Px(plot.Y(run.steps[i].live_bytes)), i + 1);
  }
  return OpenPaths(plot) +
         fmt::format(
             "<path class=\"area\" d=\"{0}V{1}Z\"/><path class=\"top thin\" d=\"{0}\"/>"
             "<path class=\"over\" d=\"\"/></svg>",
             path, Px(plot.height));
}

// The buffers that have an offset: the largest kMaxRects of them, in the order of the plan.
std::vector<std::size_t> DrawnBuffers(const Run& run, std::size_t* left_out) {
  std::vector<std::size_t> drawn;
  for (std::size_t i = 0; i < run.buffers.size(); ++i) {
    if (run.buffers[i].offset >= 0 && run.buffers[i].bytes > 0) drawn.push_back(i);
  }
  *left_out = 0;
  if (drawn.size() <= kMaxRects) return drawn;
  const auto area = [&](std::size_t i) {
    const Buffer& b = run.buffers[i];
    return static_cast<double>(b.bytes) * (b.last - b.first);
  };
  std::stable_sort(drawn.begin(), drawn.end(),
                   [&](std::size_t a, std::size_t b) { return area(a) > area(b); });
  *left_out = drawn.size() - kMaxRects;
  drawn.resize(kMaxRects);
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

}  // namespace

Plot PlotOf(const Run& run, std::int64_t max_bytes, double height) {
  Plot plot;
  plot.columns = static_cast<std::int64_t>(run.steps.size());
  plot.numbers = run.steps_per_column;
  plot.max_bytes = std::max<std::int64_t>(max_bytes, 1);
  plot.height = height;
  return plot;
}

// Of a column in the order.
std::int32_t NumberOf(const Run& run, std::size_t column) {
  const std::int32_t number = run.steps[column].number;
  return number >= 0 ? number : static_cast<std::int32_t>(column);
}

std::int32_t NumberOf(const Run& run, std::int32_t column) {
  return NumberOf(run, static_cast<std::size_t>(column));
}

std::int64_t AllSteps(const Run& run) {
  return run.all_steps > 0 ? run.all_steps : static_cast<std::int64_t>(run.steps.size());
}

std::size_t PeakStep(const Run& run) {
  const auto most =
      std::max_element(run.steps.begin(), run.steps.end(),
                       [](const Step& a, const Step& b) { return a.live_bytes < b.live_bytes; });
  return static_cast<std::size_t>(most - run.steps.begin());
}

std::string LiveLabel(const Run& run) {
  std::string label =
      fmt::format("{} at each of {} steps, {}", run.streamed ? "Highest byte used" : "Live bytes",
                  FormatCount(AllSteps(run)), run.title);
  if (!run.steps.empty()) {
    const std::size_t peak = PeakStep(run);
    label += fmt::format(": peak {} B at step {}, {}", FormatCount(run.steps[peak].live_bytes),
                         NumberOf(run, peak), run.steps[peak].label);
  }
  if (run.peak_lower_bound_bytes > 0) {
    label += fmt::format("; lower bound {} B", FormatCount(run.peak_lower_bound_bytes));
  }
  return label;
}

std::string MapLabel(const Run& run) {
  std::size_t left_out = 0;
  const std::size_t drawn = DrawnBuffers(run, &left_out).size();
  return fmt::format("Arena map, {}: {} tensors at their offsets over {} steps; arena {} B.",
                     run.title, FormatCount(static_cast<std::int64_t>(drawn)),
                     FormatCount(AllSteps(run)), FormatCount(run.arena_bytes));
}

std::string LiveMarks(const Run& run, const Plot& plot) {
  std::string out =
      Ground(plot) + ByteAxis(plot) + ColumnAxis(plot, run.streamed ? "segment" : "step");
  if (!run.steps.empty()) {
    out += LivePaths(run, plot);
    const std::size_t peak = PeakStep(run);
    const auto at = static_cast<double>(peak);
    const double y = plot.Y(run.steps[peak].live_bytes);
    out += fmt::format("<rect class=\"peak\" x=\"{}\" width=\"{}\" y=\"{}\" height=\"4\"/>",
                       plot.X(at), plot.X(1), Px(y - 2));
    // Towards the wider side; the left margin is the wider one.
    const bool rightwards = peak * 5 < run.steps.size() * 2;
    out +=
        fmt::format("<text class=\"strong\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">peak {} B</text>",
                    plot.X(rightwards ? at : at + 1), Px(y - 6), rightwards ? "start" : "end",
                    FormatCount(run.steps[peak].live_bytes));
  }
  if (run.peak_lower_bound_bytes > 0) {
    out += fmt::format("<line class=\"bound\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>",
                       Px(plot.Y(run.peak_lower_bound_bytes)));
  }
  return out;
}

std::string MapMarks(const Run& run, const Plot& plot, std::size_t* left_out) {
  const std::vector<std::size_t> drawn = DrawnBuffers(run, left_out);
  std::string out =
      Ground(plot) + ByteAxis(plot) + ColumnAxis(plot, run.streamed ? "segment" : "step");
  out += run.steps.size() > kMaxOutlinedSteps ? "<g class=\"dense\">" : "<g>";
  for (const std::size_t i : drawn) {
    const Buffer& buffer = run.buffers[i];
    const double top = plot.Y(buffer.offset + buffer.bytes);
    const double bottom = plot.Y(buffer.offset);
    out += fmt::format(
        "<rect class=\"b c{}\" data-i=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}"
        "&#10;{}&#10;{} B at offset {}, steps {} to {}</title></rect>",
        i % kColors, i, plot.X(buffer.first), Px(top), plot.X(buffer.last - buffer.first),
        Px(std::max(bottom - top, 0.5)), Escaped(buffer.name), Escaped(buffer.shape),
        FormatCount(buffer.bytes), FormatCount(buffer.offset), NumberOf(run, buffer.first),
        NumberOf(run, buffer.last - 1));
  }
  const double y = plot.Y(run.arena_bytes);
  out += fmt::format(
      "</g><line class=\"top\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>"
      "<text class=\"strong\" x=\"100%\" y=\"{1}\" text-anchor=\"end\">arena {2} B</text>",
      Px(y), Px(y - 6), FormatCount(run.arena_bytes));
  return out;
}

std::int64_t MostBytes(const Picture& picture) {
  const std::int64_t most = picture.budget_bytes.value_or(0);
  std::int64_t largest = 0;
  for (const Run& run : picture.runs) {
    largest = std::max({largest, run.peak_bytes, run.arena_bytes});
  }
  // A budget far above everything would flatten the drawings.
  return std::max(std::min(most, largest + largest / 4), largest);
}

std::string BaseName(const std::string& path) {
  const std::size_t slash = path.find_last_of("/\\");
  return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

// The sentence that the report of the plan begins with.
std::string Headline(const Picture& picture) {
  const Run& last = picture.runs.back();
  if (picture.planned_bytes <= 0) {
    std::string out = fmt::format("Peak {}", FormatBytes(last.peak_bytes));
    if (last.arena_bytes > 0) out += fmt::format(", arena {}", FormatBytes(last.arena_bytes));
    return out + ".";
  }
  std::string out =
      fmt::format("{} {}", picture.planned_figure, FormatBytes(picture.planned_bytes));
  const std::int64_t before = picture.file_order_bytes;
  if (before > picture.planned_bytes) {
    out +=
        fmt::format(", {} below the {} of file order",
                    report::Percent(before - picture.planned_bytes, before), FormatBytes(before));
  }
  return out + ".";
}

}  // namespace neap::picture
