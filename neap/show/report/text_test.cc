// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/text.h"

#include <gtest/gtest.h>

#include "neap/base/bytes.h"
#include "testing/report_models.h"

namespace neap::report {
namespace {

TEST(Percent, IsRoundedHalfUpInIntegers) {
  EXPECT_EQ(Percent(50176, 351232), "14.3 %");
  EXPECT_EQ(Percent(1, 3), "33.3 %");
  EXPECT_EQ(Percent(5, 10000), "0.1 %");  // 0.05 rounds up
  EXPECT_EQ(Percent(4, 10000), "under 0.1 %");
  EXPECT_EQ(Percent(0, 10000), "0.0 %");
  EXPECT_EQ(Percent(7, 7), "100.0 %");
  EXPECT_EQ(Percent(25, 2), "1,250.0 %");
  EXPECT_EQ(Percent(kMaxBytes, kMaxBytes), "100.0 %");  // no overflow on the way
}

TEST(Gap, IsAgainstTheUpperBound) {
  EXPECT_EQ(Gap(123904, 121088), "2.3 %");
  EXPECT_EQ(Gap(200, 100), "50.0 %");
  EXPECT_EQ(Gap(100, 100), "0.0 %");
  EXPECT_EQ(Gap(0, 0), "0.0 %");
}

TEST(Printable, KeepsALineALine) {
  EXPECT_EQ(Printable("conv1/out"), "conv1/out");
  EXPECT_EQ(Printable("a\nb\x1b[31m"), "a\\x0ab\\x1b[31m");
  EXPECT_EQ(Printable("gr\xc3\xb6\xc3\x9f"
                      "e"),
            "gr\xc3\xb6\xc3\x9f"
            "e");
  EXPECT_EQ(Printable("\xc3(\xff"), "\\xc3(\\xff");  // not UTF-8
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf");    // an overlong form
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");  // the one-byte escape of terminals
  EXPECT_EQ(Printable("a\xe2\x80\xae"
                      "b"),
            "a\\u202eb");  // turns the direction of writing
  EXPECT_EQ(Printable(""), "");
}

TEST(Printable, ShortensInTheMiddle) {
  EXPECT_EQ(Printable("0123456789", 10), "0123456789");
  EXPECT_EQ(Printable("0123456789a", 10), "01...6789a");
  const std::string wide = Printable(std::string(100000, '\n'), 20);
  EXPECT_LE(ColumnsOf(wide), 20U);
}

TEST(Wrapped, BreaksAtSpaces) {
  EXPECT_EQ(Wrapped("one two three\n  four five\n", 9), "one two\n  three\n  four\n    five\n");
  EXPECT_EQ(Wrapped("one two", 7), "one two");
  EXPECT_EQ(Wrapped("a-long-word b", 5), "a-long-word\n  b");  // words stay whole
  EXPECT_EQ(Wrapped("one 12 B.", 8), "one\n  12 B.");          // a number keeps its unit
  EXPECT_EQ(Wrapped("\n\n", 5), "\n\n");
  EXPECT_EQ(Wrapped("\x1b[1mone\x1b[0m two", 7), "\x1b[1mone\x1b[0m two");  // colours are narrow
  EXPECT_EQ(Wrapped("gr\xc3\xb6n a", 6), "gr\xc3\xb6n a");
}

TEST(CountText, OneIsSingular) {
  EXPECT_EQ(CountText(1, "operator"), "1 operator");
  EXPECT_EQ(CountText(0, "operator"), "0 operators");
  EXPECT_EQ(CountText(1234, "state"), "1,234 states");
}

TEST(ProgressLine, IsOneLine) {
  EXPECT_EQ(ProgressLine({123904, 121088, 1234567}, 4.12),
            "upper 123,904  lower 121,088  gap 2.3 %  states 1,234,567  4.1 s");
}

TEST(PeakSentence, AddsUp) {
  const graph::Graph graph = testing::TwoOperators();
  compile::PeakCause cause = testing::PeakOfTwoOperators();
  EXPECT_EQ(PeakSentence(graph, cause),
            "Peak at operator #0 'CONV_2D': input 'x' 150,528 + output 'y' 150,528 = 301,056 B.");
  cause.scratch_bytes = 4096;
  cause.tensors.push_back({graph::SubgraphId(0), graph::TensorId(2), 1000});
  EXPECT_EQ(
      PeakSentence(graph, cause),
      "Peak at operator #0 'CONV_2D': input 'x' 150,528 + output 'y' 150,528 + live 'z' 1,000 "
      "+ scratch 4,096 = 306,152 B.");
  for (int more = 0; more < 3; ++more) cause.tensors.push_back(cause.tensors.back());
  EXPECT_EQ(
      PeakSentence(graph, cause),
      "Peak at operator #0 'CONV_2D': input 'x' 150,528 + output 'y' 150,528 + live 'z' 1,000 "
      "+ live 'z' 1,000 + 2 more 2,000 + scratch 4,096 = 309,152 B.");
  EXPECT_EQ(PeakSentence(graph, {}), "");
}

TEST(NotesText, IsShort) {
  EXPECT_EQ(NotesText({"a", "b"}, "  "), "  note: a\n  note: b\n");
  EXPECT_EQ(NotesText({"1", "2", "3", "4", "5", "6", "7"}, ""),
            "note: 1\nnote: 2\nnote: 3\nnote: 4\nnote: 5\nnote: 2 more, see --json\n");
}

TEST(Counts, LeavesConstantsAndFoldedOperatorsOut) {
  graph::Graph graph = testing::TwoOperators();
  EXPECT_EQ(CountOf(graph).operators, 2);
  EXPECT_EQ(CountOf(graph).tensors, 3);
  graph.subgraphs[graph::SubgraphId(0)].ops[graph::OpId(1)].folded = true;
  EXPECT_EQ(CountOf(graph).operators, 1);
}

TEST(Paint, OnlyWithColours) {
  EXPECT_EQ(Paint({}, Ink::kGood, "ok"), "ok");
  Style style;
  style.color = true;
  EXPECT_EQ(Paint(style, Ink::kGood, "ok"), "\x1b[32mok\x1b[0m");
}

}  // namespace
}  // namespace neap::report
