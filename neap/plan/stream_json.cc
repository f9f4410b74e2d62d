// SPDX-License-Identifier: Apache-2.0
#include "neap/plan/stream_json.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace neap::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<StreamInput, 4> kInputs = {StreamInput::kResident, StreamInput::kExternal,
                                                StreamInput::kRows, StreamInput::kSlow};

// ---- writing

Json RangesJson(const std::vector<StreamRange>& ranges) {
  Json list = Json::array();
  for (const StreamRange& range : ranges) list.push_back(Json::array({range.first, range.last}));
  return list;
}

Json ToJson(const StreamMove& move) {
  return {{"tensor", move.tensor.value()}, {"from", move.from}, {"to", move.to}};
}

Json ToJson(const StreamArea& area) {
  Json rings = Json::array();
  for (const StreamRing& ring : area.rings) {
    rings.push_back({{"offset", ring.offset}, {"pixels", ring.pixels}});
  }
  Json line = {{"tensor", area.tensor.value()}, {"rings", rings}};
  if (area.columns != 1) line["columns"] = area.columns;
  return line;
}

Json ToJson(const StreamOp& op) {
  Json line;
  if (op.op.valid()) {
    line["op"] = op.op.value();
  } else {
    line["fed"] = op.fed.value();
    if (op.ahead) line["ahead"] = true;
  }
  if (op.output) line["output"] = *op.output;
  if (op.sums) line["sums"] = true;
  line["rows"] = RangesJson(op.rows);
  line["columns"] = RangesJson(op.columns);
  return line;
}

Json ToJson(const StreamWeights& weights) {
  Json line = {{"op", weights.op.value()}, {"offset", weights.offset}};
  if (weights.block > 0) {
    line["axis"] = weights.axis;
    line["block"] = weights.block;
  }
  if (weights.second) line["second"] = *weights.second;
  if (weights.kept > 0) {
    line["kept"] = weights.kept;
    line["kept_offset"] = weights.kept_offset;
  }
  if (weights.after.valid()) line["after"] = weights.after.value();
  return line;
}

Json ToJson(const StreamState& state) {
  return {{"op", state.op.value()}, {"offset", state.offset}};
}

Json ToJson(const SlowMoment& moment) {
  Json paths = Json::array();
  for (const SlowPath& path : moment.paths) {
    paths.push_back({{"from", path.from.value()},
                     {"to", path.to.value()},
                     {"bytes", path.bytes},
                     {"last", path.last}});
  }
  return {{"tensor", moment.tensor.value()},
          {"row", moment.row},
          {"column", moment.column},
          {"rows", Json::array({moment.rows.first, moment.rows.last})},
          {"columns", Json::array({moment.columns.first, moment.columns.last})},
          {"paths", paths}};
}

Json ToJson(const SlowMemory& slow) {
  Json tensors = Json::array();
  for (const SlowPlace& place : slow.tensors) {
    tensors.push_back({{"tensor", place.tensor.value()}, {"offset", place.offset}});
  }
  Json json = {{"fast_bytes", slow.fast_bytes},
               {"bytes", slow.bytes},
               {"read_bytes", slow.read_bytes},
               {"written_bytes", slow.written_bytes}};
  if (slow.ahead_bytes > 0) json["ahead_bytes"] = slow.ahead_bytes;
  if (slow.weight_bytes) json["weight_bytes"] = *slow.weight_bytes;
  json["traffic_lower_bound_bytes"] = slow.traffic_lower_bound_bytes;
  if (!slow.moments.empty()) {
    Json moments = Json::array();
    for (const SlowMoment& moment : slow.moments) moments.push_back(ToJson(moment));
    json["moments"] = std::move(moments);
  }
  json["tensors"] = std::move(tensors);
  return json;
}

template <typename T>
void AppendLines(std::string& out, const char* key, const std::vector<T>& items, bool last) {
  out += std::string("            \"") + key + "\": [";
  for (std::size_t i = 0; i < items.size(); ++i) {
    out += (i == 0 ? "\n              " : ",\n              ") + ToJson(items[i]).dump();
  }
  out += items.empty() ? "]" : "\n            ]";
  out += last ? "\n" : ",\n";
}

