// SPDX-License-Identifier: Apache-2.0
//
// An edited .onnx file: the parsed message with nodes moved, dropped, added or renamed at their
// ends. In ONNX a tensor is its name, so that a node that reads another tensor gets another name;
// unreferenced parts are left out.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "neap/formats/onnx/model.h"
#include "neap/formats/onnx/onnx.h"
#include "neap/formats/onnx/parts.h"
#include "neap/formats/onnx/serialise.h"

namespace neap::formats::onnx {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;

class ScopeEditor {
 public:
  ScopeEditor(const Subgraph& before, const Subgraph& after, bool declare_shapes,
              bool initializers_are_inputs, pb::GraphProto* graph)
      : before_(before),
        after_(after),
        declare_shapes_(declare_shapes),
        initializers_are_inputs_(initializers_are_inputs),
        graph_(graph) {}

  Status Run(std::set<std::string>* domains) {
    CopyTensorAttributes();
    NEAP_CHECK_OK(EditNodes(domains));
    NEAP_CHECK_OK(ChangeEnds(before_.inputs, after_.inputs, &graph_->input));
    NEAP_CHECK_OK(ChangeEnds(before_.outputs, after_.outputs, &graph_->output));
    DropUnused();
    return AddTensors();
  }

 private:
  // A graph has the values of a tensor that is an attribute, not its shape: a new operator that has
  // the same values as one of the file gets the attribute of the file.
  void CopyTensorAttributes() {
    std::map<const void*, std::pair<OpId, std::string>> known;
    for (const OpId id : before_.ops.Ids()) {
      for (const auto& [name, value] : before_.ops[id].attributes) {
        const auto* data = std::get_if<graph::ConstantData>(&value);
        if (data != nullptr) known.emplace(data->owner.get(), std::pair(id, name));
      }
    }
    for (const Op& op : after_.ops) {
      if (op.source_index >= 0) continue;
      for (const auto& [name, value] : op.attributes) {
        const auto* data = std::get_if<graph::ConstantData>(&value);
        const auto found = data == nullptr ? known.end() : known.find(data->owner.get());
        if (found == known.end() || found->second.second != name) continue;
        const pb::NodeProto& node = graph_->node[found->second.first.index()];
        for (const pb::AttributeProto& attribute : node.attribute) {
          if (attribute.name == name) tensor_attributes_[data->owner.get()] = attribute;
        }
      }
    }
  }

  Status EditNodes(std::set<std::string>* domains) {
    std::vector<pb::NodeProto> nodes;
    nodes.reserve(after_.ops.size());
    for (const OpId id : after_.ops.Ids()) {
      const Op& op = after_.ops[id];
      pb::NodeProto* node = &nodes.emplace_back();
      if (op.source_index >= 0) {
        *node = std::move(graph_->node[static_cast<std::size_t>(op.source_index)]);
        NEAP_CHECK_OK(Rewire(id, before_.ops[OpId(op.source_index)], node));
        continue;
      }
      NEAP_CHECK_OK(FillNode(id, node));
      domains->insert(op.domain);
    }
    graph_->node = std::move(nodes);
    return {};
  }

  const std::string& NameOf(TensorId id) const { return after_.tensors[id].name; }

