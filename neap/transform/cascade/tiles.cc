// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "neap/ops/op_table.h"
#include "neap/ops/traits.h"
#include "neap/ops/window.h"
#include "neap/transform/cascade/axis_flow.h"
#include "neap/transform/cascade/constants.h"
#include "neap/transform/cascade/cut_axes.h"
#include "neap/transform/cascade/needs_memo.h"
#include "neap/transform/cascade/region.h"
#include "neap/transform/cascade/tile_maker.h"
#include "neap/transform/cascade/tile_rules.h"

namespace neap::cascade {
namespace {

using graph::Op;
using graph::OpId;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;
using ops::Box;
using ops::Interval;
using ops::OpKind;

tl::unexpected<Diagnostic> Refuse(OpId id, const Op& op, std::string what) {
  Diagnostic diagnostic = BadInput(std::move(what));
  diagnostic.op = graph::Describe(id, op);
  return Fail(std::move(diagnostic));
}

Shape SizesOfBox(const Box& box) {
  Shape sizes;
  for (const Interval& interval : box) sizes.push_back(interval.size());
  return sizes;
}

bool IsWhole(const Box& box, const Shape& shape) { return box == ops::WholeBox(shape); }

}  // namespace

// Makes the tiles of one region after the other.
class TileMaker::Tiler {
 public:
  Tiler(const Subgraph& subgraph, ops::StockRuntime runtime)
      : subgraph_(subgraph),
        needs_memo_(subgraph, runtime),
        has_need_(subgraph.tensors.size(), false),
        needed_(subgraph.tensors.size()),
        along_(subgraph.tensors.size()),
        parts_(subgraph.tensors.size(), kNone),
        slices_(subgraph.tensors.size()) {}

  const Border& SetRegion(const std::vector<OpId>& ops) {
    if (ops == ops_ && !ops.empty()) return border_;
    flows_.clear();  // refer to the operators
    checked_.reset();
    ops_ = ops;
    border_ = cascade::BorderOf(subgraph_, ops_);
    needs_memo_.Trim();
    return border_;
  }

  // Of the region that is set.
  Result<std::vector<Tile>> AllTiles(const std::vector<Split>& splits) {
    splits_ = &splits;
    NEAP_CHECK_OK(Check());
    NEAP_CHECK_OK(FindAxes());
    std::size_t count = 1;
    for (const Split& split : (*splits_)) {
      count *= split.cuts.size() + 1;
      if (count > kMaxTiles) return Fail(BadInput("a region has more than 4096 tiles"));
    }
    std::vector<Tile> tiles;
    std::vector<std::size_t> at(splits_->size(), 0);
    std::map<OpId, std::int64_t> steps;  // done, of operators in steps
    for (;;) {
      NEAP_TRY(Tile tile, Make(BoxAt(at)));
      tiles.push_back(std::move(tile));
      NEAP_CHECK_OK(GoOn(&tiles, &steps));
      std::size_t s = at.size();
      while (s-- > 0) {
        if (++at[s] <= (*splits_)[s].cuts.size()) break;
        at[s] = 0;
      }
      if (s == static_cast<std::size_t>(-1)) return tiles;
    }
  }

  Result<Tile> OneTile(const std::vector<Split>& splits, const std::vector<std::size_t>& at) {
    splits_ = &splits;
    NEAP_CHECK_OK(Check());
    NEAP_CHECK_OK(FindAxes());
    return Make(BoxAt(at));
  }

  std::vector<std::int64_t> NeededElements() {
    std::vector<std::int64_t> elements(ops_.size(), 0);
    if (border_.outputs.size() != 1 || !subgraph_.tensors[border_.outputs[0]].shape) {
      return elements;
    }
    output_ = border_.outputs[0];
    if (!checked_) checked_ = CheckOperators();
    if (!*checked_ || !Demand(ops::WholeBox(*subgraph_.tensors[output_].shape))) return elements;
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      for (const TensorId output : subgraph_.ops[ops_[k]].outputs) {
        if (output.valid() && has_need_[output]) elements[k] += ops::ElementsOf(needed_[output]);
      }
    }
    return elements;
  }

