// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/tiles_check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "neap/ops/dependence.h"
#include "neap/ops/op_table.h"
#include "neap/ops/recurrence.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"
#include "neap/transform/cascade/constants.h"

namespace neap::cascade {
namespace {

using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;
using ops::Box;
using ops::Interval;

bool CoversBox(const Box& outer, const Box& inner) {
  if (outer.size() != inner.size()) return false;
  return std::equal(outer.begin(), outer.end(), inner.begin(),
                    [](const Interval& a, const Interval& b) {
                      return b.empty() || (a.begin <= b.begin && b.end <= a.end);
                    });
}

// Indices of a part as indices of the whole, or the other way round with `sign` -1.
Box Shifted(Box box, const Box& part, std::int64_t sign) {
  for (std::size_t d = 0; d < box.size(); ++d) {
    box[d].begin += sign * part[d].begin;
    box[d].end += sign * part[d].begin;
  }
  return box;
}

Shape SizesOf(const Box& box) {
  Shape sizes;
  for (const Interval& interval : box) sizes.push_back(interval.size());
  return sizes;
}

// Whether the output of a window of TensorFlow Lite has the size that its kernel computes: rows
// that are dropped are computed, too.
bool HasSizeOfWindow(const Subgraph& subgraph, const Op& op) {
  const auto window = ops::WindowOf(subgraph, op);
  if (!window) return true;
  const bool same = ops::IntegerAttribute(op, "padding", 0) == 0;
  const auto slides = [&](std::int64_t in, std::int64_t kernel, std::int64_t stride,
                          std::int64_t dilation) {
    const std::int64_t lost = same ? 0 : (kernel - 1) * dilation;
    return (in - lost + stride - 1) / stride;
  };
  return window->out_height == slides(window->in_height, window->kernel_height,
                                      window->stride_height, window->dilation_height) &&
         window->out_width == slides(window->in_width, window->kernel_width, window->stride_width,
                                     window->dilation_width);
}

// The same of resizing and of blocks of pixels.
bool HasSizeOfKernel(const Subgraph& subgraph, const Op& op) {
  const bool resizes =
      ops::Is(op, ops::OpKind::kResizeBilinear, ops::OpKind::kResizeNearestNeighbor);
  const bool spreads = ops::Is(op, ops::OpKind::kDepthToSpace);
  if (op.domain != "tflite" || (!resizes && !spreads && !ops::Is(op, ops::OpKind::kSpaceToDepth))) {
    return true;
  }
  const Shape& in = *subgraph.tensors[op.inputs[0]].shape;
  const Shape& out = *subgraph.tensors[op.outputs[0]].shape;
  const auto sizes = resizes ? IntegersOf(subgraph, op, 1) : std::nullopt;
  if (resizes && (!sizes || sizes->size() != 2)) return false;
  const std::int64_t block = ops::IntegerAttribute(op, "block_size", 0);
  for (std::size_t d = 1; d <= 2; ++d) {
    if (resizes ? (*sizes)[d - 1] != out[d]
                : (spreads ? in : out)[d] * block != (spreads ? out : in)[d]) {
      return false;
    }
  }
  return true;
}

// RESHAPE writes the shape that it is given; SQUEEZE removes the axes of a list, or all of one
// index.
bool HasShapeOfKernel(const Subgraph& subgraph, const Op& op) {
  if (op.domain != "tflite") return true;
  const Shape& in = *subgraph.tensors[op.inputs[0]].shape;
  const Shape& out = *subgraph.tensors[op.outputs[0]].shape;
  const auto list = [&](const char* name) {
    const auto found = op.attributes.find(name);
    const auto* values = found == op.attributes.end()
                             ? nullptr
                             : std::get_if<std::vector<std::int64_t>>(&found->second);
    return values == nullptr ? std::vector<std::int64_t>() : *values;
  };
  if (ops::Is(op, ops::OpKind::kReshape)) {
    const auto shape = IntegersOf(subgraph, op, 1);
    return list("new_shape") == out && (op.inputs.size() < 2 || (shape && *shape == out));
  }
  if (!ops::Is(op, ops::OpKind::kSqueeze)) return true;
  std::vector<std::int64_t> gone = list("squeeze_dims");
  const auto rank = static_cast<std::int64_t>(in.size());
  Shape left;
  for (std::int64_t d = 0; d < rank; ++d) {
    const std::int64_t size = in[static_cast<std::size_t>(d)];
    const bool named =
        gone.empty() ? size == 1 : std::any_of(gone.begin(), gone.end(), [&](std::int64_t axis) {
          return axis == d || axis + rank == d;
        });
    if (!named) left.push_back(size);
    if (named && size != 1) return false;
  }
  return left == out;
}

// Of one axis of operators that take and place parts: the number of indices that their kernels
// write. nullopt: parameters that no tile has.
class Extents {
 public:
  Extents(const Subgraph& subgraph, const Op& op)
      : subgraph_(subgraph),
        op_(op),
        data_(ops::Is(op, ops::OpKind::kTransposeConv) ? 2 : 0),
        in_(*subgraph.tensors[op.inputs[data_]].shape) {}

