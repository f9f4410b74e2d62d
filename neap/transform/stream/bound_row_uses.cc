// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/bound_row_uses.h"

#include <algorithm>
#include <utility>

#include "neap/transform/stream/bound_uses.h"

namespace neap::stream {

using plan::StreamInput;

namespace {

struct RowsAxis {
  RowsCounts high;
  RowsCounts last;
};

RowsAxis AxisOf(const AxisMap& map, std::int64_t from, std::int64_t to) {
  RowsAxis use;
  use.high = {0};
  use.last.assign(Slot(from), -1);
  for (std::int64_t y = 0; y < to; ++y) {
    const plan::StreamRange need = map.Need(y, y + 1, from);
    use.high.push_back(need.empty() ? use.high.back() : std::max(use.high.back(), need.last));
    for (std::int64_t i = need.first; i < need.last; ++i) use.last[Slot(i)] = y;
  }
  return use;
}

// Of an operator that needs all of its input at once.
RowsAxis AllOf(std::int64_t from, std::int64_t to) {
  RowsAxis use = {RowsCounts(Slot(to) + 1, from), RowsCounts(Slot(from), 0)};
  use.high[0] = 0;
  return use;
}

// Sums are complete at once, too.
bool Streams(const Network& network, int node) {
  return network.node(node).streams && !network.node(node).sums;
}

}  // namespace

RowsNetwork::RowsNetwork(const Network& network, StreamInput input, const RowsCounts& heights)
    : images(network.images.size()) {
  for (std::size_t i = 0; i < images.size(); ++i) AddImage(network, input, i, heights[i]);
  for (const Node& node : network.nodes) {
    AddUses(network, node);
    for (const int output : node.outputs) order.push_back(output);
  }
  for (RowsImage& image : images) {
    std::int64_t read = 0;
    for (const std::size_t s : image.sources) read += BytesRead(uses[s]);
    image.frees = image.height * image.width * image.bytes <= read;
  }
}

void RowsNetwork::AddImage(const Network& network, StreamInput input, std::size_t i,
                           std::int64_t height) {
  const Image& image = network.images[i];
  RowsImage& own = images[i];
  own.whole = image.producer >= 0 && !Streams(network, image.producer);
  own.height = image.shape.height;
  own.width = image.shape.width;
  own.bytes = image.shape.pixel_bytes;
  own.block_rows = own.whole ? own.height : std::clamp<std::int64_t>(height, 1, own.height);
  const bool given =
      image.is_input && (input == StreamInput::kResident || input == StreamInput::kRows);
  own.absent = image.producer < 0 && !given;
  own.complete = given && input == StreamInput::kResident;
  own.fed = given && input == StreamInput::kRows;
  own.kept = image.is_output;
}

void RowsNetwork::AddUses(const Network& network, const Node& node) {
  for (const int output : node.outputs) {
    for (const Read& read : node.reads) {
      if (images[Slot(read.image)].absent) continue;
      const plan::StreamImage& shape = network.image(read.image).shape;
      const plan::StreamImage& out = network.image(output).shape;
      RowsUse use;
      use.from = read.image;
      use.to = output;
      use.sums = node.sums;
      if (node.sums) images[Slot(output)].sum_bytes = out.bytes() * node.sum_bytes;
      RowsAxis rows = AllOf(shape.height, out.height);
      RowsAxis columns = AllOf(shape.width, out.width);
      if (node.streams && !node.sums) {
        rows = AxisOf(read.rows, shape.height, out.height);
        columns = AxisOf(read.columns, shape.width, out.width);
      }
      use.high = std::move(rows.high);
      use.right = std::move(columns.high);
      use.last_y = std::move(rows.last);
      use.last_x = std::move(columns.last);
      use.in_place = node.in_place >= 0 && shape.height == out.height && shape.width == out.width &&
                     shape.pixel_bytes == out.pixel_bytes;
      images[Slot(read.image)].readers.push_back(uses.size());
      images[Slot(output)].sources.push_back(uses.size());
      uses.push_back(std::move(use));
    }
  }
}

std::int64_t RowsNetwork::BytesRead(const RowsUse& use) const {
  const auto count = [](const RowsCounts& last) {
    return std::count_if(last.begin(), last.end(), [](std::int64_t at) { return at >= 0; });
  };
  return count(use.last_y) * count(use.last_x) * images[Slot(use.from)].bytes;
}

}  // namespace neap::stream
