// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/edit_check.h"

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "neap/ops/stock_kernels.h"

namespace neap::formats {
namespace {

using graph::Attribute;
using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::Tensor;
using graph::TensorId;

bool SameBytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Both formats keep floats of 32 bits.
bool SameReal(double a, double b) { return static_cast<float>(a) == static_cast<float>(b); }

bool SameAttribute(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        const T& right = std::get<T>(b);
        if constexpr (std::is_same_v<T, graph::ConstantData>) {
          return SameBytes(left.bytes, right.bytes);
        } else if constexpr (std::is_same_v<T, double>) {
          return SameReal(left, right);
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          return std::equal(left.begin(), left.end(), right.begin(), right.end(), SameReal);
        } else {
          return left == right;
        }
      },
      a);
}

// Every attribute of `expected` in `found`; other attributes of `found` are defaults that the
// format fills in, which a kept operator had before.
bool HasAttributes(const Op& expected, const Op& found, bool kept) {
  if (kept && expected.attributes.size() != found.attributes.size()) return false;
  return std::all_of(
      expected.attributes.begin(), expected.attributes.end(), [&](const auto& entry) {
        const auto at = found.attributes.find(entry.first);
        return at != found.attributes.end() && SameAttribute(entry.second, at->second);
      });
}

bool SameQuantization(const Tensor& a, const Tensor& b) {
  if (a.quantization.has_value() != b.quantization.has_value()) return false;
  return !a.quantization || (a.quantization->scales == b.quantization->scales &&
                             a.quantization->zero_points == b.quantization->zero_points &&
                             a.quantization->axis == b.quantization->axis);
}

std::string TensorDifference(const Tensor& expected, const Tensor& found) {
  if (expected.name != found.name) return "has the name '" + found.name + "'";
  if (expected.type != found.type) return "has another element type";
  if (expected.shape != found.shape) return "has another shape";
  if (expected.constant != found.constant) return "is constant in one of them only";
  if (expected.variable != found.variable) return "is variable in one of them only";
  if (!SameQuantization(expected, found)) return "has another quantisation";
  if (expected.data && found.data && !SameBytes(expected.data->bytes, found.data->bytes)) {
    return "holds other bytes";
  }
  return "";
}

bool IsBefore(const graph::ControlEdge& a, const graph::ControlEdge& b) {
  return std::pair(a.before, a.after) < std::pair(b.before, b.after);
}

class Comparison {
 public:
  Comparison(const SourceModel& model, const graph::Graph& edited, const graph::Graph& written)
      : by_index_(model.format == Format::kTflite), edited_(edited), written_(written) {}

  std::string Run() {
    if (edited_.subgraphs.size() != written_.subgraphs.size()) {
      return "it has another number of subgraphs";
    }
    for (const SubgraphId id : edited_.subgraphs.Ids()) {
      std::string why = CompareSubgraph(edited_.subgraphs[id], written_.subgraphs[id]);
      if (!why.empty()) return "subgraph " + std::to_string(id.value()) + ": " + why;
    }
    bool same = edited_.signatures.size() == written_.signatures.size();
    for (std::size_t i = 0; same && i < edited_.signatures.size(); ++i) {
      same = edited_.signatures[i].key == written_.signatures[i].key &&
             edited_.signatures[i].subgraph == written_.signatures[i].subgraph;
    }
    return same ? "" : "it has other signatures";
  }

