// SPDX-License-Identifier: Apache-2.0
#include "tools/cascading.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "neap/base/bytes.h"

namespace neap::tools {
void CascadeProgressLine::Show(const cascade::SearchProgress& progress) {
  if (!enabled_) return;
  const double now = watch_.Seconds();
  if (now < 1 || now - last_seconds_ < 0.2) return;
  last_seconds_ = now;
  shown_ = true;
  fmt::print(stderr, "\r\x1b[Ktiles: {} {} of {}, best {} B, {:.0f} s", progress.phase,
             progress.done, progress.of, FormatCount(progress.best_bytes), now);
  std::fflush(stderr);
}

void CascadeProgressLine::Erase() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

std::vector<std::string> RegionsText(const cascade::Proposal& proposal) {
  std::vector<std::string> lines;
  for (const cascade::RegionPlan& region : proposal.regions) {
    std::string line = region.ops.size() == 1
                           ? fmt::format("operator #{} in ", region.ops.front().value())
                           : fmt::format("{} operators from #{} to #{} in ", region.ops.size(),
                                         region.ops.front().value(), region.ops.back().value());
    std::string axes;
    for (std::size_t i = 0; i < region.splits.size(); ++i) {
      line += fmt::format("{}{}", i == 0 ? "" : " x ", region.splits[i].cuts.size() + 1);
      axes += fmt::format("{}{}", i == 0 ? "" : " and ", region.splits[i].axis);
    }
    lines.push_back(line + fmt::format(" tiles along {} {}",
                                       region.splits.size() == 1 ? "axis" : "axes", axes));
  }
  return lines;
}

}  // namespace neap::tools
