// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "neap/show/report/report.h"
#include "testing/report_models.h"

namespace neap::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CHeaderTest : public ::testing::Test {
 protected:
  CHeaderTest() {
    report_.graph = &graph_;
    report_.compiled = &compiled_;
    plan::EntryPlan& entry = compiled_.plan.entries[0];
    const graph::SubgraphId main(0);
    entry.tensors = {{main, graph::TensorId(0), 0, 150528, 0, 1},
                     {main, graph::TensorId(1), 150528, 150528, 0, 2}};
  }
  std::string Header(const std::string& path = "out/net-1.h") { return CHeader(report_, path); }

  graph::Graph graph_ = testing::TwoOperators();
  compile::Compiled compiled_ = testing::PlanOfTwoOperators();
  PlanReport report_;
};

TEST_F(CHeaderTest, SizesAndOffsets) {
  EXPECT_EQ(Header(),
            "/* Memory of model.tflite (sha256 abcd), planned by Neap 0.1.0 for ideal. */\n"
            "#ifndef NET_1_NEAP_H\n"
            "#define NET_1_NEAP_H\n"
            "\n"
            "#define NET_1_ARENA_BYTES 301056 /* activations */\n"
            "#define NET_1_ARENA_ALIGNMENT 1 /* of offsets and of the arena's start */\n"
            "\n"
            "/* X(subgraph, tensor index, memory, offset, bytes, name), once for every "
            "address of a tensor. */\n"
            "#define NET_1_TENSORS 2\n"
            "#define NET_1_FOR_EACH_TENSOR(X) \\\n"
            "  X(0, 0, 0, 0, 150528, \"x\") \\\n"
            "  X(0, 1, 0, 150528, 150528, \"y\")\n"
            "\n"
            "#endif /* NET_1_NEAP_H */\n");
}

TEST_F(CHeaderTest, TflmHasItsTotalArenaAndThePlanOfTheShim) {
  compiled_.plan.runtime = plan::Runtime::kTflm;
  compiled_.delivered_arena_bytes = 301056;
  compiled_.totals = {{&target::DefaultTarget(), 2000, 303056, ""}};
  compiled_.buffer_offsets = {0, 150528, 16};
  const std::string header = Header();
  EXPECT_THAT(header, HasSubstr("#define NET_1_ARENA_BYTES 301056 /* activations alone, as TFLM"));
  EXPECT_THAT(header, HasSubstr("#define NET_1_TENSOR_ARENA_BYTES 303056 "));
  EXPECT_THAT(header,
              HasSubstr("#define NET_1_BUFFERS 3\n"
                        "#define NET_1_BUFFER_PLAN { 3, \\\n  0, \\\n  150528, \\\n  16 }\n"));
  EXPECT_THAT(header, HasSubstr("Shim, with the kernels of Cortex-M, reference kernels:\n"));
  EXPECT_THAT(header, HasSubstr(" /* tensor_arena[], TFLM's total arena: Cortex-M, reference"));
  const target::Target* const cmsis_nn = target::TargetNamed("cortex-m4+cmsis-nn");
  compiled_.plan.target = cmsis_nn;
  compiled_.totals[0].target = cmsis_nn;
  const std::string optimised = Header();
  EXPECT_THAT(optimised, HasSubstr("Shim, with the kernels of Cortex-M4, CMSIS-NN:\n"));
  EXPECT_THAT(optimised, Not(HasSubstr("reference kernels")));
  compiled_.unknown_kernels = {{"#1 'MY_OP' */", ""}};
  compiled_.totals[0].missing = "a reason";
  const std::string incomplete = Header();
  EXPECT_THAT(incomplete, Not(HasSubstr("BUFFER_PLAN")));
  EXPECT_THAT(incomplete, Not(HasSubstr("define NET_1_ARENA_BYTES")));
  EXPECT_THAT(incomplete, HasSubstr("the scratch of operator #1 'MY_OP' *_ is not modelled"));
  EXPECT_THAT(incomplete, HasSubstr("/* TFLM's total arena is unknown: a reason. */"));
}

TEST_F(CHeaderTest, NamesOfAFileStayInsideTheirQuotes) {
  graph_.subgraphs[graph::SubgraphId(0)].tensors[graph::TensorId(0)].name =
      "a\"\\\n?\xff"
      "1";
  compiled_.plan.model = "*/ int x; /*";
  const std::string header = Header("7.h");
  EXPECT_THAT(header, HasSubstr("X(0, 0, 0, 0, 150528, \"a\\042\\134\\012\\077\\3771\")"));
  EXPECT_THAT(header, StartsWith("/* Memory of *_ int x; /_ (sha256"));
  EXPECT_THAT(header, HasSubstr("#ifndef MODEL_7_NEAP_H"));
}

TEST_F(CHeaderTest, EveryMemoryHasItsSize) {
  compiled_.plan.memories = {{"sram", 200000, 8000}, {"psram", 400000, 1000}};
  compiled_.plan.entries[0].tensors[1].memory = 1;
  const std::string header = Header();
  EXPECT_THAT(header, HasSubstr("#define NET_1_MEMORY_0_BYTES 150528 /* sram */\n"
                                "#define NET_1_MEMORY_1_BYTES 301056 /* psram */\n"));
  EXPECT_THAT(header, HasSubstr("X(0, 1, 1, 150528, 150528, \"y\")"));
}

TEST_F(CHeaderTest, EveryEntryHasItsOwnList) {
  compiled_.plan.entries.push_back(compiled_.plan.entries[0]);
  compiled_.plan.entries[1].subgraph = graph::SubgraphId(2);
  EXPECT_THAT(Header(), HasSubstr("#define NET_1_FOR_EACH_TENSOR_OF_2(X) "));
}

}  // namespace
}  // namespace neap::report