 private:
  Status Check() {
    if (ops_.empty() || splits_->empty()) return Fail(BadInput("a region has no tiles"));
    if (border_.outputs.size() != 1) {
      return Refuse(
          ops_.back(), subgraph_.ops[ops_.back()],
          "its region has " + std::to_string(border_.outputs.size()) + " outputs, expected one");
    }
    output_ = border_.outputs[0];
    const auto& shape = subgraph_.tensors[output_].shape;
    if (!shape) return Fail(MissingSize("the shape of a region's output is not known"));
    for (std::size_t s = 0; s < splits_->size(); ++s) {
      const Split& split = (*splits_)[s];
      bool right = split.axis < shape->size() && !split.cuts.empty() &&
                   (s == 0 || (*splits_)[s - 1].axis < split.axis);
      std::int64_t last = 0;
      for (const std::int64_t cut : split.cuts) {
        right = right && cut > last && cut < (*shape)[split.axis];
        last = cut;
      }
      if (!right) return Fail(BadInput("a region is cut outside its output"));
    }
    if (!checked_) checked_ = CheckOperators();
    return *checked_;
  }

  // Steps are computed once, and no tile leaves any out.
  Status GoOn(std::vector<Tile>* tiles, std::map<OpId, std::int64_t>* steps) const {
    for (std::size_t k = 0; k < tiles->back().steps.size(); ++k) {
      TileStep& step = tiles->back().steps[k];
      if (!step.op.valid() || !RunsInSteps(subgraph_, subgraph_.ops[step.op])) continue;
      const auto out = static_cast<std::size_t>(step.output);
      const Interval& range = tiles->back().tensors[out].box[0];
      if (range.begin != (*steps)[step.op]) {
        return Refuse(step.op, subgraph_.ops[step.op], "has a state that other steps left");
      }
      (*steps)[step.op] = range.end;
      step.goes_on = range.begin > 0;
      for (TileStep& before : (*tiles)[tiles->size() - (step.goes_on ? 2 : 1)].steps) {
        before.leaves_state = before.leaves_state || (step.goes_on && before.op == step.op);
      }
    }
    return {};
  }

  Status CheckOperators() {
    rules_.clear();
    onnx_ = subgraph_.ops[ops_[0]].domain != "tflite";
    enum class Made : std::uint8_t { kOutside, kLater, kBefore };
    IdVector<TensorId, Made> made(subgraph_.tensors.size(), Made::kOutside);
    for (const OpId id : ops_) {
      for (const TensorId output : subgraph_.ops[id].outputs) {
        if (output.valid()) made[output] = Made::kLater;
      }
    }
    for (const OpId id : ops_) {
      const Op& op = subgraph_.ops[id];
      for (const TensorId input : op.inputs) {
        if (input.valid() && made[input] == Made::kLater)
          return Refuse(id, op, "precedes the producer of its input");
      }
      for (const TensorId output : op.outputs) {
        if (output.valid()) made[output] = Made::kBefore;
      }
      const bool splits = ops::Has(op, ops::trait::kSplits);
      const bool in_steps = RunsInSteps(subgraph_, op);
      if ((op.outputs.size() != 1 && !splits && !in_steps) || !op.bodies.empty() || op.stateful ||
          op.folded) {
        return Refuse(id, op, "cannot run in tiles");
      }
      if ((op.domain != "tflite") != onnx_) return Refuse(id, op, "is of another format");
      if (onnx_ && LacksAttribute(op)) {
        return Refuse(id, op, "an attribute of it is not known");
      }
      const bool table =
          ops::Is(op, OpKind::kOnnxGather) && subgraph_.tensors[op.inputs[0]].constant;
      if (onnx_ && (table || !(RunsOnParts(op) || in_steps)))
        return Refuse(id, op, "cannot run in tiles");
      if (onnx_) {
        const TensorId first = op.inputs.empty() ? TensorId() : op.inputs[0];
        const bool follows = first.valid() && made[first] == Made::kBefore;
        rules_.push_back(
            {splits, WritesWhatItReads(op), KeepsElements(op), HasParameters(op), follows});
      }
    }
    return {};
  }

