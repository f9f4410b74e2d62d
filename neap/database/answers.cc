// SPDX-License-Identifier: Apache-2.0
#include "neap/database/answers.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <random>
#include <utility>

namespace neap::database {
namespace {

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

}  // namespace

std::string DatabasePath(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return path;
  return (std::filesystem::path(path) / kServerDatabase).string();
}

Answers::Answers(Database* database, std::string owner)
    : database_(database), owner_(owner.empty() ? RandomName() : std::move(owner)) {}

double Answers::Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool Answers::Create() {
  return database_->Execute(
      "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL);"
      "CREATE TABLE IF NOT EXISTS leases (key TEXT PRIMARY KEY, owner TEXT NOT NULL, "
      "until REAL NOT NULL)");
}

Result<std::optional<std::string>> Answers::Find(const std::string& key) {
  Query select(database_, "SELECT answer FROM answers WHERE key = ?");
  const Row row = select.Bind(key).Next();
  if (row == Row::kNext) return std::optional<std::string>(select.Text(0));
  if (row == Row::kNone) return std::optional<std::string>();
  return Fail(database_->Error("cannot be read"));
}

Result<bool> Answers::Lease(const std::string& key, double seconds) {
  {
    Query lease(database_, "SELECT owner, until FROM leases WHERE key = ?");
    const Row row = lease.Bind(key).Next();
    if (row != Row::kNext && row != Row::kNone) return Fail(database_->Error("cannot be read"));
    if (row == Row::kNext && lease.Text(0) != owner_ && lease.Real(1) > Now()) return false;
  }
  Query insert(database_, "INSERT OR REPLACE INTO leases VALUES (?, ?, ?)");
  if (!insert.Bind(key).Bind(owner_).Bind(Now() + seconds).Run()) {
    return Fail(database_->Error("cannot be written"));
  }
  return true;
}

Status Answers::Release(const std::string& key) {
  Query remove(database_, "DELETE FROM leases WHERE key = ? AND owner = ?");
  if (!remove.Bind(key).Bind(owner_).Run()) return Fail(database_->Error("cannot be written"));
  return {};
}

Status Answers::Put(const std::string& key, const std::string& text) {
  Query insert(database_, "INSERT OR REPLACE INTO answers VALUES (?, ?)");
  if (!insert.Bind(key).Bind(text).Run()) return Fail(database_->Error("cannot be written"));
  return Release(key);
}

}  // namespace neap::database
