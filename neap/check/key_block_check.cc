// SPDX-License-Identifier: Apache-2.0
#include "neap/check/key_block_check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "neap/check/key_block_parts.h"
#include "neap/ops/op_table.h"

namespace neap::check {
namespace {

using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::Tensor;
using graph::TensorId;
using ops::OpKind;

constexpr graph::SubgraphId kMain(0);

// What a tensor of the edited graph is. `of` is a tensor of the given graph.
struct Fact {
  enum class Is : std::uint8_t {
    kUnknown,
    kGiven,    // `of`
    kPart,     // indices [begin, end) of `of` along `axis`
    kMax,      // the maximum of the scores `of` over the keys [begin, end)
    kLowered,  // scores [begin, end) minus the maximum `max`
    kExp,      // the exponential of those
    kFall,     // the maximum `from` minus the maximum `max`
    kFactor,   // the exponential of that
    kSum,      // the sum of kExp over [begin, end)
    kMixed,    // the product of kExp and values, over [begin, end), for the output `of`
  };
  Is is = Is::kUnknown;
  TensorId of = {};
  std::size_t axis = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  TensorId max = {};  // of the edited graph
  TensorId from = {};
};
using Is = Fact::Is;

bool Adjoin(const Fact& a, const Fact& b) { return a.end == b.begin || b.end == a.begin; }
bool Covers(const Fact& a, const Fact& b) { return a.begin <= b.begin && b.end <= a.end; }
Fact Joined(Fact a, const Fact& b) {
  a.begin = std::min(a.begin, b.begin);
  a.end = std::max(a.end, b.end);
  return a;
}

// The products of softmax and values in the given graph.
struct Product {
  OpId op;
  TensorId values;
  std::size_t values_axis = 0;
};

class Checker {
 public:
  Checker(const Subgraph& given, const Subgraph& edited)
      : given_(given), edited_(edited), facts_(edited.tensors.size()) {}

  std::string Find() {
    if (given_.inputs != edited_.inputs || given_.outputs != edited_.outputs ||
        given_.tensors.size() > edited_.tensors.size()) {
      return "the inputs or outputs are others";
    }
    for (const TensorId id : given_.tensors.Ids()) {
      if (!IsSameTensor(given_.tensors[id], edited_.tensors[id])) {
        return "tensor '" + given_.tensors[id].name + "' was changed";
      }
    }
    const auto producer = graph::Producers(given_);
    for (const TensorId id : given_.tensors.Ids()) {
      if (!producer[id].valid() || given_.tensors[id].constant) facts_[id] = Whole(id);
    }
    for (const OpId id : InOrder()) {
      const std::string wrong = Visit(edited_.ops[id]);
      if (!wrong.empty()) return graph::Describe(id, edited_.ops[id]) + " " + wrong;
    }
    for (const TensorId id : edited_.outputs) {
      if (facts_[id].is != Is::kGiven) return "an output is not computed";
    }
    return "";
  }

 private:
  static Fact Whole(TensorId id) {
    Fact fact;
    fact.is = Is::kGiven;
    fact.of = id;
    return fact;
  }
  static Fact PartOf(TensorId id, const Range& range) {
    Fact fact;
    fact.is = Is::kPart;
    fact.of = id;
    fact.axis = range.axis;
    fact.begin = range.begin;
    fact.end = range.end;
    return fact;
  }

  // Producers first.
  std::vector<OpId> InOrder() const {
    const auto producer = graph::Producers(edited_);
    std::vector<OpId> order;
    IdVector<OpId, char> seen(edited_.ops.size(), 0);
    std::vector<std::pair<OpId, std::size_t>> open;
    for (const OpId root : edited_.ops.Ids()) {
      if (seen[root] != 0) continue;
      seen[root] = 1;
      open.emplace_back(root, 0);
      while (!open.empty()) {
        auto& [id, next] = open.back();
        const auto& inputs = edited_.ops[id].inputs;
        if (next == inputs.size()) {
          order.push_back(id);
          open.pop_back();
          continue;
        }
        const TensorId input = inputs[next++];
        const OpId before = input.valid() ? producer[input] : OpId();
        if (!before.valid() || seen[before] != 0) continue;
        seen[before] = 1;
        open.emplace_back(before, 0);
      }
    }
    return order;
  }

