// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "neap/base/bytes.h"
#include "neap/picture/footprint.h"
#include "neap/picture/svg.h"

namespace neap::picture {
namespace {

struct Kind {
  Holds holds;
  int color;  // of the page's classes c0 to c7
  const char* text;
};

constexpr Kind kKinds[] = {
    {Holds::kInput, 0, "input that is still to be read"},
    {Holds::kOutput, 2, "output so far"},
    {Holds::kLine, 1, "lines: rows of earlier steps"},
    {Holds::kHalo, 3, "halos: pixels of earlier blocks in this row step"},
    {Holds::kBlock, 5, "this block"},
    {Holds::kSums, 4, "sums of a mean"},
    {Holds::kPassing, 7, "needed later"},
};

const Kind& KindOf(Holds holds) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds),
                       [&](const Kind& kind) { return kind.holds == holds; });
}

// Blocks across, addresses up.
class Drawing {
 public:
  explicit Drawing(const Footprint& footprint) : footprint_(footprint) {}

  std::string Make() const {
    std::string out = fmt::format(
        "<svg viewBox=\"0 0 640 300\" role=\"img\" aria-label=\"{}: what the arena holds in each "
        "block\">",
        Escaped(footprint_.title));
    for (const std::int64_t tick : Ticks(footprint_.arena_bytes)) {
      if (tick > footprint_.arena_bytes) break;
      out += fmt::format(
          "<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>"
          "<text x=\"{3}\" y=\"{4}\" text-anchor=\"end\">{5}</text>",
          Px(kLeft), Px(kRight), Px(Y(tick)), Px(kLeft - 6), Px(Y(tick) + 4), ShortBytes(tick));
    }
    for (const std::int64_t tick : Ticks(footprint_.blocks)) {
      if (tick >= footprint_.blocks) break;
      out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", Px(X(tick)), Px(kBottom + 16), tick);
    }
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">block</text>", Px(kRight),
                       Px(kBottom + 16));
    // What is left is drawn over what it may take the place of.
    for (const Footprint::Part& part : footprint_.parts) {
      if (part.holds != Holds::kOutput) out += PathOf(part);
    }
    for (const Footprint::Part& part : footprint_.parts) {
      if (part.holds == Holds::kOutput) out += PathOf(part);
    }
    const double x = X(footprint_.peak);
    return out + fmt::format(
                     "<rect class=\"cursor\" x=\"{}\" width=\"{}\" y=\"{}\" height=\"{}\"/></svg>",
                     Px(x), Px(std::max(X(footprint_.peak + 1) - x, 1.5)), Px(kTop),
                     Px(kBottom - kTop));
  }

 private:
  static constexpr double kLeft = 60;
  static constexpr double kRight = 632;
  static constexpr double kTop = 8;
  static constexpr double kBottom = 274;

  double X(std::int64_t block) const {
    return kLeft + (kRight - kLeft) * static_cast<double>(block) /
                       static_cast<double>(std::max(footprint_.blocks, 1));
  }
  double Y(std::int64_t bytes) const {
    return kBottom - (kBottom - kTop) * static_cast<double>(bytes) /
                         static_cast<double>(std::max<std::int64_t>(footprint_.arena_bytes, 1));
  }

  std::string PathOf(const Footprint::Part& part) const {
    std::string path;
    for (const Footprint::Stretch& stretch : part.stretches) {
      path += fmt::format("M{} {}H{}V{}H{}Z", Px(X(stretch.first)), Px(Y(stretch.offset)),
                          Px(X(stretch.last)), Px(Y(stretch.offset + stretch.bytes)),
                          Px(X(stretch.first)));
    }
    const Kind& kind = KindOf(part.holds);
    return fmt::format("<path class=\"c{}\" d=\"{}\"><title>{}&#10;{}&#10;{}</title></path>",
                       kind.color, path, Escaped(part.name, 200), Escaped(part.shape), kind.text);
  }

  const Footprint& footprint_;
};

}  // namespace

std::string FootprintFigure(const Footprint& footprint) {
  std::string out = fmt::format(
      "<figure><figcaption>{}; blocks across, address up; the block with most bytes is "
      "{}</figcaption><div class=\"scroll\" tabindex=\"0\">{}</div><div class=\"key\">",
      Escaped(footprint.title), footprint.peak, Drawing(footprint).Make());
  for (const Kind& kind : kKinds) {
    const bool there =
        std::any_of(footprint.parts.begin(), footprint.parts.end(),
                    [&](const Footprint::Part& part) { return part.holds == kind.holds; });
    if (there) out += fmt::format("<span><i class=\"c{}\"></i>{}</span>", kind.color, kind.text);
  }
  out += "</div>";
  std::vector<const Footprint::Part*> parts;
  std::int64_t bytes = 0;
  for (const Footprint::Part& part : footprint.parts) {
    bytes += part.peak_bytes;
    if (part.peak_bytes > 0) parts.push_back(&part);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto* a, const auto* b) { return a->peak_bytes > b->peak_bytes; });
  out += fmt::format(
      "<details><summary>What block {} holds: {}</summary><div class=\"scroll\"><table><tr>"
      "<th>tensor</th><th>type</th><th>there as</th><th class=\"n\">bytes</th></tr>",
      footprint.peak, FormatBytes(bytes));
  for (const Footprint::Part* part : parts) {
    out += fmt::format(
        "<tr><td class=\"name\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td></tr>",
        Escaped(part->name, 200), Escaped(part->shape), KindOf(part->holds).text,
        FormatCount(part->peak_bytes));
  }
  return out + "</table></div></details></figure>";
}

}  // namespace neap::picture
