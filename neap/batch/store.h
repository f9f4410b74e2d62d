// SPDX-License-Identifier: Apache-2.0
//
// Numbers by key in an SQLite file, for batches that are interrupted and for several processes:
// what one computed is read by all. The tables are those of database::Answers: the file may serve
// the Python package as well, and a folder of `neap serve` has one. Private to neap/batch.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "neap/base/result.h"
#include "neap/batch/batch.h"
#include "neap/batch/numbers.h"
#include "neap/database/answers.h"
#include "neap/database/database.h"

namespace neap::batch {

// Thread-safe. A process that was killed at any point leaves a file that is read again; its leases
// expire. After a power failure the latest answers may be missing.
class Store {
 public:
  static constexpr double kLeaseSeconds = 60;

  // Creates the file if it does not exist; of a folder, the database of its server. *stop, if
  // given, ends waiting for other processes. kIo: the file cannot be opened; kBadInput: it is not a
  // store, or one of another format.
  static Result<std::unique_ptr<Store>> Open(const std::string& path, const std::atomic<bool>* stop,
                                             double lease_seconds = kLeaseSeconds);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // The stored numbers of `key`, else those of `compute`, which are stored; no other process
  // computes them while this one's lease is live. A computation that takes longer than the lease
  // may be made twice; both results are equal. Failures are not stored. Sets *repeated where the
  // numbers were stored.
  Result<Numbers> Get(const std::string& key, const std::function<Result<Numbers>()>& compute,
                      bool* repeated);

 private:
  Store(const std::string& path, database::Database database, const std::atomic<bool>* stop,
        double lease_seconds);
  Status Prepare();
  Status CheckFormat();
  Result<std::optional<Numbers>> Find(const std::string& key);
  // Takes the lease on `key`, unless the numbers exist or another process has it.
  enum class Claim : std::uint8_t { kTaken, kStored, kLeased };
  Result<Claim> Acquire(const std::string& key, std::optional<Numbers>* stored);
  Status Put(const std::string& key, const Numbers& numbers);
  Status Release(const std::string& key);

  const std::string path_;
  const std::atomic<bool>* const stop_;
  const double lease_seconds_;
  std::mutex mutex_;  // of the database
  database::Database database_;
  database::Answers answers_;  // of database_
  bool is_server_ = false;     // its file has the plans of a server, too
};

// The key of an answer: SHA-256 (hex) of Neap's version, the options that may change it and
// `subject`, which identifies what is planned.
std::string StoreKey(const Options& options, const std::string& subject);

}  // namespace neap::batch
