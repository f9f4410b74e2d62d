// SPDX-License-Identifier: Apache-2.0
#include "neap/check/stream_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/check.h"
#include "neap/check/stream_checker.h"

namespace neap::check {

using graph::Op;
using graph::OpId;
using graph::Subgraph;
using graph::TensorId;

bool StreamChecker::NameTensor(TensorId id) {
  if (first_name_[id] != kNothing || IsConstant(id)) return true;
  const auto bytes = graph::TensorBytes(subgraph_.tensors[id]);
  if (!bytes || *bytes > plan::kMaxStreamBytes) {
    Fail(OpId(), id, "has an unknown size, or one that is too large to be checked");
    return false;
  }
  first_name_[id] = static_cast<std::int64_t>(id.index()) * 2 * plan::kMaxStreamBytes;
  written_[id].resize(static_cast<std::size_t>(images_[id].height * images_[id].width));
  return true;
}

bool StreamChecker::Prepare() {
  if (entry_.arena_bytes < 0 || entry_.arena_bytes > plan::kMaxStreamBytes) {
    Fail(OpId(), TensorId(), "the arena is too large to be checked as a streamed plan");
    return false;
  }
  if (!entry_.tensors.empty() || !entry_.scratch.empty() || !entry_.overlaps.empty()) {
    Fail(OpId(), TensorId(), "a streamed plan has tensors, scratch or overlaps, expected none");
    return false;
  }
  names_.assign(static_cast<std::size_t>(entry_.arena_bytes), kNothing);
  for (const Op& op : subgraph_.ops) {
    if (op.folded) continue;
    const bool stateful = op.stateful && !ops::OwnsVariables(subgraph_, op);
    if (stateful || !op.bodies.empty() || op.scratch_bytes != 0 || !op.captures.empty()) {
      Fail(OpId(), TensorId(), "operators with state, bodies or scratch cannot be streamed");
      return false;
    }
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const TensorId tensor : *list) {
        if (tensor.valid() && !NameTensor(tensor)) return false;
      }
    }
  }
  for (const auto* list : {&subgraph_.inputs, &subgraph_.outputs}) {
    for (const TensorId tensor : *list) {
      if (!NameTensor(tensor)) return false;
    }
  }
  return FindVariables() && PrepareSlow() && CountWork();
}

// Bounds the time of the following checks for any plan.
bool StreamChecker::CountWork() {
  std::int64_t boxes = 0;
  std::int64_t pixels = 0;
  std::int64_t due = 0;
  for (const TensorId id : subgraph_.tensors.Ids()) {
    if (first_name_[id] != kNothing) due += images_[id].height * images_[id].width;
  }
  for (const plan::StreamSegment& segment : stream_.segments) {
    for (const plan::StreamOp& op : segment.ops) {
      std::int64_t rows = 0;
      std::int64_t columns = 0;
      // No range is longer than an index; no list longer than the file.
      for (const plan::StreamRange& range : op.rows)
        rows += std::min<std::int64_t>(range.size(), due);
      for (const plan::StreamRange& range : op.columns) {
        columns += std::min<std::int64_t>(range.size(), due);
      }
      std::int64_t product = 0;
      const bool fits = !__builtin_mul_overflow(rows, columns, &product) &&
                        product <= plan::kMaxStreamRepeats * due;
      pixels += fits ? product : plan::kMaxStreamRepeats * due + 1;
      boxes += static_cast<std::int64_t>(op.rows.size() * op.columns.size());
      if (boxes > plan::kMaxStreamBoxes || pixels > plan::kMaxStreamRepeats * due) {
        Fail(op.op, TensorId(), "the plan has far more work than the model");
        return false;
      }
    }
  }
  return true;
}

bool StreamChecker::TakeAreas(const plan::StreamSegment& segment) {
  for (const plan::StreamArea*& area : areas_) area = nullptr;
  for (const plan::StreamArea& area : segment.areas) {
    const bool known = subgraph_.tensors.Has(area.tensor) && first_name_[area.tensor] != kNothing;
    if (!known || areas_[area.tensor] != nullptr || area.rings.empty()) {
      Fail(OpId(), area.tensor, "has an area, expected a tensor of the entry, once, with rings");
      return false;
    }
    if (stream_.input == plan::StreamInput::kExternal && IsInput(area.tensor)) {
      Fail(OpId(), area.tensor, "is an external input and has an area");
      return false;
    }
    const plan::StreamImage& image = images_[area.tensor];
    const auto count = static_cast<std::int64_t>(area.rings.size());
    if (area.columns < 1 || area.columns > image.width || count % area.columns != 0) {
      Fail(OpId(), area.tensor, "has rings for columns, expected as many for each row");
      return false;
    }
    for (const plan::StreamRing& ring : area.rings) {
      const bool inside = ring.offset >= 0 && ring.pixels >= 1 &&
                          ring.pixels <= image.height * image.width &&
                          ring.pixels * image.pixel_bytes <= entry_.arena_bytes &&
                          ring.offset <= entry_.arena_bytes - ring.pixels * image.pixel_bytes;
      if (inside) continue;
      Fail(OpId(), area.tensor, "has a ring that is outside the arena or too long");
      return false;
    }
    areas_[area.tensor] = &area;
  }
  return true;
}

