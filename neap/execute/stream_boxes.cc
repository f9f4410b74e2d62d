// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "neap/execute/stream_machine.h"
#include "neap/execute/stream_sums.h"
#include "neap/ops/dependence.h"

namespace neap::execute {

using graph::OpId;
using graph::TensorId;
using plan::StreamImage;
using plan::StreamOp;
using plan::StreamSegment;

Status StreamMachine::RunBlocks(const StreamSegment& segment) {
  for (std::size_t i = 0; i < segment.ops[0].rows.size(); ++i) {
    for (std::size_t j = 0; j < segment.ops[0].columns.size(); ++j) {
      for (const StreamOp& step : segment.ops) {
        const ImagePart part{step.rows[i], step.columns[j]};
        if (part.empty()) continue;
        const bool has_state = step.op.valid() && RecurrenceOf(step.op).has_value();
        const bool owns = step.op.valid() && OwnsVariables(step.op);
        NEAP_CHECK_OK(owns        ? RunVariableSteps(step, part)
                      : step.sums ? has_state ? AddSteps(step, part) : AddToSums(step.op, part)
                      : has_state ? RunSteps(step, part)
                      : step.op.valid() ? RunBox(step, part)
                                        : Feed(step, part));
      }
      NEAP_CHECK_OK(EndLoads());
    }
  }
  return {};
}

std::int64_t StreamMachine::AddressOf(TensorId tensor, std::int64_t y, std::int64_t x) const {
  const plan::StreamArea& area = *areas_[tensor];
  const StreamImage& image = images_[tensor];
  const std::int64_t rows = static_cast<std::int64_t>(area.rings.size()) / area.columns;
  const std::int64_t in_row = (image.width - 1) / area.columns + 1;
  const std::int64_t index = y % rows * area.columns + x % area.columns;
  const plan::StreamRing& ring = area.rings[static_cast<std::size_t>(index)];
  return ring.offset + (y / rows * in_row + x / area.columns) % ring.pixels * image.pixel_bytes;
}

// The pixels of a part in one buffer, as they are in the arena now.
std::vector<std::byte> StreamMachine::Gather(OpId op, TensorId tensor, const ImagePart& part) {
  const StreamImage& image = images_[tensor];
  const auto size = static_cast<std::size_t>(image.pixel_bytes);
  std::vector<std::byte> bytes(static_cast<std::size_t>(part.pixels()) * size, kPoison);
  const Held& held = held_[tensor];
  const bool external = IsExternal(tensor);
  if (!external && areas_[tensor] == nullptr) {
    Report(op, tensor, "is read and has no place in the plan");
    return bytes;
  }
  std::byte* to = bytes.data();
  bool intact = true;
  bool written = true;
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x, to += size) {
      const std::int64_t pixel = y * image.width + x;
      const std::byte* const value = held.bytes.data() + pixel * image.pixel_bytes;
      if (external) {
        std::memcpy(to, value, size);
        continue;
      }
      const std::int64_t address = AddressOf(tensor, y, x);
      std::memcpy(to, arena_.At(address, image.pixel_bytes).data(), size);
      written = written && held.written[static_cast<std::size_t>(pixel)];
      intact = intact && std::memcmp(to, value, size) == 0;
      if (options_.observer) reads_.push_back({address, address + image.pixel_bytes});
    }
  }
  if (!written) Report(op, tensor, "is read before it is written");
  if (!intact) Report(op, tensor, "is read and its bytes differ from those that were written");
  return bytes;
}

void StreamMachine::Scatter(OpId op, TensorId tensor, const ImagePart& part,
                            std::span<const std::byte> bytes) {
  const StreamImage& image = images_[tensor];
  const auto size = static_cast<std::size_t>(image.pixel_bytes);
  Held& held = held_[tensor];
  const bool external = IsExternal(tensor);
  if (!external && areas_[tensor] == nullptr) {
    return Report(op, tensor, "is written and has no place in the plan");
  }
  const std::byte* from = bytes.data();
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x, from += size) {
      const std::int64_t pixel = y * image.width + x;
      std::memcpy(held.bytes.data() + pixel * image.pixel_bytes, from, size);
      held.written[static_cast<std::size_t>(pixel)] = true;
      if (external) continue;
      const std::int64_t address = AddressOf(tensor, y, x);
      std::memcpy(arena_.At(address, image.pixel_bytes).data(), from, size);
      result_.high_water_bytes = std::max(result_.high_water_bytes, address + image.pixel_bytes);
      if (options_.observer) writes_.push_back({address, address + image.pixel_bytes});
    }
  }
  if (IsSlow(tensor)) Store(tensor, part);
}

