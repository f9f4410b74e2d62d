// SPDX-License-Identifier: Apache-2.0
#include "neap/solve/arena/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "neap/base/bytes.h"
#include "neap/solve/arena/arena.h"
#include "testing/arena.h"
#include "testing/cases.h"

namespace neap::arena {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

TEST(Validate, NamesWhatIsWrong) {
  EXPECT_EQ(Validate({}), std::nullopt);
  const auto one = [](Buffer buffer) { return Validate({{buffer}}); };
  EXPECT_EQ(one({16, 0, 1, 16, 32}), std::nullopt);
  EXPECT_EQ(one({0, 3, 3, 1, {}}), std::nullopt);
  EXPECT_EQ(one({8, -1, 0, 1, {}}), std::nullopt);
  EXPECT_THAT(one({-1, 0, 1, 1, {}}), Optional(HasSubstr("found -1 bytes")));
  EXPECT_THAT(one({1, 2, 1, 1, {}}), Optional(HasSubstr("first step 2 after its last 1")));
  EXPECT_THAT(one({1, 0, 1, 0, {}}), Optional(HasSubstr("found alignment 0")));
  EXPECT_THAT(one({1, 0, 1, 16, 24}), Optional(HasSubstr("expected a multiple of 16")));
  EXPECT_THAT(one({1, 0, 1, 1, -16}), Optional(HasSubstr("found fixed offset -16")));
  EXPECT_THAT(one({kMaxBytes, 0, 1, 2, {}}), Optional(HasSubstr("too large")));
  EXPECT_THAT(one({INT64_MAX, 0, 1, 1, {}}), Optional(HasSubstr("too large")));
  EXPECT_THAT(one({1, 0, 1, 1, INT64_MAX}), Optional(HasSubstr("fixed offset")));
  EXPECT_THAT(one({kMaxBytes, 0, 1, 1, kMaxBytes}), Optional(HasSubstr("too large")));
  const Buffer half{kMaxBytes / 2 + 1, 0, 1, 1, {}};
  EXPECT_THAT(Validate({{half, half}}), Optional(HasSubstr("too large")));
}

TEST(Validate, FindsFixedBuffersThatCollide) {
  const Buffer low{10, 0, 4, 1, 0};
  EXPECT_EQ(Validate({{low, {10, 0, 4, 1, 10}}}), std::nullopt);
  EXPECT_EQ(Validate({{low, {10, 4, 5, 1, 5}}}), std::nullopt);
  EXPECT_EQ(Validate({{low, {0, 0, 4, 1, 5}}}), std::nullopt);
  EXPECT_EQ(Validate({{low, {10, 2, 2, 1, 5}}}), std::nullopt);
  EXPECT_THAT(Validate({{low, {10, 3, 5, 1, 9}}}), Optional(HasSubstr("overlaps that of")));
  EXPECT_THAT(Validate({{{10, 3, 5, 1, 9}, low}}), Optional(HasSubstr("overlaps that of")));
  EXPECT_THAT(Validate({{low, {1, 3, 5, 1, 0}}}), Optional(HasSubstr("overlaps that of")));
}

// The sweep of Validate agrees with the all-pairs check.
TEST(Validate, AgreesWithTheCheckerOnFixedBuffers) {
  Random random(7);
  int bad = 0;
  for (int round = 0; round < Cases(2000); ++round) {
    Problem problem;
    Placement placement;
    for (int i = 0; i < 6; ++i) {
      Buffer buffer{random.Between(0, 5), static_cast<Step>(random.Between(0, 8)), 0, 1,
                    random.Between(0, 20)};
      buffer.last = buffer.first + static_cast<Step>(random.Between(0, 4));
      placement.offsets.push_back(*buffer.fixed_offset);
      placement.height_bytes =
          std::max(placement.height_bytes, *buffer.fixed_offset + buffer.bytes);
      problem.buffers.push_back(buffer);
    }
    const bool wrong = FindViolation(problem, placement).has_value();
    bad += wrong ? 1 : 0;
    EXPECT_EQ(Validate(problem).has_value(), wrong) << round;
  }
  EXPECT_GT(bad, Cases(2000) / 7);
  EXPECT_LT(bad, Cases(2000) * 6 / 7);
}

TEST(FindViolation, NamesWhatIsWrong) {
  const Problem problem{{{16, 0, 2, 16, {}}, {16, 1, 3, 16, {}}, {8, 2, 3, 1, 32}}};
  EXPECT_EQ(FindViolation(problem, {{0, 16, 32}, 40}), std::nullopt);
  EXPECT_THAT(FindViolation(problem, {{0, 16}, 40}), Optional(HasSubstr("2 offsets, expected 3")));
  EXPECT_THAT(FindViolation(problem, {{0, 16, 32}, 41}), Optional(HasSubstr("height 41")));
  EXPECT_THAT(FindViolation(problem, {{0, 16, 31}, 40}), Optional(HasSubstr("fixed offset 32")));
  EXPECT_THAT(FindViolation(problem, {{-16, 16, 32}, 40}), Optional(HasSubstr("negative")));
  EXPECT_THAT(FindViolation(problem, {{0, 24, 32}, 40}), Optional(HasSubstr("multiple of 16")));
  EXPECT_THAT(FindViolation(problem, {{16, 16, 32}, 40}), Optional(HasSubstr("shares bytes")));
  EXPECT_THAT(FindViolation(problem, {{0, 32, 32}, 48}), Optional(HasSubstr("shares bytes")));
  const std::int64_t far = INT64_MAX / 16 * 16;
  EXPECT_THAT(FindViolation(problem, {{far, 16, 32}, far}), Optional(HasSubstr("out of range")));
}

// Every single change of a tight placement that makes two live buffers share a byte is found.
TEST(FindViolation, CatchesMutations) {
  Random random(11);
  int caught = 0;
  for (int round = 0; round < 500; ++round) {
    const Problem problem = RandomProblem(random, {.buffers = 12, .steps = 8, .max_bytes = 20});
    Placement placement = PlaceLikeTflm(problem);
    ASSERT_EQ(FindViolation(problem, placement), std::nullopt);
    const std::size_t i = random.Below(12);
    const Buffer& moved = problem.buffers[i];
    const std::size_t j = random.Below(12);
    const Buffer& other = problem.buffers[j];
    const bool live_together =
        std::max(moved.first, other.first) < std::min(moved.last, other.last);
    if (i == j || !live_together || moved.bytes == 0 || other.bytes == 0) continue;
    placement.offsets[i] = std::max<std::int64_t>(
        0, placement.offsets[j] + random.Between(1 - moved.bytes, other.bytes - 1));
    placement.height_bytes = 0;
    for (std::size_t k = 0; k < 12; ++k) {
      placement.height_bytes =
          std::max(placement.height_bytes, placement.offsets[k] + problem.buffers[k].bytes);
    }
    EXPECT_THAT(FindViolation(problem, placement), Optional(HasSubstr("shares bytes")));
    ++caught;
  }
  EXPECT_GT(caught, 100);
}

// The check of large problems finds exactly the violations of the comparison of all pairs.
TEST(FindViolation, IsTheSameByTheSweep) {
  Random random(12);
  Limits limits;
  limits.max_states = 50;
  int wrong = 0;
  for (int round = 0; round < Cases(3000); ++round) {
    Problem problem = RandomProblem(random, {.buffers = 14, .steps = 10, .max_bytes = 20});
    if (round % 2 == 0) AddRandomPairs(random, problem, 10, round % 4 == 0);
    std::vector<std::int64_t> offsets = Solve(problem, limits).placement.offsets;
    ASSERT_EQ(FindCollisionBySweep(problem, offsets), std::nullopt) << round;
    for (std::uint64_t moves = random.Below(3); moves > 0; --moves) {
      offsets[random.Below(14)] = random.Between(0, 80);
    }
    const bool collides = FindCollision(problem, offsets).has_value();
    wrong += collides ? 1 : 0;
    ASSERT_EQ(FindCollisionBySweep(problem, offsets).has_value(), collides) << round;
  }
  EXPECT_GT(wrong, Cases(3000) / 6);
}

}  // namespace
}  // namespace neap::arena