void StreamChecker::LoadInputs() {
  for (const TensorId tensor : subgraph_.inputs) {
    if (areas_[tensor] == nullptr) continue;
    if (areas_[tensor]->rings.size() != 1) {
      return Fail(OpId(), tensor, "is a resident input, expected one ring");
    }
    Write(OpId(), tensor, WholeOf(tensor), {});
  }
}

// Up to the last pixel that has been computed.
std::int64_t StreamChecker::ComputedBytes(TensorId tensor) const {
  if (IsSumming(tensor)) return SumBytes(tensor);
  const auto& pixels = written_[tensor];
  const auto last = std::find(pixels.rbegin(), pixels.rend(), true);
  return (pixels.rend() - last) * images_[tensor].pixel_bytes;
}

void StreamChecker::RunMoves(const plan::StreamSegment& segment) {
  for (const plan::StreamMove& move : segment.moves) {
    const bool known = subgraph_.tensors.Has(move.tensor) && first_name_[move.tensor] != kNothing;
    if (known && IsSlow(move.tensor)) {
      return Fail(OpId(), move.tensor, "is moved, but its home is slow memory");
    }
    if (known && IsVariable(move.tensor)) {
      return Fail(OpId(), move.tensor, "is moved, but keeps its place in every run");
    }
    const std::int64_t bytes = known ? ComputedBytes(move.tensor) : 0;
    const auto inside = [&](std::int64_t offset) {
      return offset >= 0 && bytes <= entry_.arena_bytes && offset <= entry_.arena_bytes - bytes;
    };
    if (!known || !inside(move.from) || !inside(move.to)) {
      return Fail(OpId(), move.tensor, "is moved outside the arena, or is not a tensor of it");
    }
    const auto from = names_.begin() + move.from;
    const auto to = names_.begin() + move.to;
    if (move.to < move.from) {
      std::copy(from, from + bytes, to);
    } else {
      std::copy_backward(from, from + bytes, to + bytes);
    }
    touched_bytes_ = std::max(touched_bytes_, move.to + bytes);
  }
}

void StreamChecker::RunSegment(std::size_t index) {
  const plan::StreamSegment& segment = stream_.segments[index];
  segment_ = static_cast<int>(index);
  if (!TakeAreas(segment) || !TakeVariables()) return;
  if (index == 0 && stream_.input == plan::StreamInput::kResident) LoadInputs();
  if (index == 0 && !Stopped()) LoadVariables();
  if (!Stopped()) RunMoves(segment);
  if (Stopped()) return;
  Forget(index);
  TakeWeights(index);
  if (Stopped() || !TakeStates(segment)) return;
  if (segment.whole) return RunWhole(segment);
  RunBlocks(segment);
  if (!Stopped()) CheckStates();
}

