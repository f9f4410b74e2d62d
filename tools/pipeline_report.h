// SPDX-License-Identifier: Apache-2.0
//
// The report of `neap pipeline`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/show/report/text.h"
#include "neap/solve/partition/simulate.h"
#include "neap/stages/assign.h"

namespace neap::tools {

struct PipelineReport {
  std::string model;         // as given
  std::string model_sha256;  // "": of no file
  const graph::Graph* graph = nullptr;
  const stages::AssignOptions* options = nullptr;
  const stages::Assigned* assigned = nullptr;
  partition::SimulationOptions simulated;
  partition::Simulation simulation;
  std::vector<std::string> notes;
  std::vector<std::string> files;  // of the stages; empty: none were written
  double read_seconds = 0;
  double total_seconds = 0;
};

std::string PipelineText(const PipelineReport& report, const report::Style& style);
std::string PipelineJson(const PipelineReport& report);
// The same schema where no assignment can keep the limits; report.assigned is not looked at.
std::string InfeasibleJson(const PipelineReport& report, const stages::Infeasible& infeasible);

}  // namespace neap::tools
