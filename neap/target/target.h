// SPDX-License-Identifier: Apache-2.0
//
// Targets: an ABI, a library of kernels and a version of TensorFlow Lite Micro, for which the whole
// arena of a model is predicted. A table of facts; docs/reference/targets.md has the same table
// with the sources and with what each row was compared with.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace neap::target {

// Who wrote the kernels. They decide on scratch and on the data that a kernel keeps.
enum class Kernels : std::uint8_t {
  kReference,  // of TensorFlow Lite Micro itself
  kCmsisNn,    // CMSIS-NN; operators that it does not have run the reference kernels
  kEspNn,      // ESP-NN; the same
};
// "reference", "cmsis-nn", "esp-nn".
std::string_view NameOf(Kernels kernels);

// The instructions that an optimised library was compiled for. Its scratch depends on them.
enum class Simd : std::uint8_t {
  kNone,
  kDsp,      // ARM DSP extension: Cortex-M4, M7, M33
  kMve,      // ARM Helium: Cortex-M55, M85
  kEsp32S3,  // vector instructions of the ESP32-S3
};

// Sizes of the structs of TensorFlow Lite Micro under the ABI, in bytes.
struct Structs {
  std::int64_t word = 4;       // a pointer
  std::int64_t allocator = 0;  // allocator, planner and what belongs to them
  std::int64_t subgraph = 0;   // SubgraphAllocations
  std::int64_t eval_tensor = 0;
  std::int64_t node = 0;    // NodeAndRegistration
  std::int64_t tensor = 0;  // TfLiteTensor
  std::int64_t quantization = 0;
  std::int64_t allocation_info = 0;
  std::int64_t scratch_request = 0;

  bool operator==(const Structs&) const = default;
};

struct Target {
  std::string_view name;   // "cortex-m4+cmsis-nn": for options and JSON
  std::string_view title;  // "Cortex-M4, CMSIS-NN": for people
  Kernels kernels = Kernels::kReference;
  Simd simd = Simd::kNone;
  // One byte for an enumeration of few values (the bare-metal ARM ABI), otherwise four.
  bool has_short_enums = false;
  // Built with support for compressed weights: kernels keep more.
  bool has_compression = false;
  Structs structs;
  std::string_view version;  // of the runtime and of the library
};

// Whether every model needs the same arena on both: cores that differ in speed alone.
bool HaveEqualMemory(const Target& a, const Target& b);

// In the order of --help. The first is the default.
std::span<const Target> Targets();
const Target& DefaultTarget();
// The PyPI wheel of TensorFlow Lite Micro, with which predictions are compared byte by byte.
const Target& WheelTarget();
// nullptr: no such target. Takes "cortex-m" and "x86-64" too, the names in reports of version 1.
const Target* TargetNamed(std::string_view name);
// The name in reports of version 1, "cortex-m" or "x86-64"; of other targets their name.
std::string_view ReportNameOf(const Target& target);

}  // namespace neap::target
