// SPDX-License-Identifier: Apache-2.0
#include "neap/plan/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "neap/base/random.h"
#include "neap/check/check.h"
#include "testing/cases.h"
#include "testing/plans.h"

namespace neap::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Plan Sample(std::uint64_t seed = 5) {
  Random random(seed);
  Plan plan = test::NaivePlan(test::RandomGraph(random, 4, true), Runtime::kIdealInPlace);
  plan.model = "models/a \"b\"\n\xc3\xa4.tflite";
  plan.model_sha256 = std::string(64, 'a');
  plan.dims = {"batch=1", "seq=128"};
  EntryPlan& entry = plan.entries[0];
  entry.steps.push_back({graph::SubgraphId(1), graph::OpId()});
  entry.certificate = {CertificateKind::kSingleOperator, graph::OpId(2), {}, 17, false};
  entry.states = std::int64_t{1} << 62;
  return plan;
}

std::string Changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// All fields, compared by the text of each plan: ToJson leaves none out (the next test).
TEST(PlanJson, ReadsWhatItWrote) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::string text = ToJson(Sample(seed));
    const auto plan = FromJson(text);
    ASSERT_TRUE(plan.has_value()) << plan.error().ToString();
    EXPECT_EQ(ToJson(*plan), text);
    EXPECT_EQ(plan->model, Sample(seed).model);
    EXPECT_EQ(plan->entries[0].tensors.size(), Sample(seed).entries[0].tensors.size());
  }
}

// Every number is another one.
Plan WithEveryField() {
  Plan plan;
  plan.neap_version = "v";
  plan.model = "m";
  plan.model_sha256 = std::string(64, '1');
  plan.written_sha256 = std::string(64, '2');
  plan.runtime = Runtime::kTflm;
  plan.order_strategy = "exact";
  plan.kernels = ops::KernelLibrary::kTflmReference;
  plan.memories = {{"fast", 29, 30}};
  plan.dims = {"n=1"};
  EntryPlan entry;
  entry.subgraph = graph::SubgraphId(3);
  entry.signature = "serve";
  entry.steps = {{graph::SubgraphId(4), graph::OpId(5)},
                 {graph::SubgraphId(6), graph::OpId()},
                 {graph::SubgraphId(33), graph::OpId(), graph::TensorId(34)}};
  entry.memory_bytes = {35};
  entry.tensors = {{graph::SubgraphId(7), graph::TensorId(8), 9, 10, 11, 12, 31}};
  entry.scratch = {{13, 14, 15, 32}};
  entry.overlaps = {{16, graph::SubgraphId(17), graph::TensorId(18), graph::TensorId(19),
                     OverlapKind::kHoldsInput, 28}};
  entry.peak_bytes = 20;
  entry.peak_lower_bound_bytes = 21;
  entry.order_status = BoundStatus::kOptimal;
  entry.certificate = {CertificateKind::kSearch, graph::OpId(22), {}, 23, false};
  entry.arena_bytes = 24;
  entry.arena_given_order_lower_bound_bytes = 25;
  entry.arena_lower_bound_bytes = 26;
  entry.arena_status = BoundStatus::kOptimal;
  entry.states = 27;
  plan.entries = {entry};
  return plan;
}

