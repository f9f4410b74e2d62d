// SPDX-License-Identifier: Apache-2.0
#include "neap/serve/service.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "neap/base/version.h"
#include "neap/io/file.h"
#include "neap/serve/openapi.h"

namespace neap::serve {
namespace {

using Object = nlohmann::ordered_json;

constexpr std::int64_t kMaxListed = 1000;
constexpr std::int64_t kLeaseMargin = 60;  // seconds: of a job beyond its limit

constexpr std::array<const char*, 3> kStageFiles = {kModelFile, kPlanFile, kReportFile};

struct FileType {
  std::string_view name;  // of a file of a plan
  std::string_view type;
};
constexpr std::array<FileType, 9> kFileTypes = {{
    {kReportFile, "application/json"},
    {kPlanFile, "application/json"},
    {kModelFile, "application/octet-stream"},
    {kPictureFile, "text/html; charset=utf-8"},
    {kDrawingFile, "image/svg+xml"},
    {kCodeFile, "text/plain; charset=utf-8"},
    {kHeaderFile, "text/plain; charset=utf-8"},
    {kCodeReportFile, "application/json"},
    {kBinaryPlanFile, "application/octet-stream"},
}};
constexpr std::array<FileType, 10> kPageTypes = {{
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".wasm", "application/wasm"},
    {".txt", "text/plain; charset=utf-8"},
    {".ico", "image/x-icon"},
}};

std::string Dump(const Object& object, int indent) {
  return object.dump(indent, ' ', true, Object::error_handler_t::replace);
}

// Those that a job of this kind may leave.
std::vector<std::string> FilesOf(JobKind kind) {
  std::vector<std::string> names;
  if (kind == JobKind::kStages) {
    names.emplace_back(kReportFile);
    for (std::int64_t number = 1; number <= kMaxStages; ++number) {
      for (const char* const file : kStageFiles) names.push_back(StageFile(number, file));
    }
    return names;
  }
  for (const FileType& file : kFileTypes) names.emplace_back(file.name);
  return names;
}

Object Seconds(std::int64_t value) { return value == 0 ? Object() : Object(value); }

std::string ErrorText(const std::string& message) {
  Object out;
  out["error"] = message;
  return Dump(out, -1) + "\n";
}

tl::unexpected<Refusal> RefuseFor(const Diagnostic& diagnostic) {
  Log("failure", {{"message", diagnostic.ToString()}});
  return Refuse(500, "the server failed; its log has the reason");
}

// All that decides the results of a plan but its model; "" where the time of a search does.
std::string RequestText(const StoredPlan& plan, const JobLimits& limits,
                        const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (option.starts_with("time-limit")) return "";
  }
  Object out;
  out["neap"] = Version();
  out["kind"] = "serve";
  out["job"] = static_cast<int>(plan.kind);
  out["owner"] = plan.owner;
  out["name"] = plan.name;
  out["options"] = options;
  out["memory_bytes"] = limits.memory_bytes;
  return Dump(out, -1);
}

Diagnostic WriteFailed(const std::string& path, int error) {
  Diagnostic diagnostic = IoError("cannot be written: " + std::generic_category().message(error));
  diagnostic.file = path;
  return diagnostic;
}

}  // namespace

