// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tests/fuzz/model_fuzz.h"

namespace {

// A graph that can be serialised is read back with the same operators, and from then on every copy
// is the same.
void TryExport(const std::uint8_t* data, std::size_t size) {
  using neap::fuzz::Require;
  const auto load = [](std::vector<std::byte> bytes) {
    return neap::formats::LoadBytes(
        std::make_shared<const std::vector<std::byte>>(std::move(bytes)), "fuzz.tflite", {});
  };
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  const auto source = load({begin, begin + size});
  if (!source || source->format != neap::formats::Format::kTflite) return;
  const auto written = neap::formats::ExportTflite(source->graph, "fuzz");
  if (!written) {
    Require(written.error().code != neap::ErrorCode::kIo, "nothing is read or written");
    return;
  }
  const auto again = load(*written);
  Require(again.has_value(), "what was written can be read");
  Require(again->graph.subgraphs.size() == source->graph.subgraphs.size(), "no subgraph is lost");
  for (const neap::graph::SubgraphId id : source->graph.subgraphs.Ids()) {
    Require(again->graph.subgraphs[id].ops.size() == source->graph.subgraphs[id].ops.size(),
            "no operator is lost");
    Require(again->graph.subgraphs[id].tensors.size() == source->graph.subgraphs[id].tensors.size(),
            "no tensor is lost");
  }
  const auto copy = neap::formats::ExportTflite(again->graph, "fuzz");
  Require(copy.has_value() && *copy == *written, "a copy of a copy is the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neap::fuzz::TryModel(data, size, "fuzz.tflite");
  TryExport(data, size);
  return 0;
}
