// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_next.h"

#include "neap/transform/rewrite/interface.h"

namespace neap::tools {
namespace {

// Features that were not planned, although the other options allow them.
std::string UntriedOptions(const PlanOptions& options, const MadePlan& made) {
  const deliver::Words& words = options.model.words;
  const plan::Runtime runtime = made.request.compile.runtime;
  const bool overlaps = runtime == plan::Runtime::kTflm && words.overlap.empty() &&
                        !words.no_memory_plan && words.moves == "none" && words.memories.empty();
  std::string out;
  const auto add = [&](bool untried, const char* option) {
    if (untried) out += (out.empty() ? "" : ", ") + std::string(option);
  };
  add(words.rewrite == "none" && !words.has_scratch, "--rewrite bitwise");
  add(overlaps, "--overlap tflm-reference");
  add(words.cascade == "off", "--cascade auto");
  add(words.integer_io.empty() && !words.has_scratch &&
          !rewrite::ConversionsAtEnds(made.source.graph, {true, true}).empty(),
      "--integer-io both");
  add(words.stream == "off" && runtime == plan::Runtime::kNeap, "--stream auto");
  return out;
}

}  // namespace

std::vector<std::string> NextSteps(const PlanOptions& options, const MadePlan& made,
                                   const report::PlanReport& report) {
  if (!report::IsBudgetKnown(report)) return {};
  if (!report::Fits(report)) {
    const std::string untried = UntriedOptions(options, made);
    return untried.empty() ? std::vector<std::string>()
                           : std::vector<std::string>{"not tried yet: " + untried};
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
