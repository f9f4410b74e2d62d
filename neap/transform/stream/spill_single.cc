// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/spill_single.h"

#include <algorithm>
#include <utility>

namespace neap::stream {
namespace {

constexpr std::size_t kMaxHomes = 5;  // of a node, all combinations of which are ways

// Images of a node whose homes are free.
struct FreeHomes {
  std::vector<int> in;
  std::vector<int> out;
};

FreeHomes FreeHomesOf(const Network& network, const Node& node) {
  const auto is_free = [&](int index) {
    const Image& image = network.image(index);
    return !image.is_input && !image.is_output && !image.readers.empty();
  };
  FreeHomes homes;
  for (const Read& read : node.reads) {
    if (is_free(read.image)) homes.in.push_back(read.image);
  }
  for (const int image : node.outputs) {
    if (is_free(image)) homes.out.push_back(image);
  }
  std::sort(homes.in.begin(), homes.in.end());
  std::sort(homes.out.begin(), homes.out.end());
  return homes;
}

bool Contains(const std::vector<int>& images, int image) {
  return std::binary_search(images.begin(), images.end(), image);
}

Way WayOf(const Network& network, int n, const FreeHomes& homes, std::uint32_t bits) {
  Way way;
  way.choice.first = n;
  way.choice.last = n + 1;
  way.choice.whole = true;
  for (std::size_t i = 0; i < homes.in.size() + homes.out.size(); ++i) {
    if ((bits >> i & 1) == 0) continue;
    const bool is_in = i < homes.in.size();
    (is_in ? way.fast_in : way.fast_out)
        .push_back(is_in ? homes.in[i] : homes.out[i - homes.in.size()]);
  }
  const Node& node = network.node(n);
  for (const Read& read : node.reads) {
    const std::int64_t bytes = network.image(read.image).shape.bytes();
    way.bytes += bytes;
    way.traffic += Contains(way.fast_in, read.image) ? 0 : bytes;
  }
  for (const int image : node.outputs) {
    const std::int64_t bytes = network.image(image).shape.bytes();
    way.bytes += bytes;
    way.traffic += network.image(image).slow && !Contains(way.fast_out, image) ? bytes : 0;
  }
  way.cycles = WholeCycles(network, node) + CopyCycles(network, way.traffic);
  return way;
}

}  // namespace

std::vector<std::vector<Way>> SingleWays(const Network& network) {
  std::vector<std::vector<Way>> ways(network.nodes.size());
  for (std::size_t n = 0; n < ways.size(); ++n) {
    const FreeHomes homes = FreeHomesOf(network, network.nodes[n]);
    const std::size_t count = homes.in.size() + homes.out.size();
    if (count > 31) continue;
    const std::uint32_t all = (std::uint32_t{1} << count) - 1;
    const std::uint32_t step = count > kMaxHomes ? all : 1;  // all fast, or none
    for (std::uint64_t bits = 0; bits <= all; bits += step) {
      ways[n].push_back(
          WayOf(network, static_cast<int>(n), homes, static_cast<std::uint32_t>(bits)));
    }
  }
  return ways;
}

Assembled Stacked(const Network& network, const std::vector<const Way*>& path) {
  Assembled result;
  plan::Stream& stream = result.stream;
  std::vector<std::pair<int, std::int64_t>> held;  // images and offsets, by offset
  for (const Way* way : path) {
    const int n = way->choice.first;
    const Node& node = network.node(n);
    plan::StreamSegment segment;
    segment.whole = true;
    segment.ops.push_back({node.op, {}, false, {}, {}, node.output});
    std::int64_t top = 0;
    const auto put = [&](int image) {
      segment.areas.push_back({network.image(image).tensor, {{top, network.Pixels(image)}}});
      top += network.image(image).shape.bytes();
    };
    for (auto& [image, offset] : held) {
      if (offset != top) {
        segment.moves.push_back({network.image(image).tensor, offset, top});
        stream.cycles += CopyCycles(network, network.image(image).shape.bytes());
      }
      offset = top;
      put(image);
    }
    for (const Read& read : node.reads) {
      if (!Contains(way->fast_in, read.image)) put(read.image);
    }
    for (const int image : node.outputs) {
      if (Contains(way->fast_out, image)) held.emplace_back(image, top);
      put(image);
    }
    result.arena_bytes = std::max(result.arena_bytes, top);
    std::erase_if(held, [&](const auto& one) { return network.image(one.first).last_use <= n; });
    const std::int64_t pixels = PixelsOf(network, node);
    stream.macs += pixels * node.macs_per_pixel;
    stream.cycles += way->cycles;
    stream.segments.push_back(std::move(segment));
  }
  stream.cycles += ConversionCycles(network);
  stream.input = plan::StreamInput::kSlow;
  stream.layerwise_macs = network.macs;
  stream.layerwise_cycles = network.cycles;
  return result;
}

}  // namespace neap::stream
