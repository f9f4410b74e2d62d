// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/axis_flow.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"
#include "neap/transform/cascade/constants.h"
#include "neap/transform/cascade/cut_axes.h"

namespace neap::cascade {
namespace {

using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;
using ops::Interval;
using ops::Is;
using ops::OpKind;

using Extent = AxisFlow::Extent;
using Slide = AxisFlow::Slide;

std::optional<Slide> SlideOf(const Subgraph& subgraph, const Op& op, std::size_t axis) {
  const auto window = ops::WindowOf(subgraph, op);
  if (!window || (axis != 1 && axis != 2)) return std::nullopt;
  Slide slide;
  slide.same = ops::IntegerAttribute(op, "padding", 0) == 0;
  if (axis == 1) {
    slide.in = window->in_height;
    slide.out = window->out_height;
    slide.kernel = window->kernel_height;
    slide.stride = window->stride_height;
    slide.dilation = window->dilation_height;
    slide.before = window->pad_top;
  } else {
    slide.in = window->in_width;
    slide.out = window->out_width;
    slide.kernel = window->kernel_width;
    slide.stride = window->stride_width;
    slide.dilation = window->dilation_width;
    slide.before = window->pad_left;
  }
  // Searches that would take too long are not tried.
  constexpr std::int64_t kMaxReads = 1 << 18;
  if (slide.kernel > kMaxReads || slide.out > kMaxReads / slide.kernel) return std::nullopt;
  return slide;
}

// True if all taps of output `at` meet what they would meet in the whole.
bool IsRight(const Slide& slide, std::int64_t at, const Extent& in) {
  const std::int64_t first = at * slide.stride - slide.before;
  if (first >= in.right.begin && first + slide.Span() <= in.right.end) return true;
  for (std::int64_t k = 0; k < slide.kernel; ++k) {
    const std::int64_t tap = first + k * slide.dilation;
    const bool inside = tap >= 0 && tap < slide.in;
    const Interval& where = inside ? in.right : in.held;
    if ((tap >= where.begin && tap < where.end) != inside) return false;
  }
  return true;
}

// The run of right outputs around those that are needed.
std::optional<Extent> Slid(const Slide& slide, const Extent& in, const Interval& needed) {
  const std::int64_t size = in.held.size();
  std::int64_t count = 0;
  std::int64_t before = 0;
  if (slide.same) {
    count = (size + slide.stride - 1) / slide.stride;
    before = std::max<std::int64_t>((count - 1) * slide.stride + slide.Span() - size, 0) / 2;
  } else {
    if (size < slide.Span()) return std::nullopt;
    count = (size - slide.Span()) / slide.stride + 1;
  }
  const std::int64_t shifted = in.held.begin - before + slide.before;
  if (shifted % slide.stride != 0) return std::nullopt;
  Extent out;
  out.held = {shifted / slide.stride, shifted / slide.stride + count};
  if (out.held.begin < 0 || out.held.end > slide.out) return std::nullopt;
  for (std::int64_t at = needed.begin; at < needed.end; ++at) {
    if (at < out.held.begin || at >= out.held.end || !IsRight(slide, at, in)) return std::nullopt;
  }
  out.right = needed;
  while (out.right.begin > out.held.begin && IsRight(slide, out.right.begin - 1, in)) {
    --out.right.begin;
  }
  while (out.right.end < out.held.end && IsRight(slide, out.right.end, in)) ++out.right.end;
  return out;
}

Interval Common(const Interval& a, const Interval& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace

AxisFlow::AxisFlow(const Subgraph& subgraph, const std::vector<OpId>& ops,
                   const std::vector<TensorId>& inputs, const std::map<TensorId, std::size_t>& axes)
    : subgraph_(subgraph),
      ops_(ops),
      axis_of_(subgraph.tensors.size(), kNoAxis),
      has_(subgraph.tensors.size(), false),
      extents_(subgraph.tensors.size()) {
  for (const auto& [id, axis] : axes) axis_of_[id] = axis;
  for (const TensorId id : inputs) {
    if (axis_of_[id] == kNoAxis || (*subgraph.tensors[id].shape)[axis_of_[id]] == 1) continue;
    inputs_.push_back(id);
    has_[id] = true;
  }
  for (const OpId id : ops) {
    const Op& op = subgraph.ops[id];
    if (ops::Has(op, ops::trait::kSplits)) {
      Step step;
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        step.starts.emplace_back();
        if (axis_of_[op.outputs[i]] == kNoAxis) continue;
        has_[op.outputs[i]] = true;
        const auto all =
            SourceOf(subgraph, op, i, ops::WholeBox(*subgraph.tensors[op.outputs[i]].shape));
        if (all) step.starts.back() = (*all)[axis_of_[op.inputs[DataInputOf(op)]]].begin;
      }
      steps_.push_back(std::move(step));
      continue;
    }
    has_[op.outputs[0]] = true;
    const std::size_t axis = axis_of_[op.outputs[0]];
    steps_.push_back({ops::KindOf(op), axis, SlideOf(subgraph, op, axis), {}});
  }
}

bool AxisFlow::Try() {
  reads_.clear();
  for (std::size_t k = 0; k < ops_.size(); ++k) {
    const Op& op = subgraph_.ops[ops_[k]];
    if (!steps_[k].starts.empty()) {
      if (!Divide(ops_[k], op, steps_[k])) return false;
      continue;
    }
    axis_ = steps_[k].axis;
    const auto out = After(ops_[k], op, steps_[k]);
    if (!out) return false;
    extents_[op.outputs[0]] = *out;
  }
  return true;
}

bool AxisFlow::Has(TensorId id) const { return id.valid() && has_[id]; }

std::optional<Extent> AxisFlow::Refuse(const Op& op, OpId id, const std::string& what) {
  why_ = "operator " + graph::Describe(id, op) + ": " + what;
  hopeless_ = true;
  return std::nullopt;
}

std::int64_t AxisFlow::SizeOf(TensorId id) const {
  const std::size_t axis = axis_of_[id];
  return (*subgraph_.tensors[id].shape)[axis == kNoAxis ? axis_ : axis];
}

std::optional<Extent> AxisFlow::After(OpId id, const Op& op, const Step& step) {
  const Interval& needed = (*needed_)[op.outputs[0]];
  const auto is = [&](auto... kinds) { return ops::IsAnyOf(step.kind, kinds...); };
  if (ColumnsOf(subgraph_, op, axis_)) return ProductOfColumns(id, op);
  const std::optional<Slide>& slide = step.slide;
  const bool pads = is(OpKind::kPad, OpKind::kPadv2, OpKind::kMirrorPad);
  // Of an input that is one long along the axis every tile takes all.
  if ((slide || pads) && !Has(op.inputs[0])) {
    return Refuse(op, id, "has nothing to be cut along axis " + std::to_string(axis_));
  }
  if (slide) return Slid(*slide, extents_[op.inputs[0]], needed);
  if (pads) return Padded(id, op);
  if (is(OpKind::kSlice, OpKind::kStridedSlice)) return Taken(id, op);
  if (is(OpKind::kTransposeConv) && (axis_ == 1 || axis_ == 2)) return Spread(id, op);
  if (is(OpKind::kConcatenation)) {
    std::int64_t along = ops::IntegerAttribute(op, "axis", 0);
    const auto rank = static_cast<std::int64_t>(subgraph_.tensors[op.outputs[0]].shape->size());
    if (along < 0) along += rank;
    if (along == static_cast<std::int64_t>(axis_)) {
      return Refuse(op, id, "concatenates along the axis that is cut");
    }
    return Joined(id, op);
  }
  const bool blocks = is(OpKind::kDepthToSpace, OpKind::kSpaceToDepth);
  const bool resizes = is(OpKind::kResizeBilinear, OpKind::kResizeNearestNeighbor);
  if ((blocks || resizes) && (axis_ == 1 || axis_ == 2) && Has(op.inputs[0])) {
    return blocks ? InBlocks(id, op) : Resized(id, op);
  }
  const bool last = axis_ + 1 == subgraph_.tensors[op.outputs[0]].shape->size();
  const bool mixes = is(OpKind::kSoftmax, OpKind::kLogSoftmax, OpKind::kL2Normalization,
                        OpKind::kLocalResponseNormalization);
  if (ops::IsElementwise(op) || (mixes && !last)) return Joined(id, op);
  if (is(OpKind::kFullyConnected) && !last) return ProductOfRows(id, op);
  if (is(OpKind::kBatchMatmul)) return ProductOfMatrices(id, op);
  const auto sliced = SlicedAxis(subgraph_, op, axis_);
  if (sliced && Has(op.inputs[0]) && axis_of_[op.inputs[0]] == *sliced) {
    return IfEnough(op, extents_[op.inputs[0]]);
  }
  return Refuse(op, id, "cannot be cut along axis " + std::to_string(axis_));
}

std::optional<Extent> AxisFlow::Padded(OpId id, const Op& op) {
  const auto paddings = IntegersOf(subgraph_, op, 1);
  const std::size_t rank = subgraph_.tensors[op.outputs[0]].shape->size();
  if (!paddings || paddings->size() != 2 * rank) {
    return Refuse(op, id, "its paddings are not known");
  }
  const std::int64_t before = (*paddings)[2 * axis_];
  const Extent& in = extents_[op.inputs[0]];
  const std::int64_t size = SizeOf(op.inputs[0]);
  const std::int64_t out = SizeOf(op.outputs[0]);
  const auto shifted = [&](const Interval& part) {
    return Interval{part.begin == 0 ? 0 : part.begin + before,
                    part.end == size ? out : part.end + before};
  };
  Extent result = {shifted(in.held), shifted(in.right)};
  if (!Is(op, OpKind::kMirrorPad)) return IfEnough(op, result);
  // The mirrored rows are in the part, and correct, or the padding is not.
  const std::int64_t after = (*paddings)[2 * axis_ + 1];
  const std::int64_t beside = ops::IntegerAttribute(op, "mode", 0) == 0 ? 1 : 0;
  const auto mirrors = [&](std::int64_t by, const Interval& part) {
    return by == 0 || part.size() >= by + beside;
  };
  const bool begins = in.held.begin == 0;
  const bool ends = in.held.end == size;
  if ((begins && !mirrors(before, in.held)) || (ends && !mirrors(after, in.held))) {
    return std::nullopt;
  }
  if (begins && !(in.right.begin == 0 && mirrors(before, in.right))) {
    result.right.begin = in.right.begin + before;
  }
  if (ends && !(in.right.end == size && mirrors(after, in.right))) {
    result.right.end = in.right.end + before;
  }
  return IfEnough(op, result);
}

std::optional<Extent> AxisFlow::IfEnough(const Op& op, const Extent& out) const {
  const Interval& needed = (*needed_)[op.outputs[0]];
  const bool enough = out.right.begin <= needed.begin && out.right.end >= needed.end;
  return enough ? std::optional(out) : std::nullopt;
}

// The same rows, with other channels.
std::optional<Extent> AxisFlow::ProductOfRows(OpId id, const Op& op) {
  const graph::Tensor& in = subgraph_.tensors[op.inputs[0]];
  const graph::Tensor& out = subgraph_.tensors[op.outputs[0]];
  const bool same = in.shape && in.shape->size() == out.shape->size() &&
                    (*in.shape)[axis_] == (*out.shape)[axis_] && Has(op.inputs[0]);
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    if (op.inputs[i].valid() && !subgraph_.tensors[op.inputs[i]].constant) {
      return Refuse(op, id, "has weights that are not constants");
    }
  }
  if (!same) return Refuse(op, id, "does not keep the rows of its input");
  return IfEnough(op, extents_[op.inputs[0]]);
}

// All of the first operand, and some columns of the second one: a constant, or cut as data.
std::optional<Extent> AxisFlow::ProductOfColumns(OpId id, const Op& op) {
  const auto columns = ColumnsOf(subgraph_, op, axis_).value();
  const Interval& needed = (*needed_)[op.outputs[0]];
  if (Has(op.inputs[columns.first])) return Refuse(op, id, "needs all channels of its input");
  const TensorId second = op.inputs[columns.second];
  if (subgraph_.tensors[second].constant) return Extent{needed, needed};
  if (!Has(second)) return Refuse(op, id, "has nothing to be cut");
  const Extent& in = extents_[second];
  if (in.right.begin > needed.begin || in.right.end < needed.end) return std::nullopt;
  if (in.held != needed) reads_.push_back({id, columns.second, needed});
  return Extent{needed, needed};
}

// Matrix by matrix, or by rows of the first matrix: the second one is whole.
std::optional<Extent> AxisFlow::ProductOfMatrices(OpId id, const Op& op) {
  const std::size_t rank = subgraph_.tensors[op.outputs[0]].shape->size();
  for (std::size_t i = 0; i < 2; ++i) {
    const graph::Tensor& tensor = subgraph_.tensors[op.inputs[i]];
    if (!tensor.shape || tensor.shape->size() != rank) {
      return Refuse(op, id, "has operands of different ranks");
    }
  }
  if (axis_ + 2 < rank) return Joined(id, op);
  const bool by_rows = axis_ + 2 == rank && ops::IntegerAttribute(op, "adj_x", 0) == 0;
  if (!by_rows || !Has(op.inputs[0])) {
    return Refuse(op, id, "cannot be cut along axis " + std::to_string(axis_));
  }
  if (Has(op.inputs[1]) && extents_[op.inputs[1]].right != Interval{0, SizeOf(op.inputs[1])}) {
    return std::nullopt;
  }
  const Interval& needed = (*needed_)[op.outputs[0]];
  const Extent& first = extents_[op.inputs[0]];
  const Interval& right = first.right;
  if (right.begin > needed.begin || right.end < needed.end) return std::nullopt;
  if (first.held != needed) reads_.push_back({id, 0, needed});
  return Extent{needed, needed};
}

// Every `step`-th index from `start` on, of which the part has some.
std::optional<Extent> AxisFlow::Taken(OpId id, const Op& op) {
  const auto steps = StepsOf(subgraph_, op);
  if (!steps || !Has(op.inputs[0])) {
    return Refuse(op, id, "its starts are not known, or its steps go backwards");
  }
  const std::int64_t size = SizeOf(op.outputs[0]);
  const auto [start, step] = (*steps)[axis_];
  const auto inside = [&, start = start, step = step](const Interval& part) {
    // Of the first index that is not in front of `at`.
    const auto after = [&](std::int64_t at) {
      return at <= start ? 0 : std::min(size, (at - start + step - 1) / step);
    };
    return Interval{after(part.begin), after(part.end)};
  };
  const Extent& in = extents_[op.inputs[0]];
  const Extent out = {inside(in.held), inside(in.right)};
  return out.held.empty() ? std::nullopt : IfEnough(op, out);
}

// Of every output that is cut, the indices that are in the part.
bool AxisFlow::Divide(OpId id, const Op& op, const Step& step) {
  const TensorId input = op.inputs[DataInputOf(op)];
  if (!Has(input)) {
    Refuse(op, id, "has nothing to be cut");
    return false;
  }
  const Extent& in = extents_[input];
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!Has(op.outputs[i])) continue;
    if (!step.starts[i]) {
      Refuse(op, id, "the parts of its input are not known");
      return false;
    }
    const std::int64_t size = SizeOf(op.outputs[i]);
    const auto inside = [&](const Interval& part) {
      return Interval{std::clamp<std::int64_t>(part.begin - *step.starts[i], 0, size),
                      std::clamp<std::int64_t>(part.end - *step.starts[i], 0, size)};
    };
    const Extent out = {inside(in.held), inside(in.right)};
    const Interval& needed = (*needed_)[op.outputs[i]];
    if (out.right.begin > needed.begin || out.right.end < needed.end) return false;
    extents_[op.outputs[i]] = out;
  }
  return true;
}

