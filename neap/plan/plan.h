// SPDX-License-Identifier: Apache-2.0
//
// The plan: the artefact. Everything that an executor or a checker needs, nothing that only the
// planner understands. docs/reference/plan-format.md describes its JSON form,
// schemas/plan.schema.json is the machine-readable form of the same.
//
// Slots. An entry subgraph runs as a sequence of slots; one operator runs in each. An operator with
// bodies (control flow) takes its own slot and then, one body after the other, the slots of its
// bodies; its inputs and outputs are live through all of them. A body without operators takes one
// slot in which nothing runs. A move (defragmentation) takes a slot of its own. All ranges of slots
// are half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neap/graph/graph.h"
#include "neap/ops/overlap.h"
#include "neap/plan/profile.h"
#include "neap/plan/stream.h"
#include "neap/target/target.h"

namespace neap::plan {

inline constexpr int kPlanVersion = 2;

enum class BoundStatus : std::uint8_t {
  kOptimal,  // equals its proven lower bound
  kBounded,  // a limit ended the search; a proven bound is given beside it
};
// "optimal", "bounded".
std::string_view NameOf(BoundStatus status);

struct Step {
  graph::SubgraphId subgraph;
  graph::OpId op;              // OpId(): the slot of an empty body, or of a move
  graph::TensorId moved = {};  // this tensor of the entry subgraph is copied to its next place
};

// Where one tensor lives and when. A tensor that moves has one of these for every stretch between
// its moves, in the order of time; in the slot of a move it has both places. Constants, variables
// and tensors that no slot needs have none.
struct TensorPlacement {
  graph::SubgraphId subgraph;
  graph::TensorId tensor;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;  // exact bytes of the tensor, before rounding to the alignment
  std::int32_t first = 0;  // live in slots [first, last)
  std::int32_t last = 0;
  std::int32_t memory = 0;  // index into Plan::memories; 0 where there are none
};

struct ScratchPlacement {
  std::int32_t slot = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int32_t memory = 0;
};

inline constexpr std::size_t kMaxMemories = 16;

// One of several memories, each with an arena of its own.
struct Memory {
  std::string name;
  std::int64_t capacity_bytes = 0;
  std::int64_t bytes_per_kilocycle = 0;  // 8000: eight bytes a cycle
};

enum class OverlapKind : std::uint8_t {
  // The profile's rule: same offset, same bytes, the input is freed in this slot. The bytes of the
  // output are not counted again.
  kInPlace,
  // The output starts at least `bytes` below the input, which is freed in this slot; the kernels of
  // Plan::kernels read each byte before they overwrite it.
  kStartsBelow,
  // The input is exactly `bytes` above the start of the output, where the operator would copy it;
  // both values exist while both are live.
  kHoldsInput,
  // The output is exactly `bytes` above the start of the input: it is the piece that the operator
  // would copy; both values exist while both are live. Any output of the operator.
  kHoldsOutput,
  // `output`, which the operator in `slot` writes, overlaps the first `bytes` bytes of `input`, a
  // tensor that is still live: from this slot on only slices read it, and none of them reads these
  // bytes.
  kDeadPart,
  // `input` is freed in this slot. The operator copies it into a body before any write, and copies
  // the body's result to `output` at the end: they may share any bytes. Any input but the
  // condition, any output.
  kCopiedIn,
};

// "in-place", "starts-below", "holds-input", "holds-output", "dead-part", "copied-in": as plan.json
// has them.
std::string_view NameOf(OverlapKind kind);

// `input` and `output` of the operator in `slot` share bytes.
struct Overlap {
  std::int32_t slot = 0;
  graph::SubgraphId subgraph;
  graph::TensorId input;
  graph::TensorId output;
  OverlapKind kind = OverlapKind::kInPlace;
  std::int64_t bytes = 0;
};

// One path of a certificate of kind kCut. Wherever `op` runs, at least one of `tensors` is live
// besides what `op` touches: the first has been written or read by then in every order; if all its
// users had run, through[0].front(), one of them, would have, and so its direct predecessor
// through[0][1], and so on down to through[0].back(), which touches the second tensor; and so on;
// the last has a user that cannot have run yet, or is an output. The bytes of all paths through a
// tensor are at most its own.
struct CertificatePath {
  std::int64_t bytes = 0;
  std::vector<graph::TensorId> tensors;           // of the entry subgraph, at least one
  std::vector<std::vector<graph::OpId>> through;  // one fewer than tensors
};

// Why a bound holds. Check() verifies all kinds but kSearch.
enum class CertificateKind : std::uint8_t {
  kNone,            // no claim above the need of some single operator of the entry subgraph
  kSingleOperator,  // Certificate::op alone needs this
  // The bytes certainly live while Certificate::op runs, plus the flow (a maximal flow proves a
  // minimal cut).
  kCut,
  // The orders below the bound, between the operators around Certificate::op that are comparable
  // with all others, were exhausted; verified by searching again: ReplayBounds().
  kSearch,
};
// "none", "single-operator", "cut", "search".
std::string_view NameOf(CertificateKind kind);

// Why peak_lower_bound_bytes holds.
struct Certificate {
  CertificateKind kind = CertificateKind::kNone;
  graph::OpId op;                     // an operator of the entry subgraph; not of kNone
  std::vector<CertificatePath> flow;  // kCut
  std::int64_t states = 0;            // kSearch: states expanded
  bool reversed = false;              // kSearch: from the end backwards
};

struct EntryPlan {
  graph::SubgraphId subgraph;
  std::string signature;  // "" when it has none
  std::vector<Step> steps;
  std::vector<TensorPlacement> tensors;
  std::vector<ScratchPlacement> scratch;
  std::vector<Overlap> overlaps;

