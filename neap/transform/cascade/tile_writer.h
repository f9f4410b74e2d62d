// SPDX-License-Identifier: Apache-2.0
//
// Tiles as ordinary operators: slices, clones, and calls of bodies that several tiles share.
// Private to neap/cascade.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/stock_kernels.h"
#include "neap/transform/cascade/region.h"

namespace neap::cascade {

// Writes the steps of tiles behind the operators that `to` has already.
class TileWriter {
 public:
  // `from`: where the tiles' operators and tensors come from. `to` is a copy of it, with the same
  // tensors at the same indices, or a body (`is_body`), which gets those constants that it needs.
  // `first`: an operator of the region.
  TileWriter(const graph::Subgraph& from, graph::OpId first, graph::Subgraph* to, bool is_body)
      : from_(from),
        to_(*to),
        onnx_(from.ops[first].domain != "tflite"),
        opset_(onnx_ ? ops::DefaultOpset(from) : 0),
        is_body_(is_body) {}

  // All steps of a tile; its output.
  graph::TensorId WriteTile(const Tile& tile, const std::string& name);
  // Its slices of tensors that are not in the tile alone, by step.
  std::vector<graph::TensorId> WriteArguments(const Tile& tile, const std::string& name);
  // All other steps, with inputs of the subgraph for those slices; its output is the subgraph's.
  void WriteBody(const Tile& tile, const std::string& name);

  // A new tensor like `whole` with the shape of a box.
  graph::TensorId AddPart(graph::TensorId whole, const ops::Box& box, const std::string& name);

 private:
  enum class Steps : std::uint8_t { kAll, kArguments, kBody };
  void Write(const Tile& tile, Steps which, std::vector<graph::TensorId>* ids);
  void AddSlice(const Tile& tile, const TileStep& step, const std::vector<graph::TensorId>& ids);
  // What a slice takes, of `source`, a part of the same tensor.
  void AddSliceOf(graph::TensorId from, const ops::Box& source, const ops::Box& box,
                  graph::TensorId output);
  // The state before and after the steps of a clone.
  void PassState(const TileStep& step, graph::Op* op);
  void AddClone(const TileStep& step, const std::vector<graph::TensorId>& ids);
  // An output of an operator that splits.
  void AddCopy(const Tile& tile, const TileStep& step, const std::vector<graph::TensorId>& ids);
  graph::TensorId AddConstant(std::string name, const std::vector<std::int64_t>& values);
  graph::TensorId ConstantOf(graph::TensorId from);
  graph::TensorId WeightsOf(graph::TensorId from, const ops::Box& box, const std::string& name);

  const graph::Subgraph& from_;
  graph::Subgraph& to_;
  const bool onnx_;
  const std::int32_t opset_;  // of .onnx
  const bool is_body_;
  std::string name_;
  std::map<std::vector<std::int64_t>, graph::TensorId> constants_;
  struct WeightsPart {
    graph::TensorId whole;
    ops::Box box;
    graph::TensorId part;
  };
  std::vector<WeightsPart> weights_;
  std::map<graph::TensorId, graph::TensorId> taken_;  // constants of `from` in a body
  // The state that an operator in steps left in the tile before: hidden, cell.
  std::map<graph::OpId, std::vector<graph::TensorId>> states_;
};

// Whether a step is a slice of a tensor outside the tile: an input of the tile.
inline bool IsArgument(const TileStep& step) {
  return !step.op.valid() && step.inputs.front() == kWhole;
}

}  // namespace neap::cascade
