// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neap/solve/arena/arena.h"

namespace neap::arena {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kExample =
    "id,lower,upper,size\n"
    "b1,0,3,4\n"
    "b2,3,9,4\n"
    "b3,0,9,4\n"
    "b4,9,21,4\n"
    "b5,0,21,4\n";

std::string ErrorOf(std::string_view text) {
  const auto csv = ParseCsv(text);
  return csv ? "" : csv.error().ToString();
}

TEST(Csv, ReadsAndWrites) {
  const auto csv = ParseCsv(kExample);
  ASSERT_TRUE(csv.has_value());
  ASSERT_EQ(csv->problem.buffers.size(), 5U);
  EXPECT_EQ(csv->problem.buffers[3].first, 9);
  EXPECT_EQ(csv->problem.buffers[3].last, 21);
  EXPECT_EQ(csv->problem.buffers[3].bytes, 4);
  const Outcome outcome = Solve(csv->problem, Limits{});
  EXPECT_EQ(outcome.placement.height_bytes, 12);
  const std::string text = FormatCsv(*csv, std::vector<std::int64_t>{8, 8, 4, 4, 0});
  EXPECT_EQ(text,
            "id,lower,upper,size,offset\n"
            "b1,0,3,4,8\nb2,3,9,4,8\nb3,0,9,4,4\nb4,9,21,4,4\nb5,0,21,4,0\n");
  // Written offsets are read as fixed.
  const auto again = ParseCsv(text);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->problem.buffers[1].fixed_offset, 8);
  EXPECT_EQ(FormatCsv(*again, std::vector<std::int64_t>{8, 8, 4, 4, 0}), text);
}

TEST(Csv, TakesColumnsInAnyOrderAndOldNames) {
  const auto csv = ParseCsv(
      "size, buffer_id ,end,start,hint,alignment,offset,gaps\r\n"
      "8,x,4,2,17,16,32,\r\n"
      "8,y,4,4,,1,,4-4\r\n"
      "\n"
      "after an empty line nothing is read\n");
  ASSERT_TRUE(csv.has_value()) << csv.error().ToString();
  ASSERT_EQ(csv->problem.buffers.size(), 2U);
  const Buffer& buffer = csv->problem.buffers[0];
  EXPECT_EQ(buffer.first, 2);
  EXPECT_EQ(buffer.last, 5);  // `end` is the last step
  EXPECT_EQ(buffer.alignment, 16);
  EXPECT_EQ(buffer.fixed_offset, 32);
  EXPECT_EQ(csv->problem.buffers[1].fixed_offset, std::nullopt);
  EXPECT_EQ(FormatCsv(*csv, std::vector<std::int64_t>{32, 0}),
            "size, buffer_id ,end,start,hint,alignment,offset,gaps\n"
            "8,x,4,2,17,16,32,\n8,y,4,4,,1,0,4-4\n");
}

TEST(Csv, RenumbersStepsThatAreTooLarge) {
  const auto csv = ParseCsv(
      "id,lower,upper,size\n"
      "a,-9000000000,5,1\n"
      "b,5,9000000000,1\n"
      "c,6,7,1\n");
  ASSERT_TRUE(csv.has_value());
  const auto& buffers = csv->problem.buffers;
  EXPECT_EQ(buffers[0].last, buffers[1].first);
  EXPECT_LT(buffers[0].first, buffers[0].last);
  EXPECT_LT(buffers[1].first, buffers[2].first);
  EXPECT_LT(buffers[2].last, buffers[1].last);
  EXPECT_EQ(Solve(csv->problem, Limits{}).placement.height_bytes, 2);
}

// `b` lives in the gap of `a`, `c` at its edge.
TEST(Csv, LetsBuffersLiveInGaps) {
  const auto csv = ParseCsv(
      "id,lower,upper,size,gaps\n"
      "a,0,10,8,6-7 2-4 4-6\n"
      "b,2,7,8,\n"
      "c,1,3,4,\n");
  ASSERT_TRUE(csv.has_value()) << csv.error().ToString();
  ASSERT_EQ(csv->problem.pairs.size(), 1U);
  EXPECT_EQ(csv->problem.pairs[0].b, 1);
  EXPECT_EQ(Solve(csv->problem, Limits{}).placement.height_bytes, 12);
}

TEST(Csv, NamesLineAndColumn) {
  EXPECT_EQ(ErrorOf(""), "line 1: found no header, expected id,lower,upper,size");
  EXPECT_THAT(ErrorOf("id,lower,size\n"), HasSubstr("line 1: found no column 'upper'"));
  EXPECT_THAT(ErrorOf("id,lower,upper,end,size\n"),
              HasSubstr("line 1: found a second column 'end'"));
  EXPECT_THAT(ErrorOf("id,lower,upper,bytes\n"), HasSubstr("line 1: found column 'bytes'"));
  const auto with = [](const std::string& row) {
    return ErrorOf("id,lower,upper,size,alignment,gaps,offset\nok,0,1,1,1,,\n" + row + "\n");
  };
  EXPECT_EQ(with("a,0,1,1,1,,"), "");
  EXPECT_THAT(with("a,0,1,1"), HasSubstr("line 3: found 4 fields, expected 7"));
  EXPECT_THAT(with("a,zero,1,1,1,,"), HasSubstr("line 3: lower: found 'zero'"));
  EXPECT_THAT(with("a,0,1.5,1,1,,"), HasSubstr("line 3: upper: found '1.5'"));
  EXPECT_THAT(with("a,0,1,99999999999999999999,1,,"), HasSubstr("line 3: size: found '9999"));
  EXPECT_THAT(with("a,0,1,,1,,"), HasSubstr("line 3: size: found ''"));
  EXPECT_THAT(with("a,2,1,1,1,,"), HasSubstr("line 3: found lower 2 above upper 1"));
  EXPECT_THAT(with("a,0,1,-1,1,,"), HasSubstr("line 3: found -1 bytes"));
  EXPECT_THAT(with("a,0,1,1,0,,"), HasSubstr("line 3: found alignment 0"));
  EXPECT_THAT(with("a,0,1,1,16,,8"), HasSubstr("line 3: found fixed offset 8"));
  EXPECT_THAT(with("a,0,1,1,1,5,"), HasSubstr("line 3: gaps: found '5'"));
  EXPECT_THAT(with("a,0,9,1,1,2-4@0:3,"), HasSubstr("a gap of a part of the buffer"));
  EXPECT_THAT(with("a,0,9223372036854775807,1,1,,"), HasSubstr("too large"));
  EXPECT_THAT(with("a,0,1,4611686018427387904,1,,"), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf("id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,2\n"), HasSubstr("overlaps"));
  EXPECT_EQ(ErrorOf("id,lower,upper,size\n" + std::string(90, 'x') + ",0,1,1,1\n"),
            "line 2: found 5 fields, expected 4");
}

}  // namespace
}  // namespace neap::arena
