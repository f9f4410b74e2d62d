// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "neap/formats/onnx/control_flow.h"
#include "neap/formats/onnx/model.h"
#include "neap/formats/onnx/onnx.h"
#include "neap/formats/onnx/order.h"
#include "neap/formats/onnx/tensor_data.h"
#include "neap/ops/onnx_shapes.h"
#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"

namespace neap::formats::onnx {
namespace {

using graph::ElementType;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;
using ops::OpKind;

// The newest version of the default operator set that the rules know.
constexpr int kNewestOpset = 23;
constexpr int kMaxOpset = 1 << 20;

// Names of one scope. Only looked up, never walked.
using Names = std::unordered_map<std::string, TensorId>;

class Reader {
 public:
  Reader(const std::string& path, const LoadOptions& options, std::vector<std::string>* notes)
      : options_(options), notes_(*notes), external_(path, options.weights) {}

  Result<graph::Graph> Read(pb::ModelProto* model) {
    NEAP_TRY(scopes_, ListScopes(model));
    graph_.subgraphs.resize(scopes_.size());
    captures_.resize(scopes_.size());
    names_.resize(scopes_.size());
    defined_by_.resize(scopes_.size());
    outputs_.resize(scopes_.size());
    for (const SubgraphId id : graph_.subgraphs.Ids()) NEAP_CHECK_OK(DeclareTensors(id));
    NEAP_CHECK_OK(CheckDims());
    for (const SubgraphId id : graph_.subgraphs.Ids()) NEAP_CHECK_OK(AddOperators(id));
    for (const SubgraphId id : graph_.subgraphs.Ids()) LinkBody(id);
    ops::OnnxInference inference;
    inference.opset = DefaultOpset(*model);
    inference.declared_shapes_win = options_.dims.empty();
    InferGraph(&graph_, captures_, inference, &notes_);
    for (Subgraph& subgraph : graph_.subgraphs) {
      for (Op& op : subgraph.ops) {
        if (op.domain.empty()) op.version = inference.opset;
      }
      NEAP_CHECK_OK(AddControlEdges(&subgraph));
    }
    external_.Report(&notes_);
    NoteRedefined();
    NoteUnsized();
    return std::move(graph_);
  }

 private:
  pb::GraphProto& ProtoOf(SubgraphId id) { return *scopes_[id.index()].graph; }

  int DefaultOpset(const pb::ModelProto& model) {
    std::int64_t version = 0;
    for (const auto& import : model.opset_import) {
      if (import.domain.empty() || import.domain == "ai.onnx") {
        version = std::max(version, import.version.value_or(0));
      }
    }
    if (version >= 1) return static_cast<int>(std::min<std::int64_t>(version, kMaxOpset));
    notes_.push_back("the model has no operator set: read as version " +
                     std::to_string(kNewestOpset));
    return kNewestOpset;
  }

  // ---- tensors ----

  // A name that is defined here. Twice is an error, except for constants: there runtimes let the
  // last definition count, and files rely on it.
  Result<TensorId> Declare(SubgraphId id, const std::string& name, const std::string& by,
                           bool constant) {
    Subgraph& subgraph = graph_.subgraphs[id];
    const auto [at, fresh] = names_[id].try_emplace(name, TensorId(subgraph.tensors.size()));
    if (!fresh) {
      if (!constant || !subgraph.tensors[at->second].constant) {
        Diagnostic error = BadInput("is defined by " + by + " and already by " +
                                    defined_by_[id][at->second.index()]);
        error.tensor = "'" + name + "'";
        return Fail(std::move(error));
      }
      if (redefined_++ == 0) {
        first_redefined_ =
            "'" + name + "' by " + by + " and already by " + defined_by_[id][at->second.index()];
      }
      at->second = TensorId(subgraph.tensors.size());
    }
    Tensor tensor;
    tensor.name = name;
    tensor.constant = constant;
    defined_by_[id].push_back(by);
    return subgraph.tensors.push_back(std::move(tensor));
  }

  static bool IsConstantNode(const pb::NodeProto& node) {
    return node.op_type == ops::NameOf(OpKind::kOnnxConstant) &&
           (node.domain.empty() || node.domain == "ai.onnx");
  }

