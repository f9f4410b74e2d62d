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

// The part of a tensor that a tile has along the axis, and its correct part.
struct Extent {
  Interval held;
  Interval right;
};

// A window operator along the axis.
struct Slide {
  std::int64_t in = 0;  // of the whole
  std::int64_t out = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;
  bool same = false;
  std::int64_t Span() const { return (kernel - 1) * dilation + 1; }
};

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
  for (std::int64_t k = 0; k < slide.kernel; ++k) {
    const std::int64_t tap = at * slide.stride - slide.before + k * slide.dilation;
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

class Flow {
 public:
  Flow(const Subgraph& subgraph, const std::vector<OpId>& ops,
       const std::map<TensorId, std::size_t>& axes, const std::map<TensorId, Interval>& needed,
       std::string* why)
      : subgraph_(subgraph), ops_(ops), axes_(axes), needed_(needed), why_(*why) {}

  // With these parts of the inputs; nullopt: they do not do.
  std::optional<AxisFlow> Try(const std::map<TensorId, Interval>& inputs) {
    extents_.clear();
    flow_ = {};
    for (const auto& [id, held] : inputs) extents_[id] = {held, held};
    for (const OpId id : ops_) {
      axis_ = axes_.at(subgraph_.ops[id].outputs[0]);
      const auto out = After(id, subgraph_.ops[id]);
      if (!out) return std::nullopt;
      extents_[subgraph_.ops[id].outputs[0]] = *out;
    }
    for (const auto& [id, extent] : extents_) flow_.held[id] = extent.held;
    return flow_;
  }
  // An operator that no part would do for.
  bool Hopeless() const { return hopeless_; }

 private:
  std::optional<Extent> Refuse(const Op& op, OpId id, const std::string& what) {
    why_ = "operator " + graph::Describe(id, op) + ": " + what;
    hopeless_ = true;
    return std::nullopt;
  }

  std::int64_t SizeOf(TensorId id) const {
    const auto axis = axes_.find(id);
    return (*subgraph_.tensors[id].shape)[axis == axes_.end() ? axis_ : axis->second];
  }

  std::optional<Extent> After(OpId id, const Op& op) {
    const Interval& needed = needed_.at(op.outputs[0]);
    if (IsAxisOfFilters(subgraph_, op, axis_)) {
      if (extents_.contains(op.inputs[0])) return Refuse(op, id, "needs all channels of its input");
      return Extent{needed, needed};
    }
    const auto slide = SlideOf(subgraph_, op, axis_);
    const bool pads = Is(op, OpKind::kPad, OpKind::kPadv2);
    // Of an input that is one long along the axis every tile takes all.
    if ((slide || pads) && !extents_.contains(op.inputs[0])) {
      return Refuse(op, id, "has nothing to be cut along axis " + std::to_string(axis_));
    }
    if (slide) return Slid(*slide, extents_.at(op.inputs[0]), needed);
    if (pads) return Padded(id, op);
    if (Is(op, OpKind::kSlice, OpKind::kStridedSlice)) return Taken(id, op);
    if (Is(op, OpKind::kTransposeConv) && (axis_ == 1 || axis_ == 2)) return Spread(id, op);
    if (Is(op, OpKind::kConcatenation)) {
      std::int64_t along = ops::IntegerAttribute(op, "axis", 0);
      const auto rank = static_cast<std::int64_t>(subgraph_.tensors[op.outputs[0]].shape->size());
      if (along < 0) along += rank;
      if (along == static_cast<std::int64_t>(axis_)) {
        return Refuse(op, id, "concatenates along the axis that is cut");
      }
      return Joined(id, op);
    }
    const bool blocks = Is(op, OpKind::kDepthToSpace, OpKind::kSpaceToDepth);
    const bool resizes = Is(op, OpKind::kResizeBilinear, OpKind::kResizeNearestNeighbor);
    if ((blocks || resizes) && (axis_ == 1 || axis_ == 2) && extents_.contains(op.inputs[0])) {
      return blocks ? InBlocks(id, op) : Resized(id, op);
    }
    const bool last = axis_ + 1 == subgraph_.tensors[op.outputs[0]].shape->size();
    const bool mixes = Is(op, OpKind::kSoftmax, OpKind::kLogSoftmax, OpKind::kL2Normalization,
                          OpKind::kLocalResponseNormalization);
    if (ops::IsElementwise(op) || (mixes && !last)) return Joined(id, op);
    if (Is(op, OpKind::kFullyConnected) && !last) return ProductOfRows(id, op);
    if (Is(op, OpKind::kBatchMatmul)) return ProductOfMatrices(id, op);
    const auto sliced = SlicedAxis(subgraph_, op, axis_);
    const auto first = extents_.find(op.inputs[0]);
    if (sliced && first != extents_.end() && axes_.at(op.inputs[0]) == *sliced) {
      return IfEnough(op, first->second);
    }
    return Refuse(op, id, "cannot be cut along axis " + std::to_string(axis_));
  }

  std::optional<Extent> Padded(OpId id, const Op& op) {
    const auto paddings = IntegersOf(subgraph_, op, 1);
    const std::size_t rank = subgraph_.tensors[op.outputs[0]].shape->size();
    if (!paddings || paddings->size() != 2 * rank) {
      return Refuse(op, id, "its paddings are not known");
    }
    const std::int64_t before = (*paddings)[2 * axis_];
    const Extent& in = extents_.at(op.inputs[0]);
    const std::int64_t size = SizeOf(op.inputs[0]);
    const std::int64_t out = SizeOf(op.outputs[0]);
    const auto shifted = [&](const Interval& part) {
      return Interval{part.begin == 0 ? 0 : part.begin + before,
                      part.end == size ? out : part.end + before};
    };
    const Extent result = {shifted(in.held), shifted(in.right)};
    const Interval& needed = needed_.at(op.outputs[0]);
    const bool enough = result.right.begin <= needed.begin && result.right.end >= needed.end;
    return enough ? std::optional(result) : std::nullopt;
  }

  std::optional<Extent> IfEnough(const Op& op, const Extent& out) const {
    const Interval& needed = needed_.at(op.outputs[0]);
    const bool enough = out.right.begin <= needed.begin && out.right.end >= needed.end;
    return enough ? std::optional(out) : std::nullopt;
  }

  // The same rows, with other channels.
  std::optional<Extent> ProductOfRows(OpId id, const Op& op) {
    const graph::Tensor& in = subgraph_.tensors[op.inputs[0]];
    const graph::Tensor& out = subgraph_.tensors[op.outputs[0]];
    const bool same = in.shape && in.shape->size() == out.shape->size() &&
                      (*in.shape)[axis_] == (*out.shape)[axis_] && extents_.contains(op.inputs[0]);
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      if (op.inputs[i].valid() && !subgraph_.tensors[op.inputs[i]].constant) {
        return Refuse(op, id, "has weights that are not constants");
      }
    }
    if (!same) return Refuse(op, id, "does not keep the rows of its input");
    return IfEnough(op, extents_.at(op.inputs[0]));
  }

  // Matrix by matrix, or by rows of the first matrix: the second one is whole.
  std::optional<Extent> ProductOfMatrices(OpId id, const Op& op) {
    const std::size_t rank = subgraph_.tensors[op.outputs[0]].shape->size();
    for (std::size_t i = 0; i < 2; ++i) {
      const graph::Tensor& tensor = subgraph_.tensors[op.inputs[i]];
      if (!tensor.shape || tensor.shape->size() != rank) {
        return Refuse(op, id, "has operands of different ranks");
      }
    }
    if (axis_ + 2 < rank) return Joined(id, op);
    const auto first = extents_.find(op.inputs[0]);
    const auto second = extents_.find(op.inputs[1]);
    const bool by_rows = axis_ + 2 == rank && ops::IntegerAttribute(op, "adj_x", 0) == 0;
    if (!by_rows || first == extents_.end()) {
      return Refuse(op, id, "cannot be cut along axis " + std::to_string(axis_));
    }
    if (second != extents_.end() && second->second.right != Interval{0, SizeOf(op.inputs[1])}) {
      return std::nullopt;
    }
    const Interval& needed = needed_.at(op.outputs[0]);
    const Interval& right = first->second.right;
    if (right.begin > needed.begin || right.end < needed.end) return std::nullopt;
    if (first->second.held != needed) flow_.read[{id, 0}] = needed;
    return Extent{needed, needed};
  }

  // Every `step`-th index from `start` on, of which the part has some.
  std::optional<Extent> Taken(OpId id, const Op& op) {
    const auto steps = StepsOf(subgraph_, op);
    const auto in = extents_.find(op.inputs[0]);
    if (!steps || in == extents_.end()) {
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
    const Extent out = {inside(in->second.held), inside(in->second.right)};
    return out.held.empty() ? std::nullopt : IfEnough(op, out);
  }

  // The rows that the part reaches, as far as no other row reaches them.
  std::optional<Extent> Spread(OpId id, const Op& op) {
    const auto found = extents_.find(op.inputs[2]);
    const auto& weights = subgraph_.tensors[op.inputs[1]].shape;
    const std::int64_t stride = ops::IntegerAttribute(op, axis_ == 1 ? "stride_h" : "stride_w", 0);
    if (found == extents_.end() || !weights || stride < 1) {
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
    const Extent& part = found->second;
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
    const Interval& needed = needed_.at(op.outputs[0]);
    if (result.held.begin > needed.begin || result.held.end < needed.end) return std::nullopt;
    for (std::int64_t at = needed.begin; at < needed.end; ++at) {
      if (!is_right(at)) return std::nullopt;
    }
    result.right = needed;
    return result;
  }

  // Blocks of pixels that become channels, or the other way round: whole blocks.
  std::optional<Extent> InBlocks(OpId id, const Op& op) {
    const std::int64_t block = ops::IntegerAttribute(op, "block_size", 0);
    if (block < 1) return Refuse(op, id, "its blocks are not known");
    const Extent& in = extents_.at(op.inputs[0]);
    if (Is(op, OpKind::kDepthToSpace)) {
      return IfEnough(op, {{in.held.begin * block, in.held.end * block},
                           {in.right.begin * block, in.right.end * block}});
    }
    if (in.held.begin % block != 0 || in.held.end % block != 0) return std::nullopt;
    return IfEnough(op, {{in.held.begin / block, in.held.end / block},
                         {(in.right.begin + block - 1) / block, in.right.end / block}});
  }

  // Places between pixels that a part has, or at the borders of the image.
  std::optional<Extent> Resized(OpId id, const Op& op) {
    const auto found = ops::ResizeFactor(subgraph_, op, axis_);
    if (!found) return Refuse(op, id, "is not resized by a power of two");
    const std::int64_t factor = *found;
    const Extent& in = extents_.at(op.inputs[0]);
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
  std::optional<Extent> Joined(OpId id, const Op& op) {
    const std::int64_t size = SizeOf(op.outputs[0]);
    const std::size_t rank = subgraph_.tensors[op.outputs[0]].shape->size();
    Extent out = {{0, size}, {0, size}};
    std::vector<std::size_t> cut;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid()) continue;
      const graph::Tensor& tensor = subgraph_.tensors[op.inputs[i]];
      const auto found = extents_.find(op.inputs[i]);
      if (found == extents_.end()) {
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
      out.held = Common(out.held, found->second.held);
      out.right = Common(out.right, found->second.right);
    }
    for (const std::size_t i : cut) {
      if (extents_.at(op.inputs[i]).held != out.held) flow_.read[{id, i}] = out.held;
    }
    const Interval& needed = needed_.at(op.outputs[0]);
    const bool enough = out.right.begin <= needed.begin && out.right.end >= needed.end;
    return enough ? std::optional(out) : std::nullopt;
  }

  const Subgraph& subgraph_;
  const std::vector<OpId>& ops_;
  const std::map<TensorId, std::size_t>& axes_;
  std::size_t axis_ = 0;  // of the output of the operator in question
  const std::map<TensorId, Interval>& needed_;
  std::string& why_;
  bool hopeless_ = false;
  std::map<TensorId, Extent> extents_;
  AxisFlow flow_;
};

}  // namespace

std::optional<AxisFlow> FlowAlong(const Subgraph& subgraph, const std::vector<OpId>& ops,
                                  const std::vector<TensorId>& inputs,
                                  const std::map<TensorId, std::size_t>& axes,
                                  const std::map<TensorId, Interval>& needed, std::string* why) {
  Flow flow(subgraph, ops, axes, needed, why);
  // How much more than is needed may be taken on either side: strides multiply, and a row that is
  // computed wrong goes on through windows.
  constexpr std::int64_t kMax = 48;
  for (std::int64_t more = 0; more <= kMax; ++more) {
    for (std::int64_t before = 0; before <= more; ++before) {
      std::map<TensorId, Interval> parts;
      bool beyond = false;
      for (const TensorId id : inputs) {
        const auto found = needed.find(id);
        if (found == needed.end()) continue;
        const std::int64_t size = (*subgraph.tensors[id].shape)[axes.at(id)];
        const Interval part = {found->second.begin - before, found->second.end + more - before};
        beyond = beyond || (part.begin < 0 && before > 0 && found->second.begin == 0) ||
                 (part.end > size && more > before && found->second.end == size);
        parts[id] = {std::max<std::int64_t>(part.begin, 0), std::min(part.end, size)};
      }
      if (beyond) continue;
      if (auto result = flow.Try(parts)) return result;
      if (flow.Hopeless()) return std::nullopt;
    }
  }
  *why = "no part of the inputs gives the operators' own padding the required size along axis " +
         std::to_string(axes.at(subgraph.ops[ops.back()].outputs[0]));
  return std::nullopt;
}

}  // namespace neap::cascade