namespace {

// Exchanges the two dimensions of `rows` x `columns` elements.
std::vector<std::byte> Transposed(std::span<const std::byte> from, std::size_t rows,
                                  std::size_t columns, std::size_t element) {
  std::vector<std::byte> to(from.size());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      std::memcpy(to.data() + (c * rows + r) * element, from.data() + (r * columns + c) * element,
                  element);
    }
  }
  return to;
}

}  // namespace

std::vector<std::byte> StreamMachine::ToPixels(TensorId tensor,
                                               std::span<const std::byte> planes) const {
  if (!IsRearranged(tensor)) return {planes.begin(), planes.end()};
  const auto element = static_cast<std::size_t>(graph::BitsOf(subgraph_.tensors[tensor].type) / 8);
  const auto pixel = static_cast<std::size_t>(images_[tensor].pixel_bytes);
  return Transposed(planes, pixel / element, planes.size() / pixel, element);
}

std::vector<std::byte> StreamMachine::FromPixels(TensorId tensor,
                                                 std::vector<std::byte> pixels) const {
  if (!IsRearranged(tensor)) return pixels;
  const auto element = static_cast<std::size_t>(graph::BitsOf(subgraph_.tensors[tensor].type) / 8);
  const auto pixel = static_cast<std::size_t>(images_[tensor].pixel_bytes);
  return Transposed(pixels, pixels.size() / pixel, pixel / element, element);
}

Status StreamMachine::RunKernelOn(const StreamOp& step, const std::vector<ImagePart>& needs,
                                  const ImagePart& part, const RunKernel* kernel) {
  const OpId id = step.op;
  const graph::Op& op = subgraph_.ops[id];
  reads_.clear();
  writes_.clear();
  BeginWeights(id);
  std::vector<std::vector<std::byte>> patches;
  std::vector<std::span<const std::byte>> inputs;
  patches.reserve(op.inputs.size());
  std::int64_t working = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId tensor = op.inputs[i];
    inputs.emplace_back();
    if (!tensor.valid()) continue;
    if (program_.IsConstant(tensor)) {
      inputs.back() = ConstantOf(id, i);
      continue;
    }
    inputs.back() = patches.emplace_back(FromPixels(tensor, Gather(id, tensor, needs[i])));
    working += static_cast<std::int64_t>(inputs.back().size());
  }
  std::vector<std::vector<std::byte>> results;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const TensorId tensor = op.outputs[i];
    const bool computed = !step.output || i == static_cast<std::size_t>(*step.output);
    const bool there = tensor.valid() && (computed || kernel == nullptr);
    const ImagePart size = there && kernel == nullptr ? WholeOf(tensor) : part;
    results.emplace_back(
        there ? static_cast<std::size_t>(size.pixels() * images_[tensor].pixel_bytes) : 0);
    working += static_cast<std::int64_t>(results.back().size());
  }
  const std::vector<std::span<std::byte>> outputs(results.begin(), results.end());
  const Arguments arguments{inputs, outputs};
  if (kernel == nullptr) {
    NEAP_CHECK_OK(program_.RunOp(id, arguments));
  } else {
    NEAP_CHECK_OK((*kernel)(arguments));
    result_.kernel_bytes = std::max(result_.kernel_bytes, working);
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const bool computed = !step.output || i == static_cast<std::size_t>(*step.output);
    if (!op.outputs[i].valid() || !computed) continue;
    Scatter(id, op.outputs[i], kernel == nullptr ? WholeOf(op.outputs[i]) : part,
            ToPixels(op.outputs[i], results[i]));
  }
  EndWeights(id);
  Observe(step, op.outputs[static_cast<std::size_t>(step.output.value_or(0))]);
  return {};
}

void StreamMachine::Observe(const StreamOp& step, TensorId written) {
  if (!options_.observer) return;
  StepEvent event{segment_, step.op, {}, {}, {}};
  for (const auto& range : reads_) event.reads.push_back({TensorId(), range.first, range.size()});
  for (const auto& range : writes_) {
    event.writes.push_back({written, range.first, range.size()});
  }
  options_.observer(event);
}

