// SPDX-License-Identifier: Apache-2.0
#include "tools/pareto_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/plan/profile.h"
#include "neap/show/picture/chart.h"
#include "neap/transform/cascade/copies.h"
#include "tools/common.h"

namespace neap::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCutShort = "\n  a limit ended the search: there may be better plans\n";

constexpr Criterion kCriteria[] = {
    {"arena", "arena_bytes", "arena", &cascade::Criteria::arena},
    {"total", "total_arena_bytes", "total arena", &cascade::Criteria::total_arena},
    {"cycles", "cycles", "cycles", &cascade::Criteria::cycles},
    {"macs", "macs", "MACs", &cascade::Criteria::macs},
};

// Emitted C of a target is compared by instructions.
constexpr const char* kInstructions = "instructions";

Json CriteriaJson(const cascade::Criteria& criteria, const std::string& target) {
  Json out = Json::array();
  for (const Criterion& criterion : kCriteria) {
    const bool instructions = !target.empty() && criterion.used == &cascade::Criteria::cycles;
    if (criteria.*criterion.used) out.push_back(instructions ? kInstructions : criterion.field);
  }
  return out;
}

std::string CriteriaText(const cascade::Criteria& criteria, const std::string& target) {
  std::vector<std::string> names;
  for (const Criterion& criterion : kCriteria) {
    const bool instructions = !target.empty() && criterion.used == &cascade::Criteria::cycles;
    if (criteria.*criterion.used) names.emplace_back(instructions ? kInstructions : criterion.text);
  }
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return out;
}

double Ratio(std::int64_t macs, std::int64_t of) {
  return of == 0 ? 1.0 : static_cast<double>(macs) / static_cast<double>(of);
}

