// SPDX-License-Identifier: Apache-2.0
//
// Small ZIP archives for tests: stored entries, with and without ZIP64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace neap::formats::tflite::test {

enum class ZipForm : std::uint8_t { kPlain, kZip64 };

namespace internal {

class ZipWriter {
 public:
  ZipWriter(std::size_t base, ZipForm form) : base_(base), form_(form) {}

  std::vector<std::byte> Write(const std::vector<std::string>& names) {
    std::vector<std::uint64_t> places;
    for (const std::string& name : names) {
      places.push_back(base_ + bytes_.size());
      Local(name);
    }
    const std::uint64_t directory = base_ + bytes_.size();
    for (std::size_t i = 0; i < names.size(); ++i) Entry(names[i], places[i]);
    End(names.size(), directory, base_ + bytes_.size() - directory);
    return bytes_;
  }

 private:
  bool Is64() const { return form_ == ZipForm::kZip64; }
  void Put(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) {
      bytes_.push_back(static_cast<std::byte>(value & 0xffU));
      value >>= 8U;
    }
  }
  void Text(const std::string& text) {
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
  }
  // From "version" to "size": an empty stored file.
  void Common() {
    Put(20, 2);
    for (int i = 0; i < 4; ++i) Put(0, 2);
    for (int i = 0; i < 3; ++i) Put(0, 4);
  }
  void Local(const std::string& name) {
    Put(0x04034b50, 4);
    Common();
    Put(name.size(), 2);
    Put(0, 2);
    Text(name);
  }
  void Entry(const std::string& name, std::uint64_t place) {
    Put(0x02014b50, 4);
    Put(20, 2);
    Common();
    Put(name.size(), 2);
    Put(Is64() ? 12 : 0, 2);
    for (int i = 0; i < 3; ++i) Put(0, 2);
    Put(0, 4);
    Put(Is64() ? 0xffffffff : place, 4);
    Text(name);
    if (!Is64()) return;
    Put(1, 2);
    Put(8, 2);
    Put(place, 8);
  }
  void End(std::size_t count, std::uint64_t directory, std::uint64_t directory_bytes) {
    if (Is64()) {
      const std::uint64_t record = base_ + bytes_.size();
      Put(0x06064b50, 4);
      Put(44, 8);
      Put(45, 2);
      Put(45, 2);
      Put(0, 4);
      Put(0, 4);
      Put(count, 8);
      Put(count, 8);
      Put(directory_bytes, 8);
      Put(directory, 8);
      Put(0x07064b50, 4);
      Put(0, 4);
      Put(record, 8);
      Put(1, 4);
    }
    Put(0x06054b50, 4);
    Put(0, 4);
    Put(count, 2);
    Put(count, 2);
    Put(directory_bytes, 4);
    Put(Is64() ? 0xffffffff : directory, 4);
    Put(0, 2);
  }

  std::size_t base_;
  ZipForm form_;
  std::vector<std::byte> bytes_;
};

}  // namespace internal

// Empty files of these names; offsets are relative to `base` bytes before the archive.
inline std::vector<std::byte> MakeZip(const std::vector<std::string>& names, std::size_t base,
                                      ZipForm form) {
  return internal::ZipWriter(base, form).Write(names);
}

}  // namespace neap::formats::tflite::test
