// SPDX-License-Identifier: Apache-2.0
#include "neap/ops/flex_map.h"

#include <gtest/gtest.h>

#include <vector>

namespace neap::ops {
namespace {

// {"b": true, "long": 100000, "max": 300, "minus": -7, "text": "x"}, as flatbuffers' Python writes
// it.
const std::vector<unsigned char> kMap = {
    0x62, 0x00, 0x6c, 0x6f, 0x6e, 0x67, 0x00, 0x6d, 0x61, 0x78, 0x00, 0x6d, 0x69, 0x6e, 0x75,
    0x73, 0x00, 0x74, 0x65, 0x78, 0x74, 0x00, 0x01, 0x78, 0x00, 0x05, 0x1a, 0x19, 0x15, 0x12,
    0x0d, 0x00, 0x06, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x01,
    0x00, 0x00, 0x00, 0xa0, 0x86, 0x01, 0x00, 0x2c, 0x01, 0x00, 0x00, 0xf9, 0xff, 0xff, 0xff,
    0x25, 0x00, 0x00, 0x00, 0x6a, 0x06, 0x06, 0x06, 0x14, 0x19, 0x26, 0x01};

std::span<const std::byte> Bytes(const std::vector<unsigned char>& bytes) {
  return std::as_bytes(std::span(bytes));
}

TEST(FlexMap, ReadsIntegers) {
  EXPECT_EQ(FlexMapInteger(Bytes(kMap), "b"), 1);
  EXPECT_EQ(FlexMapInteger(Bytes(kMap), "long"), 100000);
  EXPECT_EQ(FlexMapInteger(Bytes(kMap), "max"), 300);
  EXPECT_EQ(FlexMapInteger(Bytes(kMap), "minus"), -7);
  EXPECT_EQ(FlexMapInteger(Bytes(kMap), "text"), std::nullopt);
  EXPECT_EQ(FlexMapInteger(Bytes(kMap), "ma"), std::nullopt);
  EXPECT_EQ(FlexMapInteger(Bytes(kMap), "maximum"), std::nullopt);
}

TEST(FlexMap, ReadsReals) {
  // An integer is a real number, too.
  EXPECT_EQ(FlexMapReal(Bytes(kMap), "minus"), -7.0);
  EXPECT_EQ(FlexMapReal(Bytes(kMap), "text"), std::nullopt);
  // {"a": 0.5}, in four bytes.
  std::vector<unsigned char> real = {'a', 0, 1, 0, 0, 0, 6, 0, 0,    0,    4, 0, 0, 0, 4,    0, 0,
                                     0,   1, 0, 0, 0, 0, 0, 0, 0x3f, 0x0e, 5, 0, 0, 0, 0x26, 4};
  EXPECT_EQ(FlexMapReal(Bytes(real), "a"), 0.5);
  EXPECT_EQ(FlexMapInteger(Bytes(real), "a"), std::nullopt);
  EXPECT_EQ(FlexMapReal(Bytes(real), "b"), std::nullopt);
}

// Every prefix and every changed byte: an answer or none, and no read outside.
TEST(FlexMap, AnyBytesAreSafe) {
  for (std::size_t size = 0; size < kMap.size(); ++size) {
    const std::vector<unsigned char> part(kMap.begin(),
                                          kMap.begin() + static_cast<std::ptrdiff_t>(size));
    FlexMapInteger(Bytes(part), "max");
  }
  int same = 0;
  for (std::size_t at = 0; at < kMap.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::vector<unsigned char> changed = kMap;
      changed[at] = static_cast<unsigned char>(value);
      same += FlexMapInteger(Bytes(changed), "max") == 300 ? 1 : 0;
    }
  }
  EXPECT_GT(same, 0);
}

}  // namespace
}  // namespace neap::ops
