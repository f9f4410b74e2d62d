// SPDX-License-Identifier: Apache-2.0
#include "neap/serve/request.h"

#include <gtest/gtest.h>

namespace neap::serve {
namespace {

const std::string kId(32, 'a');

Access Local() { return {{"localhost", "127.0.0.1", "::1"}, {"https://page.example"}, {}}; }

RawRequest From(std::string_view host) { return {"GET", "/v1/plans", host, {}, {}, 1}; }

TEST(Requests, AreRoutedByPathAndMethod) {
  EXPECT_EQ(Route("POST", "/v1/plans?name=a.tflite")->action, Action::kCreate);
  EXPECT_EQ(Route("GET", "/v1/plans")->action, Action::kList);
  EXPECT_EQ(Route("GET", "/v1/plans/" + kId)->action, Action::kStatus);
  EXPECT_EQ(Route("DELETE", "/v1/plans/" + kId)->action, Action::kDelete);
  EXPECT_EQ(Route("GET", "/v1/plans/" + kId + "/events")->action, Action::kEvents);
  EXPECT_EQ(Route("HEAD", "/v1/plans/" + kId + "/plan.json")->file, "plan.json");
  EXPECT_EQ(Route("GET", "/")->file, "index.html");
  EXPECT_EQ(Route("GET", "/app/main.js")->file, "app/main.js");
  EXPECT_EQ(Route("PUT", "/v1/plans").error().status, 405);
  EXPECT_EQ(Route("GET", "/v1/plan").error().status, 404);
  EXPECT_EQ(Route("GET", "http://host/").error().status, 400);
  EXPECT_EQ(Route("GET", "/" + std::string(9000, 'a')).error().status, 414);
}

TEST(Requests, NameNoPathOutsideOfTheirFolder) {
  for (const char* target :
       {"/../secret", "/a/../../secret", "/.hidden", "/a//b", "/%2e%2e/secret", "/a%2fb"}) {
    EXPECT_EQ(Route("GET", target).error().status, 404) << target;
  }
  for (const char* file : {"..", "a%2fb", ".x", "-x"}) {
    EXPECT_EQ(Route("GET", "/v1/plans/" + kId + "/" + file).error().status, 404) << file;
  }
  EXPECT_EQ(Route("GET", "/v1/plans/../" + kId).error().status, 404);
}

TEST(Requests, MustNameAHostOfTheServer) {
  const Call call = *Route("GET", "/v1/plans");
  for (const char* host : {"localhost:8642", "LOCALHOST", "127.0.0.1", "[::1]:80"}) {
    EXPECT_TRUE(Admit(From(host), call, Local()).has_value()) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8642", "127.0.0.1.evil.example", "",
                           "[::1", "localhost:port"}) {
    EXPECT_EQ(Admit(From(host), call, Local()).error().status, 421) << host;
  }
  RawRequest twice = From("localhost");
  twice.hosts = 2;
  EXPECT_EQ(Admit(twice, call, Local()).error().status, 400);
}

TEST(Requests, OfOtherOriginsAreRefused) {
  const Call call = *Route("GET", "/v1/plans");
  RawRequest request = From("localhost:8642");
  request.origin = "http://evil.example";
  EXPECT_EQ(Admit(request, call, Local()).error().status, 403);
  request.origin = "null";
  EXPECT_EQ(Admit(request, call, Local()).error().status, 403);
  request.origin = "http://localhost:8642";
  EXPECT_EQ(Admit(request, call, Local())->allowed_origin, "");
  request.origin = "https://page.example";
  EXPECT_EQ(Admit(request, call, Local())->allowed_origin, "https://page.example");
}

TEST(Requests, NeedATokenWhereThereAreTokens) {
  Access access = Local();
  access.tokens = *ParseTokens("# people\ntoken-of-alice-1\r\n\ntoken-of-bob-0002\n");
  ASSERT_EQ(access.tokens.size(), 2U);
  const Call call = *Route("GET", "/v1/plans");
  RawRequest request = From("localhost");
  EXPECT_EQ(Admit(request, call, access).error().status, 401);
  request.authorization = "Bearer token-of-carol-1";
  EXPECT_EQ(Admit(request, call, access).error().status, 401);
  request.authorization = "Basic token-of-alice-1";
  EXPECT_EQ(Admit(request, call, access).error().status, 401);
  request.authorization = "Bearer token-of-alice-1";
  const auto alice = Admit(request, call, access);
  request.authorization = "Bearer token-of-bob-0002";
  const auto bob = Admit(request, call, access);
  ASSERT_TRUE(alice && bob);
  EXPECT_NE(alice->owner, bob->owner);
  EXPECT_TRUE(Admit(From("localhost"), *Route("GET", "/healthz"), access).has_value());
  EXPECT_EQ(Admit(From("localhost"), *Route("GET", "/metrics"), access).error().status, 401);
}

TEST(Requests, TokensAreLong) {
  EXPECT_FALSE(ParseTokens("short\n"));
  EXPECT_FALSE(ParseTokens("# none\n"));
  EXPECT_FALSE(ParseTokens("two words in one line\n"));
}

int StatusOf(const std::string& query) {
  const auto call = Route("POST", "/v1/plans?" + query);
  if (!call) return call.error().status;
  const auto request = ParsePlanRequest(*call);
  return request ? 202 : request.error().status;
}

TEST(PlanRequests, HaveTheOptionsOfThePlan) {
  const auto request = ParsePlanRequest(*Route(
      "POST", "/v1/plans?name=kws.tflite&runtime=tflm&budget=64KiB&no-memory-plan&dim=n%3D1"));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->name, "kws.tflite");
  EXPECT_EQ(request->options, (std::vector<std::string>{"runtime=tflm", "budget=64KiB",
                                                        "no-memory-plan", "dim=n=1"}));
  EXPECT_EQ(ParsePlanRequest(*Route("POST", "/v1/plans?code=true"))->options,
            std::vector<std::string>{"runtime=neap"});
  const auto stages = ParsePlanRequest(*Route("POST", "/v1/plans?stages=3&budget=64KiB"));
  ASSERT_TRUE(stages) << stages.error().message;
  EXPECT_EQ(stages->kind, JobKind::kStages);
  EXPECT_EQ(stages->options, (std::vector<std::string>{"budget=64KiB", "stages=3"}));
}

TEST(PlanRequests, WithOtherOptionsAreRefused) {
  for (const char* query : {"runtime=none",
                            "budget=much",
                            "no-such-option=1",
                            "threads=8",
                            "max-memory=1TiB",
                            "device=board.json",
                            "order=/etc/passwd",
                            "name=../x",
                            "name=-o",
                            "name=",
                            "code=yes",
                            "plan=x",
                            "output=x",
                            "code=true&binary=true",
                            "kernels=dsp",
                            "model=abc",
                            "order-only=maybe",
                            "name=%zz",
                            "name=a%00b",
                            "stages=0",
                            "stages=17",
                            "stages=2x",
                            "stages=2&code=true",
                            "objective=time",
                            "stages=2&parameter-limit=much"}) {
    EXPECT_EQ(StatusOf(query), 400) << query;
  }
  EXPECT_EQ(StatusOf("name=a.onnx&keep-model=true"), 202);
}

}  // namespace
}  // namespace neap::serve
