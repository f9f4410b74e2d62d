// SPDX-License-Identifier: Apache-2.0
#include "neap/serve/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>

#include "neap/base/check.h"
#include "neap/io/file.h"

namespace neap::serve {
namespace {

namespace fs = std::filesystem;
using database::Query;
using database::Row;
using database::Transaction;

constexpr int kFormatWithoutKeys = 0x4e53'0001;  // PRAGMA user_version, as database::kServerFormat
constexpr const char* kAddKeys = "ALTER TABLE plans ADD COLUMN key TEXT NOT NULL DEFAULT ''";
constexpr int kWaitMilliseconds = 10'000;
constexpr const char* kColumns =
    "id, owner, name, options, model_sha256, model_bytes, kind, keep_model, state, created, "
    "started, finished, attempts, exit_code, error, key";

StoredPlan PlanIn(const Query& row) {
  StoredPlan plan;
  int at = 0;
  plan.id = row.Text(at++);
  plan.owner = row.Text(at++);
  plan.name = row.Text(at++);
  plan.options = row.Text(at++);
  plan.model_sha256 = row.Text(at++);
  plan.model_bytes = row.Integer(at++);
  plan.kind = static_cast<JobKind>(row.Integer(at++));
  plan.keep_model = row.Integer(at++) != 0;
  plan.state = static_cast<State>(row.Integer(at++));
  plan.created = row.Integer(at++);
  plan.started = row.Integer(at++);
  plan.finished = row.Integer(at++);
  plan.attempts = row.Integer(at++);
  plan.exit_code = row.Integer(at++);
  plan.error = row.Text(at++);
  plan.key = row.Text(at++);
  return plan;
}

Diagnostic PathError(const std::string& path, const std::string& what, int error) {
  Diagnostic diagnostic = IoError(what + ": " + std::generic_category().message(error));
  diagnostic.file = path;
  return diagnostic;
}

// A file, hashed without being copied into memory.
Result<StoredFile> Hashed(const std::string& path, const std::string& name) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return Fail(PathError(path, "cannot be read", errno));
  struct stat info = {};
  int error = ::fstat(fd, &info) != 0 ? errno : 0;
  if (error == 0 && !S_ISREG(info.st_mode)) error = EINVAL;
  StoredFile file{name, "", info.st_size};
  if (error == 0 && file.bytes == 0) file.sha256 = io::Sha256({});
  if (error == 0 && file.bytes > 0) {
    const auto size = static_cast<std::size_t>(file.bytes);
    void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) {
      error = errno;
    } else {
      file.sha256 = io::Sha256(std::span(static_cast<const std::byte*>(bytes), size));
      ::munmap(bytes, size);
    }
  }
  if (error == 0 && ::fsync(fd) != 0) error = errno;
  ::close(fd);
  if (error != 0) return Fail(PathError(path, "cannot be read", error));
  return file;
}

// What a plan of the same key needs of a finished one, as the text of an answer.
std::string ResultText(const StoredPlan& plan) {
  nlohmann::ordered_json out;
  out["exit_code"] = plan.exit_code;
  out["error"] = plan.error;
  out["files"] = nlohmann::ordered_json::array();
  for (const StoredFile& file : plan.files) {
    out["files"].push_back({file.name, file.sha256, file.bytes});
  }
  return out.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

// False: the text is not one of ResultText(), or has no files.
bool ReadResult(const std::string& text, StoredPlan* plan) {
  const auto in = nlohmann::ordered_json::parse(text, nullptr, false);
  try {
    in.at("exit_code").get_to(plan->exit_code);
    in.at("error").get_to(plan->error);
    plan->files.clear();
    for (const auto& file : in.at("files")) {
      plan->files.push_back({file.at(0).get<std::string>(), file.at(1).get<std::string>(),
                             file.at(2).get<std::int64_t>()});
    }
  } catch (const nlohmann::ordered_json::exception&) {
    return false;
  }
  return !plan->files.empty();
}

}  // namespace

const char* NameOf(State state) {
  switch (state) {
    case State::kQueued:
      return "queued";
    case State::kRunning:
      return "running";
    case State::kDone:
      return "done";
    case State::kFailed:
      break;
  }
  return "failed";
}

