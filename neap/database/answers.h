// SPDX-License-Identifier: Apache-2.0
//
// Answers by key, and leases on keys that are being computed: the part of a database that
// `neap batch --store`, `neap serve` and the Python package (python/neap/store.py) share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "neap/base/result.h"
#include "neap/database/database.h"

namespace neap::database {

// PRAGMA user_version of a file with answers alone, and of one that has the plans of a server as
// well. Both have the same tables `answers` and `leases`.
inline constexpr int kAnswersFormat = 1;
inline constexpr int kServerFormat = 0x4e53'0002;
// The database in the folder of a server.
inline constexpr const char* kServerDatabase = "plans.sqlite";

// `path`, or the database in it where it is a folder.
std::string DatabasePath(const std::string& path);

// Of one connection, and of one thread at a time.
class Answers {
 public:
  // `owner`: of the leases; "": a random name.
  explicit Answers(Database* database, std::string owner = "");

  // Creates the tables where they lack; for a transaction of the caller. False: see
  // Database::Error().
  bool Create();

  // The text of `key`.
  Result<std::optional<std::string>> Find(const std::string& key);

  // Takes the lease on `key`, unless another owner has one that has not expired.
  Result<bool> Lease(const std::string& key, double seconds);
  Status Release(const std::string& key);

  // Stores the text of `key` and ends this owner's lease on it; for a transaction of the caller.
  Status Put(const std::string& key, const std::string& text);

  // Seconds of the epoch, as Python's time.time().
  static double Now();

 private:
  Database* database_;
  std::string owner_;
};

}  // namespace neap::database
