// SPDX-License-Identifier: Apache-2.0
//
// The parts of the text of `neap plan`: bytes that tensors share, features, long names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neap/show/report/in_use.h"
#include "neap/show/report/report.h"
#include "testing/report_models.h"

namespace neap::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr graph::SubgraphId kMain{0};

plan::TensorPlacement Place(std::int32_t tensor, std::int64_t offset, std::int64_t bytes,
                            std::int32_t first, std::int32_t last) {
  return {kMain, graph::TensorId(tensor), offset, bytes, first, last};
}

// The plan of TwoOperators() in which y starts 50,528 B below x: they share 100,000 B.
class SharingTest : public ::testing::Test {
 protected:
  SharingTest() {
    Entry().tensors = {Place(0, 50528, 150528, 0, 1), Place(1, 0, 150528, 0, 2),
                       Place(2, 150528, 1000, 1, 2)};
    Entry().overlaps = {
        {0, kMain, graph::TensorId(0), graph::TensorId(1), plan::OverlapKind::kStartsBelow, 50528}};
    Entry().arena_bytes = 201056;
    Entry().arena_lower_bound_bytes = Entry().arena_given_order_lower_bound_bytes = 201056;
    report_.graph = &graph_;
    report_.compiled = &compiled_;
  }
  plan::EntryPlan& Entry() { return compiled_.plan.entries[0]; }

  graph::Graph graph_ = testing::TwoOperators();
  compile::Compiled compiled_ = testing::PlanOfTwoOperators();
  PlanReport report_;
};

TEST_F(SharingTest, TheSumEndsAtTheArena) {
  Style wide;
  wide.columns = 100;
  const std::string text = PlanText(report_, wide);
  EXPECT_THAT(text, HasSubstr("\nArena fullest at operator #0 'CONV_2D': input 'x' 150,528 + "
                              "output 'y' 150,528 - 100,000 shared =\n  201,056 B.\n"));
  EXPECT_THAT(text, Not(HasSubstr("Peak at operator")));
  EXPECT_THAT(text,
              HasSubstr("  live bytes at the peak  301,056      301,056     340,000\n"
                        "  bytes in use, maximum   201,056\n"
                        "  arena                   201,056      201,056     351,232\n"
                        "  live bytes count each tensor in full; the rows below count shared bytes "
                        "once\n"));
}

TEST_F(SharingTest, NoRowWithoutSharing) {
  Entry().arena_bytes = 301056;
  const std::string text = PlanText(report_, Style());
  EXPECT_THAT(text, Not(HasSubstr("in use")));
  // The file order alone shares bytes.
  compiled_.file_order.arena_bytes = 330000;
  EXPECT_THAT(PlanText(report_, Style()), HasSubstr("  live bytes count each tensor in full"));
}

// The step with the most addresses in use is not always the one with the most live bytes.
TEST_F(SharingTest, TheFullestSlotIsThatOfTheAddresses) {
  Entry().tensors[0].offset = 0;
  Entry().tensors[2] = Place(2, 150528, 80000, 1, 2);
  const auto fullest = FindFullestSlot(compiled_.plan, Entry());
  ASSERT_TRUE(fullest);
  EXPECT_EQ(fullest->cause.op, graph::OpId(1));
  EXPECT_EQ(fullest->in_use_bytes, 230528);
  EXPECT_EQ(fullest->live_bytes, 230528);
}

// As in the peak: an output in place counts nothing while its operator runs.
TEST_F(SharingTest, OutputsInPlaceAreNotListed) {
  Entry().tensors[0].offset = 0;
  Entry().overlaps[0].kind = plan::OverlapKind::kInPlace;
  Entry().tensors.pop_back();
  const auto fullest = FindFullestSlot(compiled_.plan, Entry());
  ASSERT_TRUE(fullest);
  EXPECT_EQ(fullest->cause.tensors.size(), 1U);
  EXPECT_EQ(fullest->live_bytes, 150528);
  EXPECT_EQ(fullest->in_use_bytes, 150528);
}

TEST_F(SharingTest, ScratchAndAlignmentCount) {
  compiled_.plan.runtime = plan::Runtime::kTflm;
  Entry().tensors = {Place(0, 0, 10, 0, 1), Place(1, 16, 20, 0, 2)};
  Entry().overlaps.clear();
  Entry().scratch = {{0, 48, 5}};
  const auto fullest = FindFullestSlot(compiled_.plan, Entry());
  ASSERT_TRUE(fullest);
  EXPECT_EQ(fullest->cause.scratch_bytes, 16);
  EXPECT_EQ(fullest->live_bytes, 16 + 32 + 16);
  EXPECT_EQ(fullest->in_use_bytes, 16 + 32 + 16);
  Entry().tensors.clear();
  EXPECT_FALSE(FindFullestSlot(compiled_.plan, Entry()));
}

TEST_F(SharingTest, Tiles) {
  CascadeReport cascade;
  cascade.device = "cortex-m4";
  cascade.tiles = 4;
  cascade.macs = 1003;
  cascade.uncut_macs = 1000;
  cascade.cycles = 26474529;
  cascade.uncut_cycles = 26256444;
  cascade.uncut_arena_bytes = 55296;
  cascade.regions = {"operator #0 in 2 tiles along axis 1"};
  report_.cascade = cascade;
  EXPECT_THAT(PlanText(report_, Style()),
              HasSubstr("  4 tiles: 1.003x MACs, 26,474,529 modelled cycles on cortex-m4\n"
                        "    without tiles: arena 55,296 B, 26,256,444 modelled cycles\n"
                        "    operator #0 in 2 tiles along axis 1\n"));
}

TEST_F(SharingTest, NamesTheKernels) {
  compiled_.plan.kernels = ops::KernelLibrary::kTflmReference;
  EXPECT_THAT(PlanText(report_, Style()),
              HasSubstr("\nValid only with tflm-reference kernels: with others, outputs are "
                        "silently wrong.\n"));
  compiled_.plan.kernels = ops::KernelLibrary::kCopies;
  EXPECT_THAT(PlanText(report_, Style()), Not(HasSubstr("kernels")));
}

TEST_F(SharingTest, FusedNamesAreShort) {
  auto& tensors = graph_.subgraphs[kMain].tensors;
  tensors[graph::TensorId(0)].name = "net/a/Relu;net/a/BiasAdd;net/a/Conv2D";
  tensors[graph::TensorId(1)].name = "net/b/Relu;net/b/Conv2D";
  const std::string text = PlanText(report_, Style());
  EXPECT_THAT(text, HasSubstr("input 'a/Relu' 150,528"));
  EXPECT_THAT(text, HasSubstr("output 'b/Relu'\n  150,528"));
  EXPECT_THAT(PlanJson(report_), HasSubstr("\"net/a/Relu;net/a/BiasAdd;net/a/Conv2D\""));
}

}  // namespace
}  // namespace neap::report
