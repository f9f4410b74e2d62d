// SPDX-License-Identifier: Apache-2.0
//
// A .tflite may end in a ZIP archive (labels, vocabularies): an archive is found from its end, and
// so both live in one file. Private to neap/formats/tflite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace neap::formats::tflite {

// A word of the file that says where in the file something lies.
struct ZipOffset {
  std::size_t place = 0;
  std::size_t bytes = 0;  // 4 or 8
  std::uint64_t value = 0;
};

// Every word of the archive at the end of `file` that counts from the start of the file: of each
// entry of the central directory, of the records at the end, ZIP64's included. Empty: no archive
// there, or one that counts from its own start (and so does not mind what stands before it), or one
// that is damaged. O(entries + 64 KiB), whatever the bytes say.
std::vector<ZipOffset> FindZipOffsets(std::span<const std::byte> file);

}  // namespace neap::formats::tflite