  std::int64_t peak_bytes = 0;
  std::int64_t peak_lower_bound_bytes = 0;  // no order of this subgraph has a smaller peak
  BoundStatus order_status = BoundStatus::kBounded;
  Certificate certificate;
  std::int64_t arena_bytes = 0;            // of all memories together
  std::vector<std::int64_t> memory_bytes;  // of each of Plan::memories
  std::int64_t arena_given_order_lower_bound_bytes = 0;
  std::int64_t arena_lower_bound_bytes = 0;
  // Why arena_lower_bound_bytes holds where kernels let outputs overlap inputs. kNone: Check()
  // verifies it without a certificate. kSearch: the orders that need less were exhausted, with the
  // largest saving of every such overlap; verified by searching again.
  Certificate arena_certificate;
  BoundStatus arena_status = BoundStatus::kBounded;  // against arena_lower_bound_bytes
  std::int64_t states = 0;
  // A streamed plan (profile kNeap): segments, blocks and places are here; tensors, scratch and
  // overlaps are empty, steps are the order in which the operators first run, and peak and arena
  // are the bytes of the arena.
  std::optional<Stream> stream;
};

// Operators that were cut into tiles before planning: `ops` of the main subgraph of the given
// model, their output cut along each axis before the indices `cuts`.
struct TiledRegion {
  struct Split {
    std::int32_t axis = 0;
    std::vector<std::int64_t> cuts;
  };
  std::vector<graph::OpId> ops;
  std::vector<Split> splits;
};

// The effect of a rewrite of the graph on the outputs.
enum class Exactness : std::uint8_t {
  kBitwise,       // the same bytes on the runtime of the profile
  kReassociates,  // floats are summed in another order; partial sums of integers are requantised
};
// "bitwise", "reassociates": as plan.json has them.
std::string_view NameOf(Exactness exactness);

// One application of a rule of neap/rewrite, by name, at an operator of the main subgraph of the
// model as it was given.
struct Rewrite {
  std::string rule;
  graph::OpId op;
  std::vector<std::int64_t> parameters;  // parameters of the rule: an order of parts, their number
  Exactness exactness = Exactness::kBitwise;
  // Of the peak, by this application beside all others; found by a short search.
  std::int64_t bytes_saved = 0;
};

struct Plan {
  std::string neap_version;
  std::string model;           // file name as given
  std::string model_sha256;    // lower-case hex
  std::string written_sha256;  // of the model written with this plan; "" when none was
  Runtime runtime = Runtime::kIdeal;
  // Of kTflm: the machine and the kernels whose scratch is placed. A row of target::Targets().
  const target::Target* target = &target::DefaultTarget();
  std::string order_strategy;  // "exact", "file", ...
  // The kernels whose order of reading and writing overlaps rely on; kNone: no such overlap.
  ops::KernelLibrary kernels = ops::KernelLibrary::kNone;
  std::vector<Memory> memories;  // empty: one, without a limit
  // Empty: nothing was cut. Otherwise steps and tensors below are those of the given model with
  // these regions in tiles, whose operators run in `tiled_order`.
  std::vector<TiledRegion> tiled_regions;
  std::vector<graph::OpId> tiled_order;
  bool tiles_share_bodies = false;  // equal tiles call one body each, where that needs less
  std::vector<std::string> dims;    // "batch=1": the bindings the sizes were computed with
  // Operators at the ends of the given model's main subgraph that the caller runs
  // (rewrite::MoveToCaller): what follows, rewrites and regions too, is about the model without
  // them, whose interface is another one.
  std::vector<graph::OpId> caller_ops;
  // The plan refers to the given model after these rewrites: operators and tensors of steps
  // are those of the rewritten graph. Empty: the given model.
  std::vector<Rewrite> rewrites;
  std::int64_t accumulator_bytes = 0;  // of partial sums held in place; 0: there are none
  std::string rewritten_sha256;        // of the rewritten model as a file; "": not one
  // Empty: no operator runs again. Otherwise the operators of the main subgraph of the model that
  // the edits above lead to, in a sequence in which some run again: all runs but the last are
  // operators of their own in the planned model (duplicate::Apply).
  std::vector<graph::OpId> repeated_order;
  std::vector<EntryPlan> entries;  // one per entry subgraph, in index order; [0] is the main one
};

// Whether the planned model is not the given one: operators in tiles, in the caller, rewritten, or
// running again.
bool HasEdits(const Plan& plan);

// The entry with the largest arena, then peak; the first of equals. `plan` has at least one entry.
const EntryPlan& LargestEntry(const Plan& plan);

}  // namespace neap::plan
