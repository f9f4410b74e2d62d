// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "neap/transform/cascade/device.h"

namespace neap::cascade {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxNumber = 1'000'000'000'000'000;

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  Result<Device> Read(std::string_view text) {
    Json json = Json::parse(text.begin(), text.end(), nullptr, false);
    if (json.is_discarded() || !json.is_object()) {
      return Refuse("", "is not a JSON object");
    }
    Device device;
    NEAP_CHECK_OK(
        OnlyMembers(json, "",
                    {"schema_version", "name", "source", "clock_hertz", "memories", "per_kilocycle",
                     "launch_cycles", "overlaps_transfers", "weights_per_mille", "engine"}));
    NEAP_CHECK_OK(Text(json, "name", &device.name));
    NEAP_CHECK_OK(Text(json, "source", &device.source));
    NEAP_CHECK_OK(Number(json, "clock_hertz", &device.clock_hertz));
    NEAP_CHECK_OK(Number(json, "launch_cycles", &device.launch_cycles));
    NEAP_CHECK_OK(Flag(json, "overlaps_transfers", &device.overlaps_transfers));
    NEAP_CHECK_OK(Number(json, "weights_per_mille", &device.weights_per_mille));
    constexpr std::int64_t kUncompressed = 1000;
    if (device.weights_per_mille < 1 || device.weights_per_mille > kUncompressed) {
      return Refuse("weights_per_mille", "is not from 1 to 1000");
    }
    NEAP_CHECK_OK(Rates(json, &device));
    NEAP_CHECK_OK(Memories(json, &device));
    NEAP_CHECK_OK(Engine(json, &device));
    return device;
  }

 private:
  tl::unexpected<Diagnostic> Refuse(const std::string& member, const std::string& what) const {
    Diagnostic diagnostic =
        BadInput("device description: " + (member.empty() ? "" : "'" + member + "' ") + what);
    diagnostic.file = file_;
    diagnostic.hint = "docs/algorithms/tiles.md describes the file";
    return Fail(std::move(diagnostic));
  }

