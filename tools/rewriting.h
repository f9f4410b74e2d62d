// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/compile/compile.h"
#include "neap/formats/formats.h"
#include "neap/plan/plan.h"
#include "neap/rewrite/rewrite.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}  // namespace CLI

namespace neap::tools {

// --rewrite and what belongs to it, as given.
struct RewriteWords {
  std::string rewrite;
  std::string rules;          // "": all
  int accumulator_bytes = 0;  // 0: not given
  std::int64_t work = 0;      // 0: not given
  bool asked = false;         // any of them was given, and not that the graph stays
};
// `words->rewrite` is the default.
void AddRewriteOptions(CLI::App* app, RewriteWords* words);

// The same, understood.
struct RewriteSettings {
  bool any = true;  // false: --rewrite none
  plan::Exactness exactness = plan::Exactness::kBitwise;
  std::vector<std::string> rules;  // empty: all
  int accumulator_bytes = 4;
  std::int64_t work = 0;  // of the search; 0: its own limit
};
Result<RewriteSettings> ParseRewriting(const RewriteWords& words);

// The model that the rewrites of `plan` make of `source`: what the plan is about. Read back from
// its bytes where the plan is about a file, else a graph beside the bytes of the source. `options`
// are those that `source` was read with; constants that are cut for a file need `weights`.
Result<formats::SourceModel> RewrittenModel(const formats::SourceModel& source,
                                            const plan::Plan& plan,
                                            const formats::LoadOptions& options);

// Whether the graph has operators that no file can hold.
bool NeedsExecutor(const graph::Graph& graph);

// What rewriting did to the model that is going to be planned.
struct Rewritten {
  formats::SourceModel model;  // the rewritten one
  std::vector<plan::Rewrite> applications;
  std::int64_t accumulator_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t lower_bound_bytes = 0;
  std::int64_t growth_bytes = 0;
  std::int64_t evaluations = 0;
  std::string rewritten_sha256;
  // Weights would be cut that the file does not have: a graph with their sizes, and no file.
  bool without_weights = false;
};
struct RewriteFor {
  bool sums_in_place = false;  // sums may be held in accumulators of Neap's executor
  bool file = false;           // the rewritten model is going to be written
};
// Decides on rewrites and applies them. The source is read again where constants have to be cut
// whose data was left out; where the file does not have them either, only a plan can be had. The
// applications are empty where nothing helps.
Result<Rewritten> Rewrite(const formats::SourceModel& source, const compile::Options& compile,
                          const RewriteSettings& settings, RewriteFor purpose,
                          const formats::LoadOptions& options);

}  // namespace neap::tools
