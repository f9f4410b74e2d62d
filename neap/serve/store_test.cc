// SPDX-License-Identifier: Apache-2.0
#include "neap/serve/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace neap::serve {
namespace {

namespace fs = std::filesystem;

class PlanStores : public testing::Test {
 protected:
  PlanStores() {
    std::string name = (fs::temp_directory_path() / "neap-store-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~PlanStores() override { fs::remove_all(folder_); }

  void Open() {
    store_.reset();
    auto store = PlanStore::Open(folder_);
    ASSERT_TRUE(store) << store.error().ToString();
    store_ = *std::move(store);
  }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  StoredPlan Added(const std::string& model, const std::string& owner = "") {
    StoredPlan plan;
    plan.owner = owner;
    plan.name = "model";
    plan.options = "[]";
    const std::string path = store_->NewUpload();
    Write(path, model);
    const Status status = store_->Add(100, path, &plan);
    EXPECT_TRUE(status) << status.error().ToString();
    return plan;
  }
  // Of a plan that Take() returned.
  void Finish(StoredPlan plan, const std::string& result) {
    const std::string folder = folder_ + "/work/" + plan.id;
    fs::create_directory(folder);
    Write(folder + "/plan.json", result);
    plan.state = State::kDone;
    const auto finished = store_->Finish(folder, {"plan.json", "model"}, &plan);
    EXPECT_TRUE(finished && *finished);
  }
  std::size_t Blobs() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ + "/blobs")) {
      count += entry.is_regular_file() ? 1 : 0;
    }
    return count;
  }

  std::string folder_;
  std::unique_ptr<PlanStore> store_;
};

TEST_F(PlanStores, RunPlansInTheirOrder) {
  Open();
  const StoredPlan first = Added("a");
  const StoredPlan second = Added("b");
  EXPECT_EQ((*store_->Take())->id, first.id);
  EXPECT_EQ((*store_->Take())->id, second.id);
  EXPECT_FALSE(store_->Take()->has_value());
}

TEST_F(PlanStores, KeepEqualBytesOnceAsLongAsAPlanHasThem) {
  Open();
  const StoredPlan first = Added("same");
  const StoredPlan second = Added("same");
  EXPECT_EQ(first.model_sha256, second.model_sha256);
  EXPECT_EQ(Blobs(), 1U);
  Finish(**store_->Take(), "plan");
  EXPECT_EQ(Blobs(), 2U);  // the second plan has the model, the first one its result
  Finish(**store_->Take(), "plan");
  EXPECT_EQ(Blobs(), 1U);
  ASSERT_TRUE(store_->Remove(first.id));
  EXPECT_EQ(Blobs(), 1U);
  EXPECT_EQ((*store_->Find(second.id))->files[0].name, "plan.json");
  ASSERT_TRUE(store_->Remove(second.id));
  EXPECT_EQ(Blobs(), 0U);
}

TEST_F(PlanStores, ContinueWhatAKillInterrupted) {
  Open();
  const StoredPlan plan = Added("a");
  for (std::int64_t attempt = 1; attempt <= PlanStore::kMaxAttempts; ++attempt) {
    const auto taken = store_->Take();
    ASSERT_TRUE(taken && *taken);
    EXPECT_EQ((*taken)->attempts, attempt);
    Write(folder_ + "/incoming/half", "upload");
    Open();
    EXPECT_FALSE(fs::exists(folder_ + "/incoming/half"));
  }
  // A model that ends the server each time is not tried for ever.
  EXPECT_EQ((*store_->Find(plan.id))->state, State::kFailed);
  EXPECT_THAT((*store_->Find(plan.id))->error, testing::HasSubstr("3 times"));
}

TEST_F(PlanStores, DropBlobsOfPlansThatWereNeverAdded) {
  Open();
  const StoredPlan plan = Added("a");
  const std::string orphan = folder_ + "/blobs/ab";
  fs::create_directory(orphan);
  Write(orphan + "/" + std::string(64, 'a'), "left");
  Open();
  EXPECT_EQ(Blobs(), 1U);
  EXPECT_TRUE(fs::exists(store_->BlobPath(plan.model_sha256)));
}

TEST_F(PlanStores, ServeOneServer) {
  Open();
  const auto second = PlanStore::Open(folder_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().ToString(), testing::HasSubstr("another server"));
}

TEST_F(PlanStores, RefuseTheDatabaseOfAnotherProgram) {
  Write(folder_ + "/plans.sqlite",
        "not a database, and long enough to have a whole header......"
        "........................................................");
  EXPECT_FALSE(PlanStore::Open(folder_));
}

TEST_F(PlanStores, RefuseMoreThanTheQueue) {
  Open();
  (void)Added("a");
  StoredPlan plan;
  const std::string path = store_->NewUpload();
  Write(path, "b");
  const Status status = store_->Add(1, path, &plan);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kOverBudget);
}