std::string NewId() {
  std::array<unsigned char, 16> bytes = {};
  NEAP_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
             "the kernel has no random numbers");
  constexpr std::array<char, 17> kDigits = {"0123456789abcdef"};
  std::string id;
  for (const unsigned char byte : bytes) {
    id += kDigits.at(byte >> 4U);
    id += kDigits.at(byte & 15U);
  }
  return id;
}

int SyncPath(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = ::fsync(fd) != 0 ? errno : 0;
  ::close(fd);
  return error;
}

std::int64_t NowSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

PlanStore::~PlanStore() {
  database_.reset();
  if (lock_ >= 0) ::close(lock_);
}

std::string PlanStore::BlobPath(const std::string& sha256) const {
  return folder_ + "/blobs/" + sha256.substr(0, 2) + "/" + sha256;
}

std::string PlanStore::WorkPath(const std::string& id) const { return folder_ + "/work/" + id; }

std::string PlanStore::NewUpload() const { return folder_ + "/incoming/" + NewId(); }

Result<std::unique_ptr<PlanStore>> PlanStore::Open(const std::string& folder) {
  std::error_code error;
  const std::string absolute = fs::absolute(folder, error).lexically_normal().string();
  std::unique_ptr<PlanStore> store(new PlanStore(absolute));
  NEAP_CHECK_OK(store->Prepare());
  NEAP_CHECK_OK(store->Recover());
  return store;
}

Result<std::int64_t> PlanStore::CheckFormat() {
  Query version(&*database_, "PRAGMA user_version");
  const std::int64_t format = version.Next() == Row::kNext ? version.Integer(0) : -1;
  const bool is_known = format == database::kServerFormat || format == kFormatWithoutKeys;
  // A batch or the Python package may have made the file first.
  Query tables(
      &*database_,
      "SELECT count(*) FROM sqlite_master WHERE name NOT IN ('answers', 'leases') AND name "
      "NOT LIKE 'sqlite_%'");
  const bool is_new = (format == 0 || format == database::kAnswersFormat) &&
                      tables.Next() == Row::kNext && tables.Integer(0) == 0;
  if (is_known || is_new) return format;
  Diagnostic error = BadInput("is not a database of this version of the server");
  error.file = folder_ + "/" + database::kServerDatabase;
  return Fail(std::move(error));
}

Status PlanStore::Prepare() {
  std::error_code error;
  for (const char* part : {"", "/blobs", "/incoming", "/work"}) {
    fs::create_directories(folder_ + part, error);
    if (error) return Fail(PathError(folder_ + part, "cannot be made", error.value()));
  }
  // Other users of the machine see nothing of it.
  fs::permissions(folder_, fs::perms::owner_all, error);
  const std::string lock = folder_ + "/lock";
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) return Fail(PathError(lock, "cannot be made", errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    return Fail(PathError(folder_, "is used by another server", errno));
  }
  NEAP_TRY(auto database,
           database::Database::Open(folder_ + "/" + database::kServerDatabase, kWaitMilliseconds));
  database_.emplace(std::move(database));
  answers_.emplace(&*database_);
  NEAP_CHECK_OK(CheckFormat());
  const std::string pragmas =
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON";
  const std::string tables =
      "CREATE TABLE IF NOT EXISTS plans (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE "
      "NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, options TEXT NOT NULL, model_sha256 TEXT "
      "NOT NULL, model_bytes INTEGER NOT NULL, kind INTEGER NOT NULL, keep_model INTEGER NOT NULL, "
      "state INTEGER NOT NULL, created INTEGER NOT NULL, started INTEGER NOT NULL, finished "
      "INTEGER NOT NULL, attempts INTEGER NOT NULL, exit_code INTEGER NOT NULL, error TEXT NOT "
      "NULL, key "
      "TEXT NOT NULL DEFAULT '');"
      "CREATE INDEX IF NOT EXISTS plans_by_state ON plans (state, number);"
      "CREATE INDEX IF NOT EXISTS plans_by_owner ON plans (owner, number);"
      "CREATE INDEX IF NOT EXISTS plans_by_key ON plans (key);"
      "CREATE TABLE IF NOT EXISTS files (plan TEXT NOT NULL REFERENCES plans (id) ON DELETE "
      "CASCADE, name TEXT NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY "
      "(plan, name));"
      "CREATE INDEX IF NOT EXISTS files_by_hash ON files (sha256);"
      "PRAGMA user_version = " +
      std::to_string(database::kServerFormat);
  if (!database_->Execute(pragmas)) return Fail(database_->Error("cannot be written"));
  {
    Transaction transaction(&*database_);
    if (!transaction.IsOpen()) return Fail(database_->Error("cannot be written"));
    NEAP_TRY(const std::int64_t format, CheckFormat());
    const bool has_keys = format != kFormatWithoutKeys || database_->Execute(kAddKeys);
    if (!has_keys || !database_->Execute(tables) || !answers_->Create() || !transaction.Commit()) {
      return Fail(database_->Error("cannot be written"));
    }
  }
  if (const int failed = SyncPath(folder_); failed != 0) {
    return Fail(PathError(folder_, "cannot be written", failed));
  }
  return {};
}

