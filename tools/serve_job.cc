// SPDX-License-Identifier: Apache-2.0
//
// One job of `neap serve`: confines itself, then plans as `neap plan` and `neap emit` do.
#include <fmt/format.h>

#include <array>
#include <cstdio>
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

int PlanJob(const serve::Job& job, const std::string& model) {
  std::vector<std::string> args = {model,
                                   "--json",
                                   "--quiet",
                                   "--plan",
                                   Output(serve::kPlanFile),
                                   "--html",
                                   Output(serve::kPictureFile)};
  if (!IsGraphJson(model)) args.insert(args.end(), {"-o", Output(serve::kModelFile)});
  // The server's limits are of the whole process: threads and tables of a search are in them.
  constexpr std::int64_t kShareOfTables = 2;
  args.push_back(fmt::format("--max-memory={}", job.limits.memory_bytes / kShareOfTables));
  args.emplace_back("--threads=1");
  for (const std::string& option : job.options) args.push_back("--" + option);
  return PlanCommand(std::move(args), false);
}

int DeviceJob(const serve::Job& job, const std::string& model) {
  std::vector<std::string> args = {model, "--binary-plan", Output(serve::kBinaryPlanFile), "--json",
                                   "--threads=1"};
  for (const std::string& option : job.options) args.push_back("--" + option);
  return EmitCommand(std::move(args));
}

int CodeJob(const std::string& model) {
  const std::string report = Output(serve::kCodeReportFile);
  if (std::freopen(report.c_str(), "w", stdout) == nullptr) {
    return Report(serve::kJobVerb, IoError("the report of the code cannot be written"));
  }
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
  const int code = PlanJob(*job, model);
  if (code != kDone || job->kind != serve::JobKind::kCode) return code;
  return CodeJob(model);
}

}  // namespace neap::tools
