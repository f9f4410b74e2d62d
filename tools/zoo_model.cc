// SPDX-License-Identifier: Apache-2.0
#include "tools/zoo_model.h"

#include <cstdint>
#include <utility>

#include "lab/zoo/quantize.h"
#include "lab/zoo/tflite.h"

namespace neap::tools {
namespace {

Result<graph::Graph> TfliteGraph(const zoo::Network& network, bool int8) {
  NEAP_TRY(graph::Graph converted, zoo::ConvertToTflite(network.graph));
  if (!int8) return converted;
  zoo::CalibrationOptions calibration;
  // So that no network takes minutes.
  constexpr std::int64_t kManyMacs = 20'000'000'000;
  constexpr int kFewInputs = 2;
  if (network.facts.multiply_accumulates > kManyMacs) calibration.inputs = kFewInputs;
  return zoo::QuantizeToInt8(converted, calibration);
}

}  // namespace

Result<ZooModel> MakeZooModel(const std::string& name, const zoo::ZooOptions& options,
                              formats::Format format, bool int8) {
  NEAP_TRY(zoo::Network network, zoo::BuildNetwork(name, options));
  ZooModel model;
  if (format == formats::Format::kTflite) {
    NEAP_TRY(model.graph, TfliteGraph(network, int8));
    NEAP_TRY(model.bytes, formats::ExportTflite(model.graph, name));
  } else {
    model.graph = std::move(network.graph);
    NEAP_TRY(model.bytes, formats::ExportOnnx(model.graph, name));
  }
  return model;
}

}  // namespace neap::tools
