// SPDX-License-Identifier: Apache-2.0
#include "tools/pipeline_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "neap/base/bytes.h"

namespace neap::tools {
namespace {

using nlohmann::ordered_json;
using stages::AssignedStage;
using stages::Objective;

constexpr double kPicosecondsPerMillisecond = 1e9;
constexpr double kPicosecondsPerSecond = 1e12;

double Milliseconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) / kPicosecondsPerMillisecond;
}
double PerSecond(std::int64_t picoseconds) {
  return picoseconds == 0 ? 0 : kPicosecondsPerSecond / static_cast<double>(picoseconds);
}
double Rounded(double value) { return std::round(value * 1e6) / 1e6; }

bool IsTime(const PipelineReport& report) {
  return report.options->lower.objective == Objective::kTime;
}

// Of the simulation, between the first item and the last.
double Interval(const partition::Simulation& run) {
  if (run.items < 2) return 0;
  return Milliseconds(run.all_done - run.first_done) / static_cast<double>(run.items - 1);
}

ordered_json TensorsJson(const graph::Subgraph& subgraph, const std::vector<graph::TensorId>& ids) {
  ordered_json list = ordered_json::array();
  for (const graph::TensorId id : ids) {
    list.push_back(
        {{"tensor", id.value()}, {"name", report::Printable(subgraph.tensors[id].name, 4096)}});
  }
  return list;
}

ordered_json StageJson(const PipelineReport& report, std::size_t i) {
  const AssignedStage& stage = report.assigned->stages[i];
  const graph::Subgraph& main = report.graph->subgraphs[graph::SubgraphId(0)];
  ordered_json out;
  out["operators"] = ordered_json::array();
  for (const graph::OpId op : stage.part.ops) out["operators"].push_back(op.value());
  out["parameter_bytes"] = stage.cost.parameter_bytes;
  out["cached_bytes"] = stage.cached_bytes;
  out["in_bytes"] = stage.cost.in_bytes;
  out["out_bytes"] = stage.cost.out_bytes;
  out["activation_peak_bytes"] = stage.activations.peak_bytes;
  out["activation_peak_lower_bound_bytes"] = stage.activations.lower_bound_bytes;
  out["milliseconds"] = Rounded(Milliseconds(stage.cost.cost));
  out["picoseconds"] = stage.cost.cost;
  out["inputs"] = TensorsJson(main, stage.part.inputs);
  out["outputs"] = TensorsJson(main, stage.part.outputs);
  out["file"] = report.files.empty() ? ordered_json(nullptr) : ordered_json(report.files[i]);
  return out;
}

// The first members of every report.
ordered_json Heading(const PipelineReport& report, std::int64_t operators) {
  const auto& options = *report.options;
  ordered_json out;
  out["schema_version"] = 1;
  out["model"] = report::Printable(report.model, 4096);
  out["model_sha256"] =
      report.model_sha256.empty() ? ordered_json(nullptr) : ordered_json(report.model_sha256);
  out["device"] = options.lower.accelerator.name;
  out["method"] = stages::NameOf(options.method);
  out["objective"] = IsTime(report) ? "time" : "parameters";
  out["most_stages"] = options.lower.stages;
  out["children_together"] = options.lower.children_together;
  out["operators"] = operators;
  const graph::Subgraph& main = report.graph->subgraphs[graph::SubgraphId(0)];
  out["inputs"] = TensorsJson(main, main.inputs);
  out["outputs"] = TensorsJson(main, main.outputs);
  return out;
}

std::string Value(const PipelineReport& report, std::int64_t value) {
  return IsTime(report) ? fmt::format("{:.3f} ms", Milliseconds(value)) : FormatBytes(value);
}

