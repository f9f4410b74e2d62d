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
#include "neap_onnx.pb.h"

namespace neap::formats::onnx {
namespace {

using graph::ElementType;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;
using neap::onnx::AttributeProto;
using neap::onnx::GraphProto;
using neap::onnx::ModelProto;
using neap::onnx::NodeProto;
using neap::onnx::TypeProto;
using neap::onnx::ValueInfoProto;

constexpr std::int64_t kIrVersion = 8;  // the one that came with opset 17
constexpr std::int64_t kOpset = 17;
constexpr std::size_t kMostModelBytes = std::numeric_limits<std::int32_t>::max();

// Codes of AttributeProto.type.
enum AttributeCode : std::int32_t {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
};

// Codes of TensorProto.data_type that IR version 8 knows and that raw bytes can hold.
std::optional<std::int32_t> CodeOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return 1;
    case ElementType::kUint8:
      return 2;
    case ElementType::kInt8:
      return 3;
    case ElementType::kUint16:
      return 4;
    case ElementType::kInt16:
      return 5;
    case ElementType::kInt32:
      return 6;
    case ElementType::kInt64:
      return 7;
    case ElementType::kBool:
      return 9;
    case ElementType::kFloat16:
      return 10;
    case ElementType::kFloat64:
      return 11;
    case ElementType::kUint32:
      return 12;
    case ElementType::kUint64:
      return 13;
    case ElementType::kComplex64:
      return 14;
    case ElementType::kComplex128:
      return 15;
    case ElementType::kBfloat16:
      return 16;
    default:
      return std::nullopt;
  }
}

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
    const auto code = CodeOf(tensor.type);
    if (!code) return Fail(At(id, NoSuchType(tensor.type)));
    info->set_name(names_[id]);
    TypeProto::Tensor* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(*code);
    if (!tensor.shape) return {};
    auto* shape = type->mutable_shape();
    for (std::size_t i = 0; i < tensor.shape->size(); ++i) {
      auto* dimension = shape->add_dim();
      if ((*tensor.shape)[i] >= 0) {
        dimension->set_dim_value((*tensor.shape)[i]);
      } else if (i < tensor.symbols.size() && !tensor.symbols[i].empty()) {
        dimension->set_dim_param(tensor.symbols[i]);
      }
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
      NEAP_CHECK_OK(FillValueInfo(id, out_->add_input()));
    }
    return {};
  }

  Status AddInitializers() {
    for (const TensorId id : subgraph_.tensors.Ids()) {
      const Tensor& tensor = subgraph_.tensors[id];
      if (!tensor.constant || producer_[id].valid()) continue;
      const auto code = CodeOf(tensor.type);
      if (!code) return Fail(At(id, NoSuchType(tensor.type)));
      auto bytes = graph::TensorBytes(tensor);
      if (!bytes) return Fail(At(id, std::move(bytes).error()));
      if (!tensor.data) return Fail(At(id, BadInput("is a constant without its data")));
      const auto& data = tensor.data->bytes;
      if (static_cast<std::int64_t>(data.size()) != *bytes) {
        return Fail(At(id, BadInput("holds " + std::to_string(data.size()) + " bytes, expected " +
                                    std::to_string(*bytes))));
      }
      auto* initializer = out_->add_initializer();
      initializer->set_name(names_[id]);
      initializer->set_data_type(*code);
      for (const std::int64_t dimension : *tensor.shape) initializer->add_dims(dimension);
      initializer->set_raw_data(data.data(), data.size());
      written_[id] = true;
    }
    return {};
  }

  Status AddNode(OpId id) {
    const graph::Op& op = subgraph_.ops[id];
    if (!op.bodies.empty() || !op.captures.empty()) {
      return Fail(At(id, BadInput("has bodies, expected an operator without control flow")));
    }
    NodeProto* node = out_->add_node();
    node->set_op_type(op.type);
    if (!op.name.empty()) node->set_name(op.name);
    if (!op.domain.empty()) {
      node->set_domain(op.domain);
      domains_.insert(op.domain);
    }
    for (const TensorId input : op.inputs) {
      if (input.valid() && !written_[input]) {
        return Fail(At(id, At(input, BadInput("is read before it is written"))));
      }
      node->add_input(input.valid() ? names_[input] : "");
    }
    for (const TensorId output : op.outputs) {
      node->add_output(output.valid() ? names_[output] : "");
      if (output.valid()) NEAP_CHECK_OK(AddResult(output));
    }
    for (const auto& [name, value] : op.attributes) {
      AttributeProto* attribute = node->add_attribute();
      attribute->set_name(name);
      if (!SetAttribute(value, attribute)) {
        return Fail(At(id, BadInput("attribute '" + name + "' is bytes of unknown type")));
      }
    }
    return {};
  }

  // value_info is for what is neither input nor output of the graph.
  Status AddResult(TensorId id) {
    written_[id] = true;
    for (const TensorId output : subgraph_.outputs) {
      if (output == id) return {};
    }
    return FillValueInfo(id, out_->add_value_info());
  }

  Status AddOutputs() {
    for (const TensorId id : subgraph_.outputs) {
      if (!written_[id]) return Fail(At(id, BadInput("is a graph output that nothing writes")));
      NEAP_CHECK_OK(FillValueInfo(id, out_->add_output()));
    }
    return {};
  }

  // False for raw bytes, whose type and shape an attribute of the graph does not tell.
  static bool SetAttribute(const graph::Attribute& value, AttributeProto* out) {
    if (const auto* i = std::get_if<std::int64_t>(&value)) {
      out->set_type(kInt);
      out->set_i(*i);
    } else if (const auto* f = std::get_if<double>(&value)) {
      out->set_type(kFloat);
      out->set_f(static_cast<float>(*f));
    } else if (const auto* s = std::get_if<std::string>(&value)) {
      out->set_type(kString);
      out->set_s(*s);
    } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) {
      out->set_type(kInts);
      for (const std::int64_t item : *ints) out->add_ints(item);
    } else if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
      out->set_type(kFloats);
      for (const double item : *floats) out->add_floats(static_cast<float>(item));
    } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
      out->set_type(kStrings);
      for (const std::string& item : *strings) out->add_strings(item);
    } else {
      return false;
    }
    return true;
  }

  const Subgraph& subgraph_;
  IdVector<TensorId, OpId> producer_;
  IdVector<TensorId, char> written_;
  IdVector<TensorId, std::string> names_;
  std::set<std::string> domains_;
  GraphProto* out_;
};

