// SPDX-License-Identifier: Apache-2.0
#include "neap/check/state_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "neap/check/replay.h"
#include "neap/ops/op_table.h"

namespace neap::check {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;
using ops::Is;
using ops::OpKind;

// More variables of one handle, or more states of one call: it may be any state.
constexpr std::size_t kMaxOfHandle = 8;
constexpr std::size_t kMaxOfCall = 1024;

// By name: "v" container, name; "t" subgraph, tensor; "random"; "tables". The empty name is that of
// all states together: an operator that may touch any of them writes it, one that touches some of
// them reads it.
using State = std::string;
const State kAnyState;

enum class Access : char { kNone, kRead, kWrite };
using Accesses = std::map<State, Access>;

void Merge(const Accesses& from, Accesses* to) {
  for (const auto& [state, access] : from) {
    Access& known = (*to)[state];
    known = std::max(known, access);
  }
}

Accesses AnyState() { return {{kAnyState, Access::kWrite}}; }

bool MayBeAny(const Accesses& accesses) {
  const auto at = accesses.find(kAnyState);
  return at != accesses.end() && at->second == Access::kWrite;
}

// A tensor of some subgraph.
using Value = std::pair<SubgraphId, TensorId>;

// Which variables a value may be a handle of. Names flow from the operators that make handles along
// the arguments and results of calls.
class Handles {
 public:
  explicit Handles(const Graph& graph) : graph_(graph) {
    for (const Subgraph& subgraph : graph.subgraphs) {
      for (const Op& op : subgraph.ops) {
        if (Is(op, OpKind::kVarHandle) && Text(op, "shared_name") != nullptr) {
          containers_[*Text(op, "shared_name")].insert(Container(op));
        }
      }
    }
    for (const SubgraphId entry : graph::EntrySubgraphs(graph)) {
      for (const TensorId input : graph.subgraphs[entry].inputs) Start({entry, input}, kAnyState);
    }
    for (const SubgraphId s : graph.subgraphs.Ids()) {
      for (const Op& op : graph.subgraphs[s].ops) Connect(s, op);
    }
    while (!moving_.empty()) {
      const auto [value, name] = moving_.back();
      moving_.pop_back();
      for (const Value& next : flows_[value]) Start(next, name);
    }
  }

  // The names; empty: it may be any variable.
  std::set<State> Of(const Value& value) const {
    const auto at = names_.find(value);
    if (at == names_.end() || at->second.contains(kAnyState)) return {};
    return at->second.size() > kMaxOfHandle ? std::set<State>() : at->second;
  }

  // Of the operator that makes a handle; kAnyState: not known.
  State Made(const Op& op) const {
    const std::string* name = Is(op, OpKind::kVarHandle) ? Text(op, "shared_name") : nullptr;
    if (name == nullptr) return kAnyState;
    const auto& containers = containers_.at(*name);
    // Without a container it is any variable of that name (TensorFlow Lite Micro).
    if (containers.size() > 1 && containers.contains("")) return kAnyState;
    return "v" + Container(op) + std::string(1, '\0') + *name;
  }

 private:
  static const std::string* Text(const Op& op, const char* attribute) {
    const auto at = op.attributes.find(attribute);
    return at == op.attributes.end() ? nullptr : std::get_if<std::string>(&at->second);
  }
  static std::string Container(const Op& op) {
    const std::string* text = Text(op, "container");
    return text == nullptr ? std::string() : *text;
  }

  // Nine names are as good as any number.
  void Start(const Value& value, const State& name) {
    std::set<State>& names = names_[value];
    if (names.size() > kMaxOfHandle || !names.insert(name).second) return;
    moving_.emplace_back(value, name);
  }

  void Flow(SubgraphId s, TensorId tensor, const Value& to) {
    if (!tensor.valid()) return Start(to, kAnyState);
    flows_[{s, tensor}].push_back(to);
    const auto known = names_.find({s, tensor});
    if (known == names_.end()) return;
    for (const State& name : std::set<State>(known->second)) Start(to, name);
  }

  static TensorId At(const std::vector<TensorId>& list, std::size_t index) {
    return index < list.size() ? list[index] : TensorId();
  }

  void Connect(SubgraphId s, const Op& op) {
    const bool passes =
        Is(op, OpKind::kIf, OpKind::kWhile, OpKind::kCall, OpKind::kStablehloComposite) &&
        !op.bodies.empty();
    if (passes) return ConnectCall(s, op);
    const State made = Made(op);
    for (const TensorId output : op.outputs) {
      if (output.valid()) Start({s, output}, made);
    }
    for (const SubgraphId body : op.bodies) {
      for (const TensorId input : graph_.subgraphs[body].inputs) Start({body, input}, kAnyState);
    }
  }

