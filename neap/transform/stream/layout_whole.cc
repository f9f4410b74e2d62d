// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/layout.h"

namespace neap::stream {

Layout MakeWholeLayout(const Network& network, int node, plan::StreamInput input) {
  Layout layout;
  const Node& op = network.node(node);
  int over = -1;  // the input that its output may take the place of
  if (op.whole_in_place && op.outputs.size() == 1 && !op.reads.empty()) {
    const Image& in = network.image(op.reads[0].image);
    const bool external = in.is_input && input != plan::StreamInput::kResident;
    const Image& out = network.image(op.outputs[0]);
    const bool fits = in.last_use == node && !external && op.reads.size() == 1 &&
                      in.type == out.type && in.shape.bytes() == out.shape.bytes();
    if (fits) over = op.reads[0].image;
  }
  std::int64_t top = 0;
  const auto plane = [&](int image) {
    Placed placed{image, {{top, network.Pixels(image)}}};
    top += network.image(image).shape.bytes();
    return placed;
  };
  for (const int image : op.outputs) layout.lanes.push_back(plane(image));
  std::vector<int> held;
  for (const int image : LiveAt(network, node)) {
    if (network.image(image).is_input && input == plan::StreamInput::kExternal) continue;
    if (image == over) {
      layout.planes.push_back({image, {{0, network.Pixels(image)}}});
    } else if (network.image(image).last_use == node) {
      layout.planes.push_back(plane(image));
    } else {
      held.push_back(image);
    }
  }
  layout.dying = layout.planes.size();
  for (const int image : held) layout.planes.push_back(plane(image));
  layout.bytes = top;
  return layout;
}

Layout MakeChannelLayout(const Network& network, int node, plan::StreamInput input) {
  Layout layout;
  const Node& op = network.node(node);
  if (!op.by_channel || op.reads.size() != 1) return layout;
  const Image& in = network.image(op.reads[0].image);
  if (in.last_use != node || (in.is_input && input != plan::StreamInput::kResident)) return layout;
  const std::int64_t plane_bytes = in.shape.height * in.shape.width * (graph::BitsOf(in.type) / 8);
  const std::vector<plan::StreamRing> place = {{plane_bytes, network.Pixels(op.outputs[0])}};
  layout.lanes.push_back({op.outputs[0], place});
  layout.planes.push_back({op.reads[0].image, place});
  layout.dying = 1;
  layout.bytes = plane_bytes + in.shape.bytes();
  for (const int image : LiveAt(network, node)) {
    const Image& value = network.image(image);
    const bool external = value.is_input && input == plan::StreamInput::kExternal;
    if (image == op.reads[0].image || external) continue;
    layout.planes.push_back({image, {{layout.bytes, network.Pixels(image)}}});
    layout.bytes += value.shape.bytes();
  }
  return layout;
}

}  // namespace neap::stream
