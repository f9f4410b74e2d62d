// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace neap::batch {
namespace {

constexpr Numbers kNumbers = {120, 100, 130, std::nullopt};

Result<Numbers> Unexpected() { return Fail(BadInput("computed though it is stored")); }

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = ::testing::TempDir() + "store_test_" + test->name() + ".db";
    Remove();
  }
  void TearDown() override { Remove(); }
  void Remove() const {
    for (const char* const end : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + end);
  }
  std::unique_ptr<Store> Opened(double lease_seconds = Store::kLeaseSeconds,
                                const std::atomic<bool>* stop = nullptr) const {
    auto store = Store::Open(path_, stop, lease_seconds);
    EXPECT_TRUE(store) << store.error().ToString();
    return std::move(*store);
  }

  std::string path_;
};

TEST_F(StoreTest, NumbersAreComputedOnceAndReadByOthers) {
  bool repeated = false;
  const auto first = Opened();
  ASSERT_EQ(first->Get(
                "a", [] { return Result<Numbers>(kNumbers); }, &repeated),
            kNumbers);
  EXPECT_FALSE(repeated);
  EXPECT_EQ(Opened()->Get("a", Unexpected, &repeated), kNumbers);
  EXPECT_TRUE(repeated);
}

TEST_F(StoreTest, FailuresAreNotStored) {
  bool repeated = false;
  const auto store = Opened();
  EXPECT_FALSE(store->Get("a", Unexpected, &repeated).has_value());
  EXPECT_EQ(Opened()->Get(
                "a", [] { return Result<Numbers>(kNumbers); }, &repeated),
            kNumbers);
  EXPECT_FALSE(repeated);
}

TEST_F(StoreTest, AKeyIsNotComputedTwiceAtOnce) {
  constexpr int kKeys = 40;
  std::atomic<int> computed{0};
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back([&] {
      const auto store = Opened();
      for (int key = 0; key < kKeys; ++key) {
        bool repeated = false;
        const auto numbers = store->Get(
            std::to_string(key),
            [&] {
              ++computed;
              // Long enough for the others to come to the same key.
              std::this_thread::sleep_for(std::chrono::milliseconds(5));
              return Result<Numbers>(Numbers{key, key, std::nullopt, key});
            },
            &repeated);
        ASSERT_TRUE(numbers) << numbers.error().ToString();
        EXPECT_EQ(*numbers, (Numbers{key, key, std::nullopt, key}));
      }
    });
  }
  for (std::thread& other : others) other.join();
  EXPECT_EQ(computed, kKeys);
}

TEST_F(StoreTest, ALeaseOfAProcessThatEndedExpires) {
  bool repeated = false;
  const auto other = Opened(0.2);
  // As if the other process were killed here: the lease is left behind.
  const auto numbers = other->Get(
      "a",
      [&] {
        bool inner = false;
        return Opened()->Get(
            "a", [] { return Result<Numbers>(kNumbers); }, &inner);
      },
      &repeated);
  EXPECT_EQ(numbers, kNumbers);
}

TEST_F(StoreTest, AnInterruptEndsTheWait) {
  const std::atomic<bool> stop{true};
  bool repeated = false;
  const auto other = Opened();
  const auto numbers = other->Get(
      "a",
      [&] {
        bool inner = false;
        return Opened(Store::kLeaseSeconds, &stop)
            ->Get(
                "a", [] { return Result<Numbers>(kNumbers); }, &inner);
      },
      &repeated);
  EXPECT_EQ(numbers, kNumbers);
}

TEST_F(StoreTest, OtherFilesAreRefused) {
  std::ofstream(path_) << std::string(200, 'x');
  const auto store = Store::Open(path_, nullptr);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().ToString(), path_ + ": is not a store of answers");
  EXPECT_FALSE(Store::Open(path_ + "/none/at/all", nullptr).has_value());
}

TEST_F(StoreTest, KeysDifferWithTheOptions) {
  Options options;
  const std::string key = StoreKey(options, "graph");
  EXPECT_EQ(StoreKey(options, "graph"), key);
  EXPECT_NE(StoreKey(options, "other"), key);
  options.place = false;
  EXPECT_NE(StoreKey(options, "graph"), key);
  options = {};
  options.limits.max_states = 7;
  EXPECT_NE(StoreKey(options, "graph"), key);
  options = {};
  options.rewrite.emplace();
  EXPECT_NE(StoreKey(options, "graph"), key);
}

}  // namespace
}  // namespace neap::batch
