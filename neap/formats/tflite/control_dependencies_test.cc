// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/tflite/control_dependencies.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace neap::formats::tflite {
namespace {

std::vector<std::byte> Bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(ControlDependencies, ReadsVarintsAndZigzag) {
  // Version 1, two subgraphs: one edge 1 -> 64, and none.
  const auto bytes = Bytes({1, 2, 1, 2, 0x80, 1, 0});
  const auto parsed = ParseControlDependencies(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, (ControlDependencies{{{1, 64}}, {}}));
  EXPECT_EQ(SerializeControlDependencies(*parsed, bytes.size()), bytes);
}

TEST(ControlDependencies, KeepsExtremeNumbers) {
  const ControlDependencies extreme = {{{INT32_MAX, INT32_MIN}, {-1, 0}}};
  const auto bytes = SerializeControlDependencies(extreme, 15);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(ParseControlDependencies(*bytes), extreme);
}

TEST(ControlDependencies, FillsTheRoomThatItIsGiven) {
  const ControlDependencies dependencies = {{{1, 2}, {2, 3}}, {}};
  // Eight numbers of one to five bytes.
  for (std::size_t size = 8; size <= 40; ++size) {
    const auto bytes = SerializeControlDependencies(dependencies, size);
    ASSERT_TRUE(bytes) << size;
    EXPECT_EQ(bytes->size(), size);
    EXPECT_EQ(ParseControlDependencies(*bytes), dependencies) << size;
  }
  EXPECT_FALSE(SerializeControlDependencies(dependencies, 7));
  EXPECT_FALSE(SerializeControlDependencies(dependencies, 41));
}

TEST(ControlDependencies, RefusesWhatIsDamaged) {
  EXPECT_FALSE(ParseControlDependencies({}));
  EXPECT_FALSE(ParseControlDependencies(Bytes({2, 0})));        // version
  EXPECT_FALSE(ParseControlDependencies(Bytes({1, 1})));        // a list is missing
  EXPECT_FALSE(ParseControlDependencies(Bytes({1, 1, 1, 2})));  // half an edge
  EXPECT_FALSE(ParseControlDependencies(Bytes({1, 1, 0, 0})));  // something behind
  EXPECT_FALSE(ParseControlDependencies(Bytes({1, 0x80})));     // ends inside a number
  EXPECT_FALSE(ParseControlDependencies(Bytes({1, 255, 255, 255, 255, 127})));  // above 32 bits
  EXPECT_FALSE(ParseControlDependencies(Bytes({1, 255, 255, 255, 255, 15})));  // more than there is
}

}  // namespace
}  // namespace neap::formats::tflite
