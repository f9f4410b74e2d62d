// SPDX-License-Identifier: Apache-2.0
//
// A plan names the edits that lead from the given model to the model that it orders and places:
// conversions that the caller runs, rewrites, operators in tiles. They are replayed here, in this
// one order, for every program that reads a plan.
#pragma once

#include <optional>
#include <vector>

#include "neap/base/result.h"
#include "neap/formats/formats.h"
#include "neap/graph/graph.h"
#include "neap/plan/plan.h"
#include "neap/transform/cascade/plan.h"

namespace neap::deliver {

// The model as `runtime` sees it (formats::LoadOptions::file_shapes and folds): read again where
// that is not `source`, with the same bytes, path and hash. `options` are those that `source` was
// read with.
Result<formats::SourceModel> AsSeenBy(formats::SourceModel source, plan::Runtime runtime,
                                      const formats::LoadOptions& options);

// `source`, which was read with `options`, with the values of all constants that its file has: read
// again if some are missing.
Result<formats::SourceModel> WithWeights(const formats::SourceModel& source,
                                         const formats::LoadOptions& options);

// Whether `source` was read so.
bool IsSeenBy(const formats::SourceModel& source, plan::Runtime runtime);

// The models along the way. All of them have the path and the hash of the given model: a plan is
// checked against those.
struct Replayed {
  // As the plan's runtime sees it, without the conversions that the caller runs.
  formats::SourceModel interfaced;
  // Rewritten, in tiles, or with operators that run again; nullopt: none of these.
  std::optional<formats::SourceModel> edited;

  const formats::SourceModel& Planned() const { return edited ? *edited : interfaced; }
};

// `plan` was made for `source`: the hashes agree (the caller compares them). `options` are those
// that `source` was read with; a plan with `rewritten_sha256` needs the weights. Fails with
// kBadInput, naming the file, where an edit does not fit the model, or makes another model than the
// one that the plan names.
Result<Replayed> ReplayEdits(formats::SourceModel source, const plan::Plan& plan,
                             const formats::LoadOptions& options);

// The first of these edits alone; no operators: the model as it is.
Result<formats::SourceModel> InterfacedModel(formats::SourceModel source,
                                             const std::vector<graph::OpId>& caller_ops,
                                             const formats::LoadOptions& options);

// The model whose main subgraph runs `sequence`, checked by check::FindWrongRepetition(), and a
// file where that can be. Fails with kBadInput.
Result<formats::SourceModel> RepeatedModel(const formats::SourceModel& source,
                                           const std::vector<graph::OpId>& sequence,
                                           const formats::LoadOptions& options);

// Records in `plan` the operators that `proposal` cuts into tiles.
void RecordTiles(const cascade::Proposal& proposal, plan::Plan* plan);

// The graph beside the bytes of the source, for edits that no file can hold.
formats::SourceModel GraphAlone(const formats::SourceModel& source, graph::Graph edited);

// Fails with kBadInput where a channel that `applications` remove is not dead or the graph without
// them computes something else; by code that shares nothing with the rule
// (check::FindWrongChannels).
Status CheckDeadChannels(const graph::Graph& given, const std::vector<plan::Rewrite>& applications);

// The same for attention over blocks of keys (check::FindWrongKeyBlocks). Constants that are cut
// have their data.
Status CheckKeyBlocks(const graph::Graph& given, const std::vector<plan::Rewrite>& applications);

// Whether a file of the format of `source` can represent the edited graph.
bool CanBeFile(const formats::SourceModel& source, const graph::Graph& edited);
// Whether the graph has operators of Neap's executor, which no file can hold.
bool NeedsExecutor(const graph::Graph& graph);

}  // namespace neap::deliver
