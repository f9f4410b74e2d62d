// SPDX-License-Identifier: Apache-2.0
//
// The operator graph: every format is read into it, and every later stage works on it. Plain
// values; nodes refer to each other by index, never by pointer. An operator keeps its index in the
// file (`source_index`), so that a plan can be written as a change of that file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "neap/base/id.h"
#include "neap/base/result.h"
#include "neap/graph/element_type.h"

namespace neap::ops {
enum class OpKind : std::uint16_t;  // neap/ops/op_kind.h
}

namespace neap::graph {

using TensorId = Id<struct TensorTag>;
using OpId = Id<struct OpTag>;
using SubgraphId = Id<struct SubgraphTag>;

// Dimensions, outermost first; -1 is a dimension that is not known.
using Shape = std::vector<std::int64_t>;

// Read-only bytes of a constant; little-endian, row-major, sub-byte elements packed low bits first.
// `owner` keeps them alive (a mapped file, a vector).
struct ConstantData {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

// The real values of a tensor's integers: real = scale * (integer - zero point). One scale for the
// whole tensor, or one for every index of dimension `axis`.
struct Quantization {
  std::vector<float> scales;              // one, or as many as `axis` has indices
  std::vector<std::int64_t> zero_points;  // as many as scales
  std::int32_t axis = 0;
};

// A logical value. Its bytes in memory are never stored: TensorBytes() computes them.
struct Tensor {
  std::string name;
  ElementType type = ElementType::kUnknown;
  std::optional<Shape> shape;  // nullopt: even the rank is unknown
  bool constant = false;       // weights, and outputs of folded operators
  bool variable = false;       // keeps its value between two runs (RNN state)
  bool compressed = false;     // a constant that TensorFlow Lite Micro unpacks when it is read
  std::optional<ConstantData> data;  // of a constant, where it is known
  // TensorFlow Lite only; ONNX has operators for it.
  std::optional<Quantization> quantization;
  // The symbol of each dimension in the file ("batch"), "" where it has none. Empty: no symbols.
  std::vector<std::string> symbols;
};

using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>, ConstantData>;

// One operator. Inputs and outputs may contain TensorId() where an optional one is absent.
struct Op {
  std::string type;  // ONNX: "Conv"; TFLite: "CONV_2D" or the custom code; JSON: free
  std::string
      domain;        // ONNX domain ("" is ai.onnx); "tflite" for TFLite's, "custom" for its customs
  std::string name;  // for people; may be empty
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  // Outer tensors that the bodies read (ONNX subgraphs see the scope around them): as good as
  // inputs.
  std::vector<TensorId> captures;
  std::vector<SubgraphId> bodies;  // control flow: subgraphs that run inside this operator
  std::int64_t scratch_bytes = 0;  // working memory while it runs
  // Reads or writes state outside its tensors (variables, resources, random, print): keeps its
  // place relative to the other stateful operators of the subgraph.
  bool stateful = false;
  // Computed once from constants: no step of a plan, its outputs are constants.
  bool folded = false;
  std::int32_t source_index = -1;  // position in the file's operator list; -1: not from a file
  std::map<std::string, Attribute> attributes;
  // ONNX: the version of its domain that the file uses, which decides what defaults mean; 0: not
  // known.
  std::int32_t version = 0;
  // The operator that domain and type name, as resolved by neap/ops; 0: not resolved. It is stored
  // here so that readers look names up once and no later stage hashes or searches them. Its values
  // are declared in neap/ops, because this module knows no operator. Use ops::KindOf(), not this
  // field: it checks the field against the names and looks up names that were changed since.
  ops::OpKind kind = {};
};

// `before` must run before `after` for a reason that no tensor shows.
struct ControlEdge {
  OpId before;
  OpId after;
};

struct Subgraph {
  std::string name;
  IdVector<TensorId, Tensor> tensors;
  IdVector<OpId, Op> ops;  // in file order, which need not be topological in .onnx
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<ControlEdge> control_edges;
};

// The tensor at `index` of `list`, the inputs or outputs of an operator; nullptr: none.
inline const Tensor* Operand(const Subgraph& subgraph, const std::vector<TensorId>& list,
                             std::size_t index) {
  return index < list.size() && list[index].valid() ? &subgraph.tensors[list[index]] : nullptr;
}

struct Signature {
  std::string key;
  SubgraphId subgraph;
};

struct Graph {
  IdVector<SubgraphId, Subgraph> subgraphs;  // [0] is the main one
  std::vector<Signature> signatures;
};

// A byte offset in one arena for every tensor of every subgraph, or kNoOffset.
using TensorOffsets = IdVector<SubgraphId, IdVector<TensorId, std::int32_t>>;
inline constexpr std::int32_t kNoOffset = -1;

// Exact bytes of a tensor: elements x bits, rounded up to a whole byte. Fails with kMissingSize and
// the tensor's name when type or shape are unknown, and with kBadInput when the product overflows.
Result<std::int64_t> TensorBytes(const Tensor& tensor);

// "#7 'conv1/out'" / "#12 'CONV_2D' (conv1)": how messages name a tensor or an operator.
std::string Describe(TensorId id, const Tensor& tensor);
std::string Describe(OpId id, const Op& op);
// `diagnostic` with the name of the tensor or operator, where it names none yet.
Diagnostic AtTensor(Diagnostic diagnostic, TensorId id, const Tensor& tensor);
Diagnostic AtOp(Diagnostic diagnostic, OpId id, const Op& op);

// Verifies the invariants that every later stage relies on; readers call it last.
//  - every id is in range, op inputs and outputs and graph inputs and outputs alike;
//  - a tensor has at most one producer; a constant or a graph input has none, except that the
//    outputs of a folded op are constants and are produced by it;
//  - op outputs that are present are not constants otherwise;
//  - operators and control edges have no cycle;
//  - body subgraphs do not contain themselves, and control edges join ops of the subgraph.
// O(size of the graph).
Status Verify(const Graph& graph);

// The producer of every tensor of a subgraph (OpId() for inputs, constants, variables).
IdVector<TensorId, OpId> Producers(const Subgraph& subgraph);

// Subgraphs that run on their own: the main one, those with a signature, and those that no
// operator calls; in index order, each once.
std::vector<SubgraphId> EntrySubgraphs(const Graph& graph);

}  // namespace neap::graph
