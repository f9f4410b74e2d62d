// SPDX-License-Identifier: Apache-2.0
//
// Writes the layer graph of a network down beside its operators. Private to neap/zoo.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/graph/graph.h"

namespace neap::zoo {

// Operators that one call of the builder makes, as layers: a padding before, the layer itself, a
// normalisation after.
struct RecordedLayers {
  std::string type;
  std::string name;
  std::vector<graph::TensorId> inputs;  // of the operator: those that are not constant
  graph::TensorId output;               // of the operator
  graph::Shape shape;
  int layers = 1;                    // 0: part of the layer that reads it
  graph::Shape padded;               // of the output of a padding before; empty: none
  bool normalised = false;           // a normalisation after
  std::int64_t parameters = 0;       // of all of it
  std::int64_t norm_parameters = 0;  // of the normalisation
  std::int64_t multiply_accumulates = 0;
};

class LayerRecorder {
 public:
  void AddInput(graph::TensorId input, const std::string& name, const graph::Shape& shape);
  void Add(const RecordedLayers& made);
  // The graph so far, with these outputs; nothing is recorded afterwards.
  void End(graph::TensorId output);
  graph::Graph Take();

 private:
  // The layer graph's tensor of an operator's tensor, with costs that are charged to its consumer.
  struct Standing {
    graph::TensorId tensor;
    std::int64_t parameters = 0;
    std::int64_t multiply_accumulates = 0;
  };
  Standing& At(graph::TensorId tensor);
  graph::TensorId AddTensor(const std::string& name, graph::Shape shape);
  graph::TensorId AddLayer(const std::string& type, const std::string& name,
                           std::vector<graph::TensorId> inputs, const graph::Shape& shape,
                           std::int64_t parameters, std::int64_t multiply_accumulates);

  graph::Subgraph layers_;
  std::vector<Standing> standing_;  // by operator tensor
  bool ended_ = false;
};

}  // namespace neap::zoo
