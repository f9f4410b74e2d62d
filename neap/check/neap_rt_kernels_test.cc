// SPDX-License-Identifier: Apache-2.0
//
// Distances of neap_rt: the planner's (ops/neap_rt_overlap.cc) and the walk of the checker, each
// with code of its own, on random operators of all kinds. tests/emit/operators_test.cc compares
// them with the kernels themselves.
#include "neap/check/neap_rt_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "neap/base/random.h"
#include "neap/check/kernel_simulation.h"
#include "neap/ops/neap_rt.h"
#include "testing/cases.h"
#include "testing/random_network.h"

namespace neap::check {
namespace {

using graph::ElementType;
using graph::OpId;
using graph::SubgraphId;
using ops::KernelLibrary;
using ops::kNeapRt;

TEST(NeapRtKernels, PlannerAndWalkAgree) {
  std::map<std::string, int> found;
  const auto& all = property::TfliteCases();
  const int cases = Cases(60) * static_cast<int>(all.size());
  for (int i = 0; i < cases; ++i) {
    const property::OperatorCase& one = all[static_cast<std::size_t>(i) % all.size()];
    Random random(static_cast<std::uint64_t>(i) + 1);
    const ElementType type = random.Chance(2, 3) ? ElementType::kInt8 : ElementType::kUint8;
    if (one.domain != "tflite" ||
        std::find(one.types.begin(), one.types.end(), type) == one.types.end()) {
      continue;
    }
    property::Network network(&random);
    one.add(network, one, type);
    const graph::Graph graph = network.Finish();
    const graph::Subgraph& main = graph.subgraphs[SubgraphId(0)];
    const graph::Op& op = main.ops[OpId(0)];
    if (op.outputs.size() != 1 || !op.bodies.empty()) continue;
    const std::int64_t bytes = graph::TensorBytes(main.tensors[op.outputs[0]]).value_or(0);
    for (std::size_t input = 0; input < op.inputs.size(); ++input) {
      if (!op.inputs[input].valid() || main.tensors[op.inputs[input]].constant) continue;
      SCOPED_TRACE(one.type + " " + std::to_string(i) + ", input " + std::to_string(input));
      const auto rule = ops::OverlapRuleOf(main, op, input, kNeapRt);
      if (rule && rule->kind == ops::OverlapRule::Kind::kHoldsInput) {
        EXPECT_TRUE(HoldsInput(main, op, input, kNeapRt, rule->bytes));
        continue;
      }
      const auto walked = LeastDistance(main, op, input, kNeapRt, bytes - 1);
      ASSERT_EQ(rule.has_value(), walked.has_value());
      if (!rule) continue;
      ASSERT_EQ(rule->bytes, *walked);
      // Not further than the order of Neap's executor needs: its plans are right here too.
      const auto neap = ops::OverlapRuleOf(main, op, input, KernelLibrary::kNeap);
      if (neap) {
        EXPECT_LE(rule->bytes, neap->bytes);
      }
      ++found[one.type];
    }
  }
  for (const char* const type :
       {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D", "MAX_POOL_2D", "ADD",
        "SUB", "MUL", "SOFTMAX", "PAD", "MEAN", "SUM", "RESIZE_NEAREST_NEIGHBOR", "LOGISTIC",
        "RELU"}) {
    EXPECT_GT(found[type], 0) << type;
  }
}

}  // namespace
}  // namespace neap::check