// The rows that the part reaches, as far as no other row reaches them.
std::optional<Extent> AxisFlow::Spread(OpId id, const Op& op) {
  const auto& weights = subgraph_.tensors[op.inputs[1]].shape;
  const std::int64_t stride = ops::IntegerAttribute(op, axis_ == 1 ? "stride_h" : "stride_w", 0);
  if (!Has(op.inputs[2]) || !weights || stride < 1) {
    return Refuse(op, id, "its input or its stride is not known");
  }
  const bool same = ops::IntegerAttribute(op, "padding", 0) == 0;
  const std::int64_t kernel = (*weights)[axis_];
  const std::int64_t in = SizeOf(op.inputs[2]);
  const std::int64_t out = SizeOf(op.outputs[0]);
  // As kernels choose it, by the size of their output.
  const auto before = [&](std::int64_t size) -> std::int64_t {
    if (!same) return 0;
    const std::int64_t windows = (size + stride - 1) / stride;
    return std::max<std::int64_t>((windows - 1) * stride + kernel - size, 0) / 2;
  };
  if ((same ? out + stride - 1 : out - kernel + stride) / stride != in) {
    return Refuse(op, id, "has another output size than its padding");
  }
  const Extent& part = extents_[op.inputs[2]];
  Extent result;
  result.held.begin = part.held.begin * stride;
  // LiteRT refuses an output of another size than that of its input and padding.
  result.held.end = part.held.end == in ? out
                    : same              ? part.held.end * stride
                                        : (part.held.end - 1) * stride + kernel;
  if (result.held.end > out || before(result.held.size()) != before(out)) return std::nullopt;
  const std::int64_t pad = before(out);
  const auto is_right = [&](std::int64_t at) {
    // Of input rows x: x * stride - pad <= at < x * stride - pad + kernel.
    const std::int64_t first = std::max<std::int64_t>(at + pad - kernel + stride, 0) / stride;
    const std::int64_t last = std::min((at + pad) / stride, in - 1);
    return first > last || (first >= part.right.begin && last < part.right.end);
  };
  const Interval& needed = (*needed_)[op.outputs[0]];
  if (result.held.begin > needed.begin || result.held.end < needed.end) return std::nullopt;
  for (std::int64_t at = needed.begin; at < needed.end; ++at) {
    if (!is_right(at)) return std::nullopt;
  }
  result.right = needed;
  return result;
}