std::string TextOf(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Weights that pay beside the activations of a point, region by region: one is over before the next
// begins, so that each has all that the arena leaves free.
Result<std::vector<cascade::WeightCopy>> CopiesOf(const graph::Graph& graph,
                                                  const cascade::Proposal& point,
                                                  const cascade::Device& device) {
  std::vector<cascade::WeightCopy> all;
  if (!point.unknown_scratch.empty()) return all;  // the free bytes beside the arena are not known
  const std::int64_t free_bytes = cascade::FreeBytes(device, point.arena_bytes);
  if (free_bytes == 0 || point.regions.empty()) return all;
  NEAP_TRY(const graph::Graph realised, cascade::GraphOf(graph, point));
  const graph::SubgraphId main(0);
  for (const cascade::RegionPlan& region : point.regions) {
    const auto pay =
        cascade::CopiesThatPay(graph.subgraphs[main], region, realised.subgraphs[main], device);
    for (cascade::WeightCopy& copy : cascade::BestCopies(pay, free_bytes)) {
      all.push_back(std::move(copy));
    }
  }
  return all;
}

Json CopiesJson(const std::vector<cascade::WeightCopy>& copies) {
  Json out = Json::array();
  for (const cascade::WeightCopy& copy : copies) {
    Json one;
    one["operator"] = copy.op.value();
    one["tensors"] = Json::array();
    for (const graph::TensorId id : copy.tensors) one["tensors"].push_back(id.value());
    one["bytes"] = copy.bytes;
    one["reads"] = copy.reads;
    one["saved_cycles"] = copy.saved_cycles;
    out.push_back(std::move(one));
  }
  return out;
}

Json RegionsJson(const std::vector<cascade::RegionPlan>& regions) {
  Json out = Json::array();
  for (const cascade::RegionPlan& region : regions) {
    Json one;
    one["operators"] = Json::array();
    for (const graph::OpId id : region.ops) one["operators"].push_back(id.value());
    one["splits"] = Json::array();
    for (const cascade::Split& split : region.splits) {
      one["splits"].push_back({{"axis", split.axis}, {"cuts", split.cuts}});
    }
    out.push_back(std::move(one));
  }
  return out;
}

Json StreamPointJson(const stream::StreamPoint& point) {
  const plan::Stream& stream = *point.plan.entries[0].stream;
  Json out;
  out["kind"] = deliver::NameOf(deliver::Kind::kStreamed);
  out["runtime"] = "neap";
  out["overlap"] = nullptr;
  out["requires"] = nullptr;
  out["arena_bytes"] = point.arena_bytes;
  out["total_arena_bytes"] = nullptr;
  out["delivered_arena_bytes"] = nullptr;
  out["unknown_scratch"] = nullptr;  // Neap's executor has none
  out["macs"] = point.macs;
  out["macs_ratio"] = Ratio(point.macs, stream.layerwise_macs);
  out["cycles"] = point.cycles;
  out["tiles"] = 0;
  out["regions"] = Json::array();
  out["segments"] = stream.segments.size();
  out["cycles_ratio"] = Ratio(point.cycles, stream.layerwise_cycles);
  out["lower_bound_bytes"] = stream.lower_bound_bytes;
  out["copies"] = Json::array();  // the model of a stream counts no memories beside each other
  return out;
}

Json PointJson(const deliver::FrontPoint& point, std::int64_t model_macs) {
  if (point.stream) {
    Json out = StreamPointJson(*point.stream);
    out["requires"] = point.requires_text;
    out["cycles"] = point.cycles;
    return out;
  }
  const cascade::Proposal& tiles = point.tiles;
  Json out;
  out["kind"] = deliver::NameOf(point.kind);
  out["runtime"] = plan::ProfileOf(point.runtime).name;
  out["overlap"] =
      point.kernels == ops::KernelLibrary::kNone ? Json(nullptr) : Json(ops::NameOf(point.kernels));
  out["requires"] = point.requires_text.empty() ? Json(nullptr) : Json(point.requires_text);
  out["arena_bytes"] = point.arena_bytes;
  out["total_arena_bytes"] =
      point.total_arena_bytes < 0 ? Json(nullptr) : Json(point.total_arena_bytes);
  out["delivered_arena_bytes"] =
      tiles.delivered_arena_bytes < 0 ? Json(nullptr) : Json(tiles.delivered_arena_bytes);
  out["unknown_scratch"] =
      tiles.unknown_scratch.empty() ? Json(nullptr) : Json(tiles.unknown_scratch);
  out["macs"] = point.macs;
  out["macs_ratio"] = Ratio(point.macs, model_macs);
  out["cycles"] = point.cycles;
  out["tiles"] = tiles.tiles;
  out["regions"] = RegionsJson(tiles.regions);
  return out;
}

Json AboutJson(const ParetoAbout& about) {
  Json out;
  out["schema_version"] = report::kReportVersion;
  out["model"] = about.source->path;
  out["model_sha256"] = about.source->sha256;
  return out;
}

void AddEnd(const ParetoAbout& about, bool cut_short, Json* out) {
  (*out)["interrupted"] = about.interrupted;
  (*out)["cut_short"] = cut_short;
  (*out)["seconds"] = about.seconds;
}

std::string ArenaText(const deliver::FrontPoint& point) {
  return FormatCount(point.arena_bytes) + (point.tiles.unknown_scratch.empty() ? "" : "?");
}

// Of the first point that has scratch that is not modelled.
std::string UnknownText(const deliver::Front& front) {
  for (const deliver::FrontPoint& point : front.points) {
    const std::string& unknown = point.tiles.unknown_scratch;
    if (!unknown.empty()) return report::Printable(unknown, 400);
  }
  return "";
}

// ": #0 in 2, #2 to #4 in 3 tiles along axis 1": runs of operators, by the axes along which they
// are cut.
std::string RegionsLine(const cascade::Proposal& proposal) {
  const auto axes_of = [](const cascade::RegionPlan& region) {
    std::string axes;
    for (const cascade::Split& split : region.splits) {
      axes += fmt::format("{}{}", axes.empty() ? "" : " and ", split.axis);
    }
    return axes;
  };
  std::string out;
  for (std::size_t i = 0; i < proposal.regions.size(); ++i) {
    const cascade::RegionPlan& region = proposal.regions[i];
    out += fmt::format("{}#{}", i == 0 ? ": " : ", ", region.ops.front().value());
    if (region.ops.size() > 1) out += fmt::format(" to #{}", region.ops.back().value());
    out += " in ";
    for (std::size_t k = 0; k < region.splits.size(); ++k) {
      out += fmt::format("{}{}", k == 0 ? "" : " x ", region.splits[k].cuts.size() + 1);
    }
    const std::string axes = axes_of(region);
    if (i + 1 < proposal.regions.size() && axes_of(proposal.regions[i + 1]) == axes) continue;
    out += fmt::format(" tiles along {} {}", region.splits.size() == 1 ? "axis" : "axes", axes);
  }
  return out;
}

// What a plan is: "rewritten, overlap (a)", "tiles: #0 to #7 in 4 tiles along axis 1".
std::string PlanText(const deliver::FrontPoint& point, std::string_view mark) {
  std::string name(deliver::NameOf(point.kind));
  if (point.stream) {
    const std::size_t segments = point.stream->plan.entries[0].stream->segments.size();
    name += fmt::format(" in {} {}", segments, segments == 1 ? "segment" : "segments");
  } else if (!point.requires_text.empty()) {
    name += ", overlap";
  }
  return name + std::string(mark) + RegionsLine(point.tiles);
}

// A point on the page.
struct PageRow {
  std::string_view kind;
  std::string plan;
  std::string_view needs;  // of the user; "": nothing
  std::int64_t arena_bytes = 0;
  std::int64_t total_bytes = -1;
  std::int64_t cycles = 0;
  double macs_ratio = 1;
};

// `counted`: what `cycles` are, cycles or instructions.
std::string PageTable(const std::vector<PageRow>& rows, const std::string& counted) {
  std::string out = "<table>\n<tr><th>arena B</th><th>total B</th><th>MACs</th><th>" + counted +
                    "</th><th>plan</th><th>requires</th></tr>\n";
  for (const PageRow& row : rows) {
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{:.3f}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        FormatCount(row.arena_bytes), row.total_bytes < 0 ? "-" : FormatCount(row.total_bytes),
        row.macs_ratio, FormatCount(row.cycles), picture::Escape(row.plan),
        picture::Escape(std::string(row.needs)));
  }
  return out + "</table>\n";
}

