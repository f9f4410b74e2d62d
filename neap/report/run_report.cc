// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "neap/base/bytes.h"
#include "neap/graph/element_type.h"
#include "neap/report/json_parts.h"
#include "neap/report/report.h"

namespace neap::report {
namespace {

std::string ShapeText(const graph::Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

}  // namespace

std::string RunText(const RunReport& report, const Style& /*style*/) {
  std::string text;
  for (const RunReport::Output& output : report.outputs) {
    text += fmt::format("output {}: {} {}, sha256 {}\n", Printable(output.name),
                        graph::NameOf(output.type), ShapeText(output.shape), output.sha256);
  }
  if (!report.plan_file.empty()) {
    text += fmt::format("arena {}, touched up to byte {}; {}\n", FormatBytes(report.arena_bytes),
                        FormatCount(report.high_water_bytes),
                        report.violations.empty()
                            ? "no violation"
                            : fmt::format("{} violations", report.violations.size()));
  }
  if (report.macs) {
    text += fmt::format("{} multiply-accumulates; a kernel's blocks take at most {} beside\n",
                        FormatCount(*report.macs), FormatBytes(report.kernel_bytes.value_or(0)));
  }
  if (report.equal) {
    text += *report.equal ? "every output byte is that of an unplanned run\n"
                          : "outputs differ from those of an unplanned run\n";
  }
  return text;
}

std::string RunJson(const RunReport& report) {
  const bool planned = !report.plan_file.empty();
  Json out;
  out["schema_version"] = kReportVersion;
  out["model"] = report.model;
  out["model_sha256"] = report.model_sha256;
  out["plan"] = planned ? Json(report.plan_file) : Json(nullptr);
  out["kernels"] = report.kernels;
  out["equal"] = report.equal ? Json(*report.equal) : Json(nullptr);
  out["outputs"] = Json::array();
  for (const RunReport::Output& output : report.outputs) {
    out["outputs"].push_back({{"name", output.name},
                              {"type", graph::NameOf(output.type)},
                              {"shape", output.shape},
                              {"sha256", output.sha256}});
  }
  out["arena_bytes"] = planned ? Json(report.arena_bytes) : Json(nullptr);
  out["high_water_bytes"] = planned ? Json(report.high_water_bytes) : Json(nullptr);
  out["macs"] = report.macs ? Json(*report.macs) : Json(nullptr);
  out["kernel_bytes"] = report.kernel_bytes ? Json(*report.kernel_bytes) : Json(nullptr);
  out["violations"] = report.violations;
  out["seconds"] = Microseconds(report.seconds);
  return Dump(out);
}

}  // namespace neap::report
