// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/onnx_rules.h"

#include <algorithm>
#include <map>
#include <utility>

#include "neap/base/bytes.h"

namespace neap::ops::onnx {

std::int64_t DimAdd(std::int64_t a, std::int64_t b) {
  if (a < 0 || b < 0) return -1;
  return CheckedAdd(a, b).value_or(-1);
}

std::int64_t DimMul(std::int64_t a, std::int64_t b) {
  if (a < 0 || b < 0) return -1;
  return CheckedMultiply(a, b).value_or(-1);
}

std::int64_t Product(std::span<const std::int64_t> dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) product = DimMul(product, dim);
  return product;
}

std::optional<std::int64_t> FewElements(const MaybeShape& shape) {
  if (!shape) return std::nullopt;
  const std::int64_t elements = Product(*shape);
  if (elements < 0 || elements > kMaxValues) return std::nullopt;
  return elements;
}

MaybeShape Broadcast(std::span<const MaybeShape> shapes) {
  std::size_t rank = 0;
  for (const MaybeShape& shape : shapes) {
    if (!shape) return std::nullopt;
    rank = std::max(rank, shape->size());
  }
  Shape out(rank, 1);
  for (const MaybeShape& shape : shapes) {
    for (std::size_t i = 0; i < shape->size(); ++i) {
      std::int64_t& to = out[rank - shape->size() + i];
      const std::int64_t dim = (*shape)[i];
      // A known dimension other than 1 decides; an unknown one can only be 1 or the same.
      if (to == 1 || (to < 0 && dim != 1 && dim >= 0)) to = dim;
    }
  }
  return out;
}

std::optional<std::size_t> Axis(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

OpView::OpView(const graph::Subgraph& subgraph, const graph::Op& op, int opset,
               std::vector<std::optional<Values>>* values)
    : subgraph_(subgraph), op_(op), opset_(opset), values_(values), results_(op.outputs.size()) {}

bool OpView::Has(std::size_t input) const {
  return input < op_.inputs.size() && subgraph_.tensors.Has(op_.inputs[input]);
}

ElementType OpView::TypeOf(std::size_t input) const {
  return Has(input) ? subgraph_.tensors[op_.inputs[input]].type : ElementType::kUnknown;
}

const MaybeShape& OpView::ShapeOf(std::size_t input) const {
  static const MaybeShape kNone;
  if (!Has(input)) return kNone;
  const MaybeShape& shape = subgraph_.tensors[op_.inputs[input]].shape;
  return shape && shape->size() > kMaxRank ? kNone : shape;
}

std::int64_t OpView::DimOf(std::size_t input, std::size_t axis) const {
  const MaybeShape& shape = ShapeOf(input);
  return shape && axis < shape->size() ? (*shape)[axis] : -1;
}

const Values* OpView::ValuesOf(std::size_t input) const {
  if (!Has(input)) return nullptr;
  const graph::TensorId id = op_.inputs[input];
  std::optional<Values>& values = (*values_)[id.index()];
  if (!values) values = Decode(subgraph_.tensors[id]);
  return values ? &*values : nullptr;
}

std::optional<std::vector<std::int64_t>> OpView::WholesOf(std::size_t input) const {
  const Values* values = ValuesOf(input);
  if (values == nullptr || !IsWhole(TypeOf(input))) return std::nullopt;
  std::vector<std::int64_t> wholes;
  for (const Number& value : *values) {
    if (!value.known) return std::nullopt;
    wholes.push_back(value.whole);
  }
  return wholes;
}

std::optional<std::vector<double>> OpView::RealsOf(std::size_t input) const {
  const Values* values = ValuesOf(input);
  if (values == nullptr || !IsReal(TypeOf(input))) return std::nullopt;
  std::vector<double> reals;
  for (const Number& value : *values) {
    if (!value.known) return std::nullopt;
    reals.push_back(value.real);
  }
  return reals;
}

namespace {

template <typename T>
const T* Find(const graph::Op& op, const char* name) {
  const auto found = op.attributes.find(name);
  return found == op.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

}  // namespace

std::int64_t OpView::Int(const char* name, std::int64_t otherwise) const {
  const auto* value = Find<std::int64_t>(op_, name);
  return value != nullptr ? *value : otherwise;
}

double OpView::Float(const char* name, double otherwise) const {
  const auto* value = Find<double>(op_, name);
  return value != nullptr ? *value : otherwise;
}

std::string OpView::Text(const char* name, std::string_view otherwise) const {
  const auto* value = Find<std::string>(op_, name);
  return value != nullptr ? *value : std::string(otherwise);
}

std::optional<std::vector<std::int64_t>> OpView::Ints(const char* name) const {
  if (const auto* value = Find<std::vector<std::int64_t>>(op_, name)) return *value;
  // Some exporters write a list of one as a number.
  if (const auto* value = Find<std::int64_t>(op_, name)) return std::vector{*value};
  return std::nullopt;
}

std::optional<std::vector<double>> OpView::Floats(const char* name) const {
  const auto* value = Find<std::vector<double>>(op_, name);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

const graph::ConstantData* OpView::Bytes(const char* name) const {
  return Find<graph::ConstantData>(op_, name);
}

std::optional<std::vector<std::int64_t>> OpView::IntsOrInput(const char* name,
                                                             std::size_t input) const {
  if (auto ints = Ints(name)) return ints;
  return WholesOf(input);
}

void OpView::Set(std::size_t output, ElementType type, MaybeShape shape) {
  if (output >= results_.size()) return;
  if (shape && shape->size() > kMaxRank) shape.reset();
  // Attributes may have any value.
  if (shape) {
    for (std::int64_t& dim : *shape) dim = std::max<std::int64_t>(dim, -1);
  }
  results_[output].type = type;
  results_[output].shape = std::move(shape);
}

void OpView::SetWeak(std::size_t output, ElementType type, MaybeShape shape) {
  Set(output, type, std::move(shape));
  if (output < results_.size()) results_[output].weak_type = true;
}

void OpView::SetValues(std::size_t output, Values values) {
  if (output >= results_.size()) return;
  const auto elements = FewElements(results_[output].shape);
  if (!elements || static_cast<std::size_t>(*elements) != values.size()) return;
  results_[output].values = std::move(values);
}

void SameAsFirst(OpView& op) { op.Set(0, op.TypeOf(0), op.ShapeOf(0)); }
void SameShapeAsFirst(OpView& op) { op.SetWeak(0, op.TypeOf(0), op.ShapeOf(0)); }

void BroadcastAll(OpView& op) {
  std::vector<MaybeShape> shapes;
  for (std::size_t i = 0; i < op.inputs(); ++i) shapes.push_back(op.ShapeOf(i));
  op.Set(0, op.TypeOf(0), Broadcast(shapes));
}

RuleFunction FindRule(std::string_view domain, std::string_view type) {
  using Key = std::pair<std::string_view, std::string_view>;
  static const std::map<Key, RuleFunction> kRules = [] {
    std::map<Key, RuleFunction> rules;
    for (const auto table : {ElementwiseRules(), ConvolutionRules(), NetworkRules(), MoveRules(),
                             IndexRules(), ReduceRules(), VendorRules()}) {
      for (const Rule& rule : table) rules.emplace(Key(rule.domain, rule.type), rule.infer);
    }
    return rules;
  }();
  if (domain == "ai.onnx") domain = "";
  const auto found = kRules.find(Key(domain, type));
  return found == kRules.end() ? nullptr : found->second;
}

}  // namespace neap::ops::onnx