  Status OnlyMembers(const Json& json, const std::string& where,
                     const std::set<std::string>& known) const {
    for (const auto& [key, value] : json.items()) {
      if (!known.contains(key)) return Refuse(where + key, "is not a known member");
    }
    return {};
  }
  Status Text(const Json& json, const char* key, std::string* to) const {
    const auto found = json.find(key);
    if (found == json.end()) return {};
    if (!found->is_string()) return Refuse(key, "is not a string");
    *to = found->get<std::string>();
    return {};
  }
  Status Number(const Json& json, const char* key, std::int64_t* to) const {
    const auto found = json.find(key);
    if (found == json.end()) return {};
    if (!found->is_number_unsigned() ||
        found->get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxNumber)) {
      return Refuse(key, "is not an integer from 0 to " + std::to_string(kMaxNumber));
    }
    *to = found->get<std::int64_t>();
    return {};
  }
  Status Flag(const Json& json, const char* key, bool* to) const {
    const auto found = json.find(key);
    if (found == json.end()) return {};
    if (!found->is_boolean()) return Refuse(key, "is neither true nor false");
    *to = found->get<bool>();
    return {};
  }

  Status Rates(const Json& json, Device* device) const {
    const auto found = json.find("per_kilocycle");
    if (found == json.end() || !found->is_object()) return Refuse("per_kilocycle", "is missing");
    std::set<std::string> known;
    for (std::size_t i = 0; i < kOpClasses; ++i) {
      known.insert(std::string(NameOf(static_cast<OpClass>(i))));
    }
    NEAP_CHECK_OK(OnlyMembers(*found, "per_kilocycle.", known));
    for (std::size_t i = 0; i < kOpClasses; ++i) {
      const std::string name(NameOf(static_cast<OpClass>(i)));
      NEAP_CHECK_OK(Number(*found, name.c_str(), &device->per_kilocycle[i]));
    }
    return {};
  }

  Status Memories(const Json& json, Device* device) const {
    const auto found = json.find("memories");
    constexpr std::size_t kMaxMemories = 16;
    if (found == json.end() || !found->is_array() || found->empty() ||
        found->size() > kMaxMemories) {
      return Refuse("memories", "is not a list of 1 to 16 memories");
    }
    for (const Json& item : *found) {
      if (!item.is_object()) return Refuse("memories", "has an item that is not an object");
      NEAP_CHECK_OK(
          OnlyMembers(item, "memories.",
                      {"name", "source", "bytes", "read_per_kilocycle", "write_per_kilocycle",
                       "latency_cycles", "burst_bytes", "holds_weights", "holds_activations"}));
      DeviceMemory memory;
      NEAP_CHECK_OK(Text(item, "name", &memory.name));
      NEAP_CHECK_OK(Text(item, "source", &memory.source));
      NEAP_CHECK_OK(Number(item, "bytes", &memory.bytes));
      NEAP_CHECK_OK(Number(item, "read_per_kilocycle", &memory.read_per_kilocycle));
      NEAP_CHECK_OK(Number(item, "write_per_kilocycle", &memory.write_per_kilocycle));
      NEAP_CHECK_OK(Number(item, "latency_cycles", &memory.latency_cycles));
      NEAP_CHECK_OK(Number(item, "burst_bytes", &memory.burst_bytes));
      NEAP_CHECK_OK(Flag(item, "holds_weights", &memory.holds_weights));
      NEAP_CHECK_OK(Flag(item, "holds_activations", &memory.holds_activations));
      constexpr std::int64_t kMaxBurst = 1 << 20;
      if (memory.burst_bytes < 1 || memory.burst_bytes > kMaxBurst) {
        return Refuse("burst_bytes", "is not from 1 to 1048576");
      }
      device->memories.push_back(std::move(memory));
    }
    return {};
  }

  Status Engine(const Json& json, Device* device) const {
    const auto found = json.find("engine");
    if (found == json.end()) return {};
    if (!found->is_object()) return Refuse("engine", "is not an object");
    BlockEngine& engine = device->engine;
    NEAP_CHECK_OK(
        OnlyMembers(*found, "engine.",
                    {"macs_per_cycle", "block_height", "block_width", "block_depth", "step_cycles",
                     "weight_cycles", "output_millicycles", "output_millicycles_of", "buffer_bytes",
                     "input_granule_bytes", "sums_granule_bytes", "largest_height", "largest_width",
                     "largest_depth"}));
    NEAP_CHECK_OK(Number(*found, "macs_per_cycle", &engine.macs_per_cycle));
    NEAP_CHECK_OK(Number(*found, "block_height", &engine.block_height));
    NEAP_CHECK_OK(Number(*found, "block_width", &engine.block_width));
    NEAP_CHECK_OK(Number(*found, "block_depth", &engine.block_depth));
    NEAP_CHECK_OK(Number(*found, "step_cycles", &engine.step_cycles));
    NEAP_CHECK_OK(Number(*found, "output_millicycles", &engine.output_millicycles));
    NEAP_CHECK_OK(OutputRates(*found, &engine));
    NEAP_CHECK_OK(Number(*found, "weight_cycles", &engine.weight_cycles));
    NEAP_CHECK_OK(Number(*found, "buffer_bytes", &engine.buffer_bytes));
    NEAP_CHECK_OK(Number(*found, "input_granule_bytes", &engine.input_granule_bytes));
    NEAP_CHECK_OK(Number(*found, "sums_granule_bytes", &engine.sums_granule_bytes));
    NEAP_CHECK_OK(Number(*found, "largest_height", &engine.largest_height));
    NEAP_CHECK_OK(Number(*found, "largest_width", &engine.largest_width));
    NEAP_CHECK_OK(Number(*found, "largest_depth", &engine.largest_depth));
    constexpr std::int64_t kMaxSize = 1 << 16;
    for (const std::int64_t size :
         {engine.block_height, engine.block_width, engine.block_depth, engine.step_cycles,
          engine.input_granule_bytes, engine.sums_granule_bytes}) {
      if (size < 1 || size > kMaxSize) return Refuse("engine", "has a size that is not from 1 on");
    }
    // All blocks up to the largest one are compared.
    constexpr std::int64_t kMaxBlock = 256;
    for (const std::int64_t size :
         {engine.largest_height, engine.largest_width, engine.largest_depth}) {
      if (size < 1 || size > kMaxBlock)
        return Refuse("engine", "has a block that is not from 1 to 256");
    }
    return {};
  }

  Status OutputRates(const Json& json, BlockEngine* engine) const {
    const auto found = json.find("output_millicycles_of");
    if (found == json.end()) return {};
    if (!found->is_object()) return Refuse("output_millicycles_of", "is not an object");
    std::set<std::string> known;
    for (std::size_t i = 0; i < kOutputClasses; ++i) {
      known.insert(std::string(NameOf(static_cast<OutputClass>(i))));
    }
    NEAP_CHECK_OK(OnlyMembers(*found, "engine.output_millicycles_of.", known));
    for (std::size_t i = 0; i < kOutputClasses; ++i) {
      const std::string name(NameOf(static_cast<OutputClass>(i)));
      NEAP_CHECK_OK(Number(*found, name.c_str(), &engine->output_millicycles_of[i]));
    }
    return {};
  }

  const std::string file_;
};

}  // namespace

Result<Device> ParseDevice(std::string_view json, const std::string& file) {
  try {
    return Reader(file).Read(json);
  } catch (const Json::exception& error) {
    Diagnostic diagnostic = BadInput(std::string("device description: ") + error.what());
    diagnostic.file = file;
    return Fail(std::move(diagnostic));
  }
}

}  // namespace neap::cascade
