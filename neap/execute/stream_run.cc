// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/stream_run.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "neap/execute/arena.h"
#include "neap/execute/box.h"
#include "neap/execute/stream_sums.h"
#include "neap/ops/dependence.h"

namespace neap::execute {
namespace {

using graph::OpId;
using graph::TensorId;
using plan::StreamImage;
using plan::StreamOp;
using plan::StreamSegment;

class StreamMachine {
 public:
  StreamMachine(const Program& program, const plan::EntryPlan& entry, std::span<const Value> inputs,
                const RunOptions& options)
      : program_(program),
        stream_(*entry.stream),
        subgraph_(program.subgraph()),
        inputs_(inputs),
        options_(options),
        arena_(entry.arena_bytes),
        images_(subgraph_.tensors.size()),
        held_(subgraph_.tensors.size()),
        areas_(subgraph_.tensors.size(), nullptr),
        boxes_(program, images_) {}

  Status Prepare();
  Status Run();
  RunResult Finish();

 private:
  // What was written, beside the arena, and which pixels have been.
  struct Held {
    std::vector<std::byte> bytes;
    std::vector<bool> written;
    // Of a mean that takes its input part by part: the sums, and which pixels they hold; empty
    // before the first and after the last.
    std::vector<std::byte> sums;
    std::vector<bool> added;
  };

  void Report(OpId op, TensorId tensor, const std::string& what);
  Status CheckSegment(const StreamSegment& segment, std::int64_t* boxes, std::int64_t* pixels);
  Status TakeAreas(const StreamSegment& segment);
  void PoisonRest(std::size_t segment);
  Status RunMoves(const StreamSegment& segment);
  Status RunWhole(OpId op);
  Status RunChannels(OpId op, std::int64_t plane);
  Status RunBlocks(const StreamSegment& segment);
  Status RunBox(OpId op, const ImagePart& part);
  Status AddToSums(OpId op, const ImagePart& part);
  std::span<std::byte> SumsOf(OpId op);
  Status Feed(const StreamOp& step, const ImagePart& part);
  ImagePart WholeOf(TensorId tensor) const {
    return {{0, images_[tensor].height}, {0, images_[tensor].width}};
  }
  std::int64_t AddressOf(TensorId tensor, std::int64_t y, std::int64_t x) const;
  std::vector<std::byte> Gather(OpId op, TensorId tensor, const ImagePart& part);
  void Scatter(OpId op, TensorId tensor, const ImagePart& part, std::span<const std::byte> bytes);
  Status RunKernelOn(OpId op, const std::vector<ImagePart>& needs, const ImagePart& part,
                     const RunKernel* kernel);
  std::ptrdiff_t InputIndex(TensorId tensor) const {
    const auto at = std::find(subgraph_.inputs.begin(), subgraph_.inputs.end(), tensor);
    return at == subgraph_.inputs.end() ? -1 : at - subgraph_.inputs.begin();
  }
  bool IsExternal(TensorId tensor) const {
    return stream_.input == plan::StreamInput::kExternal && InputIndex(tensor) >= 0;
  }

