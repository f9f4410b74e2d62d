// SPDX-License-Identifier: Apache-2.0
//
// The suite `stream`: networks of the zoo computed block by block.
#include <chrono>
#include <utility>

#include "lab/bench/networks.h"
#include "lab/bench/suites.h"
#include "neap/compile/compile.h"
#include "neap/transform/stream/entries.h"

namespace neap::bench {
namespace {

constexpr const char* kQuick[] = {"resnet8.int8", "ds-cnn.int8", "mobilenet-v1-vww.int8"};
constexpr const char* kMore[] = {"swiftnet.int8", "mobilenet-v1.int8", "mobilenet-v2.int8",
                                 "mobilenet-v3-small.int8", "efficientnet-lite0.int8"};

Result<compile::Compiled> Planned(const graph::Graph& graph, bool streamed, plan::StreamInput input,
                                  const RunOptions& options) {
  compile::Options neap;
  neap.runtime = plan::Runtime::kNeap;
  neap.limits.stop = options.stop;
  if (!streamed) return compile::Compile(graph, neap);
  stream::Settings settings;
  settings.input = input;
  return stream::CompileStreamed(graph, neap, settings);
}

Status AddNetwork(const std::string& name, const graph::Graph& graph, const RunOptions& options,
                  Table* table, std::vector<Quality>* qualities) {
  const auto resident = plan::StreamInput::kResident;
  NEAP_TRY(const compile::Compiled layers, Planned(graph, false, resident, options));
  const std::int64_t before = plan::LargestEntry(layers.plan).arena_bytes;
  struct Source {
    plan::StreamInput input;
    const char* name;
  };
  constexpr Source kSources[] = {{plan::StreamInput::kResident, "resident"},
                                 {plan::StreamInput::kExternal, "external"}};
  for (const Source& source : kSources) {
    const auto begin = std::chrono::steady_clock::now();
    NEAP_TRY(const compile::Compiled compiled, Planned(graph, true, source.input, options));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const plan::EntryPlan& entry = plan::LargestEntry(compiled.plan);
    std::vector<Value> row = {Text(name), Text(source.name), Count(before),
                              Count(entry.arena_bytes)};
    if (entry.stream) {
      row.push_back(Count(entry.stream->lower_bound_bytes));
      row.push_back(Count(static_cast<std::int64_t>(entry.stream->segments.size())));
      row.push_back(Real(Ratio(entry.stream->macs, entry.stream->layerwise_macs), 3));
      row.push_back(Real(Ratio(entry.stream->cycles, entry.stream->layerwise_cycles), 3));
    } else {
      row.insert(row.end(), 4, None());
    }
    row.push_back(Real(seconds));
    table->rows.push_back(std::move(row));
    qualities->push_back({name + "." + source.name + ".arena_bytes", entry.arena_bytes, false});
  }
  return {};
}

}  // namespace

Result<Report> RunStream(const RunOptions& options) {
  Table table;
  table.id = "streamed";
  table.title = "Arena bytes, block by block";
  table.columns = {{"network", "network"},
                   {"input", "input"},
                   {"layers_bytes", "layer by layer"},
                   {"arena_bytes", "streamed"},
                   {"bound_bytes", "proven bound of this kind"},
                   {"segments", "segments"},
                   {"macs_ratio", "multiply-accumulates"},
                   {"cycles_ratio", "cycles"},
                   {"seconds", "seconds"}};
  return RunNetworks(
      {kQuick, kMore}, options, AddNetwork,
      {"stream",
       "Streamed plans of the zoo's networks",
       {"Arena in bytes for Neap's executor (profile neap, 8-bit networks without weights): layer "
        "by layer, and computed block by block, every pixel once (docs/algorithms/streams.md). "
        "\"external\": the input of the streamed plan is outside the arena. A dash: streaming "
        "saves "
        "no memory. Multiply-accumulates and cycles are relative to layer by layer."},
       "Arena relative to layer by layer, input resident",
       {"Arena relative to layer by layer", {"arena_bytes"}, "layers_bytes", "input", "resident"}},
      std::move(table));
}

}  // namespace neap::bench
