// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/edits.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "neap/check/channel_check.h"
#include "neap/check/key_block_check.h"
#include "neap/check/repetition_check.h"
#include "neap/check/runtime_check.h"
#include "neap/transform/cascade/region.h"
#include "neap/transform/cascade/tiles_check.h"
#include "neap/transform/duplicate/duplicate.h"
#include "neap/transform/rewrite/channels/dead.h"
#include "neap/transform/rewrite/interface.h"
#include "neap/transform/rewrite/rewrite.h"

namespace neap::deliver {
namespace {

Diagnostic AtModel(Diagnostic error, const formats::SourceModel& source) {
  if (error.file.empty()) error.file = source.path;
  return error;
}

// Read back from its bytes where the plan is about a file, else a graph beside those of the source.
Result<formats::SourceModel> RewrittenModel(const formats::SourceModel& source,
                                            const plan::Plan& plan,
                                            const formats::LoadOptions& options) {
  rewrite::Settings settings;
  settings.sums = plan.accumulator_bytes > 0 ? rewrite::Sums::kInPlace : rewrite::Sums::kTensors;
  if (plan.accumulator_bytes > 0) {
    settings.accumulator_bytes = static_cast<int>(plan.accumulator_bytes);
  }
  settings.own_kernels = plan.runtime == plan::Runtime::kNeap;
  auto edited =
      rewrite::Apply(source.graph, plan.rewrites, rewrite::SettingsFor(plan.runtime, settings));
  if (!edited) return Fail(std::move(edited).error());
  NEAP_CHECK_OK(CheckDeadChannels(source.graph, plan.rewrites));
  NEAP_CHECK_OK(CheckKeyBlocks(source.graph, plan.rewrites));
  NEAP_CHECK_OK(check::RequireKernels(source.graph, *edited, plan.runtime));
  if (plan.rewritten_sha256.empty()) return GraphAlone(source, std::move(*edited));
  if (!CanBeFile(source, *edited)) {
    return Fail(BadInput(
        "the plan has the hash of a rewritten file, but no file can contain its rewrites"));
  }
  NEAP_TRY(formats::SourceModel model, formats::WriteEdited(source, *edited, options));
  if (model.sha256 != plan.rewritten_sha256) {
    return Fail(
        BadInput("the plan's rewrites of this model do not result in the rewritten model of "
                 "the plan (another hash)"));
  }
  return model;
}

Result<formats::SourceModel> TiledModel(const formats::SourceModel& source, const plan::Plan& plan,
                                        const formats::LoadOptions& options) {
  std::vector<cascade::RegionPlan> regions;
  for (const plan::TiledRegion& tiled : plan.tiled_regions) {
    cascade::RegionPlan region;
    region.ops = tiled.ops;
    for (const plan::TiledRegion::Split& split : tiled.splits) {
      region.splits.push_back({static_cast<std::size_t>(split.axis), split.cuts});
    }
    regions.push_back(std::move(region));
  }
  const graph::Subgraph& main = source.graph.subgraphs[graph::SubgraphId(0)];
  for (const cascade::RegionPlan& region : regions) {
    NEAP_TRY(const std::vector<cascade::Tile> tiles, cascade::TilesOf(main, region));
    const std::string wrong = cascade::FindWrongTile(main, region, tiles);
    if (!wrong.empty()) return Fail(BadInput("the plan's tiles are invalid: " + wrong));
  }
  const auto edited = cascade::Realise(
      source.graph, regions, plan.tiled_order,
      plan.tiles_share_bodies ? cascade::TileBodies::kShared : cascade::TileBodies::kClones);
  if (!edited) return Fail(BadInput("the plan's tiles are invalid: " + edited.error().message));
  NEAP_CHECK_OK(check::RequireKernels(source.graph, *edited, plan.runtime));
  return formats::WriteEdited(source, *edited, options);
}

Result<Replayed> Replay(formats::SourceModel source, const plan::Plan& plan,
                        const formats::LoadOptions& options) {
  Replayed replayed;
  NEAP_TRY(source, AsSeenBy(std::move(source), plan.runtime, options));
  NEAP_TRY(replayed.interfaced, InterfacedModel(std::move(source), plan.caller_ops, options));
  const formats::SourceModel& given = replayed.interfaced;
  if (!plan.rewrites.empty()) {
    NEAP_TRY(replayed.edited, RewrittenModel(given, plan, options));
  }
  if (!plan.tiled_regions.empty()) {
    if (replayed.edited && plan.rewritten_sha256.empty()) {
      return Fail(BadInput(
          "the plan cuts rewritten operators into tiles, but has no hash of a rewritten file"));
    }
    NEAP_TRY(replayed.edited, TiledModel(replayed.Planned(), plan, options));
  }
  if (!plan.repeated_order.empty()) {
    if (!plan.tiled_regions.empty()) {
      return Fail(BadInput("the plan has operators in tiles and operators that run again"));
    }
    NEAP_TRY(replayed.edited, RepeatedModel(replayed.Planned(), plan.repeated_order, options));
  }
  if (replayed.edited) {
    replayed.edited->path = given.path;
    replayed.edited->sha256 = given.sha256;
  }
  return replayed;
}

bool HasAllValues(const graph::Graph& graph) {
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    for (const graph::Tensor& tensor : subgraph.tensors) {
      if (tensor.constant && !tensor.data) return false;
    }
  }
  return true;
}

}  // namespace

bool IsSeenBy(const formats::SourceModel& source, plan::Runtime runtime) {
  return (!source.defines_shapes || source.file_shapes == (runtime == plan::Runtime::kTflm)) &&
         (!source.computes_constants || source.folds == (runtime == plan::Runtime::kNeap));
}

