// SPDX-License-Identifier: Apache-2.0
//
// A new file from a graph. What the reader leaves out of the graph (other forms of quantisation,
// sparse constants, examples beside dynamic sizes) is not written, so who hands over a graph that
// was read from a file and needs that has to refuse it.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/formats/tflite/control_dependencies.h"
#include "neap/formats/tflite/element_types.h"
#include "neap/formats/tflite/model_view.h"
#include "neap/formats/tflite/op_version.h"
#include "neap/formats/tflite/options.h"
#include "neap/formats/tflite/tflite.h"

namespace neap::formats::tflite {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using graph::ElementType;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;

constexpr std::uint32_t kFormatVersion = 3;
// Runtimes may map the file and read weights with vector instructions.
constexpr std::size_t kDataAlignment = 16;
constexpr std::array<std::string_view, 2> kNoOptions = {kCustomOptions, kIntermediates};

bool MakesHandle(const graph::Op& op) { return op.type == "VAR_HANDLE" || op.type == "HASHTABLE"; }
bool ReadsHandle(const graph::Op& op) {
  return op.type == "READ_VARIABLE" || op.type == "ASSIGN_VARIABLE" ||
         op.type == "HASHTABLE_FIND" || op.type == "HASHTABLE_IMPORT" ||
         op.type == "HASHTABLE_SIZE";
}

std::optional<schema::BuiltinOperator> BuiltinOf(const std::string& type) {
  static const std::map<std::string, schema::BuiltinOperator> kCodes = [] {
    std::map<std::string, schema::BuiltinOperator> codes;
    for (const auto code : schema::EnumValuesBuiltinOperator()) {
      codes.emplace(schema::EnumNameBuiltinOperator(code), code);
    }
    codes.erase("CUSTOM");
    return codes;
  }();
  const auto found = kCodes.find(type);
  if (found == kCodes.end()) return std::nullopt;
  return found->second;
}

class Exporter {
 public:
  explicit Exporter(const graph::Graph& graph) : graph_(graph) {}

  Result<std::vector<std::byte>> Run(const std::string& name);

 private:
  template <typename T>
  using Offsets = std::vector<Offset<T>>;
  // Code, custom code, version.
  using CodeKey = std::tuple<schema::BuiltinOperator, std::string, std::int32_t>;

  static Diagnostic At(const Subgraph& subgraph, OpId id, Diagnostic diagnostic) {
    diagnostic.op = graph::Describe(id, subgraph.ops[id]);
    return diagnostic;
  }

  Status CheckSize(const std::string& name) const;
  Result<Offset<schema::SubGraph>> AddSubgraph(const Subgraph& subgraph);
  Result<Offset<schema::Tensor>> AddTensor(const Tensor& tensor, bool handle, bool made);
  Result<Offset<schema::QuantizationParameters>> AddQuantization(const Tensor& tensor);
  Result<std::uint32_t> BufferOf(const Tensor& tensor);
  Result<Offset<schema::Operator>> AddOp(const Subgraph& subgraph, const graph::Op& op);
  Result<std::uint32_t> CodeOf(const Subgraph& subgraph, const graph::Op& op);
  Result<Offset<schema::OperatorOptions>> AddBodies(const graph::Op& op, schema::OptionsKind* kind);
  Result<Offset<schema::SignatureDef>> AddSignature(const graph::Signature& signature);
  void AddControlEdges(Offsets<schema::Metadata>* metadata);
  Offsets<schema::Buffer> AddBuffers();
  Offset<flatbuffers::Vector<std::uint8_t>> AddBytes(std::span<const std::byte> bytes,
                                                     std::size_t alignment);

