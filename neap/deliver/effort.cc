// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/effort.h"

#include <algorithm>
#include <string>

#include "neap/ops/op_table.h"
#include "neap/ops/overlap.h"

namespace neap::deliver {
namespace {

constexpr std::string_view kQuick = "quick";
constexpr std::string_view kThorough = "thorough";

// In about nanoseconds. Some work is not counted: a quick search takes less than a second of one
// core, a default one less than ten.
constexpr std::int64_t kQuickWork = 500'000'000;
constexpr std::int64_t kSearchWork = 5'000'000'000;

bool Registers(const Words& words, std::string_view type) {
  const std::vector<std::string>& names = words.registered;
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == type || name == kAllOperators;
  });
}

// Shared bodies are called by an operator that few applications register.
bool MayCallBodies(const Words& words, const graph::Graph& graph) {
  if (Registers(words, ops::NameOf(ops::OpKind::kIf))) return true;
  return std::any_of(
      graph.subgraphs.begin(), graph.subgraphs.end(), [](const graph::Subgraph& subgraph) {
        return std::any_of(subgraph.ops.begin(), subgraph.ops.end(),
                           [](const graph::Op& op) { return ops::KindOf(op) == ops::OpKind::kIf; });
      });
}

// The kernels of a target that was named; of an unknown one those overlaps that are right under
// all.
ops::KernelLibrary OverlapFor(const Words& words, const Request& request) {
  const bool named = !words.target.empty() || !words.board.empty();
  const ops::KernelLibrary own =
      named ? ops::LibraryOfTarget(*request.compile.target) : ops::KernelLibrary::kNone;
  return own == ops::KernelLibrary::kNone ? ops::KernelLibrary::kCopies : own;
}

void SetExtras(const Words& words, const graph::Graph& graph, Request* request) {
  if (request->compile.runtime != plan::Runtime::kTflm) return;
  Extras& extras = request->extras;
  if (!words.Has("overlap")) extras.kernels = OverlapFor(words, *request);
  if (words.effort == kQuick) return;
  if (!words.Has("moves")) extras.moves = compile::MoveStrategy::kBest;
  extras.shared_bodies = !words.Has("cascade-bodies") && MayCallBodies(words, graph);
}

}  // namespace

void SetEffort(const Words& words, const graph::Graph& graph, Request* request) {
  if (!words.registered.empty() && !Registers(words, kAllOperators)) {
    request->registered.emplace(words.registered.begin(), words.registered.end());
  }
  const bool has_budget = request->budgets.Any();
  if (words.order_only || (!has_budget && words.effort.empty())) return;
  const Use use = has_budget ? Use::kIfNeeded : Use::kAlways;
  request->use_extras = use;
  SetExtras(words, graph, request);
  if (words.effort == kQuick) {
    // The searches that take longer, unless they were requested.
    if (words.cascade.empty()) request->tiling.use = Use::kNever;
    if (words.stream.empty()) request->streaming.use = Use::kNever;
    return;
  }
  if (words.cascade.empty() && MayCut(words)) request->tiling.use = use;
  if (words.stream.empty() && request->streaming.use == Use::kIfNeeded)
    request->streaming.use = use;
}

std::int64_t DefaultWorkOf(const Words& words) {
  if (words.max_states != 0 || words.time_limit_seconds > 0) return 0;
  if (words.effort == kQuick) return kQuickWork;
  const bool searches = !words.effort.empty() || HasBudget(words);
  return searches && words.effort != kThorough ? kSearchWork : kDefaultWork;
}

}  // namespace neap::deliver
