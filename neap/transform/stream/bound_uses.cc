// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/bound_uses.h"

#include <algorithm>
#include <limits>

namespace neap::stream {
namespace {

struct AxisUse {
  std::vector<std::int64_t> high;
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> read;
};

AxisUse UseOf(const AxisMap& map, std::int64_t to, std::int64_t from) {
  AxisUse use;
  use.high.assign(Slot(to) + 1, 0);
  use.low.assign(Slot(to) + 1, from);
  std::vector<char> read(Slot(from), 0);
  for (std::int64_t y = 0; y < to; ++y) {
    const plan::StreamRange need = map.Need(y, y + 1, from);
    use.high[Slot(y) + 1] = use.high[Slot(y)];
    if (need.empty()) continue;
    use.high[Slot(y) + 1] = std::max(use.high[Slot(y)], need.last);
    use.low[Slot(y)] = need.first;
    for (std::int64_t i = need.first; i < need.last; ++i) read[Slot(i)] = 1;
  }
  for (std::int64_t y = to; y-- > 0;)
    use.low[Slot(y)] = std::min(use.low[Slot(y)], use.low[Slot(y) + 1]);
  use.read.assign(1, 0);
  for (const char is_read : read) use.read.push_back(use.read.back() + (is_read != 0 ? 1 : 0));
  return use;
}

bool CoversAxis(const std::vector<std::int64_t>& all, const std::vector<std::int64_t>& some) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (some[i] != some[i - 1] && all[i] == all[i - 1]) return false;
  }
  return true;
}

}  // namespace

std::int64_t PixelSet::Among(std::int64_t count) const {
  if (rows.empty()) return 0;
  const auto width = static_cast<std::int64_t>(columns.size()) - 1;
  const std::int64_t y = count / width;
  const std::int64_t whole = rows[Slot(y)] * columns.back();
  if (count % width == 0) return whole;
  return whole + (rows[Slot(y) + 1] - rows[Slot(y)]) * columns[Slot(count % width)];
}

std::int64_t PixelSet::Before(std::int64_t low, std::int64_t high, std::int64_t column) const {
  if (rows.empty()) return 0;
  return rows[Slot(low)] * columns.back() +
         (rows[Slot(high)] - rows[Slot(low)]) * columns[Slot(column)];
}

bool PixelSet::Covers(const PixelSet& other) const {
  return other.All() == 0 || (CoversAxis(rows, other.rows) && CoversAxis(columns, other.columns));
}

// Rows [0, first) are complete and some columns of the rows [first, last), of which the last pixels
// may be in a box that is computed.
std::int64_t PixelLayer::Among(std::int64_t count, std::int64_t block_rows) const {
  const auto height = static_cast<std::int64_t>(set.rows.size()) - 1;
  const auto width = static_cast<std::int64_t>(set.columns.size()) - 1;
  if (block_rows <= 1 || All() == height * width) return set.Among(count) - less.Among(count);
  const std::int64_t y = count / width;
  std::int64_t least = All();
  if (y >= height) return least;
  for (std::int64_t first = std::max<std::int64_t>(0, y - block_rows + 1); first <= y; ++first) {
    for (std::int64_t last = y + 1; last <= std::min(height, first + block_rows); ++last) {
      least = std::min(least, Before(first, last, (count - first * width) / (last - first)));
    }
  }
  return least;
}

PixelUse::PixelUse(const Network& network, const Node& node, const Read& reads,
                   std::int64_t block_rows, bool from_in_rows)
    : from(reads.image), to(node.outputs[0]), sums(node.sums), from_in_rows_(from_in_rows) {
  const Image& in = network.image(from);
  const Image& out = network.image(to);
  from_height_ = in.shape.height;
  from_width_ = in.shape.width;
  to_height_ = out.shape.height;
  to_width_ = out.shape.width;
  block_rows_ = std::min(block_rows, to_height_);
  const bool whole = block_rows_ >= to_height_;
  in_place = node.in_place >= 0 && in.shape.height == to_height_ && in.shape.width == to_width_ &&
             in.shape.pixel_bytes == out.shape.pixel_bytes;
  if (!node.streams) {
    at_once_ = true;
    in_place = in_place || node.whole_in_place || node.by_channel;
    high_ = low_ = right_ = left_ = {};
    for (std::int64_t y = 0; y <= from_height_; ++y) read.rows.push_back(y);
    for (std::int64_t x = 0; x <= from_width_; ++x) read.columns.push_back(x);
    return;
  }
  const bool by_parts = whole && (node.by_channel || (node.whole_in_place && !in_place));
  vague_ = block_rows_ > kMaxBlockRows || by_parts;
  in_place = in_place || by_parts;
  AxisUse rows = UseOf(reads.rows, to_height_, from_height_);
  AxisUse columns = UseOf(reads.columns, to_width_, from_width_);
  high_ = std::move(rows.high);
  low_ = std::move(rows.low);
  right_ = std::move(columns.high);
  left_ = std::move(columns.low);
  read = {std::move(rows.read), std::move(columns.read)};
}

// Blocks of rows [first, last) that compute row y.
template <typename At>
void PixelUse::ForBlocks(std::int64_t y, const At& at) const {
  for (std::int64_t first = std::max<std::int64_t>(0, y - block_rows_ + 1); first <= y; ++first) {
    for (std::int64_t last = y + 1; last <= std::min(to_height_, first + block_rows_); ++last) {
      at(first, last);
    }
  }
}

// When the rows before `first` are complete and `column` columns of the rows [first, last).
std::int64_t PixelUse::NeededBy(std::int64_t first, std::int64_t last, std::int64_t column) const {
  const std::int64_t before = high_[Slot(first)];
  const std::int64_t now = high_[Slot(last)];
  const std::int64_t all = right_.back();
  const std::int64_t some = right_[Slot(column)];
  if (!from_in_rows_) return before * all + (now - before) * some;
  std::int64_t needed = before > 0 ? (before - 1) * from_width_ + all : 0;
  if (now > before && some > 0) needed = std::max(needed, (now - 1) * from_width_ + some);
  return needed;
}

std::int64_t PixelUse::Needed(std::int64_t count, bool reached) const {
  if (count <= 0) return 0;
  if (at_once_) return from_height_ * from_width_;
  if (vague_ && count < ToPixels()) return 0;
  const std::int64_t y = (count - 1) / to_width_;
  if (vague_) return NeededBy(to_height_ - 1, to_height_, to_width_);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  ForBlocks(y, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t rows = last - first;
    const std::int64_t more = count - first * to_width_;
    least =
        std::min(least, NeededBy(first, last, reached ? (more + rows - 1) / rows : more / rows));
  });
  return least;
}

std::int64_t PixelUse::Dead(const PixelLayer& layer, std::int64_t count, bool begun) const {
  if (count >= ToPixels()) return layer.All();
  if (at_once_) return 0;
  if (vague_) return count > 0 ? layer.All() : layer.Before(low_[0], low_[0], 0);
  std::int64_t most = 0;
  ForBlocks(count / to_width_, [&](std::int64_t first, std::int64_t last) {
    const std::int64_t rows = last - first;
    const std::int64_t more = count - first * to_width_;
    const std::int64_t column = begun ? more / rows : (more + rows - 1) / rows;
    most = std::max(most, layer.Before(low_[Slot(first)], low_[Slot(last)], left_[Slot(column)]));
  });
  return most;
}

}  // namespace neap::stream
