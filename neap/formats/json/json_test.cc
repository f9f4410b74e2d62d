// SPDX-License-Identifier: Apache-2.0
#include "neap/formats/json/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "neap/base/random.h"
#include "neap/io/file.h"

namespace neap::formats::json {
namespace {

namespace fs = std::filesystem;
using graph::OpId;
using graph::SubgraphId;
using graph::TensorId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<graph::Graph> ReadText(std::string_view text) {
  return Read(std::as_bytes(std::span(text)), "g.json");
}
std::string ErrorOf(std::string_view text) {
  const auto graph = ReadText(text);
  return graph ? "no error" : graph.error().ToString();
}

TEST(GraphJson, ReadsNamesAndIndices) {
  const auto graph = ReadText(R"({"name":"net","_origin":{"by":"hand"},
      "tensors":[{"name":"in","bytes":4},{"bytes":0,"_note":1},{"name":"out","bytes":9}],
      "inputs":["in"],"outputs":[2],
      "ops":[{"name":"conv","inputs":[0],"outputs":[1],"scratch_bytes":7},
             {"inputs":[1,"in"],"outputs":["out"]}]})");
  ASSERT_TRUE(graph) << graph.error().ToString();
  ASSERT_EQ(graph->subgraphs.size(), 1U);
  const auto& read = graph->subgraphs[SubgraphId(0)];
  EXPECT_EQ(read.name, "net");
  EXPECT_EQ(graph::TensorBytes(read.tensors[TensorId(0)]), 4);
  EXPECT_EQ(graph::TensorBytes(read.tensors[TensorId(1)]), 0);
  EXPECT_THAT(read.inputs, ElementsAre(TensorId(0)));
  EXPECT_THAT(read.outputs, ElementsAre(TensorId(2)));
  ASSERT_EQ(read.ops.size(), 2U);
  EXPECT_EQ(read.ops[OpId(0)].type, "conv");
  EXPECT_EQ(read.ops[OpId(0)].domain, "json");
  EXPECT_EQ(read.ops[OpId(0)].scratch_bytes, 7);
  EXPECT_EQ(read.ops[OpId(1)].type, "op");
  EXPECT_EQ(read.ops[OpId(1)].source_index, 1);
  EXPECT_THAT(read.ops[OpId(1)].inputs, ElementsAre(TensorId(1), TensorId(0)));
}

// A graph with one thing replaced.
std::string With(std::string_view what, std::string_view by) {
  std::string text =
      R"({"tensors":[{"name":"a","bytes":4},{"name":"b","bytes":5}],"inputs":["a"],)"
      R"("outputs":["b"],"ops":[{"name":"f","inputs":["a"],"outputs":["b"],"scratch_bytes":0}]})";
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, what.size(), by);
}

