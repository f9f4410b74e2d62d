// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/state.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "neap/base/topological_order.h"
#include "neap/ops/op_table.h"

namespace neap::ops {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

using Uses = std::optional<std::vector<StateUse>>;

// The variables that a handle may be of; nullopt: any.
using Handle = std::optional<std::set<std::int32_t>>;

// Adds `from`; true if that changed `to`.
bool Join(const Handle& from, Handle* to) {
  if (!*to) return false;
  if (!from) {
    to->reset();
    return true;
  }
  const std::size_t before = (*to)->size();
  (*to)->insert(from->begin(), from->end());
  const bool changed = (*to)->size() > before;
  if ((*to)->size() > kMaxHandleStates) to->reset();
  return changed;
}

// The order of the file where that is topological, else one near it.
std::vector<OpId> RepairedOrder(const Subgraph& subgraph) {
  const auto producer = graph::Producers(subgraph);
  IdVector<OpId, std::vector<OpId>> successors(subgraph.ops.size());
  for (const OpId id : subgraph.ops.Ids()) {
    for (const auto* list : {&subgraph.ops[id].inputs, &subgraph.ops[id].captures}) {
      for (const TensorId tensor : *list) {
        if (tensor.valid() && producer[tensor].valid()) successors[producer[tensor]].push_back(id);
      }
    }
  }
  for (const graph::ControlEdge& edge : subgraph.control_edges) {
    successors[edge.before].push_back(edge.after);
  }
  return TopologicalOrder(successors.Items());
}

class Tracer {
 public:
  explicit Tracer(const Graph& graph) : graph_(graph) {
    NameVariables();
    OrderSubgraphs();
    TraceHandles();
    CollectUses();
  }

  IdVector<SubgraphId, IdVector<OpId, Uses>> Take() { return std::move(uses_); }

 private:
  static std::string TextOf(const Op& op, const char* name) {
    const auto at = op.attributes.find(name);
    const auto* text = at == op.attributes.end() ? nullptr : std::get_if<std::string>(&at->second);
    return text == nullptr ? "" : *text;
  }

  static bool MakesKnownHandle(const Op& op) {
    return Is(op, OpKind::kVarHandle) && op.attributes.contains("shared_name");
  }

  // A variable is its container and its name. TensorFlow Lite Micro takes a handle without a
  // container for any variable of the name: where such a handle and containers meet, a name may be
  // of several variables, and handles of it are not traced.
  void NameVariables() {
    std::map<std::string, std::set<std::string>> containers;  // by name
    for (const Subgraph& subgraph : graph_.subgraphs) {
      for (const Op& op : subgraph.ops) {
        if (MakesKnownHandle(op)) {
          containers[TextOf(op, "shared_name")].insert(TextOf(op, "container"));
        }
      }
    }
    for (const auto& [name, of_name] : containers) {
      if (of_name.size() > 1 && of_name.contains("")) continue;
      for (const std::string& container : of_name) variables_[{container, name}] = NewState();
    }
  }

  std::int32_t NewState() { return num_states_++; }

  // The state of a VAR_HANDLE; nullopt: it may be any variable.
  std::optional<std::int32_t> VariableOf(const Op& op) const {
    if (!MakesKnownHandle(op)) return std::nullopt;
    const auto at = variables_.find({TextOf(op, "container"), TextOf(op, "shared_name")});
    return at == variables_.end() ? std::nullopt : std::optional(at->second);
  }

  // Callees before their callers; callers_[s] has a caller once for each call.
  void OrderSubgraphs() {
    callers_.resize(graph_.subgraphs.size());
    IdVector<SubgraphId, std::size_t> open(graph_.subgraphs.size(), 0);
    for (const SubgraphId s : graph_.subgraphs.Ids()) {
      for (const Op& op : graph_.subgraphs[s].ops) {
        open[s] += op.bodies.size();
        for (const SubgraphId body : op.bodies) callers_[body].push_back(s);
      }
    }
    for (const SubgraphId s : graph_.subgraphs.Ids()) {
      if (open[s] == 0) callees_first_.push_back(s);
    }
    for (std::size_t at = 0; at < callees_first_.size(); ++at) {
      for (const SubgraphId caller : callers_[callees_first_[at]]) {
        if (--open[caller] == 0) callees_first_.push_back(caller);
      }
    }
  }

