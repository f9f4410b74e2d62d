// SPDX-License-Identifier: Apache-2.0
//
// In place of gzip.cc in the program of the page, which expands files before it starts the program:
// files that arrive here compressed are those that cannot be expanded.
#include "neap/io/gzip.h"

namespace neap::io {

bool IsGzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Result<std::vector<std::byte>> ExpandGzip(std::span<const std::byte> /*bytes*/,
                                          std::int64_t /*max_bytes*/) {
  return Fail(
      BadInput("is compressed with gzip, and truncated, malformed or too large for this page"));
}

Result<std::vector<std::byte>> ExpandGzip(std::span<const std::byte> bytes,
                                          const ExpandLimit& /*max_bytes_by_head*/) {
  return ExpandGzip(bytes, 0);
}

Result<std::vector<std::byte>> CompressGzip(std::span<const std::byte> /*bytes*/) {
  return Fail(UsageError("this build of Neap cannot write gzip files"));
}

}  // namespace neap::io