  // Operators of ONNX have explicit padding: boxes are sufficient.
  Status FindAxes() {
    cuts_.clear();
    if (onnx_) return {};
    for (const Split& split : *splits_) {
      Flow& flow = flows_[split.axis];
      if (flow.cut == nullptr && flow.why.empty()) {
        const auto axes = AxesOfRegion(subgraph_, ops_, output_, split.axis, &flow.why);
        if (axes) {
          flow.cut = std::make_unique<AxisFlow>(subgraph_, ops_, border_.inputs, *axes);
        }
      }
      if (flow.cut == nullptr) return Fail(BadInput(flow.why));
      cuts_.push_back(flow.cut.get());
    }
    FindCutConstants();
    return {};
  }

  // Constants of which a tile reads a part.
  void FindCutConstants() {
    cut_constants_.assign(ops_.size(), {});
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      const Op& op = subgraph_.ops[ops_[k]];
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        const graph::Tensor* const constant = graph::Operand(subgraph_, op.inputs, i);
        if (constant == nullptr || !constant->constant) continue;
        if (!MayCut(subgraph_, op, op.inputs[i])) continue;
        const bool product = ops::Is(op, OpKind::kBatchMatmul);
        if (product || IsCutWith(op, *constant)) cut_constants_[k].push_back(i);
      }
    }
  }
  // By its shape: an element for each channel of the output, or for each element of its last axes.
  bool IsCutWith(const Op& op, const graph::Tensor& constant) const {
    const std::size_t rank = subgraph_.tensors[op.outputs[0]].shape->size();
    const std::size_t own = constant.shape->size();
    return std::any_of(cuts_.begin(), cuts_.end(), [&](const AxisFlow* cut) {
      const std::size_t axis = cut->AxisOf(op.outputs[0]);
      if (axis == AxisFlow::kNoAxis) return false;
      if (!ops::IsElementwise(op)) return axis + 1 == rank;
      return axis + own >= rank && (*constant.shape)[axis + own - rank] != 1;
    });
  }

  Box BoxAt(const std::vector<std::size_t>& at) const {
    Box box = ops::WholeBox(*subgraph_.tensors[output_].shape);
    for (std::size_t s = 0; s < at.size(); ++s) {
      const Split& split = (*splits_)[s];
      Interval& along = box[split.axis];
      if (at[s] > 0) along.begin = split.cuts[at[s] - 1];
      if (at[s] < split.cuts.size()) along.end = split.cuts[at[s]];
    }
    return box;
  }

  // The part of a tensor that its consumers need.
  Status Demand(const Box& box) {
    for (const TensorId id : with_need_) has_need_[id] = false;
    with_need_.clear();
    Need(output_, box);
    needs_.assign(ops_.size(), nullptr);
    for (std::size_t k = ops_.size(); k-- > 0;) {
      const OpId id = ops_[k];
      const Op& op = subgraph_.ops[id];
      for (std::size_t of = 0; of < op.outputs.size(); ++of) {
        const TensorId output = op.outputs[of];
        if (!output.valid() || !has_need_[output]) continue;
        const NeedsMemo::Needs& needs = needs_memo_.Of(id, needed_[output], of);
        if (needs.refusal != nullptr) return Refuse(id, op, needs.refusal);
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
          if (needs.inputs[i]) Need(op.inputs[i], needs.inputs[i]->box);
        }
        needs_[k] = &needs;
      }
      if (needs_[k] == nullptr) {
        return Refuse(id, op, "its outputs have no consumer in its region");
      }
    }
    return {};
  }

  void Need(TensorId id, const Box& box) {
    Box& needed = needed_[id];
    if (has_need_[id]) {
      for (std::size_t d = 0; d < box.size(); ++d) {
        needed[d] = {std::min(needed[d].begin, box[d].begin), std::max(needed[d].end, box[d].end)};
      }
      return;
    }
    has_need_[id] = true;
    with_need_.push_back(id);
    needed = box;
  }

  Result<Tile> Make(const Box& box) {
    NEAP_CHECK_OK(Demand(box));
    tile_ = {};
    tile_.output_box = box;
    tile_.steps.reserve(ops_.size() + border_.inputs.size() + 1);
    tile_.tensors.reserve(ops_.size() + border_.inputs.size() + 1);
    for (const TensorId id : with_need_) {
      parts_[id] = kNone;
      slices_[id].clear();
    }
    if (onnx_) {
      NEAP_CHECK_OK(MakeExact());
    } else {
      NEAP_CHECK_OK(MakeWithOwnPadding());
    }
    tile_.output = PartOf(output_, box);
    return std::move(tile_);
  }

  int AddTensor(TensorId whole, Box box) {
    tile_.tensors.push_back({whole, std::move(box)});
    return static_cast<int>(tile_.tensors.size()) - 1;
  }

  // A tensor of the tile with just this box of `whole`; sliced, where what there is is more.
  int PartOf(TensorId whole, const Box& box) {
    const int part = parts_[whole];
    if (part != kNone) {
      if (tile_.tensors[static_cast<std::size_t>(part)].box == box) return part;
    } else if (IsWhole(box, *subgraph_.tensors[whole].shape)) {
      return kWhole;
    }
    for (const int slice : slices_[whole]) {
      if (tile_.tensors[static_cast<std::size_t>(slice)].box == box) return slice;
    }
    TileStep step;
    step.inputs = {part == kNone ? kWhole : part};
    step.output = AddTensor(whole, box);
    slices_[whole].push_back(step.output);
    tile_.steps.push_back(std::move(step));
    return tile_.steps.back().output;
  }

  // For operators with explicit padding: every part is exactly what is needed.
  Status MakeExact() {
    for (const TensorId input : border_.inputs) TakeInput(input, needed_[input]);
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      const OpId id = ops_[k];
      const Op& op = subgraph_.ops[id];
      const Rule& rule = rules_[k];
      if (rule.splits) {
        NEAP_CHECK_OK(AddCopies(id, [&](TensorId output) { return needed_[output]; }));
        continue;
      }
      TileStep step;
      step.op = id;
      step.inputs.reserve(op.inputs.size());
      Box computed = needed_[op.outputs[0]];
      step.weights = needs_[k]->constants;
      if (needs_[k]->columns && rule.follows) {
        return Refuse(id, op, "needs all channels of its input");
      }
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (!op.inputs[i].valid() || subgraph_.tensors[op.inputs[i]].constant) {
          step.inputs.push_back(kWhole);
          continue;
        }
        const ops::Need& need = *needs_[k]->inputs[i];
        if (rule.writes_what_it_reads && need.box != needed_[op.outputs[0]]) {
          return Refuse(id, op, "cannot be cut along an axis over which it normalises");
        }
        if (i == 0 && rule.keeps_elements &&
            ops::ElementsOf(need.box) != ops::ElementsOf(needed_[op.outputs[0]])) {
          return Refuse(id, op, "would write another part of its output");
        }
        step.inputs.push_back(PartOf(op.inputs[i], need.box));
        if (i == 0 && rule.has_parameters && !PadExplicitly(op, need, &step)) {
          return Refuse(id, op, "its padding cannot be computed for a part");
        }
        if (i == 0 && rule.has_parameters &&
            !PlaceExplicitly(subgraph_, op, need, &computed, &step)) {
          return Refuse(id, op, "its parameters cannot be computed for a part");
        }
      }
      step.output = AddTensor(op.outputs[0], std::move(computed));
      parts_[op.outputs[0]] = step.output;
      tile_.steps.push_back(std::move(step));
    }
    return {};
  }

  // A slice of a region's input, if it is not read whole.
  void TakeInput(TensorId input, const Box& box) {
    if (IsWhole(box, *subgraph_.tensors[input].shape)) return;
    parts_[input] = kNone;
    parts_[input] = PartOf(input, box);
  }

  // Operators that choose their padding by the size of their input.
  Status MakeWithOwnPadding() {
    for (AxisFlow* const cut : cuts_) {
      for (const TensorId id : with_need_) {
        const std::size_t axis = cut->AxisOf(id);
        // Only inputs of the region may lack it.
        if (axis != AxisFlow::kNoAxis) along_[id] = needed_[id][axis];
      }
      if (!cut->Find(along_)) return Fail(BadInput(cut->Why()));
    }
    const auto box_of = [&](TensorId id) {
      Box box = ops::WholeBox(*subgraph_.tensors[id].shape);
      for (const AxisFlow* const cut : cuts_) {
        if (cut->Has(id)) box[cut->AxisOf(id)] = cut->HeldOf(id);
      }
      return box;
    };
    for (const TensorId input : border_.inputs) TakeInput(input, box_of(input));
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      const bool splits = ops::Has(subgraph_.ops[ops_[k]], ops::trait::kSplits);
      NEAP_CHECK_OK(splits ? AddCopies(ops_[k], box_of) : AddClone(k, box_of));
    }
    return {};
  }

  // Of an operator that splits, each output that is needed.
  template <typename BoxOf>
  Status AddCopies(OpId id, const BoxOf& box_of) {
    const Op& op = subgraph_.ops[id];
    const std::size_t data = DataInputOf(op);
    const TensorId input = op.inputs[data];
    if (subgraph_.tensors[input].constant) return Refuse(id, op, "splits a constant");
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i].valid() || !has_need_[op.outputs[i]]) continue;
      Box out = box_of(op.outputs[i]);
      const auto source = SourceOf(subgraph_, op, i, out);
      if (!source) return Refuse(id, op, "the parts of its input are not known");
      TileStep step;
      step.op = id;
      step.op_output = i;
      step.inputs.assign(op.inputs.size(), kWhole);
      const bool all = ops::Is(op, OpKind::kUnpack);
      if (all || parts_[input] != kNone) {
        step.inputs[data] = all ? PartOf(input, *source) : parts_[input];
      }
      step.output = AddTensor(op.outputs[i], std::move(out));
      parts_[op.outputs[i]] = step.output;
      tile_.steps.push_back(std::move(step));
    }
    return {};
  }

  template <typename BoxOf>
  Status AddClone(std::size_t k, const BoxOf& box_of) {
    const OpId id = ops_[k];
    const Op& op = subgraph_.ops[id];
    const std::vector<std::size_t>& cut_inputs = cut_constants_[k];
    TileStep step;
    step.op = id;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].valid() || subgraph_.tensors[op.inputs[i]].constant) {
        step.inputs.push_back(kWhole);
        if (std::find(cut_inputs.begin(), cut_inputs.end(), i) == cut_inputs.end()) continue;
        const Shape& weights = *subgraph_.tensors[op.inputs[i]].shape;
        const auto need = ops::NeedOf(subgraph_, op, i, box_of(op.outputs[0]));
        if (!need) return Refuse(id, op, "the part of a constant is not known");
        if (!IsWhole(need->box, weights)) step.weights[i] = need->box;
        continue;
      }
      Box box = box_of(op.inputs[i]);
      for (const AxisFlow* const cut : cuts_) {
        for (const AxisFlow::Read& read : cut->Reads()) {
          if (read.op == id && read.input == i) box[cut->AxisOf(op.inputs[i])] = read.part;
        }
      }
      step.inputs.push_back(PartOf(op.inputs[i], box));
    }
    Box out = box_of(op.outputs[0]);
    const OpKind kind = ops::KindOf(op);
    if (ops::IsAnyOf(kind, OpKind::kPad, OpKind::kPadv2, OpKind::kMirrorPad)) {
      auto paddings = IntegersOf(subgraph_, op, 1).value_or(std::vector<std::int64_t>());
      const Shape& whole = *subgraph_.tensors[op.outputs[0]].shape;
      for (const AxisFlow* const cut : cuts_) {
        const std::size_t axis = cut->AxisOf(op.outputs[0]);
        if (out[axis].begin > 0) paddings[2 * axis] = 0;
        if (out[axis].end < whole[axis]) paddings[2 * axis + 1] = 0;
      }
      step.paddings = std::move(paddings);
    }
    if (ops::IsAnyOf(kind, OpKind::kResizeBilinear, OpKind::kResizeNearestNeighbor)) {
      step.sizes = {out[1].size(), out[2].size()};
    }
    if (kind == OpKind::kReshape) step.sizes = SizesOfBox(out);
    if (kind == OpKind::kTransposeConv) step.constants[0] = SizesOfBox(out);
    if (ops::IsAnyOf(kind, OpKind::kSlice, OpKind::kStridedSlice)) {
      const auto steps = StepsOf(subgraph_, op);
      if (!steps) return Refuse(id, op, "its starts are not known");
      // Behind a slice the part may be another than the tensor's.
      const int part = step.inputs[0];
      const Box in = part == kWhole ? ops::WholeBox(*subgraph_.tensors[op.inputs[0]].shape)
                                    : tile_.tensors[static_cast<std::size_t>(part)].box;
      TakePart(op, *steps, in, out, &step);
    }
    step.output = AddTensor(op.outputs[0], std::move(out));
    parts_[op.outputs[0]] = step.output;
    tile_.steps.push_back(std::move(step));
    return {};
  }

  static constexpr std::size_t kMaxTiles = 4096;
  static constexpr int kNone = -2;

  // Properties of an operator of ONNX that every tile depends on.
  struct Rule {
    bool splits = false;
    bool writes_what_it_reads = false;
    bool keeps_elements = false;
    bool has_parameters = false;  // that depend on the part
    bool follows = false;         // an operator of the region computes its first input
  };
  // A region along one axis, for operators of TensorFlow Lite.
  struct Flow {
    std::unique_ptr<AxisFlow> cut;  // null: it cannot be cut
    std::string why;
  };

  const Subgraph& subgraph_;
  NeedsMemo needs_memo_;
  // Of the region.
  std::vector<OpId> ops_;
  Border border_;
  std::optional<Status> checked_;      // its operators
  std::vector<Rule> rules_;            // of each, for ONNX
  std::map<std::size_t, Flow> flows_;  // by axis of its output
  TensorId output_;
  bool onnx_ = false;
  // Of the tiles in question.
  const std::vector<Split>* splits_ = nullptr;
  std::vector<AxisFlow*> cuts_;                          // of TensorFlow Lite, by split
  std::vector<std::vector<std::size_t>> cut_constants_;  // of each operator: inputs
  std::vector<TensorId> with_need_;
  IdVector<TensorId, bool> has_need_;
  IdVector<TensorId, Box> needed_;               // where there is a need
  IdVector<TensorId, Interval> along_;           // one axis of it
  std::vector<const NeedsMemo::Needs*> needs_;   // of each operator
  IdVector<TensorId, int> parts_;                // the part of each tensor that the tile has
  IdVector<TensorId, std::vector<int>> slices_;  // of these
  Tile tile_;
};

Result<std::vector<Tile>> TilesOf(const Subgraph& subgraph, const RegionPlan& plan) {
  return TileMaker(subgraph).TilesOf(plan);
}

TileMaker::TileMaker(const Subgraph& subgraph, ops::StockRuntime runtime)
    : tiler_(std::make_unique<Tiler>(subgraph, runtime)) {}
TileMaker::~TileMaker() = default;

Result<std::vector<Tile>> TileMaker::TilesOf(const RegionPlan& plan) {
  tiler_->SetRegion(plan.ops);
  return tiler_->AllTiles(plan.splits);
}

Result<Tile> TileMaker::TileOf(const RegionPlan& plan, const std::vector<std::size_t>& at) {
  tiler_->SetRegion(plan.ops);
  return tiler_->OneTile(plan.splits, at);
}

std::vector<std::int64_t> TileMaker::NeededElements(const std::vector<OpId>& ops) {
  tiler_->SetRegion(ops);
  return tiler_->NeededElements();
}

const Border& TileMaker::BorderOf(const std::vector<OpId>& ops) { return tiler_->SetRegion(ops); }

}  // namespace neap::cascade