  Status Rewire(OpId id, const Op& before, pb::NodeProto* node) const {
    const Op& op = after_.ops[id];
    const bool same_ends =
        op.inputs.size() == before.inputs.size() && op.outputs.size() == before.outputs.size() &&
        op.inputs.size() == node->input.size() && op.outputs.size() == node->output.size();
    if (!same_ends) {
      return Fail(graph::AtOp(UsageError("has a different number of inputs or outputs"), id,
                              after_.ops[id]));
    }
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == before.inputs[i]) continue;
      node->input[i] = op.inputs[i].valid() ? NameOf(op.inputs[i]) : "";
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (op.outputs[i] == before.outputs[i]) continue;
      node->output[i] = op.outputs[i].valid() ? NameOf(op.outputs[i]) : "";
    }
    return {};
  }

  Status FillNode(OpId id, pb::NodeProto* node) const {
    const Op& op = after_.ops[id];
    node->op_type = op.type;
    if (!op.name.empty()) node->name = op.name;
    if (!op.domain.empty()) node->domain = op.domain;
    for (const TensorId input : op.inputs)
      node->input.emplace_back(input.valid() ? NameOf(input) : "");
    for (const TensorId output : op.outputs)
      node->output.emplace_back(output.valid() ? NameOf(output) : "");
    for (const auto& [name, value] : op.attributes) {
      if (IsTypeOfTensor(op, name)) continue;
      pb::AttributeProto* attribute = &node->attribute.emplace_back();
      if (const auto* data = std::get_if<graph::ConstantData>(&value)) {
        const auto known = tensor_attributes_.find(data->owner.get());
        if (known != tensor_attributes_.end()) {
          *attribute = known->second;
          continue;
        }
      }
      attribute->name = name;
      if (!SetAttribute(value, attribute)) {
        return Fail(graph::AtOp(BadInput("attribute '" + name + "' is bytes of unknown type"), id,
                                after_.ops[id]));
      }
    }
    return {};
  }

  // "value.type", which the reader keeps beside the tensor "value".
  static bool IsTypeOfTensor(const Op& op, const std::string& name) {
    constexpr std::string_view kType = ".type";
    if (!name.ends_with(kType)) return false;
    const auto tensor = op.attributes.find(name.substr(0, name.size() - kType.size()));
    return tensor != op.attributes.end() &&
           std::holds_alternative<graph::ConstantData>(tensor->second);
  }

  // Other tensors in the place of inputs or outputs: of the same shape, so that dimensions keep
  // their symbols.
  Status ChangeEnds(const std::vector<TensorId>& was, const std::vector<TensorId>& is,
                    std::vector<pb::ValueInfoProto>* infos) {
    for (std::size_t i = 0; i < is.size(); ++i) {
      if (is[i] == was[i]) continue;
      const Tensor& tensor = after_.tensors[is[i]];
      const auto at = std::find_if(infos->begin(), infos->end(), [&](const auto& info) {
        return info.name == before_.tensors[was[i]].name;
      });
      pb::ValueInfoProto typed;
      const bool fits = at != infos->end() && at->type && at->type->tensor_type &&
                        before_.tensors[was[i]].shape == tensor.shape &&
                        FillValueInfo(tensor, tensor.name, &typed);
      if (!fits) {
        Diagnostic error = BadInput("cannot replace an input or output");
        error.tensor = graph::Describe(is[i], tensor);
        return Fail(std::move(error));
      }
      at->name = tensor.name;
      at->type->tensor_type->elem_type = typed.type->tensor_type->elem_type;
      std::erase_if(graph_->value_info,
                    [&](const auto& described) { return described.name == tensor.name; });
    }
    return {};
  }

  // Names that some node of this graph, or of a body in it, still reads or writes.
  static void CollectNames(const pb::GraphProto& graph, std::set<std::string>* names) {
    for (const auto& output : graph.output) names->insert(output.name.str());
    for (const pb::NodeProto& node : graph.node) {
      for (const pb::Text& input : node.input) names->insert(input.str());
      for (const pb::Text& output : node.output) names->insert(output.str());
      for (const auto& attribute : node.attribute) {
        if (attribute.g) CollectNames(*attribute.g, names);
        for (const auto& body : attribute.graphs) CollectNames(body, names);
      }
    }
  }

  template <typename Items>
  static void KeepIf(Items* items, const std::set<std::string>& names,
                     const std::set<std::string>& dropped) {
    std::erase_if(*items, [&](const auto& item) {
      const std::string name = item.name.str();
      return dropped.count(name) != 0 && names.count(name) == 0;
    });
  }

  // Only parts that the edit has made unused: the rest stays as in the file.
  void DropUnused() {
    std::set<std::string> dropped;
    const auto note = [&](TensorId id) {
      if (id.valid()) dropped.insert(before_.tensors[id].name);
    };
    for (const Op& op : before_.ops) {
      std::for_each(op.inputs.begin(), op.inputs.end(), note);
      std::for_each(op.outputs.begin(), op.outputs.end(), note);
    }
    std::set<std::string> names;
    CollectNames(*graph_, &names);
    for (const TensorId input : after_.inputs) names.insert(after_.tensors[input].name);
    KeepIf(&graph_->initializer, names, dropped);
    KeepIf(&graph_->value_info, names, dropped);
    KeepIf(&graph_->input, names, dropped);
  }

  Status AddTensors() {
    const auto producer = graph::Producers(after_);
    for (std::size_t i = before_.tensors.size(); i < after_.tensors.size(); ++i) {
      const TensorId id(i);
      const Tensor& tensor = after_.tensors[id];
      const auto refuse = [&](Diagnostic error) {
        error.tensor = graph::Describe(id, tensor);
        return Fail(std::move(error));
      };
      if (tensor.constant && !producer[id].valid()) {
        if (Status filled =
                FillInitializer(tensor, tensor.name, &graph_->initializer.emplace_back());
            !filled) {
          return refuse(std::move(filled).error());
        }
        if (initializers_are_inputs_)
          FillValueInfo(tensor, tensor.name, &graph_->input.emplace_back());
        continue;
      }
      pb::ValueInfoProto* info = &graph_->value_info.emplace_back();
      if (!FillValueInfo(tensor, tensor.name, info)) {
        return refuse(BadInput("has an element type that the format does not have"));
      }
      if (!declare_shapes_) info->type->tensor_type->shape.Clear();
    }
    return {};
  }

  const Subgraph& before_;
  const Subgraph& after_;
  bool declare_shapes_;
  bool initializers_are_inputs_;
  pb::GraphProto* graph_;
  std::map<const void*, pb::AttributeProto> tensor_attributes_;  // by the owner of their values
};