// What a server that was killed left: uploads, folders of jobs, plans that run.
Status PlanStore::Recover() {
  std::error_code error;
  for (const char* part : {"/incoming", "/work"}) {
    std::vector<fs::path> left;
    for (const auto& entry : fs::directory_iterator(folder_ + part, error)) {
      left.push_back(entry.path());
    }
    for (const fs::path& path : left) fs::remove_all(path, error);
  }
  const std::int64_t running = static_cast<std::int64_t>(State::kRunning);
  Query fail(
      &*database_,
      "UPDATE plans SET state = ?, finished = ?, error = ? WHERE state = ? AND attempts >= ?");
  const std::string reason =
      "the server ended " + std::to_string(kMaxAttempts) + " times while this plan was computed";
  fail.Bind(static_cast<std::int64_t>(State::kFailed)).Bind(NowSeconds()).Bind(reason);
  fail.Bind(running).Bind(kMaxAttempts);
  Query leases(&*database_,
               "DELETE FROM leases WHERE key IN (SELECT key FROM plans WHERE state = ?)");
  leases.Bind(running);
  Query queue(&*database_, "UPDATE plans SET state = ?, started = 0 WHERE state = ?");
  queue.Bind(static_cast<std::int64_t>(State::kQueued)).Bind(running);
  if (!leases.Run() || !fail.Run() || !queue.Run()) {
    return Fail(database_->Error("cannot be written"));
  }
  // Blobs of a plan that was never added, or that was removed: a kill may come between the two.
  std::vector<fs::path> orphans;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ + "/blobs", error)) {
    if (!entry.is_regular_file(error)) continue;
    const std::string hash = entry.path().filename().string();
    Query used(&*database_, "SELECT 1 FROM files WHERE sha256 = ? LIMIT 1");
    if (used.Bind(hash).Next() == Row::kNone) orphans.push_back(entry.path());
  }
  for (const fs::path& path : orphans) fs::remove(path, error);
  return {};
}

// With the lock, from here to the row that refers to the blob: a removal drops blobs without a row.
Status PlanStore::KeepLocked(const std::string& path, const StoredFile& file) {
  const std::string blob = BlobPath(file.sha256);
  const std::string folder = blob.substr(0, blob.rfind('/'));
  std::error_code error;
  if (fs::create_directories(folder, error)) SyncPath(folder_ + "/blobs");
  if (::rename(path.c_str(), blob.c_str()) != 0) {
    return Fail(PathError(blob, "cannot be written", errno));
  }
  if (const int failed = SyncPath(folder); failed != 0) {
    return Fail(PathError(folder, "cannot be written", failed));
  }
  return {};
}

Status PlanStore::CheckQueue(std::int64_t queue) {
  Query waiting(&*database_, "SELECT count(*) FROM plans WHERE state = ?");
  if (waiting.Bind(static_cast<std::int64_t>(State::kQueued)).Next() != Row::kNext) {
    return Fail(database_->Error("cannot be read"));
  }
  if (waiting.Integer(0) >= queue) return Fail(OverBudget("the queue is full"));
  return {};
}

