// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "neap/check/stream_checker.h"
#include "neap/ops/dependence.h"
#include "neap/ops/traits.h"

namespace neap::check {

using graph::Op;
using graph::OpId;
using graph::TensorId;

std::int64_t StreamChecker::AddressOf(TensorId tensor, std::int64_t y, std::int64_t x) const {
  const plan::StreamArea& area = *areas_[tensor];
  const std::int64_t apart = area.columns;
  const std::int64_t count = static_cast<std::int64_t>(area.rings.size()) / apart;
  const std::int64_t at = y % count * apart + x % apart;
  const plan::StreamRing& ring = area.rings[static_cast<std::size_t>(at)];
  const std::int64_t per_row = (images_[tensor].width + apart - 1) / apart;
  const std::int64_t number = (y / count) * per_row + x / apart;
  return ring.offset + number % ring.pixels * images_[tensor].pixel_bytes;
}

void StreamChecker::RunWhole(const plan::StreamSegment& segment) {
  if (segment.ops.size() != 1 || !segment.ops[0].rows.empty() || !segment.ops[0].columns.empty()) {
    return Fail(OpId(), TensorId(), "has no steps, expected one operator without boxes");
  }
  const OpId id = segment.ops[0].op;
  if (!subgraph_.ops.Has(id) || subgraph_.ops[id].folded) {
    return Fail(id, TensorId(), "is not an operator that runs");
  }
  const Op& op = subgraph_.ops[id];
  if (segment.channel_plane) return RunChannels(id, *segment.channel_plane);
  LoadWhole(id);
  BeginWeights(id);
  std::vector<Part> needs;
  for (const TensorId tensor : op.inputs) {
    needs.emplace_back();
    if (!tensor.valid() || IsConstant(tensor)) continue;
    needs.back() = WholeOf(tensor);
    Read(id, tensor, needs.back());
  }
  if (!plan::NamesOutput(subgraph_, segment.ops[0], true)) {
    return Fail(id, TensorId(), "does not compute the output that its step names by itself");
  }
  if (!Stopped()) macs_ += plan::MacsOfAll(subgraph_, images_, op);
  if (!Stopped() && OwnsVariables(id)) RunWithVariables(id);
  for (const TensorId tensor : plan::OutputsOf(subgraph_, segment.ops[0])) {
    if (!Stopped()) Write(id, tensor, WholeOf(tensor), needs);
  }
  EndWeights(id);
}

// Every element of one channel is stored; `bytes` is of an element.
bool StreamChecker::ReadChannel(OpId op, TensorId tensor, std::int64_t channel,
                                std::int64_t bytes) {
  const plan::StreamImage& image = images_[tensor];
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const std::int64_t within = channel * bytes;
      const std::int64_t address = AddressOf(tensor, y, x) + within;
      const std::int64_t name =
          first_name_[tensor] + (y * image.width + x) * image.pixel_bytes + within;
      for (std::int64_t i = 0; i < bytes; ++i) {
        if (names_[static_cast<std::size_t>(address + i)] == name + i) continue;
        Fail(op, tensor,
             "is read by channels, and channel " + std::to_string(channel) +
                 " has been overwritten");
        return false;
      }
    }
  }
  return true;
}

