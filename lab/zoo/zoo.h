// SPDX-License-Identifier: Apache-2.0
//
// Networks made here, from their published definitions, with seeded random weights: evidence and
// tests that need no download.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "neap/base/result.h"
#include "neap/graph/graph.h"

namespace neap::zoo {

struct Recipe {
  std::string_view name;     // "randwire-ws"
  std::string_view summary;  // one line, with the source (paper, figure)
  bool scales = false;       // has a width multiplier and a resolution
};
std::span<const Recipe> Recipes();

struct ZooOptions {
  std::uint64_t seed = 0;  // wiring of random networks, and all weights
  std::int64_t width = 0;  // channels of the first cell; 0: the published width
  std::int64_t nodes = 0;  // nodes of a random cell; 0: the published number
  // Of the networks whose recipe allows it (Recipe::scales); 0: as published.
  std::int64_t width_thousandths = 0;  // of the channels of the paper: its width multiplier
  std::int64_t resolution = 0;         // height and width of the input
  bool weights = true;  // false: shapes only, for counting; such a network cannot be written
};

// A network up to its classifier as a graph of the layers of its definition, in which convolution,
// normalisation, activation and padding are one layer each. Zeros where a recipe has none.
struct Body {
  std::int64_t layers = 0;      // the input included
  std::int64_t depth = 0;       // most layers on a path
  std::int64_t degree = 0;      // most inputs of a layer
  std::int64_t parameters = 0;  // with the statistics of batch normalisations, as Keras counts
  std::int64_t multiply_accumulates = 0;
};

// Published numbers of a network. Batch normalisation is folded where it follows a convolution: of
// its two numbers a channel the graph keeps the shift (a bias), while the scale is part of the
// weights before it.
struct Facts {
  std::int64_t parameters = 0;            // numbers in the weights of the graph
  std::int64_t published_parameters = 0;  // the same before folding, as papers count
  std::int64_t statistics = 0;            // means and variances, which Keras counts as well
  std::int64_t multiply_accumulates = 0;  // of convolutions and matrix products
  Body body;

  std::int64_t KerasParameters() const { return published_parameters + statistics; }
};

struct Network {
  graph::Graph graph;
  Facts facts;
  // The graph that Facts::body counts, operators of domain "layer" with the attribute
  // "multiply_accumulates", all tensors int8, constants without data. The first operator is the
  // input layer. Without subgraphs where a recipe has none.
  graph::Graph layers;
};

// A network as a graph of ONNX operators (opset 17, NCHW, float32, batch 1) in the published
// construction order (topological), every tensor with its shape, constants with their bytes
// (Tensor::data). Fails with kUsage for an unknown name or an option out of range. The same bytes
// for the same options on every machine.
Result<Network> BuildNetwork(std::string_view name, const ZooOptions& options);
Result<graph::Graph> Build(std::string_view name, const ZooOptions& options);

}  // namespace neap::zoo
