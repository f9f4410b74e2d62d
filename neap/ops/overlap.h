// SPDX-License-Identifier: Apache-2.0
//
// How far an operator's output may overlap an input that is freed there, for one kernel library. It
// depends only on the order in which that library's kernel reads and writes. A plan that uses it is
// silently wrong under a library with another order. neap/check/kernel_simulation.h simulates the
// same kernels byte by byte, with separate code.
//
// Source: the loops of the kernels (TensorFlow Lite Micro's reference kernels), and the idea of
// diagonal memory overlap (Blacker, Bridges, Hadfield 2020).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "neap/graph/graph.h"

namespace neap::ops {

enum class KernelLibrary : std::uint8_t {
  kNone,  // nothing is known: outputs and inputs are disjoint
  // Any library: the source of a copy may be at its destination, since no library changes bytes by
  // copying them onto themselves; and bytes that no slice reads any more are free. Operators that
  // compute get no overlap.
  kCopies,
  kTflmReference,  // TensorFlow Lite Micro's portable kernels, the default of its build
  // Neap's executor (neap/execute): every element is written once, in order, after all reads that
  // it needs, and early reads are whole, so that distances of kTflmReference are valid here.
  kNeap,
};

struct KernelLibraryInfo {
  KernelLibrary library = KernelLibrary::kNone;
  std::string_view name;
  std::string_view summary;  // one line for --help
};
// Without kNone.
std::span<const KernelLibraryInfo> KernelLibraries();
std::string_view NameOf(KernelLibrary library);
// nullopt: no such library.
std::optional<KernelLibrary> KernelLibraryNamed(std::string_view name);

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

// An output that is `bytes` above the start of input `input`: the copy of a piece that is there
// anyway.
struct ViewRule {
  std::size_t input = 0;
  std::int64_t bytes = 0;
};
// Of SPLIT, SPLIT_V, SLICE and STRIDED_SLICE (steps of one) under kNeap, of SLICE under every
// library, where the piece is one stretch of bytes; nullopt elsewhere. Both values are there
// afterwards.
std::optional<ViewRule> ViewRuleOf(const graph::Subgraph& subgraph, const graph::Op& op,
                                   std::size_t output, KernelLibrary library);

}  // namespace neap::ops
