// SPDX-License-Identifier: Apache-2.0
//
// The parts of a .tflite file that are made from a graph: tensors, operators, operator codes and
// buffers, whether the file is new (export.cc) or an old one that gets a few of them (edit.cc).
// Private to neap/formats/tflite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "neap/base/result.h"
#include "neap/formats/tflite/model_view.h"
#include "neap/graph/graph.h"

namespace neap::formats::tflite {

// Runtimes may map the file and read weights with vector instructions.
inline constexpr std::size_t kDataAlignment = 16;

std::vector<std::int32_t> NumbersOf(const std::vector<graph::TensorId>& ids);

// Gathers operator codes and buffers while tensors and operators are added. Codes and buffers have
// the indices of the whole file: first those that it has already, then those that this adds.
class PartWriter {
 public:
  template <typename T>
  using Offset = flatbuffers::Offset<T>;
  template <typename T>
  using Offsets = std::vector<Offset<T>>;
  // Code, custom code, version.
  using CodeKey = std::tuple<schema::BuiltinOperator, std::string, std::int32_t>;

  // `buffers`: how many the file has; with none, buffer 0, the empty one, is added.
  PartWriter(flatbuffers::FlatBufferBuilder* builder, const std::vector<CodeKey>& codes,
             std::uint32_t buffers);

  // Buffer `index` of the file contains `bytes`: tensors with the same bytes of memory refer to it.
  void KnowBuffer(std::uint32_t index, std::span<const std::byte> bytes);

  // `handle`: of a resource; `made`: by the operator of a variable.
  Result<Offset<schema::Tensor>> AddTensor(const graph::Tensor& tensor, bool handle, bool made);
  // Everything of the operator comes from the graph.
  Result<Offset<schema::Operator>> AddOp(const graph::Subgraph& subgraph, const graph::Op& op);

  // With its operators; `tensors`: those it has, added before. An error names the operator.
  Result<Offset<schema::SubGraph>> AddSubgraph(const graph::Subgraph& subgraph,
                                               const Offsets<schema::Tensor>& tensors);

  // To be called last: the added parts, in the order of the indices.
  Offsets<schema::OperatorCode> AddCodes();
  Offsets<schema::Buffer> AddBuffers();
  // A buffer with a copy of these bytes, whose index the caller knows.
  Offset<schema::Buffer> AddBuffer(std::span<const std::byte> bytes);
  // The index of a new buffer; the bytes must stay until AddBuffers().
  std::uint32_t NewBuffer(std::span<const std::byte> bytes);

 private:
  Result<Offset<schema::QuantizationParameters>> AddQuantization(const graph::Tensor& tensor);
  Result<std::uint32_t> BufferOf(const graph::Tensor& tensor);
  Result<std::uint32_t> CodeOf(const graph::Subgraph& subgraph, const graph::Op& op);
  Result<Offset<schema::OperatorOptions>> AddBodies(const graph::Op& op, schema::OptionsKind* kind);
  Offset<flatbuffers::Vector<std::uint8_t>> AddBytes(std::span<const std::byte> bytes,
                                                     std::size_t alignment);

  flatbuffers::FlatBufferBuilder* builder_;
  std::map<CodeKey, std::uint32_t> code_index_;
  std::uint32_t next_code_ = 0;
  std::vector<CodeKey> codes_;  // the new ones
  // By address and size.
  std::map<std::pair<const std::byte*, std::size_t>, std::uint32_t> buffer_index_;
  std::uint32_t first_buffer_ = 0;
  std::vector<std::span<const std::byte>> buffers_;  // the new ones
};

}  // namespace neap::formats::tflite
