// SPDX-License-Identifier: Apache-2.0
//
// Operators that pick or place elements: slices, gathers, scatters, and those that output shapes.
#include <algorithm>
#include <array>
#include <limits>

#include "neap/ops/onnx_rules.h"

namespace neap::ops::onnx {
namespace {

using Dims = std::vector<std::int64_t>;

// Dimension `dims[at]` as a number that may be unknown.
Number DimNumber(std::int64_t dim) { return dim < 0 ? Number{} : Whole(dim); }

void InferShape(OpView& op) {
  op.Set(0, ElementType::kInt64, Shape{-1});
  const MaybeShape& shape = op.ShapeOf(0);
  if (!shape) return;
  const auto rank = static_cast<std::int64_t>(shape->size());
  const auto clamp = [rank](std::int64_t at) {
    if (at < 0) at = at < -rank ? 0 : at + rank;
    return std::min(at, rank);
  };
  const std::int64_t start = clamp(op.Int("start", 0));
  const std::int64_t end = std::max(start, clamp(op.Int("end", rank)));
  Values values;
  for (std::int64_t i = start; i < end; ++i) {
    values.push_back(DimNumber((*shape)[static_cast<std::size_t>(i)]));
  }
  op.Set(0, ElementType::kInt64, Shape{end - start});
  op.SetValues(0, std::move(values));
}

void InferSize(OpView& op) {
  op.Set(0, ElementType::kInt64, Shape{});
  if (const MaybeShape& shape = op.ShapeOf(0)) op.SetValues(0, {DimNumber(Product(*shape))});
}

void InferConstantOfShape(OpView& op) {
  graph::Tensor value;
  value.type = ElementType::kFloat32;
  value.shape = Shape{1};
  Values fill = {Real(0)};
  if (const graph::ConstantData* bytes = op.Bytes("value")) {
    value.type = OnnxElementType(op.Int("value.type", 0));
    value.data = *bytes;
    fill = Decode(value).value_or(Values{Number{}});
  } else if (op.HasAttribute("value.type")) {
    value.type = OnnxElementType(op.Int("value.type", 0));
    fill = {Number{}};
  }
  const Values* given = op.ValuesOf(0);
  if (given == nullptr) {
    const std::int64_t rank = op.DimOf(0, 0);
    const bool few = rank >= 0 && rank <= static_cast<std::int64_t>(kMaxRank);
    op.Set(0, value.type,
           few ? MaybeShape(Shape(static_cast<std::size_t>(rank), -1)) : std::nullopt);
    return;
  }
  Shape shape;
  for (const Number& dim : *given)
    shape.push_back(dim.known ? std::max<std::int64_t>(dim.whole, -1) : -1);
  op.Set(0, value.type, shape);
  if (const auto elements = FewElements(op.results().at(0).shape)) {
    op.SetValues(0, Values(static_cast<std::size_t>(*elements), fill.front()));
  }
}

// Values of data[..., indices, ...] along `axis`.
void GatherValues(OpView& op, std::size_t axis) {
  const Values* data = op.ValuesOf(0);
  const auto indices = op.WholesOf(1);
  const auto elements = FewElements(op.results().at(0).shape);
  if (data == nullptr || !indices || !elements) return;
  const Shape& shape = *op.ShapeOf(0);
  const auto count = static_cast<std::size_t>(shape[axis]);
  const auto inner = static_cast<std::size_t>(Product(std::span(shape).subspan(axis + 1)));
  const std::size_t block = count * inner;
  Values out;
  for (std::size_t base = 0; block != 0 && base + block <= data->size(); base += block) {
    for (std::int64_t index : *indices) {
      if (index < 0) index += static_cast<std::int64_t>(count);
      if (index < 0 || index >= static_cast<std::int64_t>(count)) return;
      const std::size_t from = base + static_cast<std::size_t>(index) * inner;
      out.insert(out.end(), data->begin() + static_cast<std::ptrdiff_t>(from),
                 data->begin() + static_cast<std::ptrdiff_t>(from + inner));
    }
  }
  op.SetValues(0, std::move(out));
}

void InferGather(OpView& op) {
  op.Set(0, op.TypeOf(0), std::nullopt);
  const MaybeShape& data = op.ShapeOf(0);
  const MaybeShape& indices = op.ShapeOf(1);
  if (!data || !indices) return;
  const auto axis = Axis(op.Int("axis", 0), data->size());
  if (!axis) return;
  const auto at = static_cast<std::ptrdiff_t>(*axis);
  Shape out(data->begin(), data->begin() + at);
  out.insert(out.end(), indices->begin(), indices->end());
  out.insert(out.end(), data->begin() + at + 1, data->end());
  op.Set(0, op.TypeOf(0), out);
  GatherValues(op, *axis);
}

void InferGatherElements(OpView& op) { op.Set(0, op.TypeOf(0), op.ShapeOf(1)); }

void InferGatherND(OpView& op) {
  op.Set(0, op.TypeOf(0), std::nullopt);
  const MaybeShape& data = op.ShapeOf(0);
  const MaybeShape& indices = op.ShapeOf(1);
  if (!data || !indices || indices->empty()) return;
  const std::int64_t batch = op.Int("batch_dims", 0);
  const std::int64_t depth = indices->back();
  const auto rank = static_cast<std::int64_t>(data->size());
  if (depth < 0 || batch < 0 || batch > rank || depth > rank - batch) return;
  Shape out(indices->begin(), indices->end() - 1);
  out.insert(out.end(), data->begin() + static_cast<std::ptrdiff_t>(batch + depth), data->end());
  op.Set(0, op.TypeOf(0), out);
}

struct Range {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

// start:end:step clamped to a dimension, as the format defines.
Range Clamp(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  const std::int64_t low = step < 0 ? -1 : 0;
  const std::int64_t high = step < 0 ? dim - 1 : dim;
  const auto clamp = [&](std::int64_t at, std::int64_t least) {
    if (at < 0) at = at < -dim ? least : at + dim;
    return std::clamp(at, least, high < least ? least : high);
  };
  const std::int64_t from = clamp(start, 0);
  const std::int64_t to = clamp(end, low);
  const std::int64_t distance = step < 0 ? from - to : to - from;
  const std::int64_t stride = step == std::numeric_limits<std::int64_t>::min()
                                  ? std::numeric_limits<std::int64_t>::max()
                                  : std::abs(step);
  if (distance <= 0 || dim == 0) return {from, step, 0};
  return {from, step, (distance - 1) / stride + 1};
}

// The elements that `ranges` (one a dimension) pick.
void SliceValues(OpView& op, const std::vector<Range>& ranges) {
  const Values* data = op.ValuesOf(0);
  const auto elements = FewElements(op.results().at(0).shape);
  if (data == nullptr || !elements) return;
  const Shape& shape = *op.ShapeOf(0);
  Values out;
  for (std::int64_t flat = 0; flat < *elements; ++flat) {
    std::int64_t rest = flat;
    std::int64_t stride = 1;
    std::int64_t from = 0;
    for (std::size_t i = ranges.size(); i-- > 0;) {
      from += (ranges[i].start + rest % ranges[i].count * ranges[i].step) * stride;
      rest /= ranges[i].count;
      stride *= shape[i];
    }
    if (from < 0 || from >= static_cast<std::int64_t>(data->size())) return;
    out.push_back((*data)[static_cast<std::size_t>(from)]);
  }
  op.SetValues(0, std::move(out));
}

void InferSlice(OpView& op) {
  op.Set(0, op.TypeOf(0), std::nullopt);
  MaybeShape shape = op.ShapeOf(0);
  if (!shape) return;
  const auto starts = op.IntsOrInput("starts", 1);
  const auto ends = op.IntsOrInput("ends", 2);
  auto axes = op.IntsOrInput("axes", 3);
  auto steps = op.WholesOf(4);
  const bool blind = (op.Has(3) && !axes) || (!axes && !starts && !ends);
  if (blind) {
    op.Set(0, op.TypeOf(0), Shape(shape->size(), -1));
    return;
  }
  const std::size_t count = axes ? axes->size() : (starts ? starts->size() : ends->size());
  if (count > shape->size() || (starts && starts->size() != count) ||
      (ends && ends->size() != count) || (steps && steps->size() != count)) {
    return;
  }
  std::vector<Range> ranges;
  for (const std::int64_t dim : *shape) ranges.push_back({0, 1, dim});
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = Axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), shape->size());
    if (!axis) return;
    std::int64_t& dim = (*shape)[*axis];
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (!starts || !ends || dim < 0 || step == 0 || (op.Has(4) && !steps)) {
      dim = -1;
      continue;
    }
    ranges[*axis] = Clamp(dim, (*starts)[i], (*ends)[i], step);
    dim = ranges[*axis].count;
  }
  op.Set(0, op.TypeOf(0), shape);
  SliceValues(op, ranges);
}

