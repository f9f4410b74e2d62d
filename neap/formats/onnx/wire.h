// SPDX-License-Identifier: Apache-2.0
//
// The wire format of protocol buffers, for the messages of messages.h. Private to
// neap/formats/onnx.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "neap/formats/onnx/messages.h"

namespace neap::formats::onnx {

// Of messages in messages: each body of an operator nests three (node, attribute, graph).
inline constexpr int kMaxMessageDepth = 100;
// What a file may take in memory beyond its own size. Two bytes of a file can be an operator, so
// that without a limit a small file could exhaust the machine.
inline constexpr std::int64_t kMaxMessageBytes = std::int64_t{1} << 30;

struct WireError {
  std::size_t at = 0;  // offset in the file
  std::string reason;  // "a field ends behind its message"
};

// False: `error` has the reason. Fields of `model` are views of `bytes`, which must outlive it.
bool ParseMessage(std::string_view bytes, pb::ModelProto* model, WireError* error,
                  std::int64_t max_message_bytes = kMaxMessageBytes);

// The bytes of the message: fields in the order of their numbers, then unknown ones as they were.
// Deterministic. `size` first, so that the caller can refuse it.
class WireWriter {
 public:
  explicit WireWriter(const pb::ModelProto& model);
  std::uint64_t size() const { return sizes_.front(); }
  std::vector<std::byte> Write() const;

 private:
  const pb::ModelProto& model_;
  // Of every message and run of numbers, in the order in which they are written.
  std::vector<std::uint64_t> sizes_;
};

}  // namespace neap::formats::onnx
