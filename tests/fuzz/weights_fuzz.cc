// SPDX-License-Identifier: Apache-2.0
//
// Files of weights: any bytes are refused in one line, or read, written back as the same bytes, and
// give an order of every node.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "neap/learn/network.h"
#include "neap/learn/sampler.h"
#include "tests/fuzz/require.h"

using neap::fuzz::Require;

namespace {

constexpr std::size_t kChecksumAt = 40;
constexpr std::size_t kHeaderBytes = 48;

void Try(std::span<const std::byte> bytes) {
  const auto model = neap::learn::ParseModel(bytes);
  if (!model) {
    const std::string message = model.error().ToString();
    Require(!message.empty() && message.find('\n') == std::string::npos, "one line of error");
    return;
  }
  const auto written = neap::learn::SerializeModel(*model);
  Require(std::equal(written.begin(), written.end(), bytes.begin(), bytes.end()),
          "what was read is written back");
  neap::Random random(bytes.size());
  neap::learn::SamplerOptions sampler;
  sampler.nodes = 6;
  const auto dag = neap::learn::Sample(sampler, &random);
  auto order = neap::learn::GreedyNodes(neap::learn::Network(*model), dag);
  std::sort(order.begin(), order.end());
  Require(order.size() == 6, "an order of all nodes");
  for (int node = 0; node < 6; ++node) {
    Require(order[static_cast<std::size_t>(node)] == node, "every node once");
  }
}

// With a corrected checksum, so that the code after its check is reached.
std::vector<std::byte> Sealed(std::span<const std::byte> bytes) {
  std::vector<std::byte> sealed(bytes.begin(), bytes.end());
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    if (i >= kChecksumAt && i < kHeaderBytes) continue;
    hash = (hash ^ std::to_integer<std::uint64_t>(sealed[i])) * 0x100000001b3U;
  }
  for (std::size_t i = 0; i < 8; ++i) {
    sealed[kChecksumAt + i] = static_cast<std::byte>((hash >> (8 * i)) & 0xffU);
  }
  return sealed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  Try(bytes);
  if (size >= kHeaderBytes) Try(Sealed(bytes));
  return 0;
}
