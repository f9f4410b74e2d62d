// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "neap/execute/stream_machine.h"

namespace neap::execute {

using graph::OpId;
using graph::TensorId;
using plan::StreamImage;

Status StreamMachine::PrepareSlow() {
  NEAP_CHECK_OK(Require(stream_.slow.has_value() == (stream_.input == plan::StreamInput::kSlow),
                        "the slow memory and the place of the input do not fit together"));
  if (!stream_.slow) return {};
  for (const plan::SlowPlace& place : stream_.slow->tensors) {
    const bool known = subgraph_.tensors.Has(place.tensor) && !held_[place.tensor].written.empty();
    const std::int64_t bytes = known ? images_[place.tensor].bytes() : 0;
    NEAP_CHECK_OK(Require(known && place.offset >= 0 && place.offset <= slow_.bytes() - bytes,
                          "the plan has a tensor outside of its slow memory"));
    slow_offset_[place.tensor] = place.offset;
  }
  for (const auto* list : {&subgraph_.inputs, &subgraph_.outputs}) {
    for (const TensorId tensor : *list) {
      NEAP_CHECK_OK(Require(program_.IsConstant(tensor) || IsSlow(tensor),
                            "an input or output of the model is not in slow memory"));
    }
  }
  slow_.Remember();
  for (std::size_t input = 0; input < inputs_.size(); ++input) {
    const TensorId tensor = subgraph_.inputs[input];
    if (program_.IsConstant(tensor)) continue;
    Held& held = held_[tensor];
    held.bytes = ToPixels(tensor, inputs_[input].bytes);
    std::fill(held.written.begin(), held.written.end(), true);
    const auto place = slow_.At(slow_offset_[tensor], images_[tensor].bytes());
    std::copy(held.bytes.begin(), held.bytes.end(), place.begin());
  }
  return {};
}

Status StreamMachine::Load(TensorId tensor, const ImagePart& part) {
  NEAP_CHECK_OK(Require(areas_[tensor] != nullptr,
                        "the plan reads a tensor from slow memory that has no area"));
  const StreamImage& image = images_[tensor];
  const Held& held = held_[tensor];
  bool written = true;
  bool intact = true;
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x) {
      const std::int64_t pixel = y * image.width + x;
      const std::int64_t at = pixel * image.pixel_bytes;
      const auto from = slow_.At(slow_offset_[tensor] + at, image.pixel_bytes);
      const std::int64_t address = AddressOf(tensor, y, x);
      const auto to = arena_.At(address, image.pixel_bytes);
      std::memcpy(to.data(), from.data(), from.size());
      written = written && held.written[static_cast<std::size_t>(pixel)];
      intact = intact && std::memcmp(from.data(), held.bytes.data() + at, from.size()) == 0;
      result_.high_water_bytes = std::max(result_.high_water_bytes, address + image.pixel_bytes);
      result_.slow_read_bytes += image.pixel_bytes;
    }
  }
  if (!written) Report(OpId(), tensor, "is read from slow memory before it is written");
  if (!intact) Report(OpId(), tensor, "is read from slow memory and its bytes have changed");
  return {};
}

// The bytes come at the end of the block, as late as they may: until then there are none.
Status StreamMachine::BeginLoad(TensorId tensor, const ImagePart& part) {
  NEAP_CHECK_OK(Require(areas_[tensor] != nullptr,
                        "the plan reads a tensor from slow memory that has no area"));
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x) {
      arena_.Poison(AddressOf(tensor, y, x), images_[tensor].pixel_bytes);
    }
  }
  in_flight_.push_back({tensor, part});
  return {};
}

Status StreamMachine::EndLoads() {
  for (const Copy& copy : in_flight_) NEAP_CHECK_OK(Load(copy.tensor, copy.part));
  in_flight_.clear();
  return {};
}

Status StreamMachine::LoadWhole(OpId op) {
  std::set<TensorId> loaded;
  for (const TensorId tensor : subgraph_.ops[op].inputs) {
    if (!tensor.valid() || program_.IsConstant(tensor) || !IsSlow(tensor)) continue;
    if (loaded.insert(tensor).second) {
      NEAP_CHECK_OK(Load(tensor, WholeOf(tensor)));
    }
  }
  return {};
}

// From its area.
void StreamMachine::Store(TensorId tensor, const ImagePart& part) {
  const StreamImage& image = images_[tensor];
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x) {
      const auto from = arena_.At(AddressOf(tensor, y, x), image.pixel_bytes);
      const std::int64_t at = (y * image.width + x) * image.pixel_bytes;
      std::memcpy(slow_.At(slow_offset_[tensor] + at, image.pixel_bytes).data(), from.data(),
                  from.size());
      result_.slow_written_bytes += image.pixel_bytes;
    }
  }
}

// An output after the last segment.
std::vector<std::byte> StreamMachine::SlowBytes(TensorId tensor) {
  const auto bytes = slow_.At(slow_offset_[tensor], images_[tensor].bytes());
  const Held& held = held_[tensor];
  if (!std::equal(bytes.begin(), bytes.end(), held.bytes.begin(), held.bytes.end())) {
    Report(OpId(), tensor, "is an output and its bytes in slow memory have changed");
  }
  return {bytes.begin(), bytes.end()};
}

// Bytes of the slow memory that no later segment reads.
void StreamMachine::PoisonSlow(std::size_t segment) {
  if (!stream_.slow) return;
  std::vector<plan::StreamRange> kept = {{slow_.bytes(), slow_.bytes()}};
  for (const TensorId tensor : live_[segment]) {
    const auto& written = held_[tensor].written;
    if (!IsSlow(tensor) || std::find(written.begin(), written.end(), true) == written.end()) {
      continue;
    }
    kept.push_back({slow_offset_[tensor], slow_offset_[tensor] + images_[tensor].bytes()});
  }
  std::sort(kept.begin(), kept.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::int64_t from = 0;
  for (const plan::StreamRange& range : kept) {
    if (range.first > from) slow_.Poison(from, range.first - from);
    from = std::max(from, range.last);
  }
}

}  // namespace neap::execute
