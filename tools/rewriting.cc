// SPDX-License-Identifier: Apache-2.0
#include "tools/rewriting.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

namespace neap::tools {
namespace {

std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> items;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    items.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

std::string RuleNames() {
  std::string names;
  for (const rewrite::RuleInfo& rule : rewrite::Rules()) {
    names += (names.empty() ? "" : ", ") + std::string(rule.name);
  }
  return names;
}

bool IsRule(const std::string& name) {
  const auto rules = rewrite::Rules();
  return std::any_of(rules.begin(), rules.end(),
                     [&](const rewrite::RuleInfo& rule) { return rule.name == name; });
}

// The graph beside the bytes of the source.
formats::SourceModel GraphAlone(const formats::SourceModel& source, graph::Graph edited) {
  formats::SourceModel model = source;
  model.graph = std::move(edited);
  return model;
}

bool CanBeFile(const formats::SourceModel& source, const graph::Graph& edited) {
  return !NeedsExecutor(edited) && source.format != formats::Format::kGraphJson;
}

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

}  // namespace

void AddRewriteOptions(CLI::App* app, RewriteWords* words) {
  const std::string preset = words->rewrite;
  app->add_option("--rewrite", words->rewrite,
                  "what rewriting the graph may do to the outputs: nothing at all (bitwise), or "
                  "sums in another order (reassociate); none: the graph stays; default: " +
                      preset)
      ->option_text("none|bitwise|reassociate")
      ->check(CLI::IsMember({"none", "bitwise", "reassociate"}));
  std::string rules = "rewrites to use, or to leave out; default: all";
  for (const rewrite::RuleInfo& rule : rewrite::Rules()) {
    rules += fmt::format("\n{}: {}", rule.name, rule.summary);
  }
  app->add_option("--rules", words->rules, rules)->option_text("NAME,... or -NAME,...");
  app->add_option("--rewrite-work", words->work,
                  "operators and states that the search for rewrites may look at, in about "
                  "microseconds; default: " +
                      std::to_string(rewrite::SearchOptions().max_work))
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  app->add_option("--accumulator-bytes", words->accumulator_bytes,
                  "neap: of an element of the partial sums of 8-bit convolutions; 4, the default, "
                  "is exact; 1 requantises every part, as the accounting of SERENITY has it")
      ->option_text("4|1")
      ->check(CLI::IsMember({1, 4}));
}

Result<RewriteSettings> ParseRewriting(const RewriteWords& words) {
  RewriteSettings settings;
  settings.any = words.rewrite != "none";
  if (words.rewrite == "reassociate") settings.exactness = plan::Exactness::kReassociates;
  if (words.accumulator_bytes != 0) settings.accumulator_bytes = words.accumulator_bytes;
  settings.work = words.work;
  if (!settings.any && (!words.rules.empty() || words.work != 0 || words.accumulator_bytes != 0)) {
    return Fail(UsageError(
        "--rules, --rewrite-work and --accumulator-bytes belong to --rewrite, which is none here"));
  }
  if (words.rules.empty()) return settings;
  // "-name": all but these.
  std::vector<std::string> off;
  for (const std::string& item : SplitList(words.rules)) {
    const bool without = item.starts_with("-");
    const std::string name = without ? item.substr(1) : item;
    if (!IsRule(name)) {
      Diagnostic error = UsageError("--rules: there is no rule '" + name + "'");
      error.hint = "there are " + RuleNames();
      return Fail(std::move(error));
    }
    (without ? off : settings.rules).push_back(name);
  }
  if (off.empty()) return settings;
  if (!settings.rules.empty()) {
    return Fail(UsageError("--rules names rules to use or, with -, rules to leave out, not both"));
  }
  for (const rewrite::RuleInfo& rule : rewrite::Rules()) {
    const std::string name(rule.name);
    if (std::find(off.begin(), off.end(), name) == off.end()) settings.rules.push_back(name);
  }
  settings.any = settings.any && !settings.rules.empty();
  return settings;
}

bool NeedsExecutor(const graph::Graph& graph) {
  for (const graph::Subgraph& subgraph : graph.subgraphs) {
    for (const graph::Op& op : subgraph.ops) {
      if (op.domain == "neap") return true;
    }
  }
  return false;
}

Result<formats::SourceModel> RewrittenModel(const formats::SourceModel& source,
                                            const plan::Plan& plan,
                                            const formats::LoadOptions& options) {
  if (plan.rewrites.empty()) return source;
  rewrite::Settings settings;
  settings.sums = plan.accumulator_bytes > 0 ? rewrite::Sums::kInPlace : rewrite::Sums::kTensors;
  if (plan.accumulator_bytes > 0) {
    settings.accumulator_bytes = static_cast<int>(plan.accumulator_bytes);
  }
  settings.own_kernels = plan.runtime == plan::Runtime::kNeap;
  auto edited =
      rewrite::Apply(source.graph, plan.rewrites, rewrite::SettingsFor(plan.runtime, settings));
  if (!edited) {
    Diagnostic error = std::move(edited).error();
    error.file = source.path;
    return Fail(std::move(error));
  }
  if (plan.rewritten_sha256.empty()) return GraphAlone(source, std::move(*edited));
  if (!CanBeFile(source, *edited)) {
    return Fail(BadInput("the plan names a rewritten file, which its rewrites cannot be"));
  }
  NEAP_TRY(formats::SourceModel model, formats::WriteEdited(source, *edited, options));
  if (model.sha256 != plan.rewritten_sha256) {
    Diagnostic error = BadInput("the rewrites of the plan make another model of it");
    error.file = source.path;
    return Fail(std::move(error));
  }
  return model;
}

namespace {

// Makes `out->model` of the edited graph: a file, with the bytes of the constants that were cut;
// the source is read again where they were left out. Where it does not have them either and no file
// is wanted, the graph alone.
Status MakeModel(const formats::SourceModel& source, graph::Graph edited,
                 const rewrite::Settings& settings, bool file_wanted,
                 const formats::LoadOptions& options, Rewritten* out) {
  formats::LoadOptions load = options;
  std::optional<formats::SourceModel> whole;
  bool lacks = LacksData(source.graph, edited);
  if (lacks && !options.weights) {
    load.weights = true;
    auto loaded = formats::LoadBytes(source.bytes, source.path, load);
    if (loaded) {
      whole = std::move(*loaded);
      NEAP_TRY(edited, rewrite::Apply(whole->graph, out->applications, settings));
      lacks = LacksData(whole->graph, edited);
    } else if (file_wanted) {
      return Fail(std::move(loaded).error());
    }
  }
  if (lacks && !file_wanted) {
    out->without_weights = true;
    out->model = GraphAlone(source, std::move(edited));
    return {};
  }
  NEAP_TRY(out->model, formats::WriteEdited(whole ? *whole : source, edited, load));
  out->rewritten_sha256 = out->model.sha256;
  out->growth_bytes = static_cast<std::int64_t>(out->model.bytes->size()) -
                      static_cast<std::int64_t>(source.bytes->size());
  return {};
}

}  // namespace

Result<Rewritten> Rewrite(const formats::SourceModel& source, const compile::Options& compile,
                          const RewriteSettings& settings, RewriteFor purpose,
                          const formats::LoadOptions& options) {
  rewrite::SearchOptions search;
  search.exactness = settings.exactness;
  search.rules = settings.rules;
  if (settings.work > 0) search.max_work = settings.work;
  search.settings.sums = purpose.sums_in_place ? rewrite::Sums::kInPlace : rewrite::Sums::kTensors;
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
  if (NeedsExecutor(found.graph)) out.accumulator_bytes = settings.accumulator_bytes;
  out.applications = std::move(found.applications);
  if (!CanBeFile(source, found.graph)) {
    out.model = GraphAlone(source, std::move(found.graph));
    return out;
  }
  NEAP_CHECK_OK(
      MakeModel(source, std::move(found.graph), search.settings, purpose.file, options, &out));
  return out;
}

}  // namespace neap::tools