Status PlanStore::Insert(StoredPlan* plan) {
  plan->id = NewId();
  plan->created = NowSeconds();
  if (!plan->request.empty()) {
    const std::string subject = plan->request + "\n" + plan->model_sha256;
    plan->key = io::Sha256(std::as_bytes(std::span(subject)));
  }
  Transaction transaction(&*database_);
  Query insert(&*database_, std::string("INSERT INTO plans (") + kColumns +
                                ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, -1, '', ?)");
  insert.Bind(plan->id)
      .Bind(plan->owner)
      .Bind(plan->name)
      .Bind(plan->options)
      .Bind(plan->model_sha256);
  insert.Bind(plan->model_bytes).Bind(static_cast<std::int64_t>(plan->kind));
  insert.Bind(std::int64_t{plan->keep_model ? 1 : 0})
      .Bind(static_cast<std::int64_t>(State::kQueued));
  insert.Bind(plan->created).Bind(plan->key);
  Query file(&*database_, "INSERT INTO files VALUES (?, '', ?, ?)");
  file.Bind(plan->id).Bind(plan->model_sha256).Bind(plan->model_bytes);
  if (!transaction.IsOpen() || !insert.Run() || !file.Run() || !transaction.Commit()) {
    return Fail(database_->Error("cannot be written"));
  }
  return {};
}

Status PlanStore::Add(std::int64_t queue, const std::string& path, StoredPlan* plan) {
  NEAP_TRY(const StoredFile model, Hashed(path, ""));
  plan->model_sha256 = model.sha256;
  plan->model_bytes = model.bytes;
  const std::lock_guard lock(mutex_);
  NEAP_CHECK_OK(CheckQueue(queue));
  NEAP_CHECK_OK(KeepLocked(path, model));
  return Insert(plan);
}

Result<bool> PlanStore::AddKept(std::int64_t queue, StoredPlan* plan) {
  const std::lock_guard lock(mutex_);
  NEAP_CHECK_OK(CheckQueue(queue));
  {
    Query kept(
        &*database_,
        "SELECT files.bytes FROM files JOIN plans ON files.plan = plans.id WHERE files.name = "
        "'' AND files.sha256 = ? AND plans.owner = ? AND plans.keep_model = 1 LIMIT 1");
    const Row row = kept.Bind(plan->model_sha256).Bind(plan->owner).Next();
    if (row == Row::kNone) return false;
    if (row != Row::kNext) return Fail(database_->Error("cannot be read"));
    plan->model_bytes = kept.Integer(0);
  }
  NEAP_CHECK_OK(Insert(plan));
  return true;
}

Result<std::optional<StoredPlan>> PlanStore::Find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Query select(&*database_, std::string("SELECT ") + kColumns + " FROM plans WHERE id = ?");
  Row row = select.Bind(id).Next();
  if (row == Row::kNone) return std::optional<StoredPlan>();
  if (row != Row::kNext) return Fail(database_->Error("cannot be read"));
  StoredPlan plan = PlanIn(select);
  Query files(&*database_, "SELECT name, sha256, bytes FROM files WHERE plan = ? ORDER BY name");
  files.Bind(id);
  row = files.Next();
  for (; row == Row::kNext; row = files.Next()) {
    plan.files.push_back({files.Text(0), files.Text(1), files.Integer(2)});
  }
  if (row != Row::kNone) return Fail(database_->Error("cannot be read"));
  return plan;
}

Result<std::vector<StoredPlan>> PlanStore::List(const std::string& owner, std::int64_t limit) {
  const std::lock_guard lock(mutex_);
  Query select(&*database_, std::string("SELECT ") + kColumns +
                                " FROM plans WHERE owner = ? ORDER BY number DESC LIMIT ?");
  select.Bind(owner).Bind(limit);
  std::vector<StoredPlan> plans;
  Row row = select.Next();
  for (; row == Row::kNext; row = select.Next()) plans.push_back(PlanIn(select));
  if (row != Row::kNone) return Fail(database_->Error("cannot be read"));
  return plans;
}

