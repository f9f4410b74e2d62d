// SPDX-License-Identifier: Apache-2.0
//
// One job of `neap serve`: confines itself, then plans as `neap plan` and `neap emit` do.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "neap/serve/serve.h"
#include "tools/common.h"

namespace neap::tools {
namespace {

using serve::kJobOutput;

bool IsGraphJson(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char first = ' ';
  while (file.get(first) && (first == ' ' || first == '\n' || first == '\r' || first == '\t')) {
  }
  return first == '{';
}

std::string Output(std::string_view name) { return fmt::format("{}/{}", kJobOutput, name); }

int Planned(const serve::Job& job, std::vector<std::string> args) {
  // The server's limits are of the whole process: threads and tables of a search are in them.
  constexpr std::int64_t kShareOfTables = 2;
  args.push_back(fmt::format("--max-memory={}", job.limits.memory_bytes / kShareOfTables));
  args.emplace_back("--threads=1");
  for (const std::string& option : job.options) args.push_back("--" + option);
  return PlanCommand(std::move(args), false);
}

int PlanJob(const serve::Job& job, const std::string& model) {
  std::vector<std::string> args = {model,
                                   "--json",
                                   "--quiet",
                                   "--plan",
                                   Output(serve::kPlanFile),
                                   "--html",
                                   Output(serve::kPictureFile),
                                   "--svg",
                                   Output(serve::kDrawingFile)};
  if (!IsGraphJson(model)) args.insert(args.end(), {"-o", Output(serve::kModelFile)});
  return Planned(job, std::move(args));
}

// From here on, standard output is the report `name`.
Status ReportIn(const std::string& name) {
  if (std::freopen(Output(name).c_str(), "w", stdout) != nullptr) return {};
  return Fail(IoError("a report cannot be written"));
}

// The stage as `neap pipeline` named it is StageFile(number, kModelFile) from here on.
bool TakeStage(const std::string& stem, std::int64_t number) {
  for (const char* const end : {".tflite", ".onnx"}) {
    const std::string written = Output(fmt::format("{}.stage{}{}", stem, number, end));
    const std::string name = Output(serve::StageFile(number, serve::kModelFile));
    if (std::rename(written.c_str(), name.c_str()) == 0) return true;
  }
  return false;
}

int StagesJob(const serve::Job& job, const std::string& model) {
  std::vector<std::string> args = {model, "--json", "--quiet", "-o", kJobOutput};
  serve::Job of_stage = job;
  of_stage.options.clear();
  for (const std::string& option : job.options) {
    if (serve::IsOfPipeline(option)) args.push_back("--" + option);
    if (!serve::IsOfPipeline(option)) of_stage.options.push_back(option);
    if (option.starts_with("dim=")) args.push_back("--" + option);
  }
  int code = PipelineCommand(std::move(args));
  const std::string stem = std::filesystem::path(job.name).stem().string();
  for (std::int64_t number = 1; code == kDone || code == kOverBudget; ++number) {
    if (!TakeStage(stem, number)) break;
    const Status status = ReportIn(serve::StageFile(number, serve::kReportFile));
    if (!status) return Report(serve::kJobVerb, status.error());
    const std::string stage = Output(serve::StageFile(number, serve::kModelFile));
    std::vector<std::string> plan = {stage, "--json", "--quiet", "--plan",
                                     Output(serve::StageFile(number, serve::kPlanFile))};
    const int planned = Planned(of_stage, std::move(plan));
    if (planned != kDone) code = planned;
  }
  return code;
}

int DeviceJob(const serve::Job& job, const std::string& model) {
  std::vector<std::string> args = {model, "--binary-plan", Output(serve::kBinaryPlanFile), "--json",
                                   "--threads=1"};
  for (const std::string& option : job.options) args.push_back("--" + option);
  return EmitCommand(std::move(args));
}

int CodeJob(const std::string& model) {
  const Status status = ReportIn(serve::kCodeReportFile);
  if (!status) return Report(serve::kJobVerb, status.error());
  return EmitCommand({model, "--plan", Output(serve::kPlanFile), "-o", kJobOutput, "--prefix",
                      "model", "--single-file", "--json"});
}

}  // namespace

int ServeJobCommand() {
  const auto job = serve::ReadJob(".");
  if (!job) return Report(serve::kJobVerb, job.error());
  if (const Status status = serve::Confine(job->limits); !status) {
    return Report(serve::kJobVerb, status.error());
  }
  ProgressLine::PrintForPrograms();
  const std::string model = fmt::format("{}/{}", serve::kJobInput, job->name);
  if (job->kind == serve::JobKind::kDevice) return DeviceJob(*job, model);
  if (job->kind == serve::JobKind::kStages) return StagesJob(*job, model);
  const int code = PlanJob(*job, model);
  if (code != kDone || job->kind != serve::JobKind::kCode) return code;
  return CodeJob(model);
}

}  // namespace neap::tools