std::string Table(const PipelineReport& report) {
  std::string text =
      fmt::format("{:>5}  {:>9}  {:>13}  {:>13}  {:>11}  {:>11}  {:>13}  {:>9}\n", "stage",
                  "operators", "parameters B", "on chip B", "in B", "out B", "activations B", "ms");
  for (std::size_t i = 0; i < report.assigned->stages.size(); ++i) {
    const AssignedStage& stage = report.assigned->stages[i];
    text += fmt::format("{:>5}  {:>9}  {:>13}  {:>13}  {:>11}  {:>11}  {:>13}  {:>9.3f}\n", i + 1,
                        FormatCount(stage.cost.operators), FormatCount(stage.cost.parameter_bytes),
                        FormatCount(stage.cached_bytes), FormatCount(stage.cost.in_bytes),
                        FormatCount(stage.cost.out_bytes),
                        FormatCount(stage.activations.peak_bytes), Milliseconds(stage.cost.cost));
  }
  return text;
}

std::string BoundText(const PipelineReport& report) {
  const stages::Assigned& assigned = *report.assigned;
  const std::int64_t value = assigned.Value();
  const bool shared = IsTime(report) && report.options->lower.shared_link;
  const char* const what = shared           ? "simulated time of an item"
                           : IsTime(report) ? "slowest stage"
                                            : "largest parameter memory";
  std::string text = fmt::format("{} {}", what, Value(report, value));
  if (shared) {
    text +=
        fmt::format(" (slowest stage {:.3f} ms, shared link {:.3f} ms an item)",
                    Milliseconds(assigned.picoseconds), Milliseconds(assigned.link_picoseconds));
  }
  text += ": ";
  if (assigned.optimal()) {
    text += fmt::format("optimal assignment: none {} (certificate checked)\n",
                        shared           ? "has a smaller one"
                        : IsTime(report) ? "is faster"
                                         : "is smaller");
  } else {
    text += fmt::format(
        "no assignment is below {} ({} less)\n", Value(report, assigned.lower_bound),
        report::Percent(value - assigned.lower_bound, std::max<std::int64_t>(value, 1)));
  }
  return text;
}

}  // namespace

std::string PipelineText(const PipelineReport& report, const report::Style& style) {
  const stages::Assigned& assigned = *report.assigned;
  const auto& options = *report.options;
  std::string text = fmt::format(
      "{}: {} operators in {} of {} stages of {}, method {}\n", report::Printable(report.model),
      FormatCount(assigned.lowered.problem.num_ops), assigned.stages.size(), options.lower.stages,
      options.lower.accelerator.name, stages::NameOf(options.method));
  text += Table(report);
  text += report::Paint(style, report::Ink::kBold, BoundText(report));
  if (assigned.IntervalPicoseconds() > 0) {
    text += fmt::format("modelled: {:.1f} inferences per second\n",
                        PerSecond(assigned.IntervalPicoseconds()));
    const partition::Simulation& run = report.simulation;
    if (run.items > 0) {
      text += fmt::format(
          "simulated, {} items over {}: first after {:.3f} ms, then one every {:.3f} ms\n",
          FormatCount(run.items),
          report.simulated.shared_link ? "one shared link" : "separate links",
          Milliseconds(run.first_done), Interval(run));
    }
  }
  text += report::Wrapped(report::NotesText(report.notes, ""), 100);
  for (const std::string& file : report.files) {
    text += fmt::format("wrote {}\n", report::Printable(file, 4096));
  }
  return text;
}

