// SPDX-License-Identifier: Apache-2.0
#include "neap/batch/ordered_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace neap::batch {
namespace {

using IntRun = OrderedRun<int>;

IntRun::Limits LimitsOf(int threads, std::size_t items, std::size_t bytes) {
  IntRun::Limits limits;
  limits.threads = threads;
  limits.max_items = items;
  limits.max_bytes = bytes;
  return limits;
}

IntRun::Source CountTo(int most, int* taken) {
  return [=]() -> std::optional<std::string> {
    if (*taken == most) return std::nullopt;
    return std::to_string((*taken)++);
  };
}

TEST(OrderedRun, DeliversInOrderWhateverTheThreads) {
  for (const int threads : {1, 2, 7}) {
    for (const std::size_t items : {std::size_t{1}, std::size_t{3}, std::size_t{100}}) {
      std::vector<int> seen;
      int taken = 0;
      IntRun run(
          LimitsOf(threads, items, 1),
          [](const std::string& item) {
            const int value = std::stoi(item);
            // The first of each seven is the last to be done.
            std::this_thread::sleep_for(std::chrono::microseconds(value % 7 == 0 ? 500 : 10));
            return value;
          },
          [&](int value) {
            seen.push_back(value);
            return true;
          });
      run.Run(CountTo(300, &taken));
      ASSERT_EQ(seen.size(), 300U);
      EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    }
  }
}

TEST(OrderedRun, HoldsNoMoreThanTheWindow) {
  std::atomic<int> delivered{0};
  int taken = 0;
  int most = 0;
  IntRun run(
      LimitsOf(2, 5, 1000), [](const std::string& item) { return std::stoi(item); },
      [&](int) {
        ++delivered;
        return true;
      });
  run.Run([&]() -> std::optional<std::string> {
    most = std::max(most, taken - delivered.load());
    return CountTo(500, &taken)();
  });
  // One more than the window: it has been read from the source and waits for space. Another one is
  // being delivered.
  EXPECT_LE(most, 5 + 2);
  EXPECT_EQ(delivered.load(), 500);
}

TEST(OrderedRun, BeginsNothingAfterStop) {
  std::atomic<bool> stop{false};
  IntRun::Limits limits = LimitsOf(2, 50, 1000);
  limits.stop = &stop;
  std::atomic<int> begun{0};
  std::vector<int> seen;
  int taken = 0;
  IntRun run(
      limits,
      [&](const std::string& item) {
        if (++begun == 20) stop = true;
        return std::stoi(item);
      },
      [&](int value) {
        seen.push_back(value);
        return true;
      });
  run.Run(CountTo(1'000'000, &taken));
  EXPECT_LE(begun.load(), 21);  // the other thread may have looked just before
  // Everything that was begun has been delivered.
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(begun.load()));
  EXPECT_EQ(seen.back(), begun.load() - 1);
}

TEST(OrderedRun, EndsWhenNothingMoreIsWanted) {
  int taken = 0;
  int delivered = 0;
  IntRun run(
      LimitsOf(3, 10, 1000), [](const std::string& item) { return std::stoi(item); },
      [&](int) { return ++delivered < 4; });
  run.Run(CountTo(1'000'000, &taken));
  EXPECT_EQ(delivered, 4);
  EXPECT_LT(taken, 1000);
}

TEST(OrderedRun, LetsFailuresOfTheSourceThrough) {
  int delivered = 0;
  IntRun run(
      LimitsOf(2, 10, 1000), [](const std::string&) { return 1; },
      [&](int) { return ++delivered; });
  int taken = 0;
  EXPECT_THROW(run.Run([&]() -> std::optional<std::string> {
    if (++taken == 5) throw std::runtime_error("no more");
    return "x";
  }),
               std::runtime_error);
  EXPECT_EQ(delivered, 4);
}

}  // namespace
}  // namespace neap::batch
