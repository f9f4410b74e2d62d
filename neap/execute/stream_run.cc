// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/stream_run.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "neap/execute/stream_machine.h"
#include "neap/ops/dependence.h"

namespace neap::execute {

using graph::OpId;
using graph::TensorId;
using plan::StreamImage;
using plan::StreamOp;
using plan::StreamSegment;

void StreamMachine::Report(OpId op, TensorId tensor, const std::string& what) {
  if (result_.violations.size() >= kMaxViolations) return;
  std::string line = segment_ < 0 ? "" : "segment " + std::to_string(segment_) + ": ";
  if (op.valid()) line += graph::Describe(op, subgraph_.ops[op]) + ": ";
  if (tensor.valid()) line += graph::Describe(tensor, subgraph_.tensors[tensor]) + " ";
  result_.violations.push_back(line + what);
}

// Everything that would make a run impossible, before it begins.
Status StreamMachine::Prepare() {
  std::int64_t due = 0;
  const auto know = [&](TensorId tensor) {
    if (!tensor.valid() || program_.IsConstant(tensor) || !held_[tensor].written.empty()) return;
    if (images_[tensor].bytes() != program_.BytesOf(tensor)) {
      images_[tensor] = {1, 1, program_.BytesOf(tensor)};
    }
    const std::int64_t pixels = images_[tensor].height * images_[tensor].width;
    due += pixels;
    held_[tensor].bytes.assign(static_cast<std::size_t>(images_[tensor].bytes()), kPoison);
    held_[tensor].written.resize(static_cast<std::size_t>(pixels));
  };
  for (const OpId id : subgraph_.ops.Ids()) {
    const graph::Op& op = subgraph_.ops[id];
    const bool owns = OwnsVariables(id);
    for (const TensorId tensor : op.inputs) {
      if (!tensor.valid() || !subgraph_.tensors[tensor].variable) continue;
      NEAP_CHECK_OK(Require(owns && !stream_.slow, "a streamed plan cannot have its variables"));
      variables_.push_back(tensor);
    }
    for (const TensorId tensor : op.inputs) know(tensor);
    for (const TensorId tensor : op.outputs) know(tensor);
  }
  for (const TensorId tensor : subgraph_.inputs) know(tensor);
  for (const TensorId tensor : subgraph_.outputs) know(tensor);
  arena_.Remember();
  NEAP_CHECK_OK(PrepareSlow());
  std::int64_t boxes = 0;
  std::int64_t pixels = 0;
  for (const StreamSegment& segment : stream_.segments) {
    NEAP_CHECK_OK(CheckSegment(segment, &boxes, &pixels));
    NEAP_CHECK_OK(Require(boxes <= plan::kMaxStreamBoxes && pixels <= plan::kMaxStreamRepeats * due,
                          "the plan has far more work than the model"));
  }
  // The inputs of a segment that earlier ones have written.
  live_.resize(stream_.segments.size());
  IdVector<TensorId, bool> wanted(subgraph_.tensors.size(), false);
  for (const TensorId tensor : subgraph_.outputs) wanted[tensor] = true;
  for (std::size_t i = stream_.segments.size(); i-- > 0;) {
    for (const StreamOp& step : stream_.segments[i].ops) {
      if (!step.op.valid()) continue;
      for (const TensorId tensor : subgraph_.ops[step.op].inputs) {
        if (tensor.valid() && !program_.IsConstant(tensor)) wanted[tensor] = true;
      }
    }
    for (const TensorId tensor : variables_) wanted[tensor] = true;
    for (const TensorId tensor : subgraph_.tensors.Ids()) {
      if (wanted[tensor]) live_[i].push_back(tensor);
    }
  }
  return {};
}

Status StreamMachine::CheckSegment(const StreamSegment& segment, std::int64_t* boxes,
                                   std::int64_t* pixels) {
  NEAP_CHECK_OK(Require(!segment.ops.empty(), "a segment of the plan has no operators"));
  NEAP_CHECK_OK(Require(!segment.whole || segment.ops.size() == 1,
                        "a segment without steps does not have exactly one operator"));
  for (const StreamOp& step : segment.ops) {
    const bool known = step.op.valid()
                           ? subgraph_.ops.Has(step.op) && !subgraph_.ops[step.op].folded
                           : !segment.whole && subgraph_.tensors.Has(step.fed) &&
                                 (stream_.slow ? IsSlow(step.fed) : InputIndex(step.fed) >= 0);
    NEAP_CHECK_OK(Require(known, "a segment of the plan runs no operator of the entry"));
    const bool single = !step.op.valid() || plan::NamesOutput(subgraph_, step, segment.whole);
    NEAP_CHECK_OK(Require(single, "a step of the plan computes another output than it may"));
    NEAP_CHECK_OK(Require(!step.ahead || (!step.op.valid() && stream_.slow),
                          "a step of the plan is ahead and no copy from slow memory"));
    if (segment.whole) continue;
    const bool same = step.rows.size() == segment.ops[0].rows.size() &&
                      step.columns.size() == segment.ops[0].columns.size();
    NEAP_CHECK_OK(Require(same, "the boxes of a segment do not fit together"));
    const auto recurrence =
        step.op.valid() ? RecurrenceOf(step.op) : std::optional<ops::Recurrence>();
    NEAP_CHECK_OK(Require(!recurrence || (step.sums == recurrence->last_only && !stream_.slow),
                          "the plan treats an operator with a state as one of another kind"));
    NEAP_CHECK_OK(Require(!step.sums || recurrence || IsMeanOfPixels(subgraph_.ops[step.op]),
                          "the plan treats an operator as a mean that is not one"));
    const StreamImage& image = images_[plan::BoxedBy(subgraph_, step)];
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    for (const auto& range : step.rows) {
      NEAP_CHECK_OK(
          Require(range.first >= 0 && range.first <= range.last && range.last <= image.height,
                  "a box of the plan has rows that its tensor does not have"));
      rows += range.size();
    }
    for (const auto& range : step.columns) {
      NEAP_CHECK_OK(
          Require(range.first >= 0 && range.first <= range.last && range.last <= image.width,
                  "a box of the plan has columns that its tensor does not have"));
      columns += range.size();
    }
    *boxes += static_cast<std::int64_t>(step.rows.size() * step.columns.size());
    std::int64_t product = 0;
    NEAP_CHECK_OK(Require(
        !__builtin_mul_overflow(rows, columns, &product) && product <= (std::int64_t{1} << 40),
        "the plan has far more work than the model"));
    *pixels += product;
  }
  return {};
}

Status StreamMachine::TakeAreas(const StreamSegment& segment) {
  for (const plan::StreamArea*& area : areas_) area = nullptr;
  for (const plan::StreamArea& area : segment.areas) {
    NEAP_CHECK_OK(Require(subgraph_.tensors.Has(area.tensor) &&
                              !held_[area.tensor].written.empty() &&
                              areas_[area.tensor] == nullptr && !area.rings.empty(),
                          "the plan has an area for no tensor of its entry, or two for one"));
    const StreamImage& image = images_[area.tensor];
    const bool divides = area.columns >= 1 && area.columns <= image.width &&
                         static_cast<std::int64_t>(area.rings.size()) % area.columns == 0;
    NEAP_CHECK_OK(Require(divides, "an area of the plan has rows with fewer rings than others"));
    for (const plan::StreamRing& ring : area.rings) {
      const bool inside = ring.pixels >= 1 && ring.pixels <= image.height * image.width &&
                          ring.offset >= 0 && ring.offset <= arena_.bytes() &&
                          ring.pixels * image.pixel_bytes <= arena_.bytes() - ring.offset;
      NEAP_CHECK_OK(Require(inside, "an area of the plan is not inside the arena"));
    }
    areas_[area.tensor] = &area;
  }
  return {};
}

// Tensors that no later segment reads are overwritten.
void StreamMachine::PoisonRest(std::size_t segment) {
  std::vector<ArenaRange> kept;
  for (const TensorId tensor : live_[segment]) {
    if (IsSlow(tensor)) continue;
    const plan::StreamArea* const area = areas_[tensor];
    const auto& written = held_[tensor].written;
    const bool any = std::find(written.begin(), written.end(), true) != written.end();
    if (area != nullptr && !held_[tensor].added.empty()) {
      kept.push_back(
          {tensor, area->rings[0].offset, static_cast<std::int64_t>(held_[tensor].sums.size()), 0});
    }
    if (area == nullptr || !any) continue;
    for (const plan::StreamRing& ring : area->rings) {
      kept.push_back({tensor, ring.offset, ring.pixels * images_[tensor].pixel_bytes, 0});
    }
  }
  std::sort(kept.begin(), kept.end(),
            [](const ArenaRange& a, const ArenaRange& b) { return a.offset < b.offset; });
  kept.push_back({TensorId(), arena_.bytes(), 0, 0});
  std::int64_t from = 0;
  for (const ArenaRange& range : kept) {
    if (range.offset > from) arena_.Poison(from, range.offset - from);
    from = std::max(from, range.offset + range.bytes);
  }
}

Status StreamMachine::RunMoves(const StreamSegment& segment) {
  for (const plan::StreamMove& move : segment.moves) {
    NEAP_CHECK_OK(Require(subgraph_.tensors.Has(move.tensor) && !IsSlow(move.tensor),
                          "the plan moves no tensor of its arena"));
    // Up to the last pixel that has been computed.
    const auto& pixels = held_[move.tensor].written;
    const auto last = std::find(pixels.rbegin(), pixels.rend(), true);
    const std::int64_t bytes = held_[move.tensor].added.empty()
                                   ? (pixels.rend() - last) * images_[move.tensor].pixel_bytes
                                   : static_cast<std::int64_t>(held_[move.tensor].sums.size());
    NEAP_CHECK_OK(Require(bytes <= arena_.bytes() && std::min(move.from, move.to) >= 0 &&
                              std::max(move.from, move.to) <= arena_.bytes() - bytes,
                          "the plan moves a tensor from or to outside of the arena"));
    if (bytes == 0) continue;
    std::memmove(arena_.At(move.to, bytes).data(), arena_.At(move.from, bytes).data(),
                 static_cast<std::size_t>(bytes));
    result_.high_water_bytes = std::max(result_.high_water_bytes, move.to + bytes);
  }
  return {};
}

Status StreamMachine::Run() {
  for (std::size_t i = 0; i < stream_.segments.size(); ++i) {
    const StreamSegment& segment = stream_.segments[i];
    segment_ = static_cast<std::int32_t>(i);
    NEAP_CHECK_OK(TakeAreas(segment));
    if (i == 0) {
      for (std::size_t input = 0; input < inputs_.size(); ++input) {
        const TensorId tensor = subgraph_.inputs[input];
        if (stream_.input == plan::StreamInput::kRows || stream_.slow) continue;
        if (IsExternal(tensor) || areas_[tensor] != nullptr) {
          Scatter(OpId(), tensor, WholeOf(tensor), ToPixels(tensor, inputs_[input].bytes));
        }
      }
    }
    if (i == 0) LoadVariables();
    NEAP_CHECK_OK(RunMoves(segment));
    PoisonRest(i);
    PoisonSlow(i);
    NEAP_CHECK_OK(TakeWeights(i));
    NEAP_CHECK_OK(TakeStates(segment));
    if (segment.whole) {
      NEAP_CHECK_OK(segment.channel_plane ? RunChannels(segment.ops[0].op, *segment.channel_plane)
                                          : RunWhole(segment.ops[0]));
    } else {
      NEAP_CHECK_OK(RunBlocks(segment));
      EndStates();
    }
  }
  return {};
}

RunResult StreamMachine::Finish() {
  for (const OpId id : program_.order()) {
    const auto recurrence = RecurrenceOf(id);
    for (const TensorId tensor : subgraph_.ops[id].outputs) {
      if (!tensor.valid()) continue;
      if (recurrence && subgraph_.ops[id].outputs[recurrence->output] != tensor) continue;
      const auto& written = held_[tensor].written;
      if (std::find(written.begin(), written.end(), false) != written.end()) {
        Report(id, tensor, "is never computed as a whole");
      }
    }
  }
  for (const TensorId tensor : subgraph_.outputs) {
    Value value{subgraph_.tensors[tensor].type, *subgraph_.tensors[tensor].shape, {}};
    if (program_.IsConstant(tensor)) {
      const auto bytes = program_.ConstantBytes(tensor);
      value.bytes.assign(bytes.begin(), bytes.end());
    } else {
      value.bytes = FromPixels(
          tensor, IsSlow(tensor) ? SlowBytes(tensor) : Gather(OpId(), tensor, WholeOf(tensor)));
    }
    result_.outputs.push_back(std::move(value));
  }
  FinishVariables();
  segment_ = -1;
  if (!copied_.empty()) {
    Report(copied_.begin()->first, TensorId(), "has weights that are copied and never used");
  }
  if (arena_.ChangedOutside({{TensorId(), 0, arena_.bytes(), 0}})) {
    Report(OpId(), TensorId(), "bytes outside of the arena have changed");
  }
  if (stream_.slow && slow_.ChangedOutside({{TensorId(), 0, slow_.bytes(), 0}})) {
    Report(OpId(), TensorId(), "bytes outside of the slow memory have changed");
  }
  if (stream_.slow && (result_.slow_read_bytes != stream_.slow->read_bytes ||
                       result_.slow_written_bytes != stream_.slow->written_bytes)) {
    Report(OpId(), TensorId(),
           "the run read " + std::to_string(result_.slow_read_bytes) + " and wrote " +
               std::to_string(result_.slow_written_bytes) +
               " bytes of slow memory, and the plan states other numbers");
  }
  result_.slow_bytes = slow_.bytes();
  result_.arena_bytes = arena_.bytes();
  return std::move(result_);
}

Result<RunResult> RunStream(const Program& program, const plan::EntryPlan& entry,
                            std::span<const Value> inputs, const RunOptions& options) {
  NEAP_CHECK_OK(Require(entry.arena_bytes >= 0 && entry.arena_bytes <= options.max_memory_bytes,
                        "the arena of the plan is larger than the memory that is allowed"));
  StreamMachine machine(program, entry, inputs, options);
  NEAP_CHECK_OK(machine.Prepare());
  NEAP_CHECK_OK(machine.Run());
  return machine.Finish();
}

}  // namespace neap::execute
