// SPDX-License-Identifier: Apache-2.0
//
// SQLite: a connection, its statements and its transactions. The tables belong to the stores of
// batch and serve.
#pragma once

#include <cstdint>
#include <string>

#include "neap/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace neap::database {

// A connection; of one thread at a time.
class Database {
 public:
  // Creates the file if it does not exist. Waits up to `wait_milliseconds` for the locks of other
  // processes, here and later. kIo: the file cannot be opened.
  static Result<Database> Open(const std::string& path, int wait_milliseconds);
  Database(Database&& other) noexcept;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  Database& operator=(Database&&) = delete;
  ~Database();

  // kIo, with the name of the file and the last error of SQLite: "cannot be read: disk I/O error".
  Diagnostic Error(const std::string& what) const;
  // Statements without parameters and results, separated by semicolons. False: see Error().
  bool Execute(const std::string& statements);
  // Rows that the last statement changed.
  std::int64_t ChangedRows() const;

 private:
  friend class Query;
  Database(sqlite3* connection, std::string path);

  sqlite3* connection_ = nullptr;
  std::string path_;  // as given
};

enum class Row : std::uint8_t {
  kNext,         // the columns have its values
  kNone,         // there is no further row: the statement has been executed
  kFailed,       // see Database::Error()
  kNotDatabase,  // the file belongs to another program
};

// A statement with its parameters. `database` outlives it.
class Query {
 public:
  Query(Database* database, const std::string& statement);
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  // The next parameter.
  Query& Bind(const std::string& value);
  Query& Bind(std::int64_t value);
  Query& Bind(double value);

  Row Next();
  // Whether the statement was executed and has no rows.
  bool Run() { return Next() == Row::kNone; }

  std::string Text(int column) const;
  std::int64_t Integer(int column) const;
  double Real(int column) const;

 private:
  sqlite3_stmt* statement_ = nullptr;
  int status_ = 0;
  int bound_ = 0;
};

// Rolled back at the end of its scope, unless it was committed. Others cannot write meanwhile.
class Transaction {
 public:
  explicit Transaction(Database* database)
      : database_(database), open_(database->Execute("BEGIN IMMEDIATE")) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (open_) database_->Execute("ROLLBACK");
  }
  bool IsOpen() const { return open_; }
  bool Commit() {
    if (!database_->Execute("COMMIT")) return false;
    open_ = false;
    return true;
  }

 private:
  Database* database_;
  bool open_;
};

}  // namespace neap::database
