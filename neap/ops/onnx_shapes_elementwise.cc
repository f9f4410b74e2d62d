// SPDX-License-Identifier: Apache-2.0
//
// Operators whose output elements depend on the input elements of the same place.
#include <array>
#include <cmath>
#include <functional>

#include "neap/ops/onnx_rules.h"

namespace neap::ops::onnx {
namespace {

// Row-major place in `shape` of the element that broadcasts to `flat` in `out`.
std::size_t BroadcastIndex(std::size_t flat, const Shape& out, const Shape& shape) {
  std::size_t index = 0;
  std::size_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto out_dim = static_cast<std::size_t>(out[out.size() - shape.size() + i]);
    const std::size_t at = flat % out_dim;
    flat /= out_dim;
    if (shape[i] != 1) index += at * stride;
    stride *= static_cast<std::size_t>(shape[i]);
  }
  return index;
}

using Calculation = std::function<Number(std::span<const Number>, bool real)>;

// The output's values where those of all inputs are followed; `type` is the inputs' type.
void Calculate(OpView& op, ElementType type, const MaybeShape& out, const Calculation& calculate) {
  const auto elements = FewElements(out);
  if (!elements || (!IsReal(type) && !IsWhole(type)) || op.inputs() > kMaxRank) return;
  std::vector<const Values*> inputs;
  for (std::size_t i = 0; i < op.inputs(); ++i) {
    const Values* values = op.ValuesOf(i);
    const auto own = FewElements(op.ShapeOf(i));
    if (values == nullptr || !own || values->size() != static_cast<std::size_t>(*own)) return;
    for (const std::int64_t dim : *op.ShapeOf(i)) {
      if (dim == 0 && *elements != 0) return;
    }
    inputs.push_back(values);
  }
  Values results;
  std::vector<Number> row(inputs.size());
  for (std::size_t flat = 0; flat < static_cast<std::size_t>(*elements); ++flat) {
    bool known = true;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::size_t at = BroadcastIndex(flat, *out, *op.ShapeOf(i));
      if (at >= inputs[i]->size()) return;  // shapes that do not broadcast
      row[i] = (*inputs[i])[at];
      known = known && row[i].known;
    }
    results.push_back(known ? calculate(row, IsReal(type)) : Number{});
  }
  op.SetValues(0, std::move(results));
}

Number AddTwo(const Number& a, const Number& b, bool real) {
  std::int64_t out = 0;
  if (real) return Real(a.real + b.real);
  return __builtin_add_overflow(a.whole, b.whole, &out) ? Number{} : Whole(out);
}
Number SubTwo(const Number& a, const Number& b, bool real) {
  std::int64_t out = 0;
  if (real) return Real(a.real - b.real);
  return __builtin_sub_overflow(a.whole, b.whole, &out) ? Number{} : Whole(out);
}
Number MulTwo(const Number& a, const Number& b, bool real) {
  std::int64_t out = 0;
  if (real) return Real(a.real * b.real);
  return __builtin_mul_overflow(a.whole, b.whole, &out) ? Number{} : Whole(out);
}
Number DivTwo(const Number& a, const Number& b, bool real) {
  if (real) return Real(a.real / b.real);
  if (b.whole == 0 || b.whole == -1) {
    return b.whole == 0 ? Number{} : SubTwo(Whole(0), a, false);
  }
  return Whole(a.whole / b.whole);
}
// The sign of the divisor, as Python's.
Number ModTwo(const Number& a, const Number& b, bool real) {
  if (real || b.whole == 0 || b.whole == -1) return b.whole == -1 ? Whole(0) : Number{};
  const std::int64_t rest = a.whole % b.whole;
  return Whole(rest != 0 && (rest < 0) != (b.whole < 0) ? rest + b.whole : rest);
}
Number MinTwo(const Number& a, const Number& b, bool real) {
  return (real ? b.real < a.real : b.whole < a.whole) ? b : a;
}
Number MaxTwo(const Number& a, const Number& b, bool real) {
  return (real ? b.real > a.real : b.whole > a.whole) ? b : a;
}

using Two = Number (*)(const Number&, const Number&, bool);

// Before opset 7 the second operand was broadcast to the first, by an attribute.
MaybeShape ArithmeticShape(const OpView& op) {
  if (op.opset() < 7 && op.inputs() == 2) return op.ShapeOf(0);
  std::vector<MaybeShape> shapes;
  for (std::size_t i = 0; i < op.inputs(); ++i) shapes.push_back(op.ShapeOf(i));
  return Broadcast(shapes);
}