  void ConnectCall(SubgraphId s, const Op& op) {
    const bool loop = Is(op, OpKind::kWhile);
    const std::size_t condition = Is(op, OpKind::kIf) ? 1 : 0;
    for (std::size_t b = 0; b < op.bodies.size(); ++b) {
      const SubgraphId id = op.bodies[b];
      const Subgraph& body = graph_.subgraphs[id];
      for (std::size_t i = 0; i < body.inputs.size(); ++i) {
        Flow(s, At(op.inputs, i + condition), {id, body.inputs[i]});
      }
      if (loop && b == 0) continue;  // it only decides
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        const TensorId output = At(body.outputs, i);
        if (op.outputs[i].valid()) Flow(id, output, {s, op.outputs[i]});
        if (!loop) continue;
        if (op.outputs[i].valid()) Flow(s, At(op.inputs, i), {s, op.outputs[i]});
        for (const SubgraphId next : op.bodies) {
          const TensorId input = At(graph_.subgraphs[next].inputs, i);
          if (input.valid()) Flow(id, output, {next, input});
        }
      }
    }
  }

  const Graph& graph_;
  std::map<std::string, std::set<std::string>> containers_;  // by the variable's name
  std::map<Value, std::vector<Value>> flows_;
  std::map<Value, std::set<State>> names_;
  std::vector<std::pair<Value, State>> moving_;
};

// The states of operators without bodies.
class Touches {
 public:
  explicit Touches(const Graph& graph) : graph_(graph), handles_(graph) {}

  Accesses Of(SubgraphId s, const Op& op) const {
    Accesses accesses = VariableTensors(s, op);
    if (!op.stateful || !op.bodies.empty()) return accesses;
    const bool variables = !accesses.empty();
    Merge(ByType(s, op, variables), &accesses);
    return accesses;
  }

 private:
  Accesses VariableTensors(SubgraphId s, const Op& op) const {
    Accesses accesses;
    // A builtin operator changes a variable that it has as an input only if it is recurrent.
    const bool reads = op.domain == "tflite" && op.bodies.empty() &&
                       !Is(op, OpKind::kSvdf, OpKind::kRnn, OpKind::kLstm,
                           OpKind::kUnidirectionalSequenceRnn, OpKind::kUnidirectionalSequenceLstm,
                           OpKind::kBidirectionalSequenceRnn, OpKind::kBidirectionalSequenceLstm);
    const auto touch = [&](const std::vector<TensorId>& list, Access access) {
      for (const TensorId tensor : list) {
        if (!tensor.valid() || !graph_.subgraphs[s].tensors[tensor].variable) continue;
        const State name = "t" + std::to_string(s.value()) + " " + std::to_string(tensor.value());
        Merge({{name, access}}, &accesses);
      }
    };
    touch(op.inputs, reads ? Access::kRead : Access::kWrite);
    touch(op.captures, Access::kWrite);
    touch(op.outputs, Access::kWrite);
    return accesses;
  }

  Accesses ByType(SubgraphId s, const Op& op, bool variables) const {
    const bool standard = op.domain.empty() || op.domain == "ai.onnx" || op.domain == "tflite";
    if (!standard) return AnyState();
    if (Is(op, OpKind::kRandomStandardNormal, OpKind::kRandomUniform, OpKind::kMultinomial,
           OpKind::kStablehloRngBitGenerator, OpKind::kOnnxBernoulli, OpKind::kOnnxMultinomial,
           OpKind::kOnnxRandomNormal, OpKind::kOnnxRandomNormalLike, OpKind::kOnnxRandomUniform,
           OpKind::kOnnxRandomUniformLike)) {
      return {{"random", Access::kWrite}};
    }
    if (op.domain != "tflite") return AnyState();
    if (Is(op, OpKind::kVarHandle)) {
      const State made = handles_.Made(op);
      return made == kAnyState ? AnyState() : Accesses{{made, Access::kNone}};
    }
    const bool reads = Is(op, OpKind::kReadVariable);
    if (reads || Is(op, OpKind::kAssignVariable)) {
      if (op.inputs.empty() || !op.inputs[0].valid()) return AnyState();
      const std::set<State> names = handles_.Of({s, op.inputs[0]});
      if (names.empty()) return AnyState();
      Accesses accesses;
      for (const State& name : names) accesses[name] = reads ? Access::kRead : Access::kWrite;
      return accesses;
    }
    if (Is(op, OpKind::kHashtableImport)) return {{"tables", Access::kWrite}};
    if (Is(op, OpKind::kHashtable, OpKind::kHashtableFind, OpKind::kHashtableSize)) {
      return {{"tables", Access::kRead}};
    }
    // Other builtin operators have no state but that of their variable tensors.
    return variables && !op.type.starts_with("BUILTIN_") ? Accesses() : AnyState();
  }

