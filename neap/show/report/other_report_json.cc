// SPDX-License-Identifier: Apache-2.0
#include "neap/graph/element_type.h"
#include "neap/plan/profile.h"
#include "neap/show/report/json_parts.h"
#include "neap/show/report/report.h"

namespace neap::report {
namespace {

Json InspectionJson(const graph::Graph& graph, const compile::Inspection& inspection) {
  Json out;
  out["subgraph"] = inspection.subgraph.value();
  out["name"] = graph.subgraphs[inspection.subgraph].name;
  out["signature"] = "";
  for (const graph::Signature& signature : graph.signatures) {
    if (signature.subgraph == inspection.subgraph) {
      out["signature"] = signature.key;
      break;
    }
  }
  out["peak_bytes"] = inspection.peak_bytes;
  out["peak_at"] = PeakJson(graph, inspection.peak_at);
  out["constant_bytes"] = inspection.constant_bytes;
  out["variable_bytes"] = inspection.variable_bytes;
  out["steps"] = Json::array();
  for (const compile::StepMemory& step : inspection.steps) {
    Json item;
    item["operator"] = OpJson(graph, step.subgraph, step.op);
    item["live_bytes"] = step.live_bytes;
    out["steps"].push_back(std::move(item));
  }
  return out;
}

Json MemoryPlanJson(const InspectReport& report) {
  if (!report.memory_plan) return nullptr;
  const MemoryPlanReport& plan = *report.memory_plan;
  const bool read = plan.problem.empty();
  Json out;
  out["status"] = StatusOf(plan);
  out["kernels"] = plan.kernels.empty() ? Json(nullptr) : Json(plan.kernels);
  out["arena_bytes"] = read ? Json(plan.verdict.arena_bytes) : Json(nullptr);
  out["placed"] = plan.verdict.placed;
  out["online"] = plan.verdict.online;
  out["problems"] = read ? Json(plan.verdict.problems) : Json::array({plan.problem});
  out["inside_operators"] = plan.verdict.inside_operators;
  return out;
}

Json PlannedJson(const InspectReport& report) {
  if (!report.planned) return nullptr;
  const PlannedFigures& planned = *report.planned;
  Json out;
  out["kind"] = planned.kind;
  out["bytes"] = planned.headline.bytes;
  out["lower_bound_bytes"] = planned.headline.lower_bound_bytes;
  out["file_order_bytes"] = planned.headline.file_order_bytes;
  out["peak_bytes"] = planned.peak_bytes;
  return out;
}

}  // namespace

std::string InspectJson(const InspectReport& report) {
  const graph::Graph& graph = *report.graph;
  const compile::Inspection& largest = LargestInspection(report);
  const Counts counts = CountOf(graph);
  Json out;
  out["schema_version"] = kReportVersion;
  out["model"] = report.model;
  out["model_sha256"] = report.model_sha256;
  out["format"] = report.format;
  out["runtime"] = plan::ProfileOf(report.runtime).name;
  out["dims"] = report.dims;
  out["operators"] = counts.operators;
  out["tensors"] = counts.tensors;
  out["peak_bytes"] = largest.peak_bytes;
  out["peak_at"] = PeakJson(graph, largest.peak_at);
  out["constant_bytes"] = largest.constant_bytes;
  out["variable_bytes"] = largest.variable_bytes;
  out["largest_tensors"] = Json::array();
  for (const SizedTensor& sized : LargestTensors(report)) {
    const graph::Tensor& tensor = graph.subgraphs[sized.subgraph].tensors[sized.tensor];
    Json item = TensorJson(graph, sized.subgraph, sized.tensor);
    item["bytes"] = sized.bytes;
    item["type"] = graph::NameOf(tensor.type);
    item["shape"] = tensor.shape ? Json(*tensor.shape) : Json(nullptr);
    out["largest_tensors"].push_back(std::move(item));
  }
  out["entries"] = Json::array();
  for (const compile::Inspection& inspection : *report.inspections) {
    out["entries"].push_back(InspectionJson(graph, inspection));
  }
  out["memory_plan"] = MemoryPlanJson(report);
  out["planned"] = PlannedJson(report);
  out["unknown_scratch"] = report.unknown_kernels.empty()
                               ? Json(nullptr)
                               : Json(compile::UnknownScratchText(report.unknown_kernels));
  out["notes"] = report.notes;
  out["seconds"] = {{"read", Microseconds(report.read_seconds)},
                    {"total", Microseconds(report.total_seconds)}};
  return Dump(out);
}

std::string CheckJson(const CheckReport& report) {
  Json out;
  out["schema_version"] = kReportVersion;
  out["model"] = report.model;
  out["model_sha256"] = report.model_sha256;
  out["plan"] = report.plan_file;
  out["runtime"] = plan::ProfileOf(report.plan->runtime).name;
  out["ok"] = report.violations.empty();
  out["violations"] = report.violations;
  out["entries"] = Json::array();
  for (const plan::EntryPlan& entry : report.plan->entries) {
    Json item;
    item["subgraph"] = entry.subgraph.value();
    item["signature"] = entry.signature;
    item["peak_bytes"] = entry.peak_bytes;
    item["arena_bytes"] = entry.arena_bytes;
    item["peak_lower_bound_bytes"] = entry.peak_lower_bound_bytes;
    item["order_status"] = NameOf(entry.order_status);
    item["certificate"] = NameOf(entry.certificate.kind);
    item["arena_certificate"] = NameOf(entry.arena_certificate.kind);
    out["entries"].push_back(std::move(item));
  }
  if (report.replayed) {
    out["replay"] = {{"confirmed", report.replayed->replayed},
                     {"states", report.replayed->states},
                     {"refuted", report.replayed->refuted},
                     {"unfinished", report.replayed->unfinished}};
  } else {
    out["replay"] = nullptr;
  }
  return Dump(out);
}

}  // namespace neap::report