Status StreamMachine::RunWhole(const StreamOp& step) {
  const OpId id = step.op;
  NEAP_CHECK_OK(LoadWhole(id));
  const graph::Op& op = subgraph_.ops[id];
  std::vector<ImagePart> needs;
  for (const TensorId tensor : op.inputs) {
    const bool read = tensor.valid() && !program_.IsConstant(tensor);
    needs.push_back(read ? WholeOf(tensor) : ImagePart{});
  }
  result_.macs += plan::MacsOfAll(subgraph_, images_, op);
  if (OwnsVariables(id)) {
    if (!advanced_.emplace(id, 0).second) Report(id, TensorId(), "changes its variables again");
    return AdvanceVariables(step, WholeOf(op.inputs[0]), WholeOf(op.outputs[0]), nullptr);
  }
  return RunKernelOn(step, needs, {}, nullptr);
}

// Every channel of the output depends only on that channel of the input: the kernel runs once, and
// the channels are read and written one after the other, each input with its bytes at that moment.
Status StreamMachine::RunChannels(OpId id, std::int64_t plane) {
  const graph::Op& op = subgraph_.ops[id];
  NEAP_CHECK_OK(Require(ops::IsByChannel(subgraph_, op) && areas_[op.inputs[0]] != nullptr &&
                            areas_[op.outputs[0]] != nullptr && !IsSlow(op.inputs[0]) &&
                            !IsSlow(op.outputs[0]),
                        "the plan runs an operator by channels that does not run so"));
  const TensorId in = op.inputs[0];
  const TensorId out = op.outputs[0];
  const StreamImage& image = images_[out];
  const std::int64_t channels = (*subgraph_.tensors[out].shape)[3];
  const std::int64_t size = image.pixel_bytes / channels;
  const std::int64_t pixels = image.height * image.width;
  NEAP_CHECK_OK(
      Require(plane >= 0 && plane <= arena_.bytes() && pixels * size <= arena_.bytes() - plane,
              "the plan has a plane for a channel outside of the arena"));
  BeginWeights(id);
  const std::vector<std::byte> before = Gather(id, in, WholeOf(in));
  std::vector<std::byte> after(static_cast<std::size_t>(image.bytes()));
  std::vector<std::span<const std::byte>> inputs = {before};
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    inputs.push_back(op.inputs[i].valid() ? ConstantOf(id, i) : std::span<const std::byte>());
  }
  const std::vector<std::span<std::byte>> outputs = {after};
  NEAP_CHECK_OK(program_.RunOp(id, {inputs, outputs}));
  result_.macs += pixels * plan::MacsOfPixel(subgraph_, images_, op);
  Held& held = held_[out];
  bool intact = true;
  const auto bytes = static_cast<std::size_t>(size);
  for (std::int64_t c = 0; c < channels; ++c) {
    for (const bool takes : {true, false}) {
      for (std::int64_t p = 0; p < pixels; ++p) {
        const std::int64_t at = p * image.pixel_bytes + c * size;
        const std::int64_t y = p / image.width;
        const std::int64_t x = p % image.width;
        const std::int64_t address = AddressOf(takes ? in : out, y, x) + c * size;
        std::byte* const cell = arena_.At(address, size).data();
        std::byte* const copy = arena_.At(plane + p * size, size).data();
        const std::byte* const value = before.data() + at;
        if (takes) {
          intact = intact && std::memcmp(cell, value, bytes) == 0;
          std::memcpy(copy, cell, bytes);
          continue;
        }
        intact = intact && std::memcmp(copy, value, bytes) == 0;
        std::memcpy(cell, after.data() + at, bytes);
        result_.high_water_bytes = std::max(result_.high_water_bytes, address + size);
      }
    }
  }
  EndWeights(id);
  if (!intact)
    Report(id, in, "is read by channels and its bytes differ from those that were written");
  result_.high_water_bytes = std::max(result_.high_water_bytes, plane + pixels * size);
  held.bytes = after;
  std::fill(held.written.begin(), held.written.end(), true);
  return {};
}

Status StreamMachine::RunBox(const StreamOp& step, const ImagePart& part) {
  NEAP_TRY(const BoxNeed need,
           boxes_.Prepare(step.op, part, static_cast<std::size_t>(step.output.value_or(0))));
  result_.macs += part.pixels() * plan::MacsOfPixel(subgraph_, images_, subgraph_.ops[step.op]);
  return RunKernelOn(step, need.inputs, part, need.kernel);
}

