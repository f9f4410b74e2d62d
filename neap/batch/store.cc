// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/store.h"

#include <sqlite3.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <utility>

#include "neap/base/version.h"
#include "neap/io/file.h"

namespace neap::batch {
namespace {

using Object = nlohmann::ordered_json;

constexpr int kFormat = 1;  // PRAGMA user_version of a store
constexpr int kWaitMilliseconds = 60'000;
constexpr std::chrono::milliseconds kPoll{20};

// A statement, finalised at the end of its scope.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    status_ = sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  Statement& Bind(int at, const std::string& text) {
    if (status_ == SQLITE_OK) {
      status_ = sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()),
                                  SQLITE_STATIC);
    }
    return *this;
  }
  Statement& Bind(int at, double value) {
    if (status_ == SQLITE_OK) status_ = sqlite3_bind_double(statement_, at, value);
    return *this;
  }
  // SQLITE_ROW, SQLITE_DONE or an error.
  int Step() { return status_ == SQLITE_OK ? sqlite3_step(statement_) : status_; }
  std::string Text(int column) const {
    const unsigned char* text = sqlite3_column_text(statement_, column);
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }
  double Real(int column) const { return sqlite3_column_double(statement_, column); }
  int Integer(int column) const { return sqlite3_column_int(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int status_ = SQLITE_OK;
};

bool Succeeds(sqlite3* database, const char* sql) {
  return sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

// Rolled back at the end of its scope, unless it was committed.
class Transaction {
 public:
  explicit Transaction(sqlite3* database)
      : database_(database), open_(Succeeds(database, "BEGIN IMMEDIATE")) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (open_) Succeeds(database_, "ROLLBACK");
  }
  bool IsOpen() const { return open_; }
  bool Commit() {
    if (!Succeeds(database_, "COMMIT")) return false;
    open_ = false;
    return true;
  }

 private:
  sqlite3* database_;
  bool open_;
};

// As Python's time.time(), to which the leases of its package refer.
double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string RandomName() {
  std::random_device device;
  std::string name;
  for (int i = 0; i < 4; ++i) {
    constexpr std::array<char, 17> kDigits = {"0123456789abcdef"};
    std::uint32_t bits = device();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4U) name += kDigits.at(bits & 15U);
  }
  return name;
}

Object Optional(const std::optional<std::int64_t>& value) {
  return value ? Object(*value) : Object();
}

std::string TextOf(const Numbers& numbers) {
  Object out;
  out["peak_bytes"] = numbers.peak_bytes;
  out["peak_lower_bound_bytes"] = numbers.peak_lower_bound_bytes;
  out["arena_bytes"] = Optional(numbers.arena_bytes);
  out["delivered_arena_bytes"] = Optional(numbers.delivered_arena_bytes);
  return out.dump();
}

// nullopt: the text is not one of TextOf(); the numbers are computed again.
std::optional<Numbers> NumbersIn(const std::string& text) {
  const Object read = Object::parse(text, nullptr, false);
  const auto integer = [&](const char* name) -> std::optional<std::int64_t> {
    if (!read.is_object() || !read.contains(name) || !read[name].is_number_integer()) return {};
    return read[name].get<std::int64_t>();
  };
  const auto peak = integer("peak_bytes");
  const auto bound = integer("peak_lower_bound_bytes");
  if (!peak || !bound) return std::nullopt;
  return Numbers{*peak, *bound, integer("arena_bytes"), integer("delivered_arena_bytes")};
}

}  // namespace

Store::Store(std::string path, const std::atomic<bool>* stop, double lease_seconds)
    : path_(std::move(path)), stop_(stop), lease_seconds_(lease_seconds), owner_(RandomName()) {}

Store::~Store() { sqlite3_close(database_); }

Diagnostic Store::Error(const std::string& what) const {
  Diagnostic error = IoError(what + ": " + sqlite3_errmsg(database_));
  error.file = path_;
  return error;
}

Result<std::unique_ptr<Store>> Store::Open(const std::string& path, const std::atomic<bool>* stop,
                                           double lease_seconds) {
  std::unique_ptr<Store> store(new Store(path, stop, lease_seconds));
  NEAP_CHECK_OK(store->Prepare());
  return store;
}

Status Store::CheckFormat() {
  Statement version(database_, "PRAGMA user_version");
  const int status = version.Step();
  if (status != SQLITE_ROW && status != SQLITE_NOTADB) return Fail(Error("cannot be read"));
  const int format = status == SQLITE_ROW ? version.Integer(0) : 0;
  bool is_foreign = status == SQLITE_NOTADB;
  if (!is_foreign && format == 0) {
    // A new file has no tables; a database of another program stays as it is.
    Statement tables(database_,
                     "SELECT count(*) FROM sqlite_master WHERE name NOT IN ('answers', 'leases') "
                     "AND name NOT LIKE 'sqlite_%'");
    if (tables.Step() != SQLITE_ROW) return Fail(Error("cannot be read"));
    is_foreign = tables.Integer(0) > 0;
  }
  if (!is_foreign && (format == 0 || format == kFormat)) return {};
  Diagnostic error = BadInput(is_foreign ? "is not a store of answers"
                                         : "is a store of format " + std::to_string(format) +
                                               ", expected " + std::to_string(kFormat));
  error.file = path_;
  return Fail(std::move(error));
}

