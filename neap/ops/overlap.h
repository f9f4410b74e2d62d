// SPDX-License-Identifier: Apache-2.0
//
// How far an operator's output may overlap an input that is freed there, for one kernel library or
// for several. It depends only on the order in which their kernels read and write. A plan that uses
// it is silently wrong under a library with another order. neap/check/kernel_simulation.h simulates
// the same kernels byte by byte, with separate code.
//
// Source: the loops of the kernels (TensorFlow Lite Micro's reference kernels), and the idea of
// diagonal memory overlap (Blacker, Bridges, Hadfield 2020).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/target/target.h"

namespace neap::ops {

// Libraries of kernels, a bit each. A value with several bits is a set: its overlaps are right
// under each of them. A new library is a bit here, its distances (library_overlap.h), its row in
// KernelLibraries() and its walk in neap/check.
enum class KernelLibrary : std::uint32_t {
  kNone = 0,  // nothing is known: outputs and inputs are disjoint
  // Any library: the source of a copy may be at its destination, since no library changes bytes by
  // copying them onto themselves; and bytes that no slice reads any more are free. Operators that
  // compute get no overlap.
  kCopies = 1U << 0U,
  kTflmReference = 1U << 1U,  // TensorFlow Lite Micro's portable kernels, the default of its build
  // Neap's executor (neap/execute): every element is written once, in order, after all reads that
  // it needs, and early reads are whole, so that distances of kTflmReference are valid here.
  kNeap = 1U << 2U,
  // CMSIS-NN by the instructions that it is compiled for: each has loops of its own.
  kCmsisNnScalar = 1U << 3U,  // Cortex-M0, M3
  kCmsisNnDsp = 1U << 4U,     // Cortex-M4, M7, M33
  kCmsisNnMve = 1U << 5U,     // Cortex-M55, M85
  kCmsisNn = kCmsisNnScalar | kCmsisNnDsp | kCmsisNnMve,
  // ESP-NN in C: its ANSI kernels and its generic optimisations. Not those in assembler for the
  // ESP32-S3 and the ESP32-P4.
  kEspNn = 1U << 6U,
};
constexpr KernelLibrary operator|(KernelLibrary a, KernelLibrary b) {
  return static_cast<KernelLibrary>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
// Whether all of `part` is in `set`.
constexpr bool Includes(KernelLibrary set, KernelLibrary part) { return (set | part) == set; }
// The single libraries of a set, in the order of their bits.
std::vector<KernelLibrary> LibrariesOf(KernelLibrary set);

struct KernelLibraryInfo {
  KernelLibrary library = KernelLibrary::kNone;
  std::string_view name;
  std::string_view summary;  // one line for --help
};
// Without kNone.
std::span<const KernelLibraryInfo> KernelLibraries();
// Names of KernelLibraries() joined by commas, as few as name the set; "none".
std::string NameOf(KernelLibrary library);
// The inverse: "cmsis-nn,tflm-reference". nullopt: a name is not known.
std::optional<KernelLibrary> KernelLibraryNamed(std::string_view names);
// The library that a target runs; kNone: the order of its kernels is not known (ESP32-S3).
KernelLibrary LibraryOfTarget(const target::Target& target);
// Whether a plan whose overlaps rely on `library` is right on `target`.
bool HoldsOnTarget(KernelLibrary library, const target::Target& target);

struct OverlapRule {
  enum class Kind : std::uint8_t {
    // The output may start at any offset up to offset(input) - bytes; bytes >= 0. The input's value
    // is lost.
    kStartsBelow,
    // The input may be exactly `bytes` above the start of the output: the kernel copies it onto
    // itself, which changes nothing. Both values exist afterwards.
    kHoldsInput,
  };
  Kind kind = Kind::kStartsBelow;
  std::int64_t bytes = 0;
};

// The rule for output 0 and one input of `op`; nullopt: they must be disjoint, because the kernel
// is unknown, its order does not allow it, or it would save nothing. The caller checks that the
// input is freed there and is not a constant. Dimensions must be known. O(pixels of the output x
// channels) at most.
std::optional<OverlapRule> OverlapRuleOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                         std::size_t input, KernelLibrary library);

// The first byte of its input `input` that `op` reads: that of a SLICE whose begin is a constant; 0
// of every other operator, and where it is not known. TensorFlow Lite's operators.
std::int64_t FirstByteRead(const graph::Subgraph& subgraph, const graph::Op& op, std::size_t input);

// Whether `op` copies its inputs, except its condition, into a body before any other write, and the
// body's results to its outputs at the end, so that the outputs may overlap inputs freed there in
// any way: IF of TensorFlow Lite, in every kernel library.
bool CopiesIntoBody(const graph::Op& op, KernelLibrary library);

// An output that is `bytes` above the start of input `input`: the copy of a stored piece
// anyway.
struct ViewRule {
  std::size_t input = 0;
  std::int64_t bytes = 0;
};
// Of SPLIT, SPLIT_V, UNPACK, STRIDED_SLICE, Split and Slice (steps of one) under kNeap, of SLICE
// under every library, where the piece is one stretch of bytes; nullopt elsewhere. Both values
// exist afterwards. State of the operator changes nothing.
std::optional<ViewRule> ViewRuleOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                   std::size_t output, KernelLibrary library);

}  // namespace neap::ops