 private:
  std::string CompareSubgraph(const Subgraph& expected, const Subgraph& found) {
    compared_.assign(expected.tensors.size(), false);
    std::string why = CompareTensors(expected, expected.inputs, found, found.inputs);
    if (why.empty()) why = CompareTensors(expected, expected.outputs, found, found.outputs);
    if (!why.empty()) return "of its inputs and outputs, it " + why;
    if (expected.ops.size() != found.ops.size()) return "it has another number of operators";
    for (const OpId id : expected.ops.Ids()) {
      why = CompareOps(expected, expected.ops[id], found, found.ops[id]);
      if (!why.empty()) return "operator " + graph::Describe(id, expected.ops[id]) + " " + why;
    }
    if (!by_index_) return "";  // of .onnx they follow from the operators
    std::vector<graph::ControlEdge> a = expected.control_edges;
    std::vector<graph::ControlEdge> b = found.control_edges;
    std::sort(a.begin(), a.end(), IsBefore);
    std::sort(b.begin(), b.end(), IsBefore);
    const bool same = std::equal(a.begin(), a.end(), b.begin(), b.end(),
                                 [](const graph::ControlEdge& x, const graph::ControlEdge& y) {
                                   return x.before == y.before && x.after == y.after;
                                 });
    return same ? "" : "it has other control dependencies";
  }

  std::string CompareOps(const Subgraph& in_expected, const Op& expected, const Subgraph& in_found,
                         const Op& found) {
    const bool kept = expected.source_index >= 0;
    if (expected.type != found.type || expected.domain != found.domain) {
      return "is of another type: '" + found.type + "'";
    }
    if (!by_index_ && expected.name != found.name) return "has the name '" + found.name + "'";
    const bool same_bodies =
        by_index_ ? expected.bodies == found.bodies : expected.bodies.size() == found.bodies.size();
    if (!same_bodies) return "has other bodies";
    if (expected.stateful != found.stateful) return "is stateful in one of them only";
    if (expected.folded != found.folded) return "is folded in one of them only";
    // Attributes with a body's number are the body's.
    if (expected.bodies.empty() && !HasAttributes(expected, found, kept)) {
      return "has other attributes";
    }
    std::string why = CompareTensors(in_expected, expected.inputs, in_found, found.inputs);
    if (why.empty()) why = CompareTensors(in_expected, expected.outputs, in_found, found.outputs);
    return why;
  }

  std::string CompareTensors(const Subgraph& in_expected, const std::vector<TensorId>& expected,
                             const Subgraph& in_found, const std::vector<TensorId>& found) {
    if (expected.size() != found.size()) return "has another number of tensors";
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i].valid() != found[i].valid()) return "lacks a tensor or has one more";
      if (!expected[i].valid()) continue;
      if (by_index_ && expected[i] != found[i]) return "has another tensor";
      if (compared_[expected[i].index()] &&
          in_expected.tensors[expected[i]].name == in_found.tensors[found[i]].name) {
        continue;
      }
      compared_[expected[i].index()] = true;
      std::string why =
          TensorDifference(in_expected.tensors[expected[i]], in_found.tensors[found[i]]);
      if (!why.empty()) {
        return "has a tensor that differs: " +
               graph::Describe(expected[i], in_expected.tensors[expected[i]]) + " " + why;
      }
    }
    return "";
  }

  bool by_index_;
  const graph::Graph& edited_;
  const graph::Graph& written_;
  std::vector<bool> compared_;
};

// Other inputs and outputs than those of the file are tensors of the file, as many of them; no
// operator computes inputs.
bool KeepsEnds(const Subgraph& before, const Subgraph& after, bool is_main) {
  if (after.inputs == before.inputs && after.outputs == before.outputs) return true;
  const auto producer = graph::Producers(after);
  const auto all = [&](const std::vector<TensorId>& was, const std::vector<TensorId>& is,
                       bool are_inputs) {
    bool fine = was.size() == is.size();
    for (std::size_t i = 0; fine && i < is.size(); ++i) {
      if (is[i] == was[i]) continue;
      const Tensor& tensor = after.tensors[is[i]];
      fine = is[i].index() < before.tensors.size() && !tensor.constant && !tensor.variable &&
             std::count(is.begin(), is.end(), is[i]) == 1 && producer[is[i]].valid() != are_inputs;
    }
    return fine;
  };
  return is_main && all(before.inputs, after.inputs, true) &&
         all(before.outputs, after.outputs, false);
}

