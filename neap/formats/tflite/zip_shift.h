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

// A field of the file that contains a position in the file.
struct ZipOffset {
  std::size_t place = 0;
  std::size_t bytes = 0;  // 4 or 8
  std::uint64_t value = 0;
};

// Every position in the archive at the end of `file` that is relative to the start of the file: in
// each entry of the central directory, in the records at the end, ZIP64's included. Empty: no
// archive, or one with positions relative to its own start (which a shift does not affect), or a
// damaged one. O(entries + 64 KiB) for any bytes.
std::vector<ZipOffset> FindZipOffsets(std::span<const std::byte> file);

}  // namespace neap::formats::tflite
