// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/parts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <variant>

#include "neap/formats/tflite/element_types.h"
#include "neap/formats/tflite/op_version.h"
#include "neap/formats/tflite/options.h"
#include "neap/ops/op_table.h"

namespace neap::formats::tflite {
namespace {

using flatbuffers::Offset;
using graph::ElementType;
using graph::OpId;
using graph::Subgraph;
using graph::Tensor;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

constexpr std::array<std::string_view, 2> kNoOptions = {kCustomOptions, kIntermediates};

std::optional<schema::BuiltinOperator> BuiltinOf(const std::string& type) {
  static const std::map<std::string, schema::BuiltinOperator> kCodes = [] {
    std::map<std::string, schema::BuiltinOperator> codes;
    for (const auto code : schema::EnumValuesBuiltinOperator()) {
      codes.emplace(schema::EnumNameBuiltinOperator(code), code);
    }
    codes.erase(std::string(ops::NameOf(OpKind::kCustom)));
    return codes;
  }();
  const auto found = kCodes.find(type);
  if (found == kCodes.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::vector<std::int32_t> NumbersOf(const std::vector<TensorId>& ids) {
  std::vector<std::int32_t> numbers;
  numbers.reserve(ids.size());
  for (const TensorId id : ids) numbers.push_back(id.value());
  return numbers;
}

PartWriter::PartWriter(flatbuffers::FlatBufferBuilder* builder, const std::vector<CodeKey>& codes,
                       std::uint32_t buffers)
    : builder_(builder), first_buffer_(buffers) {
  for (const CodeKey& key : codes) code_index_.emplace(key, next_code_++);
  if (buffers == 0) NewBuffer({});
}

Offset<flatbuffers::Vector<std::uint8_t>> PartWriter::AddBytes(std::span<const std::byte> bytes,
                                                               std::size_t alignment) {
  builder_->ForceVectorAlignment(bytes.size(), 1, alignment);
  return builder_->CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

Result<std::uint32_t> PartWriter::BufferOf(const Tensor& tensor) {
  if (!tensor.constant && !tensor.data) return std::uint32_t{0};
  if (!tensor.data) return Fail(BadInput("is a constant without its data"));
  const auto& bytes = tensor.data->bytes;
  if (tensor.type != ElementType::kString) {
    NEAP_TRY(const std::int64_t expected, graph::TensorBytes(tensor));
    if (static_cast<std::int64_t>(bytes.size()) != expected) {
      return Fail(BadInput("has " + std::to_string(bytes.size()) + " bytes, expected " +
                           std::to_string(expected)));
    }
  }
  if (bytes.empty()) return std::uint32_t{0};
  const auto known = buffer_index_.find({bytes.data(), bytes.size()});
  if (known != buffer_index_.end()) return known->second;
  return buffer_index_[{bytes.data(), bytes.size()}] = NewBuffer(bytes);
}

void PartWriter::KnowBuffer(std::uint32_t index, std::span<const std::byte> bytes) {
  if (!bytes.empty()) buffer_index_.emplace(std::pair(bytes.data(), bytes.size()), index);
}

std::uint32_t PartWriter::NewBuffer(std::span<const std::byte> bytes) {
  buffers_.push_back(bytes);
  return first_buffer_ + static_cast<std::uint32_t>(buffers_.size() - 1);
}

Result<Offset<schema::QuantizationParameters>> PartWriter::AddQuantization(const Tensor& tensor) {
  if (!tensor.quantization) return Offset<schema::QuantizationParameters>();
  const graph::Quantization& from = *tensor.quantization;
  if (from.scales.empty() || from.scales.size() != from.zero_points.size()) {
    return Fail(BadInput("has " + std::to_string(from.scales.size()) + " scales and " +
                         std::to_string(from.zero_points.size()) + " zero points"));
  }
  const auto scales = builder_->CreateVector(from.scales);
  const auto zero_points = builder_->CreateVector(from.zero_points);
  return schema::CreateQuantizationParameters(*builder_, 0, 0, scales, zero_points,
                                              schema::QuantizationDetails::NONE, 0, from.axis);
}

// The reader turns handles into 32-bit integers, and those of variables into empty tensors: this
// restores the types of the format.
Result<Offset<schema::Tensor>> PartWriter::AddTensor(const Tensor& tensor, bool handle, bool made) {
  const auto type = handle ? schema::TensorType::RESOURCE : TensorTypeOf(tensor.type);
  if (!type) {
    return Fail(BadInput("has element type " + std::string(graph::NameOf(tensor.type)) +
                         ", which a tensor of this format cannot have"));
  }
  std::vector<std::int32_t> shape;
  bool dynamic = false;
  if (tensor.shape && !(handle && made)) {
    for (const std::int64_t dimension : *tensor.shape) {
      if (dimension < -1 || dimension > std::numeric_limits<std::int32_t>::max()) {
        return Fail(BadInput("has a dimension of " + std::to_string(dimension)));
      }
      dynamic = dynamic || dimension == -1;
      shape.push_back(static_cast<std::int32_t>(dimension));
    }
  }
  NEAP_TRY(const std::uint32_t buffer, BufferOf(tensor));
  NEAP_TRY(const auto quantization, AddQuantization(tensor));
  using Ints = Offset<flatbuffers::Vector<std::int32_t>>;
  const Ints sizes = tensor.shape ? builder_->CreateVector(shape) : Ints();
  const Ints signature = dynamic ? builder_->CreateVector(shape) : Ints();
  const auto name = builder_->CreateString(tensor.name);
  return schema::CreateTensor(*builder_, sizes, *type, buffer, name, quantization, tensor.variable,
                              0, signature, tensor.shape.has_value());
}

Result<std::uint32_t> PartWriter::CodeOf(const Subgraph& subgraph, const graph::Op& op) {
  CodeKey key = {schema::BuiltinOperator::CUSTOM, op.type, 1};
  if (op.domain == "tflite") {
    const auto code = BuiltinOf(op.type);
    if (!code) return Fail(BadInput("there is no built-in operator of this type"));
    if (ops::Has(op, ops::trait::kStablehlo)) {
      return Fail(BadInput("Neap does not write operators of StableHLO"));
    }
    key = {*code, "", OpVersion(subgraph, op)};
  } else if (op.domain != "custom") {
    return Fail(BadInput("is of domain '" + op.domain +
                         "', expected an operator of TensorFlow Lite or a custom one"));
  }
  const auto [at, added] = code_index_.emplace(key, next_code_);
  if (added) {
    codes_.push_back(key);
    ++next_code_;
  }
  return at->second;
}

Result<Offset<schema::OperatorOptions>> PartWriter::AddBodies(const graph::Op& op,
                                                              schema::OptionsKind* kind) {
  struct Caller {
    OpKind type;
    schema::OptionsKind kind;
    std::size_t bodies;
  };
  constexpr std::array<Caller, 4> kCallers = {
      Caller{OpKind::kIf, schema::OptionsKind::IfOptions, 2},
      Caller{OpKind::kWhile, schema::OptionsKind::WhileOptions, 2},
      Caller{OpKind::kCall, schema::OptionsKind::CallOptions, 1},
      Caller{OpKind::kCallOnce, schema::OptionsKind::CallOnceOptions, 1}};
  const auto* const caller = std::find_if(kCallers.begin(), kCallers.end(),
                                          [&](const Caller& c) { return Is(op, c.type); });
  const std::size_t expected = caller == kCallers.end() ? 0 : caller->bodies;
  if (op.bodies.size() != expected) {
    return Fail(BadInput("has " + std::to_string(op.bodies.size()) + " bodies, expected " +
                         std::to_string(expected)));
  }
  if (expected == 0) return Offset<schema::OperatorOptions>();
  *kind = caller->kind;
  const std::int32_t first = op.bodies[0].value();
  switch (caller->kind) {
    case schema::OptionsKind::IfOptions:
      return schema::CreateIfOptions(*builder_, first, op.bodies[1].value()).o;
    case schema::OptionsKind::WhileOptions:
      return schema::CreateWhileOptions(*builder_, first, op.bodies[1].value()).o;
    case schema::OptionsKind::CallOptions:
      return schema::CreateCallOptions(*builder_, static_cast<std::uint32_t>(first)).o;
    default:
      return schema::CreateCallOnceOptions(*builder_, first).o;
  }
}

Result<Offset<schema::Operator>> PartWriter::AddOp(const Subgraph& subgraph, const graph::Op& op) {
  using Bytes = Offset<flatbuffers::Vector<std::uint8_t>>;
  using Ints = Offset<flatbuffers::Vector<std::int32_t>>;
  if (op.folded || !op.captures.empty()) {
    return Fail(BadInput("is folded or captures outer tensors, which this format does not have"));
  }
  const auto absent = [](TensorId id) { return !id.valid(); };
  if (std::any_of(op.outputs.begin(), op.outputs.end(), absent)) {
    return Fail(BadInput("has an output without a tensor: it overwrites a graph input"));
  }
  NEAP_TRY(const std::uint32_t code, CodeOf(subgraph, op));
  auto kind = static_cast<schema::OptionsKind>(OptionsKindOf(ops::KindOf(op)));
  NEAP_TRY(Offset<schema::OperatorOptions> options, WriteOptions(op, kNoOptions, builder_));
  NEAP_TRY(const auto bodies, AddBodies(op, &kind));
  if (bodies.o != 0) options = bodies;
  Bytes custom;
  Ints intermediates;
  if (const auto found = op.attributes.find(kCustomOptions); found != op.attributes.end()) {
    const auto* data = std::get_if<graph::ConstantData>(&found->second);
    if (data == nullptr || op.domain != "custom") {
      return Fail(BadInput("attribute 'custom_options' is not the bytes of a custom operator"));
    }
    custom = AddBytes(data->bytes, kDataAlignment);
  }
  if (const auto found = op.attributes.find(kIntermediates); found != op.attributes.end()) {
    const auto* list = std::get_if<std::vector<std::int64_t>>(&found->second);
    const auto no_tensor = [&](std::int64_t i) {
      return i < -1 || i >= static_cast<std::int64_t>(subgraph.tensors.size());
    };
    if (list == nullptr || std::any_of(list->begin(), list->end(), no_tensor)) {
      return Fail(BadInput("attribute 'intermediates' is not a list of tensors"));
    }
    intermediates = builder_->CreateVector(std::vector<std::int32_t>(list->begin(), list->end()));
  }
  std::vector<std::uint8_t> written;
  written.reserve(op.inputs.size());
  for (const TensorId id : op.inputs) {
    written.push_back(id.valid() && subgraph.tensors[id].variable ? 1 : 0);
  }
  const bool writes = std::find(written.begin(), written.end(), 1) != written.end();
  const auto inputs = builder_->CreateVector(NumbersOf(op.inputs));
  const auto outputs = builder_->CreateVector(NumbersOf(op.outputs));
  const Bytes mutating = writes ? builder_->CreateVector(written) : Bytes();
  return schema::CreateOperator(*builder_, code, inputs, outputs, kind, options, custom, 0,
                                mutating, intermediates);
}

Result<Offset<schema::SubGraph>> PartWriter::AddSubgraph(const Subgraph& subgraph,
                                                         const Offsets<schema::Tensor>& tensors) {
  Offsets<schema::Operator> operators;
  for (const OpId id : subgraph.ops.Ids()) {
    auto added = AddOp(subgraph, subgraph.ops[id]);
    if (!added) {
      added.error().op = graph::Describe(id, subgraph.ops[id]);
      return Fail(std::move(added).error());
    }
    operators.push_back(*added);
  }
  const auto tensor_list = builder_->CreateVector(tensors);
  const auto inputs = builder_->CreateVector(NumbersOf(subgraph.inputs));
  const auto outputs = builder_->CreateVector(NumbersOf(subgraph.outputs));
  const auto operator_list = builder_->CreateVector(operators);
  const auto name = builder_->CreateString(subgraph.name);
  return schema::CreateSubGraph(*builder_, tensor_list, inputs, outputs, operator_list, name);
}

PartWriter::Offsets<schema::Buffer> PartWriter::AddBuffers() {
  Offsets<schema::Buffer> list;
  for (const auto bytes : buffers_) list.push_back(AddBuffer(bytes));
  return list;
}

Offset<schema::Buffer> PartWriter::AddBuffer(std::span<const std::byte> bytes) {
  if (bytes.empty()) return schema::CreateBuffer(*builder_);
  const auto data = AddBytes(bytes, kDataAlignment);
  return schema::CreateBuffer(*builder_, data);
}

PartWriter::Offsets<schema::OperatorCode> PartWriter::AddCodes() {
  Offsets<schema::OperatorCode> list;
  for (const auto& [code, custom, version] : codes_) {
    // Old runtimes know the first 127 codes only, in a byte of their own.
    const auto old_code = static_cast<std::int8_t>(std::min(
        static_cast<std::int32_t>(code),
        static_cast<std::int32_t>(schema::BuiltinOperator::PLACEHOLDER_FOR_GREATER_OP_CODES)));
    const auto text = code == schema::BuiltinOperator::CUSTOM ? builder_->CreateString(custom)
                                                              : Offset<flatbuffers::String>();
    list.push_back(schema::CreateOperatorCode(*builder_, old_code, text, version, code));
  }
  return list;
}

}  // namespace neap::formats::tflite
