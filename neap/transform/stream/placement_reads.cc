// SPDX-License-Identifier: Apache-2.0
#include "neap/transform/stream/placement_reads.h"

namespace neap::stream {
namespace {

constexpr std::int64_t kMoreRings = 3;  // than rows of a block, that are tried
constexpr std::int64_t kMostApart = 4;  // columns with rings of their own

}  // namespace

using plan::StreamRange;

Readers::Readers(const Network& network, const BlockSchedule& schedule)
    : network_(network), schedule_(schedule), uses_(network.images.size()) {
  for (std::size_t l = 0; l < schedule.lanes.size(); ++l) {
    if (schedule.lanes[l].node < 0) continue;
    const Node& node = network.node(schedule.lanes[l].node);
    for (const Read& read : node.reads) {
      uses_[static_cast<std::size_t>(read.image)].push_back(
          {l, RowsOf(node, read), ColumnsOf(node, read)});
    }
  }
}

Readers::ColumnUse Readers::ColumnUseOf(std::size_t l, const ColumnsOfRing& of) const {
  const Lane& from = lane(l);
  const std::int64_t width = ImageOf(l).shape.width;
  std::vector<std::int64_t> last(static_cast<std::size_t>(width), -1);
  for (const Use& use : Of(from.image)) {
    const auto& columns = lane(use.lane).columns;
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (columns[j].empty()) continue;
      const StreamRange need = use.columns.Need(columns[j].first, columns[j].last, width);
      for (std::int64_t x = need.first; x < need.last; ++x) {
        auto& step = last[static_cast<std::size_t>(x)];
        step = std::max(step, static_cast<std::int64_t>(j));
      }
    }
  }
  ColumnUse result;
  for (std::size_t j = 0; j < from.columns.size(); ++j) {
    const StreamRange& box = from.columns[j];
    if (box.empty()) continue;
    for (std::int64_t x = box.first; x < box.last; ++x) {
      const std::int64_t step = last[static_cast<std::size_t>(x)];
      if (step < 0 || !of.Has(x)) continue;
      const std::int64_t done = of.Among(from.columns[static_cast<std::size_t>(step)].last);
      result.max_pixels = std::max(result.max_pixels, done - x / of.apart);
      result.first_read = std::min(result.first_read, x / of.apart);
      result.in_block = result.in_block && step == static_cast<std::int64_t>(j);
    }
    result.max_pixels = std::max(result.max_pixels, of.Among(box.last) - of.Among(box.first));
  }
  return result;
}

std::vector<Use> Readers::ReadersOf(std::size_t l, const ColumnsOfRing& of) const {
  const std::int64_t width = ImageOf(l).shape.width;
  std::vector<Use> readers;
  for (const Use& use : Of(lane(l).image)) {
    const auto& columns = lane(use.lane).columns;
    // A box needs all columns from its first to its last one.
    const bool reads = std::any_of(columns.begin(), columns.end(), [&](const StreamRange& range) {
      if (range.empty()) return false;
      const StreamRange need = use.columns.Need(range.first, range.last, width);
      return !need.empty() && of.Among(need.last) > of.Among(need.first);
    });
    if (reads) readers.push_back(use);
  }
  return readers;
}

std::int64_t Readers::ColumnsApart(std::size_t l) const {
  if (!network_.column_rings) return 1;
  for (const Use& use : Of(lane(l).image)) {
    const AxisMap& map = use.columns;
    const bool leaves_out = !map.listed && map.parts == 1 && map.extent < map.scale;
    if (leaves_out && map.scale <= std::min(kMostApart, ImageOf(l).shape.width)) return map.scale;
  }
  return 1;
}

Kept Readers::Measure(std::size_t l, std::size_t first, std::size_t last) const {
  std::int64_t count = 1;  // rows of one block are in different rings
  for (std::size_t i = first; i < last; ++i) count = std::max(count, lane(l).rows[i].size());
  Kept best = MeasureIn(count, l, first, last, 1);
  const std::int64_t most = std::min(count + kMoreRings, ImageOf(l).shape.height);
  const auto pixels_of = [](const Kept& kept) {
    std::int64_t pixels = 0;
    for (const plan::StreamRing& ring : kept.rings) pixels += ring.pixels;
    return pixels;
  };
  const auto try_all = [&](std::int64_t from, std::int64_t apart) {
    for (std::int64_t more = from; more <= most; ++more) {
      Kept other = MeasureIn(more, l, first, last, apart);
      if (pixels_of(other) < pixels_of(best)) best = std::move(other);
    }
  };
  if (LeavesRowsOut(lane(l).image, first, last)) try_all(count + 1, 1);
  const std::int64_t apart = ColumnsApart(l);
  if (apart > 1) try_all(count, apart);
  return best;
}

bool Readers::LeavesRowsOut(int image, std::size_t first, std::size_t last) const {
  for (std::size_t i = first; Of(image).size() > 1 && i < last; ++i) {
    std::int64_t end = -1;
    for (const StreamRange& need : ReadsOf(image, i)) {
      if (end >= 0 && need.first > end) return true;
      end = std::max(end, need.last);
    }
  }
  return false;
}

