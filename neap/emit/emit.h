// SPDX-License-Identifier: Apache-2.0
//
// C99 from a model and a plan: constant tables and the files of neap_rt (runtime/) that they use.
// Nothing is planned here; the caller has checked the plan (neap/check). Pure: no file is read or
// written, and equal arguments give equal bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/graph/graph.h"
#include "neap/ops/overlap.h"
#include "neap/plan/plan.h"
#include "neap/target/target.h"

namespace neap::emit {

// For which kernels of runtime/ weights and scratch are laid out. All compute the same bytes with
// every compiler.
enum class KernelSet : std::uint8_t {
  kPortable,  // no scratch; C
  kDsp,  // packed weights and scratch, fast on Armv7E-M and Armv8-M cores with the DSP extension
  kMve,  // packed weights and scratch, fast on Armv8.1-M cores with vectors of integers
  // Whole layers are calls of the library CMSIS-NN, which the user links; the others are portable.
  kCmsisNn,
};
// "portable", "dsp", "mve", "cmsis-nn".
std::string_view NameOf(KernelSet kernels);
// nullopt: no such set.
std::optional<KernelSet> KernelSetNamed(std::string_view name);
// The libraries by whose order of reads and writes a plan for these kernels may overlap tensors.
// `simd`: that CMSIS-NN is compiled for; nullopt: any.
ops::KernelLibrary LibraryOf(KernelSet kernels, std::optional<target::Simd> simd);

// Bytes of the arena behind tensors and scratch: the state of steps.
inline constexpr std::int64_t kStateBytes = 12;
// Of the arena, and of its size.
inline constexpr std::int64_t kArenaAlignment = 4;

struct Options {
  // Prefix of all names, a C identifier; macros have it in upper case.
  std::string prefix = "model";
  // One .c file that contains the runtime under names of its own, instead of a folder neap_rt.
  bool single_file = false;
  // Weights are a file of their own, `<prefix>_weights.bin`, that is linked or mapped as the symbol
  // `<prefix>_weights`.
  bool binary_weights = false;
  KernelSet kernels = KernelSet::kPortable;
  // Less flash at the price of more instructions, in operators with portable kernels.
  bool small = false;
  // Of kCmsisNn: the instructions that the library is compiled for. nullopt: any, with the largest
  // of its buffers.
  std::optional<target::Simd> simd = std::nullopt;
  // The bytes that the arena may have; the header asserts it.
  std::optional<std::int64_t> budget_bytes;
};

// Name relative to the output folder, with '/'.
struct File {
  std::string name;
  std::string bytes;
};

struct Emitted {
  std::vector<File> files;
  std::int64_t arena_bytes = 0;  // all that the caller provides, in the first memory
  std::int64_t stack_bytes = 0;  // of the compiler that the header names
};

// A plan for a device that received it (docs/reference/binary-plan.md).
struct BinaryPlan {
  std::string bytes;
  std::int64_t arena_bytes = 0;  // with scratch
};

// What comments and hashes of files name.
struct Source {
  std::string neap_version;
  std::string model;
  std::string model_sha256;
};

// Why a part of the network cannot be emitted.
struct Refusal {
  graph::OpId op;      // in the main graph; invalid: an input, an output or a tensor of it
  std::string type;    // of the operator; "" of others
  std::string reason;  // with the operator or the tensor: "#3 'CONV_2D' has no kernel in neap_rt"
};

// A valid prefix from the file name of a model: its stem in lower case, other characters than
// letters and digits as '_'.
std::string PrefixOf(const std::string& path);
// Whether `prefix` is a C identifier of lower-case letters, digits and '_'.
bool IsPrefix(const std::string& prefix);

// The code for the main entry of `plan`, which places the operators of `graph`: the model with all
// edits of the plan, read with its weights. Fails before anything is emitted: kBadInput with a
// message that counts the refused operators by type, and names the first one; kOverBudget.
// *refusals, if given: every operator without a kernel, by index, and every overlap that the
// kernels of neap_rt do not permit. O(weights + boxes of the plan).
Result<Emitted> Emit(const graph::Graph& graph, const plan::Plan& plan, const Options& options,
                     std::vector<Refusal>* refusals = nullptr);

// Replaces calls whose body is known beforehand, as those of tiles with shared bodies, by the
// operators of that body, in the graph and in the plan. Fails with kBadInput unless the steps are
// a run of the main graph.
Status InlineCalls(graph::Graph* graph, plan::Plan* plan);

// The plan without names: for code that EmitNetwork() wrote from the same model with the same
// kernels. Fails with kBadInput as Emit() does, and where the plan changes the model's operators,
// streams tensors or has several memories. The caller has checked the plan.
Result<BinaryPlan> ToBinary(const graph::Graph& graph, const plan::Plan& plan, KernelSet kernels);

// The code for received plans: operators and weights without an order and without addresses.
Result<Emitted> EmitNetwork(const graph::Graph& graph, const Source& source, const Options& options,
                            std::vector<Refusal>* refusals = nullptr);

}  // namespace neap::emit