Result<std::optional<StoredPlan>> PlanStore::Take(double lease_seconds) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(&*database_);
  if (!transaction.IsOpen()) return Fail(database_->Error("cannot be written"));
  StoredPlan plan;
  {
    Query select(&*database_,
                 std::string("SELECT ") + kColumns +
                     " FROM plans WHERE state = ? AND NOT EXISTS (SELECT 1 FROM leases WHERE "
                     "leases.key = plans.key AND until > ?) ORDER BY number LIMIT 1");
    select.Bind(static_cast<std::int64_t>(State::kQueued)).Bind(database::Answers::Now());
    const Row row = select.Next();
    if (row == Row::kNone) return std::optional<StoredPlan>();
    if (row != Row::kNext) return Fail(database_->Error("cannot be read"));
    plan = PlanIn(select);
  }
  plan.state = State::kRunning;
  plan.started = NowSeconds();
  ++plan.attempts;
  Query update(&*database_, "UPDATE plans SET state = ?, started = ?, attempts = ? WHERE id = ?");
  update.Bind(static_cast<std::int64_t>(plan.state)).Bind(plan.started).Bind(plan.attempts);
  if (!plan.key.empty()) {
    NEAP_CHECK_OK(answers_->Lease(plan.key, lease_seconds));
  }
  if (!update.Bind(plan.id).Run() || !transaction.Commit()) {
    return Fail(database_->Error("cannot be written"));
  }
  return plan;
}

Status PlanStore::WriteEnd(const StoredPlan& plan, bool* is_there) {
  Query update(&*database_,
               "UPDATE plans SET state = ?, finished = ?, exit_code = ?, error = ? WHERE id = ?");
  update.Bind(static_cast<std::int64_t>(plan.state)).Bind(NowSeconds()).Bind(plan.exit_code);
  if (!update.Bind(plan.error).Bind(plan.id).Run()) {
    return Fail(database_->Error("cannot be written"));
  }
  *is_there = database_->ChangedRows() > 0;
  for (const StoredFile& file : plan.files) {
    if (!*is_there) break;
    Query insert(&*database_, "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)");
    insert.Bind(plan.id).Bind(file.name).Bind(file.sha256).Bind(file.bytes);
    if (!insert.Run()) return Fail(database_->Error("cannot be written"));
  }
  if (plan.keep_model) return {};
  Query drop(&*database_, "DELETE FROM files WHERE plan = ? AND name = ''");
  if (!drop.Bind(plan.id).Run()) return Fail(database_->Error("cannot be written"));
  return {};
}

Result<bool> PlanStore::Finish(const std::string& folder, const std::vector<std::string>& names,
                               StoredPlan* finished) {
  StoredPlan& plan = *finished;
  plan.files.clear();
  for (const std::string& name : names) {
    // A job may have written anything: what is no plain file is dropped.
    if (const auto file = Hashed(folder + "/" + name, name)) plan.files.push_back(*file);
  }
  const std::lock_guard lock(mutex_);
  bool is_there = false;
  {
    Transaction transaction(&*database_);
    if (!transaction.IsOpen()) return Fail(database_->Error("cannot be written"));
    NEAP_CHECK_OK(WriteEnd(plan, &is_there));
    for (const StoredFile& file : plan.files) {
      if (!is_there) break;
      NEAP_CHECK_OK(KeepLocked(folder + "/" + file.name, file));
    }
    const bool is_result = is_there && plan.state == State::kDone && !plan.key.empty();
    NEAP_CHECK_OK(is_result ? answers_->Put(plan.key, ResultText(plan))
                            : answers_->Release(plan.key));
    if (!transaction.Commit()) return Fail(database_->Error("cannot be written"));
  }
  std::vector<std::string> hashes = {plan.model_sha256};
  for (const StoredFile& file : plan.files) hashes.push_back(file.sha256);
  NEAP_CHECK_OK(RemoveBlobs(hashes));
  return is_there;
}

Result<bool> PlanStore::FinishStored(StoredPlan* plan) {
  if (plan->key.empty()) return false;
  const std::lock_guard lock(mutex_);
  NEAP_TRY(const std::optional<std::string> text, answers_->Find(plan->key));
  StoredPlan done = *plan;
  done.state = State::kDone;
  if (!text || !ReadResult(*text, &done)) return false;
  bool is_there = false;
  {
    Transaction transaction(&*database_);
    if (!transaction.IsOpen()) return Fail(database_->Error("cannot be written"));
    for (const StoredFile& file : done.files) {
      // Bytes are kept as long as a plan has them.
      Query used(&*database_, "SELECT 1 FROM files WHERE sha256 = ? LIMIT 1");
      if (used.Bind(file.sha256).Next() != Row::kNext) return false;
    }
    NEAP_CHECK_OK(WriteEnd(done, &is_there));
    NEAP_CHECK_OK(answers_->Release(plan->key));
    if (!transaction.Commit()) return Fail(database_->Error("cannot be written"));
  }
  *plan = std::move(done);
  NEAP_CHECK_OK(RemoveBlobs({plan->model_sha256}));
  return true;
}