TEST(PlanJson, KeepsEveryField) {
  const Plan plan = WithEveryField();
  const auto read = FromJson(ToJson(plan));
  ASSERT_TRUE(read.has_value()) << read.error().ToString();
  EXPECT_EQ(read->neap_version, "v");
  EXPECT_EQ(read->model, "m");
  EXPECT_EQ(read->model_sha256, std::string(64, '1'));
  EXPECT_EQ(read->written_sha256, std::string(64, '2'));
  EXPECT_EQ(read->runtime, Runtime::kTflm);
  EXPECT_EQ(read->order_strategy, "exact");
  EXPECT_EQ(read->kernels, ops::KernelLibrary::kTflmReference);
  EXPECT_EQ(read->dims, plan.dims);
  ASSERT_EQ(read->memories.size(), 1U);
  EXPECT_EQ(read->memories[0].name, "fast");
  EXPECT_EQ(read->memories[0].capacity_bytes, 29);
  EXPECT_EQ(read->memories[0].bytes_per_kilocycle, 30);
  ASSERT_EQ(read->entries.size(), 1U);
  const EntryPlan& back = read->entries[0];
  EXPECT_EQ(back.subgraph.value(), 3);
  EXPECT_EQ(back.signature, "serve");
  ASSERT_EQ(back.steps.size(), 3U);
  EXPECT_EQ(back.steps[2].subgraph.value(), 33);
  EXPECT_EQ(back.steps[2].moved.value(), 34);
  EXPECT_FALSE(back.steps[2].op.valid());
  EXPECT_EQ(back.memory_bytes, std::vector<std::int64_t>{35});
  EXPECT_EQ(back.steps[0].subgraph.value(), 4);
  EXPECT_EQ(back.steps[0].op.value(), 5);
  EXPECT_FALSE(back.steps[1].op.valid());
  ASSERT_EQ(back.tensors.size(), 1U);
  EXPECT_EQ(back.tensors[0].subgraph.value(), 7);
  EXPECT_EQ(back.tensors[0].tensor.value(), 8);
  EXPECT_EQ(back.tensors[0].offset, 9);
  EXPECT_EQ(back.tensors[0].bytes, 10);
  EXPECT_EQ(back.tensors[0].first, 11);
  EXPECT_EQ(back.tensors[0].last, 12);
  EXPECT_EQ(back.tensors[0].memory, 31);
  ASSERT_EQ(back.scratch.size(), 1U);
  EXPECT_EQ(back.scratch[0].slot, 13);
  EXPECT_EQ(back.scratch[0].offset, 14);
  EXPECT_EQ(back.scratch[0].bytes, 15);
  EXPECT_EQ(back.scratch[0].memory, 32);
  ASSERT_EQ(back.overlaps.size(), 1U);
  EXPECT_EQ(back.overlaps[0].slot, 16);
  EXPECT_EQ(back.overlaps[0].subgraph.value(), 17);
  EXPECT_EQ(back.overlaps[0].input.value(), 18);
  EXPECT_EQ(back.overlaps[0].output.value(), 19);
  EXPECT_EQ(back.overlaps[0].kind, OverlapKind::kHoldsInput);
  EXPECT_EQ(back.overlaps[0].bytes, 28);
  EXPECT_EQ(back.peak_bytes, 20);
  EXPECT_EQ(back.peak_lower_bound_bytes, 21);
  EXPECT_EQ(back.order_status, BoundStatus::kOptimal);
  EXPECT_EQ(back.certificate.kind, CertificateKind::kSearch);
  EXPECT_EQ(back.certificate.op.value(), 22);
  EXPECT_EQ(back.certificate.states, 23);
  EXPECT_EQ(back.arena_bytes, 24);
  EXPECT_EQ(back.arena_given_order_lower_bound_bytes, 25);
  EXPECT_EQ(back.arena_lower_bound_bytes, 26);
  EXPECT_EQ(back.arena_status, BoundStatus::kOptimal);
  EXPECT_EQ(back.states, 27);
}

TEST(PlanJson, RefusesWhatIsNotAPlan) {
  const std::string text = ToJson(Sample());
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& why) {
    const auto plan = FromJson(Changed(text, from, to));
    ASSERT_FALSE(plan.has_value()) << to;
    EXPECT_THAT(plan.error().ToString(), HasSubstr(why));
  };
  refused("\"version\": 2", "\"version\": 3", "version 3, expected version 2");
  refused("\"version\": 2", "\"version\": \"1\"", "version is \"1\", expected an integer");
  refused("\"version\": 2", "\"varsion\": 1", "expected a member 'version'");
  refused("\"version\": 2", "\"version\": 2, \"more\": 1", "expected no member 'more'");
  refused("\"version\": 2", "\"version\": 2, \"version\": 2", "gives member 'version' twice");
  refused("{\"subgraph\":0,\"op\":0}", "{\"op\":0,\"op\":0}", "gives member 'op' twice");
  refused("{\"subgraph\":0,\"op\":0}", "{\"subgraph\":0}", "expected a member 'op'");
  refused("{\"subgraph\":0,\"op\":0}", "[0, 0]",
          "entries[0].steps[0] is array, expected an object");
  refused("{\"subgraph\":0,\"op\":0}", "{\"subgraph\":0,\"op\":-1}", "steps[0].op is -1");
  refused("{\"subgraph\":0,\"op\":0}", "{\"subgraph\":0,\"op\":1.0}", "steps[0].op is 1.0");
  refused("{\"subgraph\":0,\"op\":0}", "{\"subgraph\":null,\"op\":1}", "subgraph is null");
  refused("{\"subgraph\":0,\"op\":0}", "{\"subgraph\":2147483648,\"op\":1}",
          "from 0 to 2147483647");
  refused("\"states\": 4611686018427387904", "\"states\": 9223372036854775808", "states is");
  refused("\"states\": 4611686018427387904", "\"states\": 1e3", "states is 1000.0");
  refused("\"ideal-inplace\"", "\"magic\"", "runtime is \"magic\"");
  refused("\"ideal-inplace\"", "7", "expected a string");
  refused("\"optimal\"", "\"best\"", "'optimal' or 'bounded'");
  refused("single-operator", "guess", "'none', 'single-operator', 'cut' or 'search'");
  refused("\"aaaa", "\"AAAA", "64 lower-case hexadecimal digits");
  refused("\"aaaa", "\"aaa", "64 lower-case hexadecimal digits");
  refused("\"steps\": [", "\"steps\": [[[[[[[[[[1]]]]]]]]],", "nests deeper than any plan");
  refused("\"entries\": [", "\"entries\": [}", "not JSON: found an error at byte");
  EXPECT_THAT(FromJson("{\"version\": 2}").error().ToString(), HasSubstr("'neap_version'"));
  EXPECT_THAT(FromJson("").error().ToString(), HasSubstr("not JSON"));
  EXPECT_THAT(FromJson("[]").error().ToString(), HasSubstr("the whole is array"));
  Plan no_entries = Sample();
  no_entries.entries.clear();
  EXPECT_THAT(FromJson(ToJson(no_entries)).error().ToString(), HasSubstr("at least one entry"));
}