  // Which variables the value of a tensor may be a handle of, by forward propagation. At first
  // every set is empty: a value that is never computed is no handle.
  void TraceHandles() {
    for (const Subgraph& subgraph : graph_.subgraphs) {
      handles_.push_back(
          IdVector<TensorId, Handle>(subgraph.tensors.size(), Handle(std::in_place)));
    }
    for (const SubgraphId s : graph::EntrySubgraphs(graph_)) {
      for (const TensorId input : graph_.subgraphs[s].inputs) handles_[s][input].reset();
    }
    IdVector<SubgraphId, std::vector<Handle>> outputs(graph_.subgraphs.size());
    IdVector<SubgraphId, char> queued(graph_.subgraphs.size(), 1);
    std::deque<SubgraphId> queue(callees_first_.begin(), callees_first_.end());
    const auto wake = [&](SubgraphId id) {
      if (queued[id] == 0) queue.push_back(id);
      queued[id] = 1;
    };
    while (!queue.empty()) {
      const SubgraphId s = queue.front();
      queue.pop_front();
      queued[s] = 0;
      PropagateIn(s, wake);
      std::vector<Handle> now;
      for (const TensorId output : graph_.subgraphs[s].outputs) now.push_back(handles_[s][output]);
      if (now == outputs[s]) continue;
      outputs[s] = std::move(now);
      for (const SubgraphId caller : callers_[s]) wake(caller);
    }
  }

  template <typename Wake>
  void PropagateIn(SubgraphId s, const Wake& wake) {
    const Subgraph& subgraph = graph_.subgraphs[s];
    for (const OpId id : RepairedOrder(subgraph)) {
      const Op& op = subgraph.ops[id];
      if (PassesHandles(op)) {
        PropagateCall(s, op, wake);
        continue;
      }
      Handle made;
      if (const auto variable = VariableOf(op)) made = std::set<std::int32_t>{*variable};
      for (const TensorId output : op.outputs) {
        if (output.valid()) Join(made, &handles_[s][output]);
      }
      for (const SubgraphId body : op.bodies) {
        for (const TensorId input : graph_.subgraphs[body].inputs) {
          if (Join(Handle(), &handles_[body][input])) wake(body);
        }
      }
    }
  }

  static bool PassesHandles(const Op& op) {
    return !op.bodies.empty() &&
           Is(op, OpKind::kIf, OpKind::kWhile, OpKind::kCall, OpKind::kStablehloComposite);
  }

  // Arguments to the bodies' inputs, their outputs to the results; a loop's to its inputs, too.
  template <typename Wake>
  void PropagateCall(SubgraphId s, const Op& op, const Wake& wake) {
    const bool loops = Is(op, OpKind::kWhile);
    const std::size_t first = Is(op, OpKind::kIf) ? 1 : 0;  // behind the condition
    const auto join_input = [&](SubgraphId body, std::size_t i, const Handle& handle) {
      const auto& inputs = graph_.subgraphs[body].inputs;
      if (i < inputs.size() && Join(handle, &handles_[body][inputs[i]])) wake(body);
    };
    const auto argument = [&](std::size_t at) {
      return at < op.inputs.size() && op.inputs[at].valid() ? handles_[s][op.inputs[at]] : Handle();
    };
    for (const SubgraphId body : op.bodies) {
      for (std::size_t i = 0; i < graph_.subgraphs[body].inputs.size(); ++i) {
        join_input(body, i, argument(first + i));
      }
    }
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      Handle result(std::in_place);
      if (loops) Join(argument(i), &result);
      for (std::size_t b = loops ? 1 : 0; b < op.bodies.size(); ++b) {
        const auto& outputs = graph_.subgraphs[op.bodies[b]].outputs;
        Join(i < outputs.size() ? handles_[op.bodies[b]][outputs[i]] : Handle(), &result);
      }
      if (op.outputs[i].valid()) Join(result, &handles_[s][op.outputs[i]]);
      for (const SubgraphId body : op.bodies) {
        if (loops) join_input(body, i, result);
      }
    }
  }

