// SPDX-License-Identifier: Apache-2.0
#include "neap/database/database.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace neap::database {
namespace {

constexpr int kWaitMilliseconds = 10;

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest()
      : path_((std::filesystem::temp_directory_path() /
               ("neap-database-" +
                std::string(testing::UnitTest::GetInstance()->current_test_info()->name())))
                  .string()) {
    std::filesystem::remove(path_);
  }
  ~DatabaseTest() override { std::filesystem::remove(path_); }

  Database Opened() {
    Result<Database> database = Database::Open(path_, kWaitMilliseconds);
    EXPECT_TRUE(database);
    return *std::move(database);
  }
  static std::int64_t Rows(Database* database) {
    Query count(database, "SELECT count(*) FROM names");
    EXPECT_EQ(count.Next(), Row::kNext);
    return count.Integer(0);
  }

  const std::string path_;
};

TEST_F(DatabaseTest, ReadsWhatItStores) {
  Database database = Opened();
  ASSERT_TRUE(database.Execute("CREATE TABLE names (name TEXT, bytes INTEGER, seconds REAL)"));
  {
    std::string name = "a 'quoted' name";
    Query insert(&database, "INSERT INTO names VALUES (?, ?, ?)");
    insert.Bind(name).Bind(std::int64_t{1} << 40).Bind(0.5);
    name = "changed after Bind()";
    EXPECT_TRUE(insert.Run());
    EXPECT_EQ(database.ChangedRows(), 1);
  }
  Query select(&database, "SELECT name, bytes, seconds FROM names");
  ASSERT_EQ(select.Next(), Row::kNext);
  EXPECT_EQ(select.Text(0), "a 'quoted' name");
  EXPECT_EQ(select.Integer(1), std::int64_t{1} << 40);
  EXPECT_EQ(select.Real(2), 0.5);
  EXPECT_EQ(select.Next(), Row::kNone);
}

TEST_F(DatabaseTest, RollsBackWhatIsNotCommitted) {
  Database database = Opened();
  ASSERT_TRUE(database.Execute("CREATE TABLE names (name TEXT)"));
  {
    const Transaction lost(&database);
    EXPECT_TRUE(lost.IsOpen());
    EXPECT_TRUE(database.Execute("INSERT INTO names VALUES ('lost')"));
  }
  EXPECT_EQ(Rows(&database), 0);
  {
    Transaction kept(&database);
    EXPECT_TRUE(database.Execute("INSERT INTO names VALUES ('kept')"));
    EXPECT_TRUE(kept.Commit());
  }
  EXPECT_EQ(Rows(&database), 1);
}

TEST_F(DatabaseTest, OneWritesAtATime) {
  Database first = Opened();
  ASSERT_TRUE(first.Execute("CREATE TABLE names (name TEXT)"));
  Database second = Opened();
  {
    const Transaction writing(&first);
    EXPECT_FALSE(Transaction(&second).IsOpen());
  }
  EXPECT_TRUE(Transaction(&second).IsOpen());
}

TEST_F(DatabaseTest, FailuresHaveAReason) {
  Database database = Opened();
  EXPECT_FALSE(database.Execute("SELECT * FROM names"));
  EXPECT_EQ(database.Error("cannot be read").ToString(),
            path_ + ": cannot be read: no such table: names");
  // Neither a statement that is none nor one parameter too many is executed.
  EXPECT_EQ(Query(&database, "SELEC").Next(), Row::kFailed);
  EXPECT_EQ(Query(&database, "SELECT 1").Bind(1.0).Next(), Row::kFailed);
  const auto absent = Database::Open(path_ + "-absent/file", kWaitMilliseconds);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().message, "cannot be opened: unable to open database file");
}

TEST_F(DatabaseTest, KnowsFilesOfOtherPrograms) {
  std::ofstream(path_) << std::string(4096, 'x');
  Database database = Opened();
  EXPECT_EQ(Query(&database, "PRAGMA user_version").Next(), Row::kNotDatabase);
}

}  // namespace
}  // namespace neap::database
