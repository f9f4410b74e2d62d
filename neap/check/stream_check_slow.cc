// SPDX-License-Identifier: Apache-2.0
//
// The checker of plans with two memories: every byte of the slow memory has a name, too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "neap/check/check.h"
#include "neap/check/stream_checker.h"
#include "neap/check/traffic_moments.h"
#include "neap/ops/op_table.h"

namespace neap::check {

using graph::Op;
using graph::OpId;
using graph::TensorId;

// Places of tensors; the inputs are stored before the first segment.
bool StreamChecker::PrepareSlow() {
  if (stream_.slow.has_value() != (stream_.input == plan::StreamInput::kSlow)) {
    Fail(OpId(), TensorId(), "the slow memory and the place of the input do not fit together");
    return false;
  }
  if (!stream_.slow) return true;
  const plan::SlowMemory& slow = *stream_.slow;
  if (slow.bytes < 0 || slow.bytes > plan::kMaxStreamBytes) {
    Fail(OpId(), TensorId(), "the slow memory is too large to be checked");
    return false;
  }
  slow_names_.assign(static_cast<std::size_t>(slow.bytes), kNothing);
  std::int64_t height = 0;
  TensorId before;
  for (const plan::SlowPlace& place : slow.tensors) {
    const bool known = subgraph_.tensors.Has(place.tensor) &&
                       first_name_[place.tensor] != kNothing &&
                       (!before.valid() || before < place.tensor);
    const std::int64_t bytes = known ? images_[place.tensor].bytes() : 0;
    if (!known || place.offset < 0 || bytes > slow.bytes || place.offset > slow.bytes - bytes) {
      Fail(OpId(), place.tensor,
           "is placed in slow memory, expected tensors of the entry inside it, by index");
      return false;
    }
    before = place.tensor;
    slow_offset_[place.tensor] = place.offset;
    height = std::max(height, place.offset + bytes);
  }
  for (const auto* list : {&subgraph_.inputs, &subgraph_.outputs}) {
    for (const TensorId tensor : *list) {
      if (IsConstant(tensor) || IsSlow(tensor)) continue;
      Fail(OpId(), tensor, "is an input or output outside slow memory");
      return false;
    }
  }
  if (height != slow.bytes || slow.fast_bytes < entry_.arena_bytes) {
    Fail(OpId(), TensorId(),
         "slow memory has " + std::to_string(slow.bytes) + " bytes, expected " +
             std::to_string(height) + ", or the arena exceeds its limit of " +
             std::to_string(slow.fast_bytes));
    return false;
  }
  for (const TensorId tensor : subgraph_.inputs) {
    std::fill(written_[tensor].begin(), written_[tensor].end(), true);
    if (IsConstant(tensor)) continue;
    for (std::int64_t i = 0; i < images_[tensor].bytes(); ++i) {
      slow_names_[static_cast<std::size_t>(slow_offset_[tensor] + i)] = first_name_[tensor] + i;
    }
  }
  return true;
}

void StreamChecker::ReadSlow(OpId op, TensorId tensor, const Part& part) {
  const plan::StreamImage& image = images_[tensor];
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x) {
      const std::int64_t from = (y * image.width + x) * image.pixel_bytes;
      for (std::int64_t i = from; i < from + image.pixel_bytes; ++i) {
        const auto at = static_cast<std::size_t>(slow_offset_[tensor] + i);
        if (slow_names_[at] == first_name_[tensor] + i) continue;
        return Fail(op, tensor,
                    "is read from slow memory at row " + std::to_string(y) + ", column " +
                        std::to_string(x) +
                        ", where its value is not stored or has been overwritten");
      }
    }
  }
}

// Into its area; no operator has written these pixels, so nothing else is compared.
void StreamChecker::Load(OpId op, TensorId tensor, const Part& part) {
  if (areas_[tensor] == nullptr) {
    return Fail(op, tensor, "is read from slow memory, but has no area");
  }
  ReadSlow(op, tensor, part);
  if (Stopped()) return;
  const plan::StreamImage& image = images_[tensor];
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x) {
      const std::int64_t address = AddressOf(tensor, y, x);
      const std::int64_t name = first_name_[tensor] + (y * image.width + x) * image.pixel_bytes;
      for (std::int64_t i = 0; i < image.pixel_bytes; ++i) {
        names_[static_cast<std::size_t>(address + i)] = name + i;
      }
      touched_bytes_ = std::max(touched_bytes_, address + image.pixel_bytes);
    }
  }
  slow_read_bytes_ += part.size() * image.pixel_bytes;
}