// ---- reading

tl::unexpected<Diagnostic> Refuse(const std::string& what, const std::string& expected) {
  return Fail(BadInput("in the plan, stream: " + what + ", expected " + expected));
}

Status ExpectMembers(const Json& json, const char* what, std::initializer_list<const char*> keys,
                     std::initializer_list<const char*> optional = {}) {
  if (!json.is_object()) return Refuse(std::string(what) + " is not an object", "one");
  for (const char* key : keys) {
    if (!json.contains(key)) {
      return Refuse(std::string(what) + " has no member '" + key + "'", "it");
    }
  }
  std::size_t known = keys.size();
  for (const char* key : optional) known += json.contains(key) ? 1 : 0;
  if (json.size() != known) {
    return Refuse(std::string(what) + " has unknown members", std::to_string(known) + " members");
  }
  return {};
}

Result<std::int64_t> ReadCount(const Json& json, const char* what,
                               std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  const bool fits =
      json.is_number_unsigned() && json.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!fits) {
    return Refuse(std::string(what) + " is wrong", "an integer from 0 to " + std::to_string(most));
  }
  return json.get<std::int64_t>();
}

template <typename IdType>
Result<IdType> ReadId(const Json& json, const char* what) {
  NEAP_TRY(const std::int64_t value,
           ReadCount(json, what, std::numeric_limits<std::int32_t>::max()));
  return IdType(static_cast<std::int32_t>(value));
}

template <typename T, typename Read>
Result<std::vector<T>> ReadAll(const Json& json, const char* what, Read read) {
  if (!json.is_array()) return Refuse(std::string(what) + " is not an array", "one");
  std::vector<T> items;
  items.reserve(json.size());
  for (const Json& item : json) {
    NEAP_TRY(T value, read(item));
    items.push_back(std::move(value));
  }
  return items;
}

Result<StreamRange> ReadRange(const Json& json) {
  if (!json.is_array() || json.size() != 2) {
    return Refuse("a range is not a pair", "[first, last]");
  }
  StreamRange range;
  NEAP_TRY(range.first, ReadCount(json[0], "a range"));
  NEAP_TRY(range.last, ReadCount(json[1], "a range"));
  return range;
}

Result<StreamRing> ReadRing(const Json& json) {
  NEAP_CHECK_OK(ExpectMembers(json, "a ring", {"offset", "pixels"}));
  StreamRing ring;
  NEAP_TRY(ring.offset, ReadCount(json["offset"], "offset"));
  NEAP_TRY(ring.pixels, ReadCount(json["pixels"], "pixels"));
  return ring;
}

Result<StreamArea> ReadArea(const Json& json) {
  NEAP_CHECK_OK(ExpectMembers(json, "an area", {"tensor", "rings"}, {"columns"}));
  StreamArea area;
  if (json.contains("columns")) {
    NEAP_TRY(area.columns, ReadCount(json["columns"], "columns"));
  }
  NEAP_TRY(area.tensor, ReadId<graph::TensorId>(json["tensor"], "tensor"));
  NEAP_TRY(area.rings, ReadAll<StreamRing>(json["rings"], "rings", ReadRing));
  return area;
}

Result<StreamMove> ReadMove(const Json& json) {
  NEAP_CHECK_OK(ExpectMembers(json, "a move", {"tensor", "from", "to"}));
  StreamMove move;
  NEAP_TRY(move.tensor, ReadId<graph::TensorId>(json["tensor"], "tensor"));
  NEAP_TRY(move.from, ReadCount(json["from"], "from"));
  NEAP_TRY(move.to, ReadCount(json["to"], "to"));
  return move;
}

Result<SlowPlace> ReadSlowPlace(const Json& json) {
  NEAP_CHECK_OK(ExpectMembers(json, "a tensor in slow memory", {"tensor", "offset"}));
  SlowPlace place;
  NEAP_TRY(place.tensor, ReadId<graph::TensorId>(json["tensor"], "tensor"));
  NEAP_TRY(place.offset, ReadCount(json["offset"], "offset", kMaxStreamBytes));
  return place;
}

