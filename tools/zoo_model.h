// SPDX-License-Identifier: Apache-2.0
//
// A network of the zoo as a model file, for `neap zoo` and for the Python package.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lab/zoo/zoo.h"
#include "neap/base/result.h"
#include "neap/formats/formats.h"
#include "neap/graph/graph.h"

namespace neap::tools {

struct ZooModel {
  graph::Graph graph;
  std::vector<std::byte> bytes;  // of the file
};

// `format`: kOnnx or kTflite; `int8`, with kTflite: 8-bit weights and activations. Fails with
// kUsage for unknown names, options out of range, and networks that the format cannot represent.
// The same bytes for the same arguments on every machine.
Result<ZooModel> MakeZooModel(const std::string& name, const zoo::ZooOptions& options,
                              formats::Format format, bool int8);

}  // namespace neap::tools