  void CollectUses() {
    IdVector<SubgraphId, Uses> of_subgraph(graph_.subgraphs.size(), Uses(std::in_place));
    for (const Subgraph& subgraph : graph_.subgraphs) {
      uses_.push_back(IdVector<OpId, Uses>(subgraph.ops.size(), Uses(std::in_place)));
    }
    for (const SubgraphId s : callees_first_) {
      const Subgraph& subgraph = graph_.subgraphs[s];
      std::map<std::int32_t, StateAccess> all;
      bool any = false;
      for (const OpId id : subgraph.ops.Ids()) {
        Uses& uses = uses_[s][id];
        uses = UsesOfOp(s, subgraph.ops[id], of_subgraph);
        any = any || !uses;
        if (!any) AddTo(*uses, &all);
      }
      of_subgraph[s] = any || all.size() > kMaxCallStates ? Uses() : ListOf(all);
    }
  }

  static void AddTo(const std::vector<StateUse>& uses, std::map<std::int32_t, StateAccess>* all) {
    for (const StateUse& use : uses) {
      const auto [at, added] = all->emplace(use.state, use.access);
      if (!added) at->second = std::max(at->second, use.access);
    }
  }

  static Uses ListOf(const std::map<std::int32_t, StateAccess>& all) {
    Uses uses(std::in_place);
    for (const auto& [state, access] : all) uses->push_back({state, access});
    return uses;
  }

  Uses UsesOfOp(SubgraphId s, const Op& op, const IdVector<SubgraphId, Uses>& of_subgraph) {
    if (op.folded) return Uses(std::in_place);
    std::map<std::int32_t, StateAccess> all;
    bool any = false;
    for (const SubgraphId body : op.bodies) {
      any = any || !of_subgraph[body];
      if (!any) AddTo(*of_subgraph[body], &all);
    }
    const bool has_variables = UseVariableTensors(s, op, &all);
    if (op.stateful && op.bodies.empty()) {
      const Uses own = UsesByType(s, op, has_variables);
      any = any || !own;
      if (own) AddTo(*own, &all);
    }
    return any || all.size() > kMaxCallStates ? Uses() : ListOf(all);
  }

  // The states that an operator accesses by its type. Unknown: any state, unless its variable
  // tensors are why it has state.
  Uses UsesByType(SubgraphId s, const Op& op, bool has_variables) {
    const auto one = [](std::int32_t state, StateAccess access) {
      return Uses(std::vector<StateUse>{{state, access}});
    };
    if (op.domain == "custom") return std::nullopt;
    const bool is_known = op.domain == "tflite" || IsDefaultOnnxDomain(op.domain);
    if (is_known && Has(op, trait::kRandom))
      return one(Shared("random numbers"), StateAccess::kWrite);
    if (op.domain != "tflite") return std::nullopt;
    if (Is(op, OpKind::kVarHandle)) {
      const auto variable = VariableOf(op);
      return variable ? one(*variable, StateAccess::kHandle) : Uses();
    }
    if (Is(op, OpKind::kReadVariable, OpKind::kAssignVariable)) {
      const bool named = !op.inputs.empty() && op.inputs[0].valid();
      // An empty set is no handle of this file.
      if (!named || !handles_[s][op.inputs[0]] || handles_[s][op.inputs[0]]->empty()) return Uses();
      Uses uses(std::in_place);
      for (const std::int32_t state : *handles_[s][op.inputs[0]]) {
        uses->push_back(
            {state, Is(op, OpKind::kReadVariable) ? StateAccess::kRead : StateAccess::kWrite});
      }
      return uses;
    }
    if (Is(op, OpKind::kHashtableImport)) return one(Shared("tables"), StateAccess::kWrite);
    if (Is(op, OpKind::kHashtable, OpKind::kHashtableFind, OpKind::kHashtableSize)) {
      return one(Shared("tables"), StateAccess::kRead);
    }
    return has_variables && !op.type.starts_with("BUILTIN_") ? Uses(std::in_place) : Uses();
  }

  // Variable tensors of this subgraph; true if there are any.
  bool UseVariableTensors(SubgraphId s, const Op& op, std::map<std::int32_t, StateAccess>* all) {
    const Subgraph& subgraph = graph_.subgraphs[s];
    const bool updates =
        op.domain != "tflite" || !op.bodies.empty() || Has(op, trait::kUpdatesVariables);
    bool found = false;
    const auto use = [&](const std::vector<TensorId>& list, StateAccess access) {
      for (const TensorId tensor : list) {
        if (!tensor.valid() || !subgraph.tensors[tensor].variable) continue;
        const auto [at, added] = variable_tensors_.emplace(std::pair(s, tensor), num_states_);
        if (added) NewState();
        AddTo({{at->second, access}}, all);
        found = true;
      }
    };
    use(op.inputs, updates ? StateAccess::kWrite : StateAccess::kRead);
    use(op.captures, StateAccess::kWrite);
    use(op.outputs, StateAccess::kWrite);
    return found;
  }