  const Graph& graph_;
  const Handles handles_;
};

// Subgraphs so that each comes after those that its operators call.
std::vector<SubgraphId> BodiesFirst(const Graph& graph) {
  std::vector<SubgraphId> order;
  IdVector<SubgraphId, char> met(graph.subgraphs.size(), 0);
  for (const SubgraphId root : graph.subgraphs.Ids()) {
    // Each subgraph twice: when it is met, and when everything below it is done.
    std::vector<std::pair<SubgraphId, bool>> open = {{root, false}};
    while (!open.empty()) {
      const auto [id, done] = open.back();
      open.pop_back();
      if (done) order.push_back(id);
      if (done || met[id] != 0) continue;
      met[id] = 1;
      open.emplace_back(id, true);
      for (const Op& op : graph.subgraphs[id].ops) {
        for (const SubgraphId body : op.bodies) open.emplace_back(body, false);
      }
    }
  }
  return order;
}

// Operators as they would run one after another, always the first of the file that can: the order
// of the file, unless that reads a tensor that is written later.
std::vector<OpId> InSequence(const Subgraph& subgraph) {
  std::map<OpId, std::vector<OpId>> followers;
  IdVector<OpId, std::int32_t> open(subgraph.ops.size(), 0);
  for (const auto& [before, after] : Dependencies(subgraph)) {
    followers[before].push_back(after);
    ++open[after];
  }
  std::set<OpId> ready;
  for (const OpId op : subgraph.ops.Ids()) {
    if (open[op] == 0) ready.insert(op);
  }
  std::vector<OpId> sequence;
  while (!ready.empty()) {
    const OpId op = *ready.begin();
    ready.erase(ready.begin());
    sequence.push_back(op);
    for (const OpId next : followers[op]) {
      if (--open[next] == 0) ready.insert(next);
    }
  }
  return sequence;
}

// Control edges between operators of one subgraph; `touched` by operator.
void AddEdges(const IdVector<OpId, Accesses>& touched, Subgraph* subgraph) {
  std::map<State, std::vector<std::pair<OpId, Access>>> users;  // in file order
  for (const OpId op : InSequence(*subgraph)) {
    bool real = false;
    for (const auto& [state, access] : touched[op]) {
      if (access != Access::kNone) users[state].emplace_back(op, access);
      real = real || (access != Access::kNone && state != kAnyState);
    }
    if (real && !MayBeAny(touched[op])) users[kAnyState].emplace_back(op, Access::kRead);
  }
  for (const auto& [state, list] : users) {
    std::size_t write = list.size();  // the last one before `at`
    for (std::size_t at = 0; at < list.size(); ++at) {
      const std::size_t from = write == list.size() ? 0 : write;
      if (list[at].second == Access::kRead) {
        if (write < list.size()) {
          subgraph->control_edges.push_back({list[write].first, list[at].first});
        }
        continue;
      }
      for (std::size_t before = from; before < at; ++before) {
        subgraph->control_edges.push_back({list[before].first, list[at].first});
      }
      write = at;
    }
  }
}

}  // namespace

bool HasState(const Graph& graph) {
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Op& op : subgraph.ops) {
      if (op.stateful) return true;
    }
  }
  return false;
}

void OrderStates(Graph* graph) {
  const Touches touches(*graph);
  IdVector<SubgraphId, Accesses> whole(graph->subgraphs.size());
  for (const SubgraphId s : BodiesFirst(*graph)) {
    Subgraph& subgraph = graph->subgraphs[s];
    IdVector<OpId, Accesses> touched(subgraph.ops.size());
    const auto shorten = [](Accesses* accesses) {
      if (MayBeAny(*accesses) || accesses->size() > kMaxOfCall) *accesses = AnyState();
    };
    for (const OpId id : subgraph.ops.Ids()) {
      const Op& op = subgraph.ops[id];
      if (op.folded) continue;
      touched[id] = touches.Of(s, op);
      for (const SubgraphId body : op.bodies) Merge(whole[body], &touched[id]);
      shorten(&touched[id]);
      Merge(touched[id], &whole[s]);
    }
    shorten(&whole[s]);
    AddEdges(touched, &subgraph);
  }
}

}  // namespace neap::check
