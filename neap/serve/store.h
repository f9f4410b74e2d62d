// SPDX-License-Identifier: Apache-2.0
//
// The plans of a server, durable: an SQLite database and a folder of files by their hash. Private
// to neap/serve.
//
//   plans.sqlite    plans and the names of their files; results by request (database::Answers),
//                   beside those of `neap batch --store` for this folder
//   blobs/ab/...    models and results, by SHA-256; each once
//   incoming/       uploads that are not complete
//   work/ID/        folders of running jobs
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "neap/base/result.h"
#include "neap/database/answers.h"
#include "neap/database/database.h"
#include "neap/serve/serve.h"

namespace neap::serve {

enum class State : std::uint8_t { kQueued, kRunning, kDone, kFailed };
const char* NameOf(State state);

struct StoredFile {
  std::string name;
  std::string sha256;
  std::int64_t bytes = 0;
};

struct StoredPlan {
  std::string id;
  std::string owner;
  std::string name;
  std::string options;  // a JSON array of strings
  std::string model_sha256;
  std::int64_t model_bytes = 0;
  // All that decides the results but the model: an equal request for the same model is answered
  // with them. "": each request is computed.
  std::string request;
  std::string key;  // set by Add(), of request and model
  JobKind kind = JobKind::kPlan;
  bool keep_model = false;
  State state = State::kQueued;
  std::int64_t created = 0;  // seconds of the epoch; 0: not yet
  std::int64_t started = 0;
  std::int64_t finished = 0;
  std::int64_t attempts = 0;
  std::int64_t exit_code = -1;
  std::string error;
  std::vector<StoredFile> files;
};

struct Usage {
  std::int64_t queued = 0;
  std::int64_t running = 0;
  std::int64_t done = 0;
  std::int64_t failed = 0;
  std::int64_t bytes = 0;  // of all blobs that plans refer to
};

// Thread-safe. A function returns once its changes are on the disk, so that neither a kill nor a
// power failure loses them.
class PlanStore {
 public:
  // Makes the folder if it is absent; one server at a time: kIo where another one uses it. Plans
  // that were running when the last server ended are queued again, or failed after kMaxAttempts.
  static Result<std::unique_ptr<PlanStore>> Open(const std::string& folder);
  PlanStore(const PlanStore&) = delete;
  PlanStore& operator=(const PlanStore&) = delete;
  ~PlanStore();

  static constexpr std::int64_t kMaxAttempts = 3;

  // A new path for an upload.
  std::string NewUpload() const;
  // Adds a plan in state kQueued whose model is the file `path`, which is moved among the blobs.
  // Sets the id, the model's hash and its size. kOverBudget: `queue` plans are waiting.
  Status Add(std::int64_t queue, const std::string& path, StoredPlan* plan);
  // The same with the model `plan->model_sha256` that another plan of this owner keeps. False: none
  // does.
  Result<bool> AddKept(std::int64_t queue, StoredPlan* plan);
  Result<std::optional<StoredPlan>> Find(const std::string& id);
  // The newest first; without their files.
  Result<std::vector<StoredPlan>> List(const std::string& owner, std::int64_t limit);
  // The oldest in state kQueued becomes kRunning, without those whose key another plan is
  // computing. That plan's lease ends with Finish(), Requeue() or Remove(), else after
  // `lease_seconds`.
  Result<std::optional<StoredPlan>> Take(double lease_seconds = 3600);
  // Of a running plan: whether results of an equal request exist. Then they are its files, it is
  // done, and its model is dropped as by Finish().
  Result<bool> FinishStored(StoredPlan* plan);
  // Of a running job: its end. The files of `folder` with these names, if they exist, become
  // files of the plan. The model is dropped unless it is to be kept. False where the plan was
  // deleted meanwhile.
  Result<bool> Finish(const std::string& folder, const std::vector<std::string>& names,
                      StoredPlan* plan);
  // Of a job that the server itself ended: queued again, the attempt does not count.
  Status Requeue(const std::string& id);
  Status Remove(const std::string& id);
  // Removes finished plans that are older; returns their number.
  Result<std::int64_t> RemoveBefore(std::int64_t finished);
  Result<Usage> Count();

  std::string BlobPath(const std::string& sha256) const;
  std::string WorkPath(const std::string& id) const;

 private:
  explicit PlanStore(std::string folder) : folder_(std::move(folder)) {}
  Status Prepare();
  Result<std::int64_t> CheckFormat();
  Status Recover();
  Status CheckQueue(std::int64_t queue);
  Status Insert(StoredPlan* plan);
  Status KeepLocked(const std::string& path, const StoredFile& file);
  Status RemoveBlobs(const std::vector<std::string>& hashes);
  Status RemoveLocked(const std::string& id);
  Status WriteEnd(const StoredPlan& plan, bool* is_there);

  const std::string folder_;
  int lock_ = -1;
  std::mutex mutex_;                            // of the database and of the blobs
  std::optional<database::Database> database_;  // set by Prepare(), as is
  std::optional<database::Answers> answers_;    // of database_
};

// Random; 32 hexadecimal digits.
std::string NewId();
// An fsync of a file or folder. 0 or errno.
int SyncPath(const std::string& path);
std::int64_t NowSeconds();

}  // namespace neap::serve