// One curve for each kind of plans, in the order of the points.
std::string FrontPageOf(const formats::SourceModel& source, const std::vector<PageRow>& rows,
                        const std::string& counted, const std::string& json) {
  picture::Lines lines;
  lines.label = (counted == kInstructions ? "Instructions" : "Cycles") +
                std::string(" of each plan over its arena, by kind");
  lines.x_title = "arena, KiB";
  lines.y_title = counted + ", millions";
  for (const PageRow& row : rows) {
    const std::string kind = std::string(row.kind) + (row.needs.empty() ? "" : ", with a consent");
    auto at = std::find_if(lines.curves.begin(), lines.curves.end(),
                           [&](const picture::Curve& curve) { return curve.name == kind; });
    if (at == lines.curves.end()) at = lines.curves.insert(at, {kind, {}, {}});
    at->x.push_back(static_cast<double>(row.arena_bytes) / 1024);
    at->y.push_back(static_cast<double>(row.cycles) / 1e6);
  }
  for (picture::Curve& curve : lines.curves) {
    std::reverse(curve.x.begin(), curve.x.end());  // from the smallest arena
    std::reverse(curve.y.begin(), curve.y.end());
  }
  const std::string title =
      fmt::format("{} {} of {}", rows.size(), rows.size() == 1 ? "plan" : "plans", source.path);
  const std::string body =
      fmt::format(
          "<h1>{}</h1>\n<p>No plan here is beaten by another one. A plan is compared with those "
          "that require no more.</p>\n",
          picture::Escape(title)) +
      picture::LineChart(lines) + PageTable(rows, counted);
  return picture::ReportPage(title, body, json);
}