Reply ReplyOf(const Refusal& refusal) {
  Reply reply;
  reply.status = refusal.status;
  reply.body = ErrorText(refusal.message);
  if (refusal.status == 429 || refusal.status == 503) {
    reply.headers.emplace_back("Retry-After", "5");
  }
  if (refusal.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

Reply FailureOf(const Diagnostic& diagnostic) { return ReplyOf(RefuseFor(diagnostic).value()); }

Result<std::unique_ptr<Service>> Service::Open(const Settings& settings) {
  std::unique_ptr<Service> service(new Service(settings));
  NEAP_TRY(service->store_, PlanStore::Open(settings.folder));
  return service;
}

Service::~Service() { Stop(); }

void Service::OnChange(std::function<void(const std::string&)> on_change) {
  on_change_ = std::move(on_change);
}

void Service::Changed(const std::string& plan) {
  if (on_change_) on_change_(plan);
}

tl::expected<StoredPlan, Refusal> Service::FindFor(const std::string& plan, const Caller& caller) {
  auto found = store_->Find(plan);
  if (!found) return RefuseFor(found.error());
  // A plan of another token is not there: its id is no permission.
  if (!*found || (*found)->owner != caller.owner) return Refuse(404, "there is no such plan");
  return std::move(**found);
}

std::string Service::StatusText(const StoredPlan& plan, int indent) {
  Object out;
  out["id"] = plan.id;
  out["state"] = NameOf(plan.state);
  out["name"] = plan.name;
  out["options"] = Object::parse(plan.options, nullptr, false);
  out["code"] = plan.kind == JobKind::kCode;
  out["binary"] = plan.kind == JobKind::kDevice;
  out["stages"] = plan.kind == JobKind::kStages;
  out["model_sha256"] = plan.model_sha256;
  out["model_bytes"] = plan.model_bytes;
  out["created"] = Seconds(plan.created);
  out["started"] = Seconds(plan.started);
  out["finished"] = Seconds(plan.finished);
  out["attempts"] = plan.attempts;
  out["exit_code"] = plan.exit_code < 0 ? Object() : Object(plan.exit_code);
  out["error"] = plan.error.empty() ? Object() : Object(plan.error);
  Object progress;
  {
    const std::lock_guard lock(mutex_);
    const auto running = running_.find(plan.id);
    if (running != running_.end() && running->second->progress) {
      const JobProgress& seen = *running->second->progress;
      progress["upper_bound_bytes"] = seen.upper_bound_bytes;
      progress["lower_bound_bytes"] = seen.lower_bound_bytes;
      progress["states"] = seen.states;
    }
  }
  out["progress"] = std::move(progress);
  out["files"] = Object::array();
  for (const StoredFile& file : plan.files) {
    if (file.name.empty()) continue;
    Object one;
    one["name"] = file.name;
    one["bytes"] = file.bytes;
    one["sha256"] = file.sha256;
    out["files"].push_back(std::move(one));
  }
  return Dump(out, indent);
}

Reply Service::Handle(const Call& call, const Caller& caller) {
  Reply reply;
  switch (call.action) {
    case Action::kHealth:
      reply.body = "{\"status\": \"ok\", \"version\": \"" + std::string(Version()) + "\"}\n";
      return reply;
    case Action::kMetrics:
      return MetricsReply();
    case Action::kDescription:
      reply.body = OpenApiText();
      return reply;
    case Action::kPreflight:
      reply.status = 204;
      reply.headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE"},
                       {"Access-Control-Allow-Headers", "Authorization, Content-Type"},
                       {"Access-Control-Max-Age", "600"}};
      return reply;
    case Action::kPage:
      return Page(call);
    case Action::kList:
      return List(caller);
    case Action::kFile:
      return File(call, caller);
    case Action::kDelete:
      return Delete(call, caller);
    default:
      break;
  }
  const auto plan = FindFor(call.plan, caller);
  if (!plan) return ReplyOf(plan.error());
  reply.body = StatusText(*plan, 2) + "\n";
  return reply;
}

Reply Service::MetricsReply() {
  const auto usage = store_->Count();
  if (!usage) return FailureOf(usage.error());
  Reply reply;
  reply.type = "text/plain; version=0.0.4; charset=utf-8";
  reply.body = metrics_.Text({{"neap_plans_queued", usage->queued},
                              {"neap_plans_running", usage->running},
                              {"neap_plans_done", usage->done},
                              {"neap_plans_failed", usage->failed},
                              {"neap_store_bytes", usage->bytes}});
  return reply;
}

Reply Service::List(const Caller& caller) {
  const auto plans = store_->List(caller.owner, kMaxListed);
  if (!plans) return FailureOf(plans.error());
  Object out;
  out["plans"] = Object::array();
  for (const StoredPlan& plan : *plans) {
    Object one;
    one["id"] = plan.id;
    one["state"] = NameOf(plan.state);
    one["name"] = plan.name;
    one["created"] = Seconds(plan.created);
    out["plans"].push_back(std::move(one));
  }
  Reply reply;
  reply.body = Dump(out, 2) + "\n";
  return reply;
}

Reply Service::File(const Call& call, const Caller& caller) {
  const auto plan = FindFor(call.plan, caller);
  if (!plan) return ReplyOf(plan.error());
  for (const StoredFile& file : plan->files) {
    if (file.name != call.file) continue;
    Reply reply;
    reply.file = store_->BlobPath(file.sha256);
    reply.type = "application/octet-stream";
    for (const FileType& known : kFileTypes) {
      // "stage1.plan.json" has the type of "plan.json".
      if (call.file.ends_with(known.name)) reply.type = known.type;
    }
    // A page of results must not act as a page of this server.
    reply.headers = {{"Content-Security-Policy",
                      "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
                      "style-src 'unsafe-inline'; img-src data:"},
                     {"ETag", "\"" + file.sha256 + "\""}};
    if (call.file == kModelFile) {
      const std::size_t dot = plan->name.rfind('.');
      const std::string stem = plan->name.substr(0, dot);
      const std::string end = dot == std::string::npos ? "" : plan->name.substr(dot);
      reply.headers.emplace_back("Content-Disposition",
                                 "attachment; filename=\"" + stem + "_planned" + end + "\"");
    }
    return reply;
  }
  const bool ended = plan->state == State::kDone || plan->state == State::kFailed;
  return ReplyOf(
      {ended ? 404 : 409, ended ? "the plan has no such file" : "the plan is not ready"});
}

Reply Service::Delete(const Call& call, const Caller& caller) {
  const auto plan = FindFor(call.plan, caller);
  if (!plan) return ReplyOf(plan.error());
  {
    const std::lock_guard lock(mutex_);
    const auto running = running_.find(call.plan);
    if (running != running_.end()) {
      running->second->removed = true;
      running->second->stop = true;
    }
  }
  if (const Status status = store_->Remove(call.plan); !status) return FailureOf(status.error());
  Changed(call.plan);
  Reply reply;
  reply.status = 204;
  return reply;
}

Reply Service::Page(const Call& call) const {
  if (settings_.page.empty()) return ReplyOf({404, "there is no such path"});
  const std::string path = settings_.page + "/" + call.file;
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return ReplyOf({404, "there is no such path"});
  }
  Reply reply;
  reply.file = path;
  reply.type = "application/octet-stream";
  for (const FileType& known : kPageTypes) {
    if (path.ends_with(known.name)) reply.type = known.type;
  }
  // Scripts of the page itself run; Neap's own page names them by hash in a policy of its own.
  reply.headers = {{"Content-Security-Policy",
                    "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; "
                    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
                    "worker-src 'self' blob:; base-uri 'none'; frame-ancestors 'none'"}};
  return reply;
}

