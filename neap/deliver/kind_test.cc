// SPDX-License-Identifier: Apache-2.0
#include "neap/deliver/kind.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace neap::deliver {
namespace {

TEST(Kind, PredicatesAreThoseOfTheNames) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Kind::kRewrittenRepeated); ++i) {
    const Kind kind{static_cast<std::uint8_t>(i)};
    const std::string name(NameOf(kind));
    const auto has = [&](const char* word) { return name.find(word) != std::string::npos; };
    EXPECT_EQ(IsRewritten(kind), has("rewritten")) << name;
    EXPECT_EQ(IsStreamed(kind), has("streamed")) << name;
    EXPECT_EQ(HasTiles(kind), has("tiles")) << name;
    EXPECT_EQ(HasRepetitions(kind), has("recomputed")) << name;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 8U);
}

}  // namespace
}  // namespace neap::deliver