// Between segments only the areas of live tensors that later segments read are kept.
void StreamChecker::Forget(std::size_t index) {
  IdVector<TensorId, bool> wanted(subgraph_.tensors.size(), false);
  for (const TensorId tensor : subgraph_.outputs) wanted[tensor] = true;
  for (const auto& [tensor, offset] : variables_) wanted[tensor] = true;
  for (std::size_t i = index; i < stream_.segments.size(); ++i) {
    for (const plan::StreamOp& step : stream_.segments[i].ops) {
      if (!subgraph_.ops.Has(step.op)) continue;
      for (const TensorId tensor : subgraph_.ops[step.op].inputs) {
        if (tensor.valid()) wanted[tensor] = true;
      }
    }
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> kept;  // half-open
  for (const plan::StreamArea& area : stream_.segments[index].areas) {
    const auto& pixels = written_[area.tensor];
    if (IsSlow(area.tensor)) continue;  // a buffer of one segment
    if (IsSumming(area.tensor)) {
      const std::int64_t from = area.rings[0].offset;
      kept.emplace_back(from, std::min(from + SumBytes(area.tensor), entry_.arena_bytes));
      continue;
    }
    if (!wanted[area.tensor] || std::find(pixels.begin(), pixels.end(), true) == pixels.end()) {
      continue;
    }
    for (const plan::StreamRing& ring : area.rings) {
      kept.emplace_back(ring.offset, ring.offset + ring.pixels * images_[area.tensor].pixel_bytes);
    }
  }
  for (const auto& [op, buffer] : copied_) {
    kept.emplace_back(buffer.offset, buffer.offset + buffer.first_bytes);
  }
  kept.emplace_back(entry_.arena_bytes, entry_.arena_bytes);
  std::sort(kept.begin(), kept.end());
  std::int64_t known = 0;  // kept bytes below this are done
  for (const auto& [from, to] : kept) {
    if (from > known) std::fill(names_.begin() + known, names_.begin() + from, kNothing);
    known = std::max(known, to);
  }
}

void StreamChecker::CheckEnd() {
  for (const TensorId tensor : subgraph_.outputs) {
    if (IsConstant(tensor)) continue;
    IsSlow(tensor) ? ReadSlow(OpId(), tensor, WholeOf(tensor))
                   : Read(OpId(), tensor, WholeOf(tensor));
  }
  if (!Stopped()) CheckVariables();
  segment_ = -1;
  if (!copied_.empty() && !Stopped()) {
    Fail(copied_.begin()->first, TensorId(), "has weights that are copied and never used");
  }
  for (const OpId id : subgraph_.ops.Ids()) {
    if (subgraph_.ops[id].folded || Stopped()) continue;
    for (const TensorId tensor : subgraph_.ops[id].outputs) {
      if (!tensor.valid() || IsLeftOut(id, tensor)) continue;
      const auto& pixels = written_[tensor];
      if (std::find(pixels.begin(), pixels.end(), false) == pixels.end()) continue;
      Fail(id, tensor, "is never computed as a whole");
    }
  }
  if (!Stopped()) CheckNumbers();
}

void StreamChecker::CheckNumbers() {
  const auto expect = [&](const char* what, std::int64_t found, std::int64_t expected) {
    if (found == expected) return;
    findings_.Add(entry_.subgraph, std::string(what) + " is " + std::to_string(found) +
                                       ", expected " + std::to_string(expected));
  };
  std::int64_t layerwise = 0;
  for (const Op& op : subgraph_.ops) {
    if (!op.folded) layerwise += plan::MacsOfAll(subgraph_, images_, op);
  }
  std::int64_t in = 0;
  std::int64_t out = 0;
  for (const TensorId tensor : subgraph_.inputs) in += images_[tensor].bytes();
  for (const TensorId tensor : subgraph_.outputs) {
    const bool elsewhere = stream_.input == plan::StreamInput::kExternal && IsInput(tensor);
    if (!elsewhere && !IsSlow(tensor)) out += images_[tensor].bytes();
  }
  if (stream_.input != plan::StreamInput::kResident) in = 0;
  expect("arena_bytes", entry_.arena_bytes, touched_bytes_);
  expect("peak_bytes", entry_.peak_bytes, entry_.arena_bytes);
  expect("stream.macs", stream_.macs, macs_);
  expect("stream.layerwise_macs", stream_.layerwise_macs, layerwise);
  const std::int64_t floor = std::max(in, out) + VariableBytes();
  for (const std::int64_t bound : {entry_.peak_lower_bound_bytes, entry_.arena_lower_bound_bytes,
                                   entry_.arena_given_order_lower_bound_bytes}) {
    if (bound >= 0 && bound <= std::min(floor, entry_.arena_bytes)) continue;
    findings_.Add(entry_.subgraph, "a bound is " + std::to_string(bound) + ", expected at most " +
                                       std::to_string(floor) + ", inputs or outputs alone");
  }
  CheckSlowNumbers();
  const std::int64_t once = stream_.slow ? 0 : CheckedStreamBound(graph_, entry_);
  if (stream_.lower_bound_bytes < 0 || stream_.lower_bound_bytes > once ||
      (!repeats_ && stream_.lower_bound_bytes > entry_.arena_bytes)) {
    findings_.Add(entry_.subgraph, "stream.lower_bound_bytes is " +
                                       std::to_string(stream_.lower_bound_bytes) +
                                       ", expected at most " + std::to_string(once) +
                                       " (as the checker derives it) and the arena");
  }
}

namespace {

// The operators as the segments run them for the first time, one after the other.
std::vector<OpId> FirstRuns(const Subgraph& subgraph, const plan::Stream& stream) {
  std::vector<OpId> order;
  IdVector<OpId, bool> seen(subgraph.ops.size(), false);
  for (const plan::StreamSegment& segment : stream.segments) {
    for (const plan::StreamOp& step : segment.ops) {
      if (!subgraph.ops.Has(step.op) || seen[step.op]) continue;
      seen[step.op] = true;
      order.push_back(step.op);
    }
  }
  return order;
}

}  // namespace

void CheckStream(const graph::Graph& graph, const plan::EntryPlan& entry, Findings* findings) {
  const Subgraph& subgraph = graph.subgraphs[entry.subgraph];
  const std::vector<OpId> order = FirstRuns(subgraph, *entry.stream);
  const bool same = order.size() == entry.steps.size() &&
                    std::equal(order.begin(), order.end(), entry.steps.begin(),
                               [&](OpId op, const plan::Step& step) {
                                 return step.op == op && step.subgraph == entry.subgraph;
                               });
  if (!same) findings->Add(entry.subgraph, "the steps are not those of the segments");
  StreamChecker(graph, entry, findings).Check();
}

}  // namespace neap::check