  const Program& program_;
  const plan::Stream& stream_;
  const graph::Subgraph& subgraph_;
  std::span<const Value> inputs_;
  const RunOptions& options_;
  Arena arena_;
  IdVector<TensorId, StreamImage> images_;
  IdVector<TensorId, Held> held_;
  IdVector<TensorId, const plan::StreamArea*> areas_;
  BoxKernels boxes_;
  std::vector<std::vector<TensorId>> live_;  // before each segment, with what is read from then on
  std::vector<plan::StreamRange> writes_;    // of the box, where somebody observes
  std::vector<plan::StreamRange> reads_;
  RunResult result_;
  std::int32_t segment_ = -1;
};

void StreamMachine::Report(OpId op, TensorId tensor, const std::string& what) {
  if (result_.violations.size() >= kMostViolations) return;
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
    images_[tensor] = plan::ImageOf(subgraph_.tensors[tensor], program_.BytesOf(tensor));
    const std::int64_t pixels = images_[tensor].height * images_[tensor].width;
    due += pixels;
    held_[tensor].bytes.assign(static_cast<std::size_t>(images_[tensor].bytes()), kPoison);
    held_[tensor].written.resize(static_cast<std::size_t>(pixels));
  };
  for (const graph::Op& op : subgraph_.ops) {
    for (const TensorId tensor : op.inputs) know(tensor);
    for (const TensorId tensor : op.outputs) know(tensor);
  }
  for (const TensorId tensor : subgraph_.inputs) know(tensor);
  for (const TensorId tensor : subgraph_.outputs) know(tensor);
  arena_.Remember();
  std::int64_t boxes = 0;
  std::int64_t pixels = 0;
  for (const StreamSegment& segment : stream_.segments) {
    NEAP_CHECK_OK(CheckSegment(segment, &boxes, &pixels));
    NEAP_CHECK_OK(
        Require(boxes <= plan::kMostStreamBoxes && pixels <= plan::kMostStreamRepeats * due,
                "the plan has far more work than the model"));
  }
  // What a segment finds that earlier ones have left.
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
                        "a segment without steps has not one operator"));
  for (const StreamOp& step : segment.ops) {
    const bool known =
        step.op.valid()
            ? subgraph_.ops.Has(step.op) && !subgraph_.ops[step.op].folded
            : !segment.whole && subgraph_.tensors.Has(step.fed) && InputIndex(step.fed) >= 0;
    NEAP_CHECK_OK(Require(known, "a segment of the plan runs no operator of the entry"));
    if (segment.whole) continue;
    const bool single = !step.op.valid() || (subgraph_.ops[step.op].outputs.size() == 1 &&
                                             subgraph_.ops[step.op].outputs[0].valid());
    const bool same = step.rows.size() == segment.ops[0].rows.size() &&
                      step.columns.size() == segment.ops[0].columns.size();
    NEAP_CHECK_OK(Require(single && same, "the boxes of a segment do not fit together"));
    NEAP_CHECK_OK(Require(!step.sums || ops::IsMeanOfPlaces(subgraph_, subgraph_.ops[step.op]),
                          "the plan takes an operator for a mean that is none"));
    const TensorId boxed = !step.op.valid() ? step.fed
                           : step.sums      ? subgraph_.ops[step.op].inputs[0]
                                            : subgraph_.ops[step.op].outputs[0];
    const StreamImage& image = images_[boxed];
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

// Nothing is left of what no later segment reads.
void StreamMachine::PoisonRest(std::size_t segment) {
  std::vector<ArenaRange> kept;
  for (const TensorId tensor : live_[segment]) {
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
    NEAP_CHECK_OK(Require(subgraph_.tensors.Has(move.tensor), "the plan moves no tensor"));
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
        if (stream_.input == plan::StreamInput::kRows) continue;
        if (IsExternal(tensor) || areas_[tensor] != nullptr) {
          Scatter(OpId(), tensor, WholeOf(tensor), inputs_[input].bytes);
        }
      }
    }
    NEAP_CHECK_OK(RunMoves(segment));
    PoisonRest(i);
    if (segment.whole) {
      NEAP_CHECK_OK(segment.channel_plane ? RunChannels(segment.ops[0].op, *segment.channel_plane)
                                          : RunWhole(segment.ops[0].op));
    } else {
      NEAP_CHECK_OK(RunBlocks(segment));
    }
  }
  return {};
}

Status StreamMachine::RunBlocks(const StreamSegment& segment) {
  for (std::size_t i = 0; i < segment.ops[0].rows.size(); ++i) {
    for (std::size_t j = 0; j < segment.ops[0].columns.size(); ++j) {
      for (const StreamOp& step : segment.ops) {
        const ImagePart part{step.rows[i], step.columns[j]};
        if (part.empty()) continue;
        NEAP_CHECK_OK(step.sums         ? AddToSums(step.op, part)
                      : step.op.valid() ? RunBox(step.op, part)
                                        : Feed(step, part));
      }
    }
  }
  return {};
}

std::int64_t StreamMachine::AddressOf(TensorId tensor, std::int64_t y, std::int64_t x) const {
  const auto& rings = areas_[tensor]->rings;
  const auto count = static_cast<std::int64_t>(rings.size());
  const plan::StreamRing& ring = rings[static_cast<std::size_t>(y % count)];
  return ring.offset +
         (y / count * images_[tensor].width + x) % ring.pixels * images_[tensor].pixel_bytes;
}

// The pixels of a part side by side, as they lie in the arena now.
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
  if (!intact) Report(op, tensor, "is read and has not the bytes that were written");
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
}

Status StreamMachine::RunKernelOn(OpId id, const std::vector<ImagePart>& needs,
                                  const ImagePart& part, const RunKernel* kernel) {
  const graph::Op& op = subgraph_.ops[id];
  reads_.clear();
  writes_.clear();
  std::vector<std::vector<std::byte>> patches;
  std::vector<std::span<const std::byte>> inputs;
  patches.reserve(op.inputs.size());
  std::int64_t working = 0;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId tensor = op.inputs[i];
    inputs.emplace_back();
    if (!tensor.valid()) continue;
    if (program_.IsConstant(tensor)) {
      inputs.back() = program_.ConstantBytes(tensor);
      continue;
    }
    inputs.back() = patches.emplace_back(Gather(id, tensor, needs[i]));
    working += static_cast<std::int64_t>(inputs.back().size());
  }
  std::vector<std::vector<std::byte>> results;
  for (const TensorId tensor : op.outputs) {
    const bool there = tensor.valid();
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
    if (!op.outputs[i].valid()) continue;
    Scatter(id, op.outputs[i], kernel == nullptr ? WholeOf(op.outputs[i]) : part, results[i]);
  }
  if (options_.observer) {
    StepEvent event{segment_, id, {}, {}, {}};
    for (const auto& range : reads_) event.reads.push_back({TensorId(), range.first, range.size()});
    for (const auto& range : writes_) {
      event.writes.push_back({op.outputs[0], range.first, range.size()});
    }
    options_.observer(event);
  }
  return {};
}

