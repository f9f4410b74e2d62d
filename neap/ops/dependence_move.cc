// SPDX-License-Identifier: Apache-2.0
//
// Dependence of operators that only move data.
#include <algorithm>

#include "neap/ops/dependence_rules.h"

namespace neap::ops::dependence {
namespace {

using graph::Shape;

// The padding of PAD along an axis.
enum class Border : std::uint8_t { kConstant, kEdge, kReflect, kSymmetric, kWrap };

// Indices of the input that outputs at `wanted` (counted from the first input index) repeat.
Interval Mirrored(const Interval& wanted, std::int64_t size, Border border) {
  if (border == Border::kConstant || wanted.empty() || size < 1) return wanted;
  if (border == Border::kWrap) {
    return wanted.begin >= 0 && wanted.end <= size ? wanted : Interval{0, size};
  }
  const auto clamp = [&](std::int64_t at) { return std::clamp<std::int64_t>(at, 0, size - 1); };
  if (border == Border::kEdge) return {clamp(wanted.begin), clamp(wanted.end - 1) + 1};
  const std::int64_t twice = border == Border::kSymmetric ? 1 : 0;
  std::int64_t low = size;
  std::int64_t high = -1;
  const auto add = [&](std::int64_t first, std::int64_t last) {
    low = std::min(low, clamp(std::min(first, last)));
    high = std::max(high, clamp(std::max(first, last)));
  };
  const std::int64_t last = wanted.end - 1;
  if (wanted.begin < 0) add(-wanted.begin - twice, -std::min<std::int64_t>(last, -1) - twice);
  if (last >= size) {
    const std::int64_t mirror = 2 * (size - 1) + twice;
    add(mirror - std::max(wanted.begin, size), mirror - last);
  }
  if (last >= 0 && wanted.begin < size) {
    add(std::max<std::int64_t>(wanted.begin, 0), std::min(last, size - 1));
  }
  return {low, high + 1};
}

MaybeNeed PadWith(const Subject& s, const Integers& before, Border border) {
  if (s.in.size() != s.out.size() || before.size() != s.in.size()) return std::nullopt;
  Box wanted;
  for (std::size_t d = 0; d < s.in.size(); ++d) {
    if (before[d] < -kMaxIndex || before[d] > kMaxIndex) return std::nullopt;
    const Interval shifted = {s.box[d].begin - before[d], s.box[d].end - before[d]};
    wanted.push_back(Mirrored(shifted, s.in[d], border));
  }
  return Clipped(s.in, wanted);
}

// Index `start + o * step` of the input for index o of the output.
MaybeNeed Steps(const Subject& s, const Integers& starts, const Integers& steps) {
  Box wanted;
  for (std::size_t d = 0; d < s.rank(); ++d) {
    if (starts[d] < 0 || starts[d] > s.in[d] || std::abs(steps[d]) > kMaxIndex) {
      return std::nullopt;
    }
    const std::int64_t first = starts[d] + s.box[d].begin * steps[d];
    const std::int64_t last = starts[d] + (s.box[d].end - 1) * steps[d];
    wanted.push_back({std::min(first, last), std::max(first, last) + 1});
    if (wanted.back().begin < 0 || wanted.back().end > s.in[d]) return std::nullopt;
  }
  return Clipped(s.in, wanted);
}

// Indices of a row-major shape that the numbers from `low` to `high` have.
Box HullOfRange(const Shape& shape, std::size_t begin, std::size_t end, std::int64_t low,
                std::int64_t high) {
  Box hull(end - begin);
  std::int64_t inner = 1;
  for (std::size_t d = begin; d < end; ++d) inner *= shape[d];
  bool crossed = false;
  for (std::size_t d = begin; d < end; ++d) {
    inner /= shape[d];
    if (crossed) {
      hull[d - begin] = {0, shape[d]};
      continue;
    }
    hull[d - begin] = {low / inner, high / inner + 1};
    crossed = low / inner != high / inner;
    low %= inner;
    high %= inner;
  }
  return hull;
}

}  // namespace

MaybeNeed TflitePad(const Subject& s) {
  if (s.input > 0) return Whole(s.in);
  const auto paddings = s.Values(1);
  if (!paddings || paddings->size() != 2 * s.rank()) return std::nullopt;
  Integers before;
  for (std::size_t d = 0; d < s.rank(); ++d) before.push_back((*paddings)[2 * d]);
  Border border = Border::kConstant;
  if (s.kind == OpKind::kMirrorPad) {
    border = s.Int("mode", 0) == 0 ? Border::kReflect : Border::kSymmetric;
  }
  return PadWith(s, before, border);
}

MaybeNeed OnnxPad(const Subject& s) {
  if (s.input > 0) return Whole(s.in);
  auto pads = s.Ints("pads");
  if (!pads) pads = s.Ints("paddings");
  if (!pads) pads = s.Values(1);
  if (!pads) return std::nullopt;
  Integers axes;
  if (s.Has(3)) {
    const auto given = s.Values(3);
    if (!given) return std::nullopt;
    axes = *given;
  } else {
    for (std::size_t d = 0; d < s.rank(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  }
  if (pads->size() != 2 * axes.size()) return std::nullopt;
  Integers before(s.rank(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = Subject::Axis(axes[i], s.rank());
    if (!axis) return std::nullopt;
    before[*axis] = (*pads)[i];
  }
  const std::string_view mode = s.Text("mode", "constant");
  if (mode == "constant") return PadWith(s, before, Border::kConstant);
  if (mode == "edge") return PadWith(s, before, Border::kEdge);
  if (mode == "reflect") return PadWith(s, before, Border::kReflect);
  if (mode == "wrap") return PadWith(s, before, Border::kWrap);
  return std::nullopt;
}

MaybeNeed Concatenation(const Subject& s) {
  const bool pack = s.kind == OpKind::kPack;
  const auto axis = Subject::Axis(s.Int("axis", 0), s.out.size());
  if (!axis || s.rank() + (pack ? 1 : 0) != s.out.size()) return std::nullopt;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < s.input; ++i) {
    const Shape* other = s.ShapeOf(i);
    if (other == nullptr || other->size() != s.rank()) return std::nullopt;
    at += pack ? 1 : (*other)[*axis];
  }
  Box wanted = s.box;
  const Interval& along = s.box[*axis];
  if (pack) {
    wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(*axis));
    const bool touched = along.begin <= at && at < along.end;
    return touched ? Clipped(s.in, wanted) : Clipped(s.in, Box(s.rank()));
  }
  wanted[*axis] = {along.begin - at, along.end - at};
  Need need = Clipped(s.in, wanted);
  need.padding.assign(s.rank(), {});  // other inputs exist
  return need;
}

MaybeNeed TfliteSlice(const Subject& s) {
  if (s.input > 0) return Whole(s.in);
  const auto begins = s.Values(1);
  if (!begins || begins->size() != s.rank() || s.out.size() != s.rank()) return std::nullopt;
  return Steps(s, *begins, Integers(s.rank(), 1));
}

MaybeNeed StridedSlice(const Subject& s) {
  if (s.input > 0) return Whole(s.in);
  const auto begins = s.Values(1);
  const auto steps = s.Values(3);
  const bool plain = s.Int("ellipsis_mask", 0) == 0 && s.Int("new_axis_mask", 0) == 0 &&
                     s.Int("shrink_axis_mask", 0) == 0 && s.Int("offset", 0) == 0;
  if (!begins || !steps || !plain || begins->size() != s.rank() || steps->size() != s.rank() ||
      s.out.size() != s.rank()) {
    return std::nullopt;
  }
  const std::int64_t mask = s.Int("begin_mask", 0);
  Integers starts;
  for (std::size_t d = 0; d < s.rank(); ++d) {
    const std::int64_t step = (*steps)[d];
    std::int64_t start = (*begins)[d];
    if (step == 0 || start < -kMaxIndex || start > kMaxIndex) return std::nullopt;
    if (start < 0) start += s.in[d];
    start = std::clamp<std::int64_t>(start, 0, step > 0 ? s.in[d] : s.in[d] - 1);
    if ((mask >> d & 1) != 0) start = step > 0 ? 0 : s.in[d] - 1;
    starts.push_back(start);
  }
  return Steps(s, starts, *steps);
}

MaybeNeed OnnxSlice(const Subject& s) {
  if (s.input > 0) return Whole(s.in);
  auto begins = s.Ints("starts");
  auto axes = s.Ints("axes");
  Integers steps;
  if (!begins) {
    begins = s.Values(1);
    if (s.Has(3)) {
      axes = s.Values(3);
      if (!axes) return std::nullopt;
    }
    if (s.Has(4)) {
      const auto given = s.Values(4);
      if (!given) return std::nullopt;
      steps = *given;
    }
  }
  if (!begins || s.out.size() != s.rank()) return std::nullopt;
  if (!axes) {
    axes = Integers();
    for (std::size_t i = 0; i < begins->size(); ++i) {
      axes->push_back(static_cast<std::int64_t>(i));
    }
  }
  if (steps.empty()) steps.assign(begins->size(), 1);
  if (axes->size() != begins->size() || steps.size() != begins->size()) return std::nullopt;
  Integers all_starts(s.rank(), 0);
  Integers all_steps(s.rank(), 1);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = Subject::Axis((*axes)[i], s.rank());
    if (!axis || steps[i] == 0) return std::nullopt;
    const std::int64_t size = s.in[*axis];
    std::int64_t start = std::clamp((*begins)[i], -kMaxIndex, kMaxIndex);
    if (start < 0) start += size;
    all_starts[*axis] = std::clamp<std::int64_t>(start, 0, steps[i] > 0 ? size : size - 1);
    all_steps[*axis] = steps[i];
  }
  return Steps(s, all_starts, all_steps);
}

// SPLIT(axis, x), SPLIT_V(x, sizes, axis), Split(x), UNPACK(x), Unstack.
MaybeNeed Split(const Subject& s) {
  std::size_t data = 0;
  std::optional<std::int64_t> chosen = s.Int("axis", 0);
  if (s.kind == OpKind::kSplit || s.kind == OpKind::kSplitV) {
    data = s.kind == OpKind::kSplit ? 1 : 0;
    const auto values = s.Values(s.kind == OpKind::kSplit ? 0 : 2);
    if (!values || values->size() != 1) return std::nullopt;
    chosen = values->front();
  }
  if (s.input != data) return Whole(s.in);
  const auto axis = Subject::Axis(*chosen, s.rank());
  if (!axis) return std::nullopt;
  if (s.kind == OpKind::kUnpack) {
    if (s.out.size() + 1 != s.rank()) return std::nullopt;
    Box wanted = s.box;
    const auto at = static_cast<std::int64_t>(s.output);
    wanted.insert(wanted.begin() + static_cast<std::ptrdiff_t>(*axis), Interval{at, at + 1});
    return Clipped(s.in, wanted);
  }
  if (s.out.size() != s.rank()) return std::nullopt;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < s.output; ++i) {
    const graph::TensorId id = s.op.outputs[i];
    if (!id.valid()) return std::nullopt;
    const auto& shape = s.subgraph.tensors[id].shape;
    if (!shape || shape->size() != s.rank() || (*shape)[*axis] < 0 || (*shape)[*axis] > kMaxIndex) {
      return std::nullopt;
    }
    at += (*shape)[*axis];
  }
  Box wanted = s.box;
  wanted[*axis] = {wanted[*axis].begin + at, wanted[*axis].end + at};
  return wanted[*axis].end > s.in[*axis] ? std::nullopt : MaybeNeed(Clipped(s.in, wanted));
}

