// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements without changing them: reshape, transpose, concatenate, pad, resize.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "neap/ops/onnx_rules.h"

namespace neap::ops::onnx {
namespace {

using Dims = std::vector<std::int64_t>;

void PassValues(OpView& op) {
  if (const Values* values = op.ValuesOf(0)) op.SetValues(0, *values);
}

// Two shapes of which one is a rearrangement of the other have the same product; a single -1 takes
// what is left.
Shape ResolveReshape(const OpView& op, const std::vector<Number>& wanted) {
  const MaybeShape& input = op.ShapeOf(0);
  const bool allow_zero = op.Int("allowzero", 0) != 0;
  Shape out;
  std::size_t inferred = wanted.size();
  std::size_t unknown = 0;
  std::vector<bool> copied(wanted.size(), false);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::int64_t dim = wanted[i].known ? wanted[i].whole : -1;
    if (wanted[i].known && dim == -1) {
      inferred = i;
    } else if (wanted[i].known && dim == 0 && !allow_zero) {
      dim = op.DimOf(0, i);
      copied[i] = true;
      if (dim < 0) ++unknown;
    } else if (dim < 0) {
      ++unknown;
    }
    out.push_back(std::max<std::int64_t>(dim, -1));
  }
  if (!input) return out;
  // Unknown dimensions that are copied as they are cancel out on both sides.
  Shape total_dims;
  Shape rest_dims;
  std::size_t open = unknown;
  for (std::size_t i = 0; i < input->size(); ++i) {
    const bool cancels = i < copied.size() && copied[i] && (*input)[i] < 0;
    if (cancels) {
      --open;
    } else {
      total_dims.push_back((*input)[i]);
    }
  }
  for (const std::int64_t dim : out) {
    if (dim >= 0) rest_dims.push_back(dim);
  }
  const std::int64_t total = Product(total_dims);
  const std::int64_t rest = Product(rest_dims);
  const std::size_t missing = open + (inferred < wanted.size() ? 1 : 0);
  if (missing != 1 || total < 0 || rest <= 0 || total % rest != 0) return out;
  if (inferred < wanted.size()) {
    out[inferred] = total / rest;
  } else {
    // One copied dimension is unknown: it follows from the element count.
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i] < 0 && !copied[i]) out[i] = total / rest;
    }
  }
  return out;
}

void InferReshape(OpView& op) {
  op.Set(0, op.TypeOf(0), std::nullopt);
  std::vector<Number> wanted;
  if (const auto attribute = op.Ints("shape")) {
    for (const std::int64_t dim : *attribute) wanted.push_back(Whole(dim));
  } else if (const Values* values = op.ValuesOf(1)) {
    wanted = *values;
  } else {
    const std::int64_t rank = op.DimOf(1, 0);
    if (rank < 0 || rank > static_cast<std::int64_t>(kMaxRank)) return;
    wanted.resize(static_cast<std::size_t>(rank));
  }
  if (wanted.size() > kMaxRank) return;
  op.Set(0, op.TypeOf(0), ResolveReshape(op, wanted));
  PassValues(op);
}

void InferFlatten(OpView& op) {
  MaybeShape shape = op.ShapeOf(0);
  if (shape) {
    std::int64_t axis = op.Int("axis", 1);
    const auto rank = static_cast<std::int64_t>(shape->size());
    if (axis < 0) axis = axis < -rank ? rank + 1 : axis + rank;
    if (axis > rank) {
      shape.reset();
    } else {
      const auto at = static_cast<std::size_t>(axis);
      shape = Shape{Product(std::span(*shape).first(at)), Product(std::span(*shape).subspan(at))};
    }
  }
  op.Set(0, op.TypeOf(0), shape);
  PassValues(op);
}

void InferSqueeze(OpView& op) {
  op.Set(0, op.TypeOf(0), std::nullopt);
  const MaybeShape& input = op.ShapeOf(0);
  const auto axes = op.IntsOrInput("axes", 1);
  if (!input || (op.Has(1) && !axes)) return;
  std::vector<bool> drop(input->size(), false);
  if (axes) {
    for (const std::int64_t given : *axes) {
      const auto axis = Axis(given, input->size());
      if (!axis) return;
      drop[*axis] = true;
    }
  } else {
    for (std::size_t i = 0; i < input->size(); ++i) {
      if ((*input)[i] < 0) return;  // a dimension that may be 1 may go
      drop[i] = (*input)[i] == 1;
    }
  }
  Shape out;
  for (std::size_t i = 0; i < input->size(); ++i) {
    if (!drop[i]) out.push_back((*input)[i]);
  }
  op.Set(0, op.TypeOf(0), out);
  PassValues(op);
}