void StreamChecker::RunChannels(OpId id, std::int64_t plane) {
  const Op& op = subgraph_.ops[id];
  if (!ops::IsByChannel(subgraph_, op)) {
    return Fail(id, TensorId(), "does not run channel by channel");
  }
  const TensorId in = op.inputs[0];
  const TensorId out = op.outputs[0];
  if (areas_[in] == nullptr || areas_[out] == nullptr) {
    return Fail(id, out, "runs channel by channel, but it or its input has no address");
  }
  if (IsSlow(in) || IsSlow(out)) {
    return Fail(id, out, "runs channel by channel, but it or its input is in slow memory");
  }
  const plan::StreamImage& image = images_[out];
  const std::int64_t channels = (*subgraph_.tensors[out].shape)[3];
  const std::int64_t bytes = image.pixel_bytes / channels;
  const std::int64_t plane_bytes = image.height * image.width * bytes;
  if (plane < 0 || plane_bytes > entry_.arena_bytes || plane > entry_.arena_bytes - plane_bytes) {
    return Fail(id, out, "has a plane for a channel outside the arena");
  }
  macs_ += image.height * image.width * plan::MacsOfPixel(subgraph_, images_, op);
  touched_bytes_ = std::max(touched_bytes_, plane + plane_bytes);
  BeginWeights(id);
  for (std::int64_t c = 0; c < channels; ++c) {
    if (!ReadChannel(id, in, c, bytes)) return;
    std::fill_n(names_.begin() + plane, plane_bytes, kNothing);
    for (std::int64_t pixel = 0; pixel < image.height * image.width; ++pixel) {
      const std::int64_t address =
          AddressOf(out, pixel / image.width, pixel % image.width) + c * bytes;
      if (address < plane + plane_bytes && plane < address + bytes) {
        return Fail(id, out, "overwrites the plane from which it is computed");
      }
      const std::int64_t name = first_name_[out] + pixel * image.pixel_bytes + c * bytes;
      for (std::int64_t i = 0; i < bytes; ++i) {
        names_[static_cast<std::size_t>(address + i)] = name + i;
      }
      touched_bytes_ = std::max(touched_bytes_, address + bytes);
      repeats_ = repeats_ || (c == 0 && written_[out][static_cast<std::size_t>(pixel)]);
      written_[out][static_cast<std::size_t>(pixel)] = true;
    }
  }
  EndWeights(id);
}

bool StreamChecker::CheckSum(const plan::StreamOp& step) {
  if (!step.op.valid() && !step.sums) return true;
  const auto recurrence = step.op.valid() ? RecurrenceOf(step.op) : std::nullopt;
  if (recurrence && stream_.slow) {
    Fail(step.op, TensorId(), "runs in steps in a plan with two memories");
    return false;
  }
  if (recurrence && step.sums != recurrence->last_only) {
    Fail(step.op, TensorId(),
         step.sums ? "has an output for each step, but takes its input as sums"
                   : "has no output for a step, but boxes of it");
    return false;
  }
  const bool known =
      step.op.valid() && (recurrence.has_value() || IsMeanOfPixels(subgraph_.ops[step.op]));
  if (step.sums && !known) {
    Fail(step.op, TensorId(),
         "is not a mean over all positions, but takes its input as running sums");
    return false;
  }
  return true;
}

bool StreamChecker::CheckSteps(const plan::StreamSegment& segment) {
  if (segment.ops.empty() || segment.channel_plane) {
    Fail(OpId(), TensorId(), "has no operators, or blocks and a plane for a channel");
    return false;
  }
  const std::size_t rows = segment.ops[0].rows.size();
  const std::size_t columns = segment.ops[0].columns.size();
  for (const plan::StreamOp& step : segment.ops) {
    const bool known =
        step.op.valid() ? subgraph_.ops.Has(step.op) && !subgraph_.ops[step.op].folded &&
                              plan::NamesOutput(subgraph_, step, false)
        : stream_.slow ? subgraph_.tensors.Has(step.fed) && IsSlow(step.fed)
                       : stream_.input == plan::StreamInput::kRows && IsInput(step.fed);
    if (step.ahead && (step.op.valid() || !stream_.slow)) {
      Fail(step.op, step.fed, "is ahead, but not a copy from slow memory");
      return false;
    }
    if (!known || step.rows.size() != rows || step.columns.size() != columns) {
      Fail(step.op, TensorId(), "is not an operator with one output that has a box in every block");
      return false;
    }
    if (!CheckSum(step)) return false;
    const plan::StreamImage& image = images_[plan::BoxedBy(subgraph_, step)];
    const auto outside = [](const plan::StreamRange& range, std::int64_t size) {
      return range.first < 0 || range.first > range.last || range.last > size;
    };
    for (const plan::StreamRange& range : step.rows) {
      if (outside(range, image.height)) Fail(step.op, step.fed, "has rows outside its input");
    }
    for (const plan::StreamRange& range : step.columns) {
      if (outside(range, image.width)) Fail(step.op, step.fed, "has columns outside its input");
    }
  }
  return !Stopped();
}