std::string InfeasibleJson(const PipelineReport& report, const stages::Infeasible& infeasible) {
  const graph::Subgraph& main = report.graph->subgraphs[graph::SubgraphId(0)];
  const auto operators = std::count_if(main.ops.begin(), main.ops.end(),
                                       [](const graph::Op& op) { return !op.folded; });
  ordered_json out = Heading(report, operators);
  out["stages"] = ordered_json::array();
  for (const char* const unknown :
       {"bottleneck_milliseconds", "bottleneck_picoseconds", "link_picoseconds",
        "interval_picoseconds", "lower_bound_milliseconds", "lower_bound_picoseconds",
        "most_parameter_bytes", "most_parameter_bytes_lower_bound", "gap", "throughput_per_second",
        "simulation", "proof"}) {
    out[unknown] = nullptr;
  }
  out["shared_link"] = report.options->lower.shared_link;
  out["status"] = "infeasible";
  const bool known = infeasible.op.valid();
  const auto where_known = [&](std::int64_t value) {
    return known ? ordered_json(value) : ordered_json(nullptr);
  };
  out["infeasible"] = {{"limit", stages::NameOf(infeasible.limit)},
                       {"operator", where_known(infeasible.op.value())},
                       {"name", nullptr},
                       {"operators", where_known(infeasible.operators)},
                       {"needed_bytes", where_known(infeasible.needed_bytes)},
                       {"limit_bytes", where_known(infeasible.limit_bytes)}};
  if (known) out["infeasible"]["name"] = graph::Describe(infeasible.op, main.ops[infeasible.op]);
  out["seconds"] = {{"read", Rounded(report.read_seconds)},
                    {"total", Rounded(report.total_seconds)}};
  out["notes"] = report.notes;
  out["written"] = ordered_json::array();
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string PipelineJson(const PipelineReport& report) {
  const stages::Assigned& assigned = *report.assigned;
  const auto& options = *report.options;
  const std::int64_t value = assigned.Value();
  const bool time = IsTime(report);
  ordered_json out = Heading(report, assigned.lowered.problem.num_ops);
  out["stages"] = ordered_json::array();
  for (std::size_t i = 0; i < assigned.stages.size(); ++i) {
    out["stages"].push_back(StageJson(report, i));
  }
  out["bottleneck_milliseconds"] = Rounded(Milliseconds(assigned.picoseconds));
  out["bottleneck_picoseconds"] = assigned.picoseconds;
  out["shared_link"] = options.lower.shared_link;
  out["link_picoseconds"] =
      options.lower.shared_link ? ordered_json(assigned.link_picoseconds) : ordered_json(nullptr);
  out["interval_picoseconds"] = assigned.IntervalPicoseconds();
  out["lower_bound_milliseconds"] =
      time ? ordered_json(Rounded(Milliseconds(assigned.lower_bound))) : ordered_json(nullptr);
  out["lower_bound_picoseconds"] =
      time ? ordered_json(assigned.lower_bound) : ordered_json(nullptr);
  std::int64_t max_parameters = 0;
  for (const AssignedStage& stage : assigned.stages) {
    max_parameters = std::max(max_parameters, stage.cost.parameter_bytes);
  }
  out["most_parameter_bytes"] = max_parameters;
  out["most_parameter_bytes_lower_bound"] =
      time ? ordered_json(nullptr) : ordered_json(assigned.lower_bound);
  out["status"] = assigned.optimal() ? "optimal" : "bounded";
  out["gap"] = assigned.lower_bound == 0
                   ? 0
                   : Rounded(static_cast<double>(value - assigned.lower_bound) /
                             static_cast<double>(assigned.lower_bound));
  out["infeasible"] = nullptr;
  out["throughput_per_second"] = Rounded(PerSecond(assigned.IntervalPicoseconds()));
  const partition::Simulation& run = report.simulation;
  out["simulation"] = nullptr;
  if (run.items > 0) {
    out["simulation"] = {{"items", run.items},
                         {"queue_items", report.simulated.queue_items},
                         {"shared_link", report.simulated.shared_link},
                         {"first_milliseconds", Rounded(Milliseconds(run.first_done))},
                         {"interval_milliseconds", Rounded(Interval(run))}};
  }
  out["proof"] = {{"states", assigned.states},
                  {"downsets", assigned.downsets},
                  {"operators_after_merging", assigned.merged_operators},
                  {"certificate_downsets", assigned.certificate_downsets},
                  {"excluded_stages", assigned.excluded_stages}};
  out["seconds"] = {{"read", Rounded(report.read_seconds)},
                    {"method", Rounded(assigned.method_seconds)},
                    {"solve", Rounded(assigned.solve_seconds)},
                    {"check", Rounded(assigned.check_seconds)},
                    {"activations", Rounded(assigned.activation_seconds)},
                    {"total", Rounded(report.total_seconds)}};
  out["notes"] = report.notes;
  out["written"] = report.files;
  return out.dump(1) + "\n";
}

}  // namespace neap::tools