tl::expected<std::string, Refusal> Service::BeginUpload(const Call& call) {
  const auto request = ParsePlanRequest(call);
  if (!request) return tl::unexpected<Refusal>(request.error());
  const auto usage = store_->Count();
  if (!usage) return RefuseFor(usage.error());
  const std::lock_guard lock(mutex_);
  if (stopping_) return Refuse(503, "the server ends");
  if (usage->queued >= settings_.queue) return Refuse(429, "the queue is full");
  if (usage->bytes + settings_.model_bytes > settings_.store_bytes) {
    return Refuse(507, "the store is full");
  }
  return store_->NewUpload();
}

Reply Service::FinishUpload(const Call& call, const Caller& caller, const std::string& path) {
  const auto request = ParsePlanRequest(call);
  if (!request) return ReplyOf(request.error());
  StoredPlan plan;
  plan.owner = caller.owner;
  plan.name = request->name;
  plan.options = Dump(Object(request->options), -1);
  plan.kind = request->kind;
  plan.keep_model = request->keep_model;
  plan.request = RequestText(plan, settings_.job, request->options);
  plan.model_sha256 = request->model;
  Status status;
  if (path.empty()) {
    const auto added = store_->AddKept(settings_.queue, &plan);
    if (added && !*added) return ReplyOf({404, "no plan of this token keeps that model"});
    if (!added) status = Fail(added.error());
  } else {
    status = store_->Add(settings_.queue, path, &plan);
    if (!status) ::unlink(path.c_str());
  }
  if (!status) {
    if (status.error().code == ErrorCode::kOverBudget) {
      return ReplyOf({429, status.error().message});
    }
    return FailureOf(status.error());
  }
  metrics_.Add("neap_upload_bytes_total", plan.model_bytes);
  metrics_.Add("neap_plans_accepted_total", 1);
  Log("accepted", {{"plan", plan.id}, {"bytes", std::to_string(plan.model_bytes)}});
  wake_.notify_one();
  Reply reply;
  reply.status = 202;
  reply.body = StatusText(plan, 2) + "\n";
  reply.headers.emplace_back("Location", "/v1/plans/" + plan.id);
  return reply;
}