Result<SlowPath> ReadSlowPath(const Json& json) {
  NEAP_CHECK_OK(ExpectMembers(json, "a path", {"from", "to", "bytes", "last"}));
  SlowPath path;
  NEAP_TRY(path.from, ReadId<graph::TensorId>(json["from"], "from"));
  NEAP_TRY(path.to, ReadId<graph::TensorId>(json["to"], "to"));
  NEAP_TRY(path.bytes, ReadCount(json["bytes"], "bytes", kMaxStreamBytes));
  if (!json["last"].is_boolean()) return Refuse("last is wrong", "true or false");
  path.last = json["last"].get<bool>();
  return path;
}

Result<SlowMoment> ReadSlowMoment(const Json& json) {
  NEAP_CHECK_OK(
      ExpectMembers(json, "a moment", {"tensor", "row", "column", "rows", "columns", "paths"}));
  SlowMoment moment;
  NEAP_TRY(moment.tensor, ReadId<graph::TensorId>(json["tensor"], "tensor"));
  NEAP_TRY(moment.row, ReadCount(json["row"], "row", kMaxStreamBytes));
  NEAP_TRY(moment.column, ReadCount(json["column"], "column", kMaxStreamBytes));
  NEAP_TRY(moment.rows, ReadRange(json["rows"]));
  NEAP_TRY(moment.columns, ReadRange(json["columns"]));
  NEAP_TRY(moment.paths, ReadAll<SlowPath>(json["paths"], "paths", ReadSlowPath));
  return moment;
}

Result<SlowMemory> ReadSlow(const Json& json) {
  SlowMemory slow;
  NEAP_CHECK_OK(ExpectMembers(json, "slow",
                              {"fast_bytes", "bytes", "read_bytes", "written_bytes",
                               "traffic_lower_bound_bytes", "tensors"},
                              {"ahead_bytes", "weight_bytes", "moments"}));
  if (json.contains("moments")) {
    NEAP_TRY(slow.moments, ReadAll<SlowMoment>(json["moments"], "moments", ReadSlowMoment));
  }
  if (json.contains("ahead_bytes")) {
    NEAP_TRY(slow.ahead_bytes, ReadCount(json["ahead_bytes"], "ahead_bytes"));
  }
  if (json.contains("weight_bytes")) {
    NEAP_TRY(slow.weight_bytes, ReadCount(json["weight_bytes"], "weight_bytes"));
  }
  NEAP_TRY(slow.fast_bytes, ReadCount(json["fast_bytes"], "fast_bytes"));
  NEAP_TRY(slow.bytes, ReadCount(json["bytes"], "bytes", kMaxStreamBytes));
  NEAP_TRY(slow.read_bytes, ReadCount(json["read_bytes"], "read_bytes"));
  NEAP_TRY(slow.written_bytes, ReadCount(json["written_bytes"], "written_bytes"));
  NEAP_TRY(slow.traffic_lower_bound_bytes,
           ReadCount(json["traffic_lower_bound_bytes"], "traffic_lower_bound_bytes"));
  NEAP_TRY(slow.tensors, ReadAll<SlowPlace>(json["tensors"], "tensors", ReadSlowPlace));
  return slow;
}