  Status DeclareTensors(SubgraphId id) {
    const pb::GraphProto& proto = ProtoOf(id);
    Subgraph& subgraph = graph_.subgraphs[id];
    subgraph.name = proto.name.str();
    std::set<std::string> initialised;
    for (const auto& constant : proto.initializer) initialised.insert(constant.name.str());
    for (const auto& constant : proto.sparse_initializer) initialised.emplace(constant.Name());
    for (const auto& input : proto.input) {
      // Older files list their constants among the inputs as well.
      if (initialised.count(input.name.str()) != 0) continue;
      NEAP_TRY(const TensorId tensor, Declare(id, input.name.str(), "a graph input", false));
      subgraph.inputs.push_back(tensor);
    }
    NEAP_CHECK_OK(DeclareConstants(id));
    for (std::size_t i = 0; i < proto.node.size(); ++i) {
      const pb::NodeProto& node = proto.node[i];
      const std::string by = "operator " + DescribeNode(static_cast<int>(i), node);
      std::vector<TensorId>& outputs = outputs_[id].emplace_back();
      for (const pb::Text& output : node.output) {
        outputs.push_back(TensorId());
        if (output.empty()) continue;
        NEAP_TRY(outputs.back(), Declare(id, output.str(), by, IsConstantNode(node)));
      }
    }
    for (const auto* list : {&proto.input, &proto.output, &proto.value_info}) {
      for (const auto& info : *list) ApplyInfo(id, info);
    }
    // Sizes of the main graph's inputs are the user's to give, by a name of ours if need be.
    for (const TensorId input : subgraph.inputs) {
      if (id.value() == 0) NameDimensions(&subgraph.tensors[input]);
    }
    return {};
  }

  Status DeclareConstants(SubgraphId id) {
    const pb::GraphProto& proto = ProtoOf(id);
    Subgraph& subgraph = graph_.subgraphs[id];
    for (const auto& constant : proto.initializer) {
      NEAP_TRY(const TensorId tensor, Declare(id, constant.name.str(), "an initializer", true));
      NEAP_CHECK_OK(ReadConstant(constant, &external_, &subgraph.tensors[tensor]));
    }
    for (const auto& constant : proto.sparse_initializer) {
      NEAP_TRY(const TensorId tensor,
               Declare(id, std::string(constant.Name()), "a sparse initializer", true));
      SetSparse(constant, &subgraph.tensors[tensor]);
    }
    return {};
  }

  static void SetSparse(const pb::SparseTensorProto& proto, Tensor* tensor) {
    tensor->constant = true;
    tensor->type = ops::OnnxElementType(proto.values ? proto.values->data_type.value_or(0) : 0);
    tensor->shape = proto.dims;
    for (std::int64_t& dim : *tensor->shape) dim = std::max<std::int64_t>(dim, -1);
  }

  // The file's declaration of a tensor that is defined here; constants override it.
  void ApplyInfo(SubgraphId id, const pb::ValueInfoProto& info) {
    const auto found = names_[id].find(info.name.str());
    if (found == names_[id].end() || !info.type) return;
    Tensor& tensor = graph_.subgraphs[id].tensors[found->second];
    if (tensor.constant || tensor.type != ElementType::kUnknown || tensor.shape) return;
    const pb::TypeProto& type = *info.type;
    if (!type.tensor_type) {
      // Sequences, maps, optional and sparse values: their bytes are the runtime's.
      if (type.IsOtherKind()) tensor.type = ElementType::kResource;
      return;
    }
    tensor.type = ops::OnnxElementType(type.tensor_type->elem_type.value_or(0));
    if (!type.tensor_type->shape) return;
    graph::Shape shape;
    for (const auto& dim : type.tensor_type->shape->dim) {
      std::int64_t size = std::max<std::int64_t>(dim.dim_value.value_or(-1), -1);
      const std::string symbol = dim.dim_param.str();
      if (!symbol.empty()) {
        symbols_.insert(symbol);
        const auto given = options_.dims.find(symbol);
        if (given != options_.dims.end()) size = given->second;
      }
      tensor.symbols.push_back(symbol);
      shape.push_back(size);
    }
    tensor.shape = std::move(shape);
  }

  // "input.0" for dimension 0 of `input` where it is open and has no name.
  void NameDimensions(Tensor* tensor) {
    if (!tensor->shape) return;
    for (std::size_t i = 0; i < tensor->shape->size(); ++i) {
      if ((*tensor->shape)[i] >= 0 || !tensor->symbols[i].empty()) continue;
      tensor->symbols[i] = tensor->name + "." + std::to_string(i);
      symbols_.insert(tensor->symbols[i]);
      const auto given = options_.dims.find(tensor->symbols[i]);
      if (given != options_.dims.end()) (*tensor->shape)[i] = given->second;
    }
  }

  Status CheckDims() {
    for (const auto& [name, size] : options_.dims) {
      if (size < 0) {
        return Fail(UsageError("dimension '" + name + "' cannot be " + std::to_string(size)));
      }
      if (symbols_.count(name) != 0) continue;
      std::string known;
      for (const std::string& symbol : symbols_) known += (known.empty() ? "" : ", ") + symbol;
      Diagnostic error = UsageError("the model has no symbolic dimension '" + name + "'");
      error.hint = known.empty() ? "it has none" : "it has " + known;
      return Fail(std::move(error));
    }
    return {};
  }

