// SPDX-License-Identifier: Apache-2.0
//
// Devices: memories and rates, from a JSON description (schemas/device.schema.json,
// docs/algorithms/tiles.md) or a preset; and the cycles of operators on them. A model for the
// comparison of plans; the documentation lists its limits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/transform/cascade/block_engine.h"

namespace neap::cascade {

// Rates are in thousandths, so that no float decides: 8000 is eight bytes a cycle.
struct DeviceMemory {
  std::string name;
  std::string source;      // of the size
  std::int64_t bytes = 0;  // 0: as large as wanted
  std::int64_t read_per_kilocycle = 0;
  std::int64_t write_per_kilocycle = 0;
  std::int64_t latency_cycles = 0;  // of a burst
  std::int64_t burst_bytes = 1;     // shorter accesses take as long
  bool holds_weights = false;
  bool holds_activations = false;
};

enum class OpClass : std::uint8_t { kConv, kPointwise, kDepthwise, kDense, kElementwise, kMove };
inline constexpr std::size_t kOpClasses = 6;
// "conv", "pointwise", "depthwise", "dense", "elementwise", "move".
std::string_view NameOf(OpClass op_class);
OpClass ClassOf(const graph::Subgraph& subgraph, const graph::Op& op);

// "lookup", "max_pool", "add", "multiply", "multiply_wide".
std::string_view NameOf(OutputClass output_class);
OutputClass OutputClassOf(const graph::Subgraph& subgraph, const graph::Op& op);

struct Device {
  std::string name;
  std::string source;  // where the numbers are from
  std::int64_t clock_hertz = 0;
  std::vector<DeviceMemory> memories;
  // Multiplications a kilocycle of conv, pointwise, depthwise, dense; elements a kilocycle of
  // elementwise; bytes a kilocycle of move.
  std::int64_t per_kilocycle[kOpClasses] = {};
  std::int64_t launch_cycles = 0;   // for every operator
  bool overlaps_transfers = false;  // a DMA works beside the arithmetic
  // Bytes that 1,000 of weights take, for a device that reads them compressed.
  std::int64_t weights_per_mille = 1000;
  BlockEngine engine;
};

// Names that DeviceNamed takes, the default first.
std::span<const std::string_view> DevicePresets();
std::optional<Device> DeviceNamed(std::string_view name);
// Reads a description; fails with kBadInput, naming the member.
Result<Device> ParseDevice(std::string_view json, const std::string& file);

// Thousandths of a cycle for each element of the output of `op`.
std::int64_t OutputMillicycles(const graph::Subgraph& subgraph, const graph::Op& op,
                               const BlockEngine& engine);

struct OpCycles {
  std::int64_t compute = 0;
  std::int64_t transfer = 0;  // of bytes, in the memories where they are
  std::int64_t total = 0;     // as they overlap, with the launch
  EngineBlock block;          // of the output; 0 x 0 x 0: no engine, or one without a memory
};
// `op` with its present shapes. Activations are in the first memory for activations, weights in the
// first for weights. A block engine uses the block with the smallest total; among equals, with the
// shortest transfers, then the first of BlocksOf. O(blocks).
OpCycles CyclesOf(const graph::Subgraph& subgraph, const graph::Op& op, const Device& device);
// The same with the weights beside the activations, if `weights_copied`.
OpCycles CyclesOf(const graph::Subgraph& subgraph, const graph::Op& op, const Device& device,
                  bool weights_copied);
// Bytes that `bytes` of weights take in the memories of `device`.
std::int64_t StoredBytes(std::int64_t bytes, const Device& device);
// Of a copy from one memory to the other.
std::int64_t CopyCycles(std::int64_t bytes, const DeviceMemory& from, const DeviceMemory& to);
// The memory for weights, or for activations; nullptr: none.
const DeviceMemory* MemoryFor(const Device& device, bool weights);
// Of all operators, one after the other.
std::int64_t CyclesOf(const graph::Subgraph& subgraph, const Device& device);

}  // namespace neap::cascade