  const graph::Graph& graph_;
  FlatBufferBuilder builder_;
  std::map<CodeKey, std::uint32_t> code_index_;
  std::vector<CodeKey> codes_;
  // By address and size; buffer 0 is the empty one.
  std::map<std::pair<const std::byte*, std::size_t>, std::uint32_t> buffer_index_;
  std::vector<std::span<const std::byte>> buffers_ = {{}};
  std::vector<std::byte> control_edges_;
};

// The builder ends the program when a file outgrows the format, so this has to come first. Every
// item is taken for larger than it can be.
Status Exporter::CheckSize(const std::string& name) const {
  constexpr std::int64_t kTableBytes = 256;
  std::int64_t total = static_cast<std::int64_t>(name.size()) + kTableBytes;
  const auto add = [&](std::size_t items, std::size_t bytes_each) {
    const auto bytes =
        CheckedMultiply(static_cast<std::int64_t>(items), static_cast<std::int64_t>(bytes_each));
    total = CheckedAdd(total, bytes.value_or(kMostBytes)).value_or(kMostBytes);
  };
  const auto add_attribute = [&](const graph::Attribute& value) {
    add(1, static_cast<std::size_t>(kTableBytes));
    if (const auto* text = std::get_if<std::string>(&value)) add(text->size(), 1);
    if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) add(ints->size(), 8);
    if (const auto* reals = std::get_if<std::vector<double>>(&value)) add(reals->size(), 8);
    if (const auto* data = std::get_if<graph::ConstantData>(&value)) add(data->bytes.size(), 1);
  };
  std::set<std::pair<const std::byte*, std::size_t>> seen;
  for (const Subgraph& subgraph : graph_.subgraphs) {
    add(subgraph.name.size() + static_cast<std::size_t>(kTableBytes), 1);
    add(subgraph.inputs.size() + subgraph.outputs.size(), 64);
    add(subgraph.control_edges.size(), 16);
    for (const Tensor& tensor : subgraph.tensors) {
      // Twice: as a tensor and, of inputs and outputs, in signatures.
      add(tensor.name.size() + static_cast<std::size_t>(kTableBytes), 2);
      if (tensor.shape) add(tensor.shape->size(), 8);
      if (tensor.quantization) add(tensor.quantization->scales.size(), 16);
      if (!tensor.data) continue;
      const auto& bytes = tensor.data->bytes;
      if (seen.emplace(bytes.data(), bytes.size()).second) {
        add(bytes.size() + kDataAlignment, 1);
      }
    }
    for (const graph::Op& op : subgraph.ops) {
      add(op.type.size() + 2 * static_cast<std::size_t>(kTableBytes), 1);
      add(op.inputs.size() + op.outputs.size(), 8);
      for (const auto& [key, value] : op.attributes) add_attribute(value);
    }
  }
  for (const graph::Signature& signature : graph_.signatures) {
    add(signature.key.size() + static_cast<std::size_t>(kTableBytes), 1);
    const Subgraph& subgraph = graph_.subgraphs[signature.subgraph];
    for (const auto* list : {&subgraph.inputs, &subgraph.outputs}) {
      for (const TensorId id : *list) add(subgraph.tensors[id].name.size() + 64, 1);
    }
  }
  if (total >= static_cast<std::int64_t>(FLATBUFFERS_MAX_BUFFER_SIZE)) {
    return Fail(BadInput("the model needs more than the 2 GiB that one .tflite file can hold"));
  }
  return {};
}