// New operators of .onnx in the form of the file's operator set.
Status CheckForms(const Subgraph& main, const Subgraph& after) {
  const std::int32_t opset = ops::DefaultOpset(main);
  for (const OpId id : after.ops.Ids()) {
    if (after.ops[id].source_index >= 0 || opset == 0) continue;
    Op op = after.ops[id];
    op.version = opset;
    const std::string why = ops::WrongOnnxForm(after, op);
    if (why.empty()) continue;
    Diagnostic error = UsageError("is new, and " + why);
    error.op = graph::Describe(id, op);
    return Fail(std::move(error));
  }
  return {};
}

// Operators of the file as they are, and all of them in an order that can be run. `calls`: new ones
// may have bodies.
Status CheckOps(const Subgraph& before, const Subgraph& after, bool calls) {
  std::set<std::int32_t> kept;
  std::int32_t last_with_bodies = -1;
  IdVector<TensorId, char> written(after.tensors.size(), 1);
  for (const Op& op : after.ops) {
    for (const TensorId output : op.outputs) {
      if (output.valid()) written[output] = 0;
    }
  }
  for (const OpId id : after.ops.Ids()) {
    const Op& op = after.ops[id];
    const auto refuse = [&](const char* message) {
      Diagnostic error = UsageError(message);
      error.op = graph::Describe(id, op);
      return Fail(std::move(error));
    };
    if (op.source_index < 0 && !op.bodies.empty() && !calls) {
      return refuse("is new and has bodies");
    }
    if (op.source_index >= 0) {
      if (static_cast<std::size_t>(op.source_index) >= before.ops.size() ||
          !kept.insert(op.source_index).second) {
        return refuse("is not an operator of the file, or occurs twice");
      }
      const Op& source = before.ops[OpId(op.source_index)];
      if (source.type != op.type || source.domain != op.domain || source.bodies != op.bodies) {
        return refuse("is another operator in the file");
      }
      if (!op.bodies.empty()) {
        if (op.source_index < last_with_bodies) return refuse("changes places with another");
        last_with_bodies = op.source_index;
      }
    }
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId input : *list) {
        if (input.valid() && written[input] == 0)
          return refuse("reads a tensor that is written later");
      }
    }
    for (const TensorId output : op.outputs) {
      if (output.valid()) written[output] = 1;
    }
  }
  return {};
}

Status CheckSubgraph(const Subgraph& before, const Subgraph& after, bool is_main, bool calls) {
  if (!KeepsEnds(before, after, is_main) || after.name != before.name ||
      after.tensors.size() < before.tensors.size()) {
    return Fail(UsageError("an edit changes the inputs, outputs or tensors of a subgraph"));
  }
  return CheckOps(before, after, calls);
}

}  // namespace

Status CheckEdit(const SourceModel& model, const graph::Graph& edited) {
  const std::size_t old = model.graph.subgraphs.size();
  const bool adds = model.format == Format::kTflite;
  if (edited.subgraphs.size() < old || (!adds && edited.subgraphs.size() > old)) {
    return Fail(UsageError("an edit has a different number of subgraphs"));
  }
  NEAP_CHECK_OK(graph::Verify(edited));
  for (const SubgraphId id : edited.subgraphs.Ids()) {
    if (model.format == Format::kOnnx) {
      NEAP_CHECK_OK(CheckForms(model.graph.subgraphs[SubgraphId(0)], edited.subgraphs[id]));
    }
    NEAP_CHECK_OK(id.index() < old ? CheckSubgraph(model.graph.subgraphs[id], edited.subgraphs[id],
                                                   id == SubgraphId(0), adds)
                                   : CheckOps(Subgraph(), edited.subgraphs[id], adds));
  }
  return {};
}

std::string FindDifference(const SourceModel& model, const graph::Graph& edited,
                           const graph::Graph& written) {
  return Comparison(model, edited, written).Run();
}

}  // namespace neap::formats
