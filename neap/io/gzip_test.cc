// SPDX-License-Identifier: Apache-2.0
#include "neap/io/gzip.h"

#include <gtest/gtest.h>

#include "neap/base/random.h"

namespace neap::io {
namespace {

std::vector<std::byte> RandomBytes(std::uint64_t seed, std::size_t size, std::uint64_t kinds) {
  Random random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Below(kinds));
  return bytes;
}

TEST(Gzip, GivesBackWhatWasCompressed) {
  for (const std::size_t size : {0U, 1U, 1000U, 65'536U, 300'000U}) {
    for (const std::uint64_t kinds : {1U, 4U, 256U}) {
      const auto bytes = RandomBytes(size, size, kinds);
      const auto packed = CompressGzip(bytes);
      ASSERT_TRUE(packed.has_value());
      EXPECT_TRUE(IsGzip(*packed));
      const auto back = ExpandGzip(*packed, 1'000'000);
      ASSERT_TRUE(back.has_value()) << back.error().ToString();
      EXPECT_EQ(*back, bytes);
    }
  }
}

TEST(Gzip, ReadsSeveralMembers) {
  const auto a = RandomBytes(1, 70'000, 3);
  const auto b = RandomBytes(2, 10, 3);
  auto packed = *CompressGzip(a);
  const auto second = *CompressGzip(b);
  packed.insert(packed.end(), second.begin(), second.end());
  auto both = a;
  both.insert(both.end(), b.begin(), b.end());
  EXPECT_EQ(*ExpandGzip(packed, 1'000'000), both);
}

TEST(Gzip, RefusesWhatIsTooLarge) {
  const std::vector<std::byte> zeros(1'000'000);
  const auto packed = *CompressGzip(zeros);
  EXPECT_LT(packed.size(), 10'000U);
  EXPECT_TRUE(ExpandGzip(packed, 1'000'000).has_value());
  const auto refused = ExpandGzip(packed, 999'999);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "expands to more than 999,999 B (976.6 KiB)");
}

TEST(Gzip, SaysWhenDataAreCutOrBroken) {
  const auto packed = *CompressGzip(RandomBytes(3, 50'000, 256));
  for (const std::size_t keep : {0U, 1U, 2U, 5U, 10U, 11U, 1000U, 49'000U}) {
    const auto cut = ExpandGzip(std::span(packed).first(keep), 1'000'000);
    ASSERT_FALSE(cut.has_value()) << keep;
    EXPECT_EQ(cut.error().message, "gzip data ends early") << keep;
  }
  int broken = 0;
  for (std::size_t at = 0; at < packed.size(); at += 97) {
    auto changed = packed;
    changed[at] ^= std::byte{0x55};
    broken += ExpandGzip(changed, 1'000'000).has_value() ? 0 : 1;
  }
  EXPECT_GT(broken, 100);
  EXPECT_FALSE(IsGzip(std::span(packed).first(1)));
}

}  // namespace
}  // namespace neap::io
