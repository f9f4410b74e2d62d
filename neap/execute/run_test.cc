// SPDX-License-Identifier: Apache-2.0
//
// Plans of random networks, as the planner makes them and damaged on purpose.
#include "neap/execute/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "neap/check/check.h"
#include "neap/compile/compile.h"
#include "neap/execute/evaluate.h"
#include "neap/execute/inputs.h"
#include "testing/execute.h"

namespace neap::execute {
namespace {

using graph::ElementType;
using graph::SubgraphId;
using graph::TensorId;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kMemory = 1 << 24;

// A network of images of one size: convolutions, activations, sums and concatenations, with sizes
// that differ and bytes that hardly ever agree by chance.
graph::Graph RandomNetwork(Random* random) {
  GraphMaker maker;
  struct Image {
    TensorId id;
    std::int64_t channels;
  };
  constexpr std::int64_t kSize = 4;
  const auto image = [&](std::int64_t channels) {
    return Image{maker.Floats({1, kSize, kSize, channels}), channels};
  };
  const std::int64_t first = random->Between(1, 4);
  std::vector<Image> images = {
      {maker.Input(ElementType::kFloat32, {1, kSize, kSize, first}), first}};
  const std::int64_t operators = random->Between(4, 12);
  for (std::int64_t i = 0; i < operators; ++i) {
    const Image in = images[random->Below(images.size())];
    const Image other = images[random->Below(images.size())];
    const std::uint64_t kind = random->Below(4);
    if (kind == 0) {
      const Image out = image(in.channels);
      maker.Op("tflite", "TANH", {in.id}, {out.id});
      images.push_back(out);
    } else if (kind == 1 && in.channels == other.channels) {
      const Image out = image(in.channels);
      maker.Op("tflite", "ADD", {in.id, other.id}, {out.id});
      images.push_back(out);
    } else if (kind == 2 && in.channels + other.channels <= 12) {
      const Image out = image(in.channels + other.channels);
      maker.Op("tflite", "CONCATENATION", {in.id, other.id}, {out.id}, {{"axis", std::int64_t{3}}});
      images.push_back(out);
    } else {
      const std::int64_t channels = random->Between(1, 8);
      const Image out = image(channels);
      maker.Op("tflite", "CONV_2D",
               {in.id, maker.Constant(ElementType::kFloat32, {channels, 3, 3, in.channels},
                                      RandomFloats(channels * 9 * in.channels, random))},
               {out.id}, {{"stride_w", std::int64_t{1}}, {"stride_h", std::int64_t{1}}});
      images.push_back(out);
    }
  }
  maker.Output(images.back().id);
  if (images.size() > 4) maker.Output(images[images.size() - 3].id);
  return std::move(maker.graph());
}

struct Sample {
  graph::Graph graph;
  plan::Plan plan;
  std::vector<Value> inputs;
};

Sample RandomSample(Random* random) {
  Sample sample;
  sample.graph = RandomNetwork(random);
  compile::Options options;
  constexpr plan::Runtime kRuntimes[] = {plan::Runtime::kIdeal, plan::Runtime::kIdealInPlace,
                                         plan::Runtime::kTflm, plan::Runtime::kNeap};
  options.runtime = kRuntimes[random->Below(4)];
  options.order = random->Chance(1, 2) ? compile::kExactOrder : compile::kFileOrder;
  if (options.runtime != plan::Runtime::kNeap && random->Chance(1, 2)) {
    options.kernels = ops::KernelLibrary::kTflmReference;
  }
  const std::uint64_t more = random->Below(3);
  if (options.runtime == plan::Runtime::kIdeal && options.kernels == ops::KernelLibrary::kNone) {
    if (more == 0) options.moves = compile::MoveStrategy::kBest;
    if (more == 1) options.memories = {{"fast", 700, 8000}, {"slow", 1 << 20, 1000}};
  }
  auto compiled = compile::Compile(sample.graph, options);
  EXPECT_TRUE(compiled) << compiled.error().ToString();
  sample.plan = std::move(compiled->plan);
  auto inputs = RandomInputs(sample.graph.subgraphs[SubgraphId(0)], random->Next() >> 40U, kMemory);
  EXPECT_TRUE(inputs);
  sample.inputs = std::move(*inputs);
  return sample;
}

TEST(Run, PlansGiveTheBytesOfAnUnplannedRun) {
  Random random(2);
  std::size_t overlaps = 0;
  std::size_t memories = 0;
  for (int round = 0; round < 300; ++round) {
    const Sample sample = RandomSample(&random);
    overlaps += sample.plan.entries[0].overlaps.size();
    memories += sample.plan.memories.size();
    const auto planned = execute::Run(sample.graph, sample.plan.entries[0], sample.inputs, {});
    ASSERT_TRUE(planned) << planned.error().ToString();
    EXPECT_THAT(planned->violations, IsEmpty()) << "round " << round;
    EXPECT_LE(planned->high_water_bytes, planned->arena_bytes);
    const auto apart = Evaluate(sample.graph, SubgraphId(0), sample.inputs, {});
    ASSERT_TRUE(apart) << apart.error().ToString();
    ASSERT_EQ(planned->outputs.size(), apart->size());
    for (std::size_t i = 0; i < apart->size(); ++i) {
      EXPECT_EQ(planned->outputs[i].bytes, (*apart)[i].bytes);
    }
  }
  EXPECT_GT(overlaps, 200U);
  EXPECT_GT(memories, 20U);
}

enum class Damage : std::uint8_t { kOffset, kOrder, kLifetimeEnd, kLifetimeBegin, kTooDeep };
constexpr int kDamages = 5;

// false: there is nothing to damage in that way.
bool Apply(Damage damage, plan::EntryPlan* entry, Random* random) {
  plan::TensorPlacement& place = entry->tensors[random->Below(entry->tensors.size())];
  switch (damage) {
    case Damage::kOffset:
      place.offset += random->Chance(1, 2) ? 16 : -16;
      return place.offset >= 0 && place.offset + place.bytes <= entry->arena_bytes;
    case Damage::kOrder: {
      const std::size_t at = static_cast<std::size_t>(random->Below(entry->steps.size()));
      if (at + 1 >= entry->steps.size()) return false;
      std::swap(entry->steps[at], entry->steps[at + 1]);
      return true;
    }
    case Damage::kLifetimeEnd:
      --place.last;
      return true;
    case Damage::kLifetimeBegin:
      ++place.first;
      return true;
    case Damage::kTooDeep: {
      if (entry->overlaps.empty()) return false;
      const plan::Overlap& overlap = entry->overlaps[random->Below(entry->overlaps.size())];
      if (overlap.kind == plan::OverlapKind::kHoldsInput) return false;
      for (plan::TensorPlacement& other : entry->tensors) {
        if (other.tensor == overlap.output) other.offset += 4;
        if (other.tensor == overlap.output && other.offset + other.bytes > entry->arena_bytes) {
          return false;
        }
      }
      return true;
    }
  }
  return false;
}

// The executor's report is correct: a damaged plan that it accepts computes the right outputs, and
// errors of addresses and lifetimes that the checker reports are violations of the run.
TEST(Run, DamagedPlansAreCaught) {
  Random random(3);
  int wrong[kDamages] = {};
  int caught[kDamages] = {};
  for (int round = 0; round < 1500; ++round) {
    const Sample sample = RandomSample(&random);
    plan::Plan damaged = sample.plan;
    const auto kind = static_cast<std::size_t>(random.Below(kDamages));
    if (!Apply(static_cast<Damage>(kind), damaged.entries.data(), &random)) continue;
    const bool is_wrong = !check::CheckPlan(sample.graph, damaged).empty();
    const auto run = execute::Run(sample.graph, damaged.entries[0], sample.inputs, {});
    const bool found = !run || !run->violations.empty();
    wrong[kind] += is_wrong ? 1 : 0;
    caught[kind] += is_wrong && found ? 1 : 0;
    if (found) continue;
    const auto apart = Evaluate(sample.graph, SubgraphId(0), sample.inputs, {});
    ASSERT_TRUE(apart);
    for (std::size_t i = 0; i < apart->size(); ++i) {
      EXPECT_EQ(run->outputs[i].bytes, (*apart)[i].bytes)
          << "accepted, with other outputs: damage " << kind << ", round " << round;
    }
  }
  for (int kind = 0; kind < kDamages; ++kind) {
    RecordProperty("wrong" + std::to_string(kind), wrong[kind]);
    RecordProperty("caught" + std::to_string(kind), caught[kind]);
    EXPECT_GT(wrong[kind], 50) << kind;
  }
  // An overlap that is deeper than its rule, and an order or offset that the checker refuses for
  // another reason than bytes, may still be harmless; a lifetime that ends or begins too early
  // never is.
  EXPECT_EQ(caught[2], wrong[2]);
  EXPECT_EQ(caught[3], wrong[3]);
  EXPECT_GT(caught[0] * 10, wrong[0] * 5);
  EXPECT_GT(caught[1] * 10, wrong[1] * 5);
}

// in -> relu -> a, in + a -> b: three tensors of 16 bytes.
struct Small {
  GraphMaker maker;
  plan::EntryPlan entry;
  std::vector<Value> inputs;

