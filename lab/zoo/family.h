// SPDX-License-Identifier: Apache-2.0
//
// The entries of a family of networks for the registry in zoo.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lab/zoo/zoo.h"
#include "neap/base/result.h"

namespace neap::zoo {

struct Entry {
  Recipe recipe;
  Result<Network> (*build)(const ZooOptions& options);
};

std::span<const Entry> RandwireEntries();
std::span<const Entry> DartsEntries();
std::span<const Entry> NasEntries();
std::span<const Entry> NasnetMobileEntries();
std::span<const Entry> SwiftnetEntries();
std::span<const Entry> MobilenetEntries();
std::span<const Entry> SsdEntries();
std::span<const Entry> ResnetEntries();
std::span<const Entry> DensenetEntries();
std::span<const Entry> InceptionEntries();
std::span<const Entry> XceptionEntries();
std::span<const Entry> UnetEntries();
std::span<const Entry> TinyEntries();
std::span<const Entry> TransformerEntries();

// MobileNetV1 behind its first convolution: pairs of a depthwise and a pointwise convolution
// (Howard et al. 2017, table 1). SSD-MobileNet has the same.
struct MobilenetV1Block {
  std::int64_t channels;
  std::int64_t stride;  // of the depthwise convolution
};
inline constexpr MobilenetV1Block kMobilenetV1Blocks[] = {
    {64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2},  {512, 1},
    {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1},
};

// The value of an option: `published` where it was left at 0; kUsage when it is outside
// [low, high] or no multiple of `step`.
struct Range {
  std::int64_t published = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t step = 1;
};
Result<std::int64_t> PickOption(std::string_view option, std::int64_t given, const Range& range);

// kUsage when `nodes` was given for a network whose cells are not random.
Status RefuseNodes(const ZooOptions& options);
// The same for `width` as well, of a network whose sizes are all published.
Status RefuseSizes(const ZooOptions& options);

}  // namespace neap::zoo