  std::string Visit(const Op& op) {
    if (op.source_index >= 0) return VisitGiven(op);
    if (op.outputs.size() != 1) return "has several outputs";
    const TensorId out = op.outputs[0];
    Fact fact = FactOf(op);
    if (fact.is == Is::kUnknown) return "is neither a part of a given operator nor of attention";
    // Nothing but a finished product replaces a given tensor.
    const bool is_given = out.index() < given_.tensors.size();
    if (is_given != (fact.is == Is::kGiven) || (is_given && fact.of != out)) {
      return "does not compute the given tensor";
    }
    const Tensor& tensor = edited_.tensors[out];
    if (tensor.type != graph::ElementType::kFloat32 || tensor.shape != ShapeOf(fact)) {
      return "has an output of another type or shape";
    }
    facts_[out] = fact;
    return "";
  }

  std::string VisitGiven(const Op& op) {
    const OpId id(op.source_index);
    if (!given_.ops.Has(id)) return "does not exist in the given model";
    const Op& source = given_.ops[id];
    if (op.type != source.type || op.domain != source.domain || op.inputs != source.inputs ||
        op.outputs != source.outputs || op.captures != source.captures ||
        !HaveSameAttributes(op, source)) {
      return "was changed";
    }
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId input : *list) {
        if (input.valid() && facts_[input].is != Is::kGiven)
          return "reads a tensor before it exists";
      }
    }
    for (const TensorId output : op.outputs) {
      if (output.valid()) facts_[output] = Whole(output);
    }
    return "";
  }

  Shape ShapeOf(const Fact& fact) const {
    Shape shape = *given_.tensors[fact.of].shape;
    if (fact.is == Is::kPart) shape[fact.axis] = fact.end - fact.begin;
    if (fact.is == Is::kLowered || fact.is == Is::kExp) shape.back() = fact.end - fact.begin;
    const bool is_row = fact.is == Is::kMax || fact.is == Is::kFall || fact.is == Is::kFactor ||
                        fact.is == Is::kSum;
    if (is_row) shape.back() = 1;
    return shape;
  }

  const Fact* In(const Op& op, std::size_t i) const {
    return i < op.inputs.size() && op.inputs[i].valid() ? &facts_[op.inputs[i]] : nullptr;
  }

  static bool IsPlainBinary(const Op& op) {
    return op.inputs.size() == 2 && op.inputs[0].valid() && op.inputs[1].valid() &&
           IntegerOf(op, "fused_activation_function", 0) == 0;
  }

  Fact FactOf(const Op& op) {
    Fact fact;
    if (ops::Is(op, OpKind::kSlice, OpKind::kOnnxSlice)) fact = Sliced(op);
    if (ops::Is(op, OpKind::kReduceMax, OpKind::kOnnxReduceMax))
      fact = Reduced(op, Is::kPart, Is::kMax);
    if (ops::Is(op, OpKind::kSum, OpKind::kOnnxReduceSum)) fact = Reduced(op, Is::kExp, Is::kSum);
    if (ops::Is(op, OpKind::kMaximum, OpKind::kOnnxMax)) fact = Maximum(op);
    if (ops::Is(op, OpKind::kSub, OpKind::kOnnxSub)) fact = Difference(op);
    if (ops::Is(op, OpKind::kExp, OpKind::kOnnxExp)) fact = Exponential(op);
    if (ops::Is(op, OpKind::kMul, OpKind::kOnnxMul)) fact = Scaled(op);
    if (ops::Is(op, OpKind::kAdd, OpKind::kOnnxAdd)) fact = Added(op);
    if (ops::Is(op, OpKind::kDiv, OpKind::kOnnxDiv)) fact = Divided(op);
    if (ops::Is(op, OpKind::kBatchMatmul, OpKind::kOnnxMatMul)) fact = Mixed(op);
    return fact.is == Is::kUnknown ? Cloned(op) : fact;
  }

  Fact Sliced(const Op& op) const {
    const Fact* const in = In(op, 0);
    if (in == nullptr || in->is != Is::kGiven) return {};
    const auto range = RangeOfSlice(edited_, op);
    if (!range) return {};
    return PartOf(in->of, *range);
  }

