// SPDX-License-Identifier: Apache-2.0
#include "neap/stream/layout.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace neap::stream {
namespace {

using plan::StreamRange;
using plan::StreamRing;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

struct Use {
  std::size_t lane;  // of the reader
  AxisMap rows;
  AxisMap columns;
};

// What is known of one tensor that is kept in part.
struct Kept {
  std::vector<StreamRing> rings;
  std::vector<bool> in_block;  // the ring is dead when the block ends
  std::size_t last_lane = 0;   // the last reader
};

class LayoutMaker {
 public:
  LayoutMaker(const Network& network, const Schedule& schedule, bool reversed)
      : network_(network), schedule_(schedule), reversed_(reversed), uses_(network.images.size()) {}

  Layout Make() {
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (schedule_.lanes[l].node < 0) continue;
      for (const Read& read : network_.node(schedule_.lanes[l].node).reads) {
        const Node& node = network_.node(schedule_.lanes[l].node);
        uses_[static_cast<std::size_t>(read.image)].push_back(
            {l, RowsOf(node, read), ColumnsOf(node, read)});
      }
    }
    kept_.resize(Lanes());
    later_.resize(Lanes());
    alias_.assign(Lanes(), -1);
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (IsDriver(l)) continue;
      const bool changes = lane(l).recomputed && schedule_.switch_row > 0 &&
                           schedule_.switch_row < schedule_.row_steps;
      kept_[l] = Measure(l, 0, changes ? schedule_.switch_row : schedule_.row_steps);
      if (changes) later_[l] = Measure(l, schedule_.switch_row, schedule_.row_steps);
    }
    PlaceInBlock();
    FindRings();
    Place(0);
    // What dies early may lie where the drivers grow later on.
    const std::size_t early = BestEarly();
    if (early > 0) {
      const std::int64_t without = layout_.bytes;
      Place(early);
      if (layout_.bytes >= without) Place(0);
    }
    Collect();
    return std::move(layout_);
  }

 private:
  std::size_t Lanes() const { return schedule_.lanes.size(); }
  const Lane& lane(std::size_t l) const { return schedule_.lanes[l]; }
  const Image& ImageOf(std::size_t l) const { return network_.image(lane(l).image); }
  const std::vector<Use>& UsesOf(int image) const { return uses_[static_cast<std::size_t>(image)]; }
  bool IsDriver(std::size_t l) const {
    const auto& drivers = schedule_.drivers;
    return std::find(drivers.begin(), drivers.end(), lane(l).image) != drivers.end();
  }

  // The columns of lane `l`: which step reads each of them last and how far its row has been
  // computed by then.
  struct ColumnUse {
    std::int64_t most_pixels = 1;  // from a column that is read yet to the last one computed
    std::int64_t first_read = kNever;
    bool in_block = true;  // every column is read last in the step that computes it
  };
  ColumnUse ColumnUseOf(std::size_t l) const {
    const Lane& from = lane(l);
    const std::int64_t width = ImageOf(l).shape.width;
    std::vector<std::int64_t> last(static_cast<std::size_t>(width), -1);
    for (const Use& use : UsesOf(from.image)) {
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
      for (std::int64_t x = from.columns[j].first; x < from.columns[j].last; ++x) {
        const std::int64_t step = last[static_cast<std::size_t>(x)];
        if (step < 0) continue;
        const std::int64_t done = from.columns[static_cast<std::size_t>(step)].last;
        result.most_pixels = std::max(result.most_pixels, done - x);
        result.first_read = std::min(result.first_read, x);
        result.in_block = result.in_block && step == static_cast<std::int64_t>(j);
      }
      result.most_pixels = std::max(result.most_pixels, from.columns[j].size());
    }
    return result;
  }

  // How long the rings of lane `l` have to be in row steps [first, last); nothing is kept from
  // before.
  Kept Measure(std::size_t l, std::size_t first, std::size_t last) const {
    const Lane& from = lane(l);
    const plan::StreamImage& shape = ImageOf(l).shape;
    Kept kept;
    kept.last_lane = l;
    for (const Use& use : UsesOf(from.image)) kept.last_lane = std::max(kept.last_lane, use.lane);
    std::int64_t count = 1;
    for (std::size_t i = first; i < last; ++i) count = std::max(count, from.rows[i].size());
    const auto rings = static_cast<std::size_t>(count);
    const ColumnUse columns = ColumnUseOf(l);
    std::vector<std::int64_t> pixels(rings, columns.most_pixels);
    kept.in_block.assign(rings, columns.in_block);
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
      const StreamRange need = RowsRead(from.image, shape.height, i);
      for (std::int64_t y = need.first; y < need.last; ++y) {
        const auto r = static_cast<std::size_t>(y % count);
        if (latest[r] < 0) continue;
        const std::int64_t rows_between = (latest[r] / count - y / count) * shape.width;
        const bool partial = latest_step[r] == i;
        const std::int64_t behind =
            partial ? columns.most_pixels
                    : shape.width - std::min(columns.first_read, shape.width - 1);
        pixels[r] = std::max(pixels[r], rows_between + behind);
        if (computed[static_cast<std::size_t>(y)] != i) kept.in_block[r] = false;
      }
    }
    const std::int64_t most = shape.height * shape.width;
    for (std::size_t r = 0; r < rings; ++r) {
      kept.rings.push_back({0, std::clamp<std::int64_t>(pixels[r], 1, most)});
    }
    return kept;
  }

  // The hull of what the lanes read of an image in row step `i`.
  StreamRange RowsRead(int image, std::int64_t height, std::size_t i) const {
    StreamRange hull{height, 0};
    for (const Use& use : UsesOf(image)) {
      const StreamRange& rows = lane(use.lane).rows[i];
      if (rows.empty()) continue;
      const StreamRange need = use.rows.Need(rows.first, rows.last, height);
      if (need.empty()) continue;
      hull.first = std::min(hull.first, need.first);
      hull.last = std::max(hull.last, need.last);
    }
    return hull;
  }

  // An element-wise operator whose input dies in the same block may write over it.
  void FindAlias(std::size_t l) {
    const Lane& to = lane(l);
    if (to.node < 0 || network_.node(to.node).in_place < 0) return;
    for (std::size_t m = 0; m < l; ++m) {
      if (lane(m).image != network_.node(to.node).in_place || IsDriver(m)) continue;
      const auto all = [](const std::vector<bool>& flags) {
        return std::find(flags.begin(), flags.end(), false) == flags.end();
      };
      const bool same =
          kept_[m].last_lane == l && all(kept_[m].in_block) && all(kept_[l].in_block) &&
          lane(m).rows == to.rows && lane(m).columns == to.columns &&
          kept_[m].rings.size() == kept_[l].rings.size() &&
          std::equal(kept_[m].rings.begin(), kept_[m].rings.end(), kept_[l].rings.begin(),
                     [](const auto& a, const auto& b) { return a.pixels == b.pixels; });
      if (same) alias_[l] = static_cast<int>(m);
    }
  }

  // First fit, larger ones first, of what lives from its operator to its last reader in the block.
  void PlaceInBlock() {
    struct Part {
      std::size_t lane;
      std::size_t ring;
      std::int64_t bytes;
      std::size_t first;
      std::size_t last;
      std::int64_t offset = 0;
    };
    std::vector<std::size_t> ends(Lanes());
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (IsDriver(l)) continue;
      ends[l] = kept_[l].last_lane;
      FindAlias(l);
    }
    for (std::size_t l = Lanes(); l-- > 0;) {
      if (alias_[l] >= 0) {
        auto& end = ends[static_cast<std::size_t>(alias_[l])];
        end = std::max(end, ends[l]);
      }
    }
    std::vector<Part> parts;
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (IsDriver(l) || alias_[l] >= 0) continue;
      for (std::size_t r = 0; r < kept_[l].rings.size(); ++r) {
        if (!kept_[l].in_block[r]) continue;
        parts.push_back(
            {l, r, kept_[l].rings[r].pixels * ImageOf(l).shape.pixel_bytes, l, ends[l]});
      }
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
    std::vector<Part> placed;  // by offset
    for (Part part : parts) {
      for (const Part& other : placed) {
        const bool meet = other.first <= part.last && part.first <= other.last;
        if (!meet) continue;
        if (part.offset + part.bytes <= other.offset) break;
        part.offset = std::max(part.offset, other.offset + other.bytes);
      }
      kept_[part.lane].rings[part.ring].offset = part.offset;
      layout_.block_bytes = std::max(layout_.block_bytes, part.offset + part.bytes);
      placed.insert(
          std::upper_bound(placed.begin(), placed.end(), part,
                           [](const Part& a, const Part& b) { return a.offset < b.offset; }),
          part);
    }
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (alias_[l] >= 0) kept_[l].rings = kept_[static_cast<std::size_t>(alias_[l])].rings;
    }
  }

  // How many pixels of ring `r` of lane `l` have been touched after block (i, j).
  std::int64_t Touched(std::size_t l, std::size_t r, std::size_t i, std::size_t j) const {
    const auto count = static_cast<std::int64_t>(kept_[l].rings.size());
    const std::int64_t width = ImageOf(l).shape.width;
    std::int64_t most = 0;
    if (!later_[l].rings.empty() && i >= schedule_.switch_row) return kept_[l].rings[r].pixels;
    const StreamRange& rows = lane(l).rows[i];
    for (std::int64_t y = rows.first; y < rows.last; ++y) {
      if (y % count != static_cast<std::int64_t>(r)) continue;
      most = std::max(most, y / count * width + lane(l).columns[j].last);
    }
    if (rows.first > 0) {  // what earlier steps have left
      const std::int64_t before = rows.first - 1;
      const std::int64_t up = (before % count - static_cast<std::int64_t>(r) + count) % count;
      if (before >= up) most = std::max(most, (before - up) / count * width + width);
    }
    return std::min(most, kept_[l].rings[r].pixels);
  }

  struct Ring {
    std::size_t lane;
    std::size_t ring;
    std::size_t full_at = 0;  // block in which it is full
    std::size_t dead_at = 0;  // last block in which its image is read or written
  };

  void FindRings() {
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (IsDriver(l)) continue;
      const std::size_t dead_at = LastBlockOf(l);
      for (std::size_t r = 0; r < kept_[l].rings.size(); ++r) {
        if (kept_[l].in_block[r]) continue;
        Ring ring{l, r, 0, dead_at};
        const std::size_t blocks = schedule_.row_steps * schedule_.column_steps;
        while (ring.full_at + 1 < blocks &&
               Touched(l, r, ring.full_at / schedule_.column_steps,
                       ring.full_at % schedule_.column_steps) < kept_[l].rings[r].pixels) {
          ++ring.full_at;
        }
        rings_.push_back(ring);
      }
    }
    std::stable_sort(rings_.begin(), rings_.end(),
                     [](const Ring& a, const Ring& b) { return a.full_at < b.full_at; });
    by_death_.resize(rings_.size());
    std::iota(by_death_.begin(), by_death_.end(), std::size_t{0});
    std::stable_sort(by_death_.begin(), by_death_.end(), [&](std::size_t a, std::size_t b) {
      return rings_[a].dead_at < rings_[b].dead_at;
    });
  }

  // The last block in which somebody computes or reads pixels of lane `l`.
  std::size_t LastBlockOf(std::size_t l) const {
    std::size_t last = 0;
    const auto see = [&](const Lane& at) {
      for (std::size_t i = schedule_.row_steps; i-- > 0;) {
        if (at.rows[i].empty()) continue;
        for (std::size_t j = schedule_.column_steps; j-- > 0;) {
          if (at.columns[j].empty()) continue;
          last = std::max(last, i * schedule_.column_steps + j);
          return;
        }
      }
    };
    see(lane(l));
    for (const Use& use : UsesOf(lane(l).image)) see(lane(use.lane));
    return last;
  }

  std::int64_t BytesOf(const Ring& ring) const {
    return kept_[ring.lane].rings[ring.ring].pixels * ImageOf(ring.lane).shape.pixel_bytes;
  }

  bool IsSum(std::size_t l) const { return lane(l).node >= 0 && network_.node(lane(l).node).sums; }

  // What a driver needs at the end; sums, all the time.
  std::int64_t DriverBytes(std::size_t l) const {
    const plan::StreamImage& shape = ImageOf(l).shape;
    return IsSum(l) ? shape.pixel_bytes * network_.node(lane(l).node).sum_bytes : shape.bytes();
  }

  // Bytes of the last driver that are there after `block`.
  std::int64_t GrownAt(std::size_t block) const {
    if (IsSum(last_driver_)) return DriverBytes(last_driver_);
    const Lane& driver = lane(last_driver_);
    const plan::StreamImage& shape = ImageOf(last_driver_).shape;
    const std::size_t i = block / schedule_.column_steps;
    std::int64_t rows = 0;
    for (std::size_t k = 0; k < i; ++k) rows = std::max(rows, driver.rows[k].last);
    std::int64_t pixels = rows * shape.width;
    if (!driver.rows[i].empty()) {
      const StreamRange& columns = driver.columns[block % schedule_.column_steps];
      pixels = std::max(pixels, (driver.rows[i].last - 1) * shape.width + columns.last);
    }
    return pixels * shape.pixel_bytes;
  }

  // How many of the rings that die first should lie above the drivers, where the last driver grows
  // into them when they are dead, if nothing but rings and drivers counted.
  std::size_t BestEarly() {
    const bool changes = std::any_of(later_.begin(), later_.end(),
                                     [](const Kept& kept) { return !kept.rings.empty(); });
    if (rings_.empty() || changes) return 0;
    std::int64_t drivers = 0;
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (!IsDriver(l)) continue;
      drivers += DriverBytes(l);
      if (lane(l).image == schedule_.drivers.back()) last_driver_ = l;
    }
    std::int64_t below = layout_.block_bytes;
    for (const Ring& ring : rings_) below += BytesOf(ring);
    const std::int64_t others = drivers - DriverBytes(last_driver_);
    std::size_t best = 0;
    std::int64_t least = below + drivers;
    std::vector<std::int64_t> grown;
    for (std::size_t k = 1; k <= by_death_.size(); ++k) {
      const Ring& added = rings_[by_death_[k - 1]];
      below -= BytesOf(added);
      grown.push_back(GrownAt(added.dead_at));
      std::int64_t top = below + others;
      for (std::size_t e = 0; e < k; ++e) {
        top = std::max(top, below + others + grown[e]) + BytesOf(rings_[by_death_[e]]);
      }
      top = std::max(top, below + drivers);
      if (top >= least) continue;
      least = top;
      best = k;
    }
    return best;
  }

  // `early`: so many of the rings that die first lie above the drivers.
  void Place(std::size_t early) {
    layout_.planes.clear();
    std::vector<bool> above(rings_.size(), false);
    for (std::size_t e = 0; e < early; ++e) above[by_death_[e]] = true;
    PlaceRings(above);
    PlaceDrivers();
    const std::int64_t grows_from = top_ - (early > 0 ? DriverBytes(last_driver_) : 0);
    std::int64_t free_from = grows_from;
    for (std::size_t e = 0; e < early; ++e) {
      const Ring& ring = rings_[by_death_[e]];
      free_from = std::max(free_from, grows_from + GrownAt(ring.dead_at));
      kept_[ring.lane].rings[ring.ring].offset = free_from;
      free_from += BytesOf(ring);
    }
    top_ = std::max(top_, free_from);
    layout_.bytes = top_;
    PlacePlanes();
  }

  // Those that are full later lie higher: by then more of the input has died.
  void PlaceRings(const std::vector<bool>& above) {
    top_ = layout_.block_bytes;
    for (std::size_t k = 0; k < rings_.size(); ++k) {
      if (above[k]) continue;
      const Ring& ring = rings_[k];
      kept_[ring.lane].rings[ring.ring].offset = top_;
      top_ += BytesOf(ring);
    }
    drivers_from_ = top_;
    for (std::size_t l = 0; l < Lanes(); ++l) {
      for (StreamRing& place : later_[l].rings) {
        place.offset = top_;
        top_ += place.pixels * ImageOf(l).shape.pixel_bytes;
      }
    }
    layout_.kept_bytes = top_ - layout_.block_bytes;
  }

  // As sums lie.
  static std::int64_t Aligned(std::int64_t offset) {
    return (offset + kSumAlignment - 1) / kSumAlignment * kSumAlignment;
  }

  void PlaceDrivers() {
    for (const int image : schedule_.drivers) {
      for (std::size_t l = 0; l < Lanes(); ++l) {
        if (lane(l).image != image) continue;
        // They make room for rows that begin to be kept.
        const bool moves = top_ != drivers_from_;
        if (IsSum(l)) {
          drivers_from_ = Aligned(drivers_from_);
          top_ = Aligned(top_);
        }
        kept_[l].rings = {{drivers_from_, network_.Pixels(image)}};
        if (moves) later_[l].rings = {{top_, network_.Pixels(image)}};
        drivers_from_ += DriverBytes(l);
        top_ += DriverBytes(l);
      }
    }
  }

  // Of an image that dies: the first pixel that is read in block (i, j) or later.
  struct Dying {
    std::vector<std::int64_t> row;     // first row read in each row step
    std::vector<std::int64_t> future;  // in that step or later
    std::vector<std::int64_t> column;  // first column read in that column step or later
    std::int64_t width = 0;
    std::size_t last_lane = 0;
    std::int64_t At(std::size_t i, std::size_t j) const {
      if (i >= row.size()) return kNever;
      const std::int64_t now =
          row[i] >= kNever || column[j] >= kNever ? kNever : row[i] * width + column[j];
      const std::int64_t later = future[i + 1] >= kNever ? kNever : future[i + 1] * width;
      return std::min(now, later);
    }
    std::int64_t After(std::size_t i, std::size_t j) const {
      return j + 1 < column.size() ? At(i, j + 1) : At(i + 1, 0);
    }
  };

  Dying DyingOf(int image) const {
    const plan::StreamImage& shape = network_.image(image).shape;
    Dying dying;
    dying.width = shape.width;
    dying.row.assign(schedule_.row_steps, kNever);
    dying.future.assign(schedule_.row_steps + 1, kNever);
    dying.column.assign(schedule_.column_steps, kNever);
    for (const Use& use : UsesOf(image)) {
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

  // The least offset of `image` at which it stays above what is written below it.
  std::int64_t AboveOf(int image) const {
    const Dying dying = DyingOf(image);
    const std::int64_t pixel = network_.image(image).shape.pixel_bytes;
    std::int64_t least = layout_.block_bytes;
    const auto keep_above = [&](std::int64_t end, std::size_t l, std::size_t i, std::size_t j) {
      const std::int64_t from = l > dying.last_lane ? dying.After(i, j) : dying.At(i, j);
      if (from < kNever) least = std::max(least, end - from * pixel);
    };
    for (const Ring& ring : rings_) {
      const StreamRing& place = kept_[ring.lane].rings[ring.ring];
      const std::int64_t bytes = ImageOf(ring.lane).shape.pixel_bytes;
      for (std::size_t block = 0; block <= ring.full_at; ++block) {
        const std::size_t i = block / schedule_.column_steps;
        const std::size_t j = block % schedule_.column_steps;
        const std::int64_t touched = Touched(ring.lane, ring.ring, i, j);
        if (touched > 0) keep_above(place.offset + touched * bytes, ring.lane, i, j);
      }
    }
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (IsDriver(l)) continue;
      for (const StreamRing& place : later_[l].rings) {
        keep_above(place.offset + place.pixels * ImageOf(l).shape.pixel_bytes, 0,
                   schedule_.switch_row, 0);
      }
    }
    for (std::size_t l = 0; l < Lanes(); ++l) {
      if (!IsDriver(l)) continue;
      std::int64_t offset = kept_[l].rings[0].offset;
      if (WritesInPlace(l, image)) {
        least = std::max(least, offset);
        continue;
      }
      const plan::StreamImage& shape = ImageOf(l).shape;
      const bool moves = !later_[l].rings.empty();
      for (std::size_t i = 0; i < schedule_.row_steps; ++i) {
        const StreamRange& rows = lane(l).rows[i];
        if (moves && i == schedule_.switch_row) {
          offset = later_[l].rings[0].offset;
          if (rows.first > 0) {
            keep_above(
                offset + (IsSum(l) ? DriverBytes(l) : rows.first * shape.width * shape.pixel_bytes),
                0, i, 0);
          }
        }
        if (rows.empty()) continue;
        for (std::size_t j = 0; j < schedule_.column_steps; ++j) {
          const StreamRange& columns = lane(l).columns[j];
          if (columns.empty()) continue;
          const std::int64_t end = (rows.last - 1) * shape.width + columns.last;
          keep_above(offset + (IsSum(l) ? DriverBytes(l) : end * shape.pixel_bytes), l, i, j);
        }
      }
    }
    return least;
  }

  // The driver's operator is the only one that reads `image`, and may write over it; nothing else
  // lies in between, so that the two have the same place.
  bool WritesInPlace(std::size_t l, int image) const {
    return schedule_.drivers.size() == 1 && schedule_.dying.size() == 1 && lane(l).node >= 0 &&
           later_[l].rings.empty() && network_.node(lane(l).node).in_place == image &&
           UsesOf(image).size() == 1;
  }

  void PlacePlanes() {
    std::vector<int> dying = schedule_.dying;
    const auto streams = [&](int image) {
      const auto& uses = UsesOf(image);
      return std::all_of(uses.begin(), uses.end(),
                         [](const Use& use) { return use.rows.scale != 0; });
    };
    std::stable_sort(dying.begin(), dying.end(), [&](int a, int b) {
      if (streams(a) != streams(b)) return streams(a);
      const std::int64_t more = network_.image(a).shape.bytes() - network_.image(b).shape.bytes();
      return reversed_ ? more < 0 : more > 0;
    });
    layout_.dying = dying.size();
    std::int64_t free_from = 0;  // above the planes so far
    const auto place = [&](int image, std::int64_t offset) {
      layout_.planes.push_back({image, {{offset, network_.Pixels(image)}}});
      free_from = offset + network_.image(image).shape.bytes();
      layout_.bytes = std::max(layout_.bytes, free_from);
    };
    for (const int image : dying) place(image, std::max(free_from, AboveOf(image)));
    free_from = std::max(free_from, top_);
    for (const int image : schedule_.held) place(image, free_from);
  }

  void Collect() {
    for (std::size_t l = 0; l < Lanes(); ++l) {
      layout_.lanes.push_back({lane(l).image, kept_[l].rings});
      if (!later_[l].rings.empty()) layout_.later.push_back({lane(l).image, later_[l].rings});
    }
  }

  const Network& network_;
  const Schedule& schedule_;
  bool reversed_;
  std::vector<std::vector<Use>> uses_;  // of each image, by lanes
  std::vector<Kept> kept_;              // of each lane
  std::vector<Kept> later_;             // of those that change when rows begin to be kept
  std::vector<int> alias_;              // the lane whose place it takes; -1: none
  std::vector<Ring> rings_;             // those kept beyond a block
  std::vector<std::size_t> by_death_;   // their indices, those that die first first
  std::size_t last_driver_ = 0;         // lane of the highest driver
  std::int64_t top_ = 0;                // end of rings and drivers
  std::int64_t drivers_from_ = 0;       // their place until rows begin to be kept
  Layout layout_;
};

}  // namespace

Layout MakeLayout(const Network& network, const Schedule& schedule, bool reversed) {
  return LayoutMaker(network, schedule, reversed).Make();
}

}  // namespace neap::stream
