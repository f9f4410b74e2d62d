// SPDX-License-Identifier: Apache-2.0
//
// What the verbs share that plan operators in tiles: devices, progress, text.
#pragma once

#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/cascade/plan.h"
#include "tools/common.h"

namespace neap::tools {

struct CascadeOptions {
  std::string cascade = "off";
  std::string device;  // a preset, or a file; "": the default preset
};
void AddDeviceOption(CLI::App* app, std::string* device);

// --max-region-operators and the other options of what grids of tiles are tried, as given.
struct GridOptions {
  cascade::Grids grids;
  std::vector<std::string> given;  // their names
};
// `options` outlives the parsing of `app`.
void AddGridOptions(CLI::App* app, GridOptions* options);
// Fails with kUsage, naming the options that were given, where they do not belong.
Status RefuseGrids(const GridOptions& options, const std::string& belong_to);

// A preset by its name, or the description in a file. Fails with kUsage for neither.
Result<cascade::Device> DeviceFor(const std::string& name);

// A line on standard error that is rewritten, as the search goes on.
class CascadeProgressLine {
 public:
  explicit CascadeProgressLine(bool enabled) : enabled_(enabled) {}
  ~CascadeProgressLine() { Erase(); }
  CascadeProgressLine(const CascadeProgressLine&) = delete;
  CascadeProgressLine& operator=(const CascadeProgressLine&) = delete;
  void Show(const cascade::PlanProgress& progress);
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