void AddOpset(const std::string& domain, std::int64_t version, ModelProto* model) {
  auto* opset = model->add_opset_import();
  opset->set_domain(domain);
  opset->set_version(version);
}

}  // namespace

Result<std::vector<std::byte>> Export(const graph::Graph& graph, const std::string& name) {
  NEAP_CHECK_OK(graph::Verify(graph));
  if (graph.subgraphs.empty()) return Fail(BadInput("the graph has no subgraph"));
  ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("neap");
  model.mutable_graph()->set_name(name);
  Exporter exporter(graph.subgraphs[SubgraphId(0)], model.mutable_graph());
  NEAP_CHECK_OK(exporter.Run());
  AddOpset("", kOpset, &model);
  for (const std::string& domain : exporter.Domains()) AddOpset(domain, 1, &model);
  const std::size_t size = model.ByteSizeLong();
  if (size > kMostModelBytes) {
    return Fail(BadInput("the model has " + std::to_string(size) +
                         " bytes, more than the 2 GiB that one .onnx file can hold"));
  }
  std::vector<std::byte> bytes(size);
  if (!model.SerializeToArray(bytes.data(), static_cast<int>(size))) {
    return Fail(BadInput("the model could not be written"));
  }
  return bytes;
}

}  // namespace neap::formats::onnx
