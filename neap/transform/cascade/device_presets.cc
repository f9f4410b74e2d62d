// SPDX-License-Identifier: Apache-2.0
//
// Presets of devices. Every number has its source in the description, which also marks estimates.
#include <array>

#include "neap/transform/cascade/device.h"

namespace neap::cascade {
namespace {

constexpr std::array<std::string_view, 11> kNames = {
    "cortex-m4",
    "cortex-m7",
    "cortex-m55",
    "ethos-u55-32-high-end",
    "ethos-u55-64-high-end",
    "ethos-u55-128-high-end",
    "ethos-u55-256-high-end",
    "ethos-u55-32-deep-embedded",
    "ethos-u55-64-deep-embedded",
    "ethos-u55-128-deep-embedded",
    "ethos-u55-256-deep-embedded",
};

// Rates in the order of OpClass: conv, pointwise, depthwise, dense, elementwise, move.
void SetRates(Device* device, std::array<std::int64_t, kOpClasses> per_kilocycle) {
  for (std::size_t i = 0; i < kOpClasses; ++i) device->per_kilocycle[i] = per_kilocycle[i];
}

// A memory and where its size is from.
struct Size {
  std::int64_t bytes;
  std::string_view source;
};

constexpr std::int64_t kKiB = 1024;
constexpr std::string_view kL4r5 = "PlatformIO platform-ststm32, boards/nucleo_l4r5zi.json";
constexpr std::string_view kCorstone =
    "Arm ML embedded evaluation kit, docs/sections/memory_considerations.md: Corstone-300 on MPS3";
constexpr Size kCorstoneSram{2048 * kKiB, kCorstone};
constexpr Size kCorstoneDdr{32768 * kKiB, kCorstone};

DeviceMemory Sram(const Size& size, std::int64_t per_kilocycle) {
  DeviceMemory memory;
  memory.name = "sram";
  memory.bytes = size.bytes;
  memory.source = size.source;
  memory.read_per_kilocycle = memory.write_per_kilocycle = per_kilocycle;
  memory.holds_activations = true;
  return memory;
}

DeviceMemory Flash(const Size& size, std::int64_t per_kilocycle, std::int64_t latency,
                   std::int64_t burst) {
  DeviceMemory memory;
  memory.name = "flash";
  memory.bytes = size.bytes;
  memory.source = size.source;
  memory.read_per_kilocycle = per_kilocycle;
  memory.latency_cycles = latency;
  memory.burst_bytes = burst;
  memory.holds_weights = true;
  return memory;
}

Device CortexM(std::string_view name) {
  Device device;
  device.name = name;
  device.launch_cycles = 500;
  if (name == "cortex-m4") {
    device.source =
        "rates of CMSIS-NN class kernels, from medians of MLPerf Tiny v1.1 (L4R5, 120 MHz): a "
        "model, to be calibrated";
    device.clock_hertz = 120'000'000;
    SetRates(&device, {300, 350, 120, 300, 200, 1500});
    device.memories = {Sram({640 * kKiB, kL4r5}, 4000), Flash({2048 * kKiB, kL4r5}, 2000, 0, 1)};
  } else if (name == "cortex-m7") {
    device.source =
        "rates of CMSIS-NN class kernels, from medians of MLPerf Tiny v1.1 (H7A3, 280 MHz): a "
        "model, to be calibrated";
    device.clock_hertz = 280'000'000;
    SetRates(&device, {600, 700, 250, 500, 250, 4000});
    device.memories = {
        Sram({1024 * kKiB, "Zephyr dts/arm/st/h7/stm32h7a3.dtsi: AXI SRAM1 to 3"}, 8000),
        Flash({2048 * kKiB, "Zephyr dts/arm/st/h7/stm32h7a3Xi.dtsi"}, 2000, 0, 1)};
  } else {
    device.source =
        "a quarter of the peak of eight 8-bit multiplications a cycle (Helium): an estimate, not "
        "measured";
    device.clock_hertz = 160'000'000;
    SetRates(&device, {2500, 3000, 1000, 2000, 1000, 8000});
    device.memories = {Sram(kCorstoneSram, 8000), Flash(kCorstoneDdr, 4000, 0, 1)};
  }
  return device;
}

// Unit block; cycles of a step and to decode its weights; cycles of an output element, in
// thousandths: of a sum, of a function from a table, a maximum, a sum of two, a product, a product
// of 32 bits; memory without the banks for outputs and tables, and its granules for inputs and sums
// of 32 bits.
BlockEngine EngineOf(std::string_view name) {
  if (name.find("-256-") != std::string_view::npos) {
    return {256, 2, 2, 8, 4, 32, 250, {1000, 125, 750, 375, 750}, 44 * kKiB, 8 * kKiB, 16 * kKiB};
  }
  if (name.find("-128-") != std::string_view::npos) {
    return {128, 1, 2, 8, 4, 32, 500, {1000, 250, 1500, 750, 750}, 20 * kKiB, 4 * kKiB, 8 * kKiB};
  }
  if (name.find("-64-") != std::string_view::npos) {
    return {64, 1, 1, 8, 4, 32, 1000, {1000, 500, 3000, 1500, 1500}, 14 * kKiB, 2 * kKiB, 4 * kKiB};
  }
  return {32, 1, 1, 4, 4, 16, 2000, {2000, 1000, 6000, 3000, 3000}, 14 * kKiB, 2 * kKiB, 4 * kKiB};
}

Device EthosU55(std::string_view name) {
  Device device;
  device.name = name;
  device.source =
      "unit blocks, cycles of a block and of an output element, the engine's memory, and memories "
      "as "
      "the compiler Vela 3.10 and the TVM cascader have them; weights are not compressed here";
  const bool high_end = name.ends_with("high-end");
  device.clock_hertz = high_end ? 500'000'000 : 200'000'000;
  device.overlaps_transfers = true;
  device.launch_cycles = 100;
  SetRates(&device, {0, 0, 0, 0, 0, 8000});
  device.engine = EngineOf(name);
  DeviceMemory sram = Sram(kCorstoneSram, 8000);
  sram.latency_cycles = 32;
  sram.burst_bytes = 32;
  device.memories = {sram, Flash(kCorstoneDdr, high_end ? 1000 : 500, 64, 128)};
  return device;
}

}  // namespace

std::span<const std::string_view> DevicePresets() { return kNames; }

std::optional<Device> DeviceNamed(std::string_view name) {
  for (const std::string_view known : kNames) {
    if (known == name) return name.starts_with("cortex") ? CortexM(name) : EthosU55(name);
  }
  return std::nullopt;
}

}  // namespace neap::cascade
