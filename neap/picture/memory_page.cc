// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "neap/base/bytes.h"
#include "neap/picture/footprint.h"
#include "neap/picture/memory_script.h"
#include "neap/picture/page.h"
#include "neap/picture/picture.h"
#include "neap/picture/svg.h"
#include "neap/report/text.h"

namespace neap::picture {
namespace {

using nlohmann::ordered_json;

constexpr double kWidth = 640;
constexpr double kLeft = 60;
constexpr double kRight = 632;
constexpr double kTop = 20;
constexpr std::size_t kMostRects = 6000;
constexpr std::size_t kColors = 8;

// A plane of steps by bytes.
struct Plane {
  std::size_t steps = 0;
  std::int64_t most = 1;
  double height = 240;

  double bottom() const { return height - 26; }
  double X(std::size_t step) const {
    return kLeft + (kRight - kLeft) * static_cast<double>(step) /
                       static_cast<double>(std::max<std::size_t>(steps, 1));
  }
  double Y(std::int64_t bytes) const {
    return bottom() - (bottom() - kTop) * static_cast<double>(bytes) / static_cast<double>(most);
  }
};

std::string Open(const Plane& plane, const std::string& label) {
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" data-left=\"{}\" "
      "data-right=\"{}\" "
      "data-top=\"{}\" data-bottom=\"{}\" data-most=\"{}\" data-steps=\"{}\">",
      Px(kWidth), Px(plane.height), label, Px(kLeft), Px(kRight), Px(kTop), Px(plane.bottom()),
      plane.most, plane.steps);
}

std::string Axes(const Plane& plane) {
  std::string out;
  for (const std::int64_t tick : Ticks(plane.most)) {
    if (tick > plane.most) break;
    out += fmt::format(
        "<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>"
        "<text x=\"{3}\" y=\"{4}\" text-anchor=\"end\">{5}</text>",
        Px(kLeft), Px(kRight), Px(plane.Y(tick)), Px(kLeft - 6), Px(plane.Y(tick) + 4),
        ShortBytes(tick));
  }
  for (const std::int64_t tick : Ticks(static_cast<std::int64_t>(plane.steps))) {
    if (static_cast<std::size_t>(tick) >= plane.steps) break;
    out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>",
                       Px(plane.X(static_cast<std::size_t>(tick))), Px(plane.bottom() + 16), tick);
  }
  out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">step</text>", Px(kRight),
                     Px(plane.bottom() + 16));
  return out;
}

// The cursor and the budget line, which the script moves.
std::string Movable(const Plane& plane, const std::optional<std::int64_t>& budget) {
  std::string out =
      fmt::format("<rect class=\"cursor\" x=\"-9\" width=\"0\" y=\"{}\" height=\"{}\"/>", Px(kTop),
                  Px(plane.bottom() - kTop));
  const bool shown = budget && *budget <= plane.most;
  const double y = plane.Y(shown ? *budget : 0);
  out += fmt::format("<line class=\"budget\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"{3}/>",
                     Px(kLeft), Px(kRight), Px(y), shown ? "" : " visibility=\"hidden\"");
  return out + "</svg>";
}

std::size_t PeakStep(const Run& run) {
  const auto most =
      std::max_element(run.steps.begin(), run.steps.end(),
                       [](const Step& a, const Step& b) { return a.live_bytes < b.live_bytes; });
  return static_cast<std::size_t>(most - run.steps.begin());
}

