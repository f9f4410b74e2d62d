// SPDX-License-Identifier: Apache-2.0
#include "neap/execute/compare.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace neap::execute {
namespace {

using graph::ElementType;

template <typename T>
Value Of(ElementType type, const std::vector<T>& elements) {
  Value value{type, {static_cast<std::int64_t>(elements.size())}, {}};
  value.bytes.resize(elements.size() * sizeof(T));
  if (!elements.empty()) std::memcpy(value.bytes.data(), elements.data(), value.bytes.size());
  return value;
}
Value Floats(const std::vector<float>& elements) { return Of(ElementType::kFloat32, elements); }
Value Bytes(const std::vector<std::int8_t>& elements) { return Of(ElementType::kInt8, elements); }

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Compare, EqualBytesAreIdentical) {
  const Difference same = Compare(Floats({1, -4, kNan}), Floats({1, -4, kNan}), 0);
  EXPECT_TRUE(same.identical());
  EXPECT_EQ(same.elements, 3);
  EXPECT_EQ(same.magnitude, 4);
  EXPECT_EQ(same.Relative(), 0);
  EXPECT_TRUE(Compare(Floats({}), Floats({}), 0).identical());
}

TEST(Compare, CountsAndMeasuresFloats) {
  const Difference other = Compare(Floats({1, -4, 2, 0}), Floats({1, -3, 2.5F, 0}), 0);
  EXPECT_FALSE(other.identical());
  EXPECT_EQ(other.differing, 2);
  EXPECT_EQ(other.max_difference, 1);
  EXPECT_EQ(other.Relative(), 0.25);
}

// The real value of an integer is its distance from the zero point, times the scale.
TEST(Compare, MeasuresIntegersInStepsAndFromTheZeroPoint) {
  const Difference other = Compare(Bytes({-128, 127, 72}), Bytes({-128, 122, 73}), -128);
  EXPECT_EQ(other.differing, 2);
  EXPECT_EQ(other.max_difference, 5);
  EXPECT_EQ(other.magnitude, 255);
  EXPECT_EQ(other.Relative(), 5.0 / 255);
  const auto most = std::numeric_limits<std::int64_t>::max();
  const auto wide = Compare(Of<std::int64_t>(ElementType::kInt64, {most, 0}),
                            Of<std::int64_t>(ElementType::kInt64, {-most, 0}), 0);
  EXPECT_EQ(wide.Relative(), 2);
}

TEST(Compare, SignsOfZeroDifferInBytesAlone) {
  const Difference zero = Compare(Floats({0.0F, 1}), Floats({-0.0F, 1}), 0);
  EXPECT_FALSE(zero.identical());
  EXPECT_EQ(zero.differing, 1);
  EXPECT_EQ(zero.Relative(), 0);
}

TEST(Compare, DifferencesThatAreNoNumberAreWithinNothing) {
  for (const auto& [expected, found] : {std::pair(kNan, 1.0F), std::pair(1.0F, kNan),
                                        std::pair(kInfinity, 1.0F), std::pair(1.0F, -kInfinity)}) {
    const Difference other = Compare(Floats({expected, 2}), Floats({found, 1}), 0);
    EXPECT_EQ(other.differing, 2);
    EXPECT_EQ(other.max_difference, std::nullopt);
    EXPECT_EQ(other.Relative(), std::nullopt);
  }
  // Nothing is relative to an output of zeros.
  const Difference other = Compare(Floats({0, 0}), Floats({0, 1e-9F}), 0);
  EXPECT_TRUE(other.max_difference.has_value());
  EXPECT_EQ(other.Relative(), std::nullopt);
}

TEST(Compare, OtherShapesAndTypesAreNoMatch) {
  EXPECT_FALSE(Compare(Floats({1}), Floats({1, 1}), 0).identical());
  EXPECT_FALSE(Compare(Floats({}), Bytes({}), 0).identical());
  EXPECT_EQ(Compare(Floats({1}), Bytes({1}), 0).Relative(), std::nullopt);
}

TEST(Compare, ReadsEveryWidth) {
  // 1 and -2 in int4; 3 and 2 in uint2, low bits first.
  const Value int4{ElementType::kInt4, {2}, {std::byte{0xe1}}};
  const Value int4_other{ElementType::kInt4, {2}, {std::byte{0xf1}}};
  EXPECT_EQ(Compare(int4, int4_other, 0).max_difference, 1);
  EXPECT_EQ(Compare(int4, int4_other, 0).magnitude, 2);
  EXPECT_EQ(Compare(int4, int4_other, 0).differing, 1);
  const auto half = Compare(Of<std::uint16_t>(ElementType::kFloat16, {0x3c00, 0xc000}),
                            Of<std::uint16_t>(ElementType::kFloat16, {0x3c00, 0xbc00}), 0);
  EXPECT_EQ(half.Relative(), 0.5);
  const auto brain = Compare(Of<std::uint16_t>(ElementType::kBfloat16, {0x3f80}),
                             Of<std::uint16_t>(ElementType::kBfloat16, {0x4000}), 0);
  EXPECT_EQ(brain.Relative(), 1);
  const auto number =
      Compare(Of<double>(ElementType::kFloat64, {8}), Of<double>(ElementType::kFloat64, {7}), 0);
  EXPECT_EQ(number.Relative(), 0.125);
  const Value eight{ElementType::kFloat8, {1}, {std::byte{1}}};
  const Value eight_other{ElementType::kFloat8, {1}, {std::byte{2}}};
  EXPECT_EQ(Compare(eight, eight_other, 0).differing, 1);
  EXPECT_EQ(Compare(eight, eight_other, 0).max_difference, std::nullopt);
  EXPECT_TRUE(Compare(eight, eight, 0).identical());
}

}  // namespace
}  // namespace neap::execute
