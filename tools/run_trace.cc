// SPDX-License-Identifier: Apache-2.0
#include "tools/run_trace.h"

#include <nlohmann/json.hpp>

namespace neap::tools {
namespace {

using Json = nlohmann::ordered_json;

Json RangesJson(const std::vector<execute::ArenaRange>& ranges) {
  Json out = Json::array();
  for (const execute::ArenaRange& range : ranges) {
    Json item;
    item["tensor"] = range.tensor.valid() ? Json(range.tensor.value()) : Json(nullptr);
    item["offset"] = range.offset;
    item["bytes"] = range.bytes;
    out.push_back(std::move(item));
  }
  return out;
}

}  // namespace

std::string TraceLine(const graph::Subgraph& subgraph, const execute::StepEvent& event) {
  Json out;
  out["slot"] = event.slot;
  out["operator"] = event.op.value();
  out["type"] = subgraph.ops[event.op].type;
  out["reads"] = RangesJson(event.reads);
  out["writes"] = RangesJson(event.writes);
  out["freed"] = RangesJson(event.freed);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace neap::tools
