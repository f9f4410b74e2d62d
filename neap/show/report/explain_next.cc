// SPDX-License-Identifier: Apache-2.0
//
// Which features neap explain suggests, and their commands.
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "neap/show/report/explain_report.h"

namespace neap::report {
namespace {

using deliver::Explanation;
using deliver::Feature;

std::string Quoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,/:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// "folder/net.tflite" -> "net" + suffix
std::string OutputName(const std::string& path, std::string_view suffix) {
  std::string name = path == "-" ? "model" : path.substr(path.find_last_of('/') + 1);
  const std::size_t dot = name.find_last_of('.');
  if (dot != std::string::npos && dot > 0) name.resize(dot);
  if (name.starts_with('-')) name.insert(0, "./");
  return name + std::string(suffix);
}

// Differs between steps, so that the suggested commands can run one after the other.
std::string_view PlanName(NextStep::Why why) {
  switch (why) {
    case NextStep::Why::kFree:
      return "planned";
    case NextStep::Why::kRuntime:
      return "smallest";
    case NextStep::Why::kAny:
      return "neap";
    case NextStep::Why::kCode:
      return "code";
  }
  return "";
}

// "neap VERB MODEL" with the dimensions.
std::string CommandFor(const ExplainReport& report, std::string_view verb) {
  const std::string& path = report.source->path;
  const bool dashed = path.size() > 1 && path.starts_with('-');
  std::string out = fmt::format("neap {} {}", verb, Quoted(dashed ? "./" + path : path));
  for (const std::string& dim : report.dims) out += " --dim " + Quoted(dim);
  return out;
}

std::string CommandOf(const ExplainReport& report, NextStep::Why why, const Feature& feature) {
  const std::string& path = report.source->path;
  std::string out = CommandFor(report, "plan");
  for (const deliver::FeatureOption& option : feature.options) {
    out += fmt::format(" --{}{}{}", option.name, option.value.empty() ? "" : " ", option.value);
  }
  const std::string name = "-" + std::string(PlanName(why));
  if (!feature.growth_bytes) return out + " --plan " + Quoted(OutputName(path, name + ".json"));
  const std::string_view extension =
      report.source->format == formats::Format::kOnnx ? ".onnx" : ".tflite";
  return out + " -o " + Quoted(OutputName(path, name + std::string(extension)));
}

}  // namespace

std::string_view NameOf(NextStep::Why why) {
  constexpr std::array<std::string_view, 4> kNames = {"free", "runtime", "any runtime", "code"};
  return kNames.at(static_cast<std::size_t>(why));
}

std::vector<NextStep> NextStepsOf(const ExplainReport& report) {
  const Explanation& explanation = *report.explanation;
  const auto on_runtime = [&](const Feature& feature) {
    return feature.runtime == explanation.runtime;
  };
  const Feature& base = explanation.features[explanation.default_feature];
  const Feature* free = explanation.Best(
      [&](const Feature& feature) { return feature.is_free && on_runtime(feature); });
  if (free != nullptr && !deliver::NeedsLess(*free, base)) free = &base;
  const Feature* runtime = explanation.Best(on_runtime);
  const Feature* any = nullptr;
  for (const Feature& feature : explanation.features) {
    if (!feature.HasPlan() || on_runtime(feature)) continue;
    if (any == nullptr || feature.arena_bytes < any->arena_bytes) any = &feature;
  }
  const Feature file = explanation.FileOrderNeed();
  std::vector<NextStep> steps;
  const auto add = [&](NextStep::Why why, const Feature* feature) {
    steps.push_back({why, feature, feature->arena_bytes, CommandOf(report, why, *feature)});
  };
  const Feature* least = &file;  // so far
  if (free != nullptr && deliver::NeedsLess(*free, *least)) {
    add(NextStep::Why::kFree, least = free);
  }
  if (runtime != nullptr && deliver::NeedsLess(*runtime, *least)) {
    add(NextStep::Why::kRuntime, least = runtime);
  }
  const std::int64_t total_bytes =
      least->total_arena_bytes < 0 ? least->arena_bytes : least->total_arena_bytes;
  if (report.code && report.code->arena_bytes < total_bytes) {
    const std::string folder = OutputName(report.source->path, "-code");
    steps.push_back({NextStep::Why::kCode, nullptr, report.code->arena_bytes,
                     CommandFor(report, "emit") + " -o " + Quoted(folder)});
    if (any != nullptr && any->runtime == plan::Runtime::kNeap) return steps;
  }
  if (any != nullptr && any->arena_bytes < least->arena_bytes) {
    add(NextStep::Why::kAny, any);
  }
  return steps;
}

}  // namespace neap::report
