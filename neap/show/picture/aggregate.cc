// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <utility>

#include "neap/show/picture/picture.h"

namespace neap::picture {

Run Aggregated(Run run, std::size_t max_steps) {
  const std::size_t steps = run.steps.size();
  if (steps <= max_steps) return run;
  const std::size_t width = (steps + max_steps - 1) / max_steps;
  std::vector<Step> highest;
  for (std::size_t begin = 0; begin < steps; begin += width) {
    const auto first = run.steps.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last =
        run.steps.begin() + static_cast<std::ptrdiff_t>(std::min(begin + width, steps));
    const auto at = std::max_element(
        first, last, [](const Step& a, const Step& b) { return a.live_bytes < b.live_bytes; });
    Step step = std::move(*at);
    step.number = static_cast<std::int32_t>(at - run.steps.begin());
    highest.push_back(std::move(step));
  }
  // The first of these steps that is not before a step of the run.
  std::vector<std::int32_t> column_of(steps + 1, static_cast<std::int32_t>(highest.size()));
  for (std::size_t step = 0, column = 0; step <= steps && column < highest.size(); ++step) {
    column_of[step] = static_cast<std::int32_t>(column);
    if (highest[column].number == static_cast<std::int32_t>(step)) ++column;
  }
  const auto column = [&](std::int32_t step) { return column_of[static_cast<std::size_t>(step)]; };
  for (Buffer& buffer : run.buffers) {
    buffer.first = column(buffer.first);
    buffer.last = column(buffer.last);
  }
  std::erase_if(run.buffers, [](const Buffer& buffer) { return buffer.first >= buffer.last; });
  run.steps = std::move(highest);
  run.steps_per_column = static_cast<std::int32_t>(width);
  run.all_steps = static_cast<std::int32_t>(steps);
  return run;
}

}  // namespace neap::picture