TEST(PlanJson, ReplacesBytesThatAreNotText) {
  Plan plan = Sample();
  plan.model = "a\xff.onnx";
  const auto read = FromJson(ToJson(plan));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->model, "a\xef\xbf\xbd.onnx");
}

TEST(PlanJson, RefusesEveryTruncation) {
  const std::string text = ToJson(Sample());
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    ASSERT_FALSE(FromJson(std::string_view(text).substr(0, length)).has_value()) << length;
  }
  EXPECT_TRUE(FromJson(std::string_view(text).substr(0, text.size() - 1)).has_value());
}

TEST(PlanJson, SurvivesDamage) {
  Random random(6);
  const std::string text = ToJson(Sample());
  int read = 0;
  for (int i = 0; i < Cases(3000); ++i) {
    std::string damaged = text;
    for (std::uint64_t flips = 1 + random.Below(3); flips > 0; --flips) {
      char& byte = damaged[random.Below(damaged.size())];
      byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << random.Below(8)));
    }
    const auto plan = FromJson(damaged);
    if (!plan.has_value()) continue;
    ++read;
    EXPECT_FALSE(ToJson(*plan).empty());
  }
  EXPECT_GT(read, Cases(3000) / 300);  // a digit turned into another digit
}

TEST(PlanJson, SurvivesDeepNesting) {
  EXPECT_FALSE(FromJson(std::string(1000000, '[')).has_value());
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(FromJson(objects).has_value());
  EXPECT_FALSE(FromJson(std::string(300000, '[') + std::string(300000, ']')).has_value());
}

// The example of docs/reference/plan-format.md is a plan for the graph that the page describes.
TEST(PlanJson, TheDocumentedExampleIsAPlan) {
  const char* root = std::getenv("NEAP_SOURCE_DIR");
  ASSERT_NE(root, nullptr) << "run by ctest, or set NEAP_SOURCE_DIR";
  std::ifstream file(std::string(root) + "/docs/reference/plan-format.md");
  std::ostringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const auto begin = text.find("```json\n{");
  ASSERT_NE(begin, std::string::npos);
  const auto end = text.find("```", begin + 8);
  const std::string example = text.substr(begin + 8, end - begin - 8);
  const auto plan = FromJson(example);
  ASSERT_TRUE(plan.has_value()) << plan.error().ToString();
  EXPECT_EQ(ToJson(*plan), example);
  graph::Subgraph chain;
  for (const int bytes : {100, 60, 60, 10}) test::AddTensor(chain, bytes);
  test::AddOp(chain, "CONV_2D", {0}, {1});
  chain.ops[test::AddOp(chain, "SOFTMAX", {1}, {2})].scratch_bytes = 20;
  test::AddOp(chain, "FULLY_CONNECTED", {2}, {3});
  chain.inputs = test::Tensors({0});
  chain.outputs = test::Tensors({3});
  EXPECT_THAT(check::CheckPlan(test::GraphOf({chain}), *plan), IsEmpty());
}

}  // namespace
}  // namespace neap::plan
