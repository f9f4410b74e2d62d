// SPDX-License-Identifier: Apache-2.0
//
// The orders that planner and checker allow among operators with state, against all orders of small
// graphs, executed over consecutive runs.
#include "neap/ops/state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "neap/base/random.h"
#include "neap/check/check.h"
#include "neap/compile/compile.h"
#include "neap/compile/lower.h"
#include "neap/compile/runtime_graph.h"
#include "testing/cases.h"

namespace neap::compile {
namespace {

using graph::Graph;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

constexpr SubgraphId kMain(0);

TensorId AddTensor(Subgraph* subgraph, std::int64_t bytes, bool variable = false) {
  graph::Tensor tensor;
  tensor.type = graph::ElementType::kUint8;
  tensor.shape = graph::Shape{bytes};
  tensor.variable = variable;
  return subgraph->tensors.push_back(tensor);
}

OpId AddOp(Subgraph* subgraph, const std::string& type, std::vector<TensorId> inputs,
           std::vector<TensorId> outputs) {
  Op op;
  op.domain = type == "CUSTOM" ? "custom" : "tflite";
  op.type = type;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  op.stateful = type != "ADD" && type != "IF";
  op.source_index = static_cast<std::int32_t>(subgraph->ops.size());
  return subgraph->ops.push_back(op);
}

TensorId AddHandle(Subgraph* subgraph, const std::string& container, const std::string& name) {
  const TensorId handle = AddTensor(subgraph, 0);
  Op& op = subgraph->ops[AddOp(subgraph, "VAR_HANDLE", {}, {handle})];
  op.attributes["container"] = container;
  op.attributes["shared_name"] = name;
  return handle;
}

// Runs a graph with hashes in place of values: two orders do the same exactly when all hashes are
// equal, of every tensor and state after every run.
class Machine {
 public:
  explicit Machine(const Graph& graph) : graph_(graph) {
    for (const Subgraph& subgraph : graph.subgraphs) {
      for (const Op& op : subgraph.ops) {
        if (op.type == "VAR_HANDLE") states_[NameOf(op)] = 1;
      }
    }
    states_["random"] = states_["tensor"] = 1;
  }

  // The outputs of three runs with other inputs.
  std::vector<std::uint64_t> Observe(const std::vector<OpId>& order) {
    std::vector<std::uint64_t> seen;
    for (std::uint64_t run = 1; run <= 3; ++run) {
      std::vector<std::uint64_t> arguments(graph_.subgraphs[kMain].inputs.size(), run);
      Call(kMain, order, arguments, 7, &seen);
      for (const auto& [name, value] : states_) seen.push_back(value);
      for (const auto& [context, value] : inside_) seen.push_back(value);
    }
    return seen;
  }

 private:
  static std::string NameOf(const Op& op) {
    return std::get<std::string>(op.attributes.at("container")) + "/" +
           std::get<std::string>(op.attributes.at("shared_name"));
  }

  static std::uint64_t Mix(std::uint64_t a, std::uint64_t b) { return Random(a * 31 + b).Next(); }

  // The outputs; `context` differs between calls of a body.
  std::vector<std::uint64_t> Call(SubgraphId id, const std::vector<OpId>& order,
                                  const std::vector<std::uint64_t>& arguments,
                                  std::uint64_t context, std::vector<std::uint64_t>* seen) {
    const Subgraph& subgraph = graph_.subgraphs[id];
    std::map<TensorId, std::uint64_t> values;
    for (std::size_t i = 0; i < arguments.size(); ++i) values[subgraph.inputs[i]] = arguments[i];
    for (const OpId op : order) {
      const std::uint64_t here = Mix(context, static_cast<std::uint64_t>(op.value()) + 1);
      Run(subgraph, op, here, &values);
    }
    if (seen != nullptr) {
      for (const auto& [tensor, value] : values) seen->push_back(value);
    }
    for (const auto& [tensor, value] : values) inside_[context] = Mix(inside_[context], value);
    std::vector<std::uint64_t> results;
    for (const TensorId output : subgraph.outputs) results.push_back(values[output]);
    return results;
  }

  std::uint64_t* StateOf(std::uint64_t handle) {
    const auto name = handles_.find(handle);
    return name == handles_.end() ? nullptr : &states_[name->second];
  }

