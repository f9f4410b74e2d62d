// SPDX-License-Identifier: Apache-2.0
#include "neap/target/target.h"

#include <algorithm>
#include <array>

namespace neap::target {
namespace {

// Of MicroInterpreter, by the members of the structs. The wheel's interpreter records allocations,
// which a firmware does not.
constexpr Structs kArm32 = {4, 124, 8, 12, 32, 32, 12, 24, 12};
constexpr Structs kHost64 = {8, 464, 24, 24, 64, 64, 24, 32, 16};
// Enumerations of four bytes: TfLiteTensor has two.
constexpr Structs kWide32 = {4, 124, 8, 12, 32, 40, 12, 24, 12};

constexpr std::string_view kTflm = "tflite-micro 0.dev20261023182759";
constexpr std::string_view kCmsisNn =
    "tflite-micro 0.dev20261023182759, CMSIS-NN 7 (size functions of 2026)";
constexpr std::string_view kEspNn = "tflite-micro 0.dev20261023182759, ESP-NN 1.2.6";

constexpr std::array kTargets = {
    Target{"cortex-m4+reference", "Cortex-M", Kernels::kReference, Simd::kNone, true, false, kArm32,
           kTflm},
    Target{"cortex-m0+reference", "Cortex-M0", Kernels::kReference, Simd::kNone, true, false,
           kArm32, kTflm},
    Target{"cortex-m4+cmsis-nn", "Cortex-M4, CMSIS-NN", Kernels::kCmsisNn, Simd::kDsp, true, false,
           kArm32, kCmsisNn},
    Target{"cortex-m55+cmsis-nn", "Cortex-M55, CMSIS-NN", Kernels::kCmsisNn, Simd::kMve, true,
           false, kArm32, kCmsisNn},
    Target{"cortex-m7+cmsis-nn", "Cortex-M7, CMSIS-NN", Kernels::kCmsisNn, Simd::kDsp, true, false,
           kArm32, kCmsisNn},
    Target{"cortex-m33+cmsis-nn", "Cortex-M33, CMSIS-NN", Kernels::kCmsisNn, Simd::kDsp, true,
           false, kArm32, kCmsisNn},
    Target{"cortex-m85+cmsis-nn", "Cortex-M85, CMSIS-NN", Kernels::kCmsisNn, Simd::kMve, true,
           false, kArm32, kCmsisNn},
    Target{"cortex-m0+cmsis-nn", "Cortex-M0, CMSIS-NN", Kernels::kCmsisNn, Simd::kNone, true, false,
           kArm32, kCmsisNn},
    Target{"esp32s3+esp-nn", "ESP32-S3, ESP-NN", Kernels::kEspNn, Simd::kEsp32S3, false, false,
           kWide32, kEspNn},
    Target{"esp32+esp-nn", "ESP32, ESP-NN", Kernels::kEspNn, Simd::kNone, false, false, kWide32,
           kEspNn},
    Target{"esp32c3+esp-nn", "ESP32-C3, ESP-NN", Kernels::kEspNn, Simd::kNone, false, false,
           kWide32, kEspNn},
    Target{"esp32+reference", "ESP32", Kernels::kReference, Simd::kNone, false, false, kWide32,
           kTflm},
    Target{"riscv32+reference", "RISC-V 32", Kernels::kReference, Simd::kNone, false, false,
           kWide32, kTflm},
    Target{"wasm32+reference", "wasm32", Kernels::kReference, Simd::kNone, false, false, kWide32,
           kTflm},
    Target{"x86-64+reference", "x86-64", Kernels::kReference, Simd::kNone, false, true, kHost64,
           kTflm},
};

constexpr const Target& kDefault = kTargets.front();
constexpr const Target& kWheel = kTargets.back();
constexpr std::string_view kDefaultInReports = "cortex-m";
constexpr std::string_view kWheelInReports = "x86-64";

}  // namespace

std::string_view NameOf(Kernels kernels) {
  switch (kernels) {
    case Kernels::kReference:
      return "reference";
    case Kernels::kCmsisNn:
      return "cmsis-nn";
    case Kernels::kEspNn:
      return "esp-nn";
  }
  return "";
}

bool HaveEqualMemory(const Target& a, const Target& b) {
  return a.kernels == b.kernels && a.simd == b.simd && a.has_short_enums == b.has_short_enums &&
         a.has_compression == b.has_compression && a.structs == b.structs;
}

std::span<const Target> Targets() { return kTargets; }
const Target& DefaultTarget() { return kDefault; }
const Target& WheelTarget() { return kWheel; }

const Target* TargetNamed(std::string_view name) {
  if (name == kDefaultInReports) return &kDefault;
  if (name == kWheelInReports) return &kWheel;
  const auto* const found = std::find_if(kTargets.begin(), kTargets.end(),
                                         [&](const Target& row) { return row.name == name; });
  return found == kTargets.end() ? nullptr : found;
}

std::string_view ReportNameOf(const Target& target) {
  if (&target == &kDefault) return kDefaultInReports;
  if (&target == &kWheel) return kWheelInReports;
  return target.name;
}

}  // namespace neap::target