// Blocks of pixels that become channels, or the other way round: whole blocks.
std::optional<Extent> AxisFlow::InBlocks(OpId id, const Op& op) {
  const std::int64_t block = ops::IntegerAttribute(op, "block_size", 0);
  if (block < 1) return Refuse(op, id, "its blocks are not known");
  const Extent& in = extents_[op.inputs[0]];
  if (Is(op, OpKind::kDepthToSpace)) {
    return IfEnough(op, {{in.held.begin * block, in.held.end * block},
                         {in.right.begin * block, in.right.end * block}});
  }
  if (in.held.begin % block != 0 || in.held.end % block != 0) return std::nullopt;
  return IfEnough(op, {{in.held.begin / block, in.held.end / block},
                       {(in.right.begin + block - 1) / block, in.right.end / block}});
}

// Places between pixels that a part has, or at the borders of the image.
std::optional<Extent> AxisFlow::Resized(OpId id, const Op& op) {
  const auto found = ops::ResizeFactor(subgraph_, op, axis_);
  if (!found) return Refuse(op, id, "is not resized by a power of two");
  const std::int64_t factor = *found;
  const Extent& in = extents_[op.inputs[0]];
  Extent out = {{in.held.begin * factor, in.held.end * factor},
                {in.right.begin * factor, in.right.end * factor}};
  if (Is(op, OpKind::kResizeBilinear)) {
    const bool centers = ops::IntegerAttribute(op, "half_pixel_centers", 0) != 0;
    const std::int64_t half = factor / 2;
    if (in.right.begin > 0 && centers) out.right.begin += half;
    if (in.right.end < SizeOf(op.inputs[0])) {
      out.right.end = (in.right.end - 1) * factor + (centers && factor > 1 ? half : 1);
    }
  }
  return IfEnough(op, out);
}

