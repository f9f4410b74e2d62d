// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/model_view.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "neap/formats/tflite/tflite.h"

namespace neap::formats::tflite {

Status CheckHead(std::span<const std::byte> head) {
  constexpr std::size_t kHeaderBytes = 8;
  if (head.size() < kHeaderBytes) {
    return Fail(BadInput("is " + std::to_string(head.size()) +
                         " bytes long: too short for a TensorFlow Lite file"));
  }
  if (!schema::ModelBufferHasIdentifier(head.data())) {
    return Fail(BadInput("is not a TensorFlow Lite file: the identifier TFL3 is missing"));
  }
  return {};
}

Result<const schema::Model*> OpenModel(std::span<const std::byte> file) {
  NEAP_CHECK_OK(CheckHead(file));
  const auto* data = reinterpret_cast<const std::uint8_t*>(file.data());
  flatbuffers::Verifier::Options options;
  // A table takes four bytes of its own and four where it is referred to. More tables than that are
  // one table met again and again, which honest files do a little and hostile ones without end.
  constexpr std::size_t kFewestTables = 1'000'000;
  options.max_tables =
      static_cast<flatbuffers::uoffset_t>(std::max(kFewestTables, FlatBufferBytes(file) / 4));
  flatbuffers::Verifier verifier(data, FlatBufferBytes(file), options);
  if (!schema::VerifyModelBuffer(verifier)) {
    return Fail(
        BadInput("is cut off or damaged: an offset of its FlatBuffer leads outside the file"));
  }
  const schema::Model* model = schema::GetModel(data);
  constexpr std::uint32_t kSchemaVersion = 3;
  if (model->version() != kSchemaVersion) {
    return Fail(
        BadInput("has schema version " + std::to_string(model->version()) + ", expected 3"));
  }
  return model;
}

Result<std::span<const std::byte>> BufferData(std::span<const std::byte> file,
                                              const schema::Model& model, std::uint32_t index) {
  if (index == 0) return std::span<const std::byte>();
  if (index >= SizeOf(model.buffers())) {
    return Fail(BadInput("refers to buffer " + std::to_string(index) + ", but there are " +
                         std::to_string(SizeOf(model.buffers()))));
  }
  const schema::Buffer* buffer = model.buffers()->Get(index);
  if (SizeOf(buffer->data()) > 0) {
    return std::as_bytes(std::span(buffer->data()->data(), buffer->data()->size()));
  }
  // 0 and 1 are placeholders of writers that do not know the position yet.
  if (buffer->offset() <= 1 || buffer->size() <= 1) return std::span<const std::byte>();
  if (buffer->offset() > file.size() || buffer->size() > file.size() - buffer->offset()) {
    return Fail(BadInput(
        "buffer " + std::to_string(index) + " has the bytes " + std::to_string(buffer->offset()) +
        " to +" + std::to_string(buffer->size()) + " of a file of " + std::to_string(file.size())));
  }
  return file.subspan(buffer->offset(), buffer->size());
}

Result<ControlDependenciesPlace> FindControlDependencies(std::span<const std::byte> file,
                                                         const schema::Model& model) {
  ControlDependenciesPlace place;
  for (std::uint32_t i = 0; i < SizeOf(model.metadata()); ++i) {
    const schema::Metadata* entry = model.metadata()->Get(i);
    if (entry->name() == nullptr || entry->name()->string_view() != kControlDependenciesKey) {
      continue;
    }
    if (place.present) {
      return Fail(
          BadInput(std::string("has the metadata entry ") + kControlDependenciesKey + " twice"));
    }
    place.present = true;
    place.buffer = entry->buffer();
  }
  const std::uint32_t subgraphs = SizeOf(model.subgraphs());
  if (place.present) {
    NEAP_TRY(place.bytes, BufferData(file, model, place.buffer));
    auto parsed = ParseControlDependencies(place.bytes);
    if (!parsed) {
      return Fail(BadInput(std::string("the metadata entry ") + kControlDependenciesKey +
                           " cannot be read: expected version 1"));
    }
    place.dependencies = std::move(*parsed);
    if (place.dependencies.size() != subgraphs) {
      return Fail(BadInput(std::string("the metadata entry ") + kControlDependenciesKey +
                           " is about " + std::to_string(place.dependencies.size()) +
                           " subgraphs, but there are " + std::to_string(subgraphs)));
    }
  }
  place.dependencies.resize(subgraphs);
  for (std::uint32_t s = 0; s < subgraphs; ++s) {
    const auto operators =
        static_cast<std::int64_t>(SizeOf(model.subgraphs()->Get(s)->operators()));
    for (const OperatorEdge& edge : place.dependencies[s]) {
      const auto [low, high] = std::minmax(edge.from, edge.to);
      if (low < 0 || high >= operators) {
        return Fail(BadInput("control dependency " + std::to_string(edge.from) + " -> " +
                             std::to_string(edge.to) + " of subgraph " + std::to_string(s) +
                             " is out of range: there are " + std::to_string(operators) +
                             " operators"));
      }
    }
  }
  return place;
}

}  // namespace neap::formats::tflite
