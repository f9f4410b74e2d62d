// SPDX-License-Identifier: Apache-2.0
#include "neap/base/version.h"
#include "neap/plan/profile.h"
#include "neap/show/report/explain_report.h"
#include "neap/show/report/json_parts.h"
#include "neap/show/report/report.h"

namespace neap::report {
namespace {

using deliver::Feature;

Json NumberOr(std::int64_t value, bool known) { return known ? Json(value) : Json(nullptr); }

}  // namespace

Json FeatureJson(const Feature& feature) {
  const bool has_plan = feature.HasPlan();
  Json out;
  out["label"] = feature.label;
  out["options"] = Json::array();
  for (const deliver::FeatureOption& option : feature.options) {
    out["options"].push_back("--" + std::string(option.name));
    if (!option.value.empty()) out["options"].push_back(option.value);
  }
  out["runtime"] = plan::ProfileOf(feature.runtime).name;
  out["requires"] =
      feature.requires_text.empty() ? Json(nullptr) : Json(std::string(feature.requires_text));
  out["free"] = feature.is_free;
  out["state"] = deliver::NameOf(feature.state);
  out["reason"] = feature.reason.empty() ? Json(nullptr) : Json(feature.reason);
  out["kind"] = has_plan ? Json(deliver::NameOf(feature.kind)) : Json(nullptr);
  out["arena_bytes"] = NumberOr(feature.arena_bytes, has_plan);
  out["arena_lower_bound_bytes"] = NumberOr(feature.lower_bound_bytes, has_plan);
  out["status"] = has_plan ? Json(feature.IsOptimal() ? "optimal" : "bounded") : Json(nullptr);
  out["total_arena_bytes"] =
      NumberOr(feature.total_arena_bytes, has_plan && feature.total_arena_bytes >= 0);
  const bool counts = has_plan && feature.model_macs > 0;
  out["macs"] = NumberOr(feature.macs, counts);
  out["model_macs"] = NumberOr(feature.model_macs, counts);
  out["file_growth_bytes"] =
      has_plan && feature.growth_bytes ? Json(*feature.growth_bytes) : Json(nullptr);
  out["new_operators"] = feature.new_operators;
  return out;
}

std::string ExplainJson(const ExplainReport& report) {
  const deliver::Explanation& explanation = *report.explanation;
  const formats::SourceModel& source = *report.source;
  const compile::Compiled& compiled = explanation.plan.compiled;
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  const Headline headline = HeadlineOf(compiled, true);
  Json out;
  out["schema_version"] = kReportVersion;
  out["neap_version"] = Version();
  out["model"] = source.path;
  out["model_sha256"] = source.sha256;
  out["format"] = formats::NameOf(source.format);
  out["runtime"] = plan::ProfileOf(explanation.runtime).name;
  out["dims"] = report.dims;
  out["refused"] = explanation.refused.empty() ? Json(nullptr) : Json(explanation.refused);
  out["unknown_scratch"] = compiled.unknown_kernels.empty()
                               ? Json(nullptr)
                               : Json(compile::UnknownScratchText(compiled.unknown_kernels));
  out["file_order"] = {{"peak_bytes", explanation.file_order.peak_bytes},
                       {"arena_bytes", explanation.file_order.arena_bytes},
                       {"peak_at", PeakJson(source.graph, explanation.file_peak)}};
  const graph::Graph& planned = explanation.plan.Planned(source).graph;
  out["plan"] = {{"kind", deliver::NameOf(explanation.plan.kind)},
                 {"peak_bytes", entry.peak_bytes},
                 {"arena_bytes", headline.bytes},
                 {"arena_lower_bound_bytes", headline.lower_bound_bytes},
                 {"certificate", entry.arena_lower_bound_bytes <= entry.peak_lower_bound_bytes
                                     ? NameOf(entry.certificate.kind)
                                     : NameOf(entry.arena_certificate.kind)},
                 {"peak_at", PeakJson(planned, compiled.peak_at)}};
  out["features"] = Json::array();
  for (const Feature& feature : explanation.features) {
    out["features"].push_back(FeatureJson(feature));
  }
  out["code"] = nullptr;
  if (report.code) {
    out["code"] = {{"arena_bytes", report.code->arena_bytes},
                   {"stack_bytes", report.code->stack_bytes},
                   {"weights_bytes", report.code->weights_bytes}};
  }
  out["next"] = Json::array();
  for (const NextStep& step : NextStepsOf(report)) {
    out["next"].push_back({{"why", NameOf(step.why)},
                           {"feature", step.feature == nullptr ? "C code" : step.feature->label},
                           {"command", step.command},
                           {"arena_bytes", step.arena_bytes}});
  }
  out["text"] = ExplainText(report, Style());
  out["interrupted"] = explanation.interrupted;
  out["notes"] = report.notes;
  out["seconds"] = Microseconds(report.seconds);
  return Dump(out);
}

}  // namespace neap::report