// Inputs at the same indices: the part that all of them have.
std::optional<Extent> AxisFlow::Joined(OpId id, const Op& op) {
  const std::int64_t size = SizeOf(op.outputs[0]);
  const std::size_t rank = subgraph_.tensors[op.outputs[0]].shape->size();
  Extent out = {{0, size}, {0, size}};
  std::vector<std::size_t> cut;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].valid()) continue;
    const graph::Tensor& tensor = subgraph_.tensors[op.inputs[i]];
    if (!Has(op.inputs[i])) {
      if (tensor.constant) continue;  // cut where it has to be
      const bool repeats = !tensor.shape || tensor.shape->size() + axis_ < rank ||
                           (*tensor.shape)[tensor.shape->size() + axis_ - rank] == 1;
      if (!repeats) return Refuse(op, id, "has an operand that would have to be cut");
      continue;
    }
    if (!tensor.shape || tensor.shape->size() != rank) {
      return Refuse(op, id, "has operands of different ranks");
    }
    cut.push_back(i);
    out.held = Common(out.held, extents_[op.inputs[i]].held);
    out.right = Common(out.right, extents_[op.inputs[i]].right);
  }
  for (const std::size_t i : cut) {
    if (extents_[op.inputs[i]].held != out.held) reads_.push_back({id, i, out.held});
  }
  const Interval& needed = (*needed_)[op.outputs[0]];
  const bool enough = out.right.begin <= needed.begin && out.right.end >= needed.end;
  return enough ? std::optional(out) : std::nullopt;
}