Status StreamMachine::RunWhole(OpId id) {
  const graph::Op& op = subgraph_.ops[id];
  std::vector<ImagePart> needs;
  for (const TensorId tensor : op.inputs) {
    const bool read = tensor.valid() && !program_.IsConstant(tensor);
    needs.push_back(read ? WholeOf(tensor) : ImagePart{});
  }
  if (!op.outputs.empty() && op.outputs[0].valid()) {
    result_.macs += WholeOf(op.outputs[0]).pixels() * plan::MacsOfPixel(subgraph_, op);
  }
  return RunKernelOn(id, needs, {}, nullptr);
}

// What every channel of the output depends on is that channel of the input alone: the kernel runs
// once, and the channels are taken and put one after the other, each input as it is by then.
Status StreamMachine::RunChannels(OpId id, std::int64_t plane) {
  const graph::Op& op = subgraph_.ops[id];
  NEAP_CHECK_OK(Require(ops::IsByChannel(subgraph_, op) && areas_[op.inputs[0]] != nullptr &&
                            areas_[op.outputs[0]] != nullptr,
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
  const std::vector<std::byte> before = Gather(id, in, WholeOf(in));
  std::vector<std::byte> after(static_cast<std::size_t>(image.bytes()));
  std::vector<std::span<const std::byte>> inputs = {before};
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    inputs.push_back(op.inputs[i].valid() ? program_.ConstantBytes(op.inputs[i])
                                          : std::span<const std::byte>());
  }
  const std::vector<std::span<std::byte>> outputs = {after};
  NEAP_CHECK_OK(program_.RunOp(id, {inputs, outputs}));
  result_.macs += pixels * plan::MacsOfPixel(subgraph_, op);
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
  if (!intact) Report(id, in, "is read by channels and has not the bytes that were written");
  result_.high_water_bytes = std::max(result_.high_water_bytes, plane + pixels * size);
  held.bytes = after;
  std::fill(held.written.begin(), held.written.end(), true);
  return {};
}

Status StreamMachine::RunBox(OpId id, const ImagePart& part) {
  NEAP_TRY(const BoxNeed need, boxes_.Prepare(id, part));
  result_.macs += part.pixels() * plan::MacsOfPixel(subgraph_, subgraph_.ops[id]);
  return RunKernelOn(id, need.inputs, part, need.kernel);
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
                        "the plan has no room for the sums of an operator"));
  const std::span<std::byte> sums = SumsOf(id);
  const auto size = static_cast<std::size_t>(ops::SumBytesOf(subgraph_, op));
  Held& held = held_[out];
  const bool first = held.added.empty();
  const StreamImage& image = images_[in];
  if (first) held.added.resize(static_cast<std::size_t>(image.height * image.width));
  if (!first && !std::equal(sums.begin(), sums.end(), held.sums.begin(), held.sums.end())) {
    Report(id, out, "has sums that are not those that were written");
  }
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x) {
      const auto pixel = static_cast<std::size_t>(y * image.width + x);
      if (held.added[pixel]) Report(id, out, "adds a pixel twice");
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
  const std::vector<std::byte> same =
      ImageOfSums(sums, size, subgraph_.tensors[in].type, image.height * image.width);
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
  const StreamImage& image = images_[step.fed];
  if (part.columns.size() != image.width) Report(OpId(), step.fed, "is not fed in whole rows");
  const auto input = static_cast<std::size_t>(InputIndex(step.fed));
  const std::int64_t row_bytes = image.width * image.pixel_bytes;
  std::vector<std::byte> row(static_cast<std::size_t>(row_bytes));
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    if (held_[step.fed].written[static_cast<std::size_t>(y * image.width)]) {
      Report(OpId(), step.fed, "has a row that is fed twice");
    }
    if (options_.rows) {
      NEAP_CHECK_OK(options_.rows(input, y, row));
    } else {
      std::memcpy(row.data(), inputs_[input].bytes.data() + y * row_bytes, row.size());
    }
    Scatter(OpId(), step.fed, {{y, y + 1}, {0, image.width}}, row);
  }
  return {};
}

RunResult StreamMachine::Finish() {
  for (const OpId id : program_.order()) {
    for (const TensorId tensor : subgraph_.ops[id].outputs) {
      if (!tensor.valid()) continue;
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
      value.bytes = Gather(OpId(), tensor, WholeOf(tensor));
    }
    result_.outputs.push_back(std::move(value));
  }
  segment_ = -1;
  if (arena_.ChangedOutside({{TensorId(), 0, arena_.bytes(), 0}})) {
    Report(OpId(), TensorId(), "bytes outside of the arena have changed");
  }
  result_.arena_bytes = arena_.bytes();
  return std::move(result_);
}

}  // namespace

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
