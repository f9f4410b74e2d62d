// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/zip_shift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "neap/base/random.h"
#include "neap/formats/tflite/test_zip.h"

namespace neap::formats::tflite {
namespace {

using test::MakeZip;
using test::ZipForm;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::byte> Behind(std::size_t front, const std::vector<std::byte>& zip) {
  std::vector<std::byte> file(front + zip.size(), std::byte{'x'});
  std::copy(zip.begin(), zip.end(), file.begin() + static_cast<std::ptrdiff_t>(front));
  return file;
}

std::uint64_t WordAt(const std::vector<std::byte>& file, std::size_t place, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) {
    value = value * 256 + std::to_integer<std::uint64_t>(file[place + i]);
  }
  return value;
}

TEST(ZipShift, FindsEveryWordThatCountsFromTheStart) {
  constexpr std::size_t kFront = 100;
  const auto file = Behind(kFront, MakeZip({"a", "labels.txt"}, kFront, ZipForm::kPlain));
  const auto found = FindZipOffsets(file);
  ASSERT_THAT(found, SizeIs(3));  // the directory, two entries
  EXPECT_EQ(WordAt(file, static_cast<std::size_t>(found[0].value), 4), 0x02014b50U);
  for (const auto& entry : {found[1], found[2]}) {
    EXPECT_EQ(WordAt(file, static_cast<std::size_t>(entry.value), 4), 0x04034b50U);
  }
  for (const auto& word : found) EXPECT_EQ(WordAt(file, word.place, word.bytes), word.value);
}

TEST(ZipShift, FindsTheWordsOfZip64) {
  constexpr std::size_t kFront = 64;
  const auto file = Behind(kFront, MakeZip({"a", "b"}, kFront, ZipForm::kZip64));
  const auto found = FindZipOffsets(file);
  ASSERT_THAT(found, SizeIs(4));  // locator, end record, two entries
  EXPECT_EQ(WordAt(file, static_cast<std::size_t>(found[0].value), 4), 0x06064b50U);
  EXPECT_EQ(WordAt(file, static_cast<std::size_t>(found[1].value), 4), 0x02014b50U);
  for (const auto& entry : {found[2], found[3]}) {
    EXPECT_EQ(entry.bytes, 8U);
    EXPECT_EQ(WordAt(file, static_cast<std::size_t>(entry.value), 4), 0x04034b50U);
  }
}

TEST(ZipShift, LeavesAloneWhatDoesNotCountFromTheStart) {
  EXPECT_THAT(FindZipOffsets({}), IsEmpty());
  EXPECT_THAT(FindZipOffsets(std::vector<std::byte>(1000)), IsEmpty());
  // Written as a file of its own and appended: every ZIP reader corrects for that by itself.
  EXPECT_THAT(FindZipOffsets(Behind(100, MakeZip({"a"}, 0, ZipForm::kPlain))), IsEmpty());
  auto cut = Behind(100, MakeZip({"a"}, 100, ZipForm::kPlain));
  cut.pop_back();
  EXPECT_THAT(FindZipOffsets(cut), IsEmpty());
}

// For any bytes, the positions found are inside the file.
TEST(ZipShift, DamagedArchives) {
  Random draw(3);
  for (int round = 0; round < 20'000; ++round) {
    const auto form = round % 2 == 0 ? ZipForm::kPlain : ZipForm::kZip64;
    auto file = Behind(40, MakeZip({"first", "second"}, 40, form));
    for (int change = 0; change < 3; ++change) {
      file[draw.Below(file.size())] = static_cast<std::byte>(draw.Below(256));
    }
    for (const ZipOffset& word : FindZipOffsets(file)) {
      ASSERT_LE(word.place + word.bytes, file.size());
      ASSERT_LT(word.value, file.size());
    }
  }
}

}  // namespace
}  // namespace neap::formats::tflite