void StreamChecker::RunBlocks(const plan::StreamSegment& segment) {
  if (!CheckSteps(segment)) return;
  const std::size_t rows = segment.ops[0].rows.size();
  const std::size_t columns = segment.ops[0].columns.size();
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (const plan::StreamOp& step : segment.ops) {
        const Part part{step.rows[i], step.columns[j]};
        if (part.empty()) continue;
        if (step.sums) {
          AddToSums(step, part);
        } else if (states_.contains(step.op)) {
          RunSteps(step, part);
        } else if (step.op.valid() && OwnsVariables(step.op)) {
          RunVariableSteps(step, part);
        } else {
          step.op.valid() ? RunBox(step, part) : Feed(step, part);
        }
        if (Stopped()) return;
      }
      EndLoads();
      if (Stopped()) return;
    }
  }
}

void StreamChecker::Feed(const plan::StreamOp& step, const Part& part) {
  if (step.ahead) return BeginLoad(step.fed, part);
  if (stream_.slow) return Load(OpId(), step.fed, part);
  std::int64_t& fed_rows = fed_rows_[step.fed];
  if (part.rows.first != fed_rows ||
      part.columns != plan::StreamRange{0, images_[step.fed].width}) {
    return Fail(OpId(), step.fed, "expected whole rows, each delivered once and in order");
  }
  fed_rows = part.rows.last;
  Write(OpId(), step.fed, part, {});
}

namespace {

// The part of the tensor that a part of an operator's output is.
ops::Box BoxOfPart(const graph::Tensor& tensor, const plan::StreamImage& image, const Part& part) {
  ops::Box box = ops::WholeBox(*tensor.shape);
  if (image.row_axis) box[*image.row_axis] = {part.rows.first, part.rows.last};
  if (image.column_axis) box[*image.column_axis] = {part.columns.first, part.columns.last};
  return box;
}

}  // namespace

std::optional<Part> StreamChecker::NeedOf(OpId id, std::size_t input, const Part& part,
                                          std::size_t output) const {
  const Op& op = subgraph_.ops[id];
  const TensorId out = op.outputs[output];
  const auto need = ops::NeedOf(subgraph_, op, input,
                                BoxOfPart(subgraph_.tensors[out], images_[out], part), output);
  if (!need) return std::nullopt;
  if (ops::IsEmpty(need->box)) return Part{};
  const plan::StreamImage& image = images_[op.inputs[input]];
  Part read = WholeOf(op.inputs[input]);
  if (image.height == 1 && image.width == 1) return read;
  if (image.row_axis) {
    const ops::Interval& rows = need->box[*image.row_axis];
    read.rows = {rows.begin, rows.end};
  }
  if (image.column_axis) {
    const ops::Interval& columns = need->box[*image.column_axis];
    read.columns = {columns.begin, columns.end};
  }
  return read;
}

void StreamChecker::RunBox(const plan::StreamOp& step, const Part& part) {
  const Op& op = subgraph_.ops[step.op];
  const TensorId out = plan::BoxedBy(subgraph_, step);
  const auto output = static_cast<std::size_t>(step.output.value_or(0));
  const ops::Box box = BoxOfPart(subgraph_.tensors[out], images_[out], part);
  if (!step.output && !ops::ComputesPart(subgraph_, op, box)) {
    return Fail(step.op, TensorId(), "is cut, but its arithmetic depends on all of its input");
  }
  BeginWeights(step.op);
  std::vector<Part> needs;
  for (std::size_t i = 0; i < op.inputs.size() && !Stopped(); ++i) {
    needs.emplace_back();
    if (!op.inputs[i].valid() || IsConstant(op.inputs[i])) continue;
    const auto need = NeedOf(step.op, i, part, output);
    if (!need) return Fail(step.op, TensorId(), "has no dependence map and cannot be streamed");
    needs.back() = *need;
    Read(step.op, op.inputs[i], *need);
  }
  if (Stopped()) return;
  macs_ += part.size() * plan::MacsOfPixel(subgraph_, images_, op);
  Write(step.op, out, part, needs);
  EndWeights(step.op);
}