  std::optional<Shape> Written() const {
    using Kind = ops::OpKind;
    if (ops::Is(op_, Kind::kTransposeConv)) return Reached();
    if (ops::Is(op_, Kind::kSlice)) return IntegersOf(subgraph_, op_, 2);
    if (ops::Is(op_, Kind::kTile)) return Repeated();
    if (ops::Is(op_, Kind::kOnnxTile)) return Repeated();
    if (ops::Is(op_, Kind::kStridedSlice)) {
      return Taken(IntegersOf(subgraph_, op_, 1), IntegersOf(subgraph_, op_, 2),
                   IntegersOf(subgraph_, op_, 3));
    }
    if (ops::Is(op_, Kind::kOnnxSlice) && op_.attributes.contains("starts")) {
      return Taken(List("starts"), List("ends"), Shape(in_.size(), 1));
    }
    if (ops::Is(op_, Kind::kOnnxSlice)) {
      return Taken(IntegersOf(subgraph_, op_, 1), IntegersOf(subgraph_, op_, 2),
                   IntegersOf(subgraph_, op_, 4));
    }
    if (ops::Is(op_, Kind::kMirrorPad)) return Mirrored();
    if (ops::Is(op_, Kind::kOnnxPad)) return Padded();
    if (ops::Is(op_, Kind::kOnnxResize, Kind::kOnnxUpsample)) return Scaled();
    return Spread();
  }

 private:
  std::optional<Shape> List(const char* name) const {
    const auto found = op_.attributes.find(name);
    if (found == op_.attributes.end()) return std::nullopt;
    const auto* values = std::get_if<std::vector<std::int64_t>>(&found->second);
    return values == nullptr ? std::nullopt : std::optional(*values);
  }

  // LiteRT requires as many windows in the output as the input has pixels.
  std::optional<Shape> Reached() const {
    auto out = IntegersOf(subgraph_, op_, 0);
    const Shape& weights = *subgraph_.tensors[op_.inputs[1]].shape;
    const bool same = ops::IntegerAttribute(op_, "padding", 0) == 0;
    if (!out || out->size() != 4) return std::nullopt;
    for (std::size_t d = 1; d <= 2; ++d) {
      const std::int64_t stride = ops::IntegerAttribute(op_, d == 1 ? "stride_h" : "stride_w", 1);
      const std::int64_t last = same ? (*out)[d] - 1 : (*out)[d] - weights[d];
      if (stride < 1 || last < 0 || last / stride + 1 != in_[d]) return std::nullopt;
    }
    return out;
  }

  std::optional<Shape> Repeated() const {
    const auto times = IntegersOf(subgraph_, op_, 1);
    if (!times || times->size() != in_.size()) return std::nullopt;
    Shape out = in_;
    for (std::size_t d = 0; d < out.size(); ++d) out[d] *= (*times)[d];
    return out;
  }

  std::optional<Shape> Taken(const std::optional<Shape>& begins, const std::optional<Shape>& ends,
                             const std::optional<Shape>& steps) const {
    if (!begins || !ends || !steps || begins->size() != in_.size() || ends->size() != in_.size() ||
        steps->size() != in_.size()) {
      return std::nullopt;
    }
    for (const char* mask : {"begin_mask", "end_mask"}) {
      if (ops::IntegerAttribute(op_, mask, 0) != 0) return std::nullopt;
    }
    Shape out;
    for (std::size_t d = 0; d < in_.size(); ++d) {
      const std::int64_t step = (*steps)[d];
      if ((*begins)[d] < 0 || (*ends)[d] > in_[d] || step < 1) return std::nullopt;
      out.push_back(((*ends)[d] - (*begins)[d] + step - 1) / step);
    }
    return out;
  }

