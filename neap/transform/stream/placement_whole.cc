// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/placement.h"

#include <algorithm>

namespace neap::stream {
namespace {

bool IsReadBy(const Node& op, int image) {
  return std::any_of(op.reads.begin(), op.reads.end(),
                     [&](const Read& read) { return read.image == image; });
}

// An input whose rows come one by one is in the arena from the segment of its first consumer on.
bool IsElsewhere(const Image& value, int node, plan::StreamInput input) {
  if (!value.is_input) return false;
  if (input == plan::StreamInput::kExternal) return true;
  return input == plan::StreamInput::kRows && (value.readers.empty() || value.readers[0] > node);
}

}  // namespace

SegmentPlacement PlaceWhole(const Network& network, int node, plan::StreamInput input) {
  SegmentPlacement placement;
  const Node& op = network.node(node);
  int over = -1;  // the input that its output may take the place of
  if (op.whole_in_place && op.outputs.size() == 1 && !op.reads.empty()) {
    const Image& in = network.image(op.reads[0].image);
    const bool external = in.is_input && input != plan::StreamInput::kResident;
    const Image& out = network.image(op.outputs[0]);
    const bool fits = (in.slow || (in.last_use == node && !external)) && op.reads.size() == 1 &&
                      in.type == out.type && in.shape.bytes() == out.shape.bytes();
    if (fits) over = op.reads[0].image;
  }
  std::int64_t top = 0;
  const auto plane = [&](int image) {
    Placed placed{image, {{top, network.Pixels(image)}}};
    top += network.image(image).shape.bytes();
    return placed;
  };
  for (const int image : op.outputs) placement.lanes.push_back(plane(image));
  std::vector<int> held;
  for (const int image : LiveAt(network, node)) {
    if (IsElsewhere(network.image(image), node, input)) continue;
    const bool slow = network.image(image).slow;
    if (slow && !IsReadBy(op, image)) continue;
    if (image == over) {
      placement.planes.push_back({image, {{0, network.Pixels(image)}}});
    } else if (slow || network.image(image).last_use == node) {
      placement.planes.push_back(plane(image));
    } else {
      held.push_back(image);
    }
  }
  placement.dying = placement.planes.size();
  for (const int image : held) placement.planes.push_back(plane(image));
  placement.bytes = top;
  return placement;
}

SegmentPlacement PlaceChannels(const Network& network, int node, plan::StreamInput input) {
  SegmentPlacement placement;
  const Node& op = network.node(node);
  if (!op.by_channel || op.reads.size() != 1) return placement;
  const Image& in = network.image(op.reads[0].image);
  if (in.slow || network.image(op.outputs[0]).slow) return placement;
  if (in.last_use != node || (in.is_input && input != plan::StreamInput::kResident))
    return placement;
  const std::int64_t plane_bytes = in.shape.height * in.shape.width * (graph::BitsOf(in.type) / 8);
  const std::vector<plan::StreamRing> place = {{plane_bytes, network.Pixels(op.outputs[0])}};
  placement.lanes.push_back({op.outputs[0], place});
  placement.planes.push_back({op.reads[0].image, place});
  placement.dying = 1;
  placement.bytes = plane_bytes + in.shape.bytes();
  for (const int image : LiveAt(network, node)) {
    const Image& value = network.image(image);
    const bool elsewhere = IsElsewhere(value, node, input);
    if (image == op.reads[0].image || elsewhere || value.slow) continue;
    placement.planes.push_back({image, {{placement.bytes, network.Pixels(image)}}});
    placement.bytes += value.shape.bytes();
  }
  return placement;
}

}  // namespace neap::stream
