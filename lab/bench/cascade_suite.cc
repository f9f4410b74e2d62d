// SPDX-License-Identifier: Apache-2.0
//
// The suite `cascade`: networks of the zoo with operators that run in tiles.
#include <chrono>
#include <utility>

#include "lab/bench/networks.h"
#include "lab/bench/suites.h"
#include "neap/base/check.h"
#include "neap/transform/cascade/plan.h"

namespace neap::bench {
namespace {

constexpr const char* kQuick[] = {"resnet8.int8", "ds-cnn.int8"};
constexpr const char* kMore[] = {"mobilenet-v1-0.25.int8", "mobilenet-v1-vww.int8",
                                 "mobilenet-v1.int8", "mobilenet-v2.int8"};

Status AddNetwork(const std::string& name, const graph::Graph& graph, const RunOptions& options,
                  Table* table, std::vector<Quality>* qualities) {
  cascade::SearchOptions planning;
  planning.compile.runtime = plan::Runtime::kTflm;
  planning.compile.limits.stop = options.stop;
  const auto device = cascade::DeviceNamed(cascade::DevicePresets().front());
  NEAP_CHECK(device.has_value(), "the first preset is not a device");
  planning.device = *device;
  const auto begin = std::chrono::steady_clock::now();
  NEAP_TRY(const cascade::SearchOutcome outcome, cascade::FindPlan(graph, planning));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const cascade::Proposal& chosen = outcome.front[outcome.chosen];
  table->rows.push_back(
      {Text(name), Count(outcome.compiled.file_order.arena_bytes), Count(outcome.uncut.arena_bytes),
       Count(chosen.arena_bytes), Count(outcome.uncut.total_arena_bytes),
       Count(chosen.total_arena_bytes),
       outcome.arena_lower_bound_bytes > 0 ? Count(outcome.arena_lower_bound_bytes) : None(),
       Count(static_cast<std::int64_t>(chosen.regions.size())), Count(chosen.tiles),
       Real(Ratio(chosen.macs, outcome.macs), 3),
       Real(Ratio(chosen.cycles, outcome.uncut.cycles), 3), Real(seconds)});
  qualities->push_back({name + ".uncut_arena_bytes", outcome.uncut.arena_bytes, false});
  // The lowest total is chosen: a smaller arena may need more operators.
  qualities->push_back({name + ".total_arena_bytes", chosen.total_arena_bytes, false});
  return {};
}

}  // namespace

Result<Report> RunCascade(const RunOptions& options) {
  Table table;
  table.id = "cascaded";
  table.title = "Arena bytes with operators in tiles";
  table.columns = {{"network", "network"},
                   {"file_bytes", "file order"},
                   {"uncut_bytes", "planned, nothing cut"},
                   {"arena_bytes", "in tiles"},
                   {"uncut_total_bytes", "total arena, without tiles"},
                   {"total_bytes", "total arena, with tiles"},
                   {"bound_bytes", "what no cut avoids"},
                   {"regions", "regions"},
                   {"tiles", "tiles"},
                   {"macs_ratio", "multiply-accumulates"},
                   {"cycles_ratio", "cycles"},
                   {"seconds", "seconds"}};
  return RunNetworks(
      {kQuick, kMore}, options, AddNetwork,
      {"cascade",
       "Tiles of the zoo's networks",
       {"Arena in bytes for TensorFlow Lite Micro (profile tflm, 8-bit networks without weights): "
        "without tiles, and with the regions in tiles of minimum arena (docs/algorithms/tiles.md). "
        "Multiply-accumulates and cycles are relative to the network without tiles. Cycles are "
        "modelled for the first device preset. The arena is at least the need of each operator "
        "that cannot be cut."},
       "Arena relative to file order",
       {"Arena relative to file order", {"uncut_bytes", "arena_bytes"}, "file_bytes"}},
      std::move(table));
}

}  // namespace neap::bench
