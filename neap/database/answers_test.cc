// SPDX-License-Identifier: Apache-2.0
#include "neap/database/answers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace neap::database {
namespace {

namespace fs = std::filesystem;

class AnswersTest : public testing::Test {
 protected:
  AnswersTest()
      : folder_((fs::temp_directory_path() /
                 ("neap-answers-" +
                  std::string(testing::UnitTest::GetInstance()->current_test_info()->name())))
                    .string()) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~AnswersTest() override { fs::remove_all(folder_); }

  Database Opened() {
    Result<Database> database = Database::Open(folder_ + "/answers", 1000);
    EXPECT_TRUE(database);
    return *std::move(database);
  }

  const std::string folder_;
};

TEST_F(AnswersTest, AreFoundByTheirKey) {
  Database database = Opened();
  Answers answers(&database);
  ASSERT_TRUE(answers.Create());
  EXPECT_FALSE(answers.Find("k")->has_value());
  ASSERT_TRUE(answers.Put("k", "first"));
  ASSERT_TRUE(answers.Put("k", "second"));
  // Tables that exist stay.
  Database again = Opened();
  Answers later(&again);
  ASSERT_TRUE(later.Create());
  EXPECT_EQ(**later.Find("k"), "second");
  EXPECT_FALSE(later.Find("l")->has_value());
}

TEST_F(AnswersTest, AKeyIsLeasedToOne) {
  Database database = Opened();
  Answers one(&database);
  Answers other(&database);
  ASSERT_TRUE(one.Create());
  EXPECT_TRUE(*one.Lease("k", 3600));
  EXPECT_TRUE(*one.Lease("k", 3600));  // renewed
  EXPECT_FALSE(*other.Lease("k", 3600));
  EXPECT_TRUE(*other.Lease("l", 3600));
  // Only the owner ends a lease; an answer ends it, too.
  ASSERT_TRUE(other.Release("k"));
  EXPECT_FALSE(*other.Lease("k", 3600));
  ASSERT_TRUE(one.Release("k"));
  EXPECT_TRUE(*other.Lease("k", 3600));
  ASSERT_TRUE(other.Put("k", "answer"));
  EXPECT_TRUE(*one.Lease("k", 3600));
}

TEST_F(AnswersTest, ALeaseExpires) {
  Database database = Opened();
  Answers one(&database);
  Answers other(&database);
  ASSERT_TRUE(one.Create());
  EXPECT_TRUE(*one.Lease("k", -1));
  EXPECT_TRUE(*other.Lease("k", 3600));
  EXPECT_FALSE(*one.Lease("k", 3600));
}

TEST_F(AnswersTest, AFolderIsTheDatabaseInIt) {
  EXPECT_EQ(DatabasePath(folder_), folder_ + "/plans.sqlite");
  EXPECT_EQ(DatabasePath(folder_ + "/answers"), folder_ + "/answers");
}

}  // namespace
}  // namespace neap::database