  Small() {
    const TensorId in = maker.Input(ElementType::kFloat32, {4});
    const TensorId a = maker.Floats({4});
    const TensorId b = maker.Floats({4});
    maker.Op("tflite", "RELU", {in}, {a});
    maker.Op("tflite", "ADD", {in, a}, {b});
    maker.Output(b);
    entry.subgraph = SubgraphId(0);
    entry.steps = {{SubgraphId(0), graph::OpId(0)}, {SubgraphId(0), graph::OpId(1)}};
    entry.tensors = {{SubgraphId(0), in, 0, 16, 0, 2},
                     {SubgraphId(0), a, 16, 16, 0, 2},
                     {SubgraphId(0), b, 32, 16, 1, 2}};
    entry.arena_bytes = 48;
    inputs = {{ElementType::kFloat32, {4}, BytesOf(std::vector<float>{1, -2, 3, -4})}};
  }
  std::vector<std::string> Violations() {
    const auto result = execute::Run(maker.graph(), entry, inputs, {});
    EXPECT_TRUE(result) << result.error().ToString();
    return result ? result->violations : std::vector<std::string>();
  }
};

TEST(Run, ReportsWhatWentWrong) {
  EXPECT_THAT(Small().Violations(), IsEmpty());
  Small early;
  early.entry.tensors[1].last = 1;
  EXPECT_THAT(early.Violations(),
              testing::Contains(HasSubstr("'t1' is read outside of its lifetime")));
  Small over;
  over.entry.tensors[1].offset = 8;
  EXPECT_THAT(over.Violations(), testing::Contains(HasSubstr("'t0' shares bytes with #1 't1'")));
  EXPECT_THAT(over.Violations(),
              testing::Contains(HasSubstr("'t0' is still live and is overwritten")));
  Small order;
  std::swap(order.entry.steps[0], order.entry.steps[1]);
  EXPECT_THAT(order.Violations(), testing::Contains(HasSubstr("read before it is written")));
  Small twice;
  twice.entry.steps[1] = twice.entry.steps[0];
  EXPECT_THAT(twice.Violations(), testing::Contains(HasSubstr("runs again")));
  EXPECT_THAT(twice.Violations(), testing::Contains(HasSubstr("has no step")));
  EXPECT_THAT(twice.Violations(), testing::Contains(HasSubstr("never written")));
  Small scratch;
  scratch.entry.scratch = {{1, 0, 8}};
  EXPECT_THAT(scratch.Violations(), testing::Contains(HasSubstr("shares bytes with the scratch")));
}

// Under litert the tensor that overwrites another one keeps its address: the value of the first
// ends before.
TEST(Run, ValuesEndWhereTheRuntimeWritesOverThem) {
  GraphMaker maker;
  const TensorId in = maker.Input(ElementType::kFloat32, {8});
  const TensorId a = maker.Floats({8});
  const TensorId view = maker.Floats({2, 4});
  const TensorId sum = maker.Floats({2, 4});
  const TensorId out = maker.Floats({2, 4});
  const TensorId other = maker.Input(ElementType::kFloat32, {2, 4});
  maker.Op("tflite", "TANH", {in}, {a});
  maker.Op("tflite", "RESHAPE", {a}, {view});
  maker.Op("tflite", "ADD", {view, other}, {sum});
  maker.Op("tflite", "TANH", {sum}, {out});
  maker.Output(out);
  compile::Options options;
  options.runtime = plan::Runtime::kLitert;
  const auto compiled = compile::Compile(maker.graph(), options);
  ASSERT_TRUE(compiled) << compiled.error().ToString();
  const plan::EntryPlan& entry = compiled->plan.entries[0];
  EXPECT_TRUE(std::any_of(entry.overlaps.begin(), entry.overlaps.end(), [](const auto& overlap) {
    return overlap.kind == plan::OverlapKind::kInPlace;
  }));
  const auto inputs = RandomInputs(maker.Main(), 1, kMemory);
  const auto run = execute::Run(maker.graph(), entry, *inputs, {});
  ASSERT_TRUE(run) << run.error().ToString();
  EXPECT_THAT(run->violations, IsEmpty());
  // Who reads the value later does not find it.
  maker.Main().ops[graph::OpId(3)].inputs[0] = a;
  maker.Main().tensors[out].shape = graph::Shape{8};
  const auto late = execute::Run(maker.graph(), entry, *inputs, {});
  ASSERT_TRUE(late) << late.error().ToString();
  EXPECT_FALSE(late->violations.empty());
}

// An output may overlap each of two inputs; the inputs may not overlap each other, even where their
// bytes happen to be equal.
TEST(Run, WhatMayBeWrittenOverIsApart) {
  Small small;
  small.maker.Main().ops[graph::OpId(0)].type = "ADD";
  small.maker.Main().ops[graph::OpId(0)].inputs.push_back(TensorId(0));
  small.maker.Main().ops[graph::OpId(1)].inputs = {TensorId(0), TensorId(1)};
  small.inputs[0].bytes = BytesOf(std::vector<float>{0, 0, 0, 0});
  small.entry.tensors[2].offset = 0;
  small.entry.overlaps = {
      {1, SubgraphId(0), TensorId(0), TensorId(2), plan::OverlapKind::kInPlace, 0},
      {1, SubgraphId(0), TensorId(1), TensorId(2), plan::OverlapKind::kStartsBelow, 0}};
  EXPECT_THAT(small.Violations(), IsEmpty());
  small.entry.tensors[1].offset = 0;
  EXPECT_THAT(small.Violations(), testing::Contains(HasSubstr("'t0' shares bytes with #1 't1'")));
  // Copies of a copy are one value.
  Small copies;
  for (const int op : {0, 1}) copies.maker.Main().ops[graph::OpId(op)].type = "RESHAPE";
  copies.maker.Main().ops[graph::OpId(1)].inputs = {TensorId(1)};
  copies.maker.Output(TensorId(0));
  for (auto& tensor : copies.entry.tensors) tensor.offset = 0;
  copies.entry.overlaps = {
      {0, SubgraphId(0), TensorId(0), TensorId(1), plan::OverlapKind::kHoldsInput, 0},
      {1, SubgraphId(0), TensorId(1), TensorId(2), plan::OverlapKind::kHoldsInput, 0}};
  EXPECT_THAT(copies.Violations(), IsEmpty());
  // The last output reads what is in place of the input, and its overlap names the input.
  Small chain;
  chain.maker.Main().ops[graph::OpId(1)].type = "RELU";
  chain.maker.Main().ops[graph::OpId(1)].inputs = {TensorId(1)};
  for (auto& tensor : chain.entry.tensors) tensor.offset = 0;
  chain.entry.overlaps = {
      {1, SubgraphId(0), TensorId(0), TensorId(2), plan::OverlapKind::kStartsBelow, 0}};
  EXPECT_THAT(chain.Violations(), testing::Contains(HasSubstr("'t0' shares bytes with #1 't1'")));
  chain.entry.overlaps.push_back(
      {0, SubgraphId(0), TensorId(0), TensorId(1), plan::OverlapKind::kInPlace, 0});
  EXPECT_THAT(chain.Violations(), IsEmpty());
}

TEST(Run, TensorsMoveAndLieInSeveralMemories) {
  Small moved;
  moved.entry.steps.insert(moved.entry.steps.begin() + 1,
                           plan::Step{SubgraphId(0), graph::OpId(), TensorId(1)});
  moved.entry.tensors = {{SubgraphId(0), TensorId(0), 0, 16, 0, 3, 0},
                         {SubgraphId(0), TensorId(1), 16, 16, 0, 2, 0},
                         {SubgraphId(0), TensorId(1), 24, 16, 1, 3, 0},
                         {SubgraphId(0), TensorId(2), 0, 16, 2, 3, 1}};
  moved.entry.memory_bytes = {40, 16};
  moved.entry.arena_bytes = 56;
  EXPECT_THAT(moved.Violations(), IsEmpty());
  const auto result = execute::Run(moved.maker.graph(), moved.entry, moved.inputs, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(NumbersOf<float>(result->outputs[0].bytes), (std::vector<float>{2, -2, 6, -4}));
  EXPECT_EQ(result->arena_bytes, 56);
  EXPECT_EQ(result->high_water_bytes, 56);
  // Onto a live tensor; from a place that is gone; into the wrong memory.
  Small onto = moved;
  onto.entry.tensors[2].offset = 8;
  EXPECT_THAT(onto.Violations(),
              testing::Contains(HasSubstr("'t0' is still live and is overwritten")));
  Small gone = moved;
  gone.entry.tensors[1].last = 1;
  EXPECT_THAT(gone.Violations(), testing::Contains(HasSubstr("'t1' is read outside")));
  Small nowhere = moved;
  nowhere.entry.steps.push_back(plan::Step{SubgraphId(0), graph::OpId(), TensorId(1)});
  EXPECT_THAT(nowhere.Violations(), testing::Contains(HasSubstr("no destination")));
  Small wrong = moved;
  wrong.entry.tensors[3].memory = 2;
  EXPECT_FALSE(execute::Run(wrong.maker.graph(), wrong.entry, wrong.inputs, {}));
}

TEST(Run, WhatCannotBeRunIsAnError) {
  Small outside;
  outside.entry.tensors[2].offset = 33;
  EXPECT_FALSE(execute::Run(outside.maker.graph(), outside.entry, outside.inputs, {}));
  Small huge;
  huge.entry.tensors[2].offset = std::int64_t{1} << 62;
  EXPECT_FALSE(execute::Run(huge.maker.graph(), huge.entry, huge.inputs, {}));
  Small arena;
  arena.entry.arena_bytes = std::int64_t{1} << 50;
  EXPECT_FALSE(execute::Run(arena.maker.graph(), arena.entry, arena.inputs, {}));
  Small sizes;
  sizes.entry.tensors[0].bytes = 12;
  EXPECT_FALSE(execute::Run(sizes.maker.graph(), sizes.entry, sizes.inputs, {}));
  Small order_only;
  order_only.entry.tensors.clear();
  EXPECT_FALSE(execute::Run(order_only.maker.graph(), order_only.entry, order_only.inputs, {}));
  Small step;
  step.entry.steps[0].op = graph::OpId(7);
  EXPECT_FALSE(execute::Run(step.maker.graph(), step.entry, step.inputs, {}));
}

TEST(Run, ObserverSeesAddressesAndWhatIsFreed) {
  Small small;
  small.entry.tensors[0].last = 2;
  std::vector<StepEvent> events;
  RunOptions options;
  options.observer = [&](const StepEvent& event) { events.push_back(event); };
  const auto result = execute::Run(small.maker.graph(), small.entry, small.inputs, options);
  ASSERT_TRUE(result);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].reads[1].offset, 16);
  EXPECT_EQ(events[1].writes[0].offset, 32);
  EXPECT_EQ(result->high_water_bytes, 48);
}

}  // namespace
}  // namespace neap::execute