Offset<flatbuffers::Vector<std::uint8_t>> Exporter::AddBytes(std::span<const std::byte> bytes,
                                                             std::size_t alignment) {
  builder_.ForceVectorAlignment(bytes.size(), 1, alignment);
  return builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

Result<std::uint32_t> Exporter::BufferOf(const Tensor& tensor) {
  if (!tensor.constant && !tensor.data) return std::uint32_t{0};
  if (!tensor.data) return Fail(BadInput("is a constant without its data"));
  const auto& bytes = tensor.data->bytes;
  if (tensor.type != ElementType::kString) {
    NEAP_TRY(const std::int64_t expected, graph::TensorBytes(tensor));
    if (static_cast<std::int64_t>(bytes.size()) != expected) {
      return Fail(BadInput("holds " + std::to_string(bytes.size()) + " bytes, expected " +
                           std::to_string(expected)));
    }
  }
  if (bytes.empty()) return std::uint32_t{0};
  const auto [at, added] = buffer_index_.emplace(std::pair(bytes.data(), bytes.size()),
                                                 static_cast<std::uint32_t>(buffers_.size()));
  if (added) buffers_.push_back(bytes);
  return at->second;
}

Result<Offset<schema::QuantizationParameters>> Exporter::AddQuantization(const Tensor& tensor) {
  if (!tensor.quantization) return Offset<schema::QuantizationParameters>();
  const graph::Quantization& from = *tensor.quantization;
  if (from.scales.empty() || from.scales.size() != from.zero_points.size()) {
    return Fail(BadInput("has " + std::to_string(from.scales.size()) + " scales and " +
                         std::to_string(from.zero_points.size()) + " zero points"));
  }
  const auto scales = builder_.CreateVector(from.scales);
  const auto zero_points = builder_.CreateVector(from.zero_points);
  return schema::CreateQuantizationParameters(builder_, 0, 0, scales, zero_points,
                                              schema::QuantizationDetails::NONE, 0, from.axis);
}

// The reader makes handles 32-bit integers, and those of variables empty: here they get back what
// the format has for them.
Result<Offset<schema::Tensor>> Exporter::AddTensor(const Tensor& tensor, bool handle, bool made) {
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
  const Ints sizes = tensor.shape ? builder_.CreateVector(shape) : Ints();
  const Ints signature = dynamic ? builder_.CreateVector(shape) : Ints();
  const auto name = builder_.CreateString(tensor.name);
  return schema::CreateTensor(builder_, sizes, *type, buffer, name, quantization, tensor.variable,
                              0, signature, tensor.shape.has_value());
}

Result<std::uint32_t> Exporter::CodeOf(const Subgraph& subgraph, const graph::Op& op) {
  CodeKey key = {schema::BuiltinOperator::CUSTOM, op.type, 1};
  if (op.domain == "tflite") {
    const auto code = BuiltinOf(op.type);
    if (!code) return Fail(BadInput("there is no built-in operator of this type"));
    if (op.type.starts_with("STABLEHLO_")) {
      return Fail(BadInput("operators of StableHLO are not written"));
    }
    key = {*code, "", OpVersion(subgraph, op)};
  } else if (op.domain != "custom") {
    return Fail(BadInput("is of domain '" + op.domain +
                         "', expected an operator of TensorFlow Lite or a custom one"));
  }
  const auto [at, added] = code_index_.emplace(key, static_cast<std::uint32_t>(code_index_.size()));
  if (added) codes_.push_back(key);
  return at->second;
}

Result<Offset<schema::OperatorOptions>> Exporter::AddBodies(const graph::Op& op,
                                                            schema::OptionsKind* kind) {
  struct Caller {
    const char* type;
    schema::OptionsKind kind;
    std::size_t bodies;
  };
  constexpr std::array<Caller, 4> kCallers = {
      Caller{"IF", schema::OptionsKind::IfOptions, 2},
      Caller{"WHILE", schema::OptionsKind::WhileOptions, 2},
      Caller{"CALL", schema::OptionsKind::CallOptions, 1},
      Caller{"CALL_ONCE", schema::OptionsKind::CallOnceOptions, 1}};
  const auto* const caller = std::find_if(kCallers.begin(), kCallers.end(), [&](const Caller& c) {
    return op.domain == "tflite" && op.type == c.type;
  });
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
      return schema::CreateIfOptions(builder_, first, op.bodies[1].value()).o;
    case schema::OptionsKind::WhileOptions:
      return schema::CreateWhileOptions(builder_, first, op.bodies[1].value()).o;
    case schema::OptionsKind::CallOptions:
      return schema::CreateCallOptions(builder_, static_cast<std::uint32_t>(first)).o;
    default:
      return schema::CreateCallOnceOptions(builder_, first).o;
  }
}

std::vector<std::int32_t> NumbersOf(const std::vector<TensorId>& ids) {
  std::vector<std::int32_t> numbers;
  numbers.reserve(ids.size());
  for (const TensorId id : ids) numbers.push_back(id.value());
  return numbers;
}