template <Two kTwo>
void InferArithmetic(OpView& op) {
  const ElementType type = op.TypeOf(0);
  const MaybeShape shape = ArithmeticShape(op);
  op.Set(0, type, shape);
  Calculate(op, type, shape, [type](std::span<const Number> row, bool real) {
    Number out = row[0];
    for (std::size_t i = 1; i < row.size(); ++i) {
      if (out.known) out = Convert(kTwo(out, row[i], real), type, type);
    }
    return out;
  });
}

void InferPow(OpView& op) {
  const ElementType type = op.TypeOf(0);
  const MaybeShape shape = ArithmeticShape(op);
  op.Set(0, type, shape);
  if (op.TypeOf(1) != type) return;
  Calculate(op, type, shape, [](std::span<const Number> row, bool real) {
    if (real || row[1].whole < 0 || row[1].whole > 64) return Number{};
    Number out = Whole(1);
    for (std::int64_t i = 0; i < row[1].whole && out.known; ++i) out = MulTwo(out, row[0], false);
    return out;
  });
}

enum class Compare : char { kEqual, kLess, kGreater, kLessOrEqual, kGreaterOrEqual };

template <Compare kCompare>
void InferComparison(OpView& op) {
  const MaybeShape shape = ArithmeticShape(op);
  op.Set(0, ElementType::kBool, shape);
  Calculate(op, op.TypeOf(0), shape, [](std::span<const Number> row, bool real) {
    if (row.size() != 2) return Number{};
    const bool less = real ? row[0].real < row[1].real : row[0].whole < row[1].whole;
    const bool equal = real ? row[0].real == row[1].real : row[0].whole == row[1].whole;
    const bool greater = real ? row[0].real > row[1].real : row[0].whole > row[1].whole;
    switch (kCompare) {
      case Compare::kEqual:
        return Whole(equal ? 1 : 0);
      case Compare::kLess:
        return Whole(less ? 1 : 0);
      case Compare::kGreater:
        return Whole(greater ? 1 : 0);
      case Compare::kLessOrEqual:
        return Whole(less || equal ? 1 : 0);
      case Compare::kGreaterOrEqual:
        return Whole(greater || equal ? 1 : 0);
    }
    return Number{};
  });
}

enum class Logic : char { kAnd, kOr, kXor };

template <Logic kLogic>
void InferLogic(OpView& op) {
  const MaybeShape shape = ArithmeticShape(op);
  op.Set(0, ElementType::kBool, shape);
  Calculate(op, ElementType::kBool, shape, [](std::span<const Number> row, bool) {
    if (row.size() != 2) return Number{};
    const bool a = row[0].whole != 0;
    const bool b = row[1].whole != 0;
    if (kLogic == Logic::kAnd) return Whole(a && b ? 1 : 0);
    if (kLogic == Logic::kOr) return Whole(a || b ? 1 : 0);
    return Whole(a != b ? 1 : 0);
  });
}

using One = Number (*)(const Number&, bool);

template <One kOne>
void InferUnary(OpView& op) {
  const ElementType type = op.TypeOf(0);
  op.Set(0, type, op.ShapeOf(0));
  Calculate(op, type, op.ShapeOf(0), [type](std::span<const Number> row, bool real) {
    return Convert(kOne(row[0], real), type, type);
  });
}

Number Keep(const Number& a, bool) { return a; }
Number Negate(const Number& a, bool real) {
  return real ? Real(-a.real) : SubTwo(Whole(0), a, false);
}
Number Absolute(const Number& a, bool real) {
  if (real) return Real(std::fabs(a.real));
  return a.whole < 0 ? Negate(a, false) : a;
}
Number Down(const Number& a, bool real) { return real ? Real(std::floor(a.real)) : a; }
Number Up(const Number& a, bool real) { return real ? Real(std::ceil(a.real)) : a; }
Number Even(const Number& a, bool real) { return real ? Real(std::nearbyint(a.real)) : a; }
Number Root(const Number& a, bool real) {
  return real && a.real >= 0 ? Real(std::sqrt(a.real)) : Number{};
}

void InferNot(OpView& op) {
  op.Set(0, ElementType::kBool, op.ShapeOf(0));
  Calculate(op, ElementType::kBool, op.ShapeOf(0),
            [](std::span<const Number> row, bool) { return Whole(row[0].whole == 0 ? 1 : 0); });
}

void InferToBool(OpView& op) { op.Set(0, ElementType::kBool, op.ShapeOf(0)); }

void InferWhere(OpView& op) {
  const std::array shapes = {op.ShapeOf(0), op.ShapeOf(1), op.ShapeOf(2)};
  const MaybeShape shape = Broadcast(shapes);
  op.Set(0, op.TypeOf(1), shape);
  if (op.inputs() != 3) return;
  Calculate(op, op.TypeOf(1), shape,
            [](std::span<const Number> row, bool) { return row[0].whole != 0 ? row[1] : row[2]; });
}