constexpr const char* kMarks[] = {" (a)", " (b)", " (c)"};

}  // namespace

std::span<const Criterion> ParetoCriteria() { return kCriteria; }

std::string FrontText(const formats::SourceModel& source, const deliver::Front& front) {
  std::vector<std::string_view> required;  // by the points, in their order
  for (const deliver::FrontPoint& point : front.points) {
    const std::string_view text = point.requires_text;
    if (text.empty() || std::find(required.begin(), required.end(), text) != required.end()) {
      continue;
    }
    required.push_back(text);
  }
  std::string out =
      fmt::format("{} {} of {}: none is beaten by another in {}\n\n", front.points.size(),
                  front.points.size() == 1 ? "plan" : "plans", report::Printable(source.path, 4096),
                  CriteriaText(front.criteria, ""));
  out = report::Wrapped(out, 100);
  out += fmt::format("  {:>11}  {:>11}  {:>6}  {:>14}  {:>5}  plan\n", "arena B", "total B", "MACs",
                     "cycles", "tiles");
  for (const deliver::FrontPoint& point : front.points) {
    const auto found = std::find(required.begin(), required.end(), point.requires_text);
    const auto index = static_cast<std::size_t>(found - required.begin());
    const std::string plan = PlanText(point, found == required.end() ? "" : kMarks[index]);
    const std::string head =
        fmt::format("  {:>11}  {:>11}  {:>6.3f}  {:>14}  {:>5}  ", ArenaText(point),
                    point.total_arena_bytes < 0 ? "-" : FormatCount(point.total_arena_bytes),
                    Ratio(point.macs, front.macs), FormatCount(point.cycles), point.tiles.tiles);
    out += Hanging(head, plan);
  }
  for (std::size_t i = 0; i < required.size(); ++i) {
    out += fmt::format("{} {} requires {}\n", i == 0 ? "\n " : " ", kMarks[i] + 1, required[i]);
  }
  if (!required.empty()) out += "  A plan is compared with those that require no more.\n";
  if (const std::string unknown = UnknownText(front); !unknown.empty()) {
    out += "\n  ?: the arena of the plan; TFLM's own allocation is unknown: " + unknown + "\n";
  }
  if (front.cut_short) out += kCutShort;
  if (!front.note.empty()) out += "\n  " + front.note + "\n";
  return out;
}

std::string FrontPage(const formats::SourceModel& source, const deliver::Front& front,
                      const std::string& json) {
  std::vector<PageRow> rows;
  rows.reserve(front.points.size());
  for (const deliver::FrontPoint& point : front.points) {
    rows.push_back({deliver::NameOf(point.kind), PlanText(point, ""), point.requires_text,
                    point.arena_bytes, point.total_arena_bytes, point.cycles,
                    Ratio(point.macs, front.macs)});
  }
  return FrontPageOf(source, rows, "cycles", json);
}

std::string StreamFrontPage(const formats::SourceModel& source, const stream::StreamFront& front,
                            const std::string& target, const std::string& json) {
  std::vector<PageRow> rows;
  rows.reserve(front.points.size());
  for (const stream::StreamPoint& point : front.points) {
    const plan::Stream& stream = *point.plan.entries[0].stream;
    rows.push_back({deliver::NameOf(deliver::Kind::kStreamed),
                    fmt::format("streamed in {} {}", stream.segments.size(),
                                stream.segments.size() == 1 ? "segment" : "segments"),
                    "", point.arena_bytes, -1, point.cycles,
                    Ratio(point.macs, stream.layerwise_macs)});
  }
  return FrontPageOf(source, rows, target.empty() ? "cycles" : kInstructions, json);
}