std::string LiveChart(const Run& run, std::int64_t most,
                      const std::optional<std::int64_t>& budget) {
  const Plane plane{run.steps.size(), std::max<std::int64_t>(most, 1), 240};
  std::string out = Open(plane, fmt::format("Live bytes over the steps, {}", Escaped(run.title)));
  out += Axes(plane);
  if (!run.steps.empty()) {
    std::string path;
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
      path += fmt::format("V{}H{}", Px(plane.Y(run.steps[i].live_bytes)), Px(plane.X(i + 1)));
    }
    const std::string from = fmt::format("M{} {}", Px(kLeft), Px(plane.bottom()));
    out += fmt::format("<path class=\"area\" d=\"{}{}V{}Z\"/><path class=\"top\" d=\"{}{}\"/>",
                       from, path, Px(plane.bottom()), from, path);
    out += "<path class=\"over\" d=\"\"/>";
    const std::size_t peak = PeakStep(run);
    const double width = std::max(plane.X(peak + 1) - plane.X(peak), 2.5);
    const double y = plane.Y(run.steps[peak].live_bytes);
    out += fmt::format("<rect class=\"peak\" x=\"{}\" width=\"{}\" y=\"{}\" height=\"4\"/>",
                       Px(plane.X(peak)), Px(width), Px(y - 2));
    const bool left = peak * 2 < run.steps.size();
    out += fmt::format(
        "<text class=\"strong\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">peak {} B, step {}</text>",
        Px(left ? plane.X(peak) : plane.X(peak + 1)), Px(y - 6), left ? "start" : "end",
        FormatCount(run.steps[peak].live_bytes), peak);
  }
  if (run.peak_lower_bound_bytes > 0) {
    out += fmt::format("<line class=\"bound\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>",
                       Px(kLeft), Px(kRight), Px(plane.Y(run.peak_lower_bound_bytes)));
  }
  return out + Movable(plane, budget);
}

// The rectangles of the largest buffers, in the order of the plan.
std::string ArenaMap(const Run& run, std::int64_t most, const std::optional<std::int64_t>& budget,
                     std::size_t* left_out) {
  const Plane plane{run.steps.size(), std::max<std::int64_t>(most, 1), 300};
  std::string out = Open(plane, fmt::format("Map of the arena, {}", Escaped(run.title)));
  out += Axes(plane);
  std::vector<std::size_t> drawn;
  for (std::size_t i = 0; i < run.buffers.size(); ++i) {
    if (run.buffers[i].offset >= 0 && run.buffers[i].bytes > 0) drawn.push_back(i);
  }
  if (drawn.size() > kMostRects) {
    const auto area = [&](std::size_t i) {
      const Buffer& b = run.buffers[i];
      return static_cast<double>(b.bytes) * (b.last - b.first);
    };
    std::stable_sort(drawn.begin(), drawn.end(),
                     [&](std::size_t a, std::size_t b) { return area(a) > area(b); });
    *left_out = drawn.size() - kMostRects;
    drawn.resize(kMostRects);
    std::sort(drawn.begin(), drawn.end());
  }
  for (const std::size_t i : drawn) {
    const Buffer& buffer = run.buffers[i];
    const double x = plane.X(static_cast<std::size_t>(buffer.first));
    const double right = plane.X(static_cast<std::size_t>(buffer.last));
    const double top = plane.Y(buffer.offset + buffer.bytes);
    const double bottom = plane.Y(buffer.offset);
    out += fmt::format(
        "<rect class=\"b c{}\" data-i=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}"
        "&#10;{}&#10;{} B at {}, steps {} to {}</title></rect>",
        i % kColors, i, Px(x), Px(top), Px(std::max(right - x, 0.5)),
        Px(std::max(bottom - top, 0.5)), Escaped(buffer.name, 200), Escaped(buffer.shape),
        FormatCount(buffer.bytes), FormatCount(buffer.offset), buffer.first, buffer.last - 1);
  }
  out += fmt::format(
      "<line class=\"top\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>"
      "<text class=\"strong\" x=\"{1}\" y=\"{3}\" text-anchor=\"end\">arena {4} B</text>",
      Px(kLeft), Px(kRight), Px(plane.Y(run.arena_bytes)), Px(plane.Y(run.arena_bytes) - 6),
      FormatCount(run.arena_bytes));
  return out + Movable(plane, budget);
}

