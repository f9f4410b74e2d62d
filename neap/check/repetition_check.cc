// SPDX-License-Identifier: Apache-2.0
#include "neap/check/repetition_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "neap/check/state_order.h"
#include "neap/ops/op_kind.h"
#include "neap/ops/op_table.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;

// Unambiguous text of a value: its length comes first.
class Text {
 public:
  void Add(std::string_view text) {
    out_ += std::to_string(text.size());
    out_ += ':';
    out_ += text;
  }
  void Add(std::int64_t number) { Add(std::string_view(std::to_string(number))); }
  void AddBytes(const void* data, std::size_t size) {
    Add(std::string_view(static_cast<const char*>(data), size));
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

void AddAttribute(const graph::Attribute& attribute, Text* text) {
  text->Add(static_cast<std::int64_t>(attribute.index()));
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, graph::ConstantData>) {
          text->AddBytes(value.bytes.data(), value.bytes.size());
        } else if constexpr (std::is_same_v<T, std::string>) {
          text->Add(value);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          text->Add(static_cast<std::int64_t>(value.size()));
          for (const std::string& item : value) text->Add(item);
        } else if constexpr (std::is_arithmetic_v<T>) {
          text->AddBytes(&value, sizeof value);
        } else {
          text->AddBytes(value.data(), value.size() * sizeof(value[0]));
        }
      },
      attribute);
}

void AddTensor(const Tensor& tensor, Text* text) {
  text->Add(static_cast<std::int64_t>(tensor.type));
  text->Add(tensor.shape ? static_cast<std::int64_t>(tensor.shape->size()) : -1);
  if (tensor.shape) text->AddBytes(tensor.shape->data(), tensor.shape->size() * 8);
  text->Add(tensor.quantization ? 1 : 0);
  if (!tensor.quantization) return;
  const graph::Quantization& is = *tensor.quantization;
  text->AddBytes(is.scales.data(), is.scales.size() * sizeof(float));
  text->AddBytes(is.zero_points.data(), is.zero_points.size() * 8);
  text->Add(is.axis);
}

// An operator that is more than a function of its inputs has a value of its own in every run.
bool IsFunction(const Subgraph& subgraph, const Op& op) {
  const bool alone = !op.folded && !op.stateful && op.bodies.empty() && op.captures.empty() &&
                     op.domain != "neap" && ops::KindOf(op) != ops::OpKind::kOnnxDropout;
  return alone && std::none_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
           return id.valid() && subgraph.tensors[id].variable;
         });
}

// Equal numbers are equal values in every run.
class ValueNumbers {
 public:
  // Of the tensors of a subgraph; `sources` are the numbers of tensors without a producer.
  // "": done, else what stops it.
  std::string Assign(const Subgraph& subgraph, const std::vector<OpId>& order,
                     IdVector<TensorId, std::int64_t>* numbers) {
    *numbers = IdVector<TensorId, std::int64_t>(subgraph.tensors.size(), kNone);
    const IdVector<TensorId, OpId> producer = graph::Producers(subgraph);
    for (const TensorId id : subgraph.tensors.Ids()) {
      if (!producer[id].valid()) (*numbers)[id] = -2 - id.value();
    }
    for (const OpId id : order) {
      const Op& op = subgraph.ops[id];
      Text text;
      text.Add(op.domain);
      text.Add(op.type);
      text.Add(op.version);
      text.Add(op.scratch_bytes);
      for (const auto& [name, attribute] : op.attributes) {
        text.Add(name);
        AddAttribute(attribute, &text);
      }
      if (!IsFunction(subgraph, op)) text.Add("#" + std::to_string(op.source_index));
      for (const graph::SubgraphId body : op.bodies) text.Add(body.value());
      for (const auto* list : {&op.inputs, &op.captures}) {
        text.Add(static_cast<std::int64_t>(list->size()));
        for (const TensorId input : *list) {
          if (input.valid() && (*numbers)[input] == kNone) {
            return "operator " + graph::Describe(id, op) + " reads a tensor before it is written";
          }
          text.Add(input.valid() ? (*numbers)[input] : kNone);
        }
      }
      for (const TensorId output : op.outputs) {
        text.Add(output.valid() ? 1 : 0);
        if (output.valid()) AddTensor(subgraph.tensors[output], &text);
      }
      const auto [entry, is_new] = known_.emplace(text.Take(), next_);
      if (is_new) next_ += static_cast<std::int64_t>(op.outputs.size()) + 1;
      of_op_.push_back(entry->second);
      for (std::size_t at = 0; at < op.outputs.size(); ++at) {
        if (op.outputs[at].valid()) {
          (*numbers)[op.outputs[at]] = entry->second + static_cast<std::int64_t>(at);
        }
      }
    }
    return "";
  }
  // Of the operators of the last Assign(), in its order.
  std::vector<std::int64_t> TakeOps() { return std::exchange(of_op_, {}); }

 private:
  static constexpr std::int64_t kNone = -1;
  std::map<std::string, std::int64_t> known_;
  std::int64_t next_ = 0;
  std::vector<std::int64_t> of_op_;
};