  std::optional<Shape> Padded() const {
    auto pads = List("pads");
    if (!pads) pads = IntegersOf(subgraph_, op_, 1);
    if (!pads || pads->size() != 2 * in_.size()) return std::nullopt;
    Shape out = in_;
    for (std::size_t d = 0; d < out.size(); ++d) out[d] += (*pads)[d] + (*pads)[d + out.size()];
    return out;
  }

  std::optional<Shape> Mirrored() const {
    const auto pads = IntegersOf(subgraph_, op_, 1);
    const std::int64_t beside = ops::IntegerAttribute(op_, "mode", 0) == 0 ? 1 : 0;
    if (!pads || pads->size() != 2 * in_.size()) return std::nullopt;
    Shape out = in_;
    for (std::size_t d = 0; d < out.size(); ++d) {
      for (const std::int64_t by : {(*pads)[2 * d], (*pads)[2 * d + 1]}) {
        if (by < 0 || (by > 0 && by + beside > in_[d])) return std::nullopt;
        out[d] += by;
      }
    }
    return out;
  }

  // The dependence is known where scales are the ratios of the sizes.
  std::optional<Shape> Scaled() const {
    const auto sizes = IntegersOf(subgraph_, op_, 3);
    return sizes ? sizes : subgraph_.tensors[op_.outputs[0]].shape;
  }

  std::optional<Shape> Spread() const {
    const Shape& weights = *subgraph_.tensors[op_.inputs[1]].shape;
    const std::size_t places = in_.size() - 2;
    const auto list = [&](const char* name, std::size_t count, std::int64_t otherwise) {
      return List(name).value_or(Shape(count, otherwise));
    };
    const Shape pads = list("pads", 2 * places, 0);
    const Shape strides = list("strides", places, 1);
    const Shape dilations = list("dilations", places, 1);
    const Shape more = list("output_padding", places, 0);
    if (op_.attributes.contains("auto_pad")) return std::nullopt;
    Shape out = in_;
    out[1] = weights[1] * ops::IntegerAttribute(op_, "group", 1);
    for (std::size_t d = 0; d < places; ++d) {
      const bool fits = more[d] == 0 || (more[d] > 0 && more[d] < strides[d]);
      if (pads[d] < 0 || pads[d + places] < 0 || !fits) return std::nullopt;
      out[d + 2] = (in_[d + 2] - 1) * strides[d] + (weights[d + 2] - 1) * dilations[d] + 1 -
                   pads[d] - pads[d + places] + more[d];
    }
    return out;
  }

  const Subgraph& subgraph_;
  const Op& op_;
  const std::size_t data_;
  const Shape& in_;
};

bool HasExtentOfKernel(const Subgraph& subgraph, const Op& op) {
  using Kind = ops::OpKind;
  if (!ops::Is(op, Kind::kMirrorPad, Kind::kTransposeConv, Kind::kSlice, Kind::kStridedSlice,
               Kind::kTile, Kind::kOnnxTile, Kind::kOnnxSlice, Kind::kOnnxPad, Kind::kOnnxResize,
               Kind::kOnnxUpsample, Kind::kOnnxConvTranspose)) {
    return true;
  }
  return Extents(subgraph, op).Written() == subgraph.tensors[op.outputs[0]].shape;
}

// Of an operator with a state, after the tiles so far.
struct StepsDone {
  std::int64_t steps = 0;
  bool leaves_state = true;  // the first tile needs none
};

class TileCheck {
 public:
  TileCheck(const Subgraph& subgraph, const RegionPlan& plan, const Tile& tile,
            std::map<OpId, StepsDone>* done)
      : subgraph_(subgraph), tile_(tile), done_(*done), used_(tile.tensors.size()) {
    for (const OpId id : plan.ops) {
      inside_.insert(subgraph.ops[id].outputs.begin(), subgraph.ops[id].outputs.end());
    }
  }

  std::string Run() {
    if (tile_.output == kWhole) return "it has no output of its own";
    if (PartOf(tile_.output) != tile_.output_box) return "its output is another part";
    Use(tile_.output, tile_.output_box);
    for (std::size_t k = tile_.steps.size(); k-- > 0;) {
      const TileStep& step = tile_.steps[k];
      const auto& used = used_[static_cast<std::size_t>(step.output)];
      if (!used && (step.goes_on || step.leaves_state)) return "steps of a state are not used";
      if (!used) continue;  // rows that are dropped
      std::string why = step.op.valid() ? Compute(step, *used) : Slice(step, *used);
      if (!why.empty()) return why;
    }
    return "";
  }