tl::expected<Service::Event, Refusal> Service::EventOf(const std::string& plan,
                                                       const Caller& caller) {
  const auto found = FindFor(plan, caller);
  if (!found) return tl::unexpected<Refusal>(found.error());
  const bool last = found->state == State::kDone || found->state == State::kFailed;
  return Event{StatusText(*found, -1), NameOf(found->state), last};
}

void Service::Start() {
  for (std::int64_t i = 0; i < settings_.jobs; ++i) workers_.emplace_back([this] { Work(); });
}

void Service::Stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
  const auto none_runs = [this] { return running_.empty(); };
  if (!wake_.wait_for(lock, std::chrono::seconds(settings_.drain_seconds), none_runs)) {
    for (const auto& [id, running] : running_) running->stop = true;
  }
  lock.unlock();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void Service::Work() {
  constexpr std::chrono::seconds kSweep{30};
  std::chrono::steady_clock::time_point next_sweep = std::chrono::steady_clock::now();
  for (;;) {
    if (std::chrono::steady_clock::now() >= next_sweep) {
      next_sweep = std::chrono::steady_clock::now() + kSweep;
      const auto removed = store_->RemoveBefore(NowSeconds() - settings_.keep_seconds);
      if (removed && *removed > 0) Log("removed", {{"plans", std::to_string(*removed)}});
    }
    auto running = std::make_shared<Running>();
    Result<std::optional<StoredPlan>> plan = std::optional<StoredPlan>();
    {
      std::unique_lock lock(mutex_);
      if (stopping_) return;
      plan = store_->Take(static_cast<double>(settings_.job.wall_seconds + kLeaseMargin));
      if (plan && *plan) {
        running_[(*plan)->id] = running;
      } else {
        // A notification may come between the look and the wait: hence the short time.
        wake_.wait_for(lock, std::chrono::milliseconds(plan ? 200 : 1000));
        if (!plan) Log("failure", {{"message", plan.error().ToString()}});
        continue;
      }
    }
    const std::string id = (*plan)->id;
    Changed(id);
    try {
      Run(std::move(**plan), running);
    } catch (const std::exception& error) {
      Log("failure", {{"plan", id}, {"message", error.what()}});
    }
    {
      const std::lock_guard lock(mutex_);
      running_.erase(id);
      wake_.notify_all();
    }
    Changed(id);
  }
}