TEST(GraphJson, NamesWhatIsWrong) {
  EXPECT_EQ(ErrorOf(With(":4", ":4")), "no error");
  EXPECT_THAT(ErrorOf(With(":4", ":-4")),
              HasSubstr("g.json: tensor #0 'a': 'bytes' must be a whole number from 0"));
  EXPECT_THAT(ErrorOf(With(":4", ":4.5")), HasSubstr("found 4.5"));
  EXPECT_THAT(ErrorOf(With(":4", ":18446744073709551615")), HasSubstr("whole number"));
  EXPECT_THAT(ErrorOf(With(":4", ":1152921504606846976")), HasSubstr("whole number"));
  EXPECT_EQ(ErrorOf(With(":4", ":1152921504606846975")), "no error");
  EXPECT_THAT(ErrorOf(With(":4", ":\"4\"")), HasSubstr("whole number"));
  EXPECT_THAT(ErrorOf(With("\"bytes\":4", "\"_b\":4")), HasSubstr("has no 'bytes'"));
  EXPECT_THAT(ErrorOf(With("\"b\",\"bytes\"", "\"a\",\"bytes\"")),
              HasSubstr("tensor #1 'a': has the same name as tensor #0"));
  EXPECT_THAT(ErrorOf(With("\"inputs\":[\"a\"],\"outputs\":[\"b\"],\"scr",
                           "\"inputs\":[\"c\"],\"outputs\":[\"b\"],\"scr")),
              HasSubstr("operator #0 'f': 'inputs' refers to 'c'"));
  EXPECT_THAT(ErrorOf(With("\"inputs\":[\"a\"]", "\"inputs\":[2]")), HasSubstr("index below 2"));
  EXPECT_THAT(ErrorOf(With("\"inputs\":[\"a\"]", "\"inputs\":[-1]")), HasSubstr("holds -1"));
  EXPECT_THAT(ErrorOf(With("\"inputs\":[\"a\"]", "\"inputs\":[[]]")), HasSubstr("holds []"));
  EXPECT_THAT(ErrorOf(With("\"inputs\":[\"a\"]", "\"inputs\":[]")),
              HasSubstr("tensor #0 'a': has no producer and is not a graph input"));
  EXPECT_THAT(
      ErrorOf(With("scratch_bytes", "scratch")),
      HasSubstr(
          "has the unknown key 'scratch' (expected one of name inputs outputs scratch_bytes"));
  EXPECT_THAT(ErrorOf(With("\"scratch_bytes\":0", "\"scratch_bytes\":-1")),
              HasSubstr("'scratch_bytes' must be a whole number"));
  EXPECT_THAT(ErrorOf(With("\"ops\"", "\"_ops\"")), HasSubstr("has no 'ops'"));
  EXPECT_THAT(ErrorOf(With("[\"b\"],\"ops\":[{", "[\"b\"],\"ops\":[7,{")),
              HasSubstr("operator #0: must be an object"));
  EXPECT_THAT(ErrorOf(With("\"inputs\":[\"a\"],\"outputs\":[\"b\"],\"scr",
                           "\"inputs\":[\"b\"],\"outputs\":[\"b\"],\"scr")),
              HasSubstr("cycle"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(ErrorOf("{\"tensors\":\n [}"), HasSubstr("is not JSON: parse error at line 2"));
  EXPECT_THAT(ErrorOf("{\"\xff\":1}"), HasSubstr("is not JSON"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("is not JSON"));
}

TEST(GraphJson, SurvivesDepth) {
  EXPECT_THAT(ErrorOf(std::string(10'000'000, '[')), HasSubstr("is nested more than 32 deep"));
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(ErrorOf(objects), HasSubstr("is nested more than 32 deep"));
  // Brackets in strings are no nesting.
  EXPECT_EQ(
      ErrorOf(With("\"f\"", "\"" + std::string(99, '[') + "\\\"" + std::string(99, '{') + "\"")),
      "no error");
}

TEST(GraphJson, SurvivesRandomBytes) {
  const std::string text = With(":4", ":4");
  Random random(4);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = text;
    for (std::int64_t flips = random.Between(1, 3); flips > 0; --flips) {
      changed[random.Below(changed.size())] = static_cast<char>(random.Below(256));
    }
    ErrorOf(changed);
    ErrorOf(std::string_view(text).substr(0, random.Below(text.size())));
  }
}

TEST(GraphJson, ReadsPublicGraphs) {
  const char* shared = std::getenv("NEAP_SHARED");
  const char* source = std::getenv("NEAP_SOURCE_DIR");
  const fs::path folder =
      (shared != nullptr ? fs::path(shared)
                         : fs::path(source == nullptr ? "." : source) / "../shared") /
      "graphs/hard";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no folder " << folder;
  int read = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto bytes = io::ReadFile(entry.path().string());
    ASSERT_TRUE(bytes);
    const auto graph = Read(**bytes, entry.path().string());
    EXPECT_TRUE(graph) << graph.error().ToString();
    ++read;
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace neap::formats::json