void InferUnsqueeze(OpView& op) {
  op.Set(0, op.TypeOf(0), std::nullopt);
  const MaybeShape& input = op.ShapeOf(0);
  const auto axes = op.IntsOrInput("axes", 1);
  if (!input || !axes || input->size() + axes->size() > kMaxRank) return;
  const std::size_t rank = input->size() + axes->size();
  std::vector<bool> fresh(rank, false);
  for (const std::int64_t given : *axes) {
    const auto axis = Axis(given, rank);
    if (!axis || fresh[*axis]) return;
    fresh[*axis] = true;
  }
  Shape out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) out.push_back(fresh[i] ? 1 : (*input)[next++]);
  op.Set(0, op.TypeOf(0), out);
  PassValues(op);
}

void InferTranspose(OpView& op) {
  op.Set(0, op.TypeOf(0), std::nullopt);
  const MaybeShape& input = op.ShapeOf(0);
  if (!input) return;
  const std::size_t rank = input->size();
  Dims perm(rank);
  for (std::size_t i = 0; i < rank; ++i) perm[i] = static_cast<std::int64_t>(rank - 1 - i);
  if (const auto given = op.Ints("perm"); given && !given->empty()) perm = *given;
  Dims sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) return;
  }
  if (perm.size() != rank) return;
  Shape out;
  for (const std::int64_t from : perm) out.push_back((*input)[static_cast<std::size_t>(from)]);
  op.Set(0, op.TypeOf(0), out);
  const Values* values = op.ValuesOf(0);
  const auto elements = FewElements(out);
  if (values == nullptr || !elements) return;
  std::vector<std::size_t> strides(rank, 1);
  for (std::size_t i = rank; i-- > 1;) {
    strides[i - 1] = strides[i] * static_cast<std::size_t>((*input)[i]);
  }
  Values moved;
  for (std::size_t flat = 0; flat < static_cast<std::size_t>(*elements); ++flat) {
    std::size_t rest = flat;
    std::size_t from = 0;
    for (std::size_t i = rank; i-- > 0;) {
      const auto dim = static_cast<std::size_t>(out[i]);
      from += rest % dim * strides[static_cast<std::size_t>(perm[i])];
      rest /= dim;
    }
    moved.push_back((*values)[from]);
  }
  op.SetValues(0, std::move(moved));
}

void InferConcat(OpView& op) {
  op.Set(0, op.TypeOf(0), std::nullopt);
  MaybeShape out;
  for (std::size_t i = 0; i < op.inputs() && !out; ++i) out = op.ShapeOf(i);
  if (!out) return;
  const auto axis = Axis(op.Int("axis", op.opset() < 4 ? 1 : 0), out->size());
  if (!axis) return;
  (*out)[*axis] = 0;
  Values joined;
  bool followed = out->size() == 1;
  for (std::size_t i = 0; i < op.inputs(); ++i) {
    const MaybeShape& shape = op.ShapeOf(i);
    if (shape && shape->size() != out->size()) return op.Set(0, op.TypeOf(0), std::nullopt);
    for (std::size_t d = 0; d < out->size(); ++d) {
      const std::int64_t dim = op.DimOf(i, d);
      std::int64_t& to = (*out)[d];
      if (d == *axis) {
        to = DimAdd(to, dim);
      } else if (to < 0) {
        to = dim;
      }
    }
    const Values* values = followed ? op.ValuesOf(i) : nullptr;
    if (values != nullptr) {
      joined.insert(joined.end(), values->begin(), values->end());
    } else if (followed && op.DimOf(i, 0) >= 0 && op.DimOf(i, 0) <= kMaxValues) {
      joined.resize(joined.size() + static_cast<std::size_t>(op.DimOf(i, 0)));
    } else {
      followed = false;
    }
    followed = followed && joined.size() <= static_cast<std::size_t>(kMaxValues);
  }
  op.Set(0, op.TypeOf(0), out);
  if (followed) op.SetValues(0, std::move(joined));
}

// Sizes of the parts along the axis; -1 where they are not known.
Dims SplitSizes(const OpView& op, std::int64_t dim) {
  const std::size_t parts = op.outputs();
  Dims sizes(parts, -1);
  if (const auto given = op.IntsOrInput("split", 1); given && !given->empty()) {
    if (given->size() == parts) sizes = *given;
    for (std::int64_t& size : sizes) size = std::max<std::int64_t>(size, -1);
    return sizes;
  }
  if (op.Has(1) || dim < 0 || parts == 0) return sizes;
  // Equal parts; the last one is smaller where they do not fit.
  const auto count = static_cast<std::int64_t>(parts);
  const std::int64_t size = dim / count + (dim % count != 0 ? 1 : 0);
  for (std::size_t i = 0; i < parts; ++i) {
    const std::int64_t before = size * static_cast<std::int64_t>(i);
    sizes[i] = std::clamp<std::int64_t>(dim - before, 0, size);
  }
  return sizes;
}