std::span<std::byte> StreamMachine::SumsOf(OpId id) {
  const TensorId tensor = subgraph_.ops[id].outputs[0];
  const std::int64_t from = areas_[tensor]->rings[0].offset;
  const std::int64_t bytes =
      images_[tensor].bytes() * ops::SumBytesOf(subgraph_, subgraph_.ops[id]);
  return bytes > arena_.bytes() - from ? std::span<std::byte>() : arena_.At(from, bytes);
}

// The sums are in the arena and nowhere else; the operator's own kernel makes their mean, from an
// image of as many pixels that has the same sums.
Status StreamMachine::AddToSums(OpId id, const ImagePart& part) {
  const graph::Op& op = subgraph_.ops[id];
  const TensorId in = op.inputs[0];
  const TensorId out = op.outputs[0];
  const std::vector<std::byte> pixels = Gather(id, in, part);
  NEAP_CHECK_OK(Require(areas_[out] != nullptr && !SumsOf(id).empty(),
                        "the plan has no address for the running sums of an operator"));
  const std::span<std::byte> sums = SumsOf(id);
  const auto size = static_cast<std::size_t>(ops::SumBytesOf(subgraph_, op));
  Held& held = held_[out];
  const bool first = held.added.empty();
  const StreamImage& image = images_[in];
  if (first) held.added.resize(static_cast<std::size_t>(image.height * image.width));
  if (!first && !std::equal(sums.begin(), sums.end(), held.sums.begin(), held.sums.end())) {
    Report(id, out, "has running sums that differ from those that were written");
  }
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x) {
      const auto pixel = static_cast<std::size_t>(y * image.width + x);
      if (held.added[pixel]) Report(id, out, "adds a pixel twice");
      if (pixel > 0 && !held.added[pixel - 1] && ops::SumsInOrder(subgraph_, op)) {
        Report(id, out, "adds rounded pixels out of order");
      }
      held.added[pixel] = true;
    }
  }
  AddPixels(pixels, subgraph_.tensors[in].type, first, size, sums);
  held.sums.assign(sums.begin(), sums.end());
  const std::int64_t from = areas_[out]->rings[0].offset;
  const auto end = from + static_cast<std::int64_t>(sums.size());
  result_.high_water_bytes = std::max(result_.high_water_bytes, end);
  if (std::find(held.added.begin(), held.added.end(), false) != held.added.end()) return {};
  held.added.clear();
  const std::vector<std::byte> same = FromPixels(
      in, ImageOfSums(sums, size, subgraph_.tensors[in].type, image.height * image.width));
  std::vector<std::span<const std::byte>> inputs = {same};
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    inputs.push_back(op.inputs[i].valid() ? program_.ConstantBytes(op.inputs[i])
                                          : std::span<const std::byte>());
  }
  std::vector<std::byte> mean(static_cast<std::size_t>(images_[out].bytes()));
  const std::vector<std::span<std::byte>> outputs = {mean};
  NEAP_CHECK_OK(program_.RunOp(id, {inputs, outputs}));
  Scatter(id, out, WholeOf(out), mean);
  return {};
}

Status StreamMachine::Feed(const StreamOp& step, const ImagePart& part) {
  if (step.ahead) return BeginLoad(step.fed, part);
  if (stream_.slow) return Load(step.fed, part);
  const StreamImage& image = images_[step.fed];
  if (part.columns.size() != image.width) Report(OpId(), step.fed, "is not passed in whole rows");
  const auto input = static_cast<std::size_t>(InputIndex(step.fed));
  const std::int64_t row_bytes = image.width * image.pixel_bytes;
  std::vector<std::byte> row(static_cast<std::size_t>(row_bytes));
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    if (held_[step.fed].written[static_cast<std::size_t>(y * image.width)]) {
      Report(OpId(), step.fed, "has a row that is passed twice");
    }
    if (options_.rows) {
      NEAP_CHECK_OK(options_.rows(input, y, row));
    } else {
      const auto pixels = ToPixels(step.fed, inputs_[input].bytes);
      std::memcpy(row.data(), pixels.data() + y * row_bytes, row.size());
    }
    Scatter(OpId(), step.fed, {{y, y + 1}, {0, image.width}}, row);
  }
  return {};
}

}  // namespace neap::execute
