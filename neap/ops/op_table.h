// SPDX-License-Identifier: Apache-2.0
//
// The table of operators: one row for each, with its name and its facts. Facts in other tables, by
// kind: shape inference for ONNX (onnx_rules.h), element types accepted by stock kernels
// (stock_kernels.cc), kernels of the executor (neap/execute).
// docs/decisions/015-facts-of-operators.md has the reasons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/dependence.h"
#include "neap/ops/litert.h"
#include "neap/ops/op_kind.h"
#include "neap/ops/overlap.h"

namespace neap::ops {

namespace dependence {
struct Subject;
}
namespace overlap {
struct Subject;
}

// A set of operator names. Names are unique in each dialect.
enum class Dialect : std::uint8_t {
  kTflite,  // built-in operators of TensorFlow Lite; domain "tflite"
  kCustom,  // custom operators of .tflite files; domain "custom"
  kNeap,    // operators of Neap's executor and searches, in no file; domain "neap"
  kOnnx,    // the default domain, "" or "ai.onnx", and known vendor domains (IsOnnxDialect())
};

// Bits of OpRow::traits.
namespace trait {
// Each output element depends on the input elements at the same place only (after broadcasting).
inline constexpr std::uint32_t kElementwise = 1U << 0U;
// The output has the bytes of the first input, with another shape.
inline constexpr std::uint32_t kReshapeLike = 1U << 1U;
// Reads or writes state outside its tensors, or may do so.
inline constexpr std::uint32_t kStateful = 1U << 2U;
// Draws random numbers. A runtime may have one generator for all such operators.
inline constexpr std::uint32_t kRandom = 1U << 3U;
// Its kernel updates variable tensors among its inputs. All other kernels read them only.
inline constexpr std::uint32_t kUpdatesVariables = 1U << 4U;
// The output has the shape of input 0, and each element depends on all elements along some axes.
inline constexpr std::uint32_t kNormalises = 1U << 5U;
// A StableHLO operator in a .tflite.
inline constexpr std::uint32_t kStablehlo = 1U << 6U;
// Pools each channel, over a window or over all positions.
inline constexpr std::uint32_t kPools = 1U << 7U;
// Every output is a part of one input, and may be computed by itself at a time of its own.
inline constexpr std::uint32_t kSplits = 1U << 8U;
}  // namespace trait

// nullptr: the fact is not known for the operator.
struct OpRow {
  OpKind kind = OpKind::kUnknown;
  std::string_view name;
  std::uint32_t traits = 0;
  // MACs of one run (macs.h); nullptr: 0.
  std::int64_t (*macs)(const graph::Subgraph&, const graph::Op&) = nullptr;
  // Dependence of output boxes on input boxes (dependence.h), in TFLite's and ONNX's default
  // domain. Not of element-wise operators, which have one rule in all domains.
  std::optional<Need> (*need)(const dependence::Subject&) = nullptr;
  // How far the output may overlap an input (overlap.h); nullptr: not at all.
  std::optional<OverlapRule> (*overlap)(const overlap::Subject&) = nullptr;
  // Scratch buffers of TFLM's reference kernel (tflm_scratch.h).
  std::optional<std::vector<std::int64_t>> (*scratch)(const graph::Subgraph&,
                                                      const graph::Op&) = nullptr;
  // How LiteRT's kernel registers its output (litert.h).
  LitertSharing litert = {};
};

// The rows of a dialect, in the order of their kinds.
std::span<const OpRow> RowsOf(Dialect dialect);
// kUnknown has an empty row. O(1).
const OpRow& RowOf(OpKind kind);
inline std::string_view NameOf(OpKind kind) { return RowOf(kind).name; }

// kUnknown: the dialect has no such name. O(log operators) comparisons of names.
OpKind KindNamed(Dialect dialect, std::string_view name);

// The operator that domain and type name; kUnknown for unknown operators and for graph JSON, whose
// names are free. One comparison of names if Op::kind is set and agrees with them, else a look-up.
OpKind KindOf(const graph::Op& op);
// Sets Op::kind from domain and type; for readers.
void Resolve(graph::Op* op);
// Sets type, domain and kind of an operator; for writers. The domain of ONNX kinds is "".
void SetKind(graph::Op* op, OpKind kind);

// As KindOf(), but if the domain is unknown, the name is looked up as ONNX's, then as TFLite's.
// Only for estimates (costs, classes), which are wanted for graph JSON and unknown vendors too.
OpKind KindOfName(const graph::Op& op);

template <typename... Kinds>
bool IsAnyOf(OpKind kind, Kinds... kinds) {
  return (... || (kind == kinds));
}
template <typename... Kinds>
bool Is(const graph::Op& op, Kinds... kinds) {
  return IsAnyOf(KindOf(op), kinds...);
}

// Whether its row has the trait, or one of several.
inline bool Has(const graph::Op& op, std::uint32_t traits) {
  return (RowOf(KindOf(op)).traits & traits) != 0;
}

bool IsDefaultOnnxDomain(std::string_view domain);
// The default domain and vendor domains whose names have the standard's meaning.
bool IsOnnxDialect(std::string_view domain);

}  // namespace neap::ops
