// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace neap::fuzz {

// Small numbers out of the bytes of a fuzzer; zeros when they are used up.
class ByteSource {
 public:
  ByteSource(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  std::int32_t Byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  // In [0, bound), bound in [1, 256].
  std::int32_t Below(std::int32_t bound) { return Byte() % bound; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

}  // namespace neap::fuzz
