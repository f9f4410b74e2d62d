// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/splice.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "neap/formats/tflite/memory_plan.h"
#include "neap/formats/tflite/model_view.h"
#include "neap/formats/tflite/zip_shift.h"

namespace neap::formats::tflite {
namespace {

using flatbuffers::uoffset_t;
using flatbuffers::voffset_t;

constexpr std::size_t kRootFields = 10;  // of the schema; each takes four bytes in the table
constexpr std::size_t kVersionField = 0;
constexpr std::size_t kBuffersField = 4;
constexpr std::size_t kMetadataField = 6;
constexpr std::size_t kDataAlignment = 16;

// Writes the front; places are from its start, which is the start of the new file. References into
// the old file are recorded and filled in when the length of the front is known.
class Front {
 public:
  Front(std::span<const std::byte> file, const schema::Model& model) : file_(file), model_(model) {}

  Result<std::vector<std::byte>> Build(std::span<const std::byte> plan, std::string_view kernels) {
    entries_.push_back({kMemoryPlanKey, plan});
    if (!kernels.empty()) {
      entries_.push_back(
          {kOverlapKernelsKey, std::as_bytes(std::span(kernels.data(), kernels.size()))});
    }
    Put<uoffset_t>(0);
    for (const char c : std::string_view(schema::ModelIdentifier())) {
      bytes_.push_back(static_cast<std::byte>(c));
    }
    NEAP_CHECK_OK(PutRoot());
    PutLists();
    for (const Entry& entry : entries_) PutMetadata(entry);
    for (const Entry& entry : entries_) PutBuffer(entry);
    Align(kSpliceAlignment, 0);
    for (const auto& [slot, target] : into_old_) Point(slot, bytes_.size() + target);
    return std::move(bytes_);
  }

 private:
  // A new entry of metadata with its own buffer.
  struct Entry {
    std::string_view name;
    std::span<const std::byte> data;
    std::uint32_t buffer = 0;       // index
    std::size_t buffer_slot = 0;    // in the list of buffers
    std::size_t metadata_slot = 0;  // in the list of metadata
  };

  template <typename T>
  std::size_t Put(T value) {
    const std::size_t place = bytes_.size();
    bytes_.resize(place + sizeof(T));
    flatbuffers::WriteScalar(bytes_.data() + place, value);
    return place;
  }
  // Zeros until the place `ahead` bytes further on is a multiple of `alignment`.
  void Align(std::size_t alignment, std::size_t ahead) {
    while ((bytes_.size() + ahead) % alignment != 0) bytes_.push_back(std::byte{0});
  }
  void Point(std::size_t slot, std::size_t target) {
    flatbuffers::WriteScalar(bytes_.data() + slot, static_cast<uoffset_t>(target - slot));
  }
  void PointHere(std::size_t slot) { Point(slot, bytes_.size()); }

  // The start of a table with `fields` of four bytes each, in their order; those with `absent` have
  // no place. Returns where its fields begin.
  std::size_t PutTable(const std::vector<bool>& present) {
    const auto fields = static_cast<std::size_t>(std::count(present.begin(), present.end(), true));
    const std::size_t vtable_bytes = (2 + present.size()) * sizeof(voffset_t);
    Align(4, vtable_bytes);
    const std::size_t vtable = bytes_.size();
    Put(static_cast<voffset_t>(vtable_bytes));
    Put(static_cast<voffset_t>(4 + 4 * fields));
    voffset_t next = 4;
    for (const bool is_present : present) {
      Put<voffset_t>(is_present ? next : voffset_t{0});
      if (is_present) next = static_cast<voffset_t>(next + 4);
    }
    table_ = Put(static_cast<flatbuffers::soffset_t>(bytes_.size() - vtable));
    return table_ + 4;
  }

  Status PutRoot() {
    const auto* old = reinterpret_cast<const flatbuffers::Table*>(&model_);
    const auto* vtable = old->GetVTable();
    const std::size_t slots = flatbuffers::ReadScalar<voffset_t>(vtable) / sizeof(voffset_t) - 2;
    std::vector<bool> present(kRootFields, false);
    for (std::size_t field = 0; field < slots; ++field) {
      const bool has = old->GetOptionalFieldOffset(FieldOf(field)) != 0;
      if (has && field >= kRootFields) {
        return Fail(BadInput("has field " + std::to_string(field) +
                             " of its root table set, which is newer than this program: no memory "
                             "plan can be added"));
      }
      if (has) present[field] = true;
    }
    present[kBuffersField] = present[kMetadataField] = true;
    std::size_t slot = PutTable(present);
    Point(0, table_);
    for (std::size_t field = 0; field < kRootFields; ++field) {
      if (!present[field]) continue;
      Put<uoffset_t>(0);
      if (field == kVersionField) {
        flatbuffers::WriteScalar(bytes_.data() + slot, model_.version());
      } else if (field == kBuffersField) {
        buffers_slot_ = slot;
      } else if (field == kMetadataField) {
        metadata_slot_ = slot;
      } else {
        into_old_.emplace_back(slot, PlaceOf(file_, old->GetPointer<const void*>(FieldOf(field))));
      }
      slot += 4;
    }
    return {};
  }
  static voffset_t FieldOf(std::size_t field) {
    return static_cast<voffset_t>((2 + field) * sizeof(voffset_t));
  }

