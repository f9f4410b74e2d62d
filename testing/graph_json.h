// SPDX-License-Identifier: Apache-2.0
//
// Graphs as text, for the tests of modules that take models.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "neap/formats/formats.h"

namespace neap::deliver {

// The model of a graph JSON, as if read from folder/graph.json.
inline formats::SourceModel ModelOf(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  auto bytes = std::make_shared<const std::vector<std::byte>>(data, data + text.size());
  auto model = formats::LoadBytes(bytes, "folder/graph.json", {});
  EXPECT_TRUE(model) << model.error().ToString();
  return *std::move(model);
}

// A chain whose first operator alone needs its input and its output.
inline constexpr std::string_view kChain = R"({
  "tensors": [{"name": "in", "bytes": 20}, {"name": "wide", "bytes": 150},
              {"name": "out", "bytes": 5}],
  "inputs": ["in"], "outputs": ["out"],
  "ops": [{"name": "widen", "inputs": ["in"], "outputs": ["wide"]},
          {"name": "narrow", "inputs": ["wide"], "outputs": ["out"]}]})";

// In file order both wide tensors are live: 320 bytes, and 180 in the best order.
inline constexpr std::string_view kBranches = R"({
  "tensors": [{"name": "in", "bytes": 20}, {"name": "wide1", "bytes": 150},
              {"name": "wide2", "bytes": 150}, {"name": "thin1", "bytes": 10},
              {"name": "thin2", "bytes": 10}, {"name": "out", "bytes": 5}],
  "inputs": ["in"], "outputs": ["out"],
  "ops": [{"name": "widen1", "inputs": ["in"], "outputs": ["wide1"]},
          {"name": "widen2", "inputs": ["in"], "outputs": ["wide2"]},
          {"name": "narrow1", "inputs": ["wide1"], "outputs": ["thin1"]},
          {"name": "narrow2", "inputs": ["wide2"], "outputs": ["thin2"]},
          {"name": "join", "inputs": ["thin1", "thin2"], "outputs": ["out"]}]})";

}  // namespace neap::deliver