 private:
  const Box& PartOf(int tensor) const {
    return tile_.tensors[static_cast<std::size_t>(tensor)].box;
  }
  void Use(int tensor, const Box& box) {
    if (ops::IsEmpty(box)) return;
    std::optional<Box>& used = used_[static_cast<std::size_t>(tensor)];
    used = used ? ops::Hull(*used, box) : box;
  }

  std::string Slice(const TileStep& step, const Box& used) {
    const TileTensor& out = tile_.tensors[static_cast<std::size_t>(step.output)];
    const int source = step.inputs.front();
    const bool inside = source == kWhole
                            ? CoversBox(ops::WholeBox(*subgraph_.tensors[out.whole].shape), out.box)
                            : tile_.tensors[static_cast<std::size_t>(source)].whole == out.whole &&
                                  CoversBox(PartOf(source), out.box);
    if (!inside || !CoversBox(out.box, used)) return "a slice takes a part that does not exist";
    if (source != kWhole) Use(source, used);
    return "";
  }

  // The operator as the tile has it: on its parts, with its own attributes.
  Op OnParts(const TileStep& step, Subgraph* parts) const {
    Op op = subgraph_.ops[step.op];
    const auto add = [&](TensorId whole, const Box* box) {
      graph::Tensor tensor = subgraph_.tensors[whole];
      if (box != nullptr) {
        tensor.shape = SizesOf(*box);
      }
      return parts->tensors.push_back(std::move(tensor));
    };
    for (const auto& [i, values] : step.constants) {
      if (op.inputs.size() <= i) op.inputs.resize(i + 1);
    }
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (const auto found = step.constants.find(i); found != step.constants.end()) {
        op.inputs[i] = parts->tensors.push_back(
            IntegerConstant("", found->second, op.domain != "tflite", false));
        continue;
      }
      if (!op.inputs[i].valid()) continue;
      if (const auto part = step.weights.find(i); part != step.weights.end()) {
        op.inputs[i] = add(op.inputs[i], &part->second);
        parts->tensors[op.inputs[i]].data.reset();
        continue;
      }
      if (i == 1 && (!step.paddings.empty() || !step.sizes.empty())) {
        const bool pads = !step.paddings.empty();
        op.inputs[i] = parts->tensors.push_back(
            IntegerConstant("", pads ? step.paddings : step.sizes, false, pads));
      } else {
        const int part = step.inputs[i];
        op.inputs[i] = add(op.inputs[i], part == kWhole ? nullptr : &PartOf(part));
      }
    }
    op.outputs = {add(op.outputs.front(), &PartOf(step.output))};
    for (const std::string& gone : step.removed) op.attributes.erase(gone);
    for (const auto& [name, value] : step.attributes) op.attributes[name] = value;
    if (ops::Is(op, ops::OpKind::kReshape)) op.attributes["new_shape"] = step.sizes;
    return op;
  }

  // Operators that repeat their input as padding: index by index, from the same one. The hull of
  // several does not show which of them is repeated.
  bool RepeatsSame(const Op& whole, const TileStep& step, const Subgraph& parts, const Op& op,
                   const Box& used) const {
    if (!ops::Is(whole, ops::OpKind::kMirrorPad, ops::OpKind::kOnnxPad)) return true;
    const int part = step.inputs.front();
    for (std::size_t d = 0; d < used.size(); ++d) {
      for (std::int64_t at = used[d].begin; at < used[d].end; ++at) {
        Box index = used;
        index[d] = {at, at + 1};
        const auto need = ops::NeedOf(subgraph_, whole, 0, index);
        const auto has = ops::NeedOf(parts, op, 0, Shifted(index, PartOf(step.output), -1));
        if (!need || !has) return false;
        Interval from = has->box[d];
        if (part != kWhole) from = Shifted(has->box, PartOf(part), 1)[d];
        const bool nothing = from.empty() && need->box[d].empty();
        if (!nothing && from != need->box[d]) return false;
      }
    }
    return true;
  }

  // The kernel computes as many elements as this input has.
  bool SameShape(const Op& whole, std::size_t input) const {
    return ops::IsElementwise(whole) && subgraph_.tensors[whole.inputs[input]].shape ==
                                            subgraph_.tensors[whole.outputs.front()].shape;
  }