Result<formats::SourceModel> AsSeenBy(formats::SourceModel source, plan::Runtime runtime,
                                      const formats::LoadOptions& options) {
  if (IsSeenBy(source, runtime)) return source;
  formats::LoadOptions load = options;
  load.file_shapes = runtime == plan::Runtime::kTflm;
  load.folds = runtime == plan::Runtime::kNeap;
  return formats::LoadBytes(source.bytes, source.path, load);
}

Result<formats::SourceModel> WithWeights(const formats::SourceModel& source,
                                         const formats::LoadOptions& options) {
  const bool has_file = source.bytes && source.format != formats::Format::kGraphJson;
  if (options.weights || !has_file || HasAllValues(source.graph)) return source;
  formats::LoadOptions load = options;
  load.weights = true;
  load.file_shapes = source.file_shapes;
  load.folds = source.folds;
  return formats::LoadBytes(source.bytes, source.path, load);
}

Result<Replayed> ReplayEdits(formats::SourceModel source, const plan::Plan& plan,
                             const formats::LoadOptions& options) {
  const std::string path = source.path;
  formats::LoadOptions load = options;
  // Tiles may have parts of constants.
  if (!plan.tiled_regions.empty()) {
    NEAP_TRY(source, WithWeights(source, options));
    load.weights = true;
  }
  auto replayed = Replay(std::move(source), plan, load);
  if (!replayed && replayed.error().file.empty()) replayed.error().file = path;
  return replayed;
}

Result<formats::SourceModel> InterfacedModel(formats::SourceModel source,
                                             const std::vector<graph::OpId>& caller_ops,
                                             const formats::LoadOptions& options) {
  if (caller_ops.empty()) return source;
  auto edited = rewrite::MoveToCaller(source.graph, caller_ops);
  if (!edited) return Fail(AtModel(std::move(edited).error(), source));
  if (source.format == formats::Format::kGraphJson) {
    source.graph = std::move(*edited);
    return source;
  }
  NEAP_TRY(formats::SourceModel model, formats::WriteEdited(source, *edited, options));
  model.path = source.path;
  model.sha256 = source.sha256;
  return model;
}

Result<formats::SourceModel> RepeatedModel(const formats::SourceModel& source,
                                           const std::vector<graph::OpId>& sequence,
                                           const formats::LoadOptions& options) {
  auto edited = duplicate::Apply(source.graph, sequence);
  if (!edited) return Fail(AtModel(std::move(edited).error(), source));
  const std::string wrong = check::FindWrongRepetition(source.graph, *edited);
  if (!wrong.empty()) {
    return Fail(AtModel(BadInput("operators that run again change the model: " + wrong), source));
  }
  if (!CanBeFile(source, *edited)) return GraphAlone(source, std::move(*edited));
  return formats::WriteEdited(source, *edited, options);
}

void RecordTiles(const cascade::Proposal& proposal, plan::Plan* plan) {
  plan->tiled_regions.clear();
  plan->tiled_order.clear();
  plan->tiles_share_bodies = false;
  if (proposal.regions.empty()) return;
  plan->tiled_order = proposal.order;
  plan->tiles_share_bodies = proposal.bodies == cascade::TileBodies::kShared;
  for (const cascade::RegionPlan& region : proposal.regions) {
    plan::TiledRegion tiled;
    tiled.ops = region.ops;
    for (const cascade::Split& split : region.splits) {
      tiled.splits.push_back({static_cast<std::int32_t>(split.axis), split.cuts});
    }
    plan->tiled_regions.push_back(std::move(tiled));
  }
}

formats::SourceModel GraphAlone(const formats::SourceModel& source, graph::Graph edited) {
  formats::SourceModel model = source;
  model.graph = std::move(edited);
  return model;
}

Status CheckDeadChannels(const graph::Graph& given,
                         const std::vector<plan::Rewrite>& applications) {
  std::vector<plan::Rewrite> dead;
  for (const plan::Rewrite& application : applications) {
    if (application.rule == rewrite::kDeadChannels) dead.push_back(application);
  }
  if (dead.empty()) return {};
  NEAP_TRY(const graph::Graph narrowed, rewrite::ApplyDeadChannels(given, dead));
  const std::string wrong = check::FindWrongChannels(given, narrowed, dead);
  if (wrong.empty()) return {};
  return Fail(BadInput("rewrite '" + std::string(rewrite::kDeadChannels) + "' is wrong: " + wrong));
}

Status CheckKeyBlocks(const graph::Graph& given, const std::vector<plan::Rewrite>& applications) {
  std::vector<plan::Rewrite> blocks;
  for (const plan::Rewrite& application : applications) {
    if (application.rule == rewrite::kKeyBlocks) blocks.push_back(application);
  }
  if (blocks.empty()) return {};
  // Under any settings: the rule reads none that decide what it does.
  NEAP_TRY(const graph::Graph edited, rewrite::Apply(given, blocks, rewrite::Settings()));
  const std::string wrong = check::FindWrongKeyBlocks(given, edited);
  if (wrong.empty()) return {};
  return Fail(BadInput("rewrite '" + std::string(rewrite::kKeyBlocks) + "' is wrong: " + wrong));
}

bool CanBeFile(const formats::SourceModel& source, const graph::Graph& edited) {
  return !NeedsExecutor(edited) && source.format != formats::Format::kGraphJson;
}

bool NeedsExecutor(const graph::Graph& graph) {
  return std::any_of(graph.subgraphs.begin(), graph.subgraphs.end(),
                     [](const graph::Subgraph& subgraph) {
                       return std::any_of(subgraph.ops.begin(), subgraph.ops.end(),
                                          [](const graph::Op& op) { return op.domain == "neap"; });
                     });
}

}  // namespace neap::deliver
