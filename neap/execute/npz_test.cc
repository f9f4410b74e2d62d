// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neap/base/random.h"
#include "neap/execute/inputs.h"
#include "testing/execute.h"

namespace neap::execute {
namespace {

using graph::ElementType;

constexpr std::int64_t kMemory = 1 << 20;

std::vector<NamedValue> Example() {
  return {{"a", {ElementType::kFloat32, {2, 3}, BytesOf(std::vector<float>{1, 2, 3, 4, 5, 6})}},
          {"scalar", {ElementType::kInt64, {}, BytesOf(std::vector<std::int64_t>{-7})}},
          {"b/c", {ElementType::kUint8, {1}, BytesOf(std::vector<std::uint8_t>{9})}},
          {"none", {ElementType::kInt8, {0, 4}, {}}}};
}

TEST(Npz, ReadsWhatItWrites) {
  const auto file = WriteNpz(Example());
  ASSERT_TRUE(file) << file.error().ToString();
  const auto values = ReadNpz(*file, kMemory);
  ASSERT_TRUE(values) << values.error().ToString();
  const auto expected = Example();
  ASSERT_EQ(values->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((*values)[i].name, expected[i].name);
    EXPECT_EQ((*values)[i].value.type, expected[i].value.type);
    EXPECT_EQ((*values)[i].value.shape, expected[i].value.shape);
    EXPECT_EQ((*values)[i].value.bytes, expected[i].value.bytes);
  }
}

TEST(Npz, MemoryIsBounded) {
  const auto file = WriteNpz(Example());
  ASSERT_TRUE(file);
  EXPECT_FALSE(ReadNpz(*file, 40));
}

// Any bytes end in values or in an error.
TEST(Npz, DamagedFilesAreValuesOrErrors) {
  const auto file = WriteNpz(Example());
  ASSERT_TRUE(file);
  Random random(4);
  int errors = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> damaged = *file;
    for (std::uint64_t i = random.Below(4) + 1; i > 0; --i) {
      damaged[random.Below(damaged.size())] = static_cast<std::byte>(random.Next() & 0xffU);
    }
    if (random.Chance(1, 4)) damaged.resize(random.Below(damaged.size()));
    errors += ReadNpz(damaged, kMemory) ? 0 : 1;
  }
  EXPECT_GT(errors, 500);
}

TEST(Npz, SubByteElementsAreWrittenOneInAByte) {
  Value nibbles{ElementType::kInt4, {3}, {std::byte{0xf1}, std::byte{0x07}}};
  const Value wide = Unpacked(nibbles);
  EXPECT_EQ(NumbersOf<std::int8_t>(wide.bytes), (std::vector<std::int8_t>{1, -1, 7}));
  const auto packed = Packed(wide, ElementType::kInt4);
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->bytes, nibbles.bytes);
  const Value large{ElementType::kInt8, {1}, BytesOf(std::vector<std::int8_t>{8})};
  EXPECT_FALSE(Packed(large, ElementType::kInt4));
}

TEST(Inputs, SeedsAreTheSameEverywhere) {
  GraphMaker maker;
  maker.Input(ElementType::kFloat32, {2});
  maker.Input(ElementType::kInt8, {3});
  const auto values = RandomInputs(maker.Main(), 5, kMemory);
  ASSERT_TRUE(values);
  Random first(5);
  EXPECT_EQ(NumbersOf<float>((*values)[0].bytes)[0], static_cast<float>(2 * first.Unit() - 1));
  Random second(5 + (std::uint64_t{1} << 32U));
  EXPECT_EQ((*values)[1].bytes[0], static_cast<std::byte>(second.Next() & 0xffU));
  EXPECT_FALSE(RandomInputs(maker.Main(), 5, 10));
}

TEST(Inputs, AreMatchedByNameElseByOrder) {
  GraphMaker maker;
  maker.Input(ElementType::kInt8, {1});
  maker.Input(ElementType::kInt8, {1});
  const auto value = [](std::int8_t number) {
    return Value{ElementType::kInt8, {1}, BytesOf(std::vector<std::int8_t>{number})};
  };
  const auto named = MatchInputs(maker.Main(), {{"t1", value(1)}, {"t0", value(0)}});
  ASSERT_TRUE(named);
  EXPECT_EQ((*named)[0].bytes, value(0).bytes);
  const auto ordered = MatchInputs(maker.Main(), {{"x", value(1)}, {"y", value(0)}});
  ASSERT_TRUE(ordered);
  EXPECT_EQ((*ordered)[0].bytes, value(1).bytes);
  EXPECT_FALSE(MatchInputs(maker.Main(), {{"t0", value(1)}, {"y", value(0)}}));
  EXPECT_FALSE(MatchInputs(maker.Main(), {{"t0", value(1)}}));
}

}  // namespace
}  // namespace neap::execute