Result<StreamOp> ReadOp(const Json& json) {
  const bool fed = json.is_object() && json.contains("fed");
  const bool sums = !fed && json.is_object() && json.contains("sums");
  const bool output = !fed && json.is_object() && json.contains("output");
  StreamOp op;
  if (fed) {
    NEAP_CHECK_OK(ExpectMembers(json, "a fed tensor", {"fed", "rows", "columns"}, {"ahead"}));
  } else {
    NEAP_CHECK_OK(
        ExpectMembers(json, "an operator", {"op", "rows", "columns"}, {"output", "sums"}));
  }
  if (sums) {
    if (!json["sums"].is_boolean()) return Refuse("sums is wrong", "true or false");
    op.sums = json["sums"].get<bool>();
  }
  if (output) {
    NEAP_TRY(const std::int64_t number,
             ReadCount(json["output"], "output", std::numeric_limits<std::int32_t>::max()));
    op.output = static_cast<std::int32_t>(number);
  }
  if (fed) {
    NEAP_TRY(op.fed, ReadId<graph::TensorId>(json["fed"], "fed"));
    op.ahead = json.contains("ahead");
    if (op.ahead && json["ahead"] != true) return Refuse("ahead is wrong", "true");
  } else {
    NEAP_TRY(op.op, ReadId<graph::OpId>(json["op"], "op"));
  }
  NEAP_TRY(op.rows, ReadAll<StreamRange>(json["rows"], "rows", ReadRange));
  NEAP_TRY(op.columns, ReadAll<StreamRange>(json["columns"], "columns", ReadRange));
  return op;
}

Result<StreamWeights> ReadWeights(const Json& json) {
  NEAP_CHECK_OK(ExpectMembers(json, "weights", {"op", "offset"},
                              {"axis", "block", "second", "after", "kept", "kept_offset"}));
  StreamWeights weights;
  NEAP_TRY(weights.op, ReadId<graph::OpId>(json["op"], "op"));
  NEAP_TRY(weights.offset, ReadCount(json["offset"], "offset", kMaxStreamBytes));
  if (json.contains("after")) {
    NEAP_TRY(weights.after, ReadId<graph::OpId>(json["after"], "after"));
  }
  if (json.contains("axis") != json.contains("block")) {
    return Refuse("weights have axis or block", "both or none");
  }
  if (!json.contains("block")) {
    if (json.contains("second")) return Refuse("weights that stay have a second buffer", "none");
    if (json.contains("kept")) return Refuse("weights that stay are kept", "in blocks");
    return weights;
  }
  if (json.contains("kept") != json.contains("kept_offset")) {
    return Refuse("weights have kept or kept_offset", "both or none");
  }
  if (json.contains("kept")) {
    NEAP_TRY(weights.kept, ReadCount(json["kept"], "kept", kMaxStreamBytes));
    NEAP_TRY(weights.kept_offset, ReadCount(json["kept_offset"], "kept_offset", kMaxStreamBytes));
    if (weights.kept == 0) return Refuse("kept is 0", "a number of indices");
  }
  if (json.contains("second")) {
    NEAP_TRY(weights.second, ReadCount(json["second"], "second", kMaxStreamBytes));
  }
  NEAP_TRY(weights.axis, ReadCount(json["axis"], "axis", kMaxStreamBytes));
  NEAP_TRY(weights.block, ReadCount(json["block"], "block", kMaxStreamBytes));
  if (weights.block == 0) return Refuse("block is 0", "a number of indices");
  return weights;
}

Result<StreamState> ReadState(const Json& json) {
  NEAP_CHECK_OK(ExpectMembers(json, "a state", {"op", "offset"}));
  StreamState state;
  NEAP_TRY(state.op, ReadId<graph::OpId>(json["op"], "op"));
  NEAP_TRY(state.offset, ReadCount(json["offset"], "offset", kMaxStreamBytes));
  return state;
}

Result<StreamSegment> ReadSegment(const Json& json) {
  StreamSegment segment;
  NEAP_CHECK_OK(ExpectMembers(json, "a segment", {"whole", "moves", "areas", "ops"},
                              {"channel_plane", "weights", "states"}));
  if (json.contains("channel_plane")) {
    NEAP_TRY(segment.channel_plane, ReadCount(json["channel_plane"], "channel_plane"));
  }
  if (json.contains("weights")) {
    NEAP_TRY(segment.weights, ReadAll<StreamWeights>(json["weights"], "weights", ReadWeights));
  }
  if (json.contains("states")) {
    NEAP_TRY(segment.states, ReadAll<StreamState>(json["states"], "states", ReadState));
  }
  if (!json["whole"].is_boolean()) return Refuse("whole is wrong", "true or false");
  segment.whole = json["whole"].get<bool>();
  NEAP_TRY(segment.moves, ReadAll<StreamMove>(json["moves"], "moves", ReadMove));
  NEAP_TRY(segment.areas, ReadAll<StreamArea>(json["areas"], "areas", ReadArea));
  NEAP_TRY(segment.ops, ReadAll<StreamOp>(json["ops"], "ops", ReadOp));
  return segment;
}

}  // namespace

