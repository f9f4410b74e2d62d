// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "neap/plan/plan_json.h"
#include "neap/plan/stream_json.h"

namespace neap::plan {
namespace {

using Json = nlohmann::ordered_json;

// One value on one line. File names need not be UTF-8: invalid bytes are replaced.
std::string Line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json IdOrNull(graph::OpId id) { return id.valid() ? Json(id.value()) : Json(nullptr); }

// "key": value, at an indentation, each pair on its own line.
void AppendFields(std::string& out, const std::string& indent, const Json& fields) {
  for (const auto& [key, value] : fields.items()) {
    out += indent + Line(key) + ": " + Line(value) + ",\n";
  }
}

// "key": [...], one item on a line, so that two plans can be compared line by line.
template <typename T, typename ToLine>
void AppendList(std::string& out, const std::string& key, const std::vector<T>& items, bool last,
                ToLine to_line) {
  out += "      \"" + key + "\": [";
  for (std::size_t i = 0; i < items.size(); ++i) {
    out += (i == 0 ? "\n        " : ",\n        ") + Line(to_line(items[i]));
  }
  out += items.empty() ? "]" : "\n      ]";
  out += last ? "\n" : ",\n";
}

Json ToJson(const Certificate& certificate) {
  Json flow = Json::array();
  for (const CertificatePath& path : certificate.flow) {
    Json tensors = Json::array();
    for (const graph::TensorId tensor : path.tensors) tensors.push_back(tensor.value());
    Json through = Json::array();
    for (const auto& ops : path.through) {
      Json list = Json::array();
      for (const graph::OpId op : ops) list.push_back(op.value());
      through.push_back(std::move(list));
    }
    flow.push_back({{"bytes", path.bytes}, {"tensors", tensors}, {"through", through}});
  }
  return {{"kind", NameOf(certificate.kind)},
          {"op", IdOrNull(certificate.op)},
          {"flow", flow},
          {"states", certificate.states},
          {"reversed", certificate.reversed}};
}

Json MemoriesJson(const std::vector<Memory>& memories) {
  Json list = Json::array();
  for (const Memory& memory : memories) {
    list.push_back({{"name", memory.name},
                    {"capacity_bytes", memory.capacity_bytes},
                    {"bytes_per_kilocycle", memory.bytes_per_kilocycle}});
  }
  return list;
}

Json IdsJson(const std::vector<graph::OpId>& ops) {
  Json list = Json::array();
  for (const graph::OpId op : ops) list.push_back(op.value());
  return list;
}

Json CascadeJson(const Plan& plan) {
  if (plan.tiled_regions.empty()) return nullptr;
  Json regions = Json::array();
  for (const TiledRegion& region : plan.tiled_regions) {
    Json splits = Json::array();
    for (const TiledRegion::Split& split : region.splits) {
      splits.push_back({{"axis", split.axis}, {"cuts", split.cuts}});
    }
    regions.push_back({{"operators", IdsJson(region.ops)}, {"splits", splits}});
  }
  Json cascade = {{"order", IdsJson(plan.tiled_order)}, {"regions", regions}};
  if (plan.tiles_share_bodies) cascade["bodies"] = "shared";
  return cascade;
}

Json RewritesJson(const std::vector<Rewrite>& rewrites) {
  Json list = Json::array();
  for (const Rewrite& rewrite : rewrites) {
    list.push_back({{"rule", rewrite.rule},
                    {"op", rewrite.op.value()},
                    {"parameters", rewrite.parameters},
                    {"exactness", NameOf(rewrite.exactness)},
                    {"bytes_saved", rewrite.bytes_saved}});
  }
  return list;
}

void AppendEntry(std::string& out, const EntryPlan& entry) {
  out += "    {\n";
  AppendFields(out, "      ",
               {{"subgraph", entry.subgraph.value()},
                {"signature", entry.signature},
                {"peak_bytes", entry.peak_bytes},
                {"peak_lower_bound_bytes", entry.peak_lower_bound_bytes},
                {"order_status", NameOf(entry.order_status)},
                {"certificate", ToJson(entry.certificate)},
                {"states", entry.states},
                {"arena_bytes", entry.arena_bytes},
                {"memory_bytes", entry.memory_bytes},
                {"arena_given_order_lower_bound_bytes", entry.arena_given_order_lower_bound_bytes},
                {"arena_lower_bound_bytes", entry.arena_lower_bound_bytes},
                {"arena_status", NameOf(entry.arena_status)}});
  if (entry.arena_certificate.kind != CertificateKind::kNone) {
    AppendFields(out, "      ", {{"arena_certificate", ToJson(entry.arena_certificate)}});
  }
  AppendList(out, "steps", entry.steps, false, [](const Step& step) {
    Json line = {{"subgraph", step.subgraph.value()}};
    if (step.moved.valid()) {
      line["move"] = step.moved.value();
    } else {
      line["op"] = IdOrNull(step.op);
    }
    return line;
  });
  AppendList(out, "tensors", entry.tensors, false, [](const TensorPlacement& placement) {
    return Json{{"subgraph", placement.subgraph.value()},
                {"tensor", placement.tensor.value()},
                {"offset", placement.offset},
                {"bytes", placement.bytes},
                {"first", placement.first},
                {"last", placement.last},
                {"memory", placement.memory}};
  });
  AppendList(out, "scratch", entry.scratch, false, [](const ScratchPlacement& placement) {
    return Json{{"slot", placement.slot},
                {"offset", placement.offset},
                {"bytes", placement.bytes},
                {"memory", placement.memory}};
  });
  AppendList(out, "overlaps", entry.overlaps, !entry.stream, [](const Overlap& overlap) {
    return Json{{"slot", overlap.slot},           {"subgraph", overlap.subgraph.value()},
                {"input", overlap.input.value()}, {"output", overlap.output.value()},
                {"kind", NameOf(overlap.kind)},   {"bytes", overlap.bytes}};
  });
  if (entry.stream) out += StreamText(*entry.stream);
  out += "    }";
}

}  // namespace

std::string ToJson(const Plan& plan) {
  std::string out = "{\n";
  AppendFields(out, "  ",
               {{"version", kPlanVersion},
                {"neap_version", plan.neap_version},
                {"model", plan.model},
                {"model_sha256", plan.model_sha256},
                {"written_sha256", plan.written_sha256},
                {"runtime", ProfileOf(plan.runtime).name},
                {"order_strategy", plan.order_strategy},
                {"kernels", ops::NameOf(plan.kernels)},
                {"memories", MemoriesJson(plan.memories)},
                {"cascade", CascadeJson(plan)},
                {"dims", plan.dims},
                {"rewrites", RewritesJson(plan.rewrites)},
                {"accumulator_bytes", plan.accumulator_bytes},
                {"rewritten_sha256", plan.rewritten_sha256}});
  if (plan.target != &target::DefaultTarget()) {
    AppendFields(out, "  ", {{"target", plan.target->name}});
  }
  if (!plan.caller_ops.empty()) AppendFields(out, "  ", {{"caller_ops", IdsJson(plan.caller_ops)}});
  if (!plan.repeated_order.empty()) {
    AppendFields(out, "  ", {{"repeated_order", IdsJson(plan.repeated_order)}});
  }
  out += "  \"entries\": [";
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    out += i == 0 ? "\n" : ",\n";
    AppendEntry(out, plan.entries[i]);
  }
  out += plan.entries.empty() ? "]\n}\n" : "\n  ]\n}\n";
  return out;
}

}  // namespace neap::plan