Status Store::Prepare() {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  // Without "./", a path such as ":memory:" means something else.
  const std::string path = path_.starts_with('/') ? path_ : "./" + path_;
  if (sqlite3_open_v2(path.c_str(), &database_, flags, nullptr) != SQLITE_OK) {
    return Fail(Error("cannot be opened"));
  }
  sqlite3_busy_timeout(database_, kWaitMilliseconds);
  NEAP_CHECK_OK(CheckFormat());
  // With a log beside the file, a commit needs not wait for the disk.
  if (!Succeeds(database_, "PRAGMA journal_mode = WAL") ||
      !Succeeds(database_, "PRAGMA synchronous = NORMAL")) {
    return Fail(Error("cannot be written"));
  }
  Transaction transaction(database_);
  const std::string sql =
      "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL);"
      "CREATE TABLE IF NOT EXISTS leases (key TEXT PRIMARY KEY, owner TEXT NOT NULL, "
      "until REAL NOT NULL);"
      "PRAGMA user_version = " +
      std::to_string(kFormat);
  if (!transaction.IsOpen() || !Succeeds(database_, sql.c_str()) || !transaction.Commit()) {
    return Fail(Error("cannot be written"));
  }
  return {};
}

Result<std::optional<Numbers>> Store::Find(const std::string& key) {
  Statement select(database_, "SELECT answer FROM answers WHERE key = ?");
  const int status = select.Bind(1, key).Step();
  if (status == SQLITE_ROW) return NumbersIn(select.Text(0));
  if (status == SQLITE_DONE) return std::optional<Numbers>();
  return Fail(Error("cannot be read"));
}

Result<Store::Claim> Store::Acquire(const std::string& key, std::optional<Numbers>* stored) {
  Transaction transaction(database_);
  if (!transaction.IsOpen()) return Fail(Error("cannot be written"));
  NEAP_TRY(*stored, Find(key));
  if (*stored) return Claim::kStored;
  {
    Statement lease(database_, "SELECT owner, until FROM leases WHERE key = ?");
    const int status = lease.Bind(1, key).Step();
    if (status != SQLITE_ROW && status != SQLITE_DONE) return Fail(Error("cannot be read"));
    // Threads of one process request a key one after the other: its own lease is a past failure's.
    if (status == SQLITE_ROW && lease.Text(0) != owner_ && lease.Real(1) > Now()) {
      return Claim::kLeased;
    }
  }
  Statement insert(database_, "INSERT OR REPLACE INTO leases VALUES (?, ?, ?)");
  insert.Bind(1, key).Bind(2, owner_).Bind(3, Now() + lease_seconds_);
  if (insert.Step() != SQLITE_DONE || !transaction.Commit()) {
    return Fail(Error("cannot be written"));
  }
  return Claim::kTaken;
}

Status Store::Put(const std::string& key, const Numbers& numbers) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  const std::string text = TextOf(numbers);
  Statement insert(database_, "INSERT OR REPLACE INTO answers VALUES (?, ?)");
  Statement remove(database_, "DELETE FROM leases WHERE key = ? AND owner = ?");
  if (!transaction.IsOpen() || insert.Bind(1, key).Bind(2, text).Step() != SQLITE_DONE ||
      remove.Bind(1, key).Bind(2, owner_).Step() != SQLITE_DONE || !transaction.Commit()) {
    return Fail(Error("cannot be written"));
  }
  return {};
}

Status Store::Release(const std::string& key) {
  const std::lock_guard lock(mutex_);
  Statement remove(database_, "DELETE FROM leases WHERE key = ? AND owner = ?");
  if (remove.Bind(1, key).Bind(2, owner_).Step() != SQLITE_DONE) {
    return Fail(Error("cannot be written"));
  }
  return {};
}

Result<Numbers> Store::Get(const std::string& key, const std::function<Result<Numbers>()>& compute,
                           bool* repeated) {
  for (;;) {
    std::optional<Numbers> stored;
    Claim claim = Claim::kStored;
    {
      const std::lock_guard lock(mutex_);
      NEAP_TRY(stored, Find(key));
      if (!stored) {
        NEAP_TRY(claim, Acquire(key, &stored));
      }
    }
    if (claim == Claim::kStored) {
      *repeated = true;
      return *stored;
    }
    if (claim == Claim::kTaken || (stop_ != nullptr && stop_->load())) break;
    std::this_thread::sleep_for(kPoll);
  }
  Result<Numbers> numbers = compute();
  NEAP_CHECK_OK(numbers ? Put(key, *numbers) : Release(key));
  return numbers;
}

std::string StoreKey(const Options& options, const std::string& subject) {
  Object key;
  key["neap"] = Version();
  key["kind"] = "batch";
  key["place"] = options.place;
  key["max_states"] = options.limits.max_states;
  key["max_seconds"] = options.limits.max_seconds;
  key["max_memory_bytes"] = options.limits.max_memory_bytes;
  key["placement_states"] = options.placement_states;
  if (options.rewrite) {
    key["rewrite"] = {{"exactness", static_cast<int>(options.rewrite->exactness)},
                      {"rules", options.rewrite->rules},
                      {"accumulator_bytes", options.rewrite->accumulator_bytes},
                      {"work", options.rewrite->work},
                      {"everywhere", options.rewrite->everywhere}};
  }
  key["subject"] = subject;
  const std::string text = key.dump();
  return io::Sha256(std::as_bytes(std::span(text)));
}

}  // namespace neap::batch
