// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/store.h"

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
using database::Query;
using database::Row;
using database::Transaction;

constexpr int kFormat = 1;  // PRAGMA user_version of a store
constexpr int kWaitMilliseconds = 60'000;
constexpr std::chrono::milliseconds kPoll{20};

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

Store::Store(const std::string& path, database::Database database, const std::atomic<bool>* stop,
             double lease_seconds)
    : path_(path),
      stop_(stop),
      lease_seconds_(lease_seconds),
      owner_(RandomName()),
      database_(std::move(database)) {}

Result<std::unique_ptr<Store>> Store::Open(const std::string& path, const std::atomic<bool>* stop,
                                           double lease_seconds) {
  NEAP_TRY(auto database, database::Database::Open(path, kWaitMilliseconds));
  std::unique_ptr<Store> store(new Store(path, std::move(database), stop, lease_seconds));
  NEAP_CHECK_OK(store->Prepare());
  return store;
}

Status Store::CheckFormat() {
  Query version(&database_, "PRAGMA user_version");
  const Row row = version.Next();
  if (row != Row::kNext && row != Row::kNotDatabase) return Fail(database_.Error("cannot be read"));
  const std::int64_t format = row == Row::kNext ? version.Integer(0) : 0;
  bool is_foreign = row == Row::kNotDatabase;
  if (!is_foreign && format == 0) {
    // A new file has no tables; a database of another program stays as it is.
    Query tables(&database_,
                 "SELECT count(*) FROM sqlite_master WHERE name NOT IN ('answers', 'leases') "
                 "AND name NOT LIKE 'sqlite_%'");
    if (tables.Next() != Row::kNext) return Fail(database_.Error("cannot be read"));
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
  NEAP_CHECK_OK(CheckFormat());
  // With a log beside the file, a commit needs not wait for the disk.
  if (!database_.Execute("PRAGMA journal_mode = WAL") ||
      !database_.Execute("PRAGMA synchronous = NORMAL")) {
    return Fail(database_.Error("cannot be written"));
  }
  Transaction transaction(&database_);
  const std::string sql =
      "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL);"
      "CREATE TABLE IF NOT EXISTS leases (key TEXT PRIMARY KEY, owner TEXT NOT NULL, "
      "until REAL NOT NULL);"
      "PRAGMA user_version = " +
      std::to_string(kFormat);
  if (!transaction.IsOpen() || !database_.Execute(sql) || !transaction.Commit()) {
    return Fail(database_.Error("cannot be written"));
  }
  return {};
}

Result<std::optional<Numbers>> Store::Find(const std::string& key) {
  Query select(&database_, "SELECT answer FROM answers WHERE key = ?");
  const Row row = select.Bind(key).Next();
  if (row == Row::kNext) return NumbersIn(select.Text(0));
  if (row == Row::kNone) return std::optional<Numbers>();
  return Fail(database_.Error("cannot be read"));
}

Result<Store::Claim> Store::Acquire(const std::string& key, std::optional<Numbers>* stored) {
  Transaction transaction(&database_);
  if (!transaction.IsOpen()) return Fail(database_.Error("cannot be written"));
  NEAP_TRY(*stored, Find(key));
  if (*stored) return Claim::kStored;
  {
    Query lease(&database_, "SELECT owner, until FROM leases WHERE key = ?");
    const Row row = lease.Bind(key).Next();
    if (row != Row::kNext && row != Row::kNone) return Fail(database_.Error("cannot be read"));
    // Threads of one process request a key one after the other: its own lease is a past failure's.
    if (row == Row::kNext && lease.Text(0) != owner_ && lease.Real(1) > Now()) {
      return Claim::kLeased;
    }
  }
  Query insert(&database_, "INSERT OR REPLACE INTO leases VALUES (?, ?, ?)");
  insert.Bind(key).Bind(owner_).Bind(Now() + lease_seconds_);
  if (!insert.Run() || !transaction.Commit()) {
    return Fail(database_.Error("cannot be written"));
  }
  return Claim::kTaken;
}

Status Store::Put(const std::string& key, const Numbers& numbers) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(&database_);
  const std::string text = TextOf(numbers);
  Query insert(&database_, "INSERT OR REPLACE INTO answers VALUES (?, ?)");
  Query remove(&database_, "DELETE FROM leases WHERE key = ? AND owner = ?");
  if (!transaction.IsOpen() || !insert.Bind(key).Bind(text).Run() ||
      !remove.Bind(key).Bind(owner_).Run() || !transaction.Commit()) {
    return Fail(database_.Error("cannot be written"));
  }
  return {};
}

Status Store::Release(const std::string& key) {
  const std::lock_guard lock(mutex_);
  Query remove(&database_, "DELETE FROM leases WHERE key = ? AND owner = ?");
  if (!remove.Bind(key).Bind(owner_).Run()) {
    return Fail(database_.Error("cannot be written"));
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