  // ---- operators ----

  // The tensor of that name as seen from a scope; a tensor of an outer scope gets a tensor here
  // that represents it. TensorId() if no scope defines it.
  TensorId Resolve(SubgraphId id, const std::string& name) {
    const auto found = names_[id].find(name);
    if (found != names_[id].end()) return found->second;
    const int parent = scopes_[id.index()].parent;
    if (parent < 0) return TensorId();
    const TensorId outer = Resolve(SubgraphId(parent), name);
    if (!outer.valid()) return TensorId();
    Tensor tensor;
    tensor.name = name;
    const TensorId local = graph_.subgraphs[id].tensors.push_back(std::move(tensor));
    names_[id].emplace(name, local);
    captures_[id].push_back({outer, local});
    return local;
  }

  Status AddOperators(SubgraphId id) {
    const pb::GraphProto& proto = ProtoOf(id);
    graph_.subgraphs[id].ops.reserve(proto.node.size());
    for (std::size_t i = 0; i < proto.node.size(); ++i) {
      NEAP_TRY(Op op, MakeOp(id, static_cast<int>(i), proto.node[i]));
      graph_.subgraphs[id].ops.push_back(std::move(op));
    }
    for (const auto& output : proto.output) {
      const TensorId tensor = Resolve(id, output.name.str());
      if (!tensor.valid()) {
        Diagnostic error = BadInput("is a graph output, but has no producer");
        error.tensor = "'" + output.name.str() + "'";
        return Fail(std::move(error));
      }
      graph_.subgraphs[id].outputs.push_back(tensor);
    }
    return {};
  }

  Result<Op> MakeOp(SubgraphId id, int index, const pb::NodeProto& node) {
    Op op;
    op.type = node.op_type.str();
    op.domain = node.domain == "ai.onnx" ? "" : node.domain.str();
    op.name = node.name.str();
    op.source_index = index;
    ops::Resolve(&op);
    op.stateful = ops::IsStatefulType(op.domain, op.type);
    for (const pb::Text& name : node.input) {
      const std::string input = name.str();
      const TensorId tensor = input.empty() ? TensorId() : Resolve(id, input);
      if (!input.empty() && !tensor.valid()) {
        Diagnostic error = BadInput("is read here, but has no producer");
        error.op = DescribeNode(index, node);
        error.tensor = "'" + input + "'";
        return Fail(std::move(error));
      }
      op.inputs.push_back(tensor);
    }
    op.outputs = outputs_[id][static_cast<std::size_t>(index)];
    for (const auto& attribute : node.attribute) NEAP_CHECK_OK(AddAttribute(attribute, &op));
    if (IsConstantNode(node)) NEAP_CHECK_OK(SetConstant(id, node, &op));
    return op;
  }

  Status AddAttribute(const pb::AttributeProto& attribute, Op* op) {
    const std::string name = attribute.name.str();
    graph::Attribute value;
    if (attribute.t) {
      Tensor tensor;
      tensor.name = name;
      NEAP_CHECK_OK(ReadConstant(*attribute.t, &external_, &tensor));
      op->attributes[name + ".type"] = std::int64_t{attribute.t->data_type.value_or(0)};
      if (!tensor.data) return {};
      value = std::move(*tensor.data);
    } else if (attribute.i) {
      value = *attribute.i;
    } else if (attribute.f) {
      value = static_cast<double>(*attribute.f);
    } else if (attribute.s.present()) {
      value = attribute.s.str();
    } else if (!attribute.floats.empty()) {
      value = std::vector<double>(attribute.floats.begin(), attribute.floats.end());
    } else if (!attribute.strings.empty()) {
      std::vector<std::string> strings;
      strings.reserve(attribute.strings.size());
      for (const pb::Text& text : attribute.strings) strings.push_back(text.str());
      value = std::move(strings);
    } else if (!attribute.ints.empty() || attribute.type == 7) {
      value = attribute.ints;
    } else {
      return {};  // graphs become bodies; shape rules use neither types nor sparse tensors
    }
    op->attributes[name] = std::move(value);
    return {};
  }

  // A Constant node is a constant with a name, in whichever attribute its value is.
  Status SetConstant(SubgraphId id, const pb::NodeProto& node, Op* op) {
    op->folded = true;
    for (const TensorId output : op->outputs) {
      if (!output.valid()) continue;
      Tensor& tensor = graph_.subgraphs[id].tensors[output];
      const std::string name = tensor.name;
      tensor = Tensor();
      tensor.name = name;
      tensor.constant = true;
      for (const auto& attribute : node.attribute) {
        NEAP_CHECK_OK(SetConstantFrom(attribute, &tensor));
      }
    }
    // The tensor has it now.
    op->attributes.clear();
    return {};
  }

