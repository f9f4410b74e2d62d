// SPDX-License-Identifier: Apache-2.0
#include "neap/emit/emit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "neap/base/random.h"
#include "neap/plan/plan.h"
#include "testing/streams.h"

namespace neap::emit {
namespace {

using graph::OpId;
using graph::TensorId;

// A depthwise convolution whose input is above its output, apart.
struct Small {
  graph::Graph graph;
  plan::Plan plan;
};

Small Apart() {
  Random random(1);
  Small small{stream::test::Depthwise(&random, 5, 5, 4), {}};
  const graph::Subgraph& main = small.graph.subgraphs[graph::SubgraphId(0)];
  constexpr std::int64_t kBytes = 100;
  plan::EntryPlan entry;
  entry.subgraph = graph::SubgraphId(0);
  entry.steps = {{graph::SubgraphId(0), OpId(0)}};
  entry.tensors = {{graph::SubgraphId(0), main.inputs[0], kBytes, kBytes, 0, 1},
                   {graph::SubgraphId(0), main.outputs[0], 0, kBytes, 0, 1}};
  entry.arena_bytes = 2 * kBytes;
  small.plan.model = "a */ name.tflite";
  small.plan.entries = {entry};
  return small;
}

std::string TextOf(const Emitted& emitted, const std::string& name) {
  for (const File& file : emitted.files) {
    if (file.name == name) return file.bytes;
  }
  return "";
}

TEST(Emit, PrefixesAreIdentifiers) {
  EXPECT_EQ(PrefixOf("models/Person-Detect.v2.tflite"), "person_detect");
  EXPECT_EQ(PrefixOf("8bit.tflite"), "model_8bit");
  EXPECT_TRUE(IsPrefix("vww_96"));
  for (const char* const wrong : {"", "Vww", "9a", "a-b", "neap", "neap_x", "_a"}) {
    EXPECT_FALSE(IsPrefix(wrong)) << wrong;
  }
}

Options Named(const char* prefix) {
  Options options;
  options.prefix = prefix;
  return options;
}

TEST(Emit, FilesAreThoseThatTheNetworkUses) {
  const Small small = Apart();
  const auto emitted = Emit(small.graph, small.plan, Named("net"));
  ASSERT_TRUE(emitted.has_value()) << emitted.error().ToString();
  EXPECT_NE(TextOf(*emitted, "neap_rt/neap_depthwise_s8.c"), "");
  EXPECT_EQ(TextOf(*emitted, "neap_rt/neap_conv_s8.c"), "");
  EXPECT_EQ(emitted->arena_bytes, 200 + 12);
  // A name from a file does not end a comment.
  EXPECT_NE(TextOf(*emitted, "net.h").find("a * / name"), std::string::npos);
  const auto again = Emit(small.graph, small.plan, Named("net"));
  EXPECT_EQ(TextOf(*emitted, "net.c"), TextOf(*again, "net.c"));
}

TEST(Emit, OverlapsBeyondTheKernelsAreRefusedByOperator) {
  Small small = Apart();
  plan::EntryPlan& entry = small.plan.entries[0];
  // A 3x3 window reads up to a row and a pixel after the written one: 24 bytes.
  entry.tensors[0].offset = 24;
  entry.overlaps = {{0, graph::SubgraphId(0), entry.tensors[0].tensor, entry.tensors[1].tensor,
                     plan::OverlapKind::kStartsBelow, 24}};
  EXPECT_TRUE(Emit(small.graph, small.plan, Options{}).has_value());
  entry.overlaps[0].bytes = 3;
  const auto refused = Emit(small.graph, small.plan, Options{});
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("#0 'DEPTHWISE_CONV_2D' overlaps"), std::string::npos)
      << refused.error().message;
}

TEST(Emit, OperatorsWithoutAKernelAreCountedByType) {
  Small small = Apart();
  graph::Subgraph& main = small.graph.subgraphs[graph::SubgraphId(0)];
  main.ops[OpId(0)].type = "L2_NORMALIZATION";
  main.ops[OpId(0)].kind = {};
  const auto refused = Emit(small.graph, small.plan, Options{});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "1 of 1 operators cannot be emitted as C: L2_NORMALIZATION (1); the first is #0 "
            "'L2_NORMALIZATION' has no kernel in neap_rt");
  std::vector<Refusal> refusals;
  ASSERT_FALSE(Emit(small.graph, small.plan, Options{}, &refusals).has_value());
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals[0].op, OpId(0));
  EXPECT_EQ(refusals[0].type, "L2_NORMALIZATION");
}