Status PlanStore::Requeue(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Query lease(&*database_, "DELETE FROM leases WHERE key = (SELECT key FROM plans WHERE id = ?)");
  if (!lease.Bind(id).Run()) return Fail(database_->Error("cannot be written"));
  Query update(&*database_,
               "UPDATE plans SET state = ?, started = 0, attempts = attempts - 1 WHERE id = ?");
  if (!update.Bind(static_cast<std::int64_t>(State::kQueued)).Bind(id).Run()) {
    return Fail(database_->Error("cannot be written"));
  }
  return {};
}

// Those that no plan refers to.
Status PlanStore::RemoveBlobs(const std::vector<std::string>& hashes) {
  for (const std::string& hash : hashes) {
    Query used(&*database_, "SELECT 1 FROM files WHERE sha256 = ? LIMIT 1");
    const Row row = used.Bind(hash).Next();
    if (row == Row::kNone) ::unlink(BlobPath(hash).c_str());
    if (row != Row::kNone && row != Row::kNext) return Fail(database_->Error("cannot be read"));
  }
  return {};
}

Status PlanStore::RemoveLocked(const std::string& id) {
  std::vector<std::string> hashes;
  {
    Query files(&*database_, "SELECT sha256 FROM files WHERE plan = ?");
    files.Bind(id);
    while (files.Next() == Row::kNext) hashes.push_back(files.Text(0));
  }
  std::string key;
  {
    Query plan(&*database_, "SELECT key, state FROM plans WHERE id = ?");
    if (plan.Bind(id).Next() == Row::kNext) key = plan.Text(0);
    const bool runs = !key.empty() && plan.Integer(1) == static_cast<std::int64_t>(State::kRunning);
    if (runs) {
      NEAP_CHECK_OK(answers_->Release(key));
    }
  }
  {
    Query remove(&*database_, "DELETE FROM plans WHERE id = ?");
    if (!remove.Bind(id).Run()) return Fail(database_->Error("cannot be written"));
    Query forget(
        &*database_,
        "DELETE FROM answers WHERE key = ? AND NOT EXISTS (SELECT 1 FROM plans WHERE key = ? "
        "AND state = ?)");
    forget.Bind(key).Bind(key).Bind(static_cast<std::int64_t>(State::kDone));
    if (!forget.Run()) return Fail(database_->Error("cannot be written"));
  }
  return RemoveBlobs(hashes);
}

Status PlanStore::Remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return RemoveLocked(id);
}

Result<std::int64_t> PlanStore::RemoveBefore(std::int64_t finished) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  {
    Query old(&*database_, "SELECT id FROM plans WHERE state >= ? AND finished < ? LIMIT 1000");
    old.Bind(static_cast<std::int64_t>(State::kDone)).Bind(finished);
    while (old.Next() == Row::kNext) ids.push_back(old.Text(0));
  }
  for (const std::string& id : ids) NEAP_CHECK_OK(RemoveLocked(id));
  return static_cast<std::int64_t>(ids.size());
}

Result<Usage> PlanStore::Count() {
  const std::lock_guard lock(mutex_);
  Usage usage;
  Query count(&*database_, "SELECT state, count(*) FROM plans GROUP BY state");
  Row row = count.Next();
  for (; row == Row::kNext; row = count.Next()) {
    const std::array<std::int64_t*, 4> fields = {&usage.queued, &usage.running, &usage.done,
                                                 &usage.failed};
    const std::int64_t state = count.Integer(0);
    if (state >= 0 && state < std::ssize(fields)) {
      *fields.at(static_cast<std::size_t>(state)) = count.Integer(1);
    }
  }
  Query bytes(&*database_,
              "SELECT coalesce(sum(bytes), 0) FROM (SELECT DISTINCT sha256, bytes FROM files)");
  if (row != Row::kNone || bytes.Next() != Row::kNext) {
    return Fail(database_->Error("cannot be read"));
  }
  usage.bytes = bytes.Integer(0);
  return usage;
}

}  // namespace neap::serve