bool IsChanged(const Subgraph& before, const Subgraph& after) {
  if (before.inputs != after.inputs || before.outputs != after.outputs) return true;
  if (before.ops.size() != after.ops.size() || before.tensors.size() != after.tensors.size()) {
    return true;
  }
  for (const OpId id : after.ops.Ids()) {
    const Op& op = after.ops[id];
    if (op.source_index != id.value() || op.inputs != before.ops[id].inputs ||
        op.outputs != before.ops[id].outputs) {
      return true;
    }
  }
  return false;
}

void CollectAllNames(const pb::GraphProto& graph, std::set<std::string>* names) {
  for (const auto& input : graph.input) names->insert(input.name.str());
  for (const auto& constant : graph.initializer) names->insert(constant.name.str());
  for (const auto& constant : graph.sparse_initializer) names->emplace(constant.Name());
  for (const pb::NodeProto& node : graph.node) {
    for (const pb::Text& input : node.input) names->insert(input.str());
    for (const pb::Text& output : node.output) names->insert(output.str());
    for (const auto& attribute : node.attribute) {
      if (attribute.g) CollectAllNames(*attribute.g, names);
      for (const auto& body : attribute.graphs) CollectAllNames(body, names);
    }
  }
}

// A body sees the names around it, so that a new one must be new in the whole file.
Status CheckNewNames(const SourceModel& model, const graph::Graph& edited,
                     const pb::GraphProto& graph) {
  std::set<std::string> names;
  CollectAllNames(graph, &names);
  for (const SubgraphId s : edited.subgraphs.Ids()) {
    const Subgraph& subgraph = edited.subgraphs[s];
    for (std::size_t i = model.graph.subgraphs[s].tensors.size(); i < subgraph.tensors.size();
         ++i) {
      const TensorId id(i);
      const std::string& name = subgraph.tensors[id].name;
      if (!name.empty() && names.insert(name).second) continue;
      Diagnostic error = UsageError("a new tensor has no name, or one that is taken");
      error.tensor = graph::Describe(id, subgraph.tensors[id]);
      return Fail(std::move(error));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> WriteEdited(const SourceModel& model, const graph::Graph& edited,
                                           bool declare_shapes) {
  NEAP_TRY(const auto parsed, ParseModel(*model.bytes, model.path));
  NEAP_TRY(const auto scopes, ListScopes(parsed.get()));
  if (scopes.size() != edited.subgraphs.size()) {
    return Fail(UsageError("the edited graph describes another file"));
  }
  NEAP_CHECK_OK(CheckNewNames(model, edited, *parsed->graph));
  const bool old_file = parsed->ir_version.value_or(0) < kFirstIrVersionWithoutInputs;
  std::set<std::string> domains;
  // Inner graphs first: a node that is moved takes its bodies with it.
  for (std::size_t i = scopes.size(); i-- > 0;) {
    const SubgraphId id(i);
    const Subgraph& before = model.graph.subgraphs[id];
    const Subgraph& after = edited.subgraphs[id];
    if (!IsChanged(before, after)) continue;
    if (scopes[i].graph->node.size() != before.ops.size()) {
      return Fail(UsageError("the graph and the bytes of the model differ"));
    }
    ScopeEditor editor(before, after, declare_shapes, old_file && i == 0, scopes[i].graph);
    NEAP_CHECK_OK(editor.Run(&domains));
  }
  for (const std::string& domain : domains) {
    const auto& imports = parsed->opset_import;
    const auto names = [&](const auto& import) {
      return import.domain == domain || (domain.empty() && import.domain == "ai.onnx");
    };
    // A file that names none at all is read as one of the newest default set.
    if (imports.empty() && domain.empty()) continue;
    if (std::any_of(imports.begin(), imports.end(), names)) continue;
    return Fail(BadInput("has no operator set '" + domain + "' for a new operator"));
  }
  return Serialise(*parsed);
}

}  // namespace neap::formats::onnx
