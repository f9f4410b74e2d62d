// SPDX-License-Identifier: Apache-2.0
//
// A part of an .onnx file: the parsed message with fewer nodes, and other inputs and outputs.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neap/formats/onnx/model.h"
#include "neap/formats/onnx/onnx.h"
#include "neap/formats/onnx/parts.h"
#include "neap/formats/onnx/serialise.h"

namespace neap::formats::onnx {
namespace {

using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

constexpr int kExternal = 1;  // TensorProto.data_location

// Every name that nodes and their bodies read; of bodies also their outputs, which is harmless.
void CollectReads(const pb::NodeProto& node, std::set<std::string>* names) {
  for (const pb::Text& input : node.input) names->insert(input.str());
  std::vector<const pb::GraphProto*> bodies;
  const auto add_bodies = [&](const pb::NodeProto& of) {
    for (const auto& attribute : of.attribute) {
      if (attribute.g) bodies.push_back(&*attribute.g);
      for (const auto& body : attribute.graphs) bodies.push_back(&body);
    }
  };
  add_bodies(node);
  while (!bodies.empty()) {
    const pb::GraphProto* body = bodies.back();
    bodies.pop_back();
    for (const auto& output : body->output) names->insert(output.name.str());
    for (const pb::NodeProto& inner : body->node) {
      for (const pb::Text& input : inner.input) names->insert(input.str());
      add_bodies(inner);
    }
  }
}

class Part {
 public:
  Part(const Subgraph& subgraph, const ModelPart& part, bool old_file, pb::GraphProto* graph)
      : subgraph_(subgraph), part_(part), old_file_(old_file), graph_(graph) {}

  Status Run() {
    KeepNodes(WithFolded());
    KeepNamed(&graph_->initializer);
    NEAP_CHECK_OK(CheckInitializers());
    KeepSparse();
    const auto declared = Declared();
    NEAP_CHECK_OK(Declare(part_.inputs, declared, &inputs_));
    NEAP_CHECK_OK(Declare(part_.outputs, declared, &outputs_));
    if (old_file_) {
      for (const auto& initializer : graph_->initializer) {
        const auto found = declared.find(initializer.name.str());
        if (found != declared.end()) inputs_.push_back(found->second);
      }
    }
    graph_->input = std::move(inputs_);
    graph_->output = std::move(outputs_);
    KeepNamed(&graph_->value_info);
    return {};
  }

 private:
  // The operators of the part after those that compute its constants, which have to be here, too.
  std::vector<OpId> WithFolded() const {
    const auto producers = graph::Producers(subgraph_);
    IdVector<OpId, char> needed(subgraph_.ops.size(), 0);
    std::vector<OpId> open = part_.ops;
    std::vector<OpId> folded;
    while (!open.empty()) {
      const OpId id = open.back();
      open.pop_back();
      const graph::Op& op = subgraph_.ops[id];
      for (const auto* list : {&op.inputs, &op.captures}) {
        for (const TensorId tensor : *list) {
          const OpId producer = tensor.valid() ? producers[tensor] : OpId();
          if (!producer.valid() || !subgraph_.ops[producer].folded || needed[producer] != 0) {
            continue;
          }
          needed[producer] = 1;
          folded.push_back(producer);
          open.push_back(producer);
        }
      }
    }
    // Topological order among the folded ones, by Kahn's algorithm.
    std::map<OpId, int> waiting;
    std::map<OpId, std::vector<OpId>> readers;
    std::vector<OpId> order;
    std::sort(folded.begin(), folded.end());
    for (const OpId id : folded) {
      int before = 0;
      for (const TensorId tensor : subgraph_.ops[id].inputs) {
        const OpId producer = tensor.valid() ? producers[tensor] : OpId();
        if (!producer.valid()) continue;
        readers[producer].push_back(id);
        ++before;
      }
      waiting[id] = before;
      if (before == 0) order.push_back(id);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const OpId reader : readers[order[i]]) {
        if (--waiting[reader] == 0) order.push_back(reader);
      }
    }
    order.insert(order.end(), part_.ops.begin(), part_.ops.end());
    return order;
  }

  void KeepNodes(const std::vector<OpId>& ops) {
    std::vector<pb::NodeProto> nodes;
    for (const OpId id : ops) {
      const auto index = static_cast<std::size_t>(subgraph_.ops[id].source_index);
      nodes.push_back(std::move(graph_->node[index]));
      const pb::NodeProto& node = nodes.back();
      CollectReads(node, &names_);
      for (const pb::Text& output : node.output) names_.insert(output.str());
    }
    graph_->node = std::move(nodes);
  }

  template <typename Items>
  void KeepNamed(Items* items) const {
    std::erase_if(*items, [&](const auto& item) { return names_.count(item.name.str()) == 0; });
  }

  void KeepSparse() {
    std::erase_if(graph_->sparse_initializer,
                  [&](const auto& item) { return names_.count(std::string(item.Name())) == 0; });
  }

  Status CheckInitializers() const {
    for (const auto& initializer : graph_->initializer) {
      if (initializer.data_location != kExternal) continue;
      Diagnostic error = BadInput("has its data in another file, which a part would not find");
      error.tensor = "'" + initializer.name.str() + "'";
      error.hint = "save the model with all data inside";
      return Fail(std::move(error));
    }
    return {};
  }

  std::map<std::string, pb::ValueInfoProto> Declared() const {
    std::map<std::string, pb::ValueInfoProto> declared;
    for (const auto* list : {&graph_->input, &graph_->output, &graph_->value_info}) {
      for (const auto& info : *list) declared.emplace(info.name.str(), info);
    }
    return declared;
  }

  // As in the file, or from the tensor's type and shape if the file has no entry.
  Status Declare(const std::vector<TensorId>& tensors,
                 const std::map<std::string, pb::ValueInfoProto>& declared,
                 std::vector<pb::ValueInfoProto>* list) const {
    for (const TensorId id : tensors) {
      const graph::Tensor& tensor = subgraph_.tensors[id];
      const auto found = declared.find(tensor.name);
      if (found != declared.end()) {
        list->push_back(found->second);
      } else if (!FillValueInfo(tensor, tensor.name, &list->emplace_back())) {
        Diagnostic error = BadInput("has an element type that the format does not have");
        error.tensor = graph::Describe(id, tensor);
        return Fail(std::move(error));
      }
    }
    return {};
  }

  const Subgraph& subgraph_;
  const ModelPart& part_;
  bool old_file_;
  pb::GraphProto* graph_;
  std::set<std::string> names_;
  std::vector<pb::ValueInfoProto> inputs_;
  std::vector<pb::ValueInfoProto> outputs_;
};

}  // namespace

Result<std::vector<std::byte>> WritePart(const SourceModel& model, const ModelPart& part) {
  NEAP_TRY(const auto parsed, ParseModel(*model.bytes, model.path));
  const Subgraph& subgraph = model.graph.subgraphs[SubgraphId(0)];
  if (parsed->graph->node.size() != subgraph.ops.size()) {
    return Fail(UsageError("the graph and the bytes of the model differ"));
  }
  const bool old_file = parsed->ir_version.value_or(0) < kFirstIrVersionWithoutInputs;
  NEAP_CHECK_OK(Part(subgraph, part, old_file, &*parsed->graph).Run());
  return Serialise(*parsed);
}

}  // namespace neap::formats::onnx