void InferRange(OpView& op) {
  op.Set(0, op.TypeOf(0), Shape{-1});
  if (const auto start = op.WholesOf(0)) {
    const auto limit = op.WholesOf(1);
    const auto delta = op.WholesOf(2);
    if (!limit || !delta || start->size() != 1 || limit->size() != 1 || delta->size() != 1) return;
    const std::int64_t step = delta->front();
    std::int64_t distance = 0;
    if (step == 0 || step == std::numeric_limits<std::int64_t>::min() ||
        __builtin_sub_overflow(limit->front(), start->front(), &distance) ||
        distance == std::numeric_limits<std::int64_t>::min()) {
      return;
    }
    if (step < 0) distance = -distance;
    const std::int64_t count = distance <= 0 ? 0 : (distance - 1) / std::abs(step) + 1;
    op.Set(0, op.TypeOf(0), Shape{count});
    Values values;
    for (std::int64_t i = 0; i < count && count <= kMaxValues; ++i) {
      values.push_back(Whole(start->front() + i * step));
    }
    op.SetValues(0, std::move(values));
    return;
  }
  const auto start = op.RealsOf(0);
  const auto limit = op.RealsOf(1);
  const auto delta = op.RealsOf(2);
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 ||
      delta->size() != 1 || delta->front() == 0) {
    return;
  }
  const double count = (limit->front() - start->front()) / delta->front();
  if (!(count < 0x1.0p40)) return;
  auto whole = static_cast<std::int64_t>(std::max(count, 0.0));
  if (static_cast<double>(whole) < count) ++whole;
  op.Set(0, op.TypeOf(0), Shape{whole});
}