  // An output of an operator that splits is a slice of its input, or, where that has an axis more,
  // a part of it in another shape.
  std::string Copy(const TileStep& step, const Box& used) {
    const Op& whole = subgraph_.ops[step.op];
    const auto wrong = [&](const char* what) {
      return "operator " + graph::Describe(step.op, whole) + " " + what;
    };
    const std::size_t data = ops::Is(whole, ops::OpKind::kSplit) ? 1 : 0;
    const Box& out = PartOf(step.output);
    const bool known =
        step.op_output < whole.outputs.size() &&
        tile_.tensors[static_cast<std::size_t>(step.output)].whole == whole.outputs[step.op_output];
    if (!known || !CoversBox(out, used) || step.inputs.size() != whole.inputs.size()) {
      return wrong("writes another part than is used");
    }
    const bool plain = step.attributes.empty() && step.removed.empty() && step.paddings.empty() &&
                       step.sizes.empty() && step.constants.empty() && step.weights.empty();
    const auto taken = ops::NeedOf(subgraph_, whole, data, out, step.op_output);
    const auto need = ops::NeedOf(subgraph_, whole, data, used, step.op_output);
    if (!plain || !taken || !need) return wrong("has no known dependence");
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      if (i != data && step.inputs[i] != kWhole) return wrong("reads another tensor");
    }
    const int part = step.inputs[data];
    if (part == kWhole
            ? inside_.contains(whole.inputs[data])
            : tile_.tensors[static_cast<std::size_t>(part)].whole != whole.inputs[data]) {
      return wrong("reads another tensor");
    }
    const Box has =
        part == kWhole ? ops::WholeBox(*subgraph_.tensors[whole.inputs[data]].shape) : PartOf(part);
    if (!CoversBox(has, taken->box)) return wrong("copies a part that does not exist");
    if (taken->box.size() != out.size() && has != taken->box) {
      return wrong("copies another part than is in another shape");
    }
    if (part != kWhole) Use(part, need->box);
    return "";
  }

  // Steps of an operator with a state: those behind the steps of the tiles before, of the same
  // steps of the input. All of them are used, by the next one.
  std::string Steps(const TileStep& step, const ops::Recurrence& recurrence, const Box& used) {
    const Op& whole = subgraph_.ops[step.op];
    const auto wrong = [&](const char* what) {
      return "operator " + graph::Describe(step.op, whole) + " " + what;
    };
    const Box& out = PartOf(step.output);
    const Box all = ops::WholeBox(*subgraph_.tensors[whole.outputs.front()].shape);
    const Box in = ops::WholeBox(*subgraph_.tensors[whole.inputs.front()].shape);
    const bool plain = step.attributes.empty() && step.removed.empty() && step.paddings.empty() &&
                       step.sizes.empty() && step.constants.empty() && step.weights.empty();
    const bool right =
        plain && recurrence.axis == 0 && recurrence.initial.empty() &&
        recurrence.variables.empty() && recurrence.output == step.op_output &&
        step.op_output == 0 && step.inputs.size() == whole.inputs.size() &&
        tile_.tensors[static_cast<std::size_t>(step.output)].whole == whole.outputs.front() &&
        CoversBox(all, out) && CoversBox(out, used) &&
        std::equal(out.begin() + 1, out.end(), all.begin() + 1, all.end());
    if (!right) return wrong("is not in steps");
    for (std::size_t i = 1; i < step.inputs.size(); ++i) {
      if (step.inputs[i] != kWhole || inside_.contains(whole.inputs[i])) {
        return wrong("reads another tensor");
      }
    }
    const int part = step.inputs.front();
    const bool same = part == kWhole ? !inside_.contains(whole.inputs.front())
                                     : tile_.tensors[static_cast<std::size_t>(part)].whole ==
                                           whole.inputs.front();
    Box need = in;
    need.front() = out.front();
    if (!same || (part == kWhole ? in : PartOf(part)) != need) {
      return wrong("reads other steps than it computes");
    }
    StepsDone& done = done_[step.op];
    const bool first = done.steps == 0;
    if (out.front().begin != done.steps || step.goes_on == first || !done.leaves_state) {
      return wrong("has the state of other steps");
    }
    done = {out.front().end, step.leaves_state};
    if (part != kWhole) Use(part, need);
    return "";
  }

