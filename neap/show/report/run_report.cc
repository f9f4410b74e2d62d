// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "neap/base/bytes.h"
#include "neap/graph/element_type.h"
#include "neap/show/report/json_parts.h"
#include "neap/show/report/report.h"

namespace neap::report {
namespace {

std::string ShapeText(const graph::Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::string DifferenceText(const RunReport::ComparedOutput& output) {
  std::string text = fmt::format("output {}: {} of {} elements differ from the given model",
                                 Printable(output.name), FormatCount(output.differing),
                                 FormatCount(output.elements));
  if (!output.max_difference) return text + "; the largest difference is not a number\n";
  text += fmt::format("; largest difference {:.6g}", *output.max_difference);
  if (!output.relative) return text + " (the given model's output is 0 everywhere)\n";
  return text + fmt::format(" ({:.4g} of the largest magnitude, {:.6g})\n", *output.relative,
                            output.magnitude);
}

std::string ComparisonText(const RunReport::Comparison& comparison) {
  if (comparison.Identical()) {
    return "identical: every output byte equals that of the given model, run without a plan\n";
  }
  std::string text;
  for (const RunReport::ComparedOutput& output : comparison.outputs) {
    if (output.differing > 0) text += DifferenceText(output);
  }
  if (comparison.rewrites_exact) {
    return text +
           "error: the outputs differ from those of the given model, but the plan's rewrites are "
           "exact\n";
  }
  if (!comparison.tolerance) {
    return text +
           "the outputs differ from those of the given model: the plan's rewrites are not "
           "exact\n";
  }
  return text + fmt::format(
                    "the outputs are {} {:.6g} of those of the given model; the plan's "
                    "rewrites are not exact\n",
                    comparison.Passes() ? "within" : "not within", *comparison.tolerance);
}

// JSON has no infinity.
Json Number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json ComparisonJson(const RunReport::Comparison& comparison) {
  Json out;
  out["rewrites_exact"] = comparison.rewrites_exact;
  out["tolerance"] = Number(comparison.tolerance);
  out["passes"] = comparison.Passes();
  out["outputs"] = Json::array();
  for (const RunReport::ComparedOutput& output : comparison.outputs) {
    out["outputs"].push_back({{"name", output.name},
                              {"type", graph::NameOf(output.type)},
                              {"elements", output.elements},
                              {"differing_elements", output.differing},
                              {"max_difference", Number(output.max_difference)},
                              {"largest_magnitude", output.magnitude},
                              {"relative_difference", Number(output.relative)}});
  }
  return out;
}

}  // namespace

bool RunReport::Comparison::Identical() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const ComparedOutput& output) { return output.differing == 0; });
}

bool RunReport::Comparison::Passes() const {
  if (Identical()) return true;
  if (rewrites_exact || !tolerance) return false;
  return std::all_of(outputs.begin(), outputs.end(), [&](const ComparedOutput& output) {
    return output.relative && *output.relative <= *tolerance;
  });
}

std::string RunText(const RunReport& report, const Style& /*style*/) {
  std::string text;
  for (const RunReport::Output& output : report.outputs) {
    constexpr std::size_t kColumns = 100;
    const std::string head = fmt::format("output {}: {} {},", Printable(output.name),
                                         graph::NameOf(output.type), ShapeText(output.shape));
    const std::string hash = "sha256 " + output.sha256;
    const bool fits = ColumnsOf(head) + 1 + hash.size() <= kColumns;
    text += fmt::format("{}{}{}\n", head, fits ? " " : "\n  ", hash);
  }
  if (!report.plan_file.empty()) {
    text += fmt::format(
        "arena {}, used up to byte {}; {}\n", FormatBytes(report.arena_bytes),
        FormatCount(report.high_water_bytes),
        report.violations.empty()
            ? "no violations"
            : CountText(static_cast<std::int64_t>(report.violations.size()), "violation"));
  }
  if (report.macs) {
    text += fmt::format("{} MACs; kernels use at most {} outside the arena\n",
                        FormatCount(*report.macs), FormatBytes(report.kernel_bytes.value_or(0)));
  }
  if (report.slow) {
    text +=
        fmt::format("slow memory {}: {} read and {} written\n", FormatBytes(report.slow->bytes),
                    FormatBytes(report.slow->read_bytes), FormatBytes(report.slow->written_bytes));
  }
  if (report.comparison) text += ComparisonText(*report.comparison);
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
  out["equal"] = report.comparison ? Json(report.comparison->Identical()) : Json(nullptr);
  out["comparison"] = report.comparison ? ComparisonJson(*report.comparison) : Json(nullptr);
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
  if (report.slow) {
    out["slow"] = {{"bytes", report.slow->bytes},
                   {"read_bytes", report.slow->read_bytes},
                   {"written_bytes", report.slow->written_bytes}};
  }
  out["violations"] = report.violations;
  out["seconds"] = Microseconds(report.seconds);
  return Dump(out);
}

}  // namespace neap::report
