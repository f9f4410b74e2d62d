// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/store.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
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

constexpr int kWaitMilliseconds = 60'000;
constexpr std::chrono::milliseconds kPoll{20};

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
      database_(std::move(database)),
      answers_(&database_) {}

Result<std::unique_ptr<Store>> Store::Open(const std::string& path, const std::atomic<bool>* stop,
                                           double lease_seconds) {
  const std::string file = database::DatabasePath(path);
  NEAP_TRY(auto database, database::Database::Open(file, kWaitMilliseconds));
  std::unique_ptr<Store> store(new Store(file, std::move(database), stop, lease_seconds));
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
  is_server_ = format == database::kServerFormat;
  if (!is_foreign && (format == 0 || format == database::kAnswersFormat || is_server_)) return {};
  Diagnostic error =
      BadInput(is_foreign ? "is not a store of answers"
                          : "is a store of format " + std::to_string(format) + ", expected " +
                                std::to_string(database::kAnswersFormat));
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
  // A server may have made the file its own since it was looked at.
  const std::string format = "PRAGMA user_version = " + std::to_string(database::kAnswersFormat);
  if (!transaction.IsOpen() || !answers_.Create()) {
    return Fail(database_.Error("cannot be written"));
  }
  NEAP_CHECK_OK(CheckFormat());
  if ((!is_server_ && !database_.Execute(format)) || !transaction.Commit()) {
    return Fail(database_.Error("cannot be written"));
  }
  return {};
}

Result<std::optional<Numbers>> Store::Find(const std::string& key) {
  NEAP_TRY(const std::optional<std::string> text, answers_.Find(key));
  return text ? NumbersIn(*text) : std::nullopt;
}

Result<Store::Claim> Store::Acquire(const std::string& key, std::optional<Numbers>* stored) {
  Transaction transaction(&database_);
  if (!transaction.IsOpen()) return Fail(database_.Error("cannot be written"));
  NEAP_TRY(*stored, Find(key));
  if (*stored) return Claim::kStored;
  // Threads of one process request a key one after the other: its own lease is a past failure's.
  NEAP_TRY(const bool leased, answers_.Lease(key, lease_seconds_));
  if (!leased) return Claim::kLeased;
  if (!transaction.Commit()) return Fail(database_.Error("cannot be written"));
  return Claim::kTaken;
}

Status Store::Put(const std::string& key, const Numbers& numbers) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(&database_);
  if (!transaction.IsOpen()) return Fail(database_.Error("cannot be written"));
  NEAP_CHECK_OK(answers_.Put(key, TextOf(numbers)));
  if (!transaction.Commit()) return Fail(database_.Error("cannot be written"));
  return {};
}

Status Store::Release(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return answers_.Release(key);
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
