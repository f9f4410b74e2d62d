// SPDX-License-Identifier: Apache-2.0
//
// Times the steps of a compilation. Private to neap/compile.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "neap/base/step_time.h"

namespace neap::compile {

class Steps {
 public:
  // Returns the result of `step`. Its seconds are added to those of `name`, a literal.
  template <typename Step>
  auto Run(std::string_view name, const Step& step) {
    const auto start = std::chrono::steady_clock::now();
    auto result = step();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    AddSeconds(name, taken.count(), &times_);
    return result;
  }

  const std::vector<StepTime>& times() const { return times_; }

 private:
  std::vector<StepTime> times_;
};

}  // namespace neap::compile
