// SPDX-License-Identifier: Apache-2.0
#include "neap/base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace neap {
namespace {

constexpr std::array<std::string_view, 6> kNames = {
    "budget", "budget-activations", "board", "nano-33-ble", "order", "arduino-nano-33-iot"};

TEST(NearestName, FindsMisspelledNames) {
  EXPECT_EQ(NearestName("bugdet", kNames), "budget");
  EXPECT_EQ(NearestName("--Budget", kNames), "budget");
  EXPECT_EQ(NearestName("nano33ble", kNames), "nano-33-ble");
  EXPECT_EQ(NearestName("NANO_33_BLE", kNames), "nano-33-ble");
  EXPECT_EQ(NearestName("ordr", kNames), "order");
  EXPECT_EQ(NearestName("budget-activation", kNames), "budget-activations");
}

TEST(NearestName, FindsNothingFarAway) {
  EXPECT_EQ(NearestName("cascade", kNames), "");
  EXPECT_EQ(NearestName("", kNames), "");
  EXPECT_EQ(NearestName("--", kNames), "");
  EXPECT_EQ(NearestName(std::string(100, 'b'), kNames), "");
  EXPECT_EQ(NearestName("budget", {}), "");
  // Short words are near to many others.
  EXPECT_EQ(NearestName("x", kNames), "");
  EXPECT_EQ(DidYouMean("cascade", kNames), "");
  EXPECT_EQ(DidYouMean("bord", kNames), "did you mean 'board'?");
}

}  // namespace
}  // namespace neap
