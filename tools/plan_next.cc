// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_next.h"

#include <fmt/format.h>

#include <algorithm>

#include "neap/base/bytes.h"
#include "tools/common.h"
#include "tools/emitting.h"

namespace neap::tools {
namespace {

// Features that were not planned, because the options forbid them.
std::string UntriedOptions(const PlanOptions& options, const MadePlan& made) {
  const deliver::Words& words = options.model.words;
  std::string out;
  const auto add = [&](bool untried, const char* option) {
    if (untried) out += (out.empty() ? "" : ", ") + std::string(option);
  };
  add(words.rewrite == "none" && !words.has_scratch, "--rewrite bitwise");
  add(words.cascade == "off", "--cascade auto");
  add(words.stream == "off" && made.request.compile.runtime == plan::Runtime::kNeap,
      "--stream auto");
  add(words.effort == "quick", "--effort default");
  return out;
}

// "--overlap tflm-reference: total arena 61,424 B (TFLM reference kernels)"
std::string AdviceText(const deliver::Feature& feature, bool of_total) {
  std::string options;
  for (const deliver::FeatureOption& option : feature.options) {
    options += fmt::format("{}--{}{}{}", options.empty() ? "" : " ", option.name,
                           option.value.empty() ? "" : " ", option.value);
  }
  const bool total = of_total && feature.total_arena_bytes >= 0;
  std::string price(feature.requires_text);
  if (feature.model_macs > 0 && feature.macs != feature.model_macs) {
    price += fmt::format(", {:.3f}x MACs", static_cast<double>(feature.macs) /
                                               static_cast<double>(feature.model_macs));
  }
  return fmt::format("{}: {} {} B ({})", options, total ? "total arena" : "arena",
                     FormatCount(total ? feature.total_arena_bytes : feature.arena_bytes), price);
}

// "fits as C code (neap emit MODEL -o FOLDER): 10,908 B in all, a stack of 448 B"; "": it does not,
// or cannot be emitted.
std::string CodeText(const PlanOptions& options, const MadePlan& made,
                     const report::PlanReport& report) {
  const deliver::Verdict verdict = report::VerdictOf(report);
  if (verdict.of_weights || made.request.compile.runtime != plan::Runtime::kTflm ||
      options.model.input == "-" || made.source.format != formats::Format::kTflite) {
    return "";
  }
  const auto code = NeedOfCode(options.model.input, made.load, 0, false);
  if (!code || code->arena_bytes > verdict.available_bytes) return "";
  return fmt::format("fits as C code (neap emit {} -o FOLDER): {} B in all, a stack of {} B",
                     report::Printable(BaseName(options.model.input)),
                     FormatCount(code->arena_bytes), FormatCount(code->stack_bytes));
}

// The features that fit, for another runtime last; otherwise the one that needs least.
std::vector<std::string> AdviceTexts(const report::PlanReport& report, const std::string& code) {
  const bool of_total = report::VerdictOf(report).of_total;
  std::vector<std::string> texts;
  std::vector<std::string> elsewhere;
  const deliver::Feature* least = nullptr;
  for (const deliver::Feature& feature : report.advice) {
    const bool other =
        std::any_of(feature.options.begin(), feature.options.end(),
                    [](const deliver::FeatureOption& option) { return option.name == "runtime"; });
    if (feature.fits) {
      (other ? elsewhere : texts).push_back("fits with " + AdviceText(feature, of_total));
    }
    if (least == nullptr || deliver::NeedsLess(feature, *least)) least = &feature;
  }
  if (!code.empty()) texts.push_back(code);
  // Of those of another runtime the first, which costs least.
  if (!elsewhere.empty()) texts.push_back(elsewhere.front());
  if (texts.empty() && least != nullptr) {
    texts.push_back("does not fit with " + AdviceText(*least, of_total) + " either");
  }
  return texts;
}

}  // namespace

std::vector<std::string> NextSteps(const PlanOptions& options, const MadePlan& made,
                                   const report::PlanReport& report) {
  if (!report::IsBudgetKnown(report)) return {};
  if (!report::Fits(report)) {
    std::vector<std::string> next = AdviceTexts(report, CodeText(options, made, report));
    const std::string untried = UntriedOptions(options, made);
    if (!untried.empty()) next.push_back("not tried yet: " + untried);
    return next;
  }
  const bool writes = !options.model_out.empty() || !options.plan_out.empty();
  if (writes || report.refused || !report.placed) return {};
  if (made.request.compile.runtime == plan::Runtime::kNeap) {
    return {"--plan plan.json writes the plan, which neap run --plan executes"};
  }
  if (made.source.format == formats::Format::kGraphJson || !options.model.words.memories.empty()) {
    return {"--plan plan.json writes the plan"};
  }
  const std::string file = made.source.format == formats::Format::kOnnx ? "OUT.onnx" : "OUT.tflite";
  return {"-o " + file + " writes the model " +
          (report.carries_plan ? "with this memory plan" : "in this order")};
}

}  // namespace neap::tools
