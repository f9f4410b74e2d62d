// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/cascade/device.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace neap::cascade {
namespace {

using graph::ElementType;
using graph::Op;
using graph::Shape;
using graph::Subgraph;
using graph::TensorId;

TensorId Add(Subgraph* subgraph, const Shape& shape, bool constant = false) {
  graph::Tensor tensor;
  tensor.type = ElementType::kInt8;
  tensor.shape = shape;
  tensor.constant = constant;
  return subgraph->tensors.push_back(std::move(tensor));
}

// A layer of which only the arithmetic is of interest.
Subgraph Layer(const std::string& type, const Shape& in, const Shape& out, const Shape& weights,
               std::int64_t stride_h, std::int64_t stride_w) {
  Subgraph subgraph;
  Op op;
  op.type = type;
  op.domain = "tflite";
  op.inputs = {Add(&subgraph, in), Add(&subgraph, weights, true)};
  op.outputs = {Add(&subgraph, out)};
  op.attributes = {{"padding", std::int64_t{0}}, {"stride_h", stride_h}, {"stride_w", stride_w}};
  subgraph.ops.push_back(std::move(op));
  return subgraph;
}

void ExpectWithinTenPercent(std::int64_t found, std::int64_t expected) {
  EXPECT_LE(found * 10, expected * 11);
  EXPECT_GE(found * 10, expected * 9);
}

// Cycles that TVM's cascader counts for these layers on an Ethos-U55-128, for the block that it
// chooses.
TEST(Device, ReferenceCyclesOfEthosU55) {
  const Device device = *DeviceNamed("ethos-u55-128-high-end");
  const auto compute = [&](const Subgraph& layer) {
    return CyclesOf(layer, layer.ops[graph::OpId(0)], device).compute;
  };
  ExpectWithinTenPercent(
      compute(Layer("CONV_2D", {1, 16, 16, 96}, {1, 16, 16, 96}, {96, 3, 3, 96}, 1, 1)), 167'733);
  ExpectWithinTenPercent(
      compute(Layer("CONV_2D", {1, 49, 10, 1}, {1, 25, 10, 276}, {276, 10, 4, 1}, 2, 1)), 174'105);
  // A name that is not looked up right would make it free.
  ExpectWithinTenPercent(
      compute(Layer("DEPTHWISE_CONV_2D", {1, 25, 10, 276}, {1, 13, 5, 276}, {1, 3, 3, 276}, 2, 2)),
      17'590);
}

// Cycles for each element of an output of int8 that TVM's cascader counts, in thousandths.
TEST(Device, ReferenceCyclesOfOutputElements) {
  Subgraph subgraph;
  const auto cycles = [&](const std::string& type, ElementType out, std::int64_t fused,
                          std::string_view device) {
    Op op;
    op.type = type;
    op.domain = "tflite";
    op.outputs = {Add(&subgraph, {1, 8, 8, 8})};
    subgraph.tensors[op.outputs[0]].type = out;
    op.attributes = {{"fused_activation_function", fused}};
    return OutputMillicycles(subgraph, op, DeviceNamed(device)->engine);
  };
  struct Row {
    std::string_view device;
    std::int64_t lookup, max_pool, add, multiply, multiply_wide;
  };
  for (const Row& row : {Row{"ethos-u55-256-high-end", 1000, 125, 750, 375, 750},
                         Row{"ethos-u55-128-high-end", 1000, 250, 1500, 750, 750},
                         Row{"ethos-u55-64-high-end", 1000, 500, 3000, 1500, 1500},
                         Row{"ethos-u55-32-high-end", 2000, 1000, 6000, 3000, 3000}}) {
    constexpr std::int64_t kTanh = 4;
    EXPECT_EQ(cycles("CONV_2D", ElementType::kInt8, kTanh, row.device), row.lookup);
    EXPECT_EQ(cycles("LOGISTIC", ElementType::kInt8, 0, row.device), row.lookup);
    EXPECT_EQ(cycles("MAX_POOL_2D", ElementType::kInt8, 0, row.device), row.max_pool);
    EXPECT_EQ(cycles("ADD", ElementType::kInt8, 0, row.device), row.add);
    EXPECT_EQ(cycles("MUL", ElementType::kInt8, 0, row.device), row.multiply);
    EXPECT_EQ(cycles("MUL", ElementType::kInt32, 0, row.device), row.multiply_wide);
  }
}

// Vela 3.10 counts these cycles for layers of a MobileNetV1 on an Ethos-U55-128 whose weights are
// read from its SRAM: small images, where weights are decoded for few pixels, and blocks that do
// not divide the image.
TEST(Device, BlocksOfSmallImages) {
  Device device = *DeviceNamed("ethos-u55-128-high-end");
  device.memories[0].holds_weights = true;
  const auto of = [&](const Subgraph& layer) {
    return CyclesOf(layer, layer.ops[graph::OpId(0)], device);
  };
  const OpCycles wide =
      of(Layer("CONV_2D", {1, 24, 24, 32}, {1, 24, 24, 32}, {32, 1, 1, 32}, 1, 1));
  ExpectWithinTenPercent(wide.compute, 9'744);
  const OpCycles small =
      of(Layer("CONV_2D", {1, 6, 6, 128}, {1, 6, 6, 128}, {128, 1, 1, 128}, 1, 1));
  // Vela's block takes 48 channels and this sum with them; another block is faster.
  EXPECT_EQ(small.compute, 5'184);
  const OpCycles last =
      of(Layer("CONV_2D", {1, 3, 3, 256}, {1, 3, 3, 256}, {256, 1, 1, 256}, 1, 1));
  ExpectWithinTenPercent(last.compute, 9'421);
  EXPECT_EQ(last.block.height, 3);
  // An engine with little memory reads the input and the weights more often.
  const Subgraph box = Layer("CONV_2D", {1, 24, 24, 32}, {1, 24, 24, 32}, {32, 3, 3, 32}, 1, 1);
  const OpCycles roomy = of(box);
  device.engine.buffer_bytes = 2048;
  device.engine.input_granule_bytes = device.engine.sums_granule_bytes = 1;
  const OpCycles confined = of(box);
  EXPECT_GT(confined.transfer, roomy.transfer);
  EXPECT_NE(confined.block, EngineBlock{});
}

TEST(Device, CompressedWeightsTakeFewerBytesEverywhere) {
  Device device = *DeviceNamed("cortex-m4");
  const Subgraph layer = Layer("CONV_2D", {1, 4, 4, 64}, {1, 4, 4, 64}, {64, 3, 3, 64}, 1, 1);
  const std::int64_t before = CyclesOf(layer, layer.ops[graph::OpId(0)], device).transfer;
  EXPECT_EQ(StoredBytes(1001, device), 1001);
  device.weights_per_mille = 250;
  EXPECT_EQ(StoredBytes(1001, device), 251);
  const std::int64_t after = CyclesOf(layer, layer.ops[graph::OpId(0)], device).transfer;
  // 36,864 bytes of weights at two bytes a cycle, 2,048 of activations at four.
  EXPECT_EQ(before, 36'864 / 2 + 2'048 / 4);
  EXPECT_EQ(after, 9'216 / 2 + 2'048 / 4);
}

// Time is bytes divided by bandwidth.
TEST(Device, TwiceTheBandwidthTakesHalfTheTime) {
  Device device = *DeviceNamed("cortex-m4");
  const Subgraph layer = Layer("CONV_2D", {1, 32, 32, 16}, {1, 32, 32, 16}, {16, 3, 3, 16}, 1, 1);
  const std::int64_t before = CyclesOf(layer, layer.ops[graph::OpId(0)], device).transfer;
  for (DeviceMemory& memory : device.memories) {
    memory.read_per_kilocycle *= 2;
    memory.write_per_kilocycle *= 2;
  }
  const std::int64_t after = CyclesOf(layer, layer.ops[graph::OpId(0)], device).transfer;
  EXPECT_GT(before, 0);
  EXPECT_LE(std::abs(before - 2 * after), 4);
}

TEST(Device, TransfersHideBehindArithmeticOnlyWhereADmaDoesThem) {
  Device device = *DeviceNamed("cortex-m7");
  const Subgraph layer = Layer("CONV_2D", {1, 32, 32, 16}, {1, 32, 32, 16}, {16, 3, 3, 16}, 1, 1);
  const OpCycles one_by_one = CyclesOf(layer, layer.ops[graph::OpId(0)], device);
  EXPECT_EQ(one_by_one.total, one_by_one.compute + one_by_one.transfer + device.launch_cycles);
  device.overlaps_transfers = true;
  const OpCycles both = CyclesOf(layer, layer.ops[graph::OpId(0)], device);
  EXPECT_EQ(both.total, std::max(both.compute, both.transfer) + device.launch_cycles);
}

TEST(Device, PresetsAreComplete) {
  EXPECT_EQ(DevicePresets().size(), 11U);
  for (const std::string_view name : DevicePresets()) {
    const auto device = DeviceNamed(name);
    ASSERT_TRUE(device) << name;
    EXPECT_EQ(device->name, name);
    EXPECT_FALSE(device->source.empty());
    EXPECT_EQ(device->memories.size(), 2U);
  }
  EXPECT_FALSE(DeviceNamed("cortex-m99"));
}

TEST(Device, DescriptionsAreRead) {
  const auto device = ParseDevice(R"({
    "name": "mine", "source": "measured", "clock_hertz": 100000000, "launch_cycles": 7,
    "memories": [{"name": "ram", "read_per_kilocycle": 4000, "write_per_kilocycle": 2000,
                  "latency_cycles": 3, "burst_bytes": 16, "holds_activations": true,
                  "holds_weights": true}],
    "per_kilocycle": {"conv": 100, "move": 1000}, "overlaps_transfers": true})",
                                  "d.json");
  ASSERT_TRUE(device) << device.error().ToString();
  EXPECT_EQ(device->launch_cycles, 7);
  EXPECT_EQ(device->memories[0].burst_bytes, 16);
  EXPECT_EQ(device->per_kilocycle[0], 100);
  EXPECT_TRUE(device->overlaps_transfers);
}

TEST(Device, BadDescriptionsAreReportedInOneLine) {
  for (const char* const text :
       {"", "[]", "{", R"({"memories": []})", R"({"memories": [{}]})",
        R"({"memories": [{"burst_bytes": 0}], "per_kilocycle": {}})",
        R"({"memories": [{}], "per_kilocycle": {"conv": -1}})",
        R"({"memories": [{}], "per_kilocycle": {"conv": 1e300}})",
        R"({"memories": [{}], "per_kilocycle": {}, "colour": 1})",
        R"({"memories": [{}], "per_kilocycle": {}, "engine": {"block_width": 0}})",
        R"({"memories": [{}], "per_kilocycle": {}, "engine": {"largest_depth": 257}})",
        R"({"memories": [{}], "per_kilocycle": {}, "engine": {"buffer_bytes": -1}})",
        R"({"memories": [{}], "per_kilocycle": {}, "weights_per_mille": 0})",
        R"({"memories": [{}], "per_kilocycle": {}, "weights_per_mille": 1001})",
        R"({"memories": [{}], "per_kilocycle": {}, "engine": {"output_millicycles_of": 1}})",
        R"({"memories": [{}], "per_kilocycle": {},
            "engine": {"output_millicycles_of": {"sum": 1}}})"}) {
    const auto device = ParseDevice(text, "d.json");
    ASSERT_FALSE(device) << text;
    EXPECT_EQ(device.error().file, "d.json");
    EXPECT_EQ(device.error().ToString().find('\n'), std::string::npos);
  }
}

TEST(Device, PresetsStateTheSizesOfTheirMemories) {
  for (const std::string_view name : DevicePresets()) {
    const Device device = *DeviceNamed(name);
    EXPECT_NE(MemoryFor(device, false), MemoryFor(device, true)) << name;
    for (const DeviceMemory& memory : device.memories) {
      EXPECT_GE(memory.bytes, 640 * 1024) << name;
      EXPECT_FALSE(memory.source.empty()) << name;
      EXPECT_TRUE(memory.holds_weights || memory.holds_activations) << name;
    }
  }
}

}  // namespace
}  // namespace neap::cascade