  // Everything there is, read and written.
  std::uint64_t TouchAll(std::uint64_t here) {
    std::uint64_t all = here;
    for (auto& [name, value] : states_) {
      all = Mix(all, value);
      value = Mix(value, here);
    }
    return all;
  }

  // A handle without a container is of any variable of the name.
  bool IsAmbiguous(const Op& op) const {
    const auto& name = std::get<std::string>(op.attributes.at("shared_name"));
    return states_.count("/" + name) > 0 && states_.count("box/" + name) > 0;
  }

  void Run(const Subgraph& subgraph, OpId id, std::uint64_t here,
           std::map<TensorId, std::uint64_t>* values) {
    const Op& op = subgraph.ops[id];
    std::uint64_t result = here;
    for (const TensorId input : op.inputs) {
      const bool variable = subgraph.tensors[input].variable;
      result = Mix(result, variable ? states_["tensor"] : (*values)[input]);
    }
    if (op.type == "VAR_HANDLE") {
      result = Mix(99, std::hash<std::string>()(NameOf(op)));
      if (IsAmbiguous(op)) {
        TouchAll(here);
      } else {
        handles_[result] = NameOf(op);
      }
    } else if (op.type == "READ_VARIABLE" || op.type == "ASSIGN_VARIABLE") {
      std::uint64_t* state = StateOf((*values)[op.inputs[0]]);
      if (state == nullptr) {
        result = TouchAll(result);
      } else if (op.type == "READ_VARIABLE") {
        result = *state;
      } else {
        *state = Mix(result, *state);  // the last write does not hide the others' order
      }
    } else if (op.type == "CUSTOM") {
      result = TouchAll(result);
    } else if (op.type == "SVDF") {
      states_["tensor"] = Mix(result, 5);
    } else if (op.type == "RANDOM_UNIFORM") {
      result = states_["random"];
      states_["random"] = Mix(result, here);
    }
    if (!op.bodies.empty()) {
      if (op.type == "CALL_ONCE" && !initialised_.insert(id).second) return;
      std::vector<std::uint64_t> arguments;
      for (std::size_t i = 1; i < op.inputs.size(); ++i) {
        arguments.push_back((*values)[op.inputs[i]]);
      }
      // Both bodies of an IF, so that the effects of either are visible.
      for (const SubgraphId body : op.bodies) {
        std::vector<OpId> order;
        for (const OpId inner : graph_.subgraphs[body].ops.Ids()) order.push_back(inner);
        const auto results = Call(body, order, arguments, Mix(here, result), nullptr);
        for (std::size_t i = 0; i < results.size() && i < op.outputs.size(); ++i) {
          (*values)[op.outputs[i]] = Mix((*values)[op.outputs[i]], results[i]);
        }
      }
      return;
    }
    for (const TensorId output : op.outputs) {
      const bool handle = op.type == "VAR_HANDLE";
      (*values)[output] = handle ? result : Mix(result, static_cast<std::uint64_t>(output.value()));
    }
  }