Result<Offset<schema::Operator>> Exporter::AddOp(const Subgraph& subgraph, const graph::Op& op) {
  using Bytes = Offset<flatbuffers::Vector<std::uint8_t>>;
  using Ints = Offset<flatbuffers::Vector<std::int32_t>>;
  if (op.folded || !op.captures.empty()) {
    return Fail(BadInput("is folded or sees tensors around it, which is not in this format"));
  }
  const auto absent = [](TensorId id) { return !id.valid(); };
  if (std::any_of(op.outputs.begin(), op.outputs.end(), absent)) {
    return Fail(BadInput("has an output without a tensor: it writes over a graph input"));
  }
  NEAP_TRY(const std::uint32_t code, CodeOf(subgraph, op));
  auto kind = static_cast<schema::OptionsKind>(op.domain == "tflite" ? OptionsKindOf(op.type)
                                                                     : std::uint8_t{0});
  NEAP_TRY(Offset<schema::OperatorOptions> options, WriteOptions(op, kNoOptions, &builder_));
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
    intermediates = builder_.CreateVector(std::vector<std::int32_t>(list->begin(), list->end()));
  }
  std::vector<std::uint8_t> written;
  written.reserve(op.inputs.size());
  for (const TensorId id : op.inputs) {
    written.push_back(id.valid() && subgraph.tensors[id].variable ? 1 : 0);
  }
  const bool writes = std::find(written.begin(), written.end(), 1) != written.end();
  const auto inputs = builder_.CreateVector(NumbersOf(op.inputs));
  const auto outputs = builder_.CreateVector(NumbersOf(op.outputs));
  const Bytes mutating = writes ? builder_.CreateVector(written) : Bytes();
  return schema::CreateOperator(builder_, code, inputs, outputs, kind, options, custom, 0, mutating,
                                intermediates);
}

// Runtimes run operators as they stand in the file.
Status CheckOrder(const Subgraph& subgraph) {
  const auto producer = graph::Producers(subgraph);
  for (const OpId id : subgraph.ops.Ids()) {
    for (const TensorId input : subgraph.ops[id].inputs) {
      if (!input.valid() || !producer[input].valid() || producer[input] < id) continue;
      Diagnostic error = BadInput("is read before it is written");
      error.op = graph::Describe(id, subgraph.ops[id]);
      error.tensor = graph::Describe(input, subgraph.tensors[input]);
      return Fail(std::move(error));
    }
  }
  return {};
}

Result<Offset<schema::SubGraph>> Exporter::AddSubgraph(const Subgraph& subgraph) {
  NEAP_CHECK_OK(CheckOrder(subgraph));
  IdVector<TensorId, char> handle(subgraph.tensors.size(), 0);
  IdVector<TensorId, char> made(subgraph.tensors.size(), 0);
  for (const graph::Op& op : subgraph.ops) {
    if (op.domain != "tflite") continue;
    if (ReadsHandle(op) && !op.inputs.empty() && op.inputs[0].valid()) handle[op.inputs[0]] = 1;
    if (!MakesHandle(op)) continue;
    for (const TensorId id : op.outputs) {
      if (id.valid()) handle[id] = made[id] = 1;
    }
  }
  Offsets<schema::Tensor> tensors;
  for (const TensorId id : subgraph.tensors.Ids()) {
    auto tensor = AddTensor(subgraph.tensors[id], handle[id] != 0, made[id] != 0);
    if (!tensor) {
      tensor.error().tensor = graph::Describe(id, subgraph.tensors[id]);
      return Fail(std::move(tensor).error());
    }
    tensors.push_back(*tensor);
  }
  Offsets<schema::Operator> operators;
  for (const OpId id : subgraph.ops.Ids()) {
    auto op = AddOp(subgraph, subgraph.ops[id]);
    if (!op) return Fail(At(subgraph, id, std::move(op).error()));
    operators.push_back(*op);
  }
  const auto tensor_list = builder_.CreateVector(tensors);
  const auto inputs = builder_.CreateVector(NumbersOf(subgraph.inputs));
  const auto outputs = builder_.CreateVector(NumbersOf(subgraph.outputs));
  const auto operator_list = builder_.CreateVector(operators);
  const auto name = builder_.CreateString(subgraph.name);
  return schema::CreateSubGraph(builder_, tensor_list, inputs, outputs, operator_list, name);
}

// Callers know inputs and outputs of a signature by name: none may be empty or come twice.
Result<Offset<schema::SignatureDef>> Exporter::AddSignature(const graph::Signature& signature) {
  const Subgraph& subgraph = graph_.subgraphs[signature.subgraph];
  const auto add_maps = [&](const std::vector<TensorId>& ids) {
    std::set<std::string> taken;
    Offsets<schema::TensorMap> maps;
    for (const TensorId id : ids) {
      std::string name = subgraph.tensors[id].name;
      while (name.empty() || !taken.insert(name).second) {
        name.append(1, '#').append(std::to_string(id.value()));
      }
      maps.push_back(schema::CreateTensorMap(builder_, builder_.CreateString(name),
                                             static_cast<std::uint32_t>(id.value())));
    }
    return builder_.CreateVector(maps);
  };
  const auto inputs = add_maps(subgraph.inputs);
  const auto outputs = add_maps(subgraph.outputs);
  const auto key = builder_.CreateString(signature.key);
  return schema::CreateSignatureDef(builder_, inputs, outputs, key, 0,
                                    static_cast<std::uint32_t>(signature.subgraph.value()));
}