  Status SetConstantFrom(const pb::AttributeProto& attribute, Tensor* tensor) {
    pb::TensorProto proto;
    if (attribute.name == "value" && attribute.t) {
      return ReadConstant(*attribute.t, &external_, tensor);
    }
    if (attribute.name == "sparse_value" && attribute.sparse_tensor) {
      SetSparse(*attribute.sparse_tensor, tensor);
      return {};
    }
    if (attribute.name == "value_int") {
      proto.data_type = 7;
      proto.int64_data.values = {attribute.i.value_or(0)};
    } else if (attribute.name == "value_ints") {
      proto.data_type = 7;
      proto.dims = {static_cast<std::int64_t>(attribute.ints.size())};
      proto.int64_data.values = attribute.ints;
    } else if (attribute.name == "value_float") {
      proto.data_type = 1;
      proto.float_data.values = {attribute.f.value_or(0)};
    } else if (attribute.name == "value_floats") {
      proto.data_type = 1;
      proto.dims = {static_cast<std::int64_t>(attribute.floats.size())};
      proto.float_data.values = attribute.floats;
    } else if (attribute.name == "value_string") {
      proto.data_type = 8;
    } else if (attribute.name == "value_strings") {
      proto.data_type = 8;
      proto.dims = {static_cast<std::int64_t>(attribute.strings.size())};
    } else {
      return {};
    }
    return ReadConstant(proto, &external_, tensor);
  }

  // Sets the body and the captures of the operator that contains the body. Constants stored in the
  // file are no captures; outputs of folded operators are, because the file has to define them
  // before.
  void LinkBody(SubgraphId id) {
    const Scope& scope = scopes_[id.index()];
    if (scope.parent < 0) return;
    Subgraph& parent = graph_.subgraphs[SubgraphId(scope.parent)];
    Op& op = parent.ops[OpId(scope.node)];
    op.bodies.push_back(id);
    op.attributes[scope.attribute] = std::int64_t{id.value()};
    for (const Capture& capture : captures_[id]) {
      const bool stored = parent.tensors[capture.outer].constant &&
                          !IsMade(SubgraphId(scope.parent), capture.outer);
      const bool known =
          std::find(op.captures.begin(), op.captures.end(), capture.outer) != op.captures.end();
      if (!stored && !known) op.captures.push_back(capture.outer);
    }
  }

  bool IsMade(SubgraphId id, TensorId tensor) const {
    return tensor.index() < defined_by_[id].size() &&
           defined_by_[id][tensor.index()].starts_with("operator ");
  }

  void NoteRedefined() {
    if (redefined_ == 0) return;
    notes_.push_back(std::to_string(redefined_) +
                     (redefined_ == 1 ? " constant is" : " constants are") +
                     " defined more than once, the last definition counts: " + first_redefined_);
  }

  // One line for the reason that will prevent a plan.
  void NoteUnsized() {
    std::int64_t unsized = 0;
    std::string first;
    for (const Subgraph& subgraph : graph_.subgraphs) {
      for (const OpId id : subgraph.ops.Ids()) {
        if (subgraph.ops[id].folded) continue;
        for (const TensorId tensor : subgraph.ops[id].outputs) {
          if (!tensor.valid() || graph::TensorBytes(subgraph.tensors[tensor])) continue;
          if (unsized++ == 0) {
            first = graph::Describe(tensor, subgraph.tensors[tensor]) + " of operator " +
                    graph::Describe(id, subgraph.ops[id]);
          }
        }
      }
    }
    if (unsized == 0) return;
    notes_.push_back(std::to_string(unsized) + (unsized == 1 ? " tensor has" : " tensors have") +
                     " no size that the file or the shape rules define; the first is " + first);
  }

  const LoadOptions& options_;
  std::vector<std::string>& notes_;
  ExternalData external_;
  graph::Graph graph_;
  std::vector<Scope> scopes_;
  Captures captures_;
  IdVector<SubgraphId, Names> names_;
  IdVector<SubgraphId, std::vector<std::string>> defined_by_;         // by tensor; for messages
  IdVector<SubgraphId, std::vector<std::vector<TensorId>>> outputs_;  // by node
  std::int64_t redefined_ = 0;
  std::string first_redefined_;
  std::set<std::string> symbols_;
};

}  // namespace

Result<graph::Graph> Read(const std::shared_ptr<const std::vector<std::byte>>& bytes,
                          const std::string& path, const LoadOptions& options,
                          std::vector<std::string>* notes) {
  NEAP_TRY(const auto model, ParseModel(*bytes, path));
  auto graph = Reader(path, options, notes).Read(model.get());
  if (!graph) {
    Diagnostic error = std::move(graph).error();
    error.file = path;
    return Fail(std::move(error));
  }
  return graph;
}

}  // namespace neap::formats::onnx
