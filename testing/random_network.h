// SPDX-License-Identifier: Apache-2.0
//
// Small random networks that grow operator by operator: each takes existing tensors or adds
// inputs of the graph. Shapes, constants and attributes are drawn at random.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/random.h"
#include "neap/graph/graph.h"
#include "testing/execute.h"

namespace neap::property {

using graph::ElementType;
using graph::Shape;
using graph::TensorId;
using Attributes = std::map<std::string, graph::Attribute>;
using Numbers = std::vector<std::int64_t>;

std::int64_t ElementsOf(const Shape& shape);

class Network {
 public:
  using Fits = std::function<bool(const graph::Tensor&)>;

  explicit Network(Random* random) : random_(*random) {}

  Random& random() { return random_; }
  std::int64_t Draw(std::int64_t low, std::int64_t high) { return random_.Between(low, high); }
  bool Coin() { return random_.Chance(1, 2); }
  bool Rarely() { return random_.Chance(1, 5); }

  // A tensor of the type that fits: an existing one, or a new input with this shape.
  TensorId Take(ElementType type, const Shape& shape, const Fits& fits);
  // Of exactly this shape; with `like`, with its quantisation, too.
  TensorId TakeShaped(ElementType type, const Shape& shape, TensorId like = {});
  // Of any shape of rank 1 to 4; `rank` 4 is an image, channels last.
  TensorId TakeAny(ElementType type);
  TensorId TakeRank(ElementType type, std::size_t rank);

  // A result of an operator; with `like`, with its quantisation.
  TensorId Out(ElementType type, const Shape& shape, TensorId like = {});
  void Quantize(TensorId id, float scale, std::int64_t zero_point);

  TensorId Constant(ElementType type, const Shape& shape);  // of random values
  TensorId Ints(const Numbers& values);                     // int32
  TensorId Ints(const Numbers& values, const Shape& shape);
  TensorId Longs(const Numbers& values);
  TensorId Floats(const std::vector<float>& values, const Shape& shape);
  TensorId Bytes(ElementType type, const std::vector<int>& values, const Shape& shape);
  TensorId Variable(ElementType type, const Shape& shape);
  // Weights of a convolution: one scale for each index of `axis`, or one for all.
  TensorId Weights(ElementType type, const Shape& shape, std::int32_t axis);
  TensorId Bias(ElementType data, std::int64_t channels);

  void Add(const std::string& domain, const std::string& type, std::vector<TensorId> inputs,
           const std::vector<TensorId>& outputs, Attributes attributes = {}, int version = 13);

  const Shape& ShapeOf(TensorId id) { return *maker_.Main().tensors[id].shape; }
  graph::Tensor& TensorOf(TensorId id) { return maker_.Main().tensors[id]; }
  Shape RandomShape(std::size_t rank, std::int64_t most = 4);

  // Outputs are the tensors without consumers, and sometimes more.
  graph::Graph Finish();

 private:
  void GiveScale(TensorId id);
  TensorId NewInput(ElementType type, const Shape& shape);

  Random& random_;
  execute::GraphMaker maker_;
  std::vector<TensorId> there_;  // inputs and results
};

// One kind of operator. `add` adds one with data of the type to a network, on all that may vary.
struct OperatorCase {
  std::string domain;
  std::string type;
  std::function<void(Network&, const OperatorCase&, ElementType)> add;
  std::vector<ElementType> types;
};

// add(function, types, names): a case for each name.
using AddCases =
    std::function<void(std::function<void(Network&, const OperatorCase&, ElementType)>,
                       const std::vector<ElementType>&, const std::vector<std::string>&)>;
void AddTfliteMoves(const AddCases& add);
void AddOnnxMoves(const AddCases& add);

const std::vector<OperatorCase>& TfliteCases();
const std::vector<OperatorCase>& OnnxCases();
// Both, and those that only Neap's executor has.
const std::vector<OperatorCase>& AllCases();

}  // namespace neap::property