MaybeNeed Transpose(const Subject& s) {
  if (s.input > 0) return Whole(s.in);
  std::optional<Integers> order = s.tflite() ? s.Values(1) : s.Ints("perm");
  if (!order && s.tflite()) return std::nullopt;
  if (!order || order->empty()) {
    order = Integers();
    for (std::size_t d = s.rank(); d-- > 0;) order->push_back(static_cast<std::int64_t>(d));
  }
  if (order->size() != s.rank() || s.out.size() != s.rank()) return std::nullopt;
  Box wanted(s.rank(), Interval{-1, -1});
  for (std::size_t d = 0; d < s.rank(); ++d) {
    const auto axis = Subject::Axis((*order)[d], s.rank());
    if (!axis || wanted[*axis].begin >= 0 || s.out[d] != s.in[*axis]) return std::nullopt;
    wanted[*axis] = s.box[d];
  }
  return Clipped(s.in, wanted);
}

// Dimensions that keep their size keep their interval. Where some become others, the range of
// bytes from the first element to the last decides.
MaybeNeed Reshape(const Subject& s) {
  if (s.input > 0) return Whole(s.in);
  std::int64_t elements = 1;
  for (const auto* shape : {&s.in, &s.out}) {
    elements = 1;
    for (const std::int64_t d : *shape) {
      if (d == 0 || elements > kMaxIndex) return std::nullopt;
      elements *= d;
    }
    if (elements > kMaxIndex) return std::nullopt;
  }
  Box wanted;
  std::size_t i = 0;
  std::size_t o = 0;
  while (i < s.in.size() || o < s.out.size()) {
    const std::size_t in_begin = i;
    const std::size_t out_begin = o;
    std::int64_t in_size = i < s.in.size() ? s.in[i++] : 1;
    std::int64_t out_size = o < s.out.size() ? s.out[o++] : 1;
    while (in_size != out_size) {
      const bool more_in = in_size < out_size;
      if (more_in ? i == s.in.size() : o == s.out.size()) return std::nullopt;
      (more_in ? in_size : out_size) *= more_in ? s.in[i++] : s.out[o++];
    }
    std::int64_t low = 0;
    std::int64_t high = 0;
    for (std::size_t d = out_begin; d < o; ++d) {
      low = low * s.out[d] + s.box[d].begin;
      high = high * s.out[d] + s.box[d].end - 1;
    }
    const Box hull = HullOfRange(s.in, in_begin, i, low, high);
    wanted.insert(wanted.end(), hull.begin(), hull.end());
  }
  return Clipped(s.in, wanted);
}

