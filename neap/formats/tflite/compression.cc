// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/compression.h"

#include <cstring>
#include <memory>

namespace neap::formats::tflite {
namespace {

// Version 1 is the only one; later ones may mean anything.
constexpr std::uint32_t kCompressionVersion = 1;

// The bytes where a FlatBuffer can be read: a buffer of the file may have any address.
std::unique_ptr<std::uint64_t[]> AlignedCopy(std::span<const std::byte> bytes) {
  auto copy = std::make_unique<std::uint64_t[]>(bytes.size() / sizeof(std::uint64_t) + 1);
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  return copy;
}

bool AddTensors(std::span<const std::byte> bytes,
                std::set<std::pair<std::size_t, std::int32_t>>* tensors) {
  const auto copy = AlignedCopy(bytes);
  const auto* data = reinterpret_cast<const std::uint8_t*>(copy.get());
  flatbuffers::Verifier verifier(data, bytes.size());
  if (!verifier.VerifyBuffer<schema::CompressionMetadata>(nullptr)) return false;
  const auto* root = flatbuffers::GetRoot<schema::CompressionMetadata>(data);
  if (root->schema_version() > kCompressionVersion) return false;
  for (std::uint32_t s = 0; s < SizeOf(root->subgraphs()); ++s) {
    const auto* list = root->subgraphs()->Get(s)->lut_tensors();
    for (std::uint32_t t = 0; t < SizeOf(list); ++t) tensors->emplace(s, list->Get(t)->tensor());
  }
  return true;
}

}  // namespace

CompressedTensors::CompressedTensors(std::span<const std::byte> file, const schema::Model& model)
    : tensors_(std::in_place) {
  for (std::uint32_t i = 0; i < SizeOf(model.metadata()); ++i) {
    const schema::Metadata* entry = model.metadata()->Get(i);
    // TFLM compares no more than this of the name.
    if (entry->name() == nullptr || !entry->name()->string_view().starts_with(kCompressionKey)) {
      continue;
    }
    const auto bytes = BufferData(file, model, entry->buffer());
    if (!bytes || !AddTensors(*bytes, &*tensors_)) {
      tensors_.reset();
      return;
    }
  }
}

}  // namespace neap::formats::tflite