  const Graph& graph_;
  std::map<std::string, std::uint64_t> states_;
  std::map<std::uint64_t, std::string> handles_;
  std::set<OpId> initialised_;
  std::map<std::uint64_t, std::uint64_t> inside_;  // all values of a call
};

// Bodies that read or write a variable by a handle of their own or by that of an argument.
SubgraphId AddBody(Random& random, bool takes_handle, Graph* graph) {
  static const std::string kNames[] = {"a", "b"};
  Subgraph body;
  TensorId handle;
  TensorId value;
  if (takes_handle) {
    body.inputs = {AddTensor(&body, 0), AddTensor(&body, 8)};
    value = body.inputs[1];
  } else {
    value = AddTensor(&body, 8);
    body.tensors[value].constant = true;
  }
  handle = takes_handle && random.Chance(1, 2) ? body.inputs[0]
                                               : AddHandle(&body, "", kNames[random.Below(2)]);
  if (random.Chance(1, 2)) {
    AddOp(&body, "ASSIGN_VARIABLE", {handle, value}, {});
  }
  const TensorId result = AddTensor(&body, 8);
  if (random.Chance(1, 2)) {
    AddOp(&body, "READ_VARIABLE", {handle}, {result});
  } else {
    AddOp(&body, "ADD", {value}, {result});
  }
  if (takes_handle) body.outputs = {result};
  return graph->subgraphs.push_back(body);
}

Graph RandomGraph(Random& random, std::size_t ops) {
  static const std::string kNames[] = {"a", "b"};
  Graph graph;
  graph.subgraphs.push_back(Subgraph());
  Subgraph s;
  s.inputs = {AddTensor(&s, 8)};
  const TensorId variable = AddTensor(&s, 16, true);
  std::vector<TensorId> values = {s.inputs[0]};
  std::vector<TensorId> handles = {AddHandle(&s, "", "a")};
  if (random.Chance(1, 6)) handles.push_back(s.inputs[0]);  // a handle of an unknown variable
  while (s.ops.size() < ops) {
    const TensorId value =
        values[values.size() - 1 - random.Below(std::min<std::size_t>(2, values.size()))];
    const TensorId handle = handles[random.Below(handles.size())];
    const TensorId made = AddTensor(&s, random.Between(1, 6) * 8);
    switch (random.Below(12)) {
      case 0:
        handles.push_back(AddHandle(&s, random.Chance(1, 6) ? "box" : "", kNames[random.Below(2)]));
        continue;
      case 1:
      case 2:
      case 3:
        AddOp(&s, "READ_VARIABLE", {handle}, {made});
        break;
      case 4:
      case 5:
        AddOp(&s, "ASSIGN_VARIABLE", {handle, value}, {});
        continue;
      case 6:
        AddOp(&s, "SVDF", {value, variable}, {made});
        break;
      case 7:
        AddOp(&s, "ADD", {value, variable}, {made});
        break;
      case 8:
        AddOp(&s, random.Chance(1, 3) ? "CUSTOM" : "RANDOM_UNIFORM", {value}, {made});
        break;
      case 9: {
        const SubgraphId body = AddBody(random, false, &graph);
        s.ops[AddOp(&s, "CALL_ONCE", {}, {})].bodies = {body};
        continue;
      }
      case 10: {
        const SubgraphId body = AddBody(random, true, &graph);
        const SubgraphId other = random.Chance(1, 2) ? body : AddBody(random, true, &graph);
        s.ops[AddOp(&s, "IF", {value, handle, value}, {made})].bodies = {body, other};
        break;
      }
      default:
        AddOp(&s, "ADD", {value, values[random.Below(values.size())]}, {made});
    }
    values.push_back(made);
  }
  s.outputs = {values.back()};
  graph.subgraphs[kMain] = s;
  EXPECT_TRUE(graph::Verify(graph).has_value());
  return graph;
}

std::string TextOf(const Graph& graph, const std::vector<OpId>& order) {
  std::string text;
  for (const Subgraph& subgraph : graph.subgraphs) {
    text += "subgraph\n";
    for (const Op& op : subgraph.ops) {
      text += "  " + op.type + " ";
      if (op.type == "VAR_HANDLE") {
        text += std::get<std::string>(op.attributes.at("container")) + "/" +
                std::get<std::string>(op.attributes.at("shared_name")) + " ";
      }
      for (const TensorId input : op.inputs) text += std::to_string(input.value()) + " ";
      text += "->";
      for (const TensorId output : op.outputs) text += " " + std::to_string(output.value());
      for (const SubgraphId body : op.bodies) text += " body " + std::to_string(body.value());
      text += "\n";
    }
  }
  text += "order";
  for (const OpId op : order) text += " " + std::to_string(op.value());
  return text;
}

bool IsOrder(const std::vector<OpId>& order,
             const std::vector<std::pair<OpId, OpId>>& precedences) {
  std::vector<std::size_t> at(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) at[order[i].index()] = i;
  return std::all_of(precedences.begin(), precedences.end(), [&](const auto& pair) {
    return at[pair.first.index()] < at[pair.second.index()];
  });
}

// Whether the checker finds nothing wrong with the steps in this order.
bool CheckerAllows(const Graph& graph, const plan::Plan& of_file, const std::vector<OpId>& order) {
  plan::Plan plan = of_file;
  plan::EntryPlan& entry = plan.entries[0];
  std::map<OpId, std::vector<plan::Step>> steps;  // of each operator with its bodies
  OpId current;
  for (const plan::Step& step : entry.steps) {
    if (step.subgraph == kMain) current = step.op;
    steps[current].push_back(step);
  }
  entry.steps.clear();
  for (const OpId op : order) {
    entry.steps.insert(entry.steps.end(), steps[op].begin(), steps[op].end());
  }
  const auto lines = check::CheckPlan(graph, plan);
  return std::none_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("expected after") != std::string::npos;
  });
}