  std::int32_t Shared(const std::string& name) {
    const auto [at, added] = shared_.emplace(name, num_states_);
    if (added) NewState();
    return at->second;
  }

  const Graph& graph_;
  std::map<std::pair<std::string, std::string>, std::int32_t> variables_;
  std::map<std::pair<SubgraphId, TensorId>, std::int32_t> variable_tensors_;
  std::map<std::string, std::int32_t> shared_;
  std::int32_t num_states_ = 0;
  IdVector<SubgraphId, std::vector<SubgraphId>> callers_;
  std::vector<SubgraphId> callees_first_;
  IdVector<SubgraphId, IdVector<TensorId, Handle>> handles_;
  IdVector<SubgraphId, IdVector<OpId, Uses>> uses_;
};

// Who touched each state last, while operators come in file order.
class Frontier {
 public:
  void Add(OpId op, const Uses& uses) {
    if (!uses) return AddAny(op);
    for (const StateUse& use : *uses) {
      if (use.access == StateAccess::kHandle) continue;
      State& state = states_[use.state];
      if (use.access == StateAccess::kRead) {
        Wait(state.writer.valid() ? state.writer : any_, op);
        state.readers.push_back(op);
      } else {
        TakeTurn(state, op);
        state = {op, {}};
      }
    }
  }

  std::vector<graph::ControlEdge> Take() {
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    std::vector<graph::ControlEdge> edges;
    edges.reserve(edges_.size());
    for (const auto& [before, after] : edges_) edges.push_back({before, after});
    return edges;
  }

 private:
  struct State {
    OpId writer;
    std::vector<OpId> readers;  // since the writer
  };

  void Wait(OpId before, OpId after) {
    if (before.valid()) edges_.emplace_back(before, after);
  }

  // After the readers since the last write, or after that.
  void TakeTurn(const State& state, OpId op) {
    for (const OpId reader : state.readers) Wait(reader, op);
    if (state.readers.empty()) Wait(state.writer.valid() ? state.writer : any_, op);
  }

  void AddAny(OpId op) {
    if (states_.empty()) Wait(any_, op);
    for (const auto& [id, state] : states_) TakeTurn(state, op);
    states_.clear();
    any_ = op;
  }

  std::map<std::int32_t, State> states_;  // since `any_`
  OpId any_;                              // the last operator that may touch any state
  std::vector<std::pair<OpId, OpId>> edges_;
};

}  // namespace

StateTrace::StateTrace(const Graph& graph) {
  if (!IsStateless(graph)) {
    uses_ = Tracer(graph).Take();
    return;
  }
  for (const Subgraph& subgraph : graph.subgraphs) {
    uses_.push_back(IdVector<OpId, Uses>(subgraph.ops.size(), Uses(std::in_place)));
  }
}

std::vector<graph::ControlEdge> StateTrace::EdgesOf(const Subgraph& subgraph, SubgraphId id) const {
  const auto& uses = uses_[id];
  const auto touches = [](const Uses& of_op) { return !of_op || !of_op->empty(); };
  if (std::count_if(uses.begin(), uses.end(), touches) < 2) return {};
  Frontier frontier;
  for (const OpId op : RepairedOrder(subgraph)) {
    if (!subgraph.ops[op].folded) frontier.Add(op, uses[op]);
  }
  return frontier.Take();
}

bool IsStateless(const Graph& graph) {
  return std::none_of(graph.subgraphs.begin(), graph.subgraphs.end(), [](const Subgraph& s) {
    return std::any_of(s.ops.begin(), s.ops.end(), [](const Op& op) { return op.stateful; });
  });
}

void AddStateEdges(Graph* graph) {
  if (IsStateless(*graph)) return;
  const StateTrace trace(*graph);
  for (const SubgraphId id : graph->subgraphs.Ids()) {
    Subgraph& subgraph = graph->subgraphs[id];
    const auto edges = trace.EdgesOf(subgraph, id);
    subgraph.control_edges.insert(subgraph.control_edges.end(), edges.begin(), edges.end());
  }
}

}  // namespace neap::ops
