// SPDX-License-Identifier: Apache-2.0
//
// A new file from a graph. Parts that the reader leaves out of the graph (other forms of
// quantisation, sparse constants, examples beside dynamic sizes) are not written, so a caller with
// a graph from a file that needs them has to refuse it.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/formats/tflite/control_dependencies.h"
#include "neap/formats/tflite/model_view.h"
#include "neap/formats/tflite/parts.h"
#include "neap/formats/tflite/tflite.h"
#include "neap/ops/op_table.h"

namespace neap::formats::tflite {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

constexpr std::uint32_t kFormatVersion = 3;
bool MakesHandle(const graph::Op& op) { return Is(op, OpKind::kVarHandle, OpKind::kHashtable); }
bool ReadsHandle(const graph::Op& op) {
  return Is(op, OpKind::kReadVariable, OpKind::kAssignVariable, OpKind::kHashtableFind,
            OpKind::kHashtableImport, OpKind::kHashtableSize);
}

class Exporter {
 public:
  explicit Exporter(const graph::Graph& graph) : graph_(graph), parts_(&builder_, {}, 0) {}

  Result<std::vector<std::byte>> Run(const std::string& name);

 private:
  template <typename T>
  using Offsets = PartWriter::Offsets<T>;

  Status CheckSize(const std::string& name) const;
  Result<Offset<schema::SubGraph>> AddSubgraph(const Subgraph& subgraph);
  Result<Offset<schema::SignatureDef>> AddSignature(const graph::Signature& signature);
  void AddControlEdges(Offsets<schema::Metadata>* metadata);

  const graph::Graph& graph_;
  FlatBufferBuilder builder_;
  PartWriter parts_;
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
    total = CheckedAdd(total, bytes.value_or(kMaxBytes)).value_or(kMaxBytes);
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

// Runtimes run operators in the order of the file.
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
    auto tensor = parts_.AddTensor(subgraph.tensors[id], handle[id] != 0, made[id] != 0);
    if (!tensor) {
      tensor.error().tensor = graph::Describe(id, subgraph.tensors[id]);
      return Fail(std::move(tensor).error());
    }
    tensors.push_back(*tensor);
  }
  return parts_.AddSubgraph(subgraph, tensors);
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
  const std::uint32_t buffer = parts_.NewBuffer(control_edges_);
  const auto name = builder_.CreateString(kControlDependenciesKey);
  metadata->push_back(schema::CreateMetadata(builder_, name, buffer));
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
  const Offsets<schema::OperatorCode> codes = parts_.AddCodes();
  Offsets<schema::Metadata> metadata;
  AddControlEdges(&metadata);
  const Offsets<schema::Buffer> buffers = parts_.AddBuffers();
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