std::int64_t PeakOf(const Subgraph& s, const std::vector<OpId>& order) {
  std::vector<std::int64_t> live(order.size(), 0);
  for (const TensorId tensor : s.tensors.Ids()) {
    if (s.tensors[tensor].variable) continue;
    const bool input = tensor == s.inputs[0];
    std::size_t first = order.size();
    std::size_t last = 0;
    for (std::size_t at = 0; at < order.size(); ++at) {
      const Op& op = s.ops[order[at]];
      if (!Contains(op.inputs, tensor) && !Contains(op.outputs, tensor)) continue;
      first = std::min(first, at);
      last = at + 1;
    }
    if (last == 0) continue;
    if (input) first = 0;
    if (Contains(s.outputs, tensor)) last = order.size();
    for (std::size_t at = first; at < last; ++at) live[at] += s.tensors[tensor].shape->front();
  }
  return *std::max_element(live.begin(), live.end());
}

// Allowed orders give the same values and states as the file's order, others do not, and the best
// allowed one has the peak of the plan.
TEST(State, AllowsTheOrdersThatComputeTheSame) {
  Random random(5);
  std::int64_t same = 0;
  std::int64_t different = 0;
  int lowered = 0;
  for (int i = 0; i < Cases(250); ++i) {
    const Graph graph = RandomGraph(random, 4 + random.Below(4));
    const Subgraph& main = graph.subgraphs[kMain];
    const RuntimeGraph runtime(graph, plan::ProfileOf(plan::Runtime::kIdeal));
    const auto precedences = PrecedencesOf(runtime.merged().subgraphs[kMain]);
    Graph without = graph;
    for (Subgraph& subgraph : without.subgraphs) {
      for (Op& op : subgraph.ops) op.stateful = false;
    }
    const auto data = PrecedencesOf(without.subgraphs[kMain]);
    std::vector<OpId> order;
    for (const OpId id : main.ops.Ids()) order.push_back(id);
    const auto expected = Machine(graph).Observe(order);
    Options options;
    options.order = kFileOrder;
    options.place = false;
    const auto of_file = Compile(graph, options);
    ASSERT_TRUE(of_file) << of_file.error().ToString();
    const std::int64_t file_peak = PeakOf(main, order);
    std::int64_t least = file_peak;
    int checked = 0;
    do {
      if (!IsOrder(order, data)) continue;
      const bool equal = Machine(graph).Observe(order) == expected;
      ASSERT_EQ(IsOrder(order, precedences), equal) << "graph " << i << "\n"
                                                    << TextOf(graph, order);
      if (checked < 40 || random.Chance(1, 20)) {
        ASSERT_EQ(CheckerAllows(graph, of_file->plan, order), equal) << "graph " << i;
        ++checked;
      }
      (equal ? same : different) += 1;
      if (equal) least = std::min(least, PeakOf(main, order));
    } while (std::next_permutation(order.begin(), order.end()));
    if (graph.subgraphs.size() > 1) continue;
    options.order = kExactOrder;
    const auto best = Compile(graph, options);
    ASSERT_TRUE(best);
    ASSERT_EQ(best->plan.entries[0].peak_bytes, least) << "graph " << i;
    ASSERT_EQ(best->plan.entries[0].order_status, plan::BoundStatus::kOptimal);
    const auto replayed = check::ReplayBounds(graph, best->plan, 100000);
    ASSERT_TRUE(replayed.refuted.empty()) << replayed.refuted.front();
    lowered += least < file_peak;
  }
  EXPECT_GT(same, Cases(3000));
  EXPECT_GT(different, Cases(3000));
  EXPECT_GE(lowered, Cases(250) / 40);
}

}  // namespace
}  // namespace neap::compile
