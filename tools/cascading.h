// SPDX-License-Identifier: Apache-2.0
//
// Shared by the verbs that plan operators in tiles: progress, text.
#pragma once

#include <string>
#include <vector>

#include "neap/transform/cascade/plan.h"
#include "tools/common.h"

namespace neap::tools {

// A line on standard error that is rewritten, as the search goes on.
class CascadeProgressLine {
 public:
  explicit CascadeProgressLine(bool enabled) : enabled_(enabled) {}
  ~CascadeProgressLine() { Erase(); }
  CascadeProgressLine(const CascadeProgressLine&) = delete;
  CascadeProgressLine& operator=(const CascadeProgressLine&) = delete;
  void Show(const cascade::SearchProgress& progress);
  void Erase();

 private:
  bool enabled_;
  bool shown_ = false;
  Stopwatch watch_;
  double last_seconds_ = 0;
};

// The regions of a proposal: "operators 0 to 3 in 6 tiles along axis 1".
std::vector<std::string> RegionsText(const cascade::Proposal& proposal);

}  // namespace neap::tools
