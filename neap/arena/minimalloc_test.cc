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

#include "neap/arena/arena.h"
#include "neap/arena/check.h"

namespace neap::arena {
namespace {

constexpr std::int64_t kCapacity = 1'048'576;

std::filesystem::path SharedFolder() {
  if (const char* shared = std::getenv("NEAP_SHARED")) return shared;
  const char* source = std::getenv("NEAP_SOURCE_DIR");
  return std::filesystem::path(source != nullptr ? source : ".") / ".." / "shared";
}

// Lines of "id,first,last,bytes" below a heading.
Problem ReadCsv(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  Problem problem;
  while (std::getline(file, line)) {
    std::istringstream fields(line.substr(line.find(',') + 1));
    Buffer buffer;
    char comma = 0;
    fields >> buffer.first >> comma >> buffer.last >> comma >> buffer.bytes;
    problem.buffers.push_back(buffer);
  }
  return problem;
}

struct Instance {
  const char* name;
  std::int64_t max_states;
};

class MiniMalloc : public ::testing::TestWithParam<Instance> {};

TEST_P(MiniMalloc, FitsIntoItsCapacity) {
  const auto path =
      SharedFolder() / "buffers" / "minimalloc" / (std::string(GetParam().name) + ".1048576.csv");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const Problem problem = ReadCsv(path);
  ASSERT_GT(problem.buffers.size(), 100U);
  Limits limits;
  limits.max_states = GetParam().max_states;
  const Outcome outcome = Solve(problem, limits);
  EXPECT_EQ(FindViolation(problem, outcome.placement), std::nullopt);
  EXPECT_LE(outcome.placement.height_bytes, kCapacity);
  EXPECT_GT(PlaceLikeTflm(problem).height_bytes, kCapacity);
}

INSTANTIATE_TEST_SUITE_P(Challenging, MiniMalloc,
                         ::testing::Values(Instance{"A", 200'000}, Instance{"B", 200'000},
                                           Instance{"C", 200'000}, Instance{"D", 40'000},
                                           Instance{"E", 200'000}, Instance{"F", 200'000},
                                           Instance{"G", 200'000}, Instance{"H", 200'000}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace neap::arena
