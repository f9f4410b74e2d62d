// SPDX-License-Identifier: Apache-2.0
#include "neap/show/picture/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "neap/base/random.h"
#include "neap/compile/compile.h"
#include "neap/show/picture/chart.h"
#include "neap/show/picture/marks.h"

namespace neap::picture {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>\"'&\n=1+1\xff\xe2\x80\xae";

graph::Graph Chain(const std::string& name) {
  graph::Graph graph;
  graph.subgraphs.push_back({});
  graph::Subgraph& subgraph = graph.subgraphs.back();
  for (int i = 0; i < 4; ++i) {
    graph::Tensor tensor;
    tensor.name = name + std::to_string(i);
    tensor.type = graph::ElementType::kInt8;
    tensor.shape = graph::Shape{10 * (i + 1)};
    subgraph.tensors.push_back(tensor);
    if (i == 0) continue;
    graph::Op op;
    op.type = "OP" + name;
    op.inputs = {graph::TensorId(i - 1)};
    op.outputs = {graph::TensorId(i)};
    op.source_index = i - 1;
    if (i == 1) op.scratch_bytes = 7;
    subgraph.ops.push_back(op);
  }
  subgraph.inputs = {graph::TensorId(0)};
  subgraph.outputs = {graph::TensorId(3)};
  return graph;
}

Picture PictureOf(const graph::Graph& graph, const compile::Compiled& compiled) {
  Picture page;
  page.model = kHostile;
  page.model_sha256 = "00";
  page.runtime = "ideal";
  page.notes = {kHostile};
  page.runs = {*RunOf(graph, compiled, kHostile), *RunOf(graph, compiled, "Planned order")};
  return page;
}

nlohmann::json DataOf(const std::string& html) {
  const std::string open = "<script type=\"application/json\" id=\"neap-data\">";
  const std::size_t from = html.find(open) + open.size();
  return nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
}

std::size_t Count(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Picture, RunHasTheNumbersOfThePlan) {
  const graph::Graph graph = Chain("t");
  const auto compiled = compile::Compile(graph, {});
  ASSERT_TRUE(compiled);
  const auto run = RunOf(graph, *compiled, "x");
  ASSERT_TRUE(run);
  const plan::EntryPlan& entry = compiled->plan.entries.front();
  EXPECT_EQ(run->peak_bytes, entry.peak_bytes);
  EXPECT_EQ(run->arena_bytes, entry.arena_bytes);
  EXPECT_EQ(run->buffers.size(), entry.tensors.size() + entry.scratch.size());
  std::int64_t peak = 0;
  std::int64_t top = 0;
  for (std::size_t step = 0; step < run->steps.size(); ++step) {
    peak = std::max(peak, run->steps[step].live_bytes);
    // The bytes drawn at a step are its live bytes.
    std::int64_t drawn = 0;
    for (const Buffer& buffer : run->buffers) {
      const auto at = static_cast<std::int32_t>(step);
      if (buffer.first <= at && at < buffer.last) drawn += buffer.counted_bytes;
    }
    EXPECT_EQ(drawn, run->steps[step].live_bytes);
  }
  for (const Buffer& buffer : run->buffers) top = std::max(top, buffer.offset + buffer.bytes);
  EXPECT_EQ(peak, entry.peak_bytes);
  EXPECT_EQ(top, entry.arena_bytes);
}

TEST(Picture, PageHasTheSameInDrawingAndData) {
  const graph::Graph graph = Chain("t");
  const auto compiled = compile::Compile(graph, {});
  ASSERT_TRUE(compiled);
  const std::string html = MemoryPage(PictureOf(graph, *compiled));
  const nlohmann::json data = DataOf(html);
  ASSERT_EQ(data["runs"].size(), 2U);
  EXPECT_EQ(data["runs"][1]["peak_bytes"], compiled->plan.entries.front().peak_bytes);
  EXPECT_EQ(data["runs"][1]["live"].size(), 3U);
  EXPECT_EQ(Count(html, "peak 70 B at step 2"), 2U);
  EXPECT_EQ(Count(html, "arena 70 B<"), 2U);
  // One rectangle for each of four tensors and one scratch, in two maps.
  EXPECT_EQ(Count(html, "<rect class=\"b c"), 10U);
  EXPECT_EQ(Count(html, "http:") + Count(html, "https:"), 0U);
}

TEST(Picture, HostileNamesStayText) {
  const graph::Graph graph = Chain(kHostile);
  const auto compiled = compile::Compile(graph, {});
  ASSERT_TRUE(compiled);
  Picture page = PictureOf(graph, *compiled);
  const std::string html = MemoryPage(page);
  EXPECT_EQ(Count(html, "<img"), 0U);
  EXPECT_GT(Count(html, "&lt;img"), 0U);
  // The two scripts of the page, no third.
  EXPECT_EQ(Count(html, "<script"), 2U);
  EXPECT_EQ(Count(html, "</script>"), 2U);
  EXPECT_NO_THROW(DataOf(html));
  for (const std::string& text :
       {MapTrace(page.runs[1]), TimelineTrace(page.runs[1]), ModelExplorerData(graph, *compiled)}) {
    EXPECT_TRUE(nlohmann::json::accept(text));
  }
  const std::string dot = Dot(graph, *compiled);
  EXPECT_EQ(Count(dot, "\n"), Count(dot, ";\n") + 2);  // no name ends a line
}

TEST(Picture, CsvIsATableWithoutFormulas) {
  const graph::Graph graph = Chain("=t\"");
  const auto compiled = compile::Compile(graph, {});
  ASSERT_TRUE(compiled);
  const auto run = RunOf(graph, *compiled, "x");
  const std::string tensors = TensorsCsv(*run);
  EXPECT_EQ(Count(tensors, "\r\n"), 1 + run->buffers.size());
  EXPECT_THAT(tensors, HasSubstr("\"'=t\"\"0\",\"int8 10\",10,0,1,"));
  EXPECT_EQ(Count(StepsCsv(*run), "\r\n"), 4U);
  EXPECT_THAT(StepsCsv(*run), HasSubstr(",70\r\n"));
}

TEST(Picture, TracesSayWhatTheirDialectsSay) {
  const graph::Graph graph = Chain("t");
  const auto compiled = compile::Compile(graph, {});
  const auto run = RunOf(graph, *compiled, "x");
  const nlohmann::json map = nlohmann::json::parse(MapTrace(*run))["traceEvents"];
  std::int64_t steps = 0;
  for (const Buffer& buffer : run->buffers) steps += buffer.last - buffer.first;
  EXPECT_EQ(map.size(), static_cast<std::size_t>(steps));
  for (const auto& event : map) {
    EXPECT_EQ(event["ph"], "X");
    EXPECT_EQ(event["pid"], 0);
    EXPECT_LE(event["ts"].get<std::int64_t>() + event["dur"].get<std::int64_t>(), run->arena_bytes);
  }
  const nlohmann::json line = nlohmann::json::parse(TimelineTrace(*run))["traceEvents"];
  std::int64_t counters = 0;
  for (const auto& event : line) {
    if (event["ph"] != "C") continue;
    EXPECT_EQ(event["args"]["bytes"], run->steps[event["ts"].get<std::size_t>()].live_bytes);
    ++counters;
  }
  EXPECT_EQ(counters, 3);
}

TEST(Picture, ModelExplorerGetsLiveBytesByOutput) {
  const graph::Graph graph = Chain("t");
  const auto compiled = compile::Compile(graph, {});
  const nlohmann::json data = nlohmann::json::parse(ModelExplorerData(graph, *compiled));
  EXPECT_EQ(data["results"]["t3"]["value"], 70);
  EXPECT_EQ(data["results"].size(), 3U);
  EXPECT_EQ(data["gradient"].size(), 3U);
  EXPECT_THAT(Dot(graph, *compiled), HasSubstr("op1 -> op2;"));
}

// Steps and buffers of random lengths; offsets do not matter here.
picture::Run RandomRun(Random& random, std::int32_t steps) {
  picture::Run run;
  run.steps.resize(static_cast<std::size_t>(steps));
  for (int i = 0; i < steps; ++i) {
    Buffer buffer;
    buffer.name = "b" + std::to_string(i);
    buffer.bytes = random.Between(1, 100);
    buffer.first = static_cast<std::int32_t>(random.Between(0, steps - 1));
    buffer.last = static_cast<std::int32_t>(random.Between(buffer.first + 1, steps));
    buffer.offset = i;
    for (std::int32_t step = buffer.first; step < buffer.last; ++step) {
      run.steps[static_cast<std::size_t>(step)].live_bytes += buffer.bytes;
    }
    run.buffers.push_back(buffer);
  }
  for (const Step& step : run.steps) run.peak_bytes = std::max(run.peak_bytes, step.live_bytes);
  return run;
}

TEST(Picture, AggregatedStepsAreStepsOfTheRun) {
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    const picture::Run run = RandomRun(random, static_cast<std::int32_t>(random.Between(2, 60)));
    const auto most = static_cast<std::size_t>(random.Between(1, 20));
    const picture::Run drawn = Aggregated(run, most);
    if (run.steps.size() <= most) {
      ASSERT_EQ(drawn.all_steps, 0);
      ASSERT_EQ(drawn.buffers.size(), run.buffers.size());
      continue;
    }
    ASSERT_LE(drawn.steps.size(), most);
    ASSERT_EQ(drawn.all_steps, static_cast<std::int32_t>(run.steps.size()));
    std::int64_t peak = 0;
    std::int32_t before = -1;
    for (std::size_t column = 0; column < drawn.steps.size(); ++column) {
      const Step& step = drawn.steps[column];
      ASSERT_GT(step.number, before);
      before = step.number;
      ASSERT_EQ(step.live_bytes, run.steps[static_cast<std::size_t>(step.number)].live_bytes);
      std::int64_t sum = 0;
      for (const Buffer& buffer : drawn.buffers) {
        const auto at = static_cast<std::int32_t>(column);
        if (buffer.first <= at && at < buffer.last) sum += buffer.bytes;
      }
      ASSERT_EQ(sum, step.live_bytes);
      peak = std::max(peak, step.live_bytes);
    }
    ASSERT_EQ(peak, run.peak_bytes);
  }
}