  void PutLists() {
    const std::uint32_t old_buffers = SizeOf(model_.buffers());
    // Buffer 0 is the empty one by definition: a file without any gets it, too.
    const std::uint32_t empty = old_buffers == 0 ? 1 : 0;
    PointHere(buffers_slot_);
    Put(static_cast<uoffset_t>(old_buffers + empty + entries_.size()));
    for (std::uint32_t i = 0; i < old_buffers; ++i) {
      into_old_.emplace_back(Put<uoffset_t>(0), PlaceOf(file_, model_.buffers()->Get(i)));
    }
    std::size_t empty_slot = 0;
    if (empty == 1) empty_slot = Put<uoffset_t>(0);
    std::uint32_t next = old_buffers + empty;
    for (Entry& entry : entries_) {
      entry.buffer = next++;
      entry.buffer_slot = Put<uoffset_t>(0);
    }

    std::vector<std::uint32_t> kept;
    for (std::uint32_t i = 0; i < SizeOf(model_.metadata()); ++i) {
      const std::string name = TextOf(model_.metadata()->Get(i)->name());
      if (name != kMemoryPlanKey && name != kOverlapKernelsKey) kept.push_back(i);
    }
    PointHere(metadata_slot_);
    Put(static_cast<uoffset_t>(kept.size() + entries_.size()));
    for (const std::uint32_t i : kept) {
      into_old_.emplace_back(Put<uoffset_t>(0), PlaceOf(file_, model_.metadata()->Get(i)));
    }
    for (Entry& entry : entries_) entry.metadata_slot = Put<uoffset_t>(0);
    if (empty == 1) {
      PutTable({false});
      Point(empty_slot, table_);
    }
  }

  void PutMetadata(const Entry& entry) {
    const std::size_t fields = PutTable({true, true});
    Point(entry.metadata_slot, table_);
    Put<uoffset_t>(0);
    Put(entry.buffer);
    PointHere(fields);
    Put(static_cast<uoffset_t>(entry.name.size()));
    for (const char c : entry.name) bytes_.push_back(static_cast<std::byte>(c));
    bytes_.push_back(std::byte{0});
  }

  void PutBuffer(const Entry& entry) {
    const std::size_t fields = PutTable({true});
    Point(entry.buffer_slot, table_);
    Put<uoffset_t>(0);
    Align(kDataAlignment, sizeof(uoffset_t));
    PointHere(fields);
    Put(static_cast<uoffset_t>(entry.data.size()));
    bytes_.insert(bytes_.end(), entry.data.begin(), entry.data.end());
  }

  std::span<const std::byte> file_;
  const schema::Model& model_;
  std::vector<std::byte> bytes_;
  std::size_t table_ = 0;                                      // the last one
  std::vector<std::pair<std::size_t, std::size_t>> into_old_;  // (slot, place in the old file)
  std::size_t buffers_slot_ = 0;
  std::size_t metadata_slot_ = 0;
  std::vector<Entry> entries_;
};

// Adds `shift` to the words of the old file that count from its start; each once, however many
// lists lead to it.
void ShiftFileOffsets(std::span<const std::byte> file, const schema::Model& model,
                      std::size_t shift, std::vector<std::byte>* out) {
  std::set<std::size_t> places;
  const auto note = [&](const void* table, voffset_t field, std::uint64_t value) {
    // 0 and 1 are placeholders of writers that do not know the position yet.
    if (value <= 1) return;
    const auto* as_table = static_cast<const flatbuffers::Table*>(table);
    places.insert(PlaceOf(file, as_table->GetAddressOf(field)));
  };
  for (std::uint32_t i = 0; i < SizeOf(model.buffers()); ++i) {
    const schema::Buffer* buffer = model.buffers()->Get(i);
    note(buffer, schema::Buffer::VT_OFFSET, buffer->offset());
  }
  for (std::uint32_t s = 0; s < SizeOf(model.subgraphs()); ++s) {
    const auto* operators = model.subgraphs()->Get(s)->operators();
    for (std::uint32_t i = 0; i < SizeOf(operators); ++i) {
      const schema::Operator* op = operators->Get(i);
      note(op, schema::Operator::VT_LARGE_CUSTOM_OPTIONS_OFFSET, op->large_custom_options_offset());
    }
  }
  for (const std::size_t place : places) {
    std::byte* word = out->data() + shift + place;
    flatbuffers::WriteScalar(word, flatbuffers::ReadScalar<std::uint64_t>(word) + shift);
  }
}

Status ShiftZip(std::span<const std::byte> file, std::size_t shift, std::vector<std::byte>* out) {
  for (const ZipOffset& offset : FindZipOffsets(file)) {
    std::byte* word = out->data() + shift + offset.place;
    const std::uint64_t value = offset.value + shift;
    if (offset.bytes == sizeof(std::uint64_t)) {
      flatbuffers::WriteScalar(word, value);
      continue;
    }
    // The largest number means that the real one is elsewhere.
    if (value >= std::numeric_limits<std::uint32_t>::max()) {
      return Fail(BadInput("ends in a ZIP archive whose 32-bit offsets do not allow " +
                           std::to_string(shift) + " additional bytes in front of it"));
    }
    flatbuffers::WriteScalar(word, static_cast<std::uint32_t>(value));
  }
  return {};
}

}  // namespace

Status ShiftOldFile(std::span<const std::byte> file, const schema::Model& model, std::size_t shift,
                    std::vector<std::byte>* out) {
  ShiftFileOffsets(file, model, shift, out);
  return ShiftZip(file, shift, out);
}

Result<std::vector<std::byte>> SpliceMemoryPlan(std::span<const std::byte> file,
                                                const schema::Model& model,
                                                std::span<const std::byte> plan,
                                                std::string_view kernels) {
  NEAP_TRY(std::vector<std::byte> out, Front(file, model).Build(plan, kernels));
  const std::size_t shift = out.size();
  out.insert(out.end(), file.begin(), file.end());
  NEAP_CHECK_OK(ShiftOldFile(file, model, shift, &out));
  return out;
}

}  // namespace neap::formats::tflite
