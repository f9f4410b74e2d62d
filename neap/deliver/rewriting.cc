// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/rewriting.h"

#include <optional>
#include <utility>

#include "neap/base/bytes.h"
#include "neap/base/check.h"
#include "neap/check/runtime_check.h"
#include "neap/deliver/edits.h"
#include "neap/ops/op_table.h"
#include "neap/transform/rewrite/rewrite.h"

namespace neap::deliver {
namespace {

// Constants that have been cut need their bytes.
bool LacksData(const graph::Graph& before, const graph::Graph& edited) {
  const graph::SubgraphId main(0);
  const auto& tensors = edited.subgraphs[main].tensors;
  for (std::size_t i = before.subgraphs[main].tensors.size(); i < tensors.size(); ++i) {
    const graph::Tensor& tensor = tensors[graph::TensorId(i)];
    if (tensor.constant && !tensor.data) return true;
  }
  return false;
}

// Masks of attention whose values were not read: they have to be finite.
bool LacksMasks(const graph::Graph& graph) {
  const graph::Subgraph& main = graph.subgraphs[graph::SubgraphId(0)];
  for (const graph::Op& op : main.ops) {
    if (!ops::Is(op, ops::OpKind::kOnnxAdd, ops::OpKind::kOnnxSub, ops::OpKind::kOnnxMul,
                 ops::OpKind::kOnnxDiv)) {
      continue;
    }
    for (const graph::TensorId input : op.inputs) {
      if (input.valid() && main.tensors[input].constant && !main.tensors[input].data) return true;
    }
  }
  return false;
}

// Sets `out->model` to the edited graph as a file, with the bytes of the constants that were cut.
// The source is read again if these were not read.
Status MakeModel(const formats::SourceModel& source, graph::Graph edited,
                 const rewrite::Settings& settings, const formats::LoadOptions& options,
                 Rewritten* out) {
  formats::LoadOptions load = options;
  std::optional<formats::SourceModel> whole;
  bool lacks = LacksData(source.graph, edited);
  if (lacks && !options.weights) {
    NEAP_TRY(whole, WithWeights(source, options));
    load.weights = true;
    NEAP_TRY(edited, rewrite::Apply(whole->graph, out->applications, settings));
    lacks = LacksData(whole->graph, edited);
  }
  // Even if it is not written: a plan has to be executable.
  if (lacks) {
    return Fail(BadInput(
        "the file has no values of the weights that they cut; with the values, the peak would be " +
        FormatBytes(out->peak_bytes)));
  }
  const formats::SourceModel& given = whole ? *whole : source;
  const Status blocks = CheckKeyBlocks(given.graph, out->applications);
  NEAP_CHECK(blocks.has_value(), "blocks of keys: " + blocks.error().ToString());
  NEAP_TRY(out->model, formats::WriteEdited(given, edited, load));
  out->rewritten_sha256 = out->model.sha256;
  out->growth_bytes = static_cast<std::int64_t>(out->model.bytes->size()) -
                      static_cast<std::int64_t>(source.bytes->size());
  return {};
}

}  // namespace

Result<Rewritten> Rewrite(const formats::SourceModel& source, const compile::Options& compile,
                          const RewriteSettings& settings, const formats::LoadOptions& options) {
  if (settings.exactness == plan::Exactness::kReassociates && !options.weights && source.bytes &&
      LacksMasks(source.graph)) {
    NEAP_TRY(const formats::SourceModel whole, WithWeights(source, options));
    formats::LoadOptions load = options;
    load.weights = true;
    return Rewrite(whole, compile, settings, load);
  }
  rewrite::SearchOptions search;
  search.exactness = settings.exactness;
  search.measures_unchanged = false;
  search.rules = settings.rules;
  search.dead_channels = settings.dead_channels;
  if (settings.work > 0) search.max_work = settings.work;
  search.everywhere = settings.everywhere;
  search.settings.sums = settings.sums_in_place ? rewrite::Sums::kInPlace : rewrite::Sums::kTensors;
  search.settings.accumulator_bytes = settings.accumulator_bytes;
  search.settings.own_kernels = compile.runtime == plan::Runtime::kNeap;
  search.settings.keep_order = settings.exactness == plan::Exactness::kBitwise;
  search.settings = rewrite::SettingsFor(compile.runtime, search.settings);
  Rewritten out;
  NEAP_TRY(rewrite::Found found, rewrite::Search(source.graph, compile, search));
  out.peak_bytes = found.peak_bytes;
  out.lower_bound_bytes = found.lower_bound_bytes;
  out.evaluations = found.evaluations;
  if (found.applications.empty()) return out;
  const Status channels = CheckDeadChannels(source.graph, found.applications);
  NEAP_CHECK(channels.has_value(), "dead channels: " + channels.error().ToString());
  NEAP_CHECK_OK(check::RequireKernels(source.graph, found.graph, compile.runtime));
  if (NeedsExecutor(found.graph)) out.accumulator_bytes = settings.accumulator_bytes;
  out.applications = std::move(found.applications);
  if (!CanBeFile(source, found.graph)) {
    if (!LacksData(source.graph, found.graph)) {
      const Status blocks = CheckKeyBlocks(source.graph, out.applications);
      NEAP_CHECK(blocks.has_value(), "blocks of keys: " + blocks.error().ToString());
    }
    out.model = GraphAlone(source, std::move(found.graph));
    return out;
  }
  NEAP_CHECK_OK(MakeModel(source, std::move(found.graph), search.settings, options, &out));
  return out;
}

}  // namespace neap::deliver
