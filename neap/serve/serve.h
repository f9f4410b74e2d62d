// SPDX-License-Identifier: Apache-2.0
//
// The service: plans as resources over HTTP. Every job is a child process with limits and without
// network, so that a hostile model reaches neither the server nor another job.
// docs/guides/server.md has the interface and the threat model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "neap/base/result.h"

namespace neap::serve {

// Of one job.
struct JobLimits {
  std::int64_t memory_bytes = std::int64_t{4} << 30;  // address space
  std::int64_t cpu_seconds = 600;
  std::int64_t wall_seconds = 900;
  std::int64_t file_bytes = std::int64_t{512} << 20;  // of each file that it writes
  std::int64_t total_bytes = std::int64_t{1} << 30;   // of all files that it writes
  std::int64_t open_files = 64;
};

struct Settings {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8642;         // 0: one that is free
  std::string folder;                // of the store; made if it is absent
  std::string token_file;            // "": no tokens, only on a loopback address
  std::vector<std::string> hosts;    // further names that the Host header may have
  std::vector<std::string> origins;  // other origins whose pages may use the service
  std::string page;                  // folder of static files at /; "": none

  std::int64_t jobs = 2;     // at the same time
  std::int64_t queue = 256;  // waiting jobs; more are refused
  std::int64_t model_bytes = std::int64_t{256} << 20;
  std::int64_t store_bytes = std::int64_t{8} << 30;
  std::int64_t keep_seconds = std::int64_t{7} * 24 * 3600;  // of finished plans
  std::int64_t drain_seconds = 10;  // for running jobs after a signal to end
  std::int64_t connections = 512;
  std::int64_t uploads = 200;  // at the same time
  std::int64_t streams = 128;  // of events, at the same time
  std::int64_t header_seconds = 10;
  std::int64_t upload_seconds = 600;
  JobLimits job;

  // The program that runs a job: `program` kJobVerb, in the job's folder.
  std::string program = "/proc/self/exe";
  // Called once the server listens, with its address and port.
  std::function<void(const std::string& address, std::uint16_t port)> on_listening;
};

// The verb of the program that runs one job; it is in no help.
inline constexpr const char* kJobVerb = "serve-job";

// Whether this build has the HTTP library.
bool IsAvailable();

// Serves until SIGTERM or SIGINT. Fails before it listens where a setting cannot be used: another
// address than loopback without tokens, a store of another format, a port in use.
Status Serve(const Settings& settings);

enum class JobKind : std::uint8_t {
  kPlan,    // as `neap plan`
  kCode,    // and C code of that plan
  kDevice,  // a binary plan alone
  kStages,  // as `neap pipeline`, and a plan of each stage
};

// Of the stages of a job; further devices are refused.
inline constexpr std::int64_t kMaxStages = 16;

// The job of the working folder, as Service writes it (job.json).
struct Job {
  std::string name;  // file name of the model, in the folder kJobInput
  // Of `neap plan` or `neap emit`: "runtime=neap"; with kStages, those of `neap pipeline` as well.
  std::vector<std::string> options;
  JobKind kind = JobKind::kPlan;
  JobLimits limits;
};
inline constexpr const char* kJobInput = "in";
inline constexpr const char* kJobOutput = "out";
inline constexpr const char* kJobFile = "job.json";
// Files that a job may leave in kJobOutput; others are dropped.
inline constexpr const char* kReportFile = "report.json";
inline constexpr const char* kPlanFile = "plan.json";
inline constexpr const char* kModelFile = "model";
inline constexpr const char* kPictureFile = "picture.html";
inline constexpr const char* kDrawingFile = "picture.svg";
inline constexpr const char* kCodeFile = "model.c";
inline constexpr const char* kHeaderFile = "model.h";
inline constexpr const char* kCodeReportFile = "code.json";
inline constexpr const char* kBinaryPlanFile = "plan.bin";
// Of stage `number`, from 1: "stage1.model", as it was cut.
inline std::string StageFile(std::int64_t number, const char* file) {
  return "stage" + std::to_string(number) + "." + file;
}

// Whether `option`, such as "stages=3", is one of `neap pipeline`.
bool IsOfPipeline(std::string_view option);

Result<Job> ReadJob(const std::string& folder);

// What the kernel offers here.
struct Confinement {
  bool landlock = false;
  bool seccomp = false;
};
Confinement ConfinementOfKernel();

// Confines this process to its working folder for good: kJobInput can be read, kJobOutput written,
// no other path opened; no socket, no other process, no new program. Limits as in `limits`. Parts
// that the kernel lacks are left out (ConfinementOfKernel). Call before any thread is started.
Status Confine(const JobLimits& limits);

}  // namespace neap::serve
