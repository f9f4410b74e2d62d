// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "neap/plan/profile.h"
#include "neap/show/report/flash_text.h"
#include "neap/show/report/json_parts.h"
#include "neap/show/report/report.h"

namespace neap::report {
namespace {

Json OverlapsJson(const graph::Graph& graph, const plan::EntryPlan& entry) {
  Json out = Json::array();
  for (const plan::Overlap& overlap : entry.overlaps) {
    Json item;
    item["slot"] = overlap.slot;
    item["input"] = TensorJson(graph, overlap.subgraph, overlap.input);
    item["output"] = TensorJson(graph, overlap.subgraph, overlap.output);
    item["kind"] = plan::NameOf(overlap.kind);
    item["bytes"] = overlap.bytes;
    out.push_back(std::move(item));
  }
  return out;
}

Json MemoriesJson(const PlanReport& report) {
  const compile::Compiled& compiled = *report.compiled;
  const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
  Json out = Json::array();
  for (std::size_t i = 0; i < compiled.plan.memories.size(); ++i) {
    Json item;
    item["name"] = compiled.plan.memories[i].name;
    item["capacity_bytes"] = compiled.plan.memories[i].capacity_bytes;
    item["bytes_per_kilocycle"] = compiled.plan.memories[i].bytes_per_kilocycle;
    item["arena_bytes"] = entry.memory_bytes[i];
    out.push_back(std::move(item));
  }
  return out;
}

Json MovesJson(const graph::Graph& graph, const plan::EntryPlan& entry) {
  Json out = Json::array();
  for (const Move& move : MovesOf(entry)) {
    Json item;
    item["slot"] = move.slot;
    item["tensor"] = TensorJson(graph, entry.subgraph, move.tensor);
    item["from"] = move.from;
    item["to"] = move.to;
    item["bytes"] = move.bytes;
    out.push_back(std::move(item));
  }
  return out;
}

Json ClobberedJson(const graph::Graph& graph, const plan::EntryPlan& entry) {
  Json out = Json::array();
  for (const graph::TensorId id : ClobberedInputs(graph, entry)) {
    out.push_back(TensorJson(graph, entry.subgraph, id));
  }
  return out;
}

// The numbers of a plan; those of a placement are null where nothing was placed.
Json NumbersJson(const plan::EntryPlan& entry, bool placed) {
  const auto if_placed = [&](auto value) { return placed ? Json(value) : Json(nullptr); };
  Json out;
  out["peak_bytes"] = entry.peak_bytes;
  out["peak_lower_bound_bytes"] = entry.peak_lower_bound_bytes;
  out["order_status"] = NameOf(entry.order_status);
  out["arena_bytes"] = if_placed(entry.arena_bytes);
  out["arena_given_order_lower_bound_bytes"] = if_placed(entry.arena_given_order_lower_bound_bytes);
  out["arena_lower_bound_bytes"] = if_placed(entry.arena_lower_bound_bytes);
  out["arena_status"] = if_placed(NameOf(entry.arena_status));
  out["states"] = entry.states;
  return out;
}

Json StreamJson(const plan::EntryPlan& entry) {
  if (!entry.stream) return nullptr;
  const plan::Stream& stream = *entry.stream;
  std::size_t streamed = 0;
  for (const plan::StreamSegment& segment : stream.segments) streamed += segment.whole ? 0 : 1;
  Json out;
  out["input"] = plan::NameOf(stream.input);
  out["segments"] = stream.segments.size();
  out["streamed_segments"] = streamed;
  out["macs"] = stream.macs;
  out["layerwise_macs"] = stream.layerwise_macs;
  out["lower_bound_bytes"] = stream.lower_bound_bytes;
  // The strongest that holds for this plan first.
  const auto bound = [](std::int64_t bytes, std::string_view over) {
    return Json{{"bytes", bytes}, {"over", over}};
  };
  const Json once = bound(stream.lower_bound_bytes, kOverOnce);
  const Json any = bound(entry.arena_lower_bound_bytes, "every plan of this graph");
  const bool first =
      HoldsForOnce(entry) && stream.lower_bound_bytes > entry.arena_lower_bound_bytes;
  out["lower_bounds"] = Json::array({first ? once : any, first ? any : once});
  out["cycles"] = stream.cycles;
  out["layerwise_cycles"] = stream.layerwise_cycles;
  if (stream.slow) {
    const plan::SlowMemory& slow = *stream.slow;
    out["slow"] = {{"fast_bytes", slow.fast_bytes},
                   {"bytes", slow.bytes},
                   {"tensors", slow.tensors.size()},
                   {"read_bytes", slow.read_bytes},
                   {"written_bytes", slow.written_bytes},
                   {"ahead_bytes", slow.ahead_bytes},
                   {"traffic_bytes", slow.TrafficBytes()},
                   {"traffic_lower_bound_bytes", slow.traffic_lower_bound_bytes}};
    if (slow.weight_bytes) out["slow"]["weight_bytes"] = *slow.weight_bytes;
  }
  return out;
}

Json DeliveredJson(const PlanReport& report) {
  const compile::Compiled& compiled = *report.compiled;
  // A runtime that does not execute the model allocates nothing for it.
  const bool modelled = compiled.delivered_arena_bytes >= 0 && !report.refused;
  const bool has_totals = !compiled.totals.empty() && !report.refused;
  if (!modelled && report.model_file.empty() && !has_totals) return nullptr;
  Json out;
  out["file"] = report.model_file.empty() ? Json(nullptr) : Json(report.model_file);
  out["sha256"] = report.model_file.empty() ? Json(nullptr) : Json(compiled.plan.written_sha256);
  out["arena_bytes"] = modelled ? Json(compiled.delivered_arena_bytes) : Json(nullptr);
  const compile::TflmTotal* total = TotalOf(compiled);
  const bool known = total != nullptr && total->missing.empty() && !report.refused;
  out["persistent_bytes"] = known ? Json(total->persistent_bytes) : Json(nullptr);
  out["total_arena_bytes"] = known ? Json(total->total_arena_bytes) : Json(nullptr);
  out["memory_plan"] = report.carries_plan;
  out["decompression_memory"] = nullptr;
  if (const auto decompression = DecompressionOf(report)) {
    const bool has_total = decompression->missing.empty();
    out["decompression_memory"] = {
        {"bytes", decompression->bytes},
        {"total_arena_bytes", has_total ? Json(decompression->total_arena_bytes) : Json(nullptr)},
        {"missing", has_total ? Json(nullptr) : Json(decompression->missing)}};
  }
  out["targets"] = Json::array();
  std::vector<compile::TflmTotal> totals = compiled.totals;
  totals.insert(totals.end(), report.other_totals.begin(), report.other_totals.end());
  for (const compile::TflmTotal& each : totals) {
    if (report.refused) break;
    const bool has = each.missing.empty();
    out["targets"].push_back(
        {{"target", target::ReportNameOf(*each.target)},
         {"name", each.target->name},
         {"kernels", target::NameOf(each.target->kernels)},
         {"version", each.target->version},
         {"persistent_bytes", has ? Json(each.persistent_bytes) : Json(nullptr)},
         {"total_arena_bytes", has ? Json(each.total_arena_bytes) : Json(nullptr)},
         {"missing", has ? Json(nullptr) : Json(each.missing)}});
  }
  return out;
}

Json EntriesJson(const PlanReport& report) {
  Json out = Json::array();
  for (const plan::EntryPlan& entry : report.compiled->plan.entries) {
    Json item;
    item["subgraph"] = entry.subgraph.value();
    item["signature"] = entry.signature;
    item["steps"] = entry.steps.size();
    item.update(NumbersJson(entry, report.placed));
    out.push_back(std::move(item));
  }
  return out;
}

Json StepsJson(const std::vector<StepTime>& steps) {
  Json out = Json::array();
  for (const StepTime& step : steps) {
    out.push_back({{"name", step.name}, {"seconds", Microseconds(step.seconds)}});
  }
  return out;
}

}  // namespace

double Microseconds(double seconds) { return std::round(seconds * 1e6) / 1e6; }

Json TensorJson(const graph::Graph& graph, graph::SubgraphId subgraph, graph::TensorId tensor) {
  Json out;
  out["subgraph"] = subgraph.value();
  out["index"] = tensor.value();
  out["name"] = graph.subgraphs[subgraph].tensors[tensor].name;
  return out;
}

Json OpJson(const graph::Graph& graph, graph::SubgraphId subgraph, graph::OpId op) {
  if (!op.valid()) return nullptr;
  const graph::Op& known = graph.subgraphs[subgraph].ops[op];
  Json out;
  out["subgraph"] = subgraph.value();
  out["index"] = op.value();
  out["type"] = known.type;
  out["name"] = known.name;
  return out;
}

Json PeakJson(const graph::Graph& graph, const compile::PeakCause& cause) {
  Json out;
  out["operator"] = OpJson(graph, cause.subgraph, cause.op);
  out["scratch_bytes"] = cause.scratch_bytes;
  out["tensors"] = Json::array();
  for (const compile::PeakCause::Live& live : cause.tensors) {
    Json tensor = TensorJson(graph, live.subgraph, live.tensor);
    tensor["bytes"] = live.bytes;
    out["tensors"].push_back(std::move(tensor));
  }
  return out;
}

std::string Dump(const Json& json) {
  // Names from a file need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json RefusedJson(const PlanReport& report) {
  if (!report.refused) return nullptr;
  return {{"operator", report.refused->op}, {"why", report.refused->why}};
}

Json CascadeJson(const PlanReport& report) {
  if (!report.cascade) return nullptr;
  const CascadeReport& cascade = *report.cascade;
  Json out;
  out["device"] = cascade.device;
  out["stripes"] = cascade.tiles;
  out["bodies"] = cascade.shared_bodies ? "shared" : "clones";
  out["macs"] = cascade.macs;
  out["macs_ratio"] = cascade.uncut_macs == 0 ? 1.0
                                              : static_cast<double>(cascade.macs) /
                                                    static_cast<double>(cascade.uncut_macs);
  out["cycles"] = cascade.cycles;
  out["uncut"] = {{"cycles", cascade.uncut_cycles},
                  {"arena_bytes", cascade.uncut_arena_bytes},
                  {"total_arena_bytes", cascade.uncut_total_arena_bytes < 0
                                            ? Json(nullptr)
                                            : Json(cascade.uncut_total_arena_bytes)}};
  out["regions"] = cascade.regions;
  return out;
}

Json RewritesJson(const PlanReport& report) {
  Json out = Json::array();
  if (!report.rewriting) return out;
  for (const plan::Rewrite& rewrite : report.compiled->plan.rewrites) {
    Json item;
    item["rule"] = rewrite.rule;
    const graph::Subgraph& main = report.rewriting->source->subgraphs[graph::SubgraphId(0)];
    item["where"] = graph::Describe(rewrite.op, main.ops[rewrite.op]);
    item["exactness"] = plan::NameOf(rewrite.exactness);
    item["bytes_saved"] = rewrite.bytes_saved;
    out.push_back(std::move(item));
  }
  return out;
}

Json RewritingJson(const PlanReport& report) {
  if (!report.rewriting) return nullptr;
  const RewriteReport& rewriting = *report.rewriting;
  return {{"operators_before", CountOf(*rewriting.source).operators},
          {"accumulator_bytes", report.compiled->plan.accumulator_bytes},
          {"peak_lower_bound_bytes", rewriting.peak_lower_bound_bytes},
          {"growth_bytes", rewriting.growth_bytes},
          {"evaluations", rewriting.evaluations},
          {"seconds", Microseconds(rewriting.seconds)}};
}

Json RepetitionJson(const PlanReport& report) {
  if (!report.repetition) return nullptr;
  const RepetitionReport& repetition = *report.repetition;
  return {{"repetitions", repetition.repetitions},
          {"cost", repetition.cost},
          {"base_cost", repetition.base_cost},
          {"max_cost_permille", repetition.max_cost_permille},
          {"macs", repetition.macs},
          {"base_macs", repetition.base_macs},
          {"least_cost", repetition.least_cost},
          {"peak_lower_bound_bytes", repetition.peak_lower_bound_bytes > 0
                                         ? Json(repetition.peak_lower_bound_bytes)
                                         : Json(nullptr)}};
}

Json FlashJson(const FlashReport& flash) {
  if (flash.file_bytes <= 0 || flash.structure_bytes < 0) return nullptr;
  return {{"file_bytes", flash.file_bytes},
          {"weights_bytes", flash.weights_bytes},
          {"constants_bytes", flash.constants_bytes},
          {"structure_bytes", flash.structure_bytes},
          {"compressed_bytes", flash.compressed_bytes},
          {"copied_bytes", flash.copied_bytes},
          {"in_place_bytes", flash.weights_bytes + flash.constants_bytes - flash.copied_bytes}};
}

// What --budget or --board compares: the total arena under tflm, otherwise the arena.
void AddBudgets(const PlanReport& report, Json* out) {
  using Fit = deliver::Verdict::Fit;
  const auto number = [](const std::optional<std::int64_t>& bytes) {
    return bytes ? Json(*bytes) : Json(nullptr);
  };
  const bool tflm = report.compiled->plan.runtime == plan::Runtime::kTflm;
  const deliver::Budgets& budgets = report.budgets;
  (*out)["budget_bytes"] = number(tflm ? budgets.total_bytes : budgets.arena_bytes);
  (*out)["budget_activations_bytes"] = number(tflm ? budgets.arena_bytes : std::nullopt);
  (*out)["budget_device_bytes"] = number(budgets.memory_bytes);
  (*out)["board"] = nullptr;
  if (report.board != nullptr) {
    (*out)["board"] = {{"name", report.board->name},
                       {"ram_bytes", report.board->ram_bytes},
                       {"flash_bytes", report.board->flash_bytes},
                       {"reserve_bytes", report.reserve_bytes}};
  }
  const deliver::Verdict verdict = VerdictOf(report);
  const bool has_budget = verdict.fit != Fit::kNoBudget;
  const bool known = has_budget && verdict.fit != Fit::kUnknown;
  (*out)["compared"] = nullptr;
  if (has_budget) {
    (*out)["compared"] = {{"number", verdict.of_slow      ? "slow_memory"
                                     : verdict.of_weights ? "weights"
                                     : verdict.of_total   ? "total_arena"
                                                          : "arena"},
                          {"required_bytes", known ? Json(verdict.required_bytes) : Json(nullptr)},
                          {"available_bytes", verdict.available_bytes}};
  }
  (*out)["fits"] = known ? Json(verdict.fit == Fit::kFits) : Json(nullptr);
}

Json PriceJson(const deliver::Price& price) {
  return {
      {"macs", price.macs},
      {"model_macs", price.model_macs},
      {"added_operators", price.added_operators},
      {"growth_bytes", price.growth_bytes},
      {"moved_bytes", price.moved_bytes},
      {"new_operator_types", price.new_types},
      {"kernels", price.kernels == ops::KernelLibrary::kNone ? Json(nullptr)
                                                             : Json(ops::NameOf(price.kernels))}};
}

// Without a budget nothing is compared with one.
Json TriedJson(const PlanReport& report) {
  const bool has_budget = report.budgets.Any() && IsBudgetKnown(report);
  Json out = Json::array();
  for (const TriedPlan& tried : report.tried) {
    out.push_back({{"kind", tried.kind},
                   {"bytes", tried.bytes},
                   {"total_arena_bytes",
                    tried.total_arena_bytes ? Json(*tried.total_arena_bytes) : Json(nullptr)},
                   {"fits", has_budget && tried.known ? Json(tried.fits) : Json(nullptr)},
                   {"taken", tried.taken},
                   {"price", PriceJson(tried.price)}});
  }
  return out;
}

std::string PlanJson(const PlanReport& report) {
  const compile::Compiled& compiled = *report.compiled;
  const plan::Plan& planned = compiled.plan;
  const plan::EntryPlan& entry = plan::LargestEntry(planned);
  const Counts counts = CountOf(*report.graph);
  const auto if_placed = [&](auto value) { return report.placed ? Json(value) : Json(nullptr); };
  Json out;
  out["schema_version"] = kPlanReportVersion;
  out["neap_version"] = planned.neap_version;
  out["model"] = report.model;
  out["model_sha256"] = planned.model_sha256;
  out["runtime"] = plan::ProfileOf(planned.runtime).name;
  out["order"] = planned.order_strategy;
  out["kernels"] = planned.kernels == ops::KernelLibrary::kNone
                       ? Json(nullptr)
                       : Json(ops::NameOf(planned.kernels));
  out["dims"] = planned.dims;
  out["operators"] = counts.operators;
  out["tensors"] = counts.tensors;
  out["file_order"] = {{"peak_bytes", compiled.file_order.peak_bytes},
                       {"arena_bytes", if_placed(compiled.file_order.arena_bytes)}};
  out["plan"] = NumbersJson(entry, report.placed);
  out["delivered"] = DeliveredJson(report);
  out["refused_by_runtime"] = RefusedJson(report);
  out["peak_at"] = PeakJson(*report.graph, compiled.peak_at);
  out["overlaps"] = OverlapsJson(*report.graph, entry);
  out["clobbered_inputs"] = ClobberedJson(*report.graph, entry);
  out["moves"] = MovesJson(*report.graph, entry);
  out["memories"] = MemoriesJson(report);
  out["interface"] = Json::parse(InterfaceJson(report.interface));
  out["rewrites"] = RewritesJson(report);
  out["rewriting"] = RewritingJson(report);
  out["recompute"] = RepetitionJson(report);
  const bool several = !planned.memories.empty();
  out["access_cycles"] = several ? Json(compiled.access_cycles) : Json(nullptr);
  out["access_cycles_lower_bound"] =
      several ? Json(compiled.access_cycles_lower_bound) : Json(nullptr);
  out["cascade"] = CascadeJson(report);
  out["stream"] = StreamJson(entry);
  AddBudgets(report, &out);
  out["flash"] = FlashJson(report.flash);
  out["tried"] = TriedJson(report);
  out["advice"] = Json::array();
  for (const deliver::Feature& feature : report.advice) {
    Json one = FeatureJson(feature);
    one["fits"] = feature.fits;
    out["advice"].push_back(std::move(one));
  }
  out["interrupted"] = compiled.interrupted;
  out["entries"] = EntriesJson(report);
  out["notes"] = report.notes;
  out["seconds"] = {{"read", Microseconds(report.read_seconds)},
                    {"order", Microseconds(compile::OrderSeconds(compiled))},
                    {"place", Microseconds(compile::PlaceSeconds(compiled))},
                    {"total", Microseconds(report.total_seconds)}};
  out["steps"] = StepsJson(report.steps);
  out["plan_steps"] = StepsJson(compiled.steps);
  out["written"] = report.written;
  return Dump(out);
}

}  // namespace neap::report
