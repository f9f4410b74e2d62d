// SPDX-License-Identifier: Apache-2.0
#include "neap/io/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string>

#include "neap/base/bytes.h"

namespace neap::io {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, gzip headers
constexpr std::size_t kChunkBytes = std::size_t{1} << 16U;

uInt Part(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

Bytef* In(const std::byte* bytes) {  // zlib's next_in is not const, but nothing is written there
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes));
}

}  // namespace

bool IsGzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Result<std::vector<std::byte>> ExpandGzip(std::span<const std::byte> bytes,
                                          std::int64_t max_bytes) {
  return ExpandGzip(bytes, [max_bytes](std::span<const std::byte> /*head*/) { return max_bytes; });
}

Result<std::vector<std::byte>> ExpandGzip(std::span<const std::byte> bytes,
                                          const ExpandLimit& max_bytes_by_head) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return Fail(IoError("zlib does not start"));
  std::vector<std::byte> out;
  std::size_t read = 0;
  int status = Z_OK;
  std::string wrong;
  std::int64_t max_bytes = -1;
  while (wrong.empty() && (status != Z_STREAM_END || read < bytes.size())) {
    if (status == Z_STREAM_END && inflateReset(&stream) != Z_OK) wrong = "zlib does not start";
    const std::size_t length = out.size();
    out.resize(length + kChunkBytes);
    stream.next_in = In(bytes.data() + read);
    stream.avail_in = Part(bytes.size() - read);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + length);
    stream.avail_out = static_cast<uInt>(kChunkBytes);
    const uInt given = stream.avail_in;
    status = inflate(&stream, Z_NO_FLUSH);
    read += given - stream.avail_in;
    out.resize(length + kChunkBytes - stream.avail_out);
    if (max_bytes < 0) max_bytes = max_bytes_by_head(out);
    if (static_cast<std::int64_t>(out.size()) > max_bytes) {
      wrong = "expands to more than " + FormatBytes(max_bytes);
    } else if (status == Z_BUF_ERROR ||
               (status == Z_OK && read == bytes.size() && stream.avail_out > 0)) {
      wrong = "gzip data ends early";
    } else if (status != Z_OK && status != Z_STREAM_END) {
      wrong = "malformed gzip data";
    }
  }
  inflateEnd(&stream);
  if (!wrong.empty()) return Fail(BadInput(wrong));
  return out;
}

Result<std::vector<std::byte>> CompressGzip(std::span<const std::byte> bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return Fail(IoError("zlib does not start"));
  }
  std::vector<std::byte> out;
  std::size_t read = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const std::size_t length = out.size();
    out.resize(length + kChunkBytes);
    stream.next_in = In(bytes.data() + read);
    stream.avail_in = Part(bytes.size() - read);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + length);
    stream.avail_out = static_cast<uInt>(kChunkBytes);
    const uInt given = stream.avail_in;
    const bool all = given == bytes.size() - read;
    status = deflate(&stream, all ? Z_FINISH : Z_NO_FLUSH);
    read += given - stream.avail_in;
    out.resize(length + kChunkBytes - stream.avail_out);
  }
  deflateEnd(&stream);
  if (status != Z_STREAM_END) return Fail(IoError("zlib does not compress"));
  return out;
}

}  // namespace neap::io