// Its bytes have no name that an operator expects until the end of the block.
void StreamChecker::BeginLoad(TensorId tensor, const Part& part) {
  const std::int64_t name = kInFlight - static_cast<std::int64_t>(in_flight_.size());
  Load(OpId(), tensor, part);
  if (Stopped()) return;
  ahead_bytes_ += part.size() * images_[tensor].pixel_bytes;
  in_flight_.push_back({tensor, part});
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x) {
      std::fill_n(names_.begin() + AddressOf(tensor, y, x), images_[tensor].pixel_bytes, name);
    }
  }
}

// Every byte is still that of its copy, in both memories.
void StreamChecker::EndLoads() {
  for (std::size_t i = 0; i < in_flight_.size() && !Stopped(); ++i) {
    const auto& [tensor, part] = in_flight_[i];
    ReadSlow(OpId(), tensor, part);
    const std::int64_t name = kInFlight - static_cast<std::int64_t>(i);
    const plan::StreamImage& image = images_[tensor];
    for (std::int64_t y = part.rows.first; y < part.rows.last && !Stopped(); ++y) {
      for (std::int64_t x = part.columns.first; x < part.columns.last && !Stopped(); ++x) {
        const std::int64_t address = AddressOf(tensor, y, x);
        const std::int64_t first = first_name_[tensor] + (y * image.width + x) * image.pixel_bytes;
        for (std::int64_t b = 0; b < image.pixel_bytes; ++b) {
          std::int64_t& found = names_[static_cast<std::size_t>(address + b)];
          if (found != name) {
            return Fail(OpId(), tensor,
                        "is overwritten at row " + std::to_string(y) + ", column " +
                            std::to_string(x) + " while it is copied from slow memory");
          }
          found = first + b;
        }
      }
    }
  }
  in_flight_.clear();
}

void StreamChecker::LoadWhole(OpId id) {
  std::set<TensorId> loaded;
  for (const TensorId tensor : subgraph_.ops[id].inputs) {
    if (!tensor.valid() || IsConstant(tensor) || !IsSlow(tensor) || Stopped()) continue;
    if (loaded.insert(tensor).second) Load(id, tensor, WholeOf(tensor));
  }
}

// What has just been written to its area.
void StreamChecker::Store(OpId op, TensorId tensor, const Part& part) {
  if (IsInput(tensor)) return Fail(op, tensor, "is an input and is written");
  const plan::StreamImage& image = images_[tensor];
  for (const Copy& copy : in_flight_) {
    const std::int64_t first = slow_offset_[copy.tensor];
    const bool apart = slow_offset_[tensor] + image.bytes() <= first ||
                       first + images_[copy.tensor].bytes() <= slow_offset_[tensor];
    if (!apart) return Fail(op, tensor, "is written to slow memory where a copy reads");
  }
  for (std::int64_t y = part.rows.first; y < part.rows.last; ++y) {
    for (std::int64_t x = part.columns.first; x < part.columns.last; ++x) {
      const std::int64_t address = AddressOf(tensor, y, x);
      const std::int64_t from = (y * image.width + x) * image.pixel_bytes;
      // A ring that is too short has lost pixels of the box.
      if (!AreNamed(address, first_name_[tensor] + from, image.pixel_bytes)) {
        return Fail(op, tensor, "is copied to slow memory, but its box is larger than its area");
      }
      for (std::int64_t i = from; i < from + image.pixel_bytes; ++i) {
        slow_names_[static_cast<std::size_t>(slow_offset_[tensor] + i)] = first_name_[tensor] + i;
      }
    }
  }
  slow_written_bytes_ += part.size() * image.pixel_bytes;
}