TEST(Picture, PagesOfManyStepsAreAggregated) {
  Random random(6);
  Picture page;
  page.runs = {RandomRun(random, 300)};
  page.runs[0].arena_bytes = 400;
  page.runs[0].steps.resize(12'001);  // the rest is empty
  const std::string html = MemoryPage(page);
  const nlohmann::json run = DataOf(html)["runs"][0];
  EXPECT_EQ(run["live"].size(), 4001U);
  EXPECT_EQ(run["numbers"].size(), 4001U);
  EXPECT_EQ(run["all_steps"], 12'001);
  EXPECT_EQ(run["live"][run["peak_step"].get<std::size_t>()], page.runs[0].peak_bytes);
  EXPECT_EQ(Count(html, "Of 12,001 steps, the drawings show 4,001: the highest of every 3"), 1U);
  EXPECT_EQ(Count(html, "<tr><td class=\"n\">"), 4001U);
}

TEST(Picture, DrawingsAreAFileOfTheirOwn) {
  const graph::Graph graph = Chain(kHostile);
  const auto compiled = compile::Compile(graph, {});
  ASSERT_TRUE(compiled);
  Picture page = PictureOf(graph, *compiled);
  page.budget_bytes = page.runs[0].peak_bytes - 1;
  const std::string svg = MemorySvg(page);
  EXPECT_THAT(svg,
              AllOf(StartsWith("<svg xmlns="), EndsWith("</svg>\n"), Not(HasSubstr("div")),
                    Not(HasSubstr("<script")), Not(HasSubstr("<img")), Not(HasSubstr("\xff"))));
  EXPECT_EQ(Count(svg, "<svg"), Count(svg, "</svg>"));
  EXPECT_EQ(Count(svg, ">Planned order<"), 1U);
  // The marks of the page: a rectangle for each buffer of both runs, two charts and two maps.
  EXPECT_EQ(Count(svg, "<rect class=\"b "), Count(MemoryPage(page), "<rect class=\"b "));
  EXPECT_GT(Count(svg, "<rect class=\"b "), 0U);
  EXPECT_EQ(Count(svg, "class=\"plane\""), 4U);
  EXPECT_EQ(Count(svg, "class=\"budget\""), 4U);
  EXPECT_THAT(svg, HasSubstr(">peak " + std::to_string(page.runs[0].peak_bytes) + " B<"));
}

// Two tensors beside each other in an arena of the whole height, in the first and the last of four
// steps.
TEST(Picture, RectanglesAreWhereTheBytesAre) {
  picture::Run run;
  run.title = "Run";
  run.steps.resize(4);
  run.arena_bytes = 1000;
  run.buffers.push_back({"low", "int8 250", 250, 250, 0, 1, 0});
  run.buffers.push_back({"high", "int8 750", 750, 750, 3, 4, 250});
  const Plot plot = PlotOf(run, 1000, 200);
  std::size_t left_out = 1;
  const std::string marks = MapMarks(run, plot, &left_out);
  EXPECT_EQ(left_out, 0U);
  EXPECT_THAT(marks, HasSubstr(R"(x="0.000%" y="150.0" width="25.000%" height="50.0"><title>low)"));
  EXPECT_THAT(marks,
              HasSubstr(R"(x="75.000%" y="0.0" width="25.000%" height="150.0"><title>high)"));
}

TEST(Picture, OrderOnlyHasNoMap) {
  const graph::Graph graph = Chain("t");
  compile::Options options;
  options.place = false;
  const auto compiled = compile::Compile(graph, options);
  ASSERT_TRUE(compiled);
  const auto run = RunOf(graph, *compiled, "x");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->arena_bytes, 0);
  Picture page = PictureOf(graph, *compiled);
  EXPECT_EQ(Count(MemoryPage(page), "Arena map"), 0U);
  EXPECT_EQ(Count(MemorySvg(page), "Arena map"), 0U);
  EXPECT_EQ(Count(MemorySvg(page), "class=\"plane\""), 2U);
}

TEST(Chart, DrawsEveryValueAndEscapesNames) {
  const std::string bars =
      BarChart({"label", {"a<b", "c"}, {"g1", "g2"}, {{1, 2}, {std::nan(""), 4}}, "x", false});
  EXPECT_EQ(Count(bars, "<rect"), 3U);
  EXPECT_THAT(bars, HasSubstr("a&lt;b"));
  const std::string lines =
      LineChart({"label", {{"one", {0, 1, 2}, {1, 10, 100}}}, "x", "y", true, true});
  EXPECT_EQ(Count(lines, "class=\"curve"), 1U);
  EXPECT_THAT(BarChart({"empty", {}, {}, {}, "", true}), HasSubstr("</svg>"));
  EXPECT_THAT(BarSvg({"label", {"a<b"}, {"g1"}, {{1}}, "x", false}),
              AllOf(StartsWith("<svg xmlns="), HasSubstr("a&lt;b"), HasSubstr(".c0{fill:"),
                    EndsWith("</svg>\n"), Not(HasSubstr("div"))));
  EXPECT_THAT(LineSvg({"label", {{"one", {0, 1}, {1, 10}}}, "x", "y", true, true}),
              AllOf(StartsWith("<svg xmlns="), HasSubstr(">one<"), HasSubstr(".l0{stroke:")));
  EXPECT_THAT(LineChart({"empty", {}, "", "", false, true}), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace neap::picture