void InferSplit(OpView& op) {
  const MaybeShape& input = op.ShapeOf(0);
  const auto axis = input ? Axis(op.Int("axis", 0), input->size()) : std::nullopt;
  if (!axis) {
    for (std::size_t i = 0; i < op.outputs(); ++i) op.Set(i, op.TypeOf(0), std::nullopt);
    return;
  }
  const Dims sizes = SplitSizes(op, (*input)[*axis]);
  const Values* values = input->size() == 1 ? op.ValuesOf(0) : nullptr;
  std::size_t at = 0;
  for (std::size_t i = 0; i < op.outputs(); ++i) {
    Shape out = *input;
    out[*axis] = sizes[i];
    op.Set(i, op.TypeOf(0), out);
    if (values == nullptr || sizes[i] < 0) {
      values = nullptr;
      continue;
    }
    const auto size = static_cast<std::size_t>(sizes[i]);
    if (size > values->size() - at) {
      values = nullptr;
      continue;
    }
    const auto begin = values->begin() + static_cast<std::ptrdiff_t>(at);
    op.SetValues(i, Values(begin, begin + static_cast<std::ptrdiff_t>(size)));
    at += size;
  }
}

void InferExpand(OpView& op) {
  op.Set(0, op.TypeOf(0), std::nullopt);
  const Values* wanted = op.ValuesOf(1);
  const MaybeShape& input = op.ShapeOf(0);
  if (wanted == nullptr || !input || wanted->size() > kMaxRank) return;
  Shape target;
  for (const Number& dim : *wanted) {
    target.push_back(dim.known ? std::max<std::int64_t>(dim.whole, -1) : -1);
  }
  const std::array<MaybeShape, 2> shapes = {*input, target};
  const MaybeShape out = Broadcast(shapes);
  op.Set(0, op.TypeOf(0), out);
  const Values* values = op.ValuesOf(0);
  const auto elements = FewElements(out);
  if (values != nullptr && values->size() == 1 && elements) {
    op.SetValues(0, Values(static_cast<std::size_t>(*elements), values->front()));
  }
}

void InferTile(OpView& op) {
  MaybeShape shape = op.ShapeOf(0);
  const auto repeats = op.WholesOf(1);
  if (shape) {
    for (std::size_t i = 0; i < shape->size(); ++i) {
      const bool known = repeats && repeats->size() == shape->size();
      (*shape)[i] = known ? DimMul((*shape)[i], (*repeats)[i]) : -1;
    }
  }
  op.Set(0, op.TypeOf(0), shape);
}

void InferPad(OpView& op) {
  MaybeShape shape = op.ShapeOf(0);
  op.Set(0, op.TypeOf(0), std::nullopt);
  if (!shape) return;
  auto pads = op.IntsOrInput("pads", 1);
  if (!pads) pads = op.Ints("paddings");
  const auto axes = op.WholesOf(3);
  const std::size_t count = axes ? axes->size() : shape->size();
  if (!pads || pads->size() != 2 * count || (op.Has(3) && !axes)) {
    op.Set(0, op.TypeOf(0), Shape(shape->size(), -1));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = Axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), shape->size());
    if (!axis) return;
    std::int64_t& dim = (*shape)[*axis];
    std::int64_t padded = 0;
    const bool overflow = __builtin_add_overflow((*pads)[i], (*pads)[count + i], &padded) ||
                          __builtin_add_overflow(padded, dim, &padded);
    dim = dim < 0 || overflow ? -1 : std::max<std::int64_t>(padded, -1);
  }
  op.Set(0, op.TypeOf(0), shape);
}

// floor(dim * scale) in float32, the type of the format's scales.
std::int64_t Scaled(std::int64_t dim, double scale) {
  if (dim < 0) return -1;
  const float scaled = std::floor(static_cast<float>(dim) * static_cast<float>(scale));
  return scaled >= 0 && scaled < 0x1.0p60F ? static_cast<std::int64_t>(scaled) : -1;
}