std::vector<const Buffer*> LiveAt(const Run& run, std::size_t step) {
  std::vector<const Buffer*> live;
  for (const Buffer& buffer : run.buffers) {
    const auto at = static_cast<std::int32_t>(step);
    if (buffer.first <= at && at < buffer.last && buffer.bytes > 0) live.push_back(&buffer);
  }
  std::stable_sort(live.begin(), live.end(),
                   [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
  return live;
}

std::string Culprits(const Run& run) {
  if (run.steps.empty()) return "";
  const std::size_t step = PeakStep(run);
  const auto live = LiveAt(run, step);
  std::string out = fmt::format(
      "<h3>What makes the peak</h3><p class=\"soft\">Step {}, {}</p><div class=\"scroll\"><table>"
      "<tr><th>tensor</th><th>type</th><th class=\"n\">bytes</th><th class=\"n\">steps</th></tr>",
      step, Escaped(run.steps[step].label));
  constexpr std::size_t kMostRows = 12;
  for (std::size_t i = 0; i < std::min(live.size(), kMostRows); ++i) {
    out += fmt::format(
        "<tr><td class=\"name\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{} to {}"
        "</td></tr>",
        Escaped(live[i]->name, 200), Escaped(live[i]->shape), FormatCount(live[i]->bytes),
        live[i]->first, live[i]->last - 1);
  }
  out += "</table></div>";
  if (live.size() > kMostRows) {
    out += fmt::format("<p class=\"soft\">and {} more</p>", live.size() - kMostRows);
  }
  return out;
}

std::string StepTable(const Run& run) {
  std::string out = fmt::format(
      "<details class=\"nojsprint\"><summary>All {} steps</summary><div class=\"scroll\"><table>"
      "<tr><th class=\"n\">step</th><th>operator</th><th class=\"n\">live bytes</th></tr>",
      FormatCount(static_cast<std::int64_t>(run.steps.size())));
  constexpr std::size_t kMostRows = 5000;
  for (std::size_t i = 0; i < std::min(run.steps.size(), kMostRows); ++i) {
    out += fmt::format("<tr><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td></tr>", i,
                       Escaped(run.steps[i].label), FormatCount(run.steps[i].live_bytes));
  }
  out += "</table></div>";
  if (run.steps.size() > kMostRows) out += "<p class=\"soft\">the first 5,000; --csv has all</p>";
  return out + "</details>";
}

std::string RunCard(const Picture& picture, std::size_t index, std::int64_t most) {
  const Run& run = picture.runs[index];
  std::string out =
      fmt::format("<section class=\"card\" data-run=\"{}\"><h2>{}</h2>", index, Escaped(run.title));
  out += fmt::format("<p>Peak <strong>{}</strong>", FormatBytes(run.peak_bytes));
  if (run.peak_lower_bound_bytes > 0) {
    out +=
        run.peak_lower_bound_bytes == run.peak_bytes
            ? ", the least that any order has"
            : fmt::format(", no order has less than {}", FormatBytes(run.peak_lower_bound_bytes));
  }
  if (run.arena_bytes > 0) {
    out += fmt::format("; arena <strong>{}</strong>", FormatBytes(run.arena_bytes));
  }
  out += fmt::format(
      ".</p><figure><figcaption>{}</figcaption><div class=\"draw\" tabindex=\"0\">",
      run.streamed
          ? "How high each segment reaches (a step is a segment, computed in blocks or whole)"
          : "Live bytes at every step");
  out += LiveChart(run, most, picture.budget_bytes) + "</div></figure>";
  if (run.arena_bytes > 0) {
    std::size_t left_out = 0;
    const std::string map = ArenaMap(run, most, picture.budget_bytes, &left_out);
    out += "<figure><figcaption>Arena: a rectangle for each tensor, time across, address up";
    if (run.streamed) out += "; what grows may lie over what dies";
    if (left_out > 0)
      out += fmt::format("; the {} smallest are not drawn",
                         FormatCount(static_cast<std::int64_t>(left_out)));
    out += "</figcaption><div class=\"draw\" tabindex=\"0\">" + map + "</div></figure>";
  }
  out += "<div class=\"told\" aria-live=\"polite\"></div>";
  if (!run.footprints.empty()) {
    out += "<h3>Inside the segments that reach highest</h3>";
    for (const Footprint& footprint : run.footprints) out += FootprintFigure(footprint);
  }
  return out + Culprits(run) + StepTable(run) + "</section>";
}

ordered_json DataOf(const Picture& picture) {
  ordered_json out;
  out["model"] = report::Printable(picture.model, 4096);
  out["model_sha256"] = picture.model_sha256;
  out["runtime"] = picture.runtime;
  out["runs"] = ordered_json::array();
  for (const Run& run : picture.runs) {
    ordered_json one;
    one["title"] = report::Printable(run.title, 200);
    one["peak_bytes"] = run.peak_bytes;
    one["peak_lower_bound_bytes"] = run.peak_lower_bound_bytes;
    one["arena_bytes"] = run.arena_bytes;
    one["peak_step"] = PeakStep(run);
    one["steps"] = ordered_json::array();
    one["live"] = ordered_json::array();
    for (const Step& step : run.steps) {
      one["steps"].push_back(step.label);
      one["live"].push_back(step.live_bytes);
    }
    one["buffers"] = ordered_json::array();
    for (const Buffer& buffer : run.buffers) {
      one["buffers"].push_back({report::Printable(buffer.name, 200), buffer.shape, buffer.bytes,
                                buffer.first, buffer.last, buffer.offset});
    }
    out["runs"].push_back(std::move(one));
  }
  return out;
}

std::string Headline(const Picture& picture) {
  const Run& last = picture.runs.back();
  std::string out = fmt::format("Peak {}", FormatBytes(last.peak_bytes));
  if (picture.runs.size() > 1) {
    const std::int64_t before = picture.runs.front().peak_bytes;
    if (before > last.peak_bytes) {
      out += fmt::format(", {} less than in the order of the file",
                         report::Percent(before - last.peak_bytes, before));
    }
  }
  if (last.arena_bytes > 0) out += fmt::format("; arena {}", FormatBytes(last.arena_bytes));
  return out + ".";
}

}  // namespace

std::string MemoryPage(const Picture& picture) {
  std::int64_t most = picture.budget_bytes.value_or(0);
  std::int64_t largest = 0;
  for (const Run& run : picture.runs) {
    largest = std::max({largest, run.peak_bytes, run.arena_bytes});
  }
  // A budget far above everything would flatten the drawings.
  most = std::max(std::min(most, largest + largest / 4), largest);
  PageParts parts;
  parts.title = "Neap: " + Escaped(picture.model);
  std::string& body = parts.body;
  body = fmt::format(
      "<header><p class=\"soft\">Neap {}, memory of a model</p><h1>{}</h1><p class=\"big\">{}</p>"
      "<p class=\"soft\">Runtime profile {}. Constants are not counted. SHA-256 <code>{}</code>"
      "</p></header>",
      Escaped(picture.neap_version), Escaped(picture.model), Headline(picture),
      Escaped(picture.runtime), Escaped(picture.model_sha256));
  for (const std::string& note : picture.notes) {
    body += "<p class=\"soft\">note: " + Escaped(note) + "</p>";
  }
  const std::int64_t budget =
      std::min(picture.budget_bytes.value_or(picture.runs.back().peak_bytes), most);
  // Some hundred places, one of them the budget.
  std::int64_t step = 1;
  while (step * 1024 <= most && budget % (step * 2) == 0) step *= 2;
  body += fmt::format(
      "<div class=\"slider\"><label for=\"budget\">Budget: <strong id=\"budget-value\">{} "
      "B</strong>"
      "</label><input type=\"range\" id=\"budget\" min=\"0\" max=\"{}\" step=\"{}\" value=\"{}\">"
      "<div id=\"verdict\" aria-live=\"polite\"></div><p class=\"soft\">In the drawings: arrow "
      "keys, "
      "Page up and down, Home, End and p (the peak) go from step to step.</p></div>",
      FormatCount(budget), most, step, budget);
  body +=
      "<div class=\"key\"><span>green dots: no order has a lower peak</span>"
      "<span>red dashes: the budget</span></div><main class=\"runs\">";
  for (std::size_t i = 0; i < picture.runs.size(); ++i) body += RunCard(picture, i, most);
  body += "</main>";
  parts.json = DataOf(picture).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  parts.script = kMemoryScript;
  return Page(parts);
}

}  // namespace neap::picture
