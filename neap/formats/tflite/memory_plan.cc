// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/memory_plan.h"

#include <string>

namespace neap::formats::tflite {
namespace {

constexpr std::size_t kHeaderWords = 3;
constexpr std::size_t kWordBytes = sizeof(std::int32_t);

std::uint32_t TensorsOf(const schema::Model& model, std::uint32_t subgraph) {
  return SizeOf(model.subgraphs()->Get(subgraph)->tensors());
}

std::int32_t WordAt(std::span<const std::byte> bytes, std::size_t index) {
  return flatbuffers::ReadScalar<std::int32_t>(bytes.data() + index * kWordBytes);
}

CarriedPlan Unreadable(std::string problem) {
  CarriedPlan plan;
  plan.problem = std::move(problem);
  return plan;
}

}  // namespace

std::vector<std::uint32_t> MetadataEntries(const schema::Model& model, std::string_view wanted) {
  std::vector<std::uint32_t> entries;
  for (std::uint32_t i = 0; i < SizeOf(model.metadata()); ++i) {
    const auto* name = model.metadata()->Get(i)->name();
    if (name != nullptr && name->string_view() == wanted) entries.push_back(i);
  }
  return entries;
}

std::string OverlapKernelsOf(std::span<const std::byte> file, const schema::Model& model) {
  const auto entries = MetadataEntries(model, kOverlapKernelsKey);
  if (entries.empty()) return "";
  const auto found = BufferData(file, model, model.metadata()->Get(entries.back())->buffer());
  constexpr std::size_t kMaxNameBytes = 256;
  if (!found || found->size() > kMaxNameBytes) return "";
  return {reinterpret_cast<const char*>(found->data()), found->size()};
}

std::optional<CarriedPlan> ReadMemoryPlan(std::span<const std::byte> file) {
  const auto model = OpenModel(file);
  return model ? ReadMemoryPlan(file, **model) : std::nullopt;
}

std::optional<CarriedPlan> ReadMemoryPlan(std::span<const std::byte> file,
                                          const schema::Model& model) {
  const auto entries = MemoryPlanEntries(model);
  if (entries.empty()) return std::nullopt;
  const auto found = BufferData(file, model, model.metadata()->Get(entries.back())->buffer());
  if (!found) return Unreadable("it " + found.error().message);
  const std::span<const std::byte> bytes = *found;
  if (bytes.size() < kHeaderWords * kWordBytes) {
    return Unreadable("it is " + std::to_string(bytes.size()) + " bytes long, too short");
  }
  const std::uint32_t subgraphs = SizeOf(model.subgraphs());
  std::size_t tensors = 0;
  for (std::uint32_t s = 0; s < subgraphs; ++s) tensors += TensorsOf(model, s);
  const auto listed = static_cast<std::uint32_t>(WordAt(bytes, 2));
  if (listed != tensors) {
    return Unreadable("it is about " + std::to_string(listed) + " tensors, the model has " +
                      std::to_string(tensors));
  }
  if (bytes.size() / kWordBytes < kHeaderWords + tensors) {
    return Unreadable("it is cut off: " + std::to_string(bytes.size()) + " bytes for " +
                      std::to_string(tensors) + " tensors");
  }
  CarriedPlan plan;
  plan.kernels = OverlapKernelsOf(file, model);
  std::size_t at = kHeaderWords;
  for (std::uint32_t s = 0; s < subgraphs; ++s) {
    IdVector<graph::TensorId, std::int32_t> offsets;
    for (std::uint32_t t = 0; t < TensorsOf(model, s); ++t) offsets.push_back(WordAt(bytes, at++));
    plan.offsets.push_back(std::move(offsets));
  }
  return plan;
}

std::vector<std::byte> MemoryPlanBytes(const graph::TensorOffsets& offsets) {
  std::vector<std::int32_t> words = {0, static_cast<std::int32_t>(offsets.size()), 0};
  for (const auto& of_subgraph : offsets) {
    for (const std::int32_t offset : of_subgraph) words.push_back(offset);
  }
  words[2] = static_cast<std::int32_t>(words.size() - kHeaderWords);
  std::vector<std::byte> bytes(words.size() * kWordBytes);
  for (std::size_t i = 0; i < words.size(); ++i) {
    flatbuffers::WriteScalar(bytes.data() + i * kWordBytes, words[i]);
  }
  return bytes;
}

std::span<const std::byte> OwnMemoryPlanBytes(const schema::Model& model) {
  const auto entries = MemoryPlanEntries(model);
  if (entries.size() != 1) return {};
  const std::uint32_t index = model.metadata()->Get(entries.front())->buffer();
  if (index == 0 || index >= SizeOf(model.buffers())) return {};
  const auto* data = model.buffers()->Get(index)->data();
  if (SizeOf(data) == 0) return {};
  std::size_t users = 0;
  for (std::uint32_t i = 0; i < SizeOf(model.buffers()); ++i) {
    if (model.buffers()->Get(i)->data() == data) ++users;
  }
  for (std::uint32_t i = 0; i < SizeOf(model.metadata()); ++i) {
    if (model.metadata()->Get(i)->buffer() == index) ++users;
  }
  for (std::uint32_t s = 0; s < SizeOf(model.subgraphs()); ++s) {
    for (std::uint32_t t = 0; t < TensorsOf(model, s); ++t) {
      if (model.subgraphs()->Get(s)->tensors()->Get(t)->buffer() == index) ++users;
    }
  }
  // Once as a buffer, once as the metadata's.
  if (users != 2) return {};
  return std::as_bytes(std::span(data->data(), data->size()));
}

}  // namespace neap::formats::tflite
