// SPDX-License-Identifier: Apache-2.0
//
// Identity graph rewriting: other operators, the same outputs, smaller peaks than any order of the
// graph as it is can reach. Source: SERENITY (Ahn et al., MLSys 2020, section 3.3); method:
// docs/algorithms/rewrite.md.
//
// A rewriting is a list of applications, each a rule at an operator of the main subgraph of the
// graph as it was read. Apply() turns graph and list into the edited graph that
// formats::WriteEdited takes; Search() decides on the list. Applications of the rule
// kDeadChannels (neap/transform/rewrite/channels/dead.h) come first: the other rules see the graph
// without these channels, whose operators have the same indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/graph/graph.h"
#include "neap/ops/stock_kernels.h"
#include "neap/plan/plan.h"

namespace neap::rewrite {

// Attention over blocks of keys: the rule that neap/check/key_block_check.h checks.
inline constexpr std::string_view kKeyBlocks = "key-blocks";

struct RuleInfo {
  std::string_view name;
  std::string_view summary;  // one line for --help
  // It never raises the peak of any order and removes operators: taken wherever it fits.
  bool always = false;
  // Only where it is named or a class of rewrites is (SearchOptions::dead_channels): it changes
  // models whose arena does not need it.
  bool on_demand = false;
};
// All rules, in the order in which an operator is offered to them.
std::span<const RuleInfo> Rules();
// The sets of rules to search with, one after the other, until a rewritten model is better than the
// one as it is (neap/deliver/measure.h): `wanted` (empty: all but those on demand), then those of
// them that never raise
// a peak, where these are fewer.
std::vector<std::vector<std::string>> RuleSets(const std::vector<std::string>& wanted);

// How partial sums of a convolution are held.
enum class Sums : std::uint8_t {
  // Separate tensors that Add operators join, as stock runtimes require.
  kTensors,
  // One accumulator that every part adds to, in place: operators of the domain "neap", which only
  // Neap's executor has. Never written to a file.
  kInPlace,
};

// More are not worth their operators.
inline constexpr std::size_t kMaxConcatInputs = 256;

struct Settings {
  Sums sums = Sums::kTensors;
  // Bytes of an accumulator element of models of 8-bit integers: 4 (exact) or 1 (requantised in
  // every part; the accounting of SERENITY).
  int accumulator_bytes = 4;
  // Neap's executor runs the result: its kernels compute a channel in the same way for every
  // number of channels, in floats, too.
  bool own_kernels = false;
  // Sums keep the order of their terms.
  bool keep_order = true;
  // Inputs that a concatenation may have where the runtime has a limit (SettingsFor()).
  std::size_t max_concat_inputs = kMaxConcatInputs;
  // For bounds: operators may write over their first input (plan::Profile::in_place).
  bool in_place = false;
  // The runtime that must have kernels for added concatenations and sums.
  ops::StockRuntime runtime = ops::StockRuntime::kNone;
};
// `base` with the limits of a profile's runtime: TensorFlow Lite Micro loads no CONCATENATION of
// more than ten inputs.
Settings SettingsFor(plan::Runtime runtime, Settings base);

// The edited graph: operators that are kept have their index as source_index, new tensors follow
// those of `graph`. An application that does not match (another graph, an operator to which the
// rule does not apply) fails with kBadInput, and so does one that is declared bitwise although its
// rule under these settings is not. New constants have data if the constants that they are cut from
// have it. `graph` and the result have passed graph::Verify(). O(graph + bytes cut).
Result<graph::Graph> Apply(const graph::Graph& graph, std::span<const plan::Rewrite> applications,
                           const Settings& settings);

struct SearchOptions {
  // The most that an application may do to the outputs.
  plan::Exactness exactness = plan::Exactness::kBitwise;
  std::vector<std::string> rules;  // names; empty: all but those on demand
  // Dead channels are removed before the search, where there are enough (IsWorthwhile()) and the
  // peak is no higher for it.
  bool dead_channels = false;
  Settings settings;
  // Every rule at every operator that it fits, in the finest way, as SERENITY's rewriter has it:
  // nothing is searched for, and the bound is that of the orders of this one graph.
  bool everywhere = false;
  // Where the search ends: operators and states looked at, in about microseconds of a fast core.
  std::int64_t max_work = 400'000;
  // Also find the minimum peak of a graph that no rule matches; false: peak and bound are 0 then.
  bool measures_unchanged = true;
};

struct Found {
  std::vector<plan::Rewrite> applications;  // bytes_saved filled in
  graph::Graph graph;                       // the edited graph; of no applications: the given one
  std::int64_t peak_bytes = 0;              // of its best order
  // No choice of applications of these rules has a smaller peak; with SearchOptions::everywhere: no
  // order of `graph` has.
  std::int64_t lower_bound_bytes = 0;
  std::int64_t evaluations = 0;
  bool optimal() const { return peak_bytes == lower_bound_bytes; }
};

// The applications with the minimum peak under the profile of `options`, from which no single
// application can be removed; proven by branch and bound, or with the bound that was reached.
// Deterministic. Fails as compile::Compile().
Result<Found> Search(const graph::Graph& graph, const compile::Options& options,
                     const SearchOptions& search);

}  // namespace neap::rewrite