  // Along the last axis, which keeps the size 1. Scores are cut along it.
  Fact Reduced(const Op& op, Is from, Is to) {
    const Fact* const in = In(op, 0);
    if (in == nullptr || in->is != from) return {};
    const std::size_t rank = edited_.tensors[op.inputs[0]].shape->size();
    if (!ReducesLastAxis(edited_, op, rank)) return {};
    if (from == Is::kPart && (in->axis + 1 != rank || ProductsOver(in->of).empty())) return {};
    Fact fact = *in;
    fact.is = to;
    return fact;
  }

  Fact Maximum(const Op& op) const {
    if (!IsPlainBinary(op)) return {};
    const Fact& a = *In(op, 0);
    const Fact& b = *In(op, 1);
    const bool fit = a.is == Is::kMax && b.is == Is::kMax && a.of == b.of && Adjoin(a, b);
    return fit ? Joined(a, b) : Fact();
  }

  // An argument of an exponential is at most 0 where the maximum is over these keys, too.
  Fact Difference(const Op& op) const {
    if (!IsPlainBinary(op)) return {};
    const Fact& a = *In(op, 0);
    const Fact& b = *In(op, 1);
    if (b.is != Is::kMax || a.of != b.of || !Covers(b, a)) return {};
    Fact fact = a;
    fact.max = op.inputs[1];
    if (a.is == Is::kPart && a.axis + 1 == edited_.tensors[op.inputs[0]].shape->size()) {
      fact.is = Is::kLowered;
      return fact;
    }
    if (a.is != Is::kMax) return {};
    fact.is = Is::kFall;
    fact.from = op.inputs[0];
    return fact;
  }

  Fact Exponential(const Op& op) const {
    const Fact* const in = In(op, 0);
    if (in == nullptr || (in->is != Is::kLowered && in->is != Is::kFall)) return {};
    Fact fact = *in;
    fact.is = in->is == Is::kLowered ? Is::kExp : Is::kFactor;
    return fact;
  }

  Fact Scaled(const Op& op) const {
    if (!IsPlainBinary(op)) return {};
    for (const std::size_t i : {0U, 1U}) {
      const Fact& sum = *In(op, i);
      const Fact& factor = *In(op, 1 - i);
      if ((sum.is != Is::kSum && sum.is != Is::kMixed) || factor.is != Is::kFactor ||
          sum.max != factor.from) {
        continue;
      }
      Fact fact = sum;
      fact.max = factor.max;
      return fact;
    }
    return {};
  }

  Fact Added(const Op& op) const {
    if (!IsPlainBinary(op)) return {};
    const Fact& a = *In(op, 0);
    const Fact& b = *In(op, 1);
    const bool fit = a.is == b.is && (a.is == Is::kSum || a.is == Is::kMixed) && a.of == b.of &&
                     a.max == b.max && Adjoin(a, b);
    return fit ? Joined(a, b) : Fact();
  }

  Fact Divided(const Op& op) {
    if (!IsPlainBinary(op)) return {};
    const Fact& mixed = *In(op, 0);
    const Fact& sum = *In(op, 1);
    if (mixed.is != Is::kMixed || sum.is != Is::kSum || mixed.max != sum.max) return {};
    const auto& products = ProductsOver(sum.of);
    const bool known = std::any_of(products.begin(), products.end(), [&](const Product& product) {
      return given_.ops[product.op].outputs[0] == mixed.of;
    });
    if (!known) return {};
    const std::int64_t keys = given_.tensors[sum.of].shape->back();
    const bool all = mixed.begin == 0 && sum.begin == 0 && mixed.end == keys && sum.end == keys;
    return all ? Whole(mixed.of) : Fact();
  }

  Fact Mixed(const Op& op) {
    const Fact* const weights = In(op, 0);
    if (op.inputs.size() != 2 || weights == nullptr || weights->is != Is::kExp) return {};
    for (const Product& product : ProductsOver(weights->of)) {
      const auto axis = AxisOfPart(op.inputs[1], product.values, weights->begin, weights->end);
      if (axis != product.values_axis || !HaveSameAttributes(op, given_.ops[product.op])) continue;
      Fact fact = *weights;
      fact.is = Is::kMixed;
      fact.of = given_.ops[product.op].outputs[0];
      return fact;
    }
    return {};
  }