Options OfLibrary(std::optional<target::Simd> simd) {
  Options options;
  options.kernels = KernelSet::kCmsisNn;
  options.simd = simd;
  return options;
}

TEST(Emit, LayersOfCmsisNnHaveItsBufferInTheArena) {
  using target::Simd;
  const Small small = Apart();
  const auto arena_of = [&](std::optional<Simd> simd) {
    const auto emitted = Emit(small.graph, small.plan, OfLibrary(simd));
    return emitted ? emitted->arena_bytes : -1;
  };
  // Two input columns of 9 taps x 4 channels as 16-bit numbers; four of 124 channels as bytes.
  constexpr std::int64_t kPlain = 200 + 12;
  EXPECT_EQ(arena_of(Simd::kNone), kPlain);
  EXPECT_EQ(arena_of(Simd::kDsp), kPlain + 2 * 9 * 4);
  EXPECT_EQ(arena_of(Simd::kMve), kPlain + 4 * 124 * 9);
  EXPECT_EQ(arena_of(std::nullopt), kPlain + 4 * 124 * 9);
  const auto emitted = Emit(small.graph, small.plan, OfLibrary(Simd::kDsp));
  ASSERT_TRUE(emitted.has_value());
  EXPECT_NE(TextOf(*emitted, "neap_rt/neap_drive_cmsis_nn_depthwise.c"), "");
  EXPECT_NE(TextOf(*emitted, "neap_rt/neap_cmsis_nn.h"), "");
  EXPECT_EQ(TextOf(*emitted, "neap_rt/neap_depthwise_s8.c"), "");
  EXPECT_NE(TextOf(*emitted, "model.h").find("MODEL_BAD_LIBRARY (-4)"), std::string::npos);
  const auto portable = Emit(small.graph, small.plan, Options{});
  EXPECT_EQ(TextOf(*portable, "model.h").find("BAD_LIBRARY"), std::string::npos);
}

TEST(Emit, OverlapsOfLayersAreThoseOfCmsisNn) {
  Small small = Apart();
  plan::EntryPlan& entry = small.plan.entries[0];
  entry.tensors[0].offset = 24;
  entry.overlaps = {{0, graph::SubgraphId(0), entry.tensors[0].tensor, entry.tensors[1].tensor,
                     plan::OverlapKind::kStartsBelow, 24}};
  EXPECT_TRUE(Emit(small.graph, small.plan, OfLibrary(target::Simd::kDsp)).has_value());
  // Four pixels are gathered before they are written: less than that is too near.
  entry.overlaps[0].bytes = 12;
  const auto refused = Emit(small.graph, small.plan, OfLibrary(target::Simd::kDsp));
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("further than the kernels of CMSIS-NN permit"),
            std::string::npos)
      << refused.error().message;
}

TEST(Emit, BudgetsCountEverything) {
  const Small small = Apart();
  EXPECT_TRUE(Emit(small.graph, small.plan, Options{.budget_bytes = 212}).has_value());
  const auto refused = Emit(small.graph, small.plan, Options{.budget_bytes = 211});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kOverBudget);
  EXPECT_EQ(refused.error().message, "over budget: arena required 212 B, available 211 B");
}

}  // namespace
}  // namespace neap::emit