Kept Readers::MeasureIn(std::int64_t count, std::size_t l, std::size_t first, std::size_t last,
                        std::int64_t apart) const {
  Kept kept;
  kept.columns = apart;
  kept.last_lane = l;
  for (const Use& use : Of(lane(l).image)) kept.last_lane = std::max(kept.last_lane, use.lane);
  const auto rings = static_cast<std::size_t>(count * apart);
  kept.rings.resize(rings);
  kept.in_block.resize(rings);
  for (std::int64_t x = 0; x < apart; ++x) AddRings(count, l, first, last, {apart, x}, &kept);
  return kept;
}

void Readers::AddRings(std::int64_t count, std::size_t l, std::size_t first, std::size_t last,
                       const ColumnsOfRing& of, Kept* kept) const {
  const Lane& from = lane(l);
  const plan::StreamImage& shape = ImageOf(l).shape;
  const ColumnUse columns = ColumnUseOf(l, of);
  const std::vector<Use> some = of.apart > 1 ? ReadersOf(l, of) : std::vector<Use>();
  const std::vector<Use>& readers = of.apart > 1 ? some : Of(from.image);
  const auto rings = static_cast<std::size_t>(count);
  // The end of a computed row; the last columns of one in slow memory may not be read.
  std::int64_t width = 0;
  for (const StreamRange& range : from.columns) width = std::max(width, of.Among(range.last));
  std::vector<std::int64_t> pixels(rings, columns.max_pixels);
  std::vector<bool> in_block(rings, columns.in_block);
  std::vector<std::int64_t> latest(rings, -1);  // row that the ring has computed last
  std::vector<std::size_t> latest_step(rings, 0);
  std::vector<std::size_t> computed(static_cast<std::size_t>(shape.height), 0);
  for (std::size_t i = first; i < last; ++i) {
    for (std::int64_t y = from.rows[i].first; y < from.rows[i].last; ++y) {
      const auto r = static_cast<std::size_t>(y % count);
      latest[r] = y;
      latest_step[r] = i;
      computed[static_cast<std::size_t>(y)] = i;
    }
    std::int64_t seen = 0;  // rows before
    for (const StreamRange& need : ReadsOf(readers, from.image, i)) {
      for (std::int64_t y = std::max(seen, need.first); y < need.last; ++y) {
        const auto r = static_cast<std::size_t>(y % count);
        if (latest[r] < 0) continue;
        const std::int64_t rows_between = (latest[r] / count - y / count) * of.PerRow(shape.width);
        const bool partial = latest_step[r] == i;
        const std::int64_t behind =
            partial ? columns.max_pixels : width - std::min(columns.first_read, width - 1);
        pixels[r] = std::max(pixels[r], rows_between + behind);
        if (computed[static_cast<std::size_t>(y)] != i) in_block[r] = false;
      }
      seen = std::max(seen, need.last);
    }
  }
  const std::int64_t most = shape.height * shape.width;
  for (std::size_t r = 0; r < rings; ++r) {
    const auto at = r * static_cast<std::size_t>(of.apart) + static_cast<std::size_t>(of.first);
    kept->rings[at].pixels = std::clamp<std::int64_t>(pixels[r], 1, most);
    kept->in_block[at] = in_block[r];
  }
}

std::vector<StreamRange> Readers::ReadsOf(const std::vector<Use>& uses, int image,
                                          std::size_t i) const {
  std::vector<StreamRange> reads;
  for (const Use& use : uses) {
    const StreamRange& rows = lane(use.lane).rows[i];
    if (rows.empty()) continue;
    const StreamRange need =
        use.rows.Need(rows.first, rows.last, network_.image(image).shape.height);
    if (!need.empty()) reads.push_back(need);
  }
  std::sort(reads.begin(), reads.end(),
            [](const StreamRange& a, const StreamRange& b) { return a.first < b.first; });
  return reads;
}

StreamRange Readers::RowsRead(int image, std::int64_t height, std::size_t i) const {
  StreamRange hull{height, 0};
  for (const StreamRange& need : ReadsOf(image, i)) {
    hull.first = std::min(hull.first, need.first);
    hull.last = std::max(hull.last, need.last);
  }
  return hull;
}

Dying Readers::DyingOf(int image) const {
  const plan::StreamImage& shape = network_.image(image).shape;
  Dying dying;
  dying.width = shape.width;
  dying.row.assign(schedule_.row_steps, kNever);
  dying.future.assign(schedule_.row_steps + 1, kNever);
  dying.column.assign(schedule_.column_steps, kNever);
  for (const Use& use : Of(image)) {
    dying.last_lane = std::max(dying.last_lane, use.lane);
    for (std::size_t j = 0; j < schedule_.column_steps; ++j) {
      const StreamRange& columns = lane(use.lane).columns[j];
      if (columns.empty()) continue;
      const StreamRange need = use.columns.Need(columns.first, columns.last, shape.width);
      if (!need.empty()) dying.column[j] = std::min(dying.column[j], need.first);
    }
  }
  for (std::size_t j = schedule_.column_steps; j-- > 1;) {
    dying.column[j - 1] = std::min(dying.column[j - 1], dying.column[j]);
  }
  for (std::size_t i = schedule_.row_steps; i-- > 0;) {
    const StreamRange need = RowsRead(image, shape.height, i);
    if (!need.empty()) dying.row[i] = need.first;
    dying.future[i] = std::min(dying.future[i + 1], dying.row[i]);
  }
  return dying;
}

}  // namespace neap::stream