void InferCast(OpView& op) {
  const ElementType from = op.TypeOf(0);
  const ElementType to = OnnxElementType(op.Int("to", 0));
  op.Set(0, to, op.ShapeOf(0));
  if (to == ElementType::kUnknown) return;
  if (const Values* values = op.ValuesOf(0)) {
    Values out;
    for (const Number& value : *values) out.push_back(Convert(value, from, to));
    op.SetValues(0, std::move(out));
  }
}

void InferCastLike(OpView& op) { op.Set(0, op.TypeOf(1), op.ShapeOf(0)); }

void InferDropout(OpView& op) {
  SameAsFirst(op);
  op.Set(1, op.opset() >= 10 ? ElementType::kBool : op.TypeOf(0), op.ShapeOf(0));
}

constexpr auto kElementwiseRules = std::to_array<Rule>({
    {"", "Add", InferArithmetic<AddTwo>},
    {"", "Sum", InferArithmetic<AddTwo>},
    {"", "Sub", InferArithmetic<SubTwo>},
    {"", "Mul", InferArithmetic<MulTwo>},
    {"", "Div", InferArithmetic<DivTwo>},
    {"", "Mod", InferArithmetic<ModTwo>},
    {"", "Min", InferArithmetic<MinTwo>},
    {"", "Max", InferArithmetic<MaxTwo>},
    {"", "Mean", BroadcastAll},
    {"", "Pow", InferPow},
    {"", "BitShift", BroadcastAll},
    {"", "BitwiseAnd", BroadcastAll},
    {"", "BitwiseOr", BroadcastAll},
    {"", "BitwiseXor", BroadcastAll},
    {"", "Equal", InferComparison<Compare::kEqual>},
    {"", "Less", InferComparison<Compare::kLess>},
    {"", "Greater", InferComparison<Compare::kGreater>},
    {"", "LessOrEqual", InferComparison<Compare::kLessOrEqual>},
    {"", "GreaterOrEqual", InferComparison<Compare::kGreaterOrEqual>},
    {"", "And", InferLogic<Logic::kAnd>},
    {"", "Or", InferLogic<Logic::kOr>},
    {"", "Xor", InferLogic<Logic::kXor>},
    {"", "Not", InferNot},
    {"", "IsNaN", InferToBool},
    {"", "IsInf", InferToBool},
    {"", "Where", InferWhere},
    {"", "Cast", InferCast},
    {"", "CastLike", InferCastLike},
    {"", "Dropout", InferDropout},
    {"", "Clip", SameAsFirst},
    {"", "Identity", InferUnary<Keep>},
    {"", "Neg", InferUnary<Negate>},
    {"", "Abs", InferUnary<Absolute>},
    {"", "Floor", InferUnary<Down>},
    {"", "Ceil", InferUnary<Up>},
    {"", "Round", InferUnary<Even>},
    {"", "Sqrt", InferUnary<Root>},
    {"", "Acos", SameAsFirst},
    {"", "Acosh", SameAsFirst},
    {"", "Asin", SameAsFirst},
    {"", "Asinh", SameAsFirst},
    {"", "Atan", SameAsFirst},
    {"", "Atanh", SameAsFirst},
    {"", "BitwiseNot", SameAsFirst},
    {"", "Celu", SameAsFirst},
    {"", "Cos", SameAsFirst},
    {"", "Cosh", SameAsFirst},
    {"", "CumSum", SameAsFirst},
    {"", "Elu", SameAsFirst},
    {"", "Erf", SameAsFirst},
    {"", "Exp", SameAsFirst},
    {"", "Gelu", SameAsFirst},
    {"", "HardSigmoid", SameAsFirst},
    {"", "HardSwish", SameAsFirst},
    {"", "LeakyRelu", SameAsFirst},
    {"", "Log", SameAsFirst},
    {"", "Mish", SameAsFirst},
    {"", "PRelu", SameAsFirst},
    {"", "Reciprocal", SameAsFirst},
    {"", "Relu", SameAsFirst},
    {"", "Selu", SameAsFirst},
    {"", "Shrink", SameAsFirst},
    {"", "Sigmoid", SameAsFirst},
    {"", "Sign", SameAsFirst},
    {"", "Sin", SameAsFirst},
    {"", "Sinh", SameAsFirst},
    {"", "Softplus", SameAsFirst},
    {"", "Softsign", SameAsFirst},
    {"", "Swish", SameAsFirst},
    {"", "Tan", SameAsFirst},
    {"", "Tanh", SameAsFirst},
    {"", "ThresholdedRelu", SameAsFirst},
});

}  // namespace

std::span<const Rule> ElementwiseRules() { return kElementwiseRules; }

}  // namespace neap::ops::onnx