Status Service::PrepareFolder(const StoredPlan& plan, const std::string& folder) {
  std::error_code error;
  const std::string input = folder + "/" + kJobInput;
  for (const std::string& made : {folder, input, folder + "/" + kJobOutput}) {
    std::filesystem::create_directory(made, error);
    if (error) return Fail(WriteFailed(made, error.value()));
  }
  const std::string blob = store_->BlobPath(plan.model_sha256);
  const std::string model = input + "/" + plan.name;
  // The job may read its input only where the kernel confines it; else it gets a copy.
  if (ConfinementOfKernel().landlock) {
    if (::link(blob.c_str(), model.c_str()) != 0) return Fail(WriteFailed(model, errno));
  } else {
    std::filesystem::copy_file(blob, model, error);
    if (error) return Fail(WriteFailed(model, error.value()));
  }
  Job job;
  job.name = plan.name;
  job.options = Object::parse(plan.options).get<std::vector<std::string>>();
  job.kind = plan.kind;
  job.limits = settings_.job;
  return io::WriteFile(folder + "/" + kJobFile, JobText(job), true);
}

void Service::Run(StoredPlan plan, const std::shared_ptr<Running>& running) {
  const auto stored = store_->FinishStored(&plan);
  if (!stored) Log("failure", {{"plan", plan.id}, {"message", stored.error().ToString()}});
  if (stored && *stored) {
    metrics_.Add("neap_plans_reused_total", 1);
    Log("reused", {{"plan", plan.id}});
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  const std::string folder = store_->WorkPath(plan.id);
  Log("started", {{"plan", plan.id}, {"attempt", std::to_string(plan.attempts)}});
  Result<JobEnd> end = JobEnd{};
  if (const Status ready = PrepareFolder(plan, folder); !ready) {
    end = Fail(ready.error());
  } else {
    end = RunJob(settings_.program, folder, settings_.job, running->stop,
                 [&](const JobProgress& progress) {
                   {
                     const std::lock_guard lock(mutex_);
                     running->progress = progress;
                   }
                   Changed(plan.id);
                 });
  }
  std::error_code error;
  bool removed = false;
  {
    const std::lock_guard lock(mutex_);
    removed = running->removed;
    running->progress.reset();
  }
  if (removed || (end && end->stopped)) {
    std::filesystem::remove_all(folder, error);
    if (!removed) (void)store_->Requeue(plan.id);
    Log(removed ? "deleted" : "stopped", {{"plan", plan.id}});
    return;
  }
  constexpr int kOverBudgetCode = 3;  // its report and plan are results
  if (!end) {
    Log("failure", {{"plan", plan.id}, {"message", end.error().ToString()}});
    plan.state = State::kFailed;
    plan.error = "the server failed; its log has the reason";
  } else {
    const bool done = end->exit_code == 0 || end->exit_code == kOverBudgetCode;
    plan.state = done ? State::kDone : State::kFailed;
    plan.exit_code = end->exit_code;
    plan.error = end->error;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  metrics_.CountJob(plan.state == State::kDone, seconds, end ? end->peak_bytes : 0);
  std::vector<std::string> names;
  if (plan.state == State::kDone) names = FilesOf(plan.kind);
  auto finished = store_->Finish(folder + "/" + kJobOutput, names, &plan);
  if (!finished) {
    // A full disk, for example: the plan fails, so that it ends at all.
    Log("failure", {{"plan", plan.id}, {"message", finished.error().ToString()}});
    plan.state = State::kFailed;
    plan.error = "the results cannot be stored";
    finished = store_->Finish(folder + "/" + kJobOutput, {}, &plan);
    if (!finished) Log("failure", {{"plan", plan.id}, {"message", finished.error().ToString()}});
  }
  std::filesystem::remove_all(folder, error);
  Log(NameOf(plan.state), {{"plan", plan.id},
                           {"seconds", std::to_string(seconds)},
                           {"cpu_seconds", std::to_string(end ? end->cpu_seconds : 0)},
                           {"peak_bytes", std::to_string(end ? end->peak_bytes : 0)},
                           {"error", plan.error}});
}

}  // namespace neap::serve
