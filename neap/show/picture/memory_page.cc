// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/show/picture/marks.h"
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

constexpr std::size_t kMaxNameColumns = 4096;
// The cursor and the budget line, which the script moves.
std::string Movable(const Plot& plot, const std::optional<std::int64_t>& budget) {
  std::string out = fmt::format(
      "<rect class=\"cursor\" x=\"0\" width=\"0\" y=\"0\" height=\"{}\"/>", Px(plot.height));
  const bool shown = budget && *budget <= plot.max_bytes;
  return out + fmt::format("<line class=\"budget\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"{1}/>",
                           Px(plot.Y(shown ? *budget : 0)), shown ? "" : " visibility=\"hidden\"");
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

std::string LiveChart(const Run& run, std::int64_t max_bytes,
                      const std::optional<std::int64_t>& budget) {
  const Plot plot = PlotOf(run, max_bytes, kLiveHeight);
  const std::string label = LiveLabel(run) + ". The table of all steps has every value.";
  return OpenPlot(plot, Escaped(label)) + LiveMarks(run, plot) + Movable(plot, budget) +
         ClosePlot();
}

std::string ArenaMap(const Run& run, std::int64_t max_bytes,
                     const std::optional<std::int64_t>& budget, std::size_t* left_out) {
  const Plot plot = PlotOf(run, max_bytes, kMapHeight);
  const std::string marks = MapMarks(run, plot, left_out);
  return OpenPlot(plot, Escaped(MapLabel(run))) + marks + Movable(plot, budget) + ClosePlot();
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

std::string Header(const Picture& picture) {
  std::string out = fmt::format(
      "<header><h1>{}</h1><p class=\"big\">{}</p>"
      "<p class=\"soft\">Memory report of Neap {}, runtime profile {}. Constants are not counted. "
      "SHA-256 of the model: <code>{}</code></p>",
      Escaped(BaseName(picture.model)), Escaped(Headline(picture)), Escaped(picture.neap_version),
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
  const std::int64_t most = MostBytes(picture);
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
