// SPDX-License-Identifier: Apache-2.0
//
// Every rule by itself against Neap's executor: random instances before and after.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "neap/transform/rewrite/rewrite.h"
#include "testing/rewrite_applications.h"
#include "testing/rewrite_cases.h"
#include "testing/rewrite_networks.h"

namespace neap::rewrite {
namespace {

constexpr std::int64_t kMemory = std::int64_t{1} << 28;
constexpr graph::SubgraphId kMain(0);
constexpr Flavour kFlavours[] = {{true, ElementType::kFloat32},
                                 {true, ElementType::kInt8},
                                 {true, ElementType::kUint8},
                                 {false, ElementType::kFloat32}};

std::vector<execute::Value> Outputs(const graph::Graph& graph,
                                    const std::vector<execute::Value>& inputs, bool tflite) {
  execute::EvaluateOptions options;
  options.kernels = tflite ? execute::Kernels::kLitert : execute::Kernels::kOnnx;
  auto outputs = execute::Evaluate(graph, kMain, inputs, options);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().ToString());
  return outputs ? std::move(*outputs) : std::vector<execute::Value>();
}

bool Same(const std::vector<execute::Value>& a, const std::vector<execute::Value>& b) {
  bool same = a.size() == b.size() && !a.empty();
  for (std::size_t i = 0; same && i < a.size(); ++i) same = a[i].bytes == b[i].bytes;
  return same;
}

using RuleAndFlavour = std::tuple<std::string_view, int>;

std::vector<RuleAndFlavour> Instances() {
  std::vector<RuleAndFlavour> instances;
  for (const std::string_view rule : kCaseRules) {
    for (int flavour = 0; flavour < 4; ++flavour) {
      if (CaseMaker::Has(rule, kFlavours[flavour])) instances.emplace_back(rule, flavour);
    }
  }
  return instances;
}

class RuleTest : public testing::TestWithParam<RuleAndFlavour> {};

// Under the settings of stock runtimes and under those of Neap's own.
TEST_P(RuleTest, KeepsEveryByteWhereItSaysSo) {
  const std::string_view rule = std::get<0>(GetParam());
  const Flavour flavour = kFlavours[std::get<1>(GetParam())];
  Random random(11 + static_cast<std::uint64_t>(std::get<1>(GetParam())));
  int applied = 0;
  for (int i = 0; i < 400; ++i) {
    const RuleCase made = CaseMaker(flavour, &random).Make(rule);
    ASSERT_TRUE(graph::Verify(made.graph)) << i;
    Settings settings;
    settings.own_kernels = true;
    settings.sums = i % 2 == 0 ? Sums::kInPlace : Sums::kTensors;
    const auto applications =
        AllApplications(made.graph, settings, [&](const Rule&, plan::Exactness exactness) {
          return exactness == plan::Exactness::kBitwise;
        });
    bool used = false;
    for (const plan::Rewrite& application : applications) used |= application.rule == rule;
    applied += used ? 1 : 0;
    const auto edited = Apply(made.graph, applications, settings);
    ASSERT_TRUE(edited) << i << ": " << edited.error().ToString();
    const auto inputs =
        execute::RandomInputs(made.graph.subgraphs[kMain], static_cast<std::uint64_t>(i), kMemory);
    ASSERT_TRUE(inputs);
    ASSERT_TRUE(Same(Outputs(made.graph, *inputs, flavour.tflite),
                     Outputs(*edited, *inputs, flavour.tflite)))
        << rule << " " << i;
  }
  // Sums of floats are never bitwise in parts; ADD_N has no order.
  const bool none = flavour.type == ElementType::kFloat32 &&
                    (rule == "channel-wise" || (rule == "sum" && flavour.tflite));
  EXPECT_GE(applied, none ? 0 : 190) << rule;
  EXPECT_LE(applied, none ? 0 : 400) << rule;
}

std::string NameOf(const testing::TestParamInfo<RuleAndFlavour>& instance) {
  constexpr const char* kNames[] = {"Float", "Int8", "Uint8", "Onnx"};
  std::string name(std::get<0>(instance.param));
  std::erase(name, '-');
  return name + kNames[std::get<1>(instance.param)];
}

INSTANTIATE_TEST_SUITE_P(All, RuleTest, testing::ValuesIn(Instances()), NameOf);

// TensorFlow Lite Micro loads no CONCATENATION of more than ten: flattened ones stay within it.
TEST(SettingsTest, ConcatenationsStayWithinTheRuntime) {
  Random random(3);
  int more = 0;
  for (int i = 0; i < 400; ++i) {
    const graph::Graph graph = NetworkMaker(kFlavours[i % 2], &random).Make();
    const auto max_inputs = [&](plan::Runtime runtime) {
      const Settings settings = SettingsFor(runtime, {});
      const auto applications =
          AllApplications(graph, settings, [](const Rule&, plan::Exactness) { return true; });
      const auto edited = Apply(graph, applications, settings);
      EXPECT_TRUE(edited);
      std::size_t most = 0;
      for (const graph::Op& op : edited->subgraphs[kMain].ops) {
        if (op.type == "CONCATENATION") most = std::max(most, op.inputs.size());
      }
      return most;
    };
    more += max_inputs(plan::Runtime::kLitert) > 10 ? 1 : 0;
    EXPECT_LE(max_inputs(plan::Runtime::kTflm), 10U) << i;
  }
  EXPECT_GT(more, 0);
}

}  // namespace
}  // namespace neap::rewrite