// sizes -> the largest (or smallest) of one scale for all axes, each rounded half up.
void KeepAspectRatio(const Shape& input, const std::vector<std::size_t>& axes, bool smallest,
                     Dims* sizes) {
  constexpr std::int64_t kMax = std::int64_t{1} << 30;  // products of two fit
  std::size_t best = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t dim = input[axes[i]];
    if (dim < 1 || dim > kMax || (*sizes)[i] < 0 || (*sizes)[i] > kMax) {
      sizes->assign(sizes->size(), -1);
      return;
    }
    const std::int64_t mine = (*sizes)[i] * input[axes[best]];
    const std::int64_t other = (*sizes)[best] * dim;
    if (smallest ? mine < other : mine > other) best = i;
  }
  if (axes.empty()) return;
  const std::int64_t numerator = (*sizes)[best];
  const std::int64_t denominator = input[axes[best]];
  for (std::size_t i = 0; i < axes.size(); ++i) {
    (*sizes)[i] = (2 * numerator * input[axes[i]] + denominator) / (2 * denominator);
  }
}

MaybeShape ResizedShape(const OpView& op, std::size_t scales_input) {
  MaybeShape shape = op.ShapeOf(0);
  if (!shape) return std::nullopt;
  std::vector<std::size_t> axes;
  const auto given = op.Ints("axes");
  for (std::size_t i = 0; i < (given ? given->size() : shape->size()); ++i) {
    const auto axis = Axis(given ? (*given)[i] : static_cast<std::int64_t>(i), shape->size());
    if (!axis) return std::nullopt;
    axes.push_back(*axis);
  }
  auto scales = op.Floats("scales");
  if (!scales) scales = op.RealsOf(scales_input);
  if (scales && scales->size() == axes.size() && !scales->empty()) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      (*shape)[axes[i]] = Scaled((*shape)[axes[i]], (*scales)[i]);
    }
    return shape;
  }
  const Values* wanted = op.ValuesOf(3);
  if (wanted != nullptr && wanted->size() == axes.size()) {
    Dims sizes;
    for (const Number& size : *wanted) {
      sizes.push_back(size.known ? std::max<std::int64_t>(size.whole, -1) : -1);
    }
    const std::string policy = op.Text("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch") KeepAspectRatio(*shape, axes, policy == "not_larger", &sizes);
    for (std::size_t i = 0; i < axes.size(); ++i) (*shape)[axes[i]] = sizes[i];
    return shape;
  }
  for (const std::size_t axis : axes) (*shape)[axis] = -1;
  return shape;
}

void InferResize(OpView& op) { op.Set(0, op.TypeOf(0), ResizedShape(op, op.opset() < 11 ? 1 : 2)); }
void InferUpsample(OpView& op) { op.Set(0, op.TypeOf(0), ResizedShape(op, 1)); }

void InferDepthToSpace(OpView& op) {
  MaybeShape shape = op.ShapeOf(0);
  const std::int64_t block = op.Int("blocksize", 0);
  if (!shape || shape->size() != 4 || block < 1 || block > (1 << 20)) shape.reset();
  if (shape) {
    std::int64_t& depth = (*shape)[1];
    depth = depth < 0 || depth % (block * block) != 0 ? -1 : depth / (block * block);
    for (std::size_t i = 2; i < 4; ++i) (*shape)[i] = DimMul((*shape)[i], block);
  }
  op.Set(0, op.TypeOf(0), shape);
}

void InferSpaceToDepth(OpView& op) {
  MaybeShape shape = op.ShapeOf(0);
  const std::int64_t block = op.Int("blocksize", 0);
  if (!shape || shape->size() != 4 || block < 1 || block > (1 << 20)) shape.reset();
  if (shape) {
    (*shape)[1] = DimMul((*shape)[1], block * block);
    for (std::size_t i = 2; i < 4; ++i) {
      std::int64_t& dim = (*shape)[i];
      dim = dim < 0 ? -1 : dim / block;
    }
  }
  op.Set(0, op.TypeOf(0), shape);
}

constexpr auto kMoveRules = std::to_array<Rule>({
    {"", "Reshape", InferReshape},
    {"", "Flatten", InferFlatten},
    {"", "Squeeze", InferSqueeze},
    {"", "Unsqueeze", InferUnsqueeze},
    {"", "Transpose", InferTranspose},
    {"", "Concat", InferConcat},
    {"", "Split", InferSplit},
    {"", "Expand", InferExpand},
    {"", "Tile", InferTile},
    {"", "Pad", InferPad},
    {"", "Resize", InferResize},
    {"", "Upsample", InferUpsample},
    {"", "DepthToSpace", InferDepthToSpace},
    {"", "SpaceToDepth", InferSpaceToDepth},
});

}  // namespace

std::span<const Rule> MoveRules() { return kMoveRules; }

}  // namespace neap::ops::onnx
