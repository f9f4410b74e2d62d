// SPDX-License-Identifier: Apache-2.0
#include "lab/bench/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "lab/bench/cells.h"
#include "neap/compile/compile.h"

namespace neap::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Report Sample() {
  Report report;
  report.suite = "sample";
  report.title = "A sample";
  report.intro = {"One <b>paragraph</b>."};
  Section section{"one", "Section | one", {"Text."}, {}, {}};
  section.tables.push_back(
      {"t",
       "Table",
       {{"name", "name"}, {"bytes", "bytes"}, {"factor", "factor"}},
       {{Text("a|b<c"), Count(1234567), Real(1.239)}, {Text("d"), None(), Real(std::nan(""))}}});
  section.plots.push_back({"p", "Plot", picture::Bars{"l", {"s"}, {"g"}, {{2}}, "x", false}});
  report.sections.push_back(section);
  report.qualities = {{"x.peak_bytes", 100, false}, {"x.bound_bytes", 90, true}};
  return report;
}

const Stamp kStamp = {"1.2.3", "2026-01-02T03:04:05Z", "a machine", 0.5, 12.3, true};

TEST(Bench, OneReportThreeForms) {
  const nlohmann::json json = nlohmann::json::parse(ToJson(Sample(), kStamp));
  EXPECT_EQ(json["sections"][0]["tables"][0]["rows"][0]["bytes"], 1234567);
  EXPECT_EQ(json["sections"][0]["tables"][0]["rows"][1]["bytes"], nullptr);
  EXPECT_EQ(json["sections"][0]["tables"][0]["rows"][1]["factor"], nullptr);
  EXPECT_EQ(json["stamp"]["machine"], "a machine");
  EXPECT_EQ(json["qualities"]["x.peak_bytes"], 100);
  const std::string markdown = ToMarkdown(Sample(), kStamp);
  EXPECT_THAT(markdown, HasSubstr("| a\\|b<c | 1,234,567 | 1.24 |\n| d | - | - |"));
  EXPECT_THAT(markdown, HasSubstr("neap 1.2.3, 2026-01-02T03:04:05Z, a machine"));
  const std::string html = ToHtml(Sample(), kStamp);
  EXPECT_THAT(html, HasSubstr("<td>a|b&lt;c</td><td class=\"n\">1,234,567</td>"));
  EXPECT_EQ(html.find("<b>"), std::string::npos);
}

TEST(Bench, WorseIsWorseInEitherDirection) {
  const std::string stored = ExpectationsJson(Sample());
  const auto same = Compare(Sample(), stored);
  ASSERT_TRUE(same);
  EXPECT_THAT(same->worse, IsEmpty());
  EXPECT_THAT(same->better, IsEmpty());
  Report report = Sample();
  report.qualities = {{"x.peak_bytes", 101, false}, {"x.bound_bytes", 91, true}, {"new", 1, false}};
  const auto changed = Compare(report, stored);
  ASSERT_TRUE(changed);
  EXPECT_THAT(changed->worse, ElementsAre("x.peak_bytes: 101 was 100"));
  EXPECT_THAT(changed->better, ElementsAre("x.bound_bytes: 91 was 90"));
  EXPECT_THAT(changed->fresh, ElementsAre("new: 1"));
  report.qualities.clear();
  EXPECT_EQ(Compare(report, stored)->worse.size(), 2U);
  EXPECT_FALSE(Compare(report, "{"));
  EXPECT_FALSE(Compare(report, "[]"));
  EXPECT_FALSE(Compare(report, R"({"suite": "other", "qualities": {}})"));
  EXPECT_FALSE(Compare(Sample(), R"({"suite": "sample", "qualities": {"x.peak_bytes": "1"}})"));
}

TEST(Bench, SuitesHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Suite& suite : Suites()) {
    EXPECT_TRUE(names.insert(suite.name).second);
    EXPECT_FALSE(suite.summary.empty());
  }
  EXPECT_TRUE(names.contains("serenity"));
}

TEST(Cells, AreThoseOfTheFigure) {
  const auto cells = SerenityCells();
  ASSERT_TRUE(cells) << cells.error().ToString();
  ASSERT_EQ(cells->size(), 9U);
  std::vector<double> order;
  std::vector<double> rewritten;
  for (const Cell& cell : *cells) {
    order.push_back(Ratio(cell.paper.tflite_kb, cell.paper.scheduled_kb));
    rewritten.push_back(Ratio(cell.paper.tflite_kb, cell.paper.rewritten_kb));
    const graph::Subgraph& subgraph = cell.graph.subgraphs.Items().front();
    EXPECT_GE(subgraph.inputs.size(), 1U) << cell.id;
    EXPECT_EQ(subgraph.outputs.size(), 1U) << cell.id;
  }
  // The means that the paper's text gives: 1.68 and 1.86.
  EXPECT_EQ(std::lround(100 * GeometricMean(order)), 168);
  EXPECT_EQ(std::lround(100 * GeometricMean(rewritten)), 186);
}

// Cell A of the published network: published results (28 operators, 275,968 bytes).
TEST(Cells, SwiftnetCellAIsThePublishedOne) {
  const auto cells = SerenityCells();
  ASSERT_TRUE(cells);
  const Cell& cell = (*cells)[1];
  EXPECT_EQ(cell.graph.subgraphs.Items().front().ops.size(), 28U);
  const auto compiled = compile::Compile(cell.graph, {});
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled->file_order.peak_bytes, 351232);
  EXPECT_EQ(compiled->plan.entries.front().peak_bytes, 275968);
}

}  // namespace
}  // namespace neap::bench
