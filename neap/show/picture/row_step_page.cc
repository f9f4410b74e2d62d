// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "neap/base/bytes.h"
#include "neap/show/picture/plot.h"
#include "neap/show/picture/row_step_map.h"
#include "neap/show/picture/svg.h"

namespace neap::picture {
namespace {

struct Kind {
  Holds holds;
  int color;  // of the page's classes c0 to c7
  const char* text;
};

constexpr Kind kKinds[] = {
    {Holds::kInput, 0, "input not read yet"},
    {Holds::kOutput, 2, "output computed so far"},
    {Holds::kLine, 1, "lines: rows of earlier row steps"},
    {Holds::kHalo, 3, "halos: pixels of earlier blocks of this row step"},
    {Holds::kBlock, 5, "computed in this block"},
    {Holds::kSums, 4, "running sums of a mean, states"},
    {Holds::kPassing, 7, "held for later operators"},
};

const Kind& KindOf(Holds holds) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds),
                       [&](const Kind& kind) { return kind.holds == holds; });
}

// Bytes in the block that is the peak, by kind: the text alternative.
std::string LabelOf(const RowStepMap& map) {
  std::string kinds;
  std::int64_t sum = 0;
  for (const Kind& kind : kKinds) {
    std::int64_t bytes = 0;
    for (const RowStepMap::Part& part : map.parts) {
      if (part.holds == kind.holds) bytes += part.peak_bytes;
    }
    if (bytes == 0) continue;
    sum += bytes;
    kinds += fmt::format("{}{} {} B", kinds.empty() ? ": " : ", ", kind.text, FormatCount(bytes));
  }
  return fmt::format("{}: contents of the arena in each of {} blocks. Block {} has {} B{}.",
                     map.title, FormatCount(map.blocks), map.peak, FormatCount(sum), kinds);
}

// Blocks across, addresses up.
class Drawing {
 public:
  explicit Drawing(const RowStepMap& map) : map_(map) {
    plot_.columns = std::max(map.blocks, 1);
    plot_.max_bytes = std::max<std::int64_t>(map.arena_bytes, 1);
    plot_.height = 240;
    plot_.top = 10;
  }

  std::string Make() const {
    std::string out = OpenPlot(plot_, Escaped(LabelOf(map_))) + ByteAxis(plot_) +
                      ColumnAxis(plot_, "block") + OpenPaths(plot_);
    // The output is drawn over the bytes that it may replace.
    for (const RowStepMap::Part& part : map_.parts) {
      if (part.holds != Holds::kOutput) out += PathOf(part);
    }
    for (const RowStepMap::Part& part : map_.parts) {
      if (part.holds == Holds::kOutput) out += PathOf(part);
    }
    out += fmt::format("</svg><rect class=\"cursor\" x=\"{}\" width=\"{}\" y=\"0\" height=\"{}\"/>",
                       plot_.X(map_.peak), plot_.X(1), Px(plot_.height));
    return out + ClosePlot();
  }

 private:
  std::string PathOf(const RowStepMap::Part& part) const {
    std::string path;
    for (const RowStepMap::Stretch& stretch : part.stretches) {
      path += fmt::format("M{} {}H{}V{}H{}Z", stretch.first, Px(plot_.Y(stretch.offset)),
                          stretch.last, Px(plot_.Y(stretch.offset + stretch.bytes)), stretch.first);
    }
    const Kind& kind = KindOf(part.holds);
    return fmt::format("<path class=\"c{}\" d=\"{}\"><title>{}&#10;{}&#10;{}</title></path>",
                       kind.color, path, Escaped(part.name), Escaped(part.shape), kind.text);
  }

  const RowStepMap& map_;
  Plot plot_;
};

}  // namespace

std::string RowStepFigure(const RowStepMap& map, const report::ShortNames& names) {
  std::string out = fmt::format(
      "<figure><figcaption>{}. Blocks across, addresses up. Block {} has the most "
      "bytes.</figcaption>{}<div class=\"key\">",
      Escaped(map.title), map.peak, Drawing(map).Make());
  for (const Kind& kind : kKinds) {
    const bool there =
        std::any_of(map.parts.begin(), map.parts.end(),
                    [&](const RowStepMap::Part& part) { return part.holds == kind.holds; });
    if (there) out += fmt::format("<span><i class=\"c{}\"></i>{}</span>", kind.color, kind.text);
  }
  out += "</div>";
  std::vector<const RowStepMap::Part*> parts;
  std::int64_t bytes = 0;
  for (const RowStepMap::Part& part : map.parts) {
    bytes += part.peak_bytes;
    if (part.peak_bytes > 0) parts.push_back(&part);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto* a, const auto* b) { return a->peak_bytes > b->peak_bytes; });
  out += fmt::format(
      "<details><summary>Contents in block {}: {}</summary>{}<tr>"
      "<th>tensor</th><th>type</th><th>purpose</th><th class=\"n\">bytes</th></tr>",
      map.peak, FormatBytes(bytes),
      OpenTable(fmt::format("{}, contents in block {}", map.title, map.peak)));
  for (const RowStepMap::Part* part : parts) {
    out += fmt::format(
        "<tr><td class=\"name\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>",
        NameMarkup(names, part->name), Escaped(part->shape), KindOf(part->holds).text,
        FormatCount(part->peak_bytes));
  }
  return out + kCloseTable + "</details></figure>";
}

}  // namespace neap::picture
