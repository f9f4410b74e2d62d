// SPDX-License-Identifier: Apache-2.0
//
// The challenging instances of MiniMalloc (ASPLOS 2023), where they are at hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "neap/solve/arena/arena.h"
#include "neap/solve/arena/check.h"
#include "neap/solve/arena/csv.h"

namespace neap::arena {
namespace {

constexpr std::int64_t kCapacity = 1'048'576;

std::filesystem::path SharedFolder() {
  if (const char* shared = std::getenv("NEAP_SHARED")) return shared;
  const char* source = std::getenv("NEAP_SOURCE_DIR");
  return std::filesystem::path(source != nullptr ? source : ".") / ".." / "shared";
}

struct Instance {
  const char* name;
  std::int64_t capacity = kCapacity;
  std::uint64_t seed = 3;
};

class MiniMalloc : public ::testing::TestWithParam<Instance> {};

TEST_P(MiniMalloc, FitsIntoItsCapacity) {
  const auto path =
      SharedFolder() / "buffers" / "minimalloc" / (std::string(GetParam().name) + ".1048576.csv");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  const auto csv = ParseCsv(text.str());
  ASSERT_TRUE(csv.has_value()) << csv.error().ToString();
  const Problem& problem = csv->problem;
  ASSERT_GT(problem.buffers.size(), 100U);
  SolveOptions options;
  options.limits.max_states = 3'000'000;
  options.goal_bytes = GetParam().capacity;
  options.seed = GetParam().seed;
  const Outcome outcome = Solve(problem, options);
  EXPECT_EQ(FindViolation(problem, outcome.placement), std::nullopt);
  EXPECT_LE(outcome.placement.height_bytes, GetParam().capacity);
  EXPECT_GT(PlaceLikeTflm(problem).height_bytes, kCapacity);
}

INSTANTIATE_TEST_SUITE_P(Challenging, MiniMalloc,
                         ::testing::Values(Instance{"A"}, Instance{"B"}, Instance{"C", 1'039'360},
                                           Instance{"D", 986'112, 2009}, Instance{"E"},
                                           Instance{"F"}, Instance{"G"}, Instance{"H"}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace neap::arena