TEST_F(PlanStores, DropResultsThatAreNoFiles) {
  Open();
  (void)Added("a");
  StoredPlan plan = **store_->Take();
  const std::string folder = folder_ + "/work/" + plan.id;
  fs::create_directory(folder);
  fs::create_symlink("/etc/passwd", folder + "/plan.json");
  fs::create_directory(folder + "/model");
  plan.state = State::kDone;
  ASSERT_TRUE(store_->Finish(folder, {"plan.json", "model"}, &plan));
  EXPECT_TRUE((*store_->Find(plan.id))->files.empty());
}

TEST_F(PlanStores, ComputeEqualRequestsOnce) {
  Open();
  const auto add = [&](const std::string& request, const std::string& model) {
    StoredPlan plan;
    plan.name = "model";
    plan.options = "[]";
    plan.request = request;
    const std::string path = store_->NewUpload();
    Write(path, model);
    EXPECT_TRUE(store_->Add(100, path, &plan));
    return plan;
  };
  const StoredPlan first = add("r", "m");
  const StoredPlan second = add("r", "m");
  const StoredPlan other = add("r", "n");
  EXPECT_EQ(first.key, second.key);
  EXPECT_NE(first.key, other.key);
  StoredPlan taken = **store_->Take();
  EXPECT_EQ(taken.id, first.id);
  EXPECT_FALSE(*store_->FinishStored(&taken));
  // The second waits for the first, the other one does not.
  EXPECT_EQ((*store_->Take())->id, other.id);
  EXPECT_FALSE(store_->Take()->has_value());
  Finish(taken, "plan");
  taken = **store_->Take();
  EXPECT_EQ(taken.id, second.id);
  EXPECT_TRUE(*store_->FinishStored(&taken));
  const StoredPlan found = **store_->Find(second.id);
  EXPECT_EQ(found.state, State::kDone);
  ASSERT_EQ(found.files.size(), 1U);
  EXPECT_EQ(found.files[0].name, "plan.json");
  EXPECT_TRUE(fs::exists(store_->BlobPath(found.files[0].sha256)));
  // Without a plan that has them, results are gone.
  ASSERT_TRUE(store_->Remove(first.id));
  ASSERT_TRUE(store_->Remove(second.id));
  (void)add("r", "m");
  taken = **store_->Take();
  EXPECT_FALSE(*store_->FinishStored(&taken));
  // The lease of a server that was killed ends with it.
  Open();
  EXPECT_TRUE(store_->Take()->has_value());
}

TEST_F(PlanStores, ReadTheDatabaseOfAnEarlierVersion) {
  Open();
  const StoredPlan plan = Added("a");
  store_.reset();
  {
    // Plans had no key then, and there were no answers.
    auto database = database::Database::Open(folder_ + "/plans.sqlite", 1000);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->Execute(
        "DROP INDEX plans_by_key; ALTER TABLE plans DROP COLUMN key; DROP TABLE answers; DROP "
        "TABLE leases; PRAGMA user_version = 0x4e530001"));
  }
  Open();
  const StoredPlan taken = **store_->Take();
  EXPECT_EQ(taken.id, plan.id);
  EXPECT_EQ(taken.key, "");
  Finish(taken, "plan");
  Open();
  EXPECT_EQ((*store_->Find(plan.id))->files.size(), 1U);
}

TEST_F(PlanStores, AFailureIsNoResult) {
  Open();
  StoredPlan first;
  StoredPlan second;
  for (StoredPlan* plan : {&first, &second}) {
    plan->options = "[]";
    plan->request = "r";
    const std::string path = store_->NewUpload();
    Write(path, "m");
    ASSERT_TRUE(store_->Add(100, path, plan));
  }
  StoredPlan taken = **store_->Take();
  EXPECT_FALSE(store_->Take()->has_value());
  // A job that the server ended gives its lease back, as one that failed does.
  ASSERT_TRUE(store_->Requeue(taken.id));
  taken = **store_->Take();
  EXPECT_EQ(taken.id, first.id);
  taken.state = State::kFailed;
  EXPECT_TRUE(*store_->Finish(folder_, {}, &taken));
  taken = **store_->Take();
  EXPECT_EQ(taken.id, second.id);
  EXPECT_FALSE(*store_->FinishStored(&taken));
}

TEST_F(PlanStores, RemoveOldPlans) {
  Open();
  const StoredPlan plan = Added("a");
  Finish(**store_->Take(), "plan");
  EXPECT_EQ(*store_->RemoveBefore(NowSeconds() - 10), 0);
  EXPECT_EQ(*store_->RemoveBefore(NowSeconds() + 10), 1);
  EXPECT_FALSE(store_->Find(plan.id)->has_value());
  EXPECT_EQ(Blobs(), 0U);
}

}  // namespace
}  // namespace neap::serve
