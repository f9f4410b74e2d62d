// SPDX-License-Identifier: Apache-2.0
//
// What the server does, without HTTP: plans in the store, jobs in children, counters. Private to
// neap/serve.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tl/expected.hpp>
#include <vector>

#include "neap/base/result.h"
#include "neap/serve/job.h"
#include "neap/serve/metrics.h"
#include "neap/serve/request.h"
#include "neap/serve/serve.h"
#include "neap/serve/store.h"

namespace neap::serve {

// An answer: a body, or a file to send.
struct Reply {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::string file;  // path; "": `body`
  std::vector<std::pair<std::string, std::string>> headers;
};

Reply ReplyOf(const Refusal& refusal);
// The answer to a failure of the server itself; the diagnostic goes to the log.
Reply FailureOf(const Diagnostic& diagnostic);

// Thread-safe. Functions but the constructor may wait for the disk.
class Service {
 public:
  static Result<std::unique_ptr<Service>> Open(const Settings& settings);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service();

  // Called from a job's thread after a plan has changed.
  void OnChange(std::function<void(const std::string& plan)> on_change);
  // Starts the threads that run jobs.
  void Start();
  // Takes no further job; after `drain_seconds` running jobs are ended and queued again. Returns
  // when none runs.
  void Stop();

  Metrics& metrics() { return metrics_; }

  // All but kCreate and kEvents.
  Reply Handle(const Call& call, const Caller& caller);

  // Before the upload of a model: 400 of the request, 429 where the queue is full, 507 where the
  // store is. Then the file to write.
  tl::expected<std::string, Refusal> BeginUpload(const Call& call);
  // After it: 202 once model and job are durable. "" for `path`: the model is one that is kept.
  Reply FinishUpload(const Call& call, const Caller& caller, const std::string& path);

  // The state of a plan for an event: JSON in one line, and whether it is the last.
  struct Event {
    std::string text;
    std::string state;
    bool last = false;
  };
  tl::expected<Event, Refusal> EventOf(const std::string& plan, const Caller& caller);

 private:
  struct Running {
    std::atomic<bool> stop = false;
    bool removed = false;
    std::optional<JobProgress> progress;
  };

  explicit Service(const Settings& settings) : settings_(settings) {}
  tl::expected<StoredPlan, Refusal> FindFor(const std::string& plan, const Caller& caller);
  std::string StatusText(const StoredPlan& plan, int indent);
  Reply List(const Caller& caller);
  Reply File(const Call& call, const Caller& caller);
  Reply Delete(const Call& call, const Caller& caller);
  Reply Page(const Call& call) const;
  Reply MetricsReply();
  void Work();
  void Run(StoredPlan plan, const std::shared_ptr<Running>& running);
  Status PrepareFolder(const StoredPlan& plan, const std::string& folder);
  void Changed(const std::string& plan);

  const Settings settings_;
  std::unique_ptr<PlanStore> store_;
  Metrics metrics_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::map<std::string, std::shared_ptr<Running>> running_;
  std::function<void(const std::string&)> on_change_;
};

}  // namespace neap::serve