  std::string Compute(const TileStep& step, const Box& used) {
    const Op& whole = subgraph_.ops[step.op];
    const auto wrong = [&](const char* what) {
      return "operator " + graph::Describe(step.op, whole) + " " + what;
    };
    if (const auto recurrence = ops::RecurrenceOf(subgraph_, whole)) {
      return Steps(step, *recurrence, used);
    }
    if (step.goes_on || step.leaves_state) return wrong("has no state");
    if (ops::Has(whole, ops::trait::kSplits)) return Copy(step, used);
    if (step.op_output != 0) return wrong("has one output");
    const Box& out = PartOf(step.output);
    if (tile_.tensors[static_cast<std::size_t>(step.output)].whole != whole.outputs.front() ||
        !CoversBox(out, used) || step.inputs.size() != whole.inputs.size()) {
      return wrong("writes another part than is used");
    }
    Subgraph parts;
    const Op op = OnParts(step, &parts);
    if (!HasSizeOfWindow(parts, op) || !HasSizeOfKernel(parts, op) ||
        !HasShapeOfKernel(parts, op) || !HasExtentOfKernel(parts, op))
      return wrong("computes another size than its part has");
    if (!RepeatsSame(whole, step, parts, op, used)) return wrong("pads with other elements");
    for (std::size_t i = 0; i < whole.inputs.size(); ++i) {
      if (!whole.inputs[i].valid() || step.constants.contains(i) ||
          (i == 1 && (!step.paddings.empty() || !step.sizes.empty()))) {
        continue;
      }
      const auto need = ops::NeedOf(subgraph_, whole, i, used);
      auto has = ops::NeedOf(parts, op, i, Shifted(used, out, -1));
      if (!need || !has) return wrong("has no known dependence");
      if (const auto part = step.weights.find(i); part != step.weights.end()) {
        if (!CoversBox(ops::WholeBox(*subgraph_.tensors[whole.inputs[i]].shape), part->second)) {
          return wrong("reads a part of a constant that does not exist");
        }
        has->box = Shifted(std::move(has->box), part->second, 1);
      }
      if (step.inputs[i] != kWhole) {
        const int part = step.inputs[i];
        if (tile_.tensors[static_cast<std::size_t>(part)].whole != whole.inputs[i]) {
          return wrong("reads another tensor");
        }
        if (SameShape(whole, i) && SizesOf(PartOf(part)) != SizesOf(out)) {
          return wrong("has an input of another size than its output");
        }
        has->box = Shifted(std::move(has->box), PartOf(part), 1);
        Use(part, need->box);
      } else if (inside_.contains(whole.inputs[i])) {
        return wrong("reads a tensor that only tiles have");
      }
      const bool unused = ops::IsEmpty(has->box) && ops::IsEmpty(need->box);
      if (!unused && has->box != need->box)
        return wrong("computes a part from other elements than the whole");
      if (has->padding != need->padding) return wrong("pads a part otherwise than the whole");
    }
    return "";
  }

  const Subgraph& subgraph_;
  const Tile& tile_;
  std::set<TensorId> inside_;  // tensors that exist in tiles alone
  std::map<OpId, StepsDone>& done_;
  std::vector<std::optional<Box>> used_;  // of every tensor of the tile, in indices of the whole
};

}  // namespace

std::string FindWrongTile(const Subgraph& subgraph, const RegionPlan& plan,
                          const std::vector<Tile>& tiles) {
  const Border border = BorderOf(subgraph, plan.ops);
  if (border.outputs.size() != 1) return "a region does not have exactly one output";
  std::int64_t elements = 0;
  std::map<OpId, StepsDone> done;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const Tile& tile = tiles[t];
    const bool right =
        tile.output != kWhole &&
        tile.tensors[static_cast<std::size_t>(tile.output)].whole == border.outputs.front();
    std::string why =
        right ? TileCheck(subgraph, plan, tile, &done).Run() : "it computes another tensor";
    if (!why.empty()) return "tile " + std::to_string(t) + ": " + why;
    elements += ops::ElementsOf(tile.output_box);
    for (std::size_t other = 0; other < t; ++other) {
      Box both = tile.output_box;
      for (std::size_t d = 0; d < both.size(); ++d) {
        both[d].begin = std::max(both[d].begin, tiles[other].output_box[d].begin);
        both[d].end = std::min(both[d].end, tiles[other].output_box[d].end);
      }
      if (!ops::IsEmpty(both)) return "two tiles contribute the same elements";
    }
  }
  const Box whole = ops::WholeBox(*subgraph.tensors[border.outputs.front()].shape);
  return elements == ops::ElementsOf(whole) ? "" : "the tiles do not make up the output";
}

}  // namespace neap::cascade
