// SPDX-License-Identifier: Apache-2.0
#include "neap/compile/moved_plan.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/compile/lower.h"
#include "neap/compile/moved_order.h"
#include "neap/compile/place_entry.h"

namespace neap::compile {
namespace {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::SubgraphId;
using graph::TensorId;

// A subgraph as a problem, and its solution as an order with a placement.
class MovedEntry {
 public:
  MovedEntry(const Measured& measured, SubgraphId entry, std::int64_t target_bytes)
      : measured_(measured), entry_(entry), target_bytes_(target_bytes) {}

  // False: too many operators, or operators with bodies.
  bool Build() {
    std::vector<std::int64_t> index(Main().ops.size(), -1);
    for (const OpId id : Main().ops.Ids()) {
      const Op& op = Main().ops[id];
      if (op.folded) continue;
      if (!op.bodies.empty() || !op.captures.empty()) return false;
      index[id.index()] = static_cast<std::int64_t>(ops_.size());
      ops_.push_back(id);
    }
    if (ops_.empty() || ops_.size() > MovedOrderProblem::kMaxOps) return false;
    const TensorSizes& sizes = measured_.sizes[entry_];
    unit_ = 0;
    FindTensors();
    for (const TensorId id : tensors_) unit_ = std::gcd(unit_, sizes.counted[id]);
    for (const OpId id : ops_) unit_ = std::gcd(unit_, ScratchOf(id));
    if (unit_ == 0) return false;
    problem_.capacity_units = target_bytes_ / unit_;
    problem_.disjoint = measured_.profile.runtime == plan::Runtime::kTflm;
    for (const TensorId id : tensors_) {
      problem_.tensors.push_back({sizes.counted[id] / unit_, sizes.exact[id], true, false});
    }
    for (const TensorId id : Main().outputs) {
      if (number_[id] >= 0) problem_.tensors[NumberOf(id)].at_end = true;
    }
    for (const OpId id : ops_) problem_.ops.push_back(OpOf(id));
    for (const auto& [before, after] : PrecedencesOf(Main())) {
      problem_.ops[static_cast<std::size_t>(index[after.index()])].before |=
          std::uint64_t{1} << index[before.index()];
    }
    return true;
  }

  const MovedOrderProblem& problem() const { return problem_; }

  std::vector<OpId> OrderOf(const MovedOrder& found) const {
    std::vector<OpId> order;
    for (const MovedOrder::Step& step : found.steps) {
      if (!step.is_move) order.push_back(ops_[step.subject]);
    }
    return order;
  }

  // `timeline`: of that order. nullopt: it has buffers that the problem lacks.
  std::optional<MovedPlacement> PlacementOf(const MovedOrder& found,
                                            const Timeline& timeline) const {
    if (timeline.steps.size() != ops_.size() || !timeline.overlaps.empty()) return std::nullopt;
    std::vector<std::int64_t> live(tensors_.size(), -1);  // buffers of the timeline
    const std::size_t tensors = timeline.tensors.size();
    std::vector<std::vector<std::int64_t>> offsets(tensors + timeline.scratch.size());
    for (std::size_t i = 0; i < tensors; ++i) {
      const LiveTensor& tensor = timeline.tensors[i];
      if (tensor.unread || number_[tensor.tensor] < 0) return std::nullopt;
      const std::size_t number = NumberOf(tensor.tensor);
      if (live[number] >= 0) return std::nullopt;
      live[number] = static_cast<std::int64_t>(i);
      offsets[i] = {found.start_offsets[number] * unit_};
    }
    std::vector<SlotMove> moves;
    std::int32_t slot = 0;
    std::size_t scratch = tensors;
    for (const MovedOrder::Step& step : found.steps) {
      if (step.is_move) {
        const auto buffer = static_cast<std::size_t>(live[step.subject]);
        moves.push_back({slot, buffer});
        offsets[buffer].push_back(step.offsets.front() * unit_);
        continue;
      }
      const std::vector<std::size_t>& outputs = problem_.ops[step.subject].outputs;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (live[outputs[i]] < 0) return std::nullopt;
        offsets[static_cast<std::size_t>(live[outputs[i]])] = {step.offsets[i] * unit_};
      }
      if (problem_.ops[step.subject].scratch_units > 0) {
        if (scratch == offsets.size()) return std::nullopt;
        offsets[scratch++] = {step.scratch_offset * unit_};
      }
      ++slot;
    }
    if (scratch != offsets.size()) return std::nullopt;
    return PlacementOfMoves(timeline, measured_.sizes, measured_.profile, moves, offsets);
  }

 private:
  const Subgraph& Main() const { return measured_.merged().subgraphs[entry_]; }

  // Those that the operators read or write and that have a place.
  void FindTensors() {
    number_ = IdVector<TensorId, std::int64_t>(Main().tensors.size(), -1);
    const auto add = [&](TensorId id) {
      if (!id.valid() || number_[id] >= 0 || !IsPlanned(Main().tensors[id])) return;
      number_[id] = static_cast<std::int64_t>(tensors_.size());
      tensors_.push_back(id);
    };
    for (const OpId op : ops_) {
      std::for_each(Main().ops[op].inputs.begin(), Main().ops[op].inputs.end(), add);
      std::for_each(Main().ops[op].outputs.begin(), Main().ops[op].outputs.end(), add);
    }
  }
  std::size_t NumberOf(TensorId id) const { return static_cast<std::size_t>(number_[id]); }

  std::int64_t ScratchOf(OpId id) const {
    return AlignUp(Main().ops[id].scratch_bytes, measured_.profile.alignment);
  }

  MovedOrderProblem::Op OpOf(OpId id) {
    MovedOrderProblem::Op op;
    op.scratch_units = ScratchOf(id) / unit_;
    const auto add = [&](TensorId tensor, std::vector<std::size_t>* list) {
      if (!tensor.valid() || number_[tensor] < 0) return;
      const std::size_t number = NumberOf(tensor);
      if (std::find(list->begin(), list->end(), number) == list->end()) list->push_back(number);
    };
    for (const TensorId input : Main().ops[id].inputs) add(input, &op.inputs);
    for (const TensorId output : Main().ops[id].outputs) {
      add(output, &op.outputs);
      if (output.valid() && number_[output] >= 0) {
        problem_.tensors[NumberOf(output)].at_start = false;
      }
    }
    return op;
  }

  const Measured& measured_;
  const SubgraphId entry_;
  const std::int64_t target_bytes_;
  std::int64_t unit_ = 0;
  std::vector<OpId> ops_;  // of the problem
  std::vector<TensorId> tensors_;
  IdVector<TensorId, std::int64_t> number_;  // of each tensor in the problem; -1: not in it
  MovedOrderProblem problem_;
};

}  // namespace

std::optional<OrderedMoves> FindOrderWithMoves(const Measured& measured, SubgraphId entry,
                                               const Orders& orders, std::int64_t target_bytes,
                                               std::int64_t fewer_than, const Options& options) {
  MovedEntry moved(measured, entry, target_bytes);
  if (!moved.Build()) return std::nullopt;
  const MovedOrderOutcome found = SearchMovedOrder(moved.problem(), fewer_than, options.limits);
  if (!found.best) return std::nullopt;
  Orders with = orders;
  with[entry] = moved.OrderOf(*found.best);
  auto timeline = TimelineOf(measured, entry, with, options);
  if (!timeline) return std::nullopt;
  auto placement = moved.PlacementOf(*found.best, *timeline);
  if (!placement) return std::nullopt;
  return OrderedMoves{std::move(with[entry]), *std::move(timeline), *std::move(placement)};
}

}  // namespace neap::compile
