// SPDX-License-Identifier: Apache-2.0
//
// The metadata entry "COMPRESSION_METADATA": which constants TensorFlow Lite Micro unpacks into
// scratch when an operator reads them. Their buffers contain indices into tables of values. Private
// to neap/formats/tflite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "neap/formats/tflite/model_view.h"

namespace neap::formats::tflite {

inline constexpr char kCompressionKey[] = "COMPRESSION_METADATA";

class CompressedTensors {
 public:
  // `file` has passed OpenModel(). O(bytes of the entry).
  CompressedTensors(std::span<const std::byte> file, const schema::Model& model);

  bool any() const { return !tensors_ || !tensors_->empty(); }
  // An entry that cannot be read may be about any constant.
  bool readable() const { return tensors_.has_value(); }
  bool Has(std::size_t subgraph, std::int32_t tensor) const {
    return !tensors_ || tensors_->contains({subgraph, tensor});
  }

 private:
  // Of the entries together; nullopt: one cannot be read.
  std::optional<std::set<std::pair<std::size_t, std::int32_t>>> tensors_;
};

}  // namespace neap::formats::tflite
