// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "neap/formats/onnx/onnx.h"
#include "neap/formats/onnx/parts.h"
#include "neap/formats/onnx/wire.h"

namespace neap::formats::onnx {
namespace {

using graph::ElementType;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;
using pb::AttributeProto;
using pb::GraphProto;
using pb::ModelProto;
using pb::NodeProto;
using pb::ValueInfoProto;

constexpr std::int64_t kIrVersion = 8;  // the one that came with opset 17
constexpr std::int64_t kOpset = 17;
constexpr std::uint64_t kMaxModelBytes = std::numeric_limits<std::int32_t>::max();

class Exporter {
 public:
  Exporter(const Subgraph& subgraph, GraphProto* out)
      : subgraph_(subgraph),
        producer_(graph::Producers(subgraph)),
        written_(subgraph.tensors.size(), false),
        out_(out) {}

  Status Run() {
    NameTensors();
    NEAP_CHECK_OK(AddInputs());
    NEAP_CHECK_OK(AddInitializers());
    for (const OpId id : subgraph_.ops.Ids()) NEAP_CHECK_OK(AddNode(id));
    return AddOutputs();
  }

  // Domains of the operators other than the default one.
  const std::set<std::string>& Domains() const { return domains_; }

 private:
  Diagnostic At(TensorId id, Diagnostic diagnostic) const {
    diagnostic.tensor = graph::Describe(id, subgraph_.tensors[id]);
    return diagnostic;
  }
  Diagnostic At(OpId id, Diagnostic diagnostic) const {
    diagnostic.op = graph::Describe(id, subgraph_.ops[id]);
    return diagnostic;
  }

  // In ONNX the name is the tensor: none may be empty or given twice.
  void NameTensors() {
    std::set<std::string> taken;
    names_.resize(subgraph_.tensors.size());
    for (const TensorId id : subgraph_.tensors.Ids()) {
      std::string name = subgraph_.tensors[id].name;
      while (name.empty() || !taken.insert(name).second) {
        name.append(1, '#').append(std::to_string(id.value()));
      }
      names_[id] = std::move(name);
    }
  }

  Status FillValueInfo(TensorId id, ValueInfoProto* info) const {
    const Tensor& tensor = subgraph_.tensors[id];
    if (!onnx::FillValueInfo(tensor, names_[id], info)) {
      return Fail(At(id, NoSuchType(tensor.type)));
    }
    return {};
  }

  static Diagnostic NoSuchType(ElementType type) {
    return BadInput("has element type " + std::string(graph::NameOf(type)) +
                    ", which a tensor of opset 17 cannot have");
  }

  Status AddInputs() {
    for (const TensorId id : subgraph_.inputs) {
      written_[id] = true;
      NEAP_CHECK_OK(FillValueInfo(id, &out_->input.emplace_back()));
    }
    return {};
  }

  Status AddInitializers() {
    for (const TensorId id : subgraph_.tensors.Ids()) {
      const Tensor& tensor = subgraph_.tensors[id];
      if (!tensor.constant || producer_[id].valid()) continue;
      if (!TypeCodeOf(tensor.type)) return Fail(At(id, NoSuchType(tensor.type)));
      if (Status filled = FillInitializer(tensor, names_[id], &out_->initializer.emplace_back());
          !filled) {
        return Fail(At(id, std::move(filled).error()));
      }
      written_[id] = true;
    }
    return {};
  }

  Status AddNode(OpId id) {
    const graph::Op& op = subgraph_.ops[id];
    if (!op.bodies.empty() || !op.captures.empty()) {
      return Fail(At(id, BadInput("has bodies, expected an operator without control flow")));
    }
    NodeProto* node = &out_->node.emplace_back();
    node->op_type = op.type;
    if (!op.name.empty()) node->name = op.name;
    if (!op.domain.empty()) {
      node->domain = op.domain;
      domains_.insert(op.domain);
    }
    for (const TensorId input : op.inputs) {
      if (input.valid() && !written_[input]) {
        return Fail(At(id, At(input, BadInput("is read before it is written"))));
      }
      node->input.emplace_back(input.valid() ? names_[input] : "");
    }
    for (const TensorId output : op.outputs) {
      node->output.emplace_back(output.valid() ? names_[output] : "");
      if (output.valid()) NEAP_CHECK_OK(AddResult(output));
    }
    for (const auto& [name, value] : op.attributes) {
      AttributeProto* attribute = &node->attribute.emplace_back();
      attribute->name = name;
      if (!SetAttribute(value, attribute)) {
        return Fail(At(id, BadInput("attribute '" + name + "' is bytes of unknown type")));
      }
    }
    return {};
  }

  // value_info is for tensors that are neither inputs nor outputs of the graph.
  Status AddResult(TensorId id) {
    written_[id] = true;
    for (const TensorId output : subgraph_.outputs) {
      if (output == id) return {};
    }
    return FillValueInfo(id, &out_->value_info.emplace_back());
  }

  Status AddOutputs() {
    for (const TensorId id : subgraph_.outputs) {
      if (!written_[id]) return Fail(At(id, BadInput("is a graph output without a producer")));
      NEAP_CHECK_OK(FillValueInfo(id, &out_->output.emplace_back()));
    }
    return {};
  }

  const Subgraph& subgraph_;
  IdVector<TensorId, OpId> producer_;
  IdVector<TensorId, char> written_;
  IdVector<TensorId, std::string> names_;
  std::set<std::string> domains_;
  GraphProto* out_;
};

void AddOpset(const std::string& domain, std::int64_t version, ModelProto* model) {
  pb::OperatorSetIdProto& opset = model->opset_import.emplace_back();
  opset.domain = domain;
  opset.version = version;
}

}  // namespace

Result<std::vector<std::byte>> Export(const graph::Graph& graph, const std::string& name) {
  NEAP_CHECK_OK(graph::Verify(graph));
  if (graph.subgraphs.empty()) return Fail(BadInput("the graph has no subgraph"));
  ModelProto model;
  model.ir_version = kIrVersion;
  model.producer_name = "neap";
  GraphProto& out = model.graph.Make();
  out.name = name;
  Exporter exporter(graph.subgraphs[SubgraphId(0)], &out);
  NEAP_CHECK_OK(exporter.Run());
  AddOpset("", kOpset, &model);
  for (const std::string& domain : exporter.Domains()) AddOpset(domain, 1, &model);
  const WireWriter writer(model);
  if (writer.size() > kMaxModelBytes) {
    return Fail(BadInput("the model has " + std::to_string(writer.size()) +
                         " bytes, more than the 2 GiB that one .onnx file can hold"));
  }
  return writer.Write();
}

}  // namespace neap::formats::onnx
