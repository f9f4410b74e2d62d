// SPDX-License-Identifier: Apache-2.0
//
// Operators that fold dimensions away, and those that choose along one.
#include <algorithm>
#include <array>

#include "neap/ops/onnx_rules.h"

namespace neap::ops::onnx {
namespace {

MaybeShape ReducedShape(const OpView& op) {
  const MaybeShape& input = op.ShapeOf(0);
  const auto axes = op.IntsOrInput("axes", 1);
  const bool keep = op.Int("keepdims", 1) != 0;
  if (!axes && op.Has(1)) {
    // Which dimensions go is not known; how many there are only where they stay.
    return input && keep ? MaybeShape(Shape(input->size(), -1)) : std::nullopt;
  }
  if (!input) return std::nullopt;
  const bool all = !axes || axes->empty();
  if (all && op.Int("noop_with_empty_axes", 0) != 0) return input;
  std::vector<bool> folded(input->size(), all);
  if (axes) {
    for (const std::int64_t given : *axes) {
      const auto axis = Axis(given, input->size());
      if (!axis) return std::nullopt;
      folded[*axis] = true;
    }
  }
  Shape out;
  for (std::size_t i = 0; i < input->size(); ++i) {
    if (!folded[i]) {
      out.push_back((*input)[i]);
    } else if (keep) {
      out.push_back(1);
    }
  }
  return out;
}

using Fold = bool (*)(std::int64_t, std::int64_t, std::int64_t*);  // true: overflow

bool FoldProduct(std::int64_t a, std::int64_t b, std::int64_t* out) {
  return __builtin_mul_overflow(a, b, out);
}
bool FoldSum(std::int64_t a, std::int64_t b, std::int64_t* out) {
  return __builtin_add_overflow(a, b, out);
}
bool FoldMin(std::int64_t a, std::int64_t b, std::int64_t* out) {
  *out = std::min(a, b);
  return false;
}
bool FoldMax(std::int64_t a, std::int64_t b, std::int64_t* out) {
  *out = std::max(a, b);
  return false;
}

// Shape arithmetic folds whole vectors of integers.
template <Fold kFold>
void InferFold(OpView& op) {
  InferReduction(op);
  const auto wholes = op.WholesOf(0);
  const auto elements = FewElements(op.results().at(0).shape);
  if (!wholes || wholes->empty() || elements != 1) return;
  std::int64_t folded = wholes->front();
  for (std::size_t i = 1; i < wholes->size(); ++i) {
    if (kFold(folded, (*wholes)[i], &folded)) return;
  }
  op.SetValues(0, {Whole(folded)});
}

void InferArg(OpView& op) {
  MaybeShape shape = op.ShapeOf(0);
  if (shape) {
    const auto axis = Axis(op.Int("axis", 0), shape->size());
    if (!axis) {
      shape.reset();
    } else if (op.Int("keepdims", 1) != 0) {
      (*shape)[*axis] = 1;
    } else {
      shape->erase(shape->begin() + static_cast<std::ptrdiff_t>(*axis));
    }
  }
  op.Set(0, ElementType::kInt64, shape);
}

void InferTopK(OpView& op) {
  MaybeShape shape = op.ShapeOf(0);
  if (shape) {
    const auto axis = Axis(op.Int("axis", -1), shape->size());
    const auto k = op.WholesOf(1);
    if (!axis) {
      shape.reset();
    } else {
      const std::int64_t count = k && k->size() == 1 ? k->front() : op.Int("k", -1);
      (*shape)[*axis] = std::max<std::int64_t>(count, -1);
    }
  }
  op.Set(0, op.TypeOf(0), shape);
  op.Set(1, ElementType::kInt64, shape);
}

void InferOneHot(OpView& op) {
  MaybeShape shape = op.ShapeOf(0);
  if (shape) {
    const auto axis = Axis(op.Int("axis", -1), shape->size() + 1);
    const auto depth = op.WholesOf(1);
    if (!axis) {
      shape.reset();
    } else {
      const std::int64_t dim = depth && depth->size() == 1 ? depth->front() : -1;
      shape->insert(shape->begin() + static_cast<std::ptrdiff_t>(*axis),
                    std::max<std::int64_t>(dim, -1));
    }
  }
  op.Set(0, op.TypeOf(2), shape);
}

// The places of the elements that are not zero, a column each: [rank, how many].
void InferNonZero(OpView& op) {
  const MaybeShape& input = op.ShapeOf(0);
  const auto rank = input ? static_cast<std::int64_t>(input->size()) : -1;
  op.Set(0, ElementType::kInt64, Shape{rank, -1});
  const Values* values = op.ValuesOf(0);
  if (!input || values == nullptr || rank == 0) return;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < values->size(); ++i) {
    const Number& value = (*values)[i];
    if (!value.known) return;
    if (value.whole != 0 || value.real != 0) places.push_back(i);
  }
  op.Set(0, ElementType::kInt64, Shape{rank, static_cast<std::int64_t>(places.size())});
  Values out(input->size() * places.size());
  for (std::size_t column = 0; column < places.size(); ++column) {
    std::size_t rest = places[column];
    for (std::size_t i = input->size(); i-- > 0;) {
      const auto dim = static_cast<std::size_t>((*input)[i]);
      out[i * places.size() + column] = Whole(static_cast<std::int64_t>(rest % dim));
      rest /= dim;
    }
  }
  op.SetValues(0, std::move(out));
}

void InferNonMaxSuppression(OpView& op) { op.Set(0, ElementType::kInt64, Shape{-1, 3}); }

// Elements or slices along "axis" are selected by values: their number is unknown.
void InferCompress(OpView& op) {
  MaybeShape shape = Shape{-1};
  if (op.HasAttribute("axis")) {
    shape = op.ShapeOf(0);
    const auto axis = shape ? Axis(op.Int("axis", 0), shape->size()) : std::nullopt;
    if (axis) {
      (*shape)[*axis] = -1;
    } else {
      shape.reset();
    }
  }
  op.Set(0, op.TypeOf(0), shape);
}

void InferUnique(OpView& op) {
  InferCompress(op);
  for (std::size_t i = 1; i < 4; ++i) op.Set(i, ElementType::kInt64, Shape{-1});
}

constexpr auto kReduceRules = std::to_array<Rule>({
    {"", "ReduceL1", InferReduction},
    {"", "ReduceL2", InferReduction},
    {"", "ReduceLogSum", InferReduction},
    {"", "ReduceLogSumExp", InferReduction},
    {"", "ReduceMax", InferFold<FoldMax>},
    {"", "ReduceMean", InferReduction},
    {"", "ReduceMin", InferFold<FoldMin>},
    {"", "ReduceProd", InferFold<FoldProduct>},
    {"", "ReduceSum", InferFold<FoldSum>},
    {"", "ReduceSumSquare", InferReduction},
    {"", "ArgMax", InferArg},
    {"", "ArgMin", InferArg},
    {"", "TopK", InferTopK},
    {"", "OneHot", InferOneHot},
    {"", "NonZero", InferNonZero},
    {"", "NonMaxSuppression", InferNonMaxSuppression},
    {"", "Unique", InferUnique},
    {"", "Compress", InferCompress},
});

}  // namespace

void InferReduction(OpView& op) { op.Set(0, op.TypeOf(0), ReducedShape(op)); }

std::span<const Rule> ReduceRules() { return kReduceRules; }

}  // namespace neap::ops::onnx