std::string StreamText(const Stream& stream) {
  std::string out = "      \"stream\": {\n";
  const Json fields = {{"input", NameOf(stream.input)},
                       {"macs", stream.macs},
                       {"layerwise_macs", stream.layerwise_macs},
                       {"lower_bound_bytes", stream.lower_bound_bytes},
                       {"cycles", stream.cycles},
                       {"layerwise_cycles", stream.layerwise_cycles}};
  for (const auto& [key, value] : fields.items()) {
    out += "        \"" + key + "\": " + value.dump() + ",\n";
  }
  if (stream.slow) out += "        \"slow\": " + ToJson(*stream.slow).dump() + ",\n";
  out += "        \"segments\": [";
  for (std::size_t i = 0; i < stream.segments.size(); ++i) {
    const StreamSegment& segment = stream.segments[i];
    out += i == 0 ? "\n          {\n" : ",\n          {\n";
    out += std::string("            \"whole\": ") + (segment.whole ? "true" : "false") + ",\n";
    if (segment.channel_plane) {
      out += "            \"channel_plane\": " + std::to_string(*segment.channel_plane) + ",\n";
    }
    AppendLines(out, "moves", segment.moves, false);
    AppendLines(out, "areas", segment.areas, false);
    if (!segment.weights.empty()) AppendLines(out, "weights", segment.weights, false);
    if (!segment.states.empty()) AppendLines(out, "states", segment.states, false);
    AppendLines(out, "ops", segment.ops, true);
    out += "          }";
  }
  out += stream.segments.empty() ? "]\n" : "\n        ]\n";
  return out + "      }\n";
}

Result<Stream> ReadStream(const nlohmann::ordered_json& json) {
  Stream stream;
  if (json.is_object() && json.contains("slow")) {
    NEAP_CHECK_OK(ExpectMembers(json, "the whole",
                                {"input", "macs", "layerwise_macs", "lower_bound_bytes", "cycles",
                                 "layerwise_cycles", "slow", "segments"}));
    NEAP_TRY(stream.slow, ReadSlow(json["slow"]));
  } else {
    NEAP_CHECK_OK(ExpectMembers(json, "the whole",
                                {"input", "macs", "layerwise_macs", "lower_bound_bytes", "cycles",
                                 "layerwise_cycles", "segments"}));
  }
  const auto named = std::find_if(kInputs.begin(), kInputs.end(), [&](StreamInput input) {
    return json["input"].is_string() && json["input"].get<std::string>() == NameOf(input);
  });
  if (named == kInputs.end()) {
    return Refuse("input is wrong", "resident, external, rows or slow");
  }
  stream.input = *named;
  if (stream.slow.has_value() != (stream.input == StreamInput::kSlow)) {
    return Refuse("input and slow do not fit together", "slow with the input in slow memory alone");
  }
  NEAP_TRY(stream.macs, ReadCount(json["macs"], "macs"));
  NEAP_TRY(stream.layerwise_macs, ReadCount(json["layerwise_macs"], "layerwise_macs"));
  NEAP_TRY(stream.lower_bound_bytes, ReadCount(json["lower_bound_bytes"], "lower_bound_bytes"));
  NEAP_TRY(stream.cycles, ReadCount(json["cycles"], "cycles"));
  NEAP_TRY(stream.layerwise_cycles, ReadCount(json["layerwise_cycles"], "layerwise_cycles"));
  NEAP_TRY(stream.segments, ReadAll<StreamSegment>(json["segments"], "segments", ReadSegment));
  return stream;
}

}  // namespace neap::plan
