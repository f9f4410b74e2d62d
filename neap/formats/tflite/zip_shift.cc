// SPDX-License-Identifier: Apache-2.0
//
// Layouts from PKWARE's APPNOTE, sections 4.3.12 (central directory), 4.3.14 to 4.3.16 (ends of it)
// and 4.5.3 (ZIP64 extra field).
#include "neap/formats/tflite/zip_shift.h"

#include <algorithm>

namespace neap::formats::tflite {
namespace {

constexpr std::uint64_t kEntrySignature = 0x02014b50;
constexpr std::uint64_t kEndSignature = 0x06054b50;
constexpr std::uint64_t kEnd64Signature = 0x06064b50;
constexpr std::uint64_t kLocatorSignature = 0x07064b50;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocatorBytes = 20;
constexpr std::size_t kMaxCommentBytes = 65535;
constexpr std::uint64_t kElsewhere = 0xffffffff;  // the number is in the ZIP64 field

class Archive {
 public:
  explicit Archive(std::span<const std::byte> file) : file_(file) {}

  std::vector<ZipOffset> Run() {
    const bool sound = FindEnd() && ReadEnds() && ReadEntries();
    if (!sound) found_.clear();
    return std::move(found_);
  }

 private:
  // Little-endian; the caller has made sure that the bytes exist.
  std::uint64_t At(std::size_t place, std::size_t bytes) const {
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) {
      value = (value << 8U) | std::to_integer<std::uint64_t>(file_[place + i]);
    }
    return value;
  }
  void Found(std::size_t place, std::size_t bytes) {
    found_.push_back({place, bytes, At(place, bytes)});
  }

  // The record whose comment ends where the file ends.
  bool FindEnd() {
    if (file_.size() < kEndBytes) return false;
    const std::size_t last = file_.size() - kEndBytes;
    const std::size_t least = last - std::min(last, kMaxCommentBytes);
    for (std::size_t at = last + 1; at-- > least;) {
      if (At(at, 4) == kEndSignature && At(at + 20, 2) == last - at) {
        end_ = at;
        return true;
      }
    }
    return false;
  }

  bool ReadEnds() {
    entries_ = At(end_ + 10, 2);
    directory_bytes_ = At(end_ + 12, 4);
    directory_ = At(end_ + 16, 4);
    std::size_t behind = end_;  // the bytes after the directory
    if (end_ >= kLocatorBytes && At(end_ - kLocatorBytes, 4) == kLocatorSignature) {
      const std::size_t locator = end_ - kLocatorBytes;
      const std::uint64_t end64 = At(locator + 8, 8);
      if (end64 > locator || locator - end64 < kEnd64Bytes) return false;
      const auto record = static_cast<std::size_t>(end64);
      if (At(record, 4) != kEnd64Signature) return false;
      Found(locator + 8, 8);
      Found(record + 48, 8);
      entries_ = At(record + 32, 8);
      directory_bytes_ = At(record + 40, 8);
      if (directory_ != kElsewhere) {
        if (directory_ != At(record + 48, 8)) return false;
        Found(end_ + 16, 4);
      }
      directory_ = At(record + 48, 8);
      behind = record;
    } else {
      Found(end_ + 16, 4);
    }
    // An archive with positions relative to its own start states an earlier end of its directory.
    return directory_ <= behind && directory_bytes_ == behind - directory_;
  }

  bool ReadEntries() {
    auto at = static_cast<std::size_t>(directory_);
    std::size_t left = static_cast<std::size_t>(directory_bytes_);
    for (std::uint64_t i = 0; i < entries_; ++i) {
      if (left < kEntryBytes || At(at, 4) != kEntrySignature) return false;
      const std::size_t name = At(at + 28, 2);
      const std::size_t extra = At(at + 30, 2);
      const std::size_t size = kEntryBytes + name + extra + At(at + 32, 2);
      if (size > left) return false;
      if (At(at + 42, 4) != kElsewhere) {
        if (At(at + 42, 4) >= directory_) return false;
        Found(at + 42, 4);
      } else if (!ReadZip64(at, at + kEntryBytes + name, extra)) {
        return false;
      }
      at += size;
      left -= size;
    }
    return left == 0;
  }

  // The field has the numbers that do not fit, in this order: size, compressed size, place.
  bool ReadZip64(std::size_t entry, std::size_t extra, std::size_t extra_bytes) {
    std::size_t skip = 0;
    for (const std::size_t number : {entry + 24, entry + 20}) {
      if (At(number, 4) == kElsewhere) skip += 8;
    }
    while (extra_bytes >= 4) {
      const std::uint64_t id = At(extra, 2);
      const std::size_t size = At(extra + 2, 2);
      if (size > extra_bytes - 4) return false;
      if (id == 1) {
        if (size < skip + 8 || At(extra + 4 + skip, 8) >= directory_) return false;
        Found(extra + 4 + skip, 8);
        return true;
      }
      extra += 4 + size;
      extra_bytes -= 4 + size;
    }
    return false;
  }

  std::span<const std::byte> file_;
  std::size_t end_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t directory_ = 0;
  std::uint64_t directory_bytes_ = 0;
  std::vector<ZipOffset> found_;
};

}  // namespace

std::vector<ZipOffset> FindZipOffsets(std::span<const std::byte> file) {
  return Archive(file).Run();
}

}  // namespace neap::formats::tflite