void Exporter::AddControlEdges(Offsets<schema::Metadata>* metadata) {
  ControlDependencies dependencies;
  bool any = false;
  for (const Subgraph& subgraph : graph_.subgraphs) {
    auto& edges = dependencies.emplace_back();
    for (const graph::ControlEdge& edge : subgraph.control_edges) {
      edges.push_back({edge.before.value(), edge.after.value()});
      any = true;
    }
  }
  if (!any) return;
  auto bytes =
      SerializeControlDependencies(dependencies, ShortestControlDependencies(dependencies));
  NEAP_CHECK(bytes, "the shortest form has its own size");
  control_edges_ = std::move(*bytes);
  const auto buffer = static_cast<std::uint32_t>(buffers_.size());
  buffers_.emplace_back(control_edges_);
  const auto name = builder_.CreateString(kControlDependenciesKey);
  metadata->push_back(schema::CreateMetadata(builder_, name, buffer));
}

std::vector<Offset<schema::Buffer>> Exporter::AddBuffers() {
  Offsets<schema::Buffer> list;
  for (const auto bytes : buffers_) {
    if (bytes.empty()) {
      list.push_back(schema::CreateBuffer(builder_));
    } else {
      const auto data = AddBytes(bytes, kDataAlignment);
      list.push_back(schema::CreateBuffer(builder_, data));
    }
  }
  return list;
}

Result<std::vector<std::byte>> Exporter::Run(const std::string& name) {
  NEAP_CHECK_OK(graph::Verify(graph_));
  if (graph_.subgraphs.empty()) return Fail(BadInput("the graph has no subgraph"));
  NEAP_CHECK_OK(CheckSize(name));
  Offsets<schema::SubGraph> subgraphs;
  for (const Subgraph& subgraph : graph_.subgraphs) {
    NEAP_TRY(const auto added, AddSubgraph(subgraph));
    subgraphs.push_back(added);
  }
  Offsets<schema::SignatureDef> signatures;
  for (const graph::Signature& signature : graph_.signatures) {
    NEAP_TRY(const auto added, AddSignature(signature));
    signatures.push_back(added);
  }
  Offsets<schema::OperatorCode> codes;
  for (const auto& [code, custom, version] : codes_) {
    // Old runtimes know the first 127 codes only, in a byte of their own.
    const auto old_code = static_cast<std::int8_t>(std::min(
        static_cast<std::int32_t>(code),
        static_cast<std::int32_t>(schema::BuiltinOperator::PLACEHOLDER_FOR_GREATER_OP_CODES)));
    const auto text = code == schema::BuiltinOperator::CUSTOM ? builder_.CreateString(custom)
                                                              : Offset<flatbuffers::String>();
    codes.push_back(schema::CreateOperatorCode(builder_, old_code, text, version, code));
  }
  Offsets<schema::Metadata> metadata;
  AddControlEdges(&metadata);
  const Offsets<schema::Buffer> buffers = AddBuffers();
  const auto code_list = builder_.CreateVector(codes);
  const auto subgraph_list = builder_.CreateVector(subgraphs);
  const auto description = builder_.CreateString(name);
  const auto buffer_list = builder_.CreateVector(buffers);
  const auto metadata_list = builder_.CreateVector(metadata);
  const auto signature_list = builder_.CreateVector(signatures);
  builder_.Finish(schema::CreateModel(builder_, kFormatVersion, code_list, subgraph_list,
                                      description, buffer_list, 0, metadata_list, signature_list),
                  schema::ModelIdentifier());
  const auto* begin = reinterpret_cast<const std::byte*>(builder_.GetBufferPointer());
  return std::vector<std::byte>(begin, begin + builder_.GetSize());
}

}  // namespace

Result<std::vector<std::byte>> Export(const graph::Graph& graph, const std::string& name) {
  return Exporter(graph).Run(name);
}

}  // namespace neap::formats::tflite
