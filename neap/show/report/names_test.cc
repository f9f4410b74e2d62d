// SPDX-License-Identifier: Apache-2.0
#include "neap/show/report/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neap/show/report/text.h"

namespace neap::report {
namespace {

TEST(ShortNames, LastPartsThatDistinguish) {
  const ShortNames names({"input", "net/conv1/act", "net/block1/pointwise/act",
                          "net/block1/depthwise/act", "net/block2/pointwise/act", "net/concat_6"});
  EXPECT_EQ(names.Of("input"), "input");
  EXPECT_EQ(names.Of("net/concat_6"), "concat_6");
  EXPECT_EQ(names.Of("net/conv1/act"), "conv1/act");
  EXPECT_EQ(names.Of("net/block1/pointwise/act"), "block1/pointwise/act");
  EXPECT_EQ(names.Of("net/block1/depthwise/act"), "depthwise/act");
}

TEST(ShortNames, GenericPartsInsideGiveWay) {
  const ShortNames names({"n/conv_14/bn/bn/activation", "n/conv_17/bn/bn/activation"});
  EXPECT_EQ(names.Of("n/conv_14/bn/bn/activation"), "conv_14/.../activation");
  EXPECT_EQ(names.Of("n/conv_17/bn/bn/activation"), "conv_17/.../activation");
}

TEST(ShortNames, OfFusedNamesTheFirst) {
  const ShortNames names({"net/a/Relu6;net/a/add;net/a/bias", "net/b/Relu6;net/b/add"});
  EXPECT_EQ(names.Of("net/a/Relu6;net/a/add;net/a/bias"), "a/Relu6");
}

// Fused names that begin alike stay different.
TEST(ShortNames, EqualHeadsKeepTheWholeName) {
  const ShortNames names({"net/a;net/b", "net/a;net/c"});
  EXPECT_EQ(names.Of("net/a;net/b"), "net/a;net/b");
  EXPECT_EQ(names.Of("net/a;net/c"), "net/a;net/c");
}

// A whole name that ends another one.
TEST(ShortNames, SuffixOfAnotherName) {
  const ShortNames names({"x", "y/x"});
  EXPECT_EQ(names.Of("x"), "x");
  EXPECT_EQ(names.Of("y/x"), "y/x");
}

TEST(ShortNames, NeverWiderThanItsColumns) {
  const std::string wide(500, 'w');
  std::string deep = "a";
  for (int i = 0; i < 10'000; ++i) deep += "/a";
  const ShortNames names({wide, deep, "", "///", ";", "a\nb"});
  for (const std::string& name : {wide, deep, std::string(), std::string("///"), std::string(";"),
                                  std::string("a\nb"), std::string(90, 'u')}) {
    EXPECT_LE(ColumnsOf(names.Of(name)), ShortNames::kMaxColumns);
  }
  EXPECT_EQ(names.Of("a\nb"), "a\\x0ab");
}

}  // namespace
}  // namespace neap::report
