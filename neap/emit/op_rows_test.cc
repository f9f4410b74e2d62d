// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/op_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "neap/base/random.h"

namespace neap::emit {
namespace {

std::vector<OpRow> RowsOf(const std::string& letters) {
  std::vector<OpRow> rows;
  for (const char letter : letters) rows.push_back({std::string(1, letter), ""});
  return rows;
}

// The letters that run, and those of the table.
struct Added {
  std::string runs;
  std::string table;
  std::size_t stretches = 0;
};

Added AddAll(const std::vector<std::string>& segments) {
  OpRows rows;
  std::vector<OpStretch> stretches;
  for (const std::string& segment : segments) {
    for (const OpStretch& one : rows.Add(RowsOf(segment))) stretches.push_back(one);
  }
  Added added;
  const std::string text = rows.Text();
  for (std::size_t at = text.find("*/\n    "); at != std::string::npos;
       at = text.find("*/\n    ", at + 1)) {
    added.table += text[at + 7];
  }
  for (const OpStretch& one : stretches) added.runs += added.table.substr(one.first, one.count);
  added.stretches = stretches.size();
  EXPECT_EQ(added.table.size(), rows.size());
  return added;
}

TEST(OpRows, ABodyThatRunsSeveralTimesIsStoredOnce) {
  const Added added = AddAll({"sabctuabcvwabcx"});
  EXPECT_EQ(added.runs, "sabctuabcvwabcx");
  EXPECT_EQ(added.table, "sabctuvwx");
  EXPECT_EQ(added.stretches, 5U);
}

TEST(OpRows, PartsOfOneRowAreFoundOnlyAsAWholeSegment) {
  EXPECT_EQ(AddAll({"abcb"}).table, "abcb");
  const Added added = AddAll({"abc", "b", ""});
  EXPECT_EQ(added.table, "abc");
  EXPECT_EQ(added.runs, "abcb");
}

TEST(OpRows, WhatIsAppendedIsInOneStretch) {
  OpRows rows;
  rows.Append(RowsOf("ab"));
  const OpStretch again = rows.Append(RowsOf("ab"));
  EXPECT_EQ(again.first, 2U);
  EXPECT_EQ(again.count, 2U);
  EXPECT_EQ(rows.size(), 4U);
}

TEST(OpRows, RandomRowsRunInTheirOrder) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::string> segments(static_cast<std::size_t>(random.Between(1, 4)));
    std::string all;
    for (std::string& segment : segments) {
      const auto letters = static_cast<std::uint64_t>(random.Between(1, 4));
      for (std::uint64_t k = random.Below(20); k > 0; --k) {
        segment += static_cast<char>('a' + random.Below(letters));
      }
      all += segment;
    }
    const Added added = AddAll(segments);
    ASSERT_EQ(added.runs, all);
    ASSERT_LE(added.table.size(), all.size());
  }
}

}  // namespace
}  // namespace neap::emit
