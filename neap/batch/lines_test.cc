// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "neap/batch/batch.h"

namespace neap::batch {
namespace {

TEST(ParseRequest, FindsIdAndGraph) {
  Request request;
  ASSERT_TRUE(ParseRequest(" {\"id\" : \"a\\u0062\" ,\"graph\": {\"x\":\"}\\\"]\",\"y\":[{}]} }\r",
                           &request));
  EXPECT_EQ(request.id, "\"ab\"");
  EXPECT_EQ(request.graph, "{\"x\":\"}\\\"]\",\"y\":[{}]}");
  EXPECT_FALSE(request.path);
}

TEST(ParseRequest, FindsPathAndPassesOverPrivateKeys) {
  Request request;
  ASSERT_TRUE(ParseRequest(R"({"_mine":[1,{"a":2}],"p\u0061th":"a b.onnx"})", &request));
  EXPECT_EQ(request.id, "null");
  EXPECT_EQ(request.path, "a b.onnx");
}

TEST(ParseRequest, RefusesEverythingElse) {
  const std::vector<std::string> lines = {
      "",
      "  ",
      "null",
      "[]",
      "{",
      "{}",
      "{}x",
      "}",
      "\"",
      R"({"id":1})",
      R"({"graph":{}} {})",
      R"({"graph":{})",
      R"({"graph":{},})",
      R"({"graph":})",
      R"({"graph":[]})",
      R"({"graph":"g.json"})",
      R"({"path":1})",
      R"({"path":"a)",
      R"({"path":""})",
      R"({"path":"a\u0000b"})",
      R"({"path":"a","graph":{}})",
      R"({"path":"a","path":"a"})",
      R"({"graph":{},"graph":{}})",
      R"({"id":1,"id":1,"path":"a"})",
      R"({"id":null,"path":"a"})",
      R"({"id":1.5,"path":"a"})",
      R"({"id":[],"path":"a"})",
      R"({"id":tru,"path":"a"})",
      R"({"idd":1,"path":"a"})",
      R"({"_x":[1,,2],"path":"a"})",
      R"({path:"a"})",
      R"({"path"="a"})",
      R"({"path":"a" "id":1})",
      "{\"path\":\"\xFF\"}",
      "{\"\xFF\":1,\"path\":\"a\"}",
      "{\"id\":\"" + std::string(5000, 'i') + "\",\"path\":\"a\"}",
  };
  for (const std::string& line : lines) {
    Request request;
    EXPECT_FALSE(ParseRequest(line, &request)) << line;
  }
}

TEST(ParseRequest, SurvivesDepth) {
  const std::string deep(1'000'000, '[');
  Request request;
  EXPECT_FALSE(ParseRequest(deep, &request));
  EXPECT_FALSE(ParseRequest("{\"_x\":" + deep, &request));
  EXPECT_FALSE(ParseRequest("{\"id\":" + deep.substr(0, 2000), &request));
  EXPECT_FALSE(ParseRequest("{\"graph\":" + deep, &request));
}

TEST(ParseRequest, KeepsTheIdOfARefusedLine) {
  Request request;
  EXPECT_FALSE(ParseRequest(R"({"id":7,"grph":{}})", &request));
  EXPECT_EQ(request.id, "7");
}

TEST(ParseRequest, RefusesALineThatIsTooLong) {
  Request request;
  const Status status = ParseRequest(std::string(kMaxLineBytes + 1, ' '), &request);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("longer"), std::string::npos);
}

TEST(Answer, IsOneLineOfJson) {
  Answer answer;
  answer.id = "\"a\"";
  answer.peak_bytes = 12;
  answer.peak_lower_bound_bytes = 12;
  EXPECT_EQ(ToJson(answer),
            "{\"id\":\"a\",\"peak_bytes\":12,\"peak_lower_bound_bytes\":12,\"arena_bytes\":null,"
            "\"delivered_arena_bytes\":null,"
            "\"status\":\"optimal\",\"error\":null}\n");
  answer.peak_lower_bound_bytes = 11;
  answer.arena_bytes = 13;
  EXPECT_NE(ToJson(answer).find(
                "\"arena_bytes\":13,\"delivered_arena_bytes\":null,\"status\":\"bounded\""),
            std::string::npos);
}

TEST(Answer, KeepsErrorsShortAndValid) {
  Answer answer;
  answer.error = "x" + std::string(5000, '\xC3') + "\n";
  const std::string line = ToJson(answer);
  EXPECT_LT(line.size(), 4000U);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto known = ParseAnswer(line);
  ASSERT_TRUE(known);
  EXPECT_TRUE(known->is_error);
  EXPECT_EQ(known->id, "null");
}

TEST(Answer, IsTakenForOneOnlyWhenItIsOne) {
  EXPECT_FALSE(ParseAnswer(""));
  EXPECT_FALSE(ParseAnswer("{}"));
  EXPECT_FALSE(ParseAnswer(R"({"id":1,"graph":{}})"));
  EXPECT_FALSE(ParseAnswer(std::string(1'000'000, '[')));
  Answer answer;
  answer.peak_bytes = answer.peak_lower_bound_bytes = 1;
  std::string line = ToJson(answer);
  EXPECT_TRUE(ParseAnswer(line));
  EXPECT_FALSE(ParseAnswer(line.substr(0, line.size() - 3)));
}

}  // namespace
}  // namespace neap::batch