void StreamChecker::AddToSums(const plan::StreamOp& step, const Part& part) {
  const Op& op = subgraph_.ops[step.op];
  const auto recurrence = RecurrenceOf(step.op);
  const TensorId in = op.inputs[0];
  const TensorId out = op.outputs[recurrence ? recurrence->output : 0];
  std::vector<Part> needs(op.inputs.size());
  needs[0] = part;
  Read(step.op, in, part);
  if (recurrence && !IsSumming(out)) {
    for (const std::size_t i : recurrence->initial) {
      needs[i] = WholeOf(op.inputs[i]);
      if (!Stopped()) Read(step.op, op.inputs[i], needs[i]);
    }
  }
  if (Stopped()) return;
  if (areas_[out] == nullptr) return Fail(step.op, out, "has running sums, but no address");
  const std::int64_t from = areas_[out]->rings[0].offset;
  sum_size_[out] =
      recurrence ? recurrence->state_bytes / images_[out].bytes() : ops::SumBytesOf(subgraph_, op);
  const std::int64_t bytes = SumBytes(out);
  if (bytes > entry_.arena_bytes - from) {
    return Fail(step.op, out, "has running sums outside the arena");
  }
  std::vector<bool>& added = added_[out];
  const bool first = added.empty();
  if (first) added.resize(static_cast<std::size_t>(images_[in].height * images_[in].width));
  const bool ascending = recurrence || ops::SumsInOrder(subgraph_, op);
  if (recurrence) macs_ += part.size() * plan::MacsOfPixel(subgraph_, images_, op);
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x) {
      const auto pixel = static_cast<std::size_t>(y * images_[in].width + x);
      if (added[pixel]) return Fail(step.op, out, "adds a pixel twice");
      if (ascending && pixel > 0 && !added[pixel - 1]) {
        return Fail(step.op, out, "adds rounded pixels, expected them in ascending order");
      }
      added[pixel] = true;
    }
  }
  for (std::int64_t i = 0; i < bytes; ++i) {
    std::int64_t& name = names_[static_cast<std::size_t>(from + i)];
    if (!first && name != SumName(out) + i) {
      return Fail(step.op, out, "has running sums that have been overwritten");
    }
    if (first && name != kNothing) {
      CheckOverlap(step.op, out, {name, 1, from + i, kNothing}, needs);
    }
    if (Stopped()) return;
    name = SumName(out) + i;
  }
  touched_bytes_ = std::max(touched_bytes_, from + bytes);
  if (std::find(added.begin(), added.end(), false) != added.end()) return;
  added.clear();
  Write(step.op, out, WholeOf(out), {});
}

// `bytes` bytes from `address` on have the names from `name` on. Looks at all of them, which is
// faster than to stop at the first that has not.
bool StreamChecker::AreNamed(std::int64_t address, std::int64_t name, std::int64_t bytes) const {
  const std::int64_t* const found = names_.data() + address;
  std::int64_t differences = 0;
  for (std::int64_t i = 0; i < bytes; ++i) differences |= found[i] ^ (name + i);
  return differences == 0;
}

void StreamChecker::Read(OpId op, TensorId tensor, const Part& part) {
  if (stream_.input == plan::StreamInput::kExternal && IsInput(tensor)) return;
  if (areas_[tensor] == nullptr) return Fail(op, tensor, "is read, but has no address");
  const plan::StreamImage& image = images_[tensor];
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x) {
      const std::int64_t address = AddressOf(tensor, y, x);
      const std::int64_t name = first_name_[tensor] + (y * image.width + x) * image.pixel_bytes;
      if (AreNamed(address, name, image.pixel_bytes)) continue;
      return Fail(op, tensor,
                  "is read at row " + std::to_string(y) + ", column " + std::to_string(x) +
                      " (offset " + std::to_string(address) +
                      "), where its value is not stored or has been overwritten");
    }
  }
}

