// SPDX-License-Identifier: Apache-2.0
#include "tools/rewriting.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "neap/rewrite/rewrite.h"

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

}  // namespace

void AddRewriteOptions(CLI::App* app, RewriteWords* words) {
  const std::string preset = words->rewrite;
  app->add_option("--rewrite", words->rewrite,
                  "what rewriting the graph may do to the outputs: nothing at all (bitwise), or "
                  "sums in another order (reassociate); none: the graph stays; serenity: the "
                  "rules of SERENITY wherever they fit, accumulators of one byte; default: " +
                      preset)
      ->option_text("none|bitwise|reassociate|serenity")
      ->check(CLI::IsMember({"none", "bitwise", "reassociate", "serenity"}));
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

Result<deliver::RewriteSettings> ParseRewriting(const RewriteWords& words) {
  deliver::RewriteSettings settings;
  settings.any = words.rewrite != "none";
  if (words.rewrite == "reassociate") settings.exactness = plan::Exactness::kReassociates;
  if (words.rewrite == "serenity") {
    // Section 3.3 of the paper: channel-wise and kernel-wise partitioning behind concatenations.
    settings.everywhere = true;
    settings.exactness = plan::Exactness::kReassociates;
    settings.accumulator_bytes = 1;
    settings.rules = {"concat", "kernel-wise", "channel-wise"};
    if (!words.rules.empty() || words.work != 0) {
      return Fail(UsageError(
          "--rules and --rewrite-work choose where to rewrite, which --rewrite serenity does not"));
    }
  }
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

}  // namespace neap::tools
