// SPDX-License-Identifier: Apache-2.0
//
// Small TensorFlow Lite files for tests, written with the generated builder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neap/formats/formats.h"
#include "tflite_generated.h"

namespace neap::formats::tflite::test {

using Code = schema::BuiltinOperator;
using Type = schema::TensorType;

struct TestTensor {
  std::string name;
  std::optional<std::vector<std::int32_t>> shape = std::vector<std::int32_t>{1, 4};
  Type type = Type::INT8;
  std::uint32_t buffer = 0;
  bool variable = false;
  std::vector<std::int32_t> signature = {};
  bool has_rank = false;
  std::uint32_t external_buffer = 0;
};

struct TestOp {
  Code code = Code::ADD;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  std::vector<std::int32_t> bodies = {};  // of IF, WHILE, CALL_ONCE, STABLEHLO_COMPOSITE
  std::string custom_code = {};
  std::vector<std::uint8_t> mutating = {};
  std::uint64_t large_options_offset = 0;
  std::uint64_t large_options_size = 0;
};

struct TestSubgraph {
  std::vector<TestTensor> tensors;
  std::vector<TestOp> ops;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> outputs;
  int same_operators_as = -1;  // shares the list of operators of an earlier subgraph
};

struct TestBuffer {
  std::vector<std::uint8_t> data = {};
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct TestMetadata {
  std::string name;
  std::uint32_t buffer = 0;
};

struct TestModel {
  std::vector<TestSubgraph> subgraphs;
  std::vector<TestBuffer> buffers = {{}};
  std::vector<TestMetadata> metadata = {};
  std::vector<std::pair<std::string, std::uint32_t>> signatures = {};
  std::uint32_t version = 3;