// The pixels that one consumer needs, of the consumer that needs the most.
std::int64_t StreamChecker::NeededBytes(TensorId input) const {
  std::int64_t most = 0;
  for (const OpId id : subgraph_.ops.Ids()) {
    const Op& op = subgraph_.ops[id];
    if (op.folded || (op.outputs.size() != 1 && !ops::Has(op, ops::trait::kSplits))) continue;
    for (std::size_t output = 0; output < op.outputs.size(); ++output) {
      if (!op.outputs[output].valid() || !subgraph_.tensors[op.outputs[output]].shape) continue;
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i] == input) most = std::max(most, NeededBytes(id, i, output));
      }
    }
  }
  return most;
}

std::int64_t StreamChecker::NeededBytes(OpId id, std::size_t input, std::size_t output) const {
  const TensorId tensor = subgraph_.ops[id].inputs[input];
  const plan::StreamImage& image = images_[tensor];
  const Part all = WholeOf(subgraph_.ops[id].outputs[output]);
  std::vector<bool> needed(static_cast<std::size_t>(image.height * image.width), false);
  std::int64_t pixels = 0;
  const auto size = static_cast<std::int64_t>(needed.size());
  for (std::int64_t y = 0; y < all.rows.last && pixels < size; ++y) {
    for (std::int64_t x = 0; x < all.columns.last && pixels < size; ++x) {
      const auto need = NeedOf(id, input, {{y, y + 1}, {x, x + 1}}, output);
      // Without a map the operator runs as a whole.
      const Part part = need ? *need : WholeOf(tensor);
      for (std::int64_t r = part.rows.first; r < part.rows.last; ++r) {
        for (std::int64_t c = part.columns.first; c < part.columns.last; ++c) {
          const auto at = static_cast<std::size_t>(r * image.width + c);
          pixels += needed[at] ? 0 : 1;
          needed[at] = true;
        }
      }
    }
  }
  return pixels * image.pixel_bytes;
}

std::int64_t StreamChecker::CompulsoryBytes() const {
  std::int64_t bytes = 0;
  for (const TensorId tensor : subgraph_.inputs) {
    if (!IsConstant(tensor)) bytes += NeededBytes(tensor);
  }
  for (const TensorId tensor : subgraph_.outputs) {
    if (!IsConstant(tensor) && !IsInput(tensor)) bytes += images_[tensor].bytes();
  }
  return bytes;
}

// With the moments of the plan, if all hold.
std::int64_t StreamChecker::ProvenTraffic() {
  const ProvenMoments proven = ProveMoments(subgraph_, images_, *stream_.slow);
  if (!proven.wrong.empty()) {
    findings_.Add(entry_.subgraph, "stream.slow.moments " + proven.wrong);
  }
  return CompulsoryBytes() + CompulsoryWeights() + proven.bytes;
}

void StreamChecker::CheckSlowNumbers() {
  if (!stream_.slow) return;
  const auto expect = [&](const char* what, std::int64_t found, std::int64_t expected) {
    if (found == expected) return;
    findings_.Add(entry_.subgraph, std::string("stream.slow.") + what + " is " +
                                       std::to_string(found) + ", expected " +
                                       std::to_string(expected));
  };
  expect("read_bytes", stream_.slow->read_bytes, slow_read_bytes_);
  expect("written_bytes", stream_.slow->written_bytes, slow_written_bytes_);
  expect("ahead_bytes", stream_.slow->ahead_bytes, ahead_bytes_);
  expect("weight_bytes", stream_.slow->weight_bytes.value_or(0), weight_bytes_);
  const std::int64_t bound = ProvenTraffic();
  if (stream_.slow->traffic_lower_bound_bytes < 0 ||
      stream_.slow->traffic_lower_bound_bytes > bound) {
    findings_.Add(entry_.subgraph, "stream.slow.traffic_lower_bound_bytes is " +
                                       std::to_string(stream_.slow->traffic_lower_bound_bytes) +
                                       ", expected at most " + std::to_string(bound));
  }
}

std::int64_t CheckedTrafficBound(const graph::Graph& graph, const plan::EntryPlan& entry) {
  if (!entry.stream || !entry.stream->slow) return 0;
  Findings findings;
  return StreamChecker(graph, entry, &findings).TrafficBound();
}

}  // namespace neap::check
