// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/show/picture/page.h"
#include "neap/show/picture/page_files.h"
#include "neap/show/picture/picture.h"
#include "neap/show/picture/plot.h"
#include "neap/show/picture/row_step_map.h"
#include "neap/show/picture/svg.h"
#include "neap/show/report/names.h"
#include "neap/show/report/text.h"

namespace neap::picture {
namespace {

using nlohmann::ordered_json;

// Parts that need the script are shown only where it runs.
constexpr const char* kStart =
    "document.documentElement.classList.add(\"js\");"
    "neapMemory(document.body,JSON.parse(document.getElementById(\"neap-data\").textContent));";

constexpr std::size_t kMaxRects = 6000;
constexpr std::size_t kColors = 8;
constexpr std::size_t kMaxNameColumns = 4096;
constexpr double kLiveHeight = 190;
constexpr double kMapHeight = 250;
// Rectangles one or two pixels wide would be all outline.
constexpr std::size_t kMaxOutlinedSteps = 120;

Plot PlotOf(const Run& run, std::int64_t max_bytes, double height) {
  Plot plot;
  plot.columns = static_cast<std::int64_t>(run.steps.size());
  plot.numbers = run.steps_per_column;
  plot.max_bytes = std::max<std::int64_t>(max_bytes, 1);
  plot.height = height;
  return plot;
}

std::string Ground(const Plot& plot) {
  return fmt::format("<rect class=\"ground\" width=\"100%\" height=\"{}\"/>", Px(plot.height));
}

// The cursor and the budget line, which the script moves.
std::string Movable(const Plot& plot, const std::optional<std::int64_t>& budget) {
  std::string out = fmt::format(
      "<rect class=\"cursor\" x=\"0\" width=\"0\" y=\"0\" height=\"{}\"/>", Px(plot.height));
  const bool shown = budget && *budget <= plot.max_bytes;
  return out + fmt::format("<line class=\"budget\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"{1}/>",
                           Px(plot.Y(shown ? *budget : 0)), shown ? "" : " visibility=\"hidden\"");
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

// A sentence where the drawings do not have every step.
std::string AggregationNote(const Run& run) {
  if (run.all_steps == 0) return "";
  return fmt::format(
      " Of {} steps, the drawings show {}: the highest of every {} in a row. Tensors that are live "
      "at none of them are not drawn.",
      FormatCount(run.all_steps), FormatCount(static_cast<std::int64_t>(run.steps.size())),
      run.steps_per_column);
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
  return Escaped(label + ". The table of all steps has every value.");
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

std::string LiveChart(const Run& run, std::int64_t max_bytes,
                      const std::optional<std::int64_t>& budget) {
  const Plot plot = PlotOf(run, max_bytes, kLiveHeight);
  std::string out = OpenPlot(plot, LiveLabel(run)) + Ground(plot) + ByteAxis(plot) +
                    ColumnAxis(plot, run.streamed ? "segment" : "step");
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
  return out + Movable(plot, budget) + ClosePlot();
}

// The buffers that have an offset: the largest kMaxRects of them, in the order of the plan.
std::vector<std::size_t> DrawnBuffers(const Run& run, std::size_t* left_out) {
  std::vector<std::size_t> drawn;
  for (std::size_t i = 0; i < run.buffers.size(); ++i) {
    if (run.buffers[i].offset >= 0 && run.buffers[i].bytes > 0) drawn.push_back(i);
  }
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

std::string ArenaMap(const Run& run, std::int64_t max_bytes,
                     const std::optional<std::int64_t>& budget, std::size_t* left_out) {
  const Plot plot = PlotOf(run, max_bytes, kMapHeight);
  const std::vector<std::size_t> drawn = DrawnBuffers(run, left_out);
  std::string out = OpenPlot(
      plot, Escaped(fmt::format("Arena map, {}: {} tensors at their offsets over {} "
                                "steps; arena {} B.",
                                run.title, FormatCount(static_cast<std::int64_t>(drawn.size())),
                                FormatCount(AllSteps(run)), FormatCount(run.arena_bytes))));
  out += Ground(plot) + ByteAxis(plot) + ColumnAxis(plot, run.streamed ? "segment" : "step");
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
  return out + Movable(plot, budget) + ClosePlot();
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

// How the bytes of the tensors add up to the live bytes of a step: what they share is subtracted,
// scratch (of a streamed segment: unused bytes between tensors) is added.
std::string RestOfSum(const Run& run, std::size_t step, const std::vector<const Buffer*>& live) {
  std::int64_t sum = 0;
  for (const Buffer* buffer : live) sum += buffer->bytes;
  const std::int64_t rest = run.steps[step].live_bytes - sum;
  if (rest == 0) return "";
  return fmt::format("<p class=\"soft\">{} B live: sum {} B, {} {} B {}.</p>",
                     FormatCount(run.steps[step].live_bytes), FormatCount(sum),
                     rest < 0 ? "minus" : "plus", FormatCount(rest < 0 ? -rest : rest),
                     rest < 0       ? "that share addresses or are not stored"
                     : run.streamed ? "unused between them"
                                    : "of scratch");
}

std::string PeakTable(const Run& run, const report::ShortNames& names) {
  if (run.steps.empty()) return "";
  const std::size_t step = PeakStep(run);
  const auto live = LiveAt(run, step);
  std::string out = fmt::format(
      "<h3>Tensors live at the peak</h3><p class=\"soft\">Step {}, {}</p>{}<tr><th>tensor</th>"
      "<th>type</th><th class=\"n\">bytes</th><th class=\"n\">steps</th></tr>",
      NumberOf(run, step), Escaped(run.steps[step].label),
      OpenTable("Tensors live at the peak, " + run.title));
  constexpr std::size_t kMaxRows = 12;
  for (std::size_t i = 0; i < std::min(live.size(), kMaxRows); ++i) {
    out += fmt::format(
        "<tr><td class=\"name\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{} to {}"
        "</td></tr>",
        NameMarkup(names, live[i]->name), Escaped(live[i]->shape), FormatCount(live[i]->bytes),
        NumberOf(run, live[i]->first), NumberOf(run, live[i]->last - 1));
  }
  out += kCloseTable;
  if (live.size() > kMaxRows) {
    out += fmt::format("<p class=\"soft\">and {} more</p>", live.size() - kMaxRows);
  }
  return out + RestOfSum(run, step, live);
}

std::string StepTable(const Run& run) {
  std::string out = fmt::format(
      "<details class=\"nojsprint\"><summary>{} {} steps</summary>{}"
      "<tr><th class=\"n\">step</th><th>operator</th><th class=\"n\">live bytes</th></tr>",
      run.all_steps == 0 ? "All" : "The highest",
      FormatCount(static_cast<std::int64_t>(run.steps.size())),
      OpenTable((run.all_steps == 0 ? "All steps, " : "The highest steps, ") + run.title));
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    out += fmt::format(
        "<tr><td class=\"n\">{}</td><td class=\"name\">{}</td><td class=\"n\">{}</td></tr>",
        NumberOf(run, i), Escaped(run.steps[i].label), FormatCount(run.steps[i].live_bytes));
  }
  out += kCloseTable;
  if (run.all_steps > 0) out += "<p class=\"soft\">The option --csv writes all steps.</p>";
  return out + "</details>";
}

std::string Figures(const Run& run) {
  std::string out = fmt::format("<p>Peak <strong>{}</strong>", FormatBytes(run.peak_bytes));
  if (run.peak_lower_bound_bytes > 0) {
    out += run.peak_lower_bound_bytes == run.peak_bytes
               ? ", equal to its lower bound"
               : fmt::format(", lower bound {}", FormatBytes(run.peak_lower_bound_bytes));
  }
  out += ".";
  if (run.arena_bytes > 0) {
    out += fmt::format(" Arena <strong>{}</strong>", FormatBytes(run.arena_bytes));
    if (run.arena_bytes < run.peak_bytes) {
      out += ", below the peak because tensors share bytes";
    } else if (run.arena_bytes > run.peak_bytes) {
      out += ", above the peak by the gaps between tensors";
    }
    out += ".";
  }
  if (!run.note.empty()) out += " " + Escaped(run.note);
  out += AggregationNote(run);
  return out + "</p>";
}

// Chooses a step; works with the arrow keys. The script shows it.
std::string StepControl(const Run& run, std::size_t index) {
  if (run.steps.empty()) return "";
  return fmt::format(
      "<div class=\"control\"><label for=\"step-{0}\">Step</label><input type=\"range\" "
      "class=\"step\" id=\"step-{0}\" min=\"0\" max=\"{1}\" step=\"1\" value=\"{2}\">"
      "<button type=\"button\">Go to the peak</button></div><div class=\"shown\"></div>",
      index, run.steps.size() - 1, PeakStep(run));
}

std::string RunCard(const Picture& picture, std::size_t index, std::int64_t most,
                    const report::ShortNames& names) {
  const Run& run = picture.runs[index];
  std::string out = fmt::format("<section class=\"card\" data-run=\"{}\"><h2>{}</h2>{}", index,
                                Escaped(run.title), Figures(run));
  out += fmt::format("<figure class=\"steps\"><figcaption>{}</figcaption>",
                     run.streamed ? "Highest byte used by each segment. A step is a segment, "
                                    "computed in blocks or as a whole."
                                  : "Live bytes at each step.");
  out += LiveChart(run, most, picture.budget_bytes) + "</figure>";
  if (run.arena_bytes > 0) {
    std::size_t left_out = 0;
    const std::string map = ArenaMap(run, most, picture.budget_bytes, &left_out);
    out +=
        "<figure class=\"steps\"><figcaption>Arena map: one rectangle per tensor, steps across, "
        "addresses up.";
    if (run.streamed) out += " Outputs replace inputs that have been read.";
    if (left_out > 0) {
      out += fmt::format(" The {} smallest tensors are not drawn.",
                         FormatCount(static_cast<std::int64_t>(left_out)));
    }
    out += "</figcaption>" + map + "</figure>";
  }
  out += StepControl(run, index);
  if (!run.row_step_maps.empty()) {
    out += "<h3>Inside the largest segments</h3>";
    for (const RowStepMap& map : run.row_step_maps) out += RowStepFigure(map, names);
  }
  return out + PeakTable(run, names) + StepTable(run) + "</section>";
}

report::ShortNames NamesOf(const Picture& picture) {
  std::vector<std::string> names;
  for (const Run& run : picture.runs) {
    for (const Buffer& buffer : run.buffers) names.push_back(buffer.name);
    for (const RowStepMap& map : run.row_step_maps) {
      for (const RowStepMap::Part& part : map.parts) names.push_back(part.name);
    }
  }
  return report::ShortNames(names);
}

ordered_json DataOf(const Picture& picture, const report::ShortNames& names) {
  ordered_json out;
  out["model"] = report::Printable(picture.model, 4096);
  out["model_sha256"] = picture.model_sha256;
  out["runtime"] = picture.runtime;
  out["planned_bytes"] = picture.planned_bytes;
  out["file_order_bytes"] = picture.file_order_bytes;
  out["runs"] = ordered_json::array();
  for (const Run& run : picture.runs) {
    ordered_json one;
    one["title"] = report::Printable(run.title, 200);
    one["peak_bytes"] = run.peak_bytes;
    one["peak_lower_bound_bytes"] = run.peak_lower_bound_bytes;
    one["arena_bytes"] = run.arena_bytes;
    one["peak_step"] = PeakStep(run);
    one["streamed"] = run.streamed;
    one["steps"] = ordered_json::array();
    one["live"] = ordered_json::array();
    one["all_steps"] = AllSteps(run);
    if (run.all_steps > 0) {
      one["numbers"] = ordered_json::array();
      for (const Step& step : run.steps) one["numbers"].push_back(step.number);
    }
    for (const Step& step : run.steps) {
      one["steps"].push_back(step.label);
      one["live"].push_back(step.live_bytes);
    }
    one["buffers"] = ordered_json::array();
    for (const Buffer& buffer : run.buffers) {
      one["buffers"].push_back({report::Printable(buffer.name, kMaxNameColumns), buffer.shape,
                                buffer.bytes, buffer.first, buffer.last, buffer.offset,
                                names.Of(buffer.name)});
    }
    out["runs"].push_back(std::move(one));
  }
  return out;
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
      fmt::format("{} {}", Escaped(picture.planned_figure), FormatBytes(picture.planned_bytes));
  const std::int64_t before = picture.file_order_bytes;
  if (before > picture.planned_bytes) {
    out +=
        fmt::format(", {} below the {} of file order",
                    report::Percent(before - picture.planned_bytes, before), FormatBytes(before));
  }
  return out + ".";
}

std::string Header(const Picture& picture) {
  std::string out = fmt::format(
      "<header><h1>{}</h1><p class=\"big\">{}</p>"
      "<p class=\"soft\">Memory report of Neap {}, runtime profile {}. Constants are not counted. "
      "SHA-256 of the model: <code>{}</code></p>",
      Escaped(BaseName(picture.model)), Headline(picture), Escaped(picture.neap_version),
      Escaped(picture.runtime), Escaped(picture.model_sha256));
  for (const std::string& note : picture.notes) {
    out += "<p class=\"soft\">Note: " + Escaped(note) + "</p>";
  }
  return out + "</header>";
}

constexpr const char* kFindControl =
    "<div class=\"control\"><label for=\"find\">Find a tensor</label><input type=\"search\" "
    "id=\"find\" autocomplete=\"off\" spellcheck=\"false\"></div>"
    "<div id=\"found\" aria-live=\"polite\"></div>";

std::string BudgetControl(const Picture& picture, std::int64_t most) {
  const Run& last = picture.runs.back();
  const std::int64_t needed = last.arena_bytes > 0 ? last.arena_bytes : last.peak_bytes;
  const std::int64_t budget = std::min(picture.budget_bytes.value_or(needed), most);
  // Some hundred places, one of them the budget.
  std::int64_t step = 1;
  while (step * 1024 <= most && budget % (step * 2) == 0) step *= 2;
  return fmt::format(
      "<div class=\"slider\"><label for=\"budget\">Budget: <strong id=\"budget-value\">{} "
      "B</strong></label><input type=\"range\" id=\"budget\" min=\"0\" max=\"{}\" step=\"{}\" "
      "value=\"{}\"><div id=\"verdict\" aria-live=\"polite\"></div></div>",
      FormatCount(budget), most, step, budget);
}

}  // namespace

std::string MemoryPage(const Picture& given) {
  Picture picture = given;
  for (Run& run : picture.runs) run = Aggregated(std::move(run), kMaxDrawnSteps);
  std::int64_t most = picture.budget_bytes.value_or(0);
  std::int64_t largest = 0;
  for (const Run& run : picture.runs) {
    largest = std::max({largest, run.peak_bytes, run.arena_bytes});
  }
  // A budget far above everything would flatten the drawings.
  most = std::max(std::min(most, largest + largest / 4), largest);
  const report::ShortNames names = NamesOf(picture);
  PageParts parts;
  parts.title = Escaped(BaseName(picture.model)) + " - Neap memory report";
  parts.body = Header(picture) + "<main>" + BudgetControl(picture, most) + kFindControl +
               "<div class=\"key\"><span><i class=\"rule bound\"></i>lower bound of the peak</span>"
               "<span><i class=\"rule budget\"></i>budget</span></div><div class=\"runs\">";
  for (std::size_t i = 0; i < picture.runs.size(); ++i) {
    parts.body += RunCard(picture, i, most, names);
  }
  parts.body += "</div></main>";
  parts.json = DataOf(picture, names).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  parts.script = kMemoryScript + std::string(kStart);
  return Page(parts);
}

}  // namespace neap::picture
