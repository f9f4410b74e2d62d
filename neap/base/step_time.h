// SPDX-License-Identifier: Apache-2.0
//
// Seconds of the named steps of a program run.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace neap {

struct StepTime {
  std::string_view name;  // a literal
  double seconds = 0;
};

// Adds to the step of that name, which is appended if it is new. O(steps).
inline void AddSeconds(std::string_view name, double seconds, std::vector<StepTime>* steps) {
  const auto known = std::find_if(steps->begin(), steps->end(),
                                  [&](const StepTime& step) { return step.name == name; });
  if (known == steps->end()) {
    steps->push_back({name, seconds});
  } else {
    known->seconds += seconds;
  }
}

}  // namespace neap
