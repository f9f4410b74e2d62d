// SPDX-License-Identifier: Apache-2.0
#include "neap/database/database.h"

#include <sqlite3.h>

#include <utility>

namespace neap::database {

Database::Database(sqlite3* connection, std::string path)
    : connection_(connection), path_(std::move(path)) {}

Database::Database(Database&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)), path_(std::move(other.path_)) {}

Database::~Database() { sqlite3_close(connection_); }

Result<Database> Database::Open(const std::string& path, int wait_milliseconds) {
  // Without "./", a path such as ":memory:" means something else.
  const std::string file = path.starts_with('/') ? path : "./" + path;
  sqlite3* connection = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int status = sqlite3_open_v2(file.c_str(), &connection, flags, nullptr);
  Database database(connection, path);
  if (status != SQLITE_OK) return Fail(database.Error("cannot be opened"));
  sqlite3_busy_timeout(connection, wait_milliseconds);
  return Result<Database>(std::move(database));
}

Diagnostic Database::Error(const std::string& what) const {
  Diagnostic error = IoError(what + ": " + sqlite3_errmsg(connection_));
  error.file = path_;
  return error;
}

bool Database::Execute(const std::string& statements) {
  return sqlite3_exec(connection_, statements.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::int64_t Database::ChangedRows() const { return sqlite3_changes(connection_); }

Query::Query(Database* database, const std::string& statement) {
  status_ = sqlite3_prepare_v2(database->connection_, statement.c_str(), -1, &statement_, nullptr);
}

Query::~Query() { sqlite3_finalize(statement_); }

Query& Query::Bind(const std::string& value) {
  if (status_ == SQLITE_OK) {
    status_ = sqlite3_bind_text64(statement_, ++bound_, value.data(), value.size(),
                                  SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  return *this;
}

Query& Query::Bind(std::int64_t value) {
  if (status_ == SQLITE_OK) status_ = sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Query& Query::Bind(double value) {
  if (status_ == SQLITE_OK) status_ = sqlite3_bind_double(statement_, ++bound_, value);
  return *this;
}

Row Query::Next() {
  const int status = status_ == SQLITE_OK ? sqlite3_step(statement_) : status_;
  if (status == SQLITE_ROW) return Row::kNext;
  if (status == SQLITE_DONE) return Row::kNone;
  return status == SQLITE_NOTADB ? Row::kNotDatabase : Row::kFailed;
}

std::string Query::Text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_, column);
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

std::int64_t Query::Integer(int column) const { return sqlite3_column_int64(statement_, column); }

double Query::Real(int column) const { return sqlite3_column_double(statement_, column); }

}  // namespace neap::database
