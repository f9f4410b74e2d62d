// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <utility>

#include "neap/show/picture/marks.h"
#include "neap/show/picture/picture.h"
#include "neap/show/picture/svg.h"

namespace neap::picture {
namespace {

constexpr double kPanel = 440;  // pixels across, of one run
constexpr double kHead = 52;    // model and headline
constexpr double kTitle = 22;   // of a run, above its drawings
constexpr std::size_t kMaxModelColumns = 90;
constexpr std::size_t kMaxTitleColumns = 50;

// The colours of page.css, by day and by night.
constexpr const char* kSvgStyle =
    "<style>text{font:12px system-ui,sans-serif;fill:#5d6470}.head{font-size:16px;font-weight:600;"
    "fill:#1c1e21}.strong{fill:#1c1e21;font-weight:600}.paper{fill:#fff}.ground{fill:none}"
    ".thin{vector-effect:non-scaling-stroke}.axis{stroke:#d5d8dc}.area{fill:#b5d1eb}"
    ".top{fill:none;stroke:#0b63b0;stroke-width:1.5}.peak{fill:#b3261e}"
    ".bound{stroke:#20713a;stroke-dasharray:2 3}"
    ".budget{stroke:#b3261e;stroke-width:1.5;stroke-dasharray:7 4}"
    ".b{stroke:#fff;stroke-width:.7}.dense .b{stroke:none}"
    ".c0{fill:#33608f}.c1{fill:#d9622b}.c2{fill:#2f8f63}.c3{fill:#a68a00}.c4{fill:#8a3f72}"
    ".c5{fill:#1f95bd}.c6{fill:#7a5a3f}.c7{fill:#5f6873}"
    "@media(prefers-color-scheme:dark){text{fill:#a0a8b4}.head,.strong{fill:#e7e9ec}"
    ".paper{fill:#14161a}.axis{stroke:#383e47}.area{fill:#31587c}.top{stroke:#7db8f0}"
    ".peak{fill:#ff8a80}.bound{stroke:#7fd39a}.budget{stroke:#ff8a80}.b{stroke:#14161a}"
    ".c0{fill:#5b8fc4}.c1{fill:#d97a58}.c2{fill:#4fae80}.c3{fill:#b3a43a}.c4{fill:#b86a9a}"
    ".c5{fill:#4fb0d0}.c6{fill:#a8876a}.c7{fill:#7d8794}}</style>";

// `marks` in their plane, at these pixels of the file.
std::string Placed(const Plot& plot, double x, double y, const std::string& marks,
                   const std::optional<std::int64_t>& budget) {
  std::string out =
      OpenPlane(plot, fmt::format("x=\"{}\" y=\"{}\" width=\"{}\"", Px(x + plot.left),
                                  Px(y + plot.top), Px(kPanel - plot.left - plot.right))) +
      marks;
  if (budget && *budget <= plot.max_bytes) {
    out += fmt::format("<line class=\"budget\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>",
                       Px(plot.Y(*budget)));
  }
  return out + "</svg>\n";
}

std::string Panel(const Run& run, double x, std::int64_t most,
                  const std::optional<std::int64_t>& budget) {
  const Plot live = PlotOf(run, most, kLiveHeight);
  std::string out =
      fmt::format("<text class=\"strong\" x=\"{}\" y=\"{}\">{}</text>\n", Px(x + live.left),
                  Px(kHead + 14), Escaped(run.title, kMaxTitleColumns));
  out += Placed(live, x, kHead + kTitle, LiveMarks(run, live), budget);
  if (run.arena_bytes <= 0) return out;
  const Plot map = PlotOf(run, most, kMapHeight);
  std::size_t left_out = 0;
  const std::string marks = MapMarks(run, map, &left_out);
  return out + Placed(map, x, kHead + kTitle + live.Total(), marks, budget);
}

}  // namespace

std::string MemorySvg(const Picture& given) {
  Picture picture = given;
  std::string label = BaseName(picture.model) + ": " + Headline(picture);
  bool placed = false;
  for (Run& run : picture.runs) {
    run = Aggregated(std::move(run), kMaxDrawnSteps);
    label += " " + LiveLabel(run) + ".";
    if (run.arena_bytes > 0) label += " " + MapLabel(run);
    placed = placed || run.arena_bytes > 0;
  }
  const std::int64_t most = MostBytes(picture);
  const Plot live = PlotOf(picture.runs.front(), most, kLiveHeight);
  const Plot map = PlotOf(picture.runs.front(), most, kMapHeight);
  const double wide = kPanel * static_cast<double>(picture.runs.size());
  const double high = kHead + kTitle + live.Total() + (placed ? map.Total() : 0);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" aria-label=\"{2}\">{3}\n"
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>"
      "<text class=\"head\" x=\"16\" y=\"22\">{4}</text><text x=\"16\" y=\"42\">{5}</text>\n",
      Px(wide), Px(high), Escaped(label), kSvgStyle,
      Escaped(BaseName(picture.model), kMaxModelColumns), Escaped(Headline(picture)));
  for (std::size_t i = 0; i < picture.runs.size(); ++i) {
    out += Panel(picture.runs[i], kPanel * static_cast<double>(i), most, picture.budget_bytes);
  }
  return out + "</svg>\n";
}

}  // namespace neap::picture
