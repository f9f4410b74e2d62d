// SPDX-License-Identifier: Apache-2.0
//
// What `neap pareto` prints: text for people, and schemas/pareto-report.schema.json.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/deliver/front.h"
#include "neap/formats/formats.h"
#include "neap/show/report/report.h"
#include "neap/transform/cascade/plan.h"
#include "neap/transform/stream/entries.h"

namespace neap::tools {

// The criteria of points, in the order of reports.
struct Criterion {
  const char* name;   // of --criteria
  const char* field;  // of the JSON
  const char* text;
  bool cascade::Criteria::*used;
};
std::span<const Criterion> ParetoCriteria();

// Of both kinds of reports.
struct ParetoAbout {
  const formats::SourceModel* source = nullptr;
  const std::vector<report::InterfaceChange>* changes = nullptr;
  bool interrupted = false;
  double seconds = 0;
};

std::string FrontText(const formats::SourceModel& source, const deliver::Front& front);
// Fails where the weights of a region cannot be read. `search`: with which the front was found.
Result<std::string> FrontJson(const ParetoAbout& about, const deliver::Front& front,
                              const cascade::SearchOptions& search);

// Of streamed plans alone. `input`: "resident", "external", "rows". `target`: the points are of
// emitted C, with its instructions on that processor; "": they are of Neap's executor, with cycles.
std::string StreamFrontText(const formats::SourceModel& source, const stream::StreamFront& front,
                            const std::string& input, const std::string& target,
                            const cascade::Criteria& criteria);
std::string StreamFrontJson(const ParetoAbout& about, const stream::StreamFront& front,
                            const std::string& input, const std::string& target,
                            const cascade::Criteria& criteria);

// A page with a chart, a table and the JSON report of the points.
std::string FrontPage(const formats::SourceModel& source, const deliver::Front& front,
                      const std::string& json);
std::string StreamFrontPage(const formats::SourceModel& source, const stream::StreamFront& front,
                            const std::string& target, const std::string& json);

}  // namespace neap::tools
