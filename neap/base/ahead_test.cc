// SPDX-License-Identifier: Apache-2.0
#include "neap/base/ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "neap/base/random.h"
#include "neap/base/work.h"
#include "testing/cases.h"

namespace neap {
namespace {

struct Finished {
  std::vector<std::int64_t> adopted;
  std::int64_t work = 0;
  friend bool operator==(const Finished&, const Finished&) = default;
};

// Items of random work, each of which counts the units that it got before the work was over.
Finished RunWith(int threads, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int64_t> units;
  for (std::int64_t n = random.Between(0, 9); n > 0; --n) units.push_back(random.Between(0, 20));
  const std::int64_t most = random.Between(0, 150);
  const std::int64_t enough = random.Between(1, 100);
  Finished run;
  std::int64_t sum = 0;
  const std::int64_t before = WorkDone();
  const WorkScope scope(most);
  ForEachAhead(
      threads, units.size(), [&](std::size_t) { return sum < enough && !IsOutOfWork(); },
      [&](std::size_t i, int) {
        std::int64_t done = 0;
        for (; done < units[i] && !IsOutOfWork(); ++done) ChargeWork(1);
        return done;
      },
      [&](std::size_t, std::int64_t done) {
        run.adopted.push_back(done);
        sum += done;
      });
  run.work = WorkDone() - before;
  return run;
}

TEST(Ahead, ThreadsChangeNothing) {
  int cut_short = 0;
  for (int i = 0; i < Cases(2000); ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const Finished one = RunWith(1, seed);
    EXPECT_EQ(RunWith(2, seed), one) << i;
    EXPECT_EQ(RunWith(7, seed), one) << i;
    if (one.adopted.size() > 2) ++cut_short;
  }
  EXPECT_GT(cut_short, 0);
}

TEST(Ahead, TwoRunAtTheSameTime) {
  std::atomic<int> running = 0;
  int adopted = 0;
  ForEachAhead(
      2, 4, [](std::size_t) { return true; },
      [&](std::size_t i, int thread) {
        EXPECT_EQ(thread, static_cast<int>(i % 2));
        ++running;
        while (running.load() < static_cast<int>(i / 2 * 2) + 2) std::this_thread::yield();
        return i;
      },
      [&](std::size_t i, std::size_t value) {
        EXPECT_EQ(value, i);
        ++adopted;
      });
  EXPECT_EQ(adopted, 4);
}

TEST(Ahead, FailuresComeInOrder) {
  for (const int threads : {1, 2}) {
    std::vector<std::size_t> adopted;
    const auto run = [&](std::size_t wrong) {
      adopted.clear();
      ForEachAhead(
          threads, 5, [](std::size_t) { return true; },
          [&](std::size_t i, int) {
            if (i == wrong) throw std::runtime_error("wrong");
            return i;
          },
          [&](std::size_t, std::size_t value) { adopted.push_back(value); });
    };
    for (std::size_t wrong = 0; wrong < 5; ++wrong) {
      EXPECT_THROW(run(wrong), std::runtime_error);
      EXPECT_EQ(adopted.size(), wrong);
    }
  }
}

}  // namespace
}  // namespace neap
