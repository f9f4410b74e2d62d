// SPDX-License-Identifier: Apache-2.0
//
// In place of gzip.cc in builds without zlib.
#include "neap/io/gzip.h"

#include <utility>

namespace neap::io {

bool IsGzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Result<std::vector<std::byte>> ExpandGzip(std::span<const std::byte> /*bytes*/,
                                          std::int64_t /*max_bytes*/) {
  Diagnostic error = BadInput("is compressed with gzip, which this build of Neap cannot read");
  error.hint = "expand it first";
  return Fail(std::move(error));
}

Result<std::vector<std::byte>> CompressGzip(std::span<const std::byte> /*bytes*/) {
  return Fail(UsageError("this build of Neap cannot write gzip files"));
}

}  // namespace neap::io
