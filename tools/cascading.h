// SPDX-License-Identifier: Apache-2.0
//
// --cascade: operators in tiles, as a change of the model that the rest of the pipeline takes over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/cascade/plan.h"
#include "neap/compile/compile.h"
#include "neap/formats/formats.h"
#include "tools/common.h"

namespace neap::tools {

struct CascadeOptions {
  std::string cascade = "off";
  std::string device;  // a preset, or a file; "": the default preset
};
void AddDeviceOption(CLI::App* app, std::string* device);

// A preset by its name, or the description in a file. Fails with kUsage for neither.
Result<cascade::Device> DeviceFor(const std::string& name);

// What was found, and the edited model with the settings to plan it with; nothing where the model
// stays as it is.
struct Cascading {
  cascade::PlanOutcome outcome;
  std::optional<formats::SourceModel> model;
  compile::Options compile;
};
// Whether there is anything that could run in tiles.
bool HasSteps(const graph::Graph& graph);
Result<Cascading> Cascade(const formats::SourceModel& source, const cascade::PlanOptions& options,
                          const formats::LoadOptions& load_options);

// Writes down in a plan what was cut.
void NoteRegions(const cascade::Proposal& proposal, plan::Plan* plan);
// The model that a plan is about: `source` with the plan's regions in tiles. Its hash stays that of
// the source.
Result<formats::SourceModel> CascadedModel(formats::SourceModel source, const plan::Plan& plan,
                                           const formats::LoadOptions& load_options);

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
