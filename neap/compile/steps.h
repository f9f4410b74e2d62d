// SPDX-License-Identifier: Apache-2.0
//
// What the steps of a compilation take. Private to neap/compile.
#pragma once

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "neap/compile/compile.h"

namespace neap::compile {

class Steps {
 public:
  // What `step` returns. Its seconds are added to those of the name, which is a literal.
  template <typename Step>
  auto Run(std::string_view name, const Step& step) {
    const auto start = std::chrono::steady_clock::now();
    auto result = step();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    Add(name, taken.count());
    return result;
  }

  const std::vector<StepTime>& times() const { return times_; }

 private:
  void Add(std::string_view name, double seconds) {
    const auto known = std::find_if(times_.begin(), times_.end(),
                                    [&](const StepTime& time) { return time.name == name; });
    if (known == times_.end()) {
      times_.push_back({name, seconds});
    } else {
      known->seconds += seconds;
    }
  }

  std::vector<StepTime> times_;
};

}  // namespace neap::compile