bool AxisFlow::Find(const IdVector<TensorId, Interval>& needed) {
  needed_ = &needed;
  hopeless_ = false;
  // How much more than is needed may be taken on either side: strides multiply, and a row that is
  // computed wrong goes on through windows.
  constexpr std::int64_t kMax = 48;
  for (std::int64_t more = 0; more <= kMax; ++more) {
    for (std::int64_t before = 0; before <= more; ++before) {
      bool beyond = false;
      for (const TensorId id : inputs_) {
        const std::int64_t size = (*subgraph_.tensors[id].shape)[axis_of_[id]];
        const Interval part = {needed[id].begin - before, needed[id].end + more - before};
        beyond = beyond || (part.begin < 0 && before > 0 && needed[id].begin == 0) ||
                 (part.end > size && more > before && needed[id].end == size);
        const Interval held = {std::max<std::int64_t>(part.begin, 0), std::min(part.end, size)};
        extents_[id] = {held, held};
      }
      if (beyond) continue;
      if (Try()) return true;
      if (hopeless_) return false;
    }
  }
  why_ = "no part of the inputs gives the operators' own padding the required size along axis " +
         std::to_string(axis_of_[subgraph_.ops[ops_.back()].outputs[0]]);
  return false;
}

}  // namespace neap::cascade