Result<std::string> FrontJson(const ParetoAbout& about, const deliver::Front& front,
                              const cascade::SearchOptions& search) {
  Json out = AboutJson(about);
  out["runtime"] = plan::ProfileOf(search.compile.runtime).name;
  out["device"] = search.device.name;
  out["interface"] = Json::parse(report::InterfaceJson(*about.changes));
  out["criteria"] = CriteriaJson(front.criteria, "");
  out["grids"] = {{"max_region_operators", search.grids.max_operators},
                  {"max_region_tiles", search.grids.max_tiles},
                  {"max_tile_aspect", search.grids.max_aspect},
                  {"tile_grids", search.grids.all ? "all" : "auto"}};
  out["macs"] = front.macs;
  out["points"] = Json::array();
  for (const deliver::FrontPoint& point : front.points) {
    Json one = PointJson(point, front.macs);
    if (!point.stream) {
      const formats::SourceModel& planned =
          deliver::IsRewritten(point.kind) ? *front.rewritten : *about.source;
      NEAP_TRY(const auto copies, CopiesOf(planned.graph, point.tiles, search.device));
      one["copies"] = CopiesJson(copies);
    }
    out["points"].push_back(std::move(one));
  }
  AddEnd(about, front.cut_short, &out);
  return TextOf(out);
}

std::string StreamFrontText(const formats::SourceModel& source, const stream::StreamFront& front,
                            const std::string& input, const std::string& target,
                            const cascade::Criteria& criteria) {
  std::string out =
      fmt::format("{} streamed {} of {}, input {}: none is beaten by another in {}\n\n",
                  front.points.size(), front.points.size() == 1 ? "plan" : "plans",
                  report::Printable(source.path, 4096), input, CriteriaText(criteria, target));
  out = report::Wrapped(out, 100);
  out += fmt::format("  {:>12}  {:>8}  {:>8}  {:>8}  {}{}\n", "arena B", "MACs",
                     target.empty() ? "cycles" : "ratio", "segments", "bound at 1.0",
                     target.empty() ? "" : "  instructions");
  for (const stream::StreamPoint& point : front.points) {
    const plan::Stream& stream = *point.plan.entries[0].stream;
    const std::string instructions =
        target.empty() ? "" : fmt::format("  {:>12}", FormatCount(point.cycles));
    out += fmt::format("  {:>12}  {:>8.4f}  {:>8.4f}  {:>8}  {:>12}{}\n",
                       FormatCount(point.arena_bytes), Ratio(point.macs, stream.layerwise_macs),
                       Ratio(point.cycles, stream.layerwise_cycles), stream.segments.size(),
                       FormatCount(stream.lower_bound_bytes), instructions);
  }
  if (!target.empty()) {
    out += fmt::format(
        "\nInstructions of emitted C on a {}, modelled; ratio: to those layer by layer.\n", target);
  }
  if (front.cut_short) out += kCutShort;
  return out;
}

std::string StreamFrontJson(const ParetoAbout& about, const stream::StreamFront& front,
                            const std::string& input, const std::string& target,
                            const cascade::Criteria& criteria) {
  Json out = AboutJson(about);
  out["runtime"] = "neap";
  out["device"] =
      target.empty() ? "cortex-m7, modelled" : target + ", instructions of emitted C, modelled";
  out["input"] = input;
  out["interface"] = Json::parse(report::InterfaceJson(*about.changes));
  out["criteria"] = CriteriaJson(criteria, target);
  out["macs"] = front.points[0].plan.entries[0].stream->layerwise_macs;
  out["points"] = Json::array();
  for (const stream::StreamPoint& point : front.points) {
    Json one = StreamPointJson(point);
    if (!target.empty()) {
      one["instructions"] = one["cycles"];
      one["instructions_ratio"] = one["cycles_ratio"];
      one["cycles"] = nullptr;
      one.erase("cycles_ratio");
    }
    out["points"].push_back(std::move(one));
  }
  AddEnd(about, front.cut_short, &out);
  return TextOf(out);
}

}  // namespace neap::tools