void InferEyeLike(OpView& op) {
  const ElementType type = OnnxElementType(op.Int("dtype", 0));
  op.Set(0, type != ElementType::kUnknown ? type : op.TypeOf(0), op.ShapeOf(0));
}

// Random tensors of a given shape, and of another tensor's.
void InferRandom(OpView& op) {
  const auto shape = op.Ints("shape");
  op.Set(0, OnnxElementType(op.Int("dtype", 1)), shape ? MaybeShape(*shape) : std::nullopt);
}

void InferMultinomial(OpView& op) {
  op.Set(0, OnnxElementType(op.Int("dtype", 6)), Shape{op.DimOf(0, 0), op.Int("sample_size", 1)});
}

// Sequences are handles: their bytes are the runtime's.
void InferSequence(OpView& op) { op.Set(0, ElementType::kResource, std::nullopt); }
void InferSequenceLength(OpView& op) { op.Set(0, ElementType::kInt64, Shape{}); }
void InferHasElement(OpView& op) { op.Set(0, ElementType::kBool, Shape{}); }

constexpr auto kIndexRules = std::to_array<Rule>({
    {"", "Shape", InferShape},
    {"", "Size", InferSize},
    {"", "ConstantOfShape", InferConstantOfShape},
    {"", "Range", InferRange},
    {"", "EyeLike", InferEyeLike},
    {"", "Gather", InferGather},
    {"", "GatherElements", InferGatherElements},
    {"", "GatherND", InferGatherND},
    {"", "Slice", InferSlice},
    {"", "DynamicSlice", InferSlice},
    {"", "Scatter", SameAsFirst},
    {"", "ScatterElements", SameAsFirst},
    {"", "ScatterND", SameAsFirst},
    {"", "TensorScatter", SameAsFirst},
    {"", "ReverseSequence", SameAsFirst},
    {"", "Trilu", SameAsFirst},
    {"", "RandomNormal", InferRandom},
    {"", "RandomUniform", InferRandom},
    {"", "RandomNormalLike", InferEyeLike},
    {"", "RandomUniformLike", InferEyeLike},
    {"", "Bernoulli", InferEyeLike},
    {"", "Multinomial", InferMultinomial},
    {"", "SequenceConstruct", InferSequence},
    {"", "SequenceEmpty", InferSequence},
    {"", "SequenceErase", InferSequence},
    {"", "SequenceInsert", InferSequence},
    {"", "SplitToSequence", InferSequence},
    {"", "Optional", InferSequence},
    {"", "SequenceLength", InferSequenceLength},
    {"", "OptionalHasElement", InferHasElement},
});

}  // namespace

std::span<const Rule> IndexRules() { return kIndexRules; }

}  // namespace neap::ops::onnx
