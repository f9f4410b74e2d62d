// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/recompute.h"

#include <algorithm>
#include <set>
#include <utility>

#include "neap/transform/stream/block_schedule.h"

namespace neap::stream {
namespace {

constexpr std::size_t kMaxBody = 12;

// The nodes that compute `image` from one other image, chosen so that the fewest bytes stay live
// until `product`; empty: no other image needs fewer bytes than `image` itself.
std::vector<int> BodyOf(const Network& network, int image, int product) {
  std::set<int> wanted = {image};
  std::vector<int> body;
  std::vector<int> best;
  std::int64_t least = network.image(image).shape.bytes();
  for (int n = network.image(image).producer; n >= 0 && body.size() < kMaxBody; --n) {
    const Node& node = network.node(n);
    if (node.outputs.size() != 1 || wanted.count(node.outputs[0]) == 0) continue;
    const bool gated = std::any_of(node.reads.begin(), node.reads.end(),
                                   [](const Read& read) { return read.rows.scale == 0; });
    const bool apart = node.output.has_value();  // its operator is more than this node
    if (!node.streams || node.sums || node.in_order || gated || apart ||
        network.image(node.outputs[0]).is_output)
      break;
    wanted.erase(node.outputs[0]);
    for (const Read& read : node.reads) wanted.insert(read.image);
    body.push_back(n);
    if (wanted.size() != 1) continue;
    const Image& source = network.image(*wanted.begin());
    const std::int64_t bytes = source.last_use >= product ? 0 : source.shape.bytes();
    if (bytes >= least) continue;
    least = bytes;
    best = body;
  }
  std::reverse(best.begin(), best.end());
  return best;
}

}  // namespace

std::vector<Gate> FindGates(const Network& network) {
  std::vector<Gate> gates;
  for (std::size_t n = 0; n < network.nodes.size(); ++n) {
    const Node& node = network.nodes[n];
    const int product = static_cast<int>(n);
    const bool gated = std::any_of(node.reads.begin(), node.reads.end(),
                                   [](const Read& read) { return read.rows.scale == 0; });
    if (!node.streams || !gated) continue;
    for (const Read& read : node.reads) {
      const Image& image = network.image(read.image);
      const bool used_up = image.last_use == product && image.producer >= 0;
      if (read.rows.scale == 0 || !used_up || image.readers.size() < 2) continue;
      Gate gate{product, BodyOf(network, read.image, product), 0};
      if (gate.body.empty()) continue;
      for (const int live : LiveAt(network, product)) {
        gate.held_bytes += network.image(live).shape.bytes();
      }
      gates.push_back(std::move(gate));
      break;
    }
  }
  std::stable_sort(gates.begin(), gates.end(),
                   [](const Gate& a, const Gate& b) { return a.held_bytes > b.held_bytes; });
  return gates;
}

std::vector<graph::OpId> OrderWithRecomputedBodies(const Network& network,
                                                   const std::vector<Gate>& gates) {
  std::vector<graph::OpId> order;
  for (std::size_t n = 0; n < network.nodes.size(); ++n) {
    for (const Gate& gate : gates) {
      if (gate.product != static_cast<int>(n)) continue;
      for (const int again : gate.body) order.push_back(network.node(again).op);
    }
    // The nodes of the outputs of one operator are neighbours.
    if (n > 0 && network.nodes[n].output && network.nodes[n - 1].op == network.nodes[n].op)
      continue;
    order.push_back(network.nodes[n].op);
  }
  return order;
}

}  // namespace neap::stream
