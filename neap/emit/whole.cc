// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "neap/emit/segments.h"
#include "neap/emit/taps.h"
#include "neap/graph/graph.h"
#include "neap/ops/neap_rt.h"
#include "neap/ops/overlap.h"
#include "neap/ops/traits.h"

namespace neap::emit {

using graph::OpId;
using graph::Subgraph;
using graph::TensorId;

std::vector<Call> LowerOrRefuse(Lowering* lowering, OpId id, bool boxed, Refusals* refusals,
                                std::optional<std::size_t> output) {
  const graph::Op& op = lowering->subgraph().ops[id];
  auto calls = Lower(*lowering, Subject{op, id, boxed, output});
  if (!calls) {
    refusals->push_back({id, op.type, graph::Describe(id, op) + " " + calls.error().message});
    return {};
  }
  for (Call& call : *calls) {
    call.comment = graph::Describe(id, op);
    call.op = id;
  }
  return *std::move(calls);
}

namespace {

Lowering::Place PlaceOf(const Subgraph& subgraph, const plan::TensorPlacement& placed) {
  const plan::StreamImage image = plan::ImageOf(subgraph.tensors[placed.tensor]);
  return {{{placed.offset, image.height * image.width}}, placed.memory};
}

// Whether the kernels of `library` permit what `overlap` claims of `op`.
bool IsPermitted(const Subgraph& subgraph, const graph::Op& op, const plan::Overlap& overlap,
                 ops::KernelLibrary library) {
  // From that slot on only slices read the input, which read only bytes from their own first one
  // on.
  if (overlap.kind == plan::OverlapKind::kDeadPart) return true;
  // Element-wise kernels read element i of all inputs before they write element i.
  if (overlap.kind == plan::OverlapKind::kInPlace) return ops::WritesOverFirstInput(subgraph, op);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] != overlap.input) continue;
    if (overlap.kind == plan::OverlapKind::kHoldsOutput) {
      for (std::size_t o = 0; o < op.outputs.size(); ++o) {
        const auto view = ops::ViewRuleOf(subgraph, op, o, ops::kNeapRt);
        if (op.outputs[o] == overlap.output && view && view->input == i &&
            view->bytes == overlap.bytes) {
          return true;
        }
      }
      continue;
    }
    const auto rule = ops::OverlapRuleOf(subgraph, op, i, library);
    if (!rule) continue;
    const bool below = rule->kind == ops::OverlapRule::Kind::kStartsBelow;
    if (below && overlap.kind == plan::OverlapKind::kStartsBelow && rule->bytes <= overlap.bytes) {
      return true;
    }
    if (!below && overlap.kind == plan::OverlapKind::kHoldsInput && rule->bytes == overlap.bytes) {
      return true;
    }
  }
  return false;
}

class Whole {
 public:
  Whole(const plan::EntryPlan& entry, Lowering* lowering, Refusals* refusals)
      : entry_(entry),
        subgraph_(lowering->subgraph()),
        lowering_(*lowering),
        refusals_(*refusals) {}

  std::vector<Segment> Segments() {
    for (std::size_t slot = 0; slot < entry_.steps.size(); ++slot) {
      const plan::Step& step = entry_.steps[slot];
      if (step.moved.valid()) {
        AddMove(slot, step.moved);
      } else if (step.op.valid() && step.subgraph == entry_.subgraph) {
        AddOp(slot, step.op);
      }
    }
    return std::move(segments_);
  }

 private:
  static bool IsLive(const plan::TensorPlacement& placed, std::size_t slot) {
    return placed.first <= static_cast<std::int32_t>(slot) &&
           static_cast<std::int32_t>(slot) < placed.last;
  }

  // A tensor that moves has both of its places in that slot.
  void AddMove(std::size_t slot, TensorId tensor) {
    const plan::TensorPlacement* from = nullptr;
    const plan::TensorPlacement* to = nullptr;
    for (const plan::TensorPlacement& placed : entry_.tensors) {
      if (placed.tensor != tensor || !IsLive(placed, slot)) continue;
      (from == nullptr ? from : to) = &placed;
    }
    if (from == nullptr || to == nullptr) {
      refusals_.push_back({{},
                           "",
                           "tensor " + graph::Describe(tensor, subgraph_.tensors[tensor]) +
                               " is moved and has not two addresses"});
      return;
    }
    if (segments_.empty() || !segments_.back().calls.empty()) segments_.emplace_back();
    segments_.back().moves.push_back(
        {from->offset, to->offset, from->bytes, from->memory, to->memory});
  }

  void AddOp(std::size_t slot, OpId id) {
    lowering_.ClearPlaces();
    const graph::Op& op = subgraph_.ops[id];
    for (const plan::TensorPlacement& placed : entry_.tensors) {
      const bool used = Contains(op.inputs, placed.tensor) || Contains(op.outputs, placed.tensor);
      if (used && IsLive(placed, slot)) {
        lowering_.SetPlace(placed.tensor, PlaceOf(subgraph_, placed));
      }
    }
    if (segments_.empty()) segments_.emplace_back();
    const std::size_t refused = refusals_.size();
    const std::vector<plan::StreamRange> used = UsedBytes(slot);
    ops::KernelLibrary library = ops::kNeapRt;
    for (Call& call : LowerOrRefuse(&lowering_, id, false, &refusals_)) {
      call.used = used;
      if (IsCmsisNn(call)) library = lowering_.library().overlaps;
      segments_.back().calls.push_back(std::move(call));
    }
    if (refusals_.size() == refused) RefuseOverlaps(slot, id, library);
  }

  // Of memory 0.
  std::vector<plan::StreamRange> UsedBytes(std::size_t slot) const {
    std::vector<plan::StreamRange> used;
    for (const plan::TensorPlacement& placed : entry_.tensors) {
      if (placed.memory != 0 || !IsLive(placed, slot)) continue;
      used.push_back({placed.offset, placed.offset + placed.bytes});
    }
    return used;
  }

  void RefuseOverlaps(std::size_t slot, OpId id, ops::KernelLibrary library) {
    const graph::Op& op = subgraph_.ops[id];
    for (const plan::Overlap& overlap : entry_.overlaps) {
      const bool here =
          overlap.subgraph == entry_.subgraph && overlap.slot == static_cast<std::int32_t>(slot);
      if (!here || IsPermitted(subgraph_, op, overlap, library)) continue;
      refusals_.push_back({id, op.type,
                           graph::Describe(id, op) + " overlaps " +
                               graph::Describe(overlap.input, subgraph_.tensors[overlap.input]) +
                               " further than the kernels of " +
                               (library == ops::kNeapRt ? "neap_rt" : "CMSIS-NN") + " permit"});
      return;
    }
  }

  const plan::EntryPlan& entry_;
  const Subgraph& subgraph_;
  Lowering& lowering_;
  Refusals& refusals_;
  std::vector<Segment> segments_;
};

}  // namespace

Result<std::vector<Segment>> WholeSegments(const plan::EntryPlan& entry, Lowering* lowering,
                                           Refusals* refusals) {
  return Whole(entry, lowering, refusals).Segments();
}

}  // namespace neap::emit
