// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "lab/zoo/quantize.h"
#include "neap/base/check.h"
#include "neap/base/random.h"
#include "neap/execute/evaluate.h"

namespace neap::zoo {
namespace {

using graph::Shape;
using graph::TensorId;

float Level(Random* random) {
  constexpr std::int64_t kHalf = 128;
  return static_cast<float>(random->Between(-kHalf, kHalf - 1)) / static_cast<float>(kHalf);
}

std::size_t CountOf(const Shape& shape) {
  std::size_t count = 1;
  for (const std::int64_t dimension : shape) count *= static_cast<std::size_t>(dimension);
  return count;
}

std::vector<float> Noise(const Shape& shape, Random* random) {
  std::vector<float> values(CountOf(shape));
  for (float& value : values) value = Level(random);
  return values;
}

// Of [1, rows, columns, channels]: patches of equal size, each of one colour.
std::vector<float> Patches(const Shape& shape, Random* random) {
  constexpr std::size_t kPatches = 8;
  const auto rows = static_cast<std::size_t>(shape[1]);
  const auto columns = static_cast<std::size_t>(shape[2]);
  const auto channels = static_cast<std::size_t>(shape[3]);
  std::vector<float> colours(kPatches * kPatches * channels);
  for (float& colour : colours) colour = Level(random);
  std::vector<float> values;
  values.reserve(CountOf(shape));
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t patch = row * kPatches / rows * kPatches + column * kPatches / columns;
      for (std::size_t c = 0; c < channels; ++c) values.push_back(colours[patch * channels + c]);
    }
  }
  return values;
}

execute::Value InputOf(const graph::Tensor& tensor, bool patches, Random* random) {
  const Shape& shape = *tensor.shape;
  const std::vector<float> values =
      patches && shape.size() == 4 && shape[0] == 1 ? Patches(shape, random) : Noise(shape, random);
  execute::Value value;
  value.type = tensor.type;
  value.shape = shape;
  value.bytes.resize(values.size() * sizeof(float));
  std::memcpy(value.bytes.data(), values.data(), value.bytes.size());
  return value;
}

void Widen(std::span<const std::byte> bytes, ValueRange* range) {
  for (std::size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof(float));
    range->low = std::min(range->low, value);
    range->high = std::max(range->high, value);
  }
}

}  // namespace

Result<IdVector<TensorId, ValueRange>> Calibrate(const graph::Graph& graph,
                                                 const CalibrationOptions& options) {
  const graph::SubgraphId main(0);
  const graph::Subgraph& subgraph = graph.subgraphs[main];
  IdVector<TensorId, ValueRange> ranges(subgraph.tensors.size());
  execute::EvaluateOptions evaluate;
  evaluate.observer = [&](TensorId id, std::span<const std::byte> bytes) {
    if (subgraph.tensors[id].type == graph::ElementType::kFloat32) Widen(bytes, &ranges[id]);
  };
  NEAP_CHECK(options.inputs >= 1, "calibration without inputs");
  Random random(options.seed);
  for (int run = 0; run < options.inputs; ++run) {
    std::vector<execute::Value> inputs;
    inputs.reserve(subgraph.inputs.size());
    for (const TensorId id : subgraph.inputs) {
      inputs.push_back(InputOf(subgraph.tensors[id], run % 2 == 1, &random));
    }
    NEAP_TRY([[maybe_unused]] const auto outputs, execute::Evaluate(graph, main, inputs, evaluate));
  }
  return ranges;
}

}  // namespace neap::zoo