  std::vector<std::byte> Build() const;
};

// in -> 0 -> {1 -> 2, 3} -> 4 -> out, so that 3 may run before 1 or 2. Tensor i+1 is written by
// operator i.
inline TestModel Diamond() {
  TestSubgraph graph;
  for (const char* name : {"in", "stem", "left", "deep", "right", "out"}) {
    graph.tensors.push_back({name});
  }
  graph.ops = {{Code::RELU, {0}, {1}},
               {Code::CONV_2D, {1}, {2}},
               {Code::LOGISTIC, {2}, {3}},
               {Code::TANH, {1}, {4}},
               {Code::ADD, {3, 4}, {5}}};
  graph.inputs = {0};
  graph.outputs = {5};
  return {{graph}};
}

namespace internal {

using Builder = flatbuffers::FlatBufferBuilder;
using Options = flatbuffers::Offset<schema::OperatorOptions>;

inline flatbuffers::Offset<schema::Operator> BuildOp(Builder& b, const TestOp& op,
                                                     std::uint32_t opcode) {
  Options options = 0;
  Options options_2 = 0;
  auto kind = schema::OptionsKind::NONE;
  auto kind_2 = schema::OptionsKind2::NONE;
  if (op.code == Code::IF && op.bodies.size() == 2) {
    options = schema::CreateIfOptions(b, op.bodies[0], op.bodies[1]).o;
    kind = schema::OptionsKind::IfOptions;
  } else if (op.code == Code::WHILE && op.bodies.size() == 2) {
    options = schema::CreateWhileOptions(b, op.bodies[0], op.bodies[1]).o;
    kind = schema::OptionsKind::WhileOptions;
  } else if (op.code == Code::CALL_ONCE && op.bodies.size() == 1) {
    options = schema::CreateCallOnceOptions(b, op.bodies[0]).o;
    kind = schema::OptionsKind::CallOnceOptions;
  } else if (op.code == Code::STABLEHLO_COMPOSITE && op.bodies.size() == 1) {
    const auto name = b.CreateString("test.composite");
    options_2 = schema::CreateStableHLOCompositeOptions(b, name, op.bodies[0]).o;
    kind_2 = schema::OptionsKind2::StableHLOCompositeOptions;
  }
  const auto inputs = b.CreateVector(op.inputs);
  const auto outputs = b.CreateVector(op.outputs);
  const auto mutating = op.mutating.empty()
                            ? flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>>()
                            : b.CreateVector(op.mutating);
  return schema::CreateOperator(b, opcode, inputs, outputs, kind, options, 0, 0, mutating, 0,
                                op.large_options_offset, op.large_options_size, kind_2, options_2);
}

inline flatbuffers::Offset<schema::Tensor> BuildTensor(Builder& b, const TestTensor& tensor) {
  using Ints = flatbuffers::Offset<flatbuffers::Vector<std::int32_t>>;
  const Ints shape = tensor.shape ? b.CreateVector(*tensor.shape) : Ints();
  const Ints signature = tensor.signature.empty() ? Ints() : b.CreateVector(tensor.signature);
  const auto name = b.CreateString(tensor.name);
  return schema::CreateTensor(b, shape, tensor.type, tensor.buffer, name, 0, tensor.variable, 0,
                              signature, tensor.has_rank, 0, tensor.external_buffer);
}

}  // namespace internal

inline std::vector<std::byte> TestModel::Build() const {
  internal::Builder b;
  using Operators = flatbuffers::Vector<flatbuffers::Offset<schema::Operator>>;
  std::vector<flatbuffers::Offset<schema::OperatorCode>> codes;
  std::vector<flatbuffers::Offset<schema::SubGraph>> built;
  std::vector<flatbuffers::Offset<Operators>> lists;
  for (const TestSubgraph& subgraph : subgraphs) {
    std::vector<flatbuffers::Offset<schema::Tensor>> tensors;
    std::vector<flatbuffers::Offset<schema::Operator>> operators;
    for (const TestTensor& tensor : subgraph.tensors) {
      tensors.push_back(internal::BuildTensor(b, tensor));
    }
    for (const TestOp& op : subgraph.ops) {
      operators.push_back(internal::BuildOp(b, op, static_cast<std::uint32_t>(codes.size())));
      const auto custom = op.custom_code.empty() ? flatbuffers::Offset<flatbuffers::String>()
                                                 : b.CreateString(op.custom_code);
      const int old_code = std::min(static_cast<int>(op.code), 127);
      codes.push_back(
          schema::CreateOperatorCode(b, static_cast<std::int8_t>(old_code), custom, 1, op.code));
    }
    lists.push_back(subgraph.same_operators_as >= 0
                        ? lists[static_cast<std::size_t>(subgraph.same_operators_as)]
                        : b.CreateVector(operators));
    const auto tensor_list = b.CreateVector(tensors);
    const auto inputs = b.CreateVector(subgraph.inputs);
    const auto outputs = b.CreateVector(subgraph.outputs);
    built.push_back(schema::CreateSubGraph(b, tensor_list, inputs, outputs, lists.back()));
  }
  std::vector<flatbuffers::Offset<schema::Buffer>> buffer_list;
  for (const TestBuffer& buffer : buffers) {
    b.ForceVectorAlignment(buffer.data.size(), 1, 16);
    const auto data = buffer.data.empty() ? flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>>()
                                          : b.CreateVector(buffer.data);
    buffer_list.push_back(schema::CreateBuffer(b, data, buffer.offset, buffer.size));
  }
  std::vector<flatbuffers::Offset<schema::Metadata>> metadata_list;
  for (const TestMetadata& entry : metadata) {
    metadata_list.push_back(schema::CreateMetadata(b, b.CreateString(entry.name), entry.buffer));
  }
  std::vector<flatbuffers::Offset<schema::SignatureDef>> signature_list;
  for (const auto& [key, subgraph] : signatures) {
    signature_list.push_back(schema::CreateSignatureDef(b, 0, 0, b.CreateString(key), 0, subgraph));
  }
  const auto code_vector = b.CreateVector(codes);
  const auto subgraph_vector = b.CreateVector(built);
  const auto buffer_vector = b.CreateVector(buffer_list);
  const auto metadata_vector = b.CreateVector(metadata_list);
  const auto signature_vector = b.CreateVector(signature_list);
  b.Finish(schema::CreateModel(b, version, code_vector, subgraph_vector, 0, buffer_vector, 0,
                               metadata_vector, signature_vector),
           schema::ModelIdentifier());
  const auto* begin = reinterpret_cast<const std::byte*>(b.GetBufferPointer());
  return {begin, begin + b.GetSize()};
}

inline Result<SourceModel> LoadModel(std::vector<std::byte> bytes,
                                     const LoadOptions& options = {}) {
  return LoadBytes(std::make_shared<const std::vector<std::byte>>(std::move(bytes)), "test.tflite",
                   options);
}

}  // namespace neap::formats::tflite::test