// Whether a byte of the output may replace the byte of the same number of the input.
bool StreamChecker::MayReplace(OpId op, TensorId input, TensorId output) const {
  const plan::StreamImage& in = images_[input];
  const plan::StreamImage& out = images_[output];
  const Op& operation = subgraph_.ops[op];
  const bool pixelwise = ops::IsElementwise(operation) && in.height == out.height &&
                         in.width == out.width && in.pixel_bytes == out.pixel_bytes &&
                         in.KeepsOrder() == out.KeepsOrder();
  // Where channels come first, bytes of the same number are other elements in another shape.
  const bool reshapes = ops::IsReshapeLike(operation) && in.KeepsOrder() && out.KeepsOrder();
  return (pixelwise || reshapes) && in.bytes() == out.bytes() &&
         subgraph_.tensors[input].type == subgraph_.tensors[output].type;
}

// The box may have read there what it now replaces.
void StreamChecker::CheckOverlap(OpId op, TensorId tensor, const Replaced& replaced,
                                 const std::vector<Part>& needs) {
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (needs[i].empty()) continue;
    const TensorId input = subgraph_.ops[op].inputs[i];
    if (areas_[input] == nullptr) continue;
    const plan::StreamImage& image = images_[input];
    const std::int64_t first = replaced.name - first_name_[input];  // byte of the input
    const std::int64_t end = std::min(first + replaced.bytes, image.bytes());
    // Pixel by pixel: the bytes of one are all read or none is, and they are adjacent.
    for (std::int64_t at = std::max<std::int64_t>(first, 0); at < end;) {
      const std::int64_t pixel = at / image.pixel_bytes;
      const std::int64_t skipped = at - first;
      const std::int64_t within = at % image.pixel_bytes;
      const std::int64_t byte = at;
      at += image.pixel_bytes - within;
      const std::int64_t y = pixel / image.width;
      const std::int64_t x = pixel % image.width;
      if (!needs[i].Has(y, x)) continue;
      // The source of a move is unused afterwards.
      if (AddressOf(input, y, x) + within != replaced.address + skipped) continue;
      const bool same =
          replaced.by != kNothing && replaced.by + skipped == byte && MayReplace(op, input, tensor);
      if (!same) return Fail(op, tensor, "overwrites values that the same box reads");
    }
  }
}

void StreamChecker::Write(OpId op, TensorId tensor, const Part& part,
                          const std::vector<Part>& needs) {
  if (areas_[tensor] == nullptr) return Fail(op, tensor, "is written, but has no address");
  const plan::StreamImage& image = images_[tensor];
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x) {
      const std::int64_t pixel = y * image.width + x;
      const std::int64_t address = AddressOf(tensor, y, x);
      std::int64_t* const to = names_.data() + address;
      for (std::int64_t i = 0; i < image.pixel_bytes && op.valid();) {
        const std::int64_t begin = i++;
        if (to[begin] == kNothing) continue;
        while (i < image.pixel_bytes && to[i] == to[begin] + i - begin) ++i;
        CheckOverlap(op, tensor,
                     {to[begin], i - begin, address + begin, pixel * image.pixel_bytes + begin},
                     needs);
        if (Stopped()) return;
      }
      const std::int64_t name = first_name_[tensor] + pixel * image.pixel_bytes;
      for (std::int64_t i = 0; i < image.pixel_bytes; ++i) to[i] = name + i;
      repeats_ = repeats_ || written_[tensor][static_cast<std::size_t>(pixel)];
      written_[tensor][static_cast<std::size_t>(pixel)] = true;
      touched_bytes_ = std::max(touched_bytes_, address + image.pixel_bytes);
    }
  }
  if (IsSlow(tensor)) Store(op, tensor, part);
}

}  // namespace neap::check
