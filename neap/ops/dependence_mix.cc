// SPDX-License-Identifier: Apache-2.0
//
// Dependence of element-wise operators, reductions, products and normalisation.
#include <algorithm>

#include "neap/ops/dependence_rules.h"

namespace neap::ops::dependence {
namespace {

using graph::Shape;

// Numpy's broadcasting: dimensions of one repeat.
MaybeNeed Broadcast(const Subject& s) {
  if (s.rank() > s.out.size()) return std::nullopt;
  const std::size_t more = s.out.size() - s.rank();
  Box wanted;
  for (std::size_t d = 0; d < s.rank(); ++d) {
    if (s.in[d] != s.out[more + d] && s.in[d] != 1) return std::nullopt;
    wanted.push_back(s.in[d] == 1 ? Interval{0, 1} : s.box[more + d]);
  }
  return Clipped(s.in, wanted);
}

// One value, or one for every index of dimension `axis` of the output.
MaybeNeed PerAxis(const Subject& s, std::int64_t axis) {
  if (s.rank() == 0 || (s.rank() == 1 && s.in[0] == 1)) return Whole(s.in);
  const auto at = Subject::Axis(axis, s.out.size());
  if (s.rank() != 1 || !at || s.in[0] != s.out[*at]) return std::nullopt;
  return Clipped(s.in, {s.box[*at]});
}

// Batch statistics, random masks, and the broadcasting along a named axis that ONNX had before
// version 7.
bool MixesElements(const Subject& s) {
  const bool old = s.op.version > 0 && s.op.version < 7;
  const bool tests = !old || s.Int("is_test", 0) != 0;
  if (s.kind == OpKind::kOnnxBatchNormalization) {
    const auto more = std::count_if(s.op.outputs.begin(), s.op.outputs.end(),
                                    [](graph::TensorId id) { return id.valid(); });
    return !tests || more > 1 || s.Int("training_mode", 0) != 0 || s.Int("spatial", 1) == 0;
  }
  if (s.kind == OpKind::kOnnxDropout) return !tests || s.Has(2);
  return old && s.op.domain.empty() && s.op.attributes.contains("axis");
}

// `gone[d]`: all of dimension d is read for one output; `keeps`: it stays, with size 1.
MaybeNeed Reduced(const Subject& s, const std::vector<bool>& gone, bool keeps) {
  Box wanted;
  std::size_t o = 0;
  for (std::size_t d = 0; d < s.rank(); ++d) {
    if (gone[d]) {
      wanted.push_back({0, s.in[d]});
      if (keeps) ++o;
      continue;
    }
    if (o >= s.out.size() || s.out[o] != s.in[d]) return std::nullopt;
    wanted.push_back(s.box[o++]);
  }
  return o == s.out.size() ? MaybeNeed(Clipped(s.in, wanted)) : std::nullopt;
}

// Same shape; dimensions in [from, to) are read whole.
MaybeNeed MixesAxes(const Subject& s, std::size_t from, std::size_t to) {
  if (s.input > 0) return Whole(s.in);
  if (s.in != s.out) return std::nullopt;
  Box wanted = s.box;
  for (std::size_t d = from; d < to; ++d) wanted[d] = {0, s.in[d]};
  return Clipped(s.in, wanted);
}

// The two matrices of a product, with broadcasting in front; vectors as numpy has them.
MaybeNeed Product(const Subject& s, std::size_t first, std::size_t second, bool swap_first,
                  bool swap_second) {
  if (s.input != first && s.input != second) return Whole(s.in);
  const Shape* a = s.ShapeOf(first);
  const Shape* b = s.ShapeOf(second);
  if (a == nullptr || b == nullptr || a->size() < 2 || b->size() < 2 || s.out.size() < 2 ||
      s.rank() > s.out.size()) {
    return s.rank() < 2 ? MaybeNeed(Whole(s.in)) : std::nullopt;
  }
  const bool left = s.input == first;
  const bool swapped = left ? swap_first : swap_second;
  Box wanted(s.rank());
  const std::size_t more = s.out.size() - s.rank();
  for (std::size_t d = 0; d + 2 < s.rank(); ++d) {
    if (s.in[d] != s.out[more + d] && s.in[d] != 1) return std::nullopt;
    wanted[d] = s.in[d] == 1 ? Interval{0, 1} : s.box[more + d];
  }
  // Of the left matrix the rows, of the right one the columns.
  const std::size_t kept = s.rank() - (left != swapped ? 2 : 1);
  const std::size_t mixed = s.rank() - (left != swapped ? 1 : 2);
  const std::size_t from = s.out.size() - (left ? 2 : 1);
  if (s.in[kept] != s.out[from]) return std::nullopt;
  wanted[kept] = s.box[from];
  wanted[mixed] = {0, s.in[mixed]};
  return Clipped(s.in, wanted);
}

}  // namespace

MaybeNeed Elementwise(const Subject& s) {
  if (!s.tflite()) {
    if (MixesElements(s)) return std::nullopt;
    if (s.kind == OpKind::kOnnxBatchNormalization) {
      return s.input == 0 ? Broadcast(s) : PerAxis(s, s.out.size() < 2 ? 0 : 1);
    }
    if (s.kind == OpKind::kOnnxQuantizeLinear || s.kind == OpKind::kOnnxDequantizeLinear) {
      if (s.input == 0) return Broadcast(s);
      const bool blocked = s.rank() > 1;
      return blocked ? Whole(s.in) : PerAxis(s, s.Int("axis", 1));
    }
  }
  // Its condition may have one value for each index of the first dimension.
  if (s.kind == OpKind::kSelect && s.input == 0 && s.rank() == 1 && s.out.size() > 1) {
    return s.in[0] == 1 ? Whole(s.in) : PerAxis(s, 0);
  }
  return Broadcast(s);
}

MaybeNeed Reduction(const Subject& s) {
  if (s.input > 0) return Whole(s.in);
  const bool arg = s.kind == OpKind::kArgMax || s.kind == OpKind::kArgMin ||
                   s.kind == OpKind::kOnnxArgMax || s.kind == OpKind::kOnnxArgMin;
  std::optional<Integers> axes;
  bool keeps = s.Int(s.tflite() ? "keep_dims" : "keepdims", s.tflite() ? 0 : 1) != 0;
  if (arg && s.tflite()) keeps = false;
  if (arg && !s.tflite()) {
    axes = Integers{s.Int("axis", 0)};
  } else if (!s.tflite() && s.Ints("axes")) {
    axes = s.Ints("axes");
  } else if (s.Has(1)) {
    axes = s.Values(1);
    if (!axes) return std::nullopt;
  }
  std::vector<bool> gone(s.rank(), false);
  if (!axes || axes->empty()) {
    if (s.Int("noop_with_empty_axes", 0) != 0) return Broadcast(s);
    gone.assign(s.rank(), true);
  } else {
    for (const std::int64_t value : *axes) {
      const auto axis = Subject::Axis(value, s.rank());
      if (!axis) return std::nullopt;
      gone[*axis] = true;
    }
  }
  return Reduced(s, gone, keeps);
}

MaybeNeed GlobalPool(const Subject& s) {
  if (s.rank() < 2 || s.out.size() != s.rank()) return std::nullopt;
  std::vector<bool> gone(s.rank(), true);
  gone[0] = gone[1] = false;
  return Reduced(s, gone, true);
}

MaybeNeed MixesLast(const Subject& s) {
  if (s.rank() == 0) return Whole(s.in);
  return MixesAxes(s, s.rank() - 1, s.rank());
}

MaybeNeed OnnxSoftmax(const Subject& s) {
  // Before version 13 all dimensions from the axis on are one.
  const bool flattens = s.op.version < 13;
  const auto axis = Subject::Axis(s.Int("axis", flattens ? 1 : -1), s.rank());
  if (!axis) return std::nullopt;
  return MixesAxes(s, *axis, flattens ? s.rank() : *axis + 1);
}

MaybeNeed MixesFromAxis(const Subject& s) {
  const auto axis = Subject::Axis(s.Int("axis", -1), s.rank());
  return s.input > 0 ? Whole(s.in) : (axis ? MixesAxes(s, *axis, s.rank()) : std::nullopt);
}

MaybeNeed MixesAxis(const Subject& s) {
  const auto axis = Subject::Axis(s.Int("axis", -1), s.rank());
  return axis ? MixesAxes(s, *axis, *axis + 1) : std::nullopt;
}

MaybeNeed MixesImages(const Subject& s) {
  return s.rank() < 2 && s.input == 0 ? std::nullopt : MixesAxes(s, 2, s.rank());
}

MaybeNeed MixesChannels(const Subject& s) {
  return s.rank() < 2 ? std::nullopt : MixesAxes(s, 1, 2);
}

MaybeNeed FullyConnected(const Subject& s) {
  if (s.out.empty()) return std::nullopt;
  const Interval& units = s.box.back();
  if (s.input == 2) return s.rank() == 1 ? Clipped(s.in, {units}) : Whole(s.in);
  if (s.input == 1) {
    return s.rank() == 2 ? Clipped(s.in, {units, {0, s.in[1]}}) : MaybeNeed(std::nullopt);
  }
  const Shape* weights = s.ShapeOf(1);
  if (s.input > 2 || weights == nullptr || weights->size() != 2) return std::nullopt;
  const std::int64_t depth = (*weights)[1];
  const bool rows = s.rank() == s.out.size() && s.in.back() == depth &&
                    std::equal(s.in.begin(), s.in.end() - 1, s.out.begin());
  if (!rows) return Whole(s.in);
  Box wanted = s.box;
  wanted.back() = {0, depth};
  return Clipped(s.in, wanted);
}

MaybeNeed OnnxMatMul(const Subject& s) {
  const bool linear = s.kind == OpKind::kOnnxQLinearMatMul;
  // A scale and a zero point for each column.
  const bool by_column = s.input == 4 || s.input == 5;
  if (linear && by_column && s.rank() == 1 && s.in[0] > 1) return PerAxis(s, -1);
  return Product(s, 0, linear ? 3 : 1, false, false);
}

MaybeNeed BatchMatMul(const Subject& s) {
  return Product(s, 0, 1, s.Int("adj_x", 0) != 0, s.Int("adj_y", 0) != 0);
}

MaybeNeed Gemm(const Subject& s) {
  if (s.input == 2) return Broadcast(s);
  return Product(s, 0, 1, s.Int("transA", 0) != 0, s.Int("transB", 0) != 0);
}

MaybeNeed Expand(const Subject& s) { return s.input > 0 ? Whole(s.in) : Broadcast(s); }

}  // namespace neap::ops::dependence