// The operators in an order that can be run; file order is kept where it can.
std::vector<OpId> RunnableOps(const Subgraph& subgraph) {
  const IdVector<TensorId, OpId> producer = graph::Producers(subgraph);
  IdVector<OpId, std::vector<OpId>> after(subgraph.ops.size());
  IdVector<OpId, std::size_t> missing(subgraph.ops.size(), 0);
  const auto wait = [&](OpId op, OpId before) {
    after[before].push_back(op);
    ++missing[op];
  };
  for (const OpId id : subgraph.ops.Ids()) {
    for (const auto* list : {&subgraph.ops[id].inputs, &subgraph.ops[id].captures}) {
      for (const TensorId input : *list) {
        if (input.valid() && producer[input].valid()) wait(id, producer[input]);
      }
    }
  }
  for (const graph::ControlEdge& edge : subgraph.control_edges) wait(edge.after, edge.before);
  std::set<OpId> ready;
  for (const OpId id : subgraph.ops.Ids()) {
    if (missing[id] == 0) ready.insert(id);
  }
  std::vector<OpId> order;
  while (!ready.empty()) {
    order.push_back(*ready.begin());
    ready.erase(ready.begin());
    for (const OpId next : after[order.back()]) {
      if (--missing[next] == 0) ready.insert(next);
    }
  }
  return order;
}

std::vector<OpId> FileOps(const Subgraph& subgraph) {
  std::vector<OpId> order;
  for (const OpId id : subgraph.ops.Ids()) order.push_back(id);
  return order;
}

bool SameTensor(const Tensor& a, const Tensor& b) {
  Text left;
  Text right;
  AddTensor(a, &left);
  AddTensor(b, &right);
  return left.Take() == right.Take() && a.constant == b.constant && a.variable == b.variable;
}

using Edges = std::vector<std::pair<OpId, OpId>>;

// Whether the operators of `given` at the ends of `edges` run in this order. `place`: of each given
// operator in `repeated`.
std::string WrongOrder(const Subgraph& given, const Edges& edges,
                       const std::map<OpId, std::size_t>& place) {
  for (const auto& [before, after] : edges) {
    if (given.ops[before].folded || given.ops[after].folded) continue;
    if (place.at(before) < place.at(after)) continue;
    return "operator " + graph::Describe(after, given.ops[after]) + " runs before operator " +
           graph::Describe(before, given.ops[before]) + ", which has to come first";
  }
  return "";
}

}  // namespace

std::string FindWrongRepetition(const graph::Graph& given, const graph::Graph& repeated) {
  const SubgraphId main(0);
  const Subgraph& before = given.subgraphs[main];
  const Subgraph& after = repeated.subgraphs[main];
  if (given.subgraphs.size() != repeated.subgraphs.size()) return "it has other subgraphs";
  if (before.inputs != after.inputs || before.outputs != after.outputs) {
    return "it has other inputs or outputs";
  }
  if (after.tensors.size() < before.tensors.size()) return "it lacks tensors of the given graph";
  for (const TensorId id : before.tensors.Ids()) {
    if (SameTensor(before.tensors[id], after.tensors[id])) continue;
    return "tensor " + graph::Describe(id, before.tensors[id]) + " has become another one";
  }
  const IdVector<TensorId, OpId> producer = graph::Producers(after);
  for (std::size_t at = before.tensors.size(); at < after.tensors.size(); ++at) {
    const TensorId id(at);
    if (producer[id].valid() && !after.tensors[id].constant) continue;
    return "the new tensor " + graph::Describe(id, after.tensors[id]) + " is not computed";
  }
  ValueNumbers numbering;
  IdVector<TensorId, std::int64_t> expected;
  IdVector<TensorId, std::int64_t> found;
  const std::vector<OpId> given_order = RunnableOps(before);
  std::string why = numbering.Assign(before, given_order, &expected);
  if (!why.empty()) return why;
  const std::vector<std::int64_t> given_ops = numbering.TakeOps();
  why = numbering.Assign(after, FileOps(after), &found);
  if (!why.empty()) return why;
  const std::vector<std::int64_t> repeated_ops = numbering.TakeOps();
  for (const TensorId id : before.tensors.Ids()) {
    if (expected[id] == found[id]) continue;
    return "tensor " + graph::Describe(id, before.tensors[id]) + " has another value";
  }
  // Every operator occurs: by its number, as often as before or, of a function, more often.
  std::map<std::int64_t, std::int64_t> surplus;
  for (const std::int64_t number : repeated_ops) ++surplus[number];
  for (const std::int64_t number : given_ops) --surplus[number];
  for (std::size_t at = 0; at < given_order.size(); ++at) {
    if (surplus[given_ops[at]] >= 0) continue;
    const OpId id = given_order[at];
    return "operator " + graph::Describe(id, before.ops[id]) + " does not run";
  }
  std::map<std::int32_t, OpId> by_source;
  for (const OpId id : before.ops.Ids()) by_source[before.ops[id].source_index] = id;
  const std::set<std::int64_t> of_given(given_ops.begin(), given_ops.end());
  std::map<OpId, std::size_t> place;
  for (std::size_t at = 0; at < repeated_ops.size(); ++at) {
    const OpId id(at);
    const Op& op = after.ops[id];
    const bool is_new = op.source_index < 0 || !by_source.contains(op.source_index);
    if (is_new ? !IsFunction(after, op) : !place.emplace(by_source[op.source_index], at).second) {
      return "operator " + graph::Describe(id, op) + " runs again, but has effects of its own";
    }
    if (!of_given.contains(repeated_ops[at]))
      return "operator " + graph::Describe(id, op) + " is not one of the given graph";
  }
  if (place.size() != before.ops.size()) return "it lacks operators of the given graph";
  graph::Graph ordered = given;
  if (HasState(ordered)) OrderStates(&ordered);
  Edges edges;
  for (const graph::ControlEdge& edge : ordered.subgraphs[main].control_edges) {
    edges.emplace_back(edge.before, edge.after);
  }
  return WrongOrder(before, edges, place);
}

}  // namespace neap::check
