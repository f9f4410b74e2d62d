// SPDX-License-Identifier: Apache-2.0
//
// A verified look into the bytes of a TensorFlow Lite file. Private to neap/formats/tflite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "neap/base/result.h"
#include "neap/formats/tflite/control_dependencies.h"
// The limits.h of emscripten defines the name of an operator as a macro.
#include <climits>
#undef ARG_MAX
#include "tflite_generated.h"

namespace neap::formats::tflite {

// The root table, after the FlatBuffers Verifier has accepted all that hangs on it. Bytes behind
// the FlatBuffer (an appended ZIP of labels, buffers by file offset) are no concern of it.
Result<const schema::Model*> OpenModel(std::span<const std::byte> file);

// The same check for an options table that the schema declares apart from its operator.
template <typename Options>
bool VerifyOptions(std::span<const std::byte> file, const Options* options);

// The data of buffer `index`, inside or after the FlatBuffer; empty: no data. Index 0 is the empty
// buffer by definition, even in a file that has no buffers at all.
Result<std::span<const std::byte>> BufferData(std::span<const std::byte> file,
                                              const schema::Model& model, std::uint32_t index);

// Where the file keeps its control dependencies.
struct ControlDependenciesPlace {
  bool present = false;
  std::uint32_t buffer = 0;
  std::span<const std::byte> bytes;
  ControlDependencies dependencies;  // one list for every subgraph; edges in range
};
Result<ControlDependenciesPlace> FindControlDependencies(std::span<const std::byte> file,
                                                         const schema::Model& model);

// The position of a part in the file.
inline std::size_t PlaceOf(std::span<const std::byte> file, const void* part) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(part) - file.data());
}

// FlatBuffers leave out what is empty.
template <typename Vector>
std::uint32_t SizeOf(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}
inline std::string TextOf(const flatbuffers::String* text) {
  return text == nullptr ? std::string() : text->str();
}

// How much of the file the Verifier looks at: FlatBuffers end below 2 GiB.
inline std::size_t FlatBufferBytes(std::span<const std::byte> file) {
  constexpr std::size_t kMax = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
  return file.size() < kMax ? file.size() : kMax;
}

template <typename Options>
bool VerifyOptions(std::span<const std::byte> file, const Options* options) {
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(file.data()),
                                 FlatBufferBytes(file));
  return options != nullptr && verifier.VerifyTable(options);
}

}  // namespace neap::formats::tflite