  // The axis along which the tensor is the indices [begin, end) of a given one: a new constant or a
  // part that was computed.
  std::optional<std::size_t> AxisOfPart(TensorId id, TensorId given, std::int64_t begin,
                                        std::int64_t end) const {
    const Fact& fact = facts_[id];
    if (fact.is == Is::kUnknown) {
      return AxisOfConstant(given_.tensors[given], edited_.tensors[id], begin, end);
    }
    const bool fits =
        fact.is == Is::kPart && fact.of == given && fact.begin == begin && fact.end == end;
    return fits ? std::optional(fact.axis) : std::nullopt;
  }

  // The operator as some given one, on parts of its inputs.
  Fact Cloned(const Op& op) const {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const Fact* const in = In(op, i);
      if (in == nullptr || in->is != Is::kPart) continue;
      for (const Op& source : given_.ops) {
        if (source.inputs.size() != op.inputs.size() || source.inputs[i] != in->of) continue;
        const Fact fact = ClonedFrom(op, source, in->begin, in->end);
        if (fact.is != Is::kUnknown) return fact;
      }
    }
    return {};
  }

  Fact ClonedFrom(const Op& op, const Op& source, std::int64_t begin, std::int64_t end) const {
    if (op.type != source.type || op.domain != source.domain || source.outputs.size() != 1) {
      return {};
    }
    const bool reshapes = ops::Is(op, OpKind::kReshape, OpKind::kOnnxReshape);
    if (reshapes ? !StatesItsShape(edited_, op) : !HaveSameAttributes(op, source)) return {};
    std::vector<std::optional<std::size_t>> axes(op.inputs.size());
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId input = op.inputs[i];
      if (input == source.inputs[i]) {
        if (input.valid() && facts_[input].is != Is::kGiven) return {};
        continue;
      }
      if (!input.valid() || !source.inputs[i].valid()) return {};
      if (reshapes && i == 1) continue;
      axes[i] = AxisOfPart(input, source.inputs[i], begin, end);
      if (!axes[i]) return {};
    }
    const TensorId whole = source.outputs[0];
    const auto axis = CutAxis(given_.tensors[whole], edited_.tensors[op.outputs[0]], end - begin);
    if (!axis || !IsPartOfOutput(given_, source, axes, *axis)) return {};
    return PartOf(whole, {*axis, begin, end});
  }

  // The products of softmax and values over these scores; none where masks may be infinite.
  const std::vector<Product>& ProductsOver(TensorId scores) {
    const auto known = products_.find(scores);
    if (known != products_.end()) return known->second;
    return products_.emplace(scores, FindProducts(scores)).first->second;
  }

  std::vector<Product> FindProducts(TensorId scores) const {
    std::vector<Product> products;
    if (!HasFiniteMasks(given_, scores)) return products;
    const std::size_t rank = given_.tensors[scores].shape->size();
    for (const OpId id : given_.ops.Ids()) {
      const Op& op = given_.ops[id];
      if (!ops::Is(op, OpKind::kBatchMatmul, OpKind::kOnnxMatMul) || op.inputs.size() != 2 ||
          IntegerOf(op, "adj_x", 0) != 0 || given_.tensors[op.inputs[1]].shape->size() != rank) {
        continue;
      }
      const bool of_scores = std::any_of(given_.ops.begin(), given_.ops.end(), [&](const Op& from) {
        return ops::Is(from, OpKind::kSoftmax, OpKind::kOnnxSoftmax) && from.inputs.size() == 1 &&
               from.inputs[0] == scores && from.outputs[0] == op.inputs[0] &&
               IsSoftmaxOfRows(from, rank);
      });
      if (!of_scores) continue;
      const bool turned = IntegerOf(op, "adj_y", 0) != 0;
      products.push_back({id, op.inputs[1], turned ? rank - 1 : rank - 2});
    }
    return products;
  }

  const Subgraph& given_;
  const Subgraph& edited_;
  IdVector<TensorId, Fact> facts_;                     // by tensor of the edited graph
  std::map<TensorId, std::vector<Product>> products_;  // by scores
};

}  // namespace

std::string FindWrongKeyBlocks(const graph::Graph& given, const graph::Graph& edited) {
  return Checker(given.subgraphs[kMain], edited.subgraphs[kMain]).Find();
}

}  // namespace neap::check