// Blocks of block x block pixels that correspond to channels.
MaybeNeed SpaceDepth(const Subject& s) {
  const bool last = s.tflite();  // channels
  const std::int64_t block = s.Int(last ? "block_size" : "blocksize", 0);
  if (s.rank() != 4 || s.out.size() != 4 || block < 1 || block > (1 << 20)) return std::nullopt;
  const std::size_t channel = last ? 3 : 1;
  const bool gathers = s.kind == OpKind::kSpaceToDepth || s.kind == OpKind::kOnnxSpaceToDepth;
  Box wanted = s.box;
  wanted[channel] = {0, s.in[channel]};
  for (std::size_t d = last ? 1 : 2; d < (last ? 3U : 4U); ++d) {
    const Interval& out = s.box[d];
    if (gathers) {
      wanted[d] = {out.begin * block, out.end * block};
    } else {
      wanted[d] = {out.begin / block, (out.end - 1) / block + 1};
    }
    if (wanted[d].end > s.in[d]) return std::nullopt;
  }
  return Clipped(s.in, wanted);
}

// Gather(x, indices): all that any index may choose.
MaybeNeed Gather(const Subject& s) {
  const auto axis = s.input == 0 ? Subject::Axis(s.Int("axis", 0), s.rank()) : std::nullopt;
  if (s.input > 0) return Whole(s.in);
  const Shape* indices = s.ShapeOf(1);
  if (!axis || indices == nullptr || s.Int("batch_dims", 0) != 0 ||
      s.out.size() + 1 != s.rank() + indices->size()) {
    return std::nullopt;
  }
  Box wanted;
  for (std::size_t d = 0; d < s.rank(); ++d) {
    if (d < *axis) wanted.push_back(s.box[d]);
    if (d == *axis) wanted.push_back({0, s.in[d]});
    if (d > *axis) wanted.push_back(s.box[d + indices->size() - 1]);
  }
  return Clipped(s.in, wanted);
}

MaybeNeed Tile(const Subject& s) {
  if (s.input > 0) return Whole(s.in);
  if (s.out.size() != s.rank()) return std::nullopt;
  Box wanted;
  for (std::size_t d = 0; d < s.rank(); ++d) {
    const std::int64_t size = s.in[d];
    if (size == 0) return std::nullopt;
    const Interval& out = s.box[d];
    const bool one = out.begin / size == (out.end - 1) / size;
    wanted.push_back(one ? Interval{out.begin % size, (out.end - 1) % size + 1}
                         : Interval{0, size});
  }
  return Clipped(s.in, wanted);
}

}  // namespace neap::ops::dependence
